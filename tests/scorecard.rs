//! Rates per topic, committed as `docs/scorecard.md`, so that every change of behaviour shows up in
//! review. `SCORECARD=write cargo test -p suite scorecard` writes the file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use shellgate::Gate;
use shellgate::model::context::Preset;
use suite::case::{FOLDERS, Outcome, cases, held_out};
use suite::ledger::Ledger;
use suite::runner::{Wrong, answer, check, compare};

/// Answers counted.
#[derive(Clone, Copy, Default)]
struct Tally {
    cases: usize,
    unasked: usize,
    milder: usize,
    refused: usize,
    stopped: usize,
    labels: usize,
}

impl Tally {
    fn count(&mut self, wrong: Option<Wrong>) {
        self.cases += 1;
        match wrong {
            None => {}
            Some(Wrong::Unasked) => self.unasked += 1,
            Some(Wrong::Milder) => self.milder += 1,
            Some(Wrong::Refused) => self.refused += 1,
            Some(Wrong::Stopped) => self.stopped += 1,
            Some(Wrong::Labels) => self.labels += 1,
        }
    }

    fn join(&mut self, other: Self) {
        self.cases += other.cases;
        self.unasked += other.unasked;
        self.milder += other.milder;
        self.refused += other.refused;
        self.stopped += other.stopped;
        self.labels += other.labels;
    }

    fn row(self, name: &str) -> String {
        let Self { cases, unasked, milder, refused, stopped, labels } = self;
        let right = cases - unasked - milder - refused - stopped - labels;
        let cells = [cases, right, unasked, milder, refused, stopped, labels]
            .map(|number| if number == 0 { "·".to_owned() } else { number.to_string() });
        format!("| {name} | {} |\n", cells.join(" | "))
    }
}

const HEAD: &str = "| | cases | right | ran unasked | asked, not refused | refused for nothing | asked for nothing | reasons |\n|---|--:|--:|--:|--:|--:|--:|--:|\n";

#[test]
fn the_report_of_the_oracle_is_what_was_recorded() {
    let ledger = Ledger::load().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/oracle.md");
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed == ledger.render(),
        "docs/oracle.md is not fresh; `cargo run -p suite --bin oracle -- --report` writes it"
    );
    assert!(!ledger.campaign.is_empty() && !ledger.scripts.is_empty() && !ledger.fuzz.is_empty());
    for own in &ledger.campaign {
        assert!(own.exact <= own.words && own.judged > 0, "seed {} is odd", own.seed);
    }
    for own in &ledger.broken {
        assert!((1..=2_000).contains(&own.found_by), "{} was not found", own.rule);
    }
}

#[test]
fn the_scorecard_is_fresh() {
    let fresh = scorecard().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/scorecard.md");
    if std::env::var_os("SCORECARD").is_some_and(|value| value == "write") {
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if committed == fresh {
        return;
    }
    let changed: Vec<String> = fresh
        .lines()
        .filter(|line| !committed.lines().any(|own| own == *line))
        .map(|line| format!("    {line}"))
        .collect();
    panic!(
        "docs/scorecard.md is not fresh; `SCORECARD=write cargo test -p suite scorecard` writes it. New lines:\n{}",
        changed.join("\n")
    );
}

/// What was seen of hooks in the release build.
fn hooks() -> Result<String, String> {
    let kept = |file: &str| -> Result<toml::Table, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(path).map_err(|error| format!("{file}: {error}"))?;
        text.parse().map_err(|error| format!("{file}: {error}"))
    };
    let (payloads, at_once) = (kept("hooks_payloads.toml")?, kept("hooks_at_once.toml")?);
    let number = |table: &toml::Table, name: &str| {
        table.get(name).and_then(toml::Value::as_integer).ok_or_else(|| format!("no `{name}`"))
    };
    let ms = |name: &str| Ok::<f64, String>(number(&at_once, name)? as f64 / 1000.0);
    Ok(format!(
        "\n## Hooks\n\nOf the release build. `RECORD=1 HOOK_PAYLOADS=100000 cargo test --release -p suite hooks` and \
         `RECORD=1 HOOKS=2000 cargo test\n--release -p shellgate-cli hooks_at_once` keep these figures.\n\n\
         - Changed payloads: {} for each of {} agents, every answer in the agent's form and none milder than it may be.\n\
         - {} hook processes at once: each has its own whole line in the log; all ended after {:.1} s; the own time of\n  \
         one, waiting for its turn included: half below {:.0} ms, 99 of 100 below {:.0} ms, the slowest {:.0} ms.\n",
        number(&payloads, "each")?,
        number(&payloads, "agents")?,
        number(&at_once, "hooks")?,
        ms("milliseconds")?,
        ms("half_us")?,
        ms("p99_us")?,
        ms("most_us")?,
    ))
}

fn scorecard() -> Result<String, String> {
    let gate = Gate::builtin();
    let cases = cases()?;
    let mut topics: BTreeMap<&str, Tally> = BTreeMap::new();
    for case in &cases {
        let worst = check(gate, case).first().map(|failure| failure.wrong);
        topics.entry(&case.topic).or_default().count(worst);
    }
    let mut held = Tally::default();
    let mut by_outcome: BTreeMap<&str, Tally> = BTreeMap::new();
    for line in held_out()? {
        let verdict = answer(gate, &line.cmd, None, Preset::Protocol);
        let wrong = compare(line.outcome, &[], Outcome::of(verdict.decision));
        held.count(wrong);
        by_outcome.entry(line.outcome.name()).or_default().count(wrong);
    }

    let mut text = String::from(
        "# Scorecard\n\n<!-- Written by `SCORECARD=write cargo test -p suite scorecard`; do not edit. -->\n\n\
         What the gate answers to the cases of `corpus/`. A case counts once, in the column of its worst mistake.\n\
         *Ran unasked*: a dangerous command would run without a question. *Asked, not refused*: it asks where it\n\
         should refuse. *Refused* and *asked for nothing*: an honest command is stopped. *Reasons*: the decision\n\
         is right and a label is missing or too many. The held-out set is measured and never tuned on.\n\
         What bash, another parser, scripts of packages and fuzz targets said stands in [oracle.md](oracle.md);\n\
         what the service for editors takes and withstands in [service.md](service.md).\n\n## Sets\n\n",
    );
    text.push_str(HEAD);
    let mut total = Tally::default();
    for folder in FOLDERS {
        let prefix = format!("{folder}/");
        let mut sum = Tally::default();
        for (_, tally) in topics.iter().filter(|(topic, _)| topic.starts_with(&prefix)) {
            sum.join(*tally);
        }
        total.join(sum);
        text.push_str(&sum.row(folder));
    }
    text.push_str(&total.row("all"));
    text.push_str(&held.row("held-out"));
    for (outcome, tally) in &by_outcome {
        text.push_str(&tally.row(&format!("held-out, {outcome}")));
    }
    text.push_str(
        "\n## Service\n\nTimes of the service for editors in the release build, measured by its campaign and kept in\n\
         `tests/service.toml`; [service.md](service.md) says more.\n\n",
    );
    text.push_str(&crate::protocol::report::measured());
    text.push_str(&hooks()?);
    for folder in FOLDERS {
        let prefix = format!("{folder}/");
        let _ = write!(text, "\n## `{folder}`\n\n{HEAD}");
        for (topic, tally) in topics.iter().filter(|(topic, _)| topic.starts_with(&prefix)) {
            text.push_str(&tally.row(topic.trim_start_matches(&prefix)));
        }
    }
    Ok(text)
}
