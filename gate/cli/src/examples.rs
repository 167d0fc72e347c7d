//! Holds the examples stated in a policy against the gate it makes. Pure.

use shellgate::Gate;
use shellgate::load::{self, LoadError, Policy, Stated};
use shellgate::model::context::Context;
use shellgate::model::value::Truth;

/// One example and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The rule, or the utility by its words.
    pub entry: String,
    /// The key it stands under: `hits`, `unsure`, `misses`, `reads` or `answers`.
    pub key: &'static str,
    /// The command.
    pub command: String,
    /// What is stated.
    pub wanted: String,
    /// What the gate says.
    pub got: String,
}

impl Outcome {
    /// Whether the example holds.
    pub fn holds(&self) -> bool {
        self.wanted == self.got
    }
}

/// Every example of a policy, in the order of the file: rules first, then utilities. They are judged
/// in the fixed context (`/srv/app`, home `/home/dev`, branch `feature/x`, preset hook).
///
/// # Errors
/// When the policy does not fit the built-in rules and utilities.
pub fn outcomes(policy: &Policy) -> Result<Vec<Outcome>, LoadError> {
    let gate = Gate::new(std::slice::from_ref(policy))?;
    let context = Context::default();
    let mut outcomes = Vec::new();
    for rule in &policy.rules {
        let lists = [
            ("hits", &rule.hits, Truth::Yes),
            ("unsure", &rule.unsure, Truth::Maybe),
            ("misses", &rule.misses, Truth::No),
        ];
        for (key, commands, truth) in lists {
            for command in commands {
                outcomes.push(Outcome {
                    entry: rule.id.clone(),
                    key,
                    command: command.clone(),
                    wanted: word(truth).to_owned(),
                    got: word(said(&gate, &rule.id, command, &context)).to_owned(),
                });
            }
        }
    }
    if !policy.utilities.is_empty() {
        let mut files = load::builtin::utilities().to_vec();
        files.push((policy.file.as_str(), policy.utilities.as_str()));
        let (_, examples) = load::utilities(&files)?;
        for example in examples.into_iter().filter(|example| example.file == policy.file) {
            let explanation = gate.explain(&example.line, &context);
            let (key, wanted, got) = match example.stated {
                Stated::Reads { options, operands } => {
                    let reading = explanation.trace.invocations.first().map(|one| &one.reading);
                    let got_options: Vec<String> = reading
                        .map(|reading| reading.options.iter().map(|o| o.name.to_string()).collect())
                        .unwrap_or_default();
                    let got_operands: Vec<String> = reading
                        .map(|reading| reading.operands.iter().map(|o| o.text.display()).collect())
                        .unwrap_or_default();
                    (
                        "reads",
                        format!("options {options:?}, operands {operands:?}"),
                        format!("options {got_options:?}, operands {got_operands:?}"),
                    )
                }
                Stated::Answers { is, labels, preset } => {
                    let verdict = match preset {
                        None => explanation.verdict,
                        Some(preset) => {
                            gate.classify(&example.line, &Context { preset, ..context.clone() })
                        }
                    };
                    let given: Vec<&String> =
                        labels.iter().filter(|label| verdict.labels.contains(label)).collect();
                    (
                        "answers",
                        format!("{} {:?}", is.name(), labels.iter().collect::<Vec<_>>()),
                        format!("{} {given:?}", verdict.decision.name()),
                    )
                }
            };
            outcomes.push(Outcome {
                entry: example.entry,
                key,
                command: example.line,
                wanted,
                got,
            });
        }
    }
    Ok(outcomes)
}

/// The most certain thing a rule says about a command.
fn said(gate: &Gate, rule: &str, command: &str, context: &Context) -> Truth {
    gate.explain(command, context)
        .looks
        .iter()
        .filter(|look| look.rule == rule)
        .map(|look| look.truth)
        .max()
        .unwrap_or_default()
}

const fn word(truth: Truth) -> &'static str {
    match truth {
        Truth::Yes => "a hit",
        Truth::Maybe => "unsure",
        Truth::No => "a miss",
    }
}
