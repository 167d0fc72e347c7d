//! What a campaign measured, kept in `tests/service.toml` and told in `docs/service.md`.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use toml::{Table, Value};

use super::here;

const KEPT: &str = "tests/service.toml";
const TOLD: &str = "docs/service.md";

/// What `CAMPAIGN` says: `full` runs all, `record` runs all and keeps the figures.
pub(crate) fn is_full() -> bool {
    std::env::var("CAMPAIGN").is_ok_and(|word| word == "full" || word == "record")
}

/// Keeps the figures of one test of a campaign that went well, where that was asked for, and tells all anew.
pub(crate) fn record(section: &str, figures: &[(&str, f64)]) {
    static LOCK: Mutex<()> = Mutex::new(());
    if std::env::var("CAMPAIGN").is_ok_and(|word| word == "record") {
        let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = kept();
        let figure = |value: f64| Value::Float((value * 1000.0).round() / 1000.0);
        let table: Table =
            figures.iter().map(|(name, value)| ((*name).to_owned(), figure(*value))).collect();
        all.insert(section.to_owned(), Value::Table(table));
        std::fs::write(here(KEPT), toml::to_string(&all).unwrap()).unwrap();
        std::fs::write(here(TOLD), render(&all)).unwrap();
    }
}

fn kept() -> Table {
    let text = std::fs::read_to_string(here(KEPT)).unwrap_or_default();
    text.parse().unwrap_or_else(|error| panic!("{KEPT}: {error}"))
}

/// A time that has a limit.
struct Limit {
    section: &'static str,
    name: &'static str,
    /// What it is, in words.
    what: &'static str,
    /// Milliseconds it must stay below.
    most: f64,
    /// The two figures whose ratio tells the same without the machine.
    ratio: [&'static str; 2],
    /// What the second of them is, in words.
    beside: &'static str,
}

const LIMITS: [Limit; 3] = [
    Limit {
        section: "start",
        name: "over_true_ms",
        what: "from the start of the process to the answer of `initialize`, over `/bin/true`",
        most: 20.0,
        ratio: ["ours_ms", "true_ms"],
        beside: "`/bin/true`",
    },
    Limit {
        section: "read",
        name: "added_ms",
        what: "what judging and recording add to a `read_file` call",
        most: 0.3,
        ratio: ["gated_ms", "alone_ms"],
        beside: "the bare call",
    },
    Limit {
        section: "pings",
        name: "delay_ms",
        what: "what 1,000 pings a second add to the delay of an event",
        most: 5.0,
        ratio: ["loud_ms", "quiet_ms"],
        beside: "the delay without pings",
    },
];

fn figure(all: &Table, section: &str, name: &str) -> Option<f64> {
    all.get(section)?.get(name)?.as_float()
}

/// Each time with its limit and its ratio, as the report and the scorecard tell them.
fn times(all: &Table) -> String {
    let mut text = String::from("| time | measured | wanted | ratio |\n|---|--:|--:|---|\n");
    for Limit { section, name, what, most, ratio: [ours, theirs], beside } in LIMITS {
        let or_not_yet = |told: Option<String>| told.unwrap_or_else(|| "not yet".to_owned());
        let measured = figure(all, section, name).map(|measured| format!("{measured:.2} ms"));
        let ratio = figure(all, section, ours)
            .zip(figure(all, section, theirs))
            .filter(|(_, theirs)| *theirs > 0.0)
            .map(|(ours, theirs)| format!("{:.2} times {beside}", ours / theirs));
        let (measured, ratio) = (or_not_yet(measured), or_not_yet(ratio));
        let _ = writeln!(text, "| {what} | {measured} | below {most} ms | {ratio} |");
    }
    text
}

/// What was measured last, as a table.
pub(crate) fn measured() -> String {
    times(&kept())
}

/// A sentence with figures in it, at the places of `{}`; none where one of them was not measured yet.
fn sentence(all: &Table, text: &str, figures: &[(&str, &str, usize)]) -> Option<String> {
    let mut out = String::new();
    let mut parts = text.split("{}");
    out.push_str(parts.next()?);
    for ((section, name, digits), rest) in figures.iter().zip(parts) {
        let _ = write!(out, "{:.digits$}{rest}", figure(all, section, name)?);
    }
    Some(out)
}

fn render(all: &Table) -> String {
    let mut text = String::from(
        "# The service, measured\n\n<!-- Written by `CAMPAIGN=record cargo test --release -p suite campaign -- \
         --nocapture --test-threads=1`; do not edit. -->\n\n\
         The release build, driven over its standard input and output by the suite, with a stand-in for the model.\n\
         Times are medians.\n\n",
    );
    text.push_str(&times(all));
    text.push('\n');
    let sentences = [
        sentence(
            all,
            "`initialize` itself is answered {} ms after the start of the process; `/bin/true` takes {} ms.\n",
            &[("start", "ours_ms", 1), ("start", "true_ms", 1)],
        ),
        sentence(
            all,
            "A `read_file` call takes {} ms alone and {} ms judged and recorded.\n",
            &[("read", "alone_ms", 2), ("read", "gated_ms", 2)],
        ),
        sentence(
            all,
            "An event takes {} ms to the client, and {} ms under {} pings.\n",
            &[("pings", "quiet_ms", 2), ("pings", "loud_ms", 2), ("pings", "pings", 0)],
        ),
        Some("\n| campaign | what came of it |\n|---|---|\n".to_owned()),
        sentence(
            all,
            "| tasks answered, cancelled and abandoned at random | {} tasks in {} sessions, {} of which the client \
             left in the middle: no task stuck, no call without its end and no gap in `seq`, neither in what was told \
             nor in what was kept of those whose client had left, never more than two tasks at work, no process \
             left, no descriptor left by half of them in one session |\n",
            &[("tasks", "tasks", 0), ("tasks", "sessions", 0), ("tasks", "deaths", 0)],
        ),
        sentence(
            all,
            "| kill -9 at random moments | {} kills, {} tasks, {} events told and all found in the task database, {} \
             decisions readable page by page, those that were told among them, nothing run again; {} s |\n",
            &[
                ("kills", "kills", 0),
                ("kills", "tasks", 0),
                ("kills", "events", 0),
                ("kills", "decisions", 0),
                ("kills", "seconds", 0),
            ],
        ),
    ];
    text.extend(sentences.into_iter().flatten());
    text
}

#[test]
fn the_report_of_the_service_is_what_was_recorded() {
    let all = kept();
    if std::env::var_os("SCORECARD").is_some_and(|word| word == "write") {
        std::fs::write(here(TOLD), render(&all)).unwrap();
    }
    let told = std::fs::read_to_string(here(TOLD)).unwrap_or_default();
    assert!(
        told == render(&all),
        "{TOLD} does not say what {KEPT} holds; `SCORECARD=write cargo test -p suite report` writes it"
    );
    for Limit { section, name, what, most, .. } in LIMITS {
        // Each test of a campaign keeps its own figures; what a run left out stays as it was.
        let Some(measured) = figure(&all, section, name) else { continue };
        assert!(measured < most, "{what}: {measured} and not below {most}");
    }
    assert!(all["kills"]["kills"].as_float().unwrap() >= 300.0);
    assert!(all["tasks"]["tasks"].as_float().unwrap() >= 200.0);
}
