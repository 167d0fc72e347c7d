//! `shellgate scan`: the commands in the files of a project.

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::{Args, ValueEnum};
use ignore::WalkBuilder;
use serde_json::json;
use shellgate::Gate;
use shellgate::model::context::Context;
use shellgate::model::verdict::Decision;

use crate::command::{Failure, Place};
use crate::scan::finding::{Finding, findings};
use crate::scan::kind::Kind;
use crate::scan::sarif;
use crate::{machine, policy, report};

/// Arguments of `scan`.
#[derive(Args, Debug)]
#[command(
    after_help = "Scripts of shells, GitHub workflows, GitLab pipelines, Makefiles, justfiles, \
                        Dockerfiles, package.json, and what the settings of agents let run without \
                        asking. What .gitignore names is left out, unless it is given by name.\n\n\
                        Exit status: 0, or with --fail-on that of the worst finding (20 ask, 30 deny)."
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The form of the answer.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Fail where a finding is this bad.
    #[arg(long, value_enum, value_name = "DECISION")]
    fail_on: Option<Threshold>,
    /// Files and folders [default: the current directory].
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One object with `findings`, `notes` and `files`.
    Json,
    /// SARIF 2.1.0.
    Sarif,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Threshold {
    /// A person should agree.
    Ask,
    /// It must not run.
    Deny,
}

/// Files larger than this are left out, with a note.
const FILE_BYTES: u64 = 4 << 20;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Findings, by path and place.
    pub findings: Vec<Finding>,
    /// What could not be read whole: path and sentence.
    pub notes: Vec<(String, String)>,
    /// Files that hold commands.
    pub files: usize,
    /// Commands in them.
    pub commands: usize,
}

/// Scans and prints.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let context = machine::context(&arguments.place)?;
    let (gate, mut context) = policy::gate_for(&arguments.place, context)?;
    // Scripts, workflows and recipes start at the root of their repository.
    if let Some(root) = context.workspaces.first() {
        context.cwd.clone_from(root);
    }
    // They run on any branch, whichever one is checked out now.
    context.branch.clone_from(&arguments.place.branch);
    let here = [PathBuf::from(".")];
    let paths = if arguments.paths.is_empty() { &here[..] } else { &arguments.paths };
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        return Err(Failure::Usage(format!("there is no `{}`", missing.display())));
    }
    let scanned = scan(&gate, &context, paths, io::stderr().is_terminal());
    let mut out = io::BufWriter::new(io::stdout().lock());
    match arguments.format {
        Format::Text => {
            let color = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            text(&mut out, &scanned, color)?;
        }
        Format::Json => writeln!(out, "{}", value(&scanned))?,
        Format::Sarif => {
            let version = env!("CARGO_PKG_VERSION");
            let log = sarif::log(&gate, version, &scanned.findings, &scanned.notes);
            writeln!(out, "{log:#}")?;
        }
    }
    out.flush()?;
    let worst = scanned.findings.iter().map(|finding| finding.decision).max();
    let limit = arguments.fail_on.map(|threshold| match threshold {
        Threshold::Ask => Decision::Ask,
        Threshold::Deny => Decision::Deny,
    });
    Ok(match (worst, limit) {
        (Some(worst), Some(limit)) if worst >= limit => report::status(worst),
        _ => 0,
    })
}

/// Scans files and folders. The answer does not depend on the number of threads.
pub fn scan(gate: &Gate, context: &Context, paths: &[PathBuf], progress: bool) -> Scanned {
    let mut scanned = Scanned::default();
    let files = files(paths, &mut scanned.notes);
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Looked>> = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (next, found, files) = (&next, &found, &files);
            scope.spawn(move || {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let looked = look(gate, context, file);
                    if let (Some(looked), Ok(mut found)) = (looked, found.lock()) {
                        found.push(looked);
                    }
                    if progress && thread == 0 {
                        tell(next.load(Ordering::Relaxed).min(files.len()), files.len());
                    }
                }
            });
        }
    });
    if progress {
        let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
    }
    let mut all = found.into_inner().unwrap_or_default();
    all.sort_by(|one, other| one.path.cmp(&other.path));
    for looked in all {
        scanned.files += usize::from(looked.commands > 0);
        scanned.commands += looked.commands;
        scanned.findings.extend(looked.findings);
        scanned.notes.extend(looked.note.map(|note| (looked.path, note)));
    }
    scanned
}

/// One line on the terminal that says how far it is.
fn tell(done: usize, all: usize) {
    // Every file would be too many writes; the eye does not need more.
    if done.is_multiple_of(16) || done == all {
        let filled = (done * 30).checked_div(all).unwrap_or_default();
        let bar: String = (0..30).map(|at| if at < filled { '#' } else { '.' }).collect();
        let _ = write!(io::stderr().lock(), "\r[{bar}] {done}/{all} files");
    }
}

/// A file to look at.
struct Candidate {
    path: PathBuf,
    shown: String,
    /// Whether a person gave it by name.
    named: bool,
}

/// The files below the paths, each once.
fn files(paths: &[PathBuf], notes: &mut Vec<(String, String)>) -> Vec<Candidate> {
    let mut files: Vec<Candidate> = Vec::new();
    for path in paths {
        if path.is_file() {
            files.push(Candidate { path: path.clone(), shown: shown(path), named: true });
            continue;
        }
        let walk = WalkBuilder::new(path)
            .hidden(false)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        for entry in walk {
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    let path = entry.into_path();
                    files.push(Candidate { shown: shown(&path), path, named: false });
                }
                Ok(_) => {}
                Err(error) => notes.push((shown(path), error.to_string())),
            }
        }
    }
    files.sort_by(|one, other| (&one.shown, !one.named).cmp(&(&other.shown, !other.named)));
    files.dedup_by(|one, other| one.shown == other.shown);
    files
}

/// The path with `/` between components, `./` at its front left out.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    text.strip_prefix("./").map(str::to_owned).unwrap_or(text)
}

/// What one file holds.
struct Looked {
    path: String,
    findings: Vec<Finding>,
    commands: usize,
    note: Option<String>,
}

/// Looks at one file; none for one that is of no kind.
fn look(gate: &Gate, context: &Context, file: &Candidate) -> Option<Looked> {
    let note = |note: String| {
        let path = file.shown.clone();
        Some(Looked { path, findings: Vec::new(), commands: 0, note: Some(note) })
    };
    // The kind of a path counts from where it is, not from where the scan was started.
    let full = std::path::absolute(&file.path).map_or_else(|_| file.shown.clone(), |p| shown(&p));
    let kind = Kind::of_path(&full);
    let size = std::fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
    if kind.is_none() && !file.named && !begins_with_hash_bang(&file.path) {
        return None;
    }
    if size > FILE_BYTES {
        return note(format!("left out: larger than {FILE_BYTES} bytes"));
    }
    let bytes = match std::fs::read(&file.path) {
        Ok(bytes) => bytes,
        Err(error) => return note(format!("left out: {error}")),
    };
    if bytes.contains(&0) {
        return kind.and_then(|_| note("left out: it is no text".into()));
    }
    let text = decode(&bytes);
    let Some(kind) = kind.or_else(|| Kind::of(&full, &text)) else {
        return file
            .named
            .then(|| note("left out: it is of no kind that holds commands".into()))?;
    };
    let extracted = kind.extract(&text);
    let findings = findings(gate, context, kind, &file.shown, &text, &extracted.pieces);
    Some(Looked {
        path: file.shown.clone(),
        findings,
        commands: extracted.pieces.len(),
        note: extracted.trouble,
    })
}

fn begins_with_hash_bang(path: &Path) -> bool {
    let mut head = [0_u8; 2];
    std::fs::File::open(path)
        .and_then(|mut file| io::Read::read_exact(&mut file, &mut head))
        .is_ok_and(|()| head == *b"#!")
}

/// UTF-8 as it is; each byte of no character counts as U+007F, so that places stay true.
fn decode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(std::iter::repeat_n('\u{7f}', chunk.invalid().len()));
    }
    out
}

fn text(out: &mut dyn Write, scanned: &Scanned, color: bool) -> io::Result<()> {
    for finding in &scanned.findings {
        let (on, off) = match (color, finding.decision) {
            (false, _) => ("", ""),
            (true, Decision::Deny) => ("\u{1b}[1;31m", "\u{1b}[0m"),
            (true, _) => ("\u{1b}[1;33m", "\u{1b}[0m"),
        };
        let (line, column) = finding.start;
        let name = finding.decision.name();
        writeln!(out, "{}:{line}:{column}: {on}{name}{off} [{}]", finding.path, finding.rule)?;
        let shown: String = finding
            .snippet
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(100)
            .collect();
        writeln!(out, "    {shown}")?;
        writeln!(out, "  {}", finding.why)?;
        if !finding.instead.is_empty() {
            writeln!(out, "  instead: {}", finding.instead)?;
        }
        if !finding.also.is_empty() {
            writeln!(out, "  also: {}", finding.also.join(" "))?;
        }
    }
    for (path, note) in &scanned.notes {
        writeln!(out, "{path}: note: {note}")?;
    }
    let count = |decision| scanned.findings.iter().filter(|one| one.decision == decision).count();
    writeln!(
        out,
        "{} files with {} commands: {} deny, {} ask",
        scanned.files,
        scanned.commands,
        count(Decision::Deny),
        count(Decision::Ask)
    )
}

fn value(scanned: &Scanned) -> serde_json::Value {
    let findings: Vec<serde_json::Value> = scanned
        .findings
        .iter()
        .map(|finding| {
            json!({
                "path": finding.path,
                "kind": finding.kind.name(),
                "line": finding.start.0,
                "column": finding.start.1,
                "end_line": finding.end.0,
                "end_column": finding.end.1,
                "bytes": [finding.region.start, finding.region.end],
                "text": finding.snippet,
                "decision": finding.decision.name(),
                "label": finding.label,
                "rule": finding.rule,
                "why": finding.why,
                "instead": finding.instead,
                "also": finding.also,
            })
        })
        .collect();
    let notes: Vec<serde_json::Value> =
        scanned.notes.iter().map(|(path, note)| json!({ "path": path, "note": note })).collect();
    json!({
        "files": scanned.files,
        "commands": scanned.commands,
        "findings": findings,
        "notes": notes,
    })
}
