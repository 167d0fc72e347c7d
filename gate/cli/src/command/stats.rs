//! `shellgate stats`: how much was judged and asked, by which rules, and what would spare it.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use clap::Args;
use serde_json::json;
use shellgate::model::verdict::Decision;

use crate::command::{Failure, Place, log};
use crate::store::record::Record;
use crate::{machine, policy, spare};

/// Arguments of `stats`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    chosen: log::Chosen,
    #[command(flatten)]
    place: Place,
    /// Answer in JSON.
    #[arg(long)]
    json: bool,
}

/// Rules and lines that are shown.
const SHOWN: usize = 10;

/// Prints; the exit status is 0.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let read = log::read(&arguments.chosen)?;
    let records = &read.records;
    let policies = policy::in_force(&arguments.place, &machine::context(&arguments.place)?)?;
    let spares = spare::spares(&policies, records, SHOWN);
    let decisions = [Decision::Allow, Decision::Pass, Decision::Ask, Decision::Deny];
    let count = |decision| records.iter().filter(|record| record.decision == decision).count();
    let asking = ranked(records, Decision::Ask);
    let denying = ranked(records, Decision::Deny);
    let times = micros(records);
    let mut out = io::stdout().lock();
    if arguments.json {
        let by = |list: &[(usize, String)]| -> Vec<serde_json::Value> {
            list.iter().map(|(count, rule)| json!({ "rule": rule, "count": count })).collect()
        };
        let counts: serde_json::Map<String, serde_json::Value> = decisions
            .iter()
            .map(|decision| (decision.name().to_owned(), count(*decision).into()))
            .collect();
        let value = json!({
            "judged": records.len(),
            "torn_lines": read.bad,
            "decisions": counts,
            "asking_rules": by(&asking),
            "denying_rules": by(&denying),
            "hook_micros": times.map(|(half, most)| json!({ "p50": half, "p99": most })),
            "would_spare": spares.iter().map(|spare| json!({
                "policy": spare.lines, "spared": spare.spared, "example": spare.example,
            })).collect::<Vec<_>>(),
        });
        writeln!(out, "{value}")?;
        out.flush()?;
        return Ok(0);
    }
    writeln!(out, "{} judged", records.len())?;
    for decision in decisions {
        let count = count(decision);
        // Shares are for people; whole percents do.
        let share = (count * 100).checked_div(records.len()).unwrap_or_default();
        writeln!(out, "  {:5} {count:7}  {share:3} %", decision.name())?;
    }
    if let Some((half, most)) = times {
        writeln!(out, "time of a hook: half within {half} µs, 99 of 100 within {most} µs")?;
    }
    for (title, list) in [("rules that ask", &asking), ("rules that deny", &denying)] {
        if !list.is_empty() {
            writeln!(out, "\n{title}")?;
        }
        for (count, rule) in list.iter().take(SHOWN) {
            writeln!(out, "  {count:6}  {rule}")?;
        }
    }
    if !spares.is_empty() {
        writeln!(out, "\nlines for your own policy that would have spared questions, each tried")?;
    }
    for spare in &spares {
        writeln!(
            out,
            "  {:6}  e.g. {}",
            spare.spared,
            log::one_line(&spare.example).chars().take(90).collect::<String>()
        )?;
        for line in spare.lines.lines() {
            writeln!(out, "          {line}")?;
        }
    }
    out.flush()?;
    Ok(0)
}

/// The rules that spoke where the decision was this one, the most frequent first.
fn ranked(records: &[Record], decision: Decision) -> Vec<(usize, String)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for record in records.iter().filter(|record| record.decision == decision) {
        for rule in record.deciding() {
            *counts.entry(rule).or_default() += 1;
        }
    }
    let mut list: Vec<(usize, String)> =
        counts.into_iter().map(|(rule, count)| (count, rule.to_owned())).collect();
    list.sort_by_key(|entry| std::cmp::Reverse(entry.0));
    list
}

/// The median and the 99th percentile of the hooks' own times; none where none was measured.
fn micros(records: &[Record]) -> Option<(u64, u64)> {
    let mut times: Vec<u64> =
        records.iter().map(|record| record.micros).filter(|micros| *micros > 0).collect();
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len().saturating_sub(1) * percent / 100).copied();
    at(50).zip(at(99))
}
