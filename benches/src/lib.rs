//! What the benchmarks share: inputs, a bare parse to compare with, ratios of one run, and the place where
//! tables are kept.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tree_sitter::Parser;

/// A bare tree-sitter-bash parse with a reused parser: the measure that every figure is given in.
pub struct Bare(Parser);

impl Bare {
    /// A parser for bash.
    ///
    /// # Errors
    /// When the grammar and the library do not fit.
    pub fn new() -> Result<Self, tree_sitter::LanguageError> {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_bash::LANGUAGE.into())?;
        Ok(Self(parser))
    }

    /// Parses and gives the number of bytes the tree covers.
    pub fn parse(&mut self, text: &str) -> usize {
        self.0.parse(text, None).map_or(0, |tree| tree.root_node().end_byte())
    }
}

pub use suite::shapes::MAIN as SHAPES;

/// Commands of the corpus whose topic begins with `folder` and contains `part`.
///
/// # Errors
/// When a file of the corpus cannot be read.
pub fn slice(folder: &str, part: &str) -> Result<Vec<String>, String> {
    let chosen = suite::case::cases()?
        .into_iter()
        .filter(|case| case.topic.starts_with(folder) && case.topic.contains(part))
        .map(|case| case.command);
    Ok(chosen.collect())
}

/// The program beside a benchmark: `target/release/shellgate` for `target/release/deps/process-...`.
///
/// # Errors
/// When it was not built before.
pub fn program() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = own.parent().and_then(Path::parent).map(|folder| folder.join("shellgate"));
    program
        .filter(|program| program.is_file())
        .ok_or_else(|| "build the program first: cargo build --release".to_owned())
}

/// Runs a program to its end with that on its standard input; what it prints goes nowhere.
pub fn run(program: &Path, arguments: &[&str], input: &str) {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return };
    if let Some(mut pipe) = child.stdin.take() {
        // A program that ends without reading closes the pipe.
        let _ = pipe.write_all(input.as_bytes());
    }
    let _ = child.wait();
}

/// Two durations measured in turn, the medians of all rounds.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Of the thing that is measured.
    pub ours: Duration,
    /// Of the bare parse.
    pub bare: Duration,
}

impl Pair {
    /// How often the bare parse fits into ours.
    pub fn ratio(self) -> f64 {
        self.ours.as_secs_f64() / self.bare.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Runs the two in turn for `rounds` rounds, so that a change of the machine's speed meets both.
pub fn compare(rounds: usize, mut ours: impl FnMut(), mut bare: impl FnMut()) -> Pair {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        ours();
        times.0.push(start.elapsed());
        let start = Instant::now();
        bare();
        times.1.push(start.elapsed());
    }
    Pair { ours: median(times.0), bare: median(times.1) }
}

/// The middle one.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Puts tables into `docs/performance.md`, each between the two marks of its name.
///
/// # Errors
/// When the file cannot be read or written, or lacks a mark.
pub fn keep<'t>(tables: impl IntoIterator<Item = (&'t str, &'t str)>) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut text = std::fs::read_to_string(&path).map_err(told)?;
    for (name, table) in tables {
        let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
        let (before, rest) = text.split_once(&open).ok_or_else(|| format!("no mark `{name}`"))?;
        let (_, after) = rest.split_once(&close).ok_or_else(|| format!("no end of `{name}`"))?;
        text = format!("{before}{open}{table}{close}{after}");
    }
    std::fs::write(&path, text).map_err(told)
}

/// Prints a table of times; with `RECORD=1` it is kept, too, which is worth it on a quiet machine alone.
///
/// # Errors
/// As [`keep`], and when nobody reads what is printed.
pub fn tell(name: &str, table: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    write!(out, "\n{table}").map_err(|error| error.to_string())?;
    if std::env::var_os("RECORD").is_some() { keep([(name, table)]) } else { Ok(()) }
}
