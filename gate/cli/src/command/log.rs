//! `shellgate log`: what was decided, newest last.

use std::io::{self, Write as _};

use clap::{Args, ValueEnum};
use shellgate::model::verdict::Decision;

use crate::command::Failure;
use crate::store::log::{Log, LogError, Read};
use crate::store::time;

/// Arguments of `log`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    chosen: Chosen,
    /// One JSON object on a line, as they are kept.
    #[arg(long)]
    json: bool,
}

/// Which records are meant.
#[derive(Args, Clone, Debug)]
pub struct Chosen {
    /// Only since then: 30m, 2h, 7d, 4w, or a time as 2026-11-30 or 2026-11-30T18:00 (UTC).
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only these decisions.
    #[arg(long, value_name = "DECISION", value_delimiter = ',')]
    pub decision: Vec<DecisionName>,
}

/// The decisions as arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DecisionName {
    /// Known to be harmless.
    Allow,
    /// Nothing against it.
    Pass,
    /// A person should agree.
    Ask,
    /// Refused.
    Deny,
}

impl From<DecisionName> for Decision {
    fn from(name: DecisionName) -> Self {
        match name {
            DecisionName::Allow => Self::Allow,
            DecisionName::Pass => Self::Pass,
            DecisionName::Ask => Self::Ask,
            DecisionName::Deny => Self::Deny,
        }
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        match error {
            LogError::NoPlace => Self::Usage(error.to_string()),
            LogError::Io { path, cause } => {
                Self::Io(format!("cannot use `{}`", path.display()), cause)
            }
        }
    }
}

/// The records that are meant, oldest first; what could not be read is told on standard error.
///
/// # Errors
/// When the log cannot be read or `--since` cannot be understood.
pub fn read(chosen: &Chosen) -> Result<Read, Failure> {
    let since = match &chosen.since {
        None => 0,
        Some(text) => time::since(text, time::now()).ok_or_else(|| {
            Failure::Usage(format!("`{text}` is no time: try 2h, 7d or 2026-11-30T18:00"))
        })?,
    };
    let mut read = Log::own()?.read()?;
    if read.bad > 0 {
        // Nobody may be reading standard error; the records do not depend on it.
        let _ = writeln!(
            io::stderr().lock(),
            "shellgate: {} lines of the log are torn and left out",
            read.bad
        );
    }
    let decisions: Vec<Decision> = chosen.decision.iter().map(|name| (*name).into()).collect();
    read.records.retain(|record| {
        record.time >= since && (decisions.is_empty() || decisions.contains(&record.decision))
    });
    Ok(read)
}

/// A command on one line, what a terminal would act on left out.
pub fn one_line(command: &str) -> String {
    command.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Prints; the exit status is 0.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let read = read(&arguments.chosen)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for record in &read.records {
        if arguments.json {
            writeln!(out, "{}", record.to_line())?;
            continue;
        }
        let answer = record.answer.as_ref().map_or(String::new(), |told| format!(" ({told})"));
        let effect = record.effect.as_ref().map_or(String::new(), |kind| format!("{kind} "));
        writeln!(
            out,
            "{}  {:5}{answer}  {:8}  {effect}{}{}{}",
            time::format(record.time),
            record.decision.name(),
            record.agent,
            one_line(&record.command),
            if record.rules.is_empty() { "" } else { "  [" },
            if record.rules.is_empty() { String::new() } else { record.rules.join(" ") + "]" },
        )?;
    }
    if read.records.is_empty() && !arguments.json {
        writeln!(out, "nothing was decided")?;
    }
    out.flush()?;
    Ok(0)
}
