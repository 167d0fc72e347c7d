//! Shell scripts of this machine's own packages, read as text and never run.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use shellgate::model::context::Limits;
use shellgate::parse::parse;

use crate::bash::{Sandbox, SandboxError, decode};
use crate::campaign::{Structure, structures};

/// Where packages put scripts.
const ROOTS: [&str; 4] = ["/etc", "/usr/bin", "/usr/share", "/usr/lib"];
/// Longer files are left out.
const BYTES: u64 = 2 << 20;

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Where it is.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// What came of the machine's scripts.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Scripts with different texts.
    pub found: usize,
    /// Those that bash accepts.
    pub accepted: usize,
    /// Those of them that are read without a gap.
    pub read: usize,
    /// Those of them whose print bash reads as it reads the text.
    pub same: usize,
    /// Those whose own print bash reads otherwise than the text.
    pub unstable: usize,
    /// Those with a gap, and the gaps.
    pub gaps: Vec<(PathBuf, String)>,
    /// Those that bash reads otherwise, and how.
    pub differ: Vec<(PathBuf, String)>,
}

/// The scripts of this machine, each text once, sorted by path. Links are not followed.
pub fn scripts() -> Vec<Script> {
    let mut paths = Vec::new();
    for root in ROOTS {
        below(Path::new(root), &mut paths);
    }
    paths.sort();
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for path in paths {
        let Some(text) = script(&path) else { continue };
        if seen.insert(text.clone()) {
            out.push(Script { path, text });
        }
    }
    out
}

fn below(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            below(&entry.path(), out);
        } else if kind.is_file() {
            out.push(entry.path());
        }
    }
}

/// The text of a file whose first line names sh or bash.
fn script(path: &Path) -> Option<String> {
    let mut file = fs::File::open(path).ok()?;
    let mut head = [0; 2];
    file.read_exact(&mut head).ok()?;
    if &head != b"#!" || file.metadata().ok()?.len() > BYTES {
        return None;
    }
    let mut bytes = head.to_vec();
    file.read_to_end(&mut bytes).ok()?;
    let text = decode(&bytes);
    let first = text.lines().next().unwrap_or_default();
    let mut words = first.trim_start_matches("#!").split_whitespace();
    let mut name = words.next()?.rsplit('/').next()?;
    if name == "env" {
        name = words.find(|word| !word.starts_with('-'))?.rsplit('/').next()?;
    }
    (matches!(name, "sh" | "bash") && !text.contains('\0')).then_some(text)
}

/// Holds every script of this machine against bash.
///
/// # Errors
///
/// When the sandbox fails.
pub fn judge(sandbox: &Sandbox) -> Result<Report, SandboxError> {
    let all = scripts();
    let texts: Vec<String> = all.iter().map(|own| own.text.clone()).collect();
    let outcomes = structures(sandbox, &texts)?;
    let mut report = Report { found: all.len(), ..Report::default() };
    for (script, outcome) in all.into_iter().zip(outcomes) {
        report.accepted += usize::from(outcome != Structure::Rejected);
        match outcome {
            Structure::Rejected => continue,
            Structure::Gap => {
                let gaps = parse(&script.text, &Limits::default()).gaps;
                let about: Vec<String> = gaps
                    .iter()
                    .take(3)
                    .map(|gap| {
                        let end = (gap.span.start + 60).min(script.text.len());
                        let place = script.text.get(gap.span.start..end).unwrap_or_default();
                        format!("{:?} at {place:?}", gap.cause)
                    })
                    .collect();
                report.gaps.push((script.path, about.join("; ")));
                continue;
            }
            Structure::Unstable => report.unstable += 1,
            Structure::Same => report.same += 1,
            Structure::Differs(about) => report.differ.push((script.path, about)),
        }
        report.read += 1;
    }
    Ok(report)
}
