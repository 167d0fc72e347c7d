//! What the gate says about the commands of a file, with the place in the file.

use shellgate::Gate;
use shellgate::model::context::Context;
use shellgate::model::verdict::{Decision, Reason, Verdict};

use crate::scan::Piece;
use crate::scan::kind::Kind;
use crate::scan::mapped::{Lines, Region};

/// One thing a person should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, with `/` between components, relative to the root of the scan.
    pub path: String,
    /// The kind of file.
    pub kind: Kind,
    /// The bytes of the file that show it.
    pub region: Region,
    /// Line and column of the first byte, from 1, columns in characters.
    pub start: (usize, usize),
    /// Line and column behind the last byte.
    pub end: (usize, usize),
    /// What the file has there.
    pub snippet: String,
    /// Ask or deny.
    pub decision: Decision,
    /// The label.
    pub label: String,
    /// The rule.
    pub rule: String,
    /// One sentence: what is wrong.
    pub why: String,
    /// One sentence: a safer way; may be empty.
    pub instead: String,
    /// Further rules that speak about the same bytes, none of them worse.
    pub also: Vec<String>,
}

/// Bytes of a snippet that are kept.
const SNIPPET: usize = 400;

/// The findings in one file, in the order of its bytes; one for all rules about the same bytes.
/// `base` is the place of the root of the scan.
pub fn findings(
    gate: &Gate,
    base: &Context,
    kind: Kind,
    path: &str,
    text: &str,
    pieces: &[Piece],
) -> Vec<Finding> {
    let context = kind.context(base);
    let lines = Lines::new(text);
    let mut found: Vec<Finding> = Vec::new();
    for piece in pieces {
        let length = piece.command.text().trim_end().len();
        for reason in reasons(gate, &context, kind, piece) {
            let region = match piece.command.region(reason.span) {
                // What shows it has no place of its own; the whole command does.
                region if region.start == region.end => piece.command.between(0, length),
                region => region,
            };
            let label = reason.label.clone();
            match found.iter_mut().rev().find(|other| other.region == region) {
                Some(other) if other.decision >= reason.decision => {
                    if other.rule != reason.rule && !other.also.contains(&reason.rule) {
                        other.also.push(reason.rule);
                    }
                }
                Some(other) => {
                    let before = std::mem::replace(&mut other.rule, reason.rule);
                    other.also.insert(0, before);
                    other.also.retain(|rule| *rule != other.rule);
                    other.decision = reason.decision;
                    other.label = label;
                    other.why = reason.why;
                    other.instead = reason.instead;
                }
                None => found.push(Finding {
                    path: path.to_owned(),
                    kind,
                    region,
                    start: lines.place(region.start),
                    end: lines.place(region.end),
                    snippet: snippet(text, region),
                    decision: reason.decision,
                    label,
                    rule: reason.rule,
                    why: reason.why,
                    instead: reason.instead,
                    also: Vec::new(),
                }),
            }
        }
    }
    found.sort_by_key(|finding| finding.region);
    found
}

/// The reasons to ask or deny, the worst first.
fn reasons(gate: &Gate, context: &Context, kind: Kind, piece: &Piece) -> Vec<Reason> {
    let mut context = context.clone();
    if let Some(directory) = &piece.directory {
        context.cwd = if directory.starts_with('/') {
            directory.clone()
        } else {
            format!("{}/{directory}", context.cwd.trim_end_matches('/'))
        };
    }
    for (name, value) in &piece.parameters {
        context.parameters.insert(name.clone(), value.clone());
    }
    let text = piece.command.text();
    let mut verdict = gate.classify(text, &context);
    match kind {
        Kind::Container => keep_inside(gate, &context, text, &mut verdict),
        // A person who lets a reader run with any argument has settled where it may look; what
        // looks at secrets or changes something is still told.
        Kind::AllowList => verdict.reasons.retain(|reason| reason.rule != "outside_path"),
        _ => {}
    }
    let mut reasons = verdict.reasons;
    reasons.retain(|reason| reason.decision >= Decision::Ask);
    let placed: Vec<String> = reasons
        .iter()
        .filter(|reason| !reason.span.is_empty())
        .map(|reason| reason.rule.clone())
        .collect();
    reasons.retain(|reason| !reason.span.is_empty() || !placed.contains(&reason.rule));
    reasons
}

/// Leaves of a verdict what also holds inside a container: the files there are the container's own.
fn keep_inside(gate: &Gate, context: &Context, text: &str, verdict: &mut Verdict) {
    let quoted = text.replace('\'', "'\\''");
    let inside = gate.classify(&format!("docker run --rm image sh -c '{quoted}'"), context);
    verdict.reasons.retain(|reason| inside.reasons.iter().any(|other| other.rule == reason.rule));
}

fn snippet(text: &str, region: Region) -> String {
    let mut end = region.end.min(region.start + SNIPPET);
    while end > region.start && !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(region.start..end).unwrap_or_default().to_owned()
}
