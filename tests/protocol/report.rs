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

/// Keeps the figures of one test of a campaign, where that was asked for, and tells all anew.
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

/// What was measured, what of it, the most it may be, and in which unit.
const LIMITS: [(&str, &str, &str, f64, &str); 3] = [
    (
        "start",
        "over_true_ms",
        "from the start of the process to the answer of `initialize`, over `/bin/true`",
        20.0,
        "ms",
    ),
    ("read", "added_ms", "what judging and recording add to a `read_file` call", 0.3, "ms"),
    ("pings", "delay_ms", "what 1,000 pings a second add to the delay of an event", 5.0, "ms"),
];

fn render(all: &Table) -> String {
    let figure = |section: &str, name: &str| {
        let value = all.get(section).and_then(|own| own.get(name)).and_then(Value::as_float);
        value.unwrap_or_else(|| panic!("{KEPT} has no {section}.{name}"))
    };
    let count = |section: &str, name: &str| format!("{:.0}", figure(section, name));
    let mut text = String::from(
        "# The service, measured\n\n<!-- Written by `CAMPAIGN=record cargo test --release -p suite campaign -- \
         --nocapture --test-threads=1`; do not edit. -->\n\n\
         The release build, driven over its standard input and output by the suite, with a stand-in for the model.\n\
         Times are medians.\n\n| time | measured | wanted |\n|---|--:|--:|\n",
    );
    for (section, name, what, most, unit) in LIMITS {
        let measured = figure(section, name);
        let _ = writeln!(text, "| {what} | {measured:.2} {unit} | below {most} {unit} |");
    }
    let _ = write!(
        text,
        "\n`initialize` itself is answered {:.1} ms after the start of the process; `/bin/true` takes {:.1} ms. A \
         `read_file`\ncall takes {:.2} ms alone and {:.2} ms judged and recorded. An event takes {:.2} ms to the client, \
         {:.2} ms under {} pings.\n\n",
        figure("start", "ours_ms"),
        figure("start", "true_ms"),
        figure("read", "alone_ms"),
        figure("read", "gated_ms"),
        figure("pings", "quiet_ms"),
        figure("pings", "loud_ms"),
        count("pings", "pings"),
    );
    let _ = write!(
        text,
        "| campaign | what came of it |\n|---|---|\n\
         | tasks answered, cancelled and abandoned at random | {} tasks in {} sessions, {} of which the client left in the \
         middle: no task stuck, no call without its end, no gap in `seq`, no process and no descriptor left |\n\
         | kill -9 at random moments | {} kills, {} tasks, {} events told and all found in the task database, {} decisions \
         readable, nothing run again; {:.0} s |\n",
        count("tasks", "tasks"),
        count("tasks", "sessions"),
        count("tasks", "deaths"),
        count("kills", "kills"),
        count("kills", "tasks"),
        count("kills", "events"),
        count("kills", "decisions"),
        figure("kills", "seconds"),
    );
    text
}

#[test]
fn the_report_of_the_service_is_what_was_recorded() {
    let all = kept();
    let told = std::fs::read_to_string(here(TOLD)).unwrap_or_default();
    assert!(told == render(&all), "{TOLD} does not say what {KEPT} holds");
    for (section, name, what, most, _) in LIMITS {
        let measured = all[section][name].as_float().unwrap();
        assert!(measured < most, "{what}: {measured} and not below {most}");
    }
    assert!(all["kills"]["kills"].as_float().unwrap() >= 300.0);
    assert!(all["tasks"]["tasks"].as_float().unwrap() >= 200.0);
}
