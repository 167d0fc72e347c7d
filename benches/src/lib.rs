//! What the benchmarks share: inputs, a bare parse to compare with, and ratios of one run.

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

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
