//! `shellgate rules`: what the gate minds, with the examples that hold.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use shellgate::Gate;
use shellgate::model::rule::Rule;

use crate::command::{Failure, Place};
use crate::store::{Folders, installed};
use crate::{machine, policy, protect};

/// Arguments of `rules`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List every rule in force here: id, what it decides, why.
    List {
        #[command(flatten)]
        place: Box<Place>,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// Only rules whose id, label or reason contains this, or a command it holds for.
        #[arg(value_name = "PART", default_value = "")]
        part: String,
    },
    /// Show one rule whole, with its examples.
    Show {
        #[command(flatten)]
        place: Box<Place>,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The id (`rm_rf`) or the label with it (`deny_list:rm_rf`).
        #[arg(value_name = "RULE")]
        rule: String,
    },
}

/// Prints; the exit status is 0.
///
/// # Errors
/// See [`Failure`]; a rule that is not there is the caller's fault.
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    match &arguments.verb {
        Verb::List { place, json, part } => {
            let gate = gate(place)?;
            let part = part.to_lowercase();
            let chosen: Vec<&Rule> = gate
                .rules()
                .rules
                .iter()
                .filter(|rule| {
                    [&rule.id, &rule.label, &rule.why]
                        .iter()
                        .copied()
                        .chain(&rule.hits)
                        .any(|text| text.to_lowercase().contains(&part))
                })
                .collect();
            if *json {
                let values: Vec<Value> = chosen.iter().map(|rule| value(&gate, rule)).collect();
                writeln!(out, "{}", Value::Array(values))?;
            } else {
                let width = chosen.iter().map(|rule| rule.id.len()).max().unwrap_or_default();
                for rule in chosen {
                    let (yes, _) = decisions(&gate, rule);
                    writeln!(out, "{:width$}  {yes:4}  {}", rule.id, rule.why)?;
                }
            }
        }
        Verb::Show { place, json, rule } => {
            let gate = gate(place)?;
            let found = find(&gate, rule).ok_or_else(|| {
                Failure::Usage(format!("no rule `{rule}`: `shellgate rules list` has them all"))
            })?;
            if *json {
                writeln!(out, "{}", value(&gate, found))?;
            } else {
                show(&mut out, &gate, found)?;
            }
        }
    }
    out.flush()?;
    Ok(0)
}

/// The gate of `shellgate hook` here, with the examples of its rules: also the rules that keep
/// agents away from shellgate's own files are in it.
fn gate(place: &Place) -> Result<Gate, Failure> {
    let context = machine::context(place)?;
    let own = match Folders::of_environment() {
        None => Vec::new(),
        Some(folders) => {
            let installed = installed::read(&installed::file(&folders)).unwrap_or_default();
            let program = protect::program();
            let own = protect::policy(&folders, &installed, program.as_deref(), &context)
                .map_err(|error| Failure::Usage(error.to_string()))?;
            vec![own]
        }
    };
    let (gate, _) = policy::gate_with(place, context, own)?;
    policy::warn(&gate);
    Ok(gate.into_owned().with_examples())
}

/// The rule of that id or label.
fn find<'a>(gate: &'a Gate, name: &str) -> Option<&'a Rule> {
    let rules = &gate.rules().rules;
    rules.iter().find(|rule| rule.id == name).or_else(|| {
        let id = name.split_once(':').map_or(name, |(_, id)| id);
        rules.iter().find(|rule| rule.label == name || rule.id == id)
    })
}

/// What it decides where it holds, and where it may hold; `-` for nothing.
fn decisions(gate: &Gate, rule: &Rule) -> (&'static str, &'static str) {
    let yes = gate.labels().find(&rule.label).map_or("-", |spec| spec.yes.name());
    let maybe = rule
        .maybe
        .as_deref()
        .and_then(|label| gate.labels().find(label))
        .map_or("-", |spec| spec.maybe.name());
    (yes, maybe)
}

fn show(out: &mut dyn Write, gate: &Gate, rule: &Rule) -> io::Result<()> {
    let (yes, maybe) = decisions(gate, rule);
    writeln!(out, "{}", rule.id)?;
    writeln!(out, "  {}", rule.why)?;
    if !rule.instead.is_empty() {
        writeln!(out, "  instead: {}", rule.instead)?;
    }
    writeln!(out)?;
    writeln!(out, "  where it holds      {yes}, label {}", rule.label)?;
    match &rule.maybe {
        Some(label) => writeln!(out, "  where it may hold   {maybe}, label {label}")?,
        None => writeln!(out, "  where it may hold   nothing")?,
    }
    if !rule.doubt.is_empty() {
        writeln!(out, "                      {}", rule.doubt)?;
    }
    if let Some(spec) = gate.labels().find(&rule.label) {
        writeln!(out, "  the label means     {}", spec.meaning)?;
    }
    if rule.id.starts_with("self_protection") {
        writeln!(out, "  only under          shellgate hook")?;
    }
    for source in &rule.source {
        writeln!(out, "  source              {source}")?;
    }
    for (title, examples) in [
        ("holds for", &rule.hits),
        ("may hold for", &rule.unsure),
        ("does not hold for", &rule.misses),
    ] {
        if !examples.is_empty() {
            writeln!(out, "\n  {title}")?;
        }
        for example in examples {
            for (number, line) in example.lines().enumerate() {
                let sign = if number == 0 { '$' } else { '>' };
                writeln!(out, "    {sign} {line}")?;
            }
        }
    }
    Ok(())
}

fn value(gate: &Gate, rule: &Rule) -> Value {
    let (yes, maybe) = decisions(gate, rule);
    json!({
        "id": rule.id,
        "label": rule.label,
        "maybe_label": rule.maybe,
        "decision": yes,
        "maybe_decision": rule.maybe.as_ref().map(|_| maybe),
        "why": rule.why,
        "doubt": rule.doubt,
        "instead": rule.instead,
        "source": rule.source,
        "hits": rule.hits,
        "unsure": rule.unsure,
        "misses": rule.misses,
    })
}
