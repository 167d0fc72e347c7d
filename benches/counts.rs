//! Instructions that a warm verdict takes over slices of the corpus, counted by callgrind, so that
//! they repeat on any machine; beside them those of a bare parse of the same texts, warm too, and
//! those the program takes to start.
//!
//! `cargo bench -p benches --bench counts -- --check` fails where a count has grown by more than a
//! tenth over the one in `benches/counts.tsv`. Without `--check` that file is written anew; a count
//! that has grown so much is written only with a note, which `NOTE='why' cargo bench ...` gives and
//! the file keeps. Needs valgrind, and the program built before: `cargo build --release`. Without
//! valgrind a check says that it was left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use benches::Bare;
use shellgate::model::context::Context;
use shellgate::{Gate, Session};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, what, file] = arguments.as_slice()
        && matches!(what.as_str(), "--gate" | "--bare")
    {
        let texts: Vec<String> = serde_json::from_str(&fs::read_to_string(file)?)?;
        return if what == "--gate" { judge_all(&texts) } else { parse_all(&texts) };
    }
    let checks = arguments.iter().any(|argument| argument == "--check");
    let mut out = io::stdout().lock();
    if Command::new("valgrind").arg("--version").output().is_err() {
        writeln!(out, "counts: left out, since valgrind is not installed")?;
        return Ok(if checks { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let own = std::env::current_exe()?;
    let program = own
        .parent()
        .and_then(Path::parent)
        .map(|folder| folder.join("shellgate"))
        .filter(|program| program.is_file())
        .ok_or("build the program first: cargo build --release -p shellgate-cli")?;
    let folder = std::env::temp_dir().join(format!("shellgate-counts-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let mut counts = BTreeMap::new();
    let empty = folder.join("empty.jsonl");
    fs::write(&empty, "")?;
    let start = count(&program, &["check".into(), "--jsonl".into(), empty], None)?;
    counts.insert("start".to_owned(), start);
    writeln!(out, "The program takes {start} instructions to start.\n")?;
    writeln!(out, "| input | commands | verdict, each | bare parse, each | ratio |")?;
    writeln!(out, "|---|---:|---:|---:|---:|")?;
    for (name, lines) in slices()? {
        let texts = folder.join("texts.json");
        fs::write(&texts, serde_json::to_string(&lines)?)?;
        let number = lines.len() as u64;
        let each = |what: &str, function: &str| -> Result<u64, Failure> {
            Ok(count(&own, &[what.into(), texts.clone()], Some(function))? / number.max(1))
        };
        let (gate, bare) = (each("--gate", "*warm_verdicts*")?, each("--bare", "*warm_parses*")?);
        counts.insert(name.to_owned(), gate);
        let ratio = gate as f64 / bare.max(1) as f64;
        writeln!(out, "| {name} | {number} | {gate} | {bare} | {ratio:.2} |")?;
    }
    fs::remove_dir_all(&folder)?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.tsv");
    let kept = Kept::read(&path)?;
    let grown = kept.grown(&counts);
    if checks {
        for name in &grown {
            let (before, now) = (kept.count(name), counts.get(*name).copied().unwrap_or(0));
            writeln!(io::stderr(), "{name}: {before} instructions have become {now}")?;
        }
        return Ok(if grown.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let note = std::env::var("NOTE").unwrap_or_default();
    if !grown.is_empty() && note.is_empty() {
        writeln!(io::stderr(), "{} grew by a tenth; say why in NOTE", grown.join(", "))?;
        return Ok(ExitCode::FAILURE);
    }
    let mut text = String::new();
    for (name, count) in &counts {
        let note = if grown.contains(&name.as_str()) { note.as_str() } else { kept.note(name) };
        writeln!(text, "{name}\t{count}\t{note}")?;
    }
    fs::write(path, text)?;
    Ok(ExitCode::SUCCESS)
}

/// Counts that are kept, each with a note on why it grew, empty for most.
struct Kept(BTreeMap<String, (u64, String)>);

impl Kept {
    fn read(path: &Path) -> Result<Self, Failure> {
        let mut kept = BTreeMap::new();
        for line in fs::read_to_string(path)?.lines() {
            let mut cells = line.splitn(3, '\t');
            let (Some(name), Some(count)) = (cells.next(), cells.next()) else { continue };
            let note = cells.next().unwrap_or_default().to_owned();
            kept.insert(name.to_owned(), (count.parse()?, note));
        }
        Ok(Self(kept))
    }

    fn count(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |(count, _)| *count)
    }

    fn note(&self, name: &str) -> &str {
        self.0.get(name).map_or("", |(_, note)| note)
    }

    /// Names whose count is more than a tenth above the one that is kept.
    fn grown<'c>(&self, counts: &'c BTreeMap<String, u64>) -> Vec<&'c str> {
        let grew = |(name, now): &(&String, &u64)| {
            self.0.get(*name).is_some_and(|(before, _)| **now > before + before / 10)
        };
        counts.iter().filter(grew).map(|(name, _)| name.as_str()).collect()
    }
}

/// Commands by the name of their slice.
fn slices() -> Result<Vec<(&'static str, Vec<String>)>, Failure> {
    let script = include_str!("script.sh").to_owned();
    Ok(vec![
        ("plain", vec!["ls -la src".to_owned(); 20]),
        ("agent", benches::slice("benign/", "agent_")?),
        ("risky", benches::slice("risky/", "")?),
        ("evasion", benches::slice("evasion/", "")?),
        ("script", vec![script; 4]),
    ])
}

/// Judges every text twice; the second time counts.
fn judge_all(texts: &[String]) -> Result<ExitCode, Failure> {
    let mut session = Gate::builtin().session();
    let context = Context::default();
    let cold: usize = texts.iter().map(|text| session.classify(text, &context).labels.len()).sum();
    let warm = warm_verdicts(&mut session, &context, texts);
    writeln!(io::stderr(), "{cold} and {warm} labels")?;
    Ok(ExitCode::SUCCESS)
}

#[inline(never)]
fn warm_verdicts(session: &mut Session<'_>, context: &Context, texts: &[String]) -> usize {
    texts.iter().map(|text| session.classify(text, context).labels.len()).sum()
}

/// Parses every text twice; the second time counts.
fn parse_all(texts: &[String]) -> Result<ExitCode, Failure> {
    let mut bare = Bare::new()?;
    let cold: usize = texts.iter().map(|text| bare.parse(text)).sum();
    let warm = warm_parses(&mut bare, texts);
    writeln!(io::stderr(), "{cold} and {warm} bytes")?;
    Ok(ExitCode::SUCCESS)
}

#[inline(never)]
fn warm_parses(bare: &mut Bare, texts: &[String]) -> usize {
    texts.iter().map(|text| bare.parse(text)).sum()
}

/// Instructions of one run, or of one function of the program and all it calls.
fn count(program: &Path, arguments: &[PathBuf], function: Option<&str>) -> Result<u64, Failure> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(function.map(|function| format!("--toggle-collect={function}")))
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    let line = told.lines().find(|line| line.contains("Collected")).ok_or("no count")?;
    let number = line.rsplit(':').next().unwrap_or_default();
    Ok(number.trim().parse()?)
}
