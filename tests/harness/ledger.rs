//! Figures of campaigns that were run, kept in `tests/oracle.toml` and rendered as `docs/oracle.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use shellgate::model::context::Shell;

use crate::campaign::Report;
use crate::law::Law;

/// Everything that was recorded.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Campaigns, by seed.
    #[serde(default)]
    pub campaign: Vec<Campaign>,
    /// Kinds of fault that campaigns have found.
    #[serde(default)]
    pub find: Vec<Find>,
    /// Rules that were broken on purpose.
    #[serde(default)]
    pub broken: Vec<Broken>,
    /// Scripts of the machines it was run on.
    #[serde(default)]
    pub scripts: Vec<Scripts>,
    /// Loops of fuzz targets.
    #[serde(default)]
    pub fuzz: Vec<Fuzz>,
    /// What the other parser made of the same texts.
    #[serde(default)]
    pub parser: Vec<Parser>,
}

/// A campaign.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    /// The shell that was the judge; empty where it was bash.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shell: String,
    /// Its seed.
    pub seed: u64,
    /// Candidates judged.
    pub judged: usize,
    /// Programs they started.
    pub started: usize,
    /// Files they wrote.
    pub written: usize,
    /// Broken laws of soundness: programs, then files.
    pub soundness: usize,
    /// Broken laws of denial.
    pub denial: usize,
    /// Broken laws of structure.
    pub structure: usize,
    /// Words of programs where nothing comes from outside.
    pub words: usize,
    /// Those known exactly.
    pub exact: usize,
    /// The state of the tree: the day and what was changed since.
    #[serde(default)]
    pub note: String,
}

/// A kind of fault.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// What was wrong.
    pub kind: String,
    /// Where the case is that keeps it fixed; empty where it is open.
    #[serde(default)]
    pub case: String,
}

/// A rule that was broken on purpose.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Broken {
    /// Its name.
    pub rule: String,
    /// The candidate that found it, from 1; 0 where none did.
    pub found_by: u64,
}

/// The scripts of a machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scripts {
    /// Which machine.
    pub machine: String,
    /// Scripts with different texts.
    pub found: usize,
    /// Accepted by bash.
    pub accepted: usize,
    /// Read without a gap.
    pub read: usize,
    /// Printed as bash reads them.
    pub same: usize,
}

/// A loop of a fuzz target.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fuzz {
    /// The target.
    pub target: String,
    /// Inputs.
    pub inputs: u64,
    /// Inputs that failed.
    pub failed: u64,
}

/// A comparison with the other parser.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Parser {
    /// Which texts.
    pub texts: String,
    /// Texts with the same words.
    pub same: usize,
    /// Texts with faults of the other parser that are listed.
    pub known: usize,
    /// Texts it does not read.
    pub unread: usize,
    /// Texts that we have a gap in.
    pub gaps: usize,
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

impl Ledger {
    /// What is recorded.
    ///
    /// # Errors
    ///
    /// When `tests/oracle.toml` cannot be read.
    pub fn load() -> Result<Self, String> {
        let text = fs::read_to_string(file("oracle.toml")).map_err(|error| error.to_string())?;
        toml::from_str(&text).map_err(|error| error.to_string())
    }

    /// Notes a campaign in place of an older one of the same shell and seed.
    pub fn note(&mut self, shell: Shell, seed: u64, report: &Report) {
        let shell = if shell.is_bash() { String::new() } else { shell.name().to_owned() };
        self.campaign.retain(|own| own.seed != seed || own.shell != shell);
        self.campaign.push(Campaign {
            shell,
            seed,
            judged: report.judged,
            started: report.started,
            written: report.written,
            soundness: report.broken(Law::Started) + report.broken(Law::Written),
            denial: report.broken(Law::Denial),
            structure: report.broken(Law::Structure),
            words: report.words.0,
            exact: report.words.1,
            note: String::new(),
        });
        self.campaign.sort_by(|a, b| (&a.shell, a.seed).cmp(&(&b.shell, b.seed)));
    }

    /// Writes `tests/oracle.toml` and `docs/oracle.md`.
    ///
    /// # Errors
    ///
    /// When one of them cannot be written.
    pub fn save(&self) -> Result<(), String> {
        let text = toml::to_string(self).map_err(|error| error.to_string())?;
        let head = "# Figures of campaigns that were run: `oracle --record` and by hand from what it printed.\n\n";
        fs::write(file("oracle.toml"), format!("{head}{text}"))
            .and_then(|()| fs::write(file("../docs/oracle.md"), self.render()))
            .map_err(|error| error.to_string())
    }

    /// `docs/oracle.md`.
    pub fn render(&self) -> String {
        let mut out = String::from(
            "# What bash said\n\n<!-- Written by `oracle --report` out of `tests/oracle.toml`; do not edit. -->\n\n\
             Each candidate runs as `bash -c` in an empty sandbox. Soundness: every program that bash tried to start\n\
             and every file it opened for writing is one the gate named, or the gate asked for a reason that could\n\
             stand for it. Denial: what would be refused on its own is never let through inside something else.\n\
             Structure: bash prints our print of a text as it prints the text. [testing.md](testing.md) says how to\n\
             run it; the figures are those of runs that were made, with the tree as it was then.\n\n\
             ## Campaigns\n\n| seed | candidates | programs | files | soundness | denial | structure | words known exactly | |\n|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
        );
        let mut sum = Campaign::default();
        for own in self.campaign.iter().filter(|own| own.shell.is_empty()) {
            out.push_str(&own.row(&own.seed.to_string()));
            sum.judged += own.judged;
            sum.started += own.started;
            sum.written += own.written;
            sum.soundness += own.soundness;
            sum.denial += own.denial;
            sum.structure += own.structure;
            sum.words += own.words;
            sum.exact += own.exact;
        }
        out.push_str(&sum.row("all"));
        out.push_str(
            "\n## Other shells\n\nThe same candidates under `dash -c`, `zsh -c` and `busybox ash -c`, each judged with that shell declared\n\
             (`check --shell`). What another shell reads otherwise than bash is read as it does or asks.\n\n\
             | shell | seed | candidates | programs | files | soundness | denial | words known exactly | |\n|---|--:|--:|--:|--:|--:|--:|--:|---|\n",
        );
        for own in self.campaign.iter().filter(|own| !own.shell.is_empty()) {
            let Campaign {
                shell,
                seed,
                judged,
                started,
                written,
                soundness,
                denial,
                words,
                exact,
                note,
                ..
            } = own;
            let _ = writeln!(
                out,
                "| {shell} | {seed} | {judged} | {started} | {written} | {soundness} | {denial} | {exact} of {words} ({}) | {note} |",
                share(*exact, *words)
            );
        }
        let open = self.find.iter().filter(|own| own.case.is_empty()).count();
        let _ = write!(
            out,
            "\n## Kinds of fault found\n\n{} found, {} fixed and kept by a case.\n\n| kind | case |\n|---|---|\n",
            self.find.len(),
            self.find.len() - open
        );
        for own in &self.find {
            let case =
                if own.case.is_empty() { "open".to_owned() } else { format!("`{}`", own.case) };
            let _ = writeln!(out, "| {} | {case} |", own.kind);
        }
        out.push_str(
            "\n## Rules broken on purpose\n\nWith the feature `broken-rules` one rule of expansion at a time is wrong; the campaign of seed 1 must notice\n\
             within 2,000 candidates.\n\n| rule | found by candidate |\n|---|--:|\n",
        );
        for own in &self.broken {
            let by = if own.found_by == 0 { "none".to_owned() } else { own.found_by.to_string() };
            let _ = writeln!(out, "| {} | {by} |", own.rule);
        }
        out.push_str(
            "\n## Scripts of packages\n\nFiles below `/etc`, `/usr/bin`, `/usr/share` and `/usr/lib` whose first line names sh or bash.\n\n\
             | machine | scripts | accepted by bash | read without a gap | printed alike |\n|---|--:|--:|--:|--:|\n",
        );
        for own in &self.scripts {
            let Scripts { machine, found, accepted, read, same } = own;
            let _ = writeln!(
                out,
                "| {machine} | {found} | {accepted} | {read} ({}) | {same} |",
                share(*read, *accepted)
            );
        }
        out.push_str(
            "\n## Another parser\n\nCommand words against `brush-parser`; its own faults stand in `tests/brush.toml`.\n\n\
             | texts | the same words | its known faults | unread by it | gaps of ours |\n|---|--:|--:|--:|--:|\n",
        );
        for own in &self.parser {
            let Parser { texts, same, known, unread, gaps } = own;
            let _ = writeln!(out, "| {texts} | {same} | {known} | {unread} | {gaps} |");
        }
        out.push_str("\n## Fuzz targets\n\n| target | inputs | failed |\n|---|--:|--:|\n");
        for own in &self.fuzz {
            let _ = writeln!(out, "| {} | {} | {} |", own.target, own.inputs, own.failed);
        }
        out
    }
}

impl Campaign {
    fn row(&self, name: &str) -> String {
        let Self {
            judged, started, written, soundness, denial, structure, words, exact, note, ..
        } = self;
        format!(
            "| {name} | {judged} | {started} | {written} | {soundness} | {denial} | {structure} | {exact} of {words} ({}) | {note} |\n",
            share(*exact, *words)
        )
    }
}

fn share(part: usize, whole: usize) -> String {
    let thousandths = (part * 1000).checked_div(whole).unwrap_or(1000);
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}
