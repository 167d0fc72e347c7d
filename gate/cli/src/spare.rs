//! Which lines in a person's own policy would have spared them questions. Pure.

use std::collections::{BTreeMap, BTreeSet};

use shellgate::Gate;
use shellgate::load::{Level, Policy};
use shellgate::model::verdict::Decision;

use crate::store::record::Record;

/// Lines for a policy, and what they would have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spare {
    /// Lines of TOML.
    pub lines: String,
    /// Questions that would not have been asked.
    pub spared: usize,
    /// One of the commands.
    pub example: String,
}

/// Different questions that are looked at, the most frequent first.
const QUESTIONS: usize = 200;
/// Lines that are tried.
const CANDIDATES: usize = 40;

/// Labels of questions that no line should spare: what they ask about differs each time.
const ALWAYS_ASKED: &[&str] =
    &["privileged", "sensitive_file", "inline_code", "unparsable_command"];
/// Labels of questions that a line may spare for more than the exact invocation.
const LIGHT: &[&str] = &["outside_workspace", "background_process"];

/// The lines that would have spared most, best first, at most `count`; what a wider line spares no
/// more than a narrower one is left out. Each was tried: the question was judged again with the line
/// on top of `policies`.
pub fn spares(policies: &[Policy], records: &[Record], count: usize) -> Vec<Spare> {
    let Ok(gate) = Gate::new(policies) else { return Vec::new() };
    let mut asked: BTreeMap<(&str, &str), (usize, &Record)> = BTreeMap::new();
    for record in records {
        if record.decision == Decision::Ask && record.effect.is_none() {
            asked.entry((&record.command, &record.cwd)).or_insert((0, record)).0 += 1;
        }
    }
    let mut questions: Vec<(usize, &Record)> = asked
        .into_values()
        .filter(|(_, record)| {
            gate.classify(&record.command, &record.context()).decision == Decision::Ask
        })
        .collect();
    questions.sort_by_key(|question| std::cmp::Reverse(question.0));
    questions.truncate(QUESTIONS);

    let mut tried: BTreeSet<String> = BTreeSet::new();
    let mut found: Vec<(bool, Spare)> = Vec::new();
    'all: for (_, record) in &questions {
        for (wide, lines) in candidates(&gate, record) {
            if !tried.insert(lines.clone()) {
                continue;
            }
            if tried.len() > CANDIDATES {
                break 'all;
            }
            let spared = spared(policies, &lines, &questions);
            if spared > 0 {
                let example = record.command.clone();
                found.push((wide, Spare { lines, spared, example }));
            }
        }
    }
    // Narrow lines first where both spare the same.
    found.sort_by_key(|(wide, spare)| (std::cmp::Reverse(spare.spared), *wide));
    let mut kept: Vec<Spare> = Vec::new();
    for (wide, spare) in found {
        let same = |other: &Spare| other.example == spare.example && other.spared == spare.spared;
        if !(wide && kept.iter().any(same)) {
            kept.push(spare);
        }
    }
    kept.truncate(count);
    kept
}

/// How many questions the lines would have spared.
fn spared(policies: &[Policy], lines: &str, questions: &[(usize, &Record)]) -> usize {
    let Ok(own) = Policy::read("suggestion", lines, Level::User) else { return 0 };
    let mut all = policies.to_vec();
    all.push(own);
    let Ok(gate) = Gate::new(&all) else { return 0 };
    questions
        .iter()
        .filter(|(_, record)| {
            gate.classify(&record.command, &record.context()).decision < Decision::Ask
        })
        .map(|(times, _)| times)
        .sum()
}

/// Lines that may help with one question, each with whether it is wide: the exact invocation; and
/// where the question is a light one, the program with its first argument, and the label.
fn candidates(gate: &Gate, record: &Record) -> Vec<(bool, String)> {
    let explanation = gate.explain(&record.command, &record.context());
    let labels = &explanation.verdict.labels;
    let all_in = |list: &[&str]| labels.iter().all(|label| list.contains(&label.as_str()));
    let none_in = |list: &[&str]| labels.iter().all(|label| !list.contains(&label.as_str()));
    let mut out = Vec::new();
    if !none_in(ALWAYS_ASKED) {
        return out;
    }
    let is_light = all_in(LIGHT);
    for invocation in explanation.invocations() {
        let words: Option<Vec<String>> = invocation.argv.into_iter().collect();
        let Some(words) = words.filter(|_| invocation.exact) else { continue };
        let Some((program, arguments)) = words.split_first() else { continue };
        let program = program.rsplit('/').next().unwrap_or(program);
        out.push((false, allow(program, arguments, false)));
        if is_light
            && let [first, _, ..] = arguments
            && !first.starts_with('-')
        {
            out.push((true, allow(program, std::slice::from_ref(first), true)));
        }
    }
    if is_light && let [label] = labels.as_slice() {
        out.push((true, format!("[labels]\n{label} = \"pass\"\n")));
    }
    out
}

fn allow(program: &str, arguments: &[String], more: bool) -> String {
    let mut entry = toml::Table::new();
    entry.insert("utility".into(), program.into());
    if !arguments.is_empty() {
        entry.insert("arguments".into(), arguments.to_vec().into());
    }
    if more {
        entry.insert("more".into(), true.into());
    }
    let mut table = toml::Table::new();
    table.insert("allow".into(), toml::Value::Array(vec![toml::Value::Table(entry)]));
    // INVARIANT (toml): texts, lists of texts and a flag serialise.
    toml::to_string(&table).unwrap_or_default()
}
