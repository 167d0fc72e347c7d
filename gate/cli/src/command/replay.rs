//! `shellgate replay`: judges the log again under the rules and the policy of today.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shellgate::Gate;
use shellgate::load::Level;
use shellgate::model::fact::EffectKind;
use shellgate::model::verdict::Verdict;

use crate::command::{Failure, Place, log};
use crate::store::record::Record;
use crate::store::time;
use crate::{machine, policy};

/// Arguments of `replay`.
#[derive(Args, Debug)]
#[command(after_help = "Each record is judged for the place it was made in. Without --policy the \
                        policy in force here is used for all of them.")]
pub struct Arguments {
    #[command(flatten)]
    chosen: log::Chosen,
    /// Policy file to judge under, as your own.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// One JSON object on a line for each difference.
    #[arg(long)]
    json: bool,
}

/// What became of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The same decision and labels.
    Same,
    /// Another decision, or other labels.
    Other(Verdict),
    /// It cannot be judged again: it was a rule of the hooks, or the effect is not known.
    Left,
}

/// Judges a record again.
pub fn again(gate: &Gate, record: &Record) -> Fate {
    if record.rules.iter().any(|rule| rule.starts_with("self_protection")) {
        return Fate::Left;
    }
    let context = record.context();
    let verdict = match &record.effect {
        None => gate.classify(&record.command, &context),
        Some(name) => match EffectKind::from_name(name) {
            Some(kind) => gate.classify_path(&record.command, kind, &context),
            None => return Fate::Left,
        },
    };
    if verdict.decision == record.decision && verdict.labels == record.labels {
        Fate::Same
    } else {
        Fate::Other(verdict)
    }
}

/// Prints every difference; the exit status is 0, or 1 where there is one.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let read = log::read(&arguments.chosen)?;
    let policies = if let Some(file) = &arguments.policy {
        vec![policy::read(file, Level::User)?]
    } else {
        let place = Place::default();
        policy::in_force(&place, &machine::context(&place)?)?
    };
    let gate = Gate::new(&policies).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let (mut different, mut left) = (0_usize, 0_usize);
    for record in &read.records {
        let verdict = match again(&gate, record) {
            Fate::Same => continue,
            Fate::Left => {
                left += 1;
                continue;
            }
            Fate::Other(verdict) => verdict,
        };
        different += 1;
        if arguments.json {
            let value = json!({
                "time": time::format(record.time),
                "agent": record.agent,
                "command": record.command,
                "cwd": record.cwd,
                "redacted": record.redacted,
                "was": { "decision": record.decision.name(), "labels": record.labels },
                "is": { "decision": verdict.decision.name(), "labels": verdict.labels },
            });
            writeln!(out, "{value}")?;
            continue;
        }
        let note = if record.redacted { "  (a secret was left out)" } else { "" };
        writeln!(
            out,
            "{}  {} -> {}{note}  {}",
            time::format(record.time),
            record.decision.name(),
            verdict.decision.name(),
            log::one_line(&record.command)
        )?;
        if record.labels != verdict.labels {
            writeln!(out, "    {} -> {}", record.labels.join(" "), verdict.labels.join(" "))?;
        }
    }
    if !arguments.json {
        let judged = read.records.len() - left;
        write!(out, "{judged} judged again, {different} different")?;
        if left > 0 {
            write!(out, ", {left} left out")?;
        }
        writeln!(out)?;
    }
    out.flush()?;
    Ok(u8::from(different > 0))
}
