//! Instructions that a warm verdict takes over slices of the corpus, counted by callgrind, so that
//! they repeat on any machine; beside them those of a bare parse of the same texts, warm too, those
//! of each stage alone, those a byte of a hostile shape takes, and those the program takes to start.
//!
//! `cargo bench -p benches --bench counts -- --check` fails where a count has grown by more than a
//! tenth over the one in `benches/counts.tsv`, or where a byte of a shape costs more than twice as
//! much at 1 MiB as at 10 KiB. Without `--check` that file is written anew, and the tables of
//! `docs/performance.md` too; a count that has grown so much is written only with a note, which
//! `NOTE='why' cargo bench ...` gives and the file keeps. Needs valgrind, and the program built
//! before: `cargo build --release`. Without valgrind a check says that it was left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use benches::Bare;
use shellgate::derive::derive;
use shellgate::derive::path::Known;
use shellgate::interpret::run_script;
use shellgate::judge::index::Index;
use shellgate::judge::{Scene, decide, hits};
use shellgate::load::builtin::data;
use shellgate::model::context::{Context, Limits};
use shellgate::model::fact::Fact;
use shellgate::model::script::Parsed;
use shellgate::model::trace::Trace;
use shellgate::parse::parse;
use shellgate::{Gate, Session};

type Failure = Box<dyn std::error::Error>;

/// What is counted of a list of texts: the argument that asks for it, and the function whose
/// instructions, with all it calls, count.
const COUNTED: [(&str, &str); 7] = [
    ("--gate", "*warm_verdicts*"),
    ("--bare", "*warm_parses*"),
    ("--once", "*measured_first*"),
    ("--read", "*measured_parse*"),
    ("--interpret", "*measured_interpret*"),
    ("--derive", "*measured_derive*"),
    ("--judge", "*measured_judge*"),
];

/// A byte at the larger size may cost so many times what one costs at the smaller.
const SIZES: (usize, usize, f64) = (10 << 10, 1 << 20, 2.0);

fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, what, file] = arguments.as_slice()
        && COUNTED.iter().any(|(own, _)| own == what)
    {
        let texts: Vec<String> = serde_json::from_str(&fs::read_to_string(file)?)?;
        let told = match what.as_str() {
            "--gate" => judge_all(&texts),
            "--bare" => parse_all(&texts)?,
            "--once" => first_verdicts(&texts),
            _ => one_stage(what, &texts)?,
        };
        writeln!(io::stderr(), "{told}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let checks = arguments.iter().any(|argument| argument == "--check");
    let mut out = io::stdout().lock();
    if Command::new("valgrind").arg("--version").output().is_err() {
        writeln!(out, "counts: left out, since valgrind is not installed")?;
        return Ok(if checks { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let counter = Counter::new()?;
    let (mut counts, mut bare) = (BTreeMap::new(), BTreeMap::new());
    counts.insert("start".to_owned(), counter.start()?);
    for (name, lines) in slices()? {
        counts.insert(name.to_owned(), counter.each("--gate", &lines)?);
        bare.insert(name.to_owned(), counter.each("--bare", &lines)?);
    }
    let sizes = counter.sizes()?;
    let mut tables = Tables { counts: verdicts(&counts, &bare)?, ..Tables::default() };
    tables.sizes = size_table(&sizes)?;
    if !checks {
        tables.stages = counter.stages(&bare)?;
    }
    counter.close()?;
    for table in [&tables.counts, &tables.stages, &tables.sizes] {
        writeln!(out, "{table}")?;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.tsv");
    let kept = Kept::read(&path)?;
    let grown = kept.grown(&counts);
    let steep: Vec<&str> = sizes
        .iter()
        .filter(|(_, small, large)| *large > *small * SIZES.2)
        .map(|(name, ..)| *name)
        .collect();
    for name in &steep {
        writeln!(io::stderr(), "{name}: a byte costs more than twice as much at 1 MiB")?;
    }
    if checks {
        for name in &grown {
            let (before, now) = (kept.count(name), counts.get(*name).copied().unwrap_or(0));
            writeln!(io::stderr(), "{name}: {before} instructions have become {now}")?;
        }
        let good = grown.is_empty() && steep.is_empty();
        return Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
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
    tables.write()?;
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

/// Tables of `docs/performance.md`, each between two marks.
#[derive(Default)]
struct Tables {
    counts: String,
    stages: String,
    sizes: String,
}

impl Tables {
    fn write(&self) -> Result<(), Failure> {
        let tables = [("counts", &self.counts), ("stages", &self.stages), ("sizes", &self.sizes)];
        Ok(benches::keep(tables.map(|(name, table)| (name, table.as_str())))?)
    }
}

fn verdicts(
    counts: &BTreeMap<String, u64>,
    bare: &BTreeMap<String, u64>,
) -> Result<String, Failure> {
    let mut table = String::from("| input | verdict, each | bare parse, each | ratio |\n");
    table.push_str("|---|---:|---:|---:|\n");
    for (name, own) in bare {
        let count = counts.get(name).copied().unwrap_or_default();
        let ratio = count as f64 / (*own).max(1) as f64;
        writeln!(table, "| {name} | {count} | {own} | {ratio:.2} |")?;
    }
    let start = counts.get("start").copied().unwrap_or_default();
    writeln!(table, "| start of the program | {start} | | |")?;
    Ok(table)
}

fn size_table(sizes: &[(&str, f64, f64)]) -> Result<String, Failure> {
    let mut table = String::from(
        "| shape | a byte at 10 KiB | a byte at 1 MiB | ratio |\n|---|---:|---:|---:|\n",
    );
    for (name, small, large) in sizes {
        writeln!(table, "| {name} | {small:.0} | {large:.0} | {:.2} |", large / small.max(1.0))?;
    }
    Ok(table)
}

/// Runs programs under callgrind.
struct Counter {
    own: PathBuf,
    program: PathBuf,
    folder: PathBuf,
}

impl Counter {
    fn new() -> Result<Self, Failure> {
        let own = std::env::current_exe()?;
        let program = benches::program()?;
        let folder = std::env::temp_dir().join(format!("shellgate-counts-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self { own, program, folder })
    }

    fn close(&self) -> Result<(), Failure> {
        Ok(fs::remove_dir_all(&self.folder)?)
    }

    /// What the program takes for no command at all.
    fn start(&self) -> Result<u64, Failure> {
        let empty = self.folder.join("empty.jsonl");
        fs::write(&empty, "")?;
        count(&self.program, &["check".into(), "--jsonl".into(), empty], None)
    }

    /// What one of the texts takes, on average.
    fn each(&self, what: &str, lines: &[String]) -> Result<u64, Failure> {
        let texts = self.folder.join("texts.json");
        fs::write(&texts, serde_json::to_string(lines)?)?;
        let function = COUNTED.iter().find(|(own, _)| *own == what).map(|(_, function)| *function);
        Ok(count(&self.own, &[what.into(), texts], function)? / (lines.len() as u64).max(1))
    }

    /// For each shape what a byte takes at both sizes.
    fn sizes(&self) -> Result<Vec<(&'static str, f64, f64)>, Failure> {
        let mut out = Vec::new();
        for (name, shape) in benches::SHAPES {
            let byte = |bytes: usize| -> Result<f64, Failure> {
                let text = shape(bytes);
                let length = text.len() as f64;
                Ok(self.each("--once", &[text])? as f64 / length)
            };
            out.push((*name, byte(SIZES.0)?, byte(SIZES.1)?));
        }
        Ok(out)
    }

    /// What each stage takes alone.
    fn stages(&self, bare: &BTreeMap<String, u64>) -> Result<String, Failure> {
        let mut table = String::from(
            "| input | parse | interpret, with expand and resolve | derive | judge | bare parse |\n\
             |---|---:|---:|---:|---:|---:|\n",
        );
        for (name, lines) in slices()? {
            write!(table, "| {name} |")?;
            for what in ["--read", "--interpret", "--derive", "--judge"] {
                write!(table, " {} |", self.each(what, &lines)?)?;
            }
            writeln!(table, " {} |", bare.get(name).copied().unwrap_or_default())?;
        }
        Ok(table)
    }
}

/// Judges every text twice; the second time counts.
fn judge_all(texts: &[String]) -> usize {
    let mut session = Gate::builtin().session();
    let context = Context::default();
    let cold: usize = texts.iter().map(|text| session.classify(text, &context).labels.len()).sum();
    cold + warm_verdicts(&mut session, &context, texts)
}

#[inline(never)]
fn warm_verdicts(session: &mut Session<'_>, context: &Context, texts: &[String]) -> usize {
    texts.iter().map(|text| session.classify(text, context).labels.len()).sum()
}

/// Judges every text once, after one that makes what every text needs.
fn first_verdicts(texts: &[String]) -> usize {
    let gate = Gate::builtin();
    let warm = gate.classify("ls -la src", &Context::default()).labels.len();
    warm + measured_first(gate, texts)
}

#[inline(never)]
fn measured_first(gate: &Gate, texts: &[String]) -> usize {
    let context = Context::default();
    texts.iter().map(|text| gate.classify(text, &context).labels.len()).sum()
}

/// Parses every text twice; the second time counts.
fn parse_all(texts: &[String]) -> Result<usize, Failure> {
    let mut bare = Bare::new()?;
    let cold: usize = texts.iter().map(|text| bare.parse(text)).sum();
    Ok(cold + warm_parses(&mut bare, texts))
}

#[inline(never)]
fn warm_parses(bare: &mut Bare, texts: &[String]) -> usize {
    texts.iter().map(|text| bare.parse(text)).sum()
}

/// Runs one stage over all texts after all stages have run once.
fn one_stage(what: &str, texts: &[String]) -> Result<usize, Failure> {
    let (catalog, judgement) = data().ok_or("the built-in data cannot be read")?;
    let (known, index) = (Known::new(&judgement.knowledge), Index::new(&judgement.rules));
    let (context, limits) = (Context::default(), Limits::default());
    let read = || parsed_once(texts, &limits);
    let parsed = read();
    let interpret =
        |text: &str, parsed: &Parsed| run_script(text, parsed, &context, &catalog, &limits);
    let traces: Vec<_> = texts.iter().zip(&parsed).map(|(a, b)| interpret(a, b)).collect();
    let facts: Vec<_> =
        traces.iter().map(|trace| derive(trace, &catalog, &context, &known)).collect();
    let judge = |trace: &Trace, facts: &[Fact]| {
        let scene = Scene { trace, facts, catalog: &catalog, context: &context };
        let hits = hits(&judgement.rules, &index, &scene);
        decide(&judgement.rules, &judgement.labels, &hits, &scene)
    };
    for (trace, facts) in traces.iter().zip(&facts) {
        drop(black_box(judge(trace, facts)));
    }
    match what {
        "--read" => measured_parse(|| drop(black_box(read()))),
        "--interpret" => measured_interpret(|| {
            for (text, parsed) in texts.iter().zip(&parsed) {
                drop(black_box(interpret(text, parsed)));
            }
        }),
        "--derive" => measured_derive(|| {
            for trace in &traces {
                drop(black_box(derive(trace, &catalog, &context, &known)));
            }
        }),
        _ => measured_judge(|| {
            for (trace, facts) in traces.iter().zip(&facts) {
                drop(black_box(judge(trace, facts)));
            }
        }),
    }
    Ok(facts.len())
}

fn parsed_once(texts: &[String], limits: &Limits) -> Vec<Parsed> {
    texts.iter().map(|text| parse(text, limits)).collect()
}

#[inline(never)]
fn measured_parse(run: impl Fn()) {
    run();
}

#[inline(never)]
fn measured_interpret(run: impl Fn()) {
    run();
}

#[inline(never)]
fn measured_derive(run: impl Fn()) {
    run();
}

#[inline(never)]
fn measured_judge(run: impl Fn()) {
    run();
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
