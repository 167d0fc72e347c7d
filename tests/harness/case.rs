//! Cases of `corpus/{benign,risky,evasion}`: commands with the answers they must get, and the
//! outcomes of `corpus/held-out`. `corpus/README.md` describes both formats.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use shellgate::model::context::{Preset, Shell};
use shellgate::model::verdict::Decision;

/// Folders of cases that are tests.
pub const FOLDERS: &[&str] = &["benign", "risky", "evasion"];

/// A command and the answer it must get.
#[derive(Clone, Debug)]
pub struct Case {
    /// Folder and file without its ending (`evasion/redirection`).
    pub topic: String,
    /// Unique in its file.
    pub name: String,
    /// A number it came with.
    pub id: Option<String>,
    /// Its class in the threat model (`T26`, `F11`).
    pub class: Option<String>,
    /// The text.
    pub command: String,
    /// The same deed spelled plainly.
    pub same_as: Option<String>,
    /// The right outcome under the preset `protocol`.
    pub outcome: Option<Outcome>,
    /// The decisions that are right under `preset`, mildest first; may be empty.
    pub expect: Vec<Decision>,
    /// The preset of `expect`.
    pub preset: Preset,
    /// Labels that must be present.
    pub labels: Vec<String>,
    /// Outcomes that are accepted too.
    pub tolerates: Vec<Outcome>,
    /// Whether it asks only because every live substitution asks.
    pub substitution: bool,
    /// The current branch, where it is not that of the context.
    pub branch: Option<String>,
    /// The shell that would run it, where one is declared.
    pub shell: Shell,
    /// Why it fails today, where that is known.
    pub known_gap: Option<String>,
}

impl Case {
    /// What it is called: `topic:name`.
    pub fn title(&self) -> String {
        format!("{}:{}", self.topic, self.name)
    }

    /// Whether `part` occurs in its title, number, class or command.
    pub fn mentions(&self, part: &str) -> bool {
        self.title().contains(part)
            || self.id.as_deref().is_some_and(|id| id.contains(part))
            || self.class.as_deref() == Some(part)
            || self.command.contains(part)
    }
}

/// An outcome on the wire, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It may run.
    Auto,
    /// A person must agree.
    Confirm,
    /// It must not run.
    Block,
}

impl Outcome {
    /// What a decision is on the wire.
    pub const fn of(decision: Decision) -> Self {
        match decision {
            Decision::Allow => Self::Auto,
            Decision::Pass | Decision::Ask => Self::Confirm,
            Decision::Deny => Self::Block,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Confirm => "confirm",
            Self::Block => "block",
        }
    }
}

/// A line of `corpus/held-out`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// Its number.
    pub id: String,
    /// The text.
    pub cmd: String,
    /// The right outcome under the preset `protocol`.
    pub outcome: Outcome,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    case: Vec<CaseEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseEntry {
    name: String,
    id: Option<String>,
    class: Option<String>,
    command: String,
    same_as: Option<String>,
    outcome: Option<Outcome>,
    expect: Option<OneOrMany>,
    preset: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    tolerates: Vec<Outcome>,
    #[serde(default)]
    substitution: bool,
    branch: Option<String>,
    shell: Option<String>,
    #[expect(dead_code, reason = "a note is for readers of the file")]
    note: Option<String>,
    #[expect(dead_code, reason = "the origin is for readers of the file; it must be there")]
    source: String,
    known_gap: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// The folder `corpus` of the project.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("corpus")
}

/// All cases, in the order of folders, files and lines.
///
/// # Errors
/// When a folder or file cannot be read, or a case does not follow the format; the text names the
/// place.
pub fn cases() -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let mut ids = BTreeSet::new();
    for folder in FOLDERS {
        for path in files(&corpus().join(folder), "toml")? {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let topic = format!("{folder}/{stem}");
            let file: FileEntry =
                toml::from_str(&read(&path)?).map_err(|error| format!("{topic}: {error}"))?;
            let mut names = BTreeSet::new();
            for entry in file.case {
                let place = format!("{topic}: case `{}`", entry.name);
                if !names.insert(entry.name.clone()) {
                    return Err(format!("{place}: the name is taken"));
                }
                if let Some(id) = &entry.id
                    && !ids.insert(id.clone())
                {
                    return Err(format!("{place}: the id `{id}` is taken"));
                }
                cases.push(check(&topic, entry).map_err(|cause| format!("{place}: {cause}"))?);
            }
        }
    }
    Ok(cases)
}

/// The lines of `corpus/held-out/outcomes.jsonl`.
///
/// # Errors
/// When the file cannot be read or a line does not follow the format.
pub fn held_out() -> Result<Vec<HeldOut>, String> {
    read(&corpus().join("held-out").join("outcomes.jsonl"))?
        .lines()
        .filter(|line| !line.trim().is_empty())
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| format!("held-out line {}: {error}", at + 1))
        })
        .collect()
}

fn check(topic: &str, entry: CaseEntry) -> Result<Case, String> {
    let expect = match entry.expect {
        None => Vec::new(),
        Some(OneOrMany::One(one)) => vec![one],
        Some(OneOrMany::Many(many)) => many,
    };
    let mut decisions = Vec::new();
    for name in expect {
        decisions
            .push(Decision::from_name(&name).ok_or_else(|| format!("unknown decision `{name}`"))?);
    }
    decisions.sort_unstable();
    if decisions.is_empty() && entry.outcome.is_none() {
        return Err("neither `outcome` nor `expect`".to_owned());
    }
    let preset = match entry.preset {
        None => Preset::Hook,
        Some(name) => Preset::from_name(&name).ok_or_else(|| format!("unknown preset `{name}`"))?,
    };
    let shell = match entry.shell {
        None => Shell::Unknown,
        Some(name) => Shell::from_name(&name).ok_or_else(|| format!("unknown shell `{name}`"))?,
    };
    Ok(Case {
        topic: topic.to_owned(),
        name: entry.name,
        id: entry.id,
        class: entry.class,
        command: entry.command,
        same_as: entry.same_as,
        outcome: entry.outcome,
        expect: decisions,
        preset,
        labels: entry.labels,
        tolerates: entry.tolerates,
        substitution: entry.substitution,
        branch: entry.branch,
        shell,
        known_gap: entry.known_gap,
    })
}

/// Files with that ending in a folder, sorted.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let listing = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in listing {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        if path.extension().is_some_and(|own| own == ending) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
