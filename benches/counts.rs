//! Instructions of the program over slices of the corpus, counted by callgrind, so that they repeat
//! on any machine; beside them those of a bare parse of the same texts.
//!
//! `cargo bench -p benches --bench counts` writes `benches/counts.tsv`; with `-- --check` it fails
//! where a count has grown by more than a tenth. Needs valgrind, and the program built before:
//! `cargo build --release -p shellgate-cli`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use benches::Bare;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, bare, file] = arguments.as_slice()
        && bare == "--bare"
    {
        return parse_all(Path::new(file));
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
    let mut out = io::stdout().lock();
    writeln!(out, "| input | commands | gate, each | bare parse, each | ratio |")?;
    writeln!(out, "|---|---:|---:|---:|---:|")?;
    let mut start = (0, 0);
    for (name, lines) in slices()? {
        let (batch, texts) = (folder.join("batch.jsonl"), folder.join("texts.json"));
        let mut text = String::new();
        for line in &lines {
            writeln!(text, "{}", serde_json::json!({ "cmd": line }))?;
        }
        fs::write(&batch, text)?;
        fs::write(&texts, serde_json::to_string(&lines)?)?;
        let gate = count(&program, &["check".into(), "--jsonl".into(), batch])?;
        let bare = count(&own, &["--bare".into(), texts])?;
        counts.insert(name.to_owned(), gate);
        if lines.is_empty() {
            start = (gate, bare);
            writeln!(out, "| {name} | 0 | {gate} | {bare} | |")?;
            continue;
        }
        let number = lines.len() as u64;
        let each = |count: u64, start: u64| count.saturating_sub(start) / number;
        let (gate, bare) = (each(gate, start.0), each(bare, start.1));
        let ratio = gate as f64 / bare.max(1) as f64;
        writeln!(out, "| {name} | {number} | {gate} | {bare} | {ratio:.2} |")?;
    }
    fs::remove_dir_all(&folder)?;
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.tsv");
    if arguments.iter().any(|argument| argument == "--check") {
        return check(&kept, &counts);
    }
    let lines: Vec<String> =
        counts.iter().map(|(name, count)| format!("{name}\t{count}\n")).collect();
    fs::write(kept, lines.concat())?;
    Ok(ExitCode::SUCCESS)
}

/// Commands by the name of their slice; the first has none, which is what starting costs.
fn slices() -> Result<Vec<(&'static str, Vec<String>)>, Failure> {
    let script = include_str!("script.sh").to_owned();
    Ok(vec![
        ("start", Vec::new()),
        ("plain", vec!["ls -la src".to_owned(); 200]),
        ("agent", benches::slice("benign/", "agent_")?),
        ("risky", benches::slice("risky/", "")?),
        ("script", vec![script; 20]),
    ])
}

/// Parses every text of a file and does nothing else.
fn parse_all(file: &Path) -> Result<ExitCode, Failure> {
    let texts: Vec<String> = serde_json::from_str(&fs::read_to_string(file)?)?;
    let mut bare = Bare::new()?;
    let read: usize = texts.iter().map(|text| bare.parse(text)).sum();
    writeln!(io::stderr(), "{read} bytes")?;
    Ok(ExitCode::SUCCESS)
}

/// Instructions of one run.
fn count(program: &Path, arguments: &[PathBuf]) -> Result<u64, Failure> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    let line = told.lines().find(|line| line.contains("refs:")).ok_or("valgrind gave no count")?;
    let number = line.rsplit("refs:").next().unwrap_or_default();
    Ok(number.trim().replace(',', "").parse()?)
}

/// Fails where a count is more than a tenth above the one that is kept.
fn check(kept: &Path, counts: &BTreeMap<String, u64>) -> Result<ExitCode, Failure> {
    let mut grown = false;
    for line in fs::read_to_string(kept)?.lines() {
        let Some((name, count)) = line.split_once('\t') else { continue };
        let (before, now) = (count.parse::<u64>()?, counts.get(name).copied().unwrap_or(0));
        if now > before + before / 10 {
            grown = true;
            writeln!(io::stderr(), "{name}: {before} instructions have become {now}")?;
        }
    }
    Ok(if grown { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
