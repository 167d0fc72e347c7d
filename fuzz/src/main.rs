//! Runs targets in a plain loop: `cargo run --release -p fuzz -- classify --runs 100000 --seed 1`.
//!
//! An input that fails is written to `fuzz/regressions/<target>/`, named by a hash of its bytes.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use fuzz::{TARGETS, mutate};

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(message) => {
            let _ = writeln!(std::io::stderr().lock(), "fuzz: {message}");
            ExitCode::from(2)
        }
    }
}

/// Gives the number of inputs that failed.
fn run(arguments: Vec<String>) -> Result<usize, String> {
    let mut names = Vec::new();
    let (mut runs, mut seed) = (10_000_u64, 1_u64);
    let mut words = arguments.into_iter();
    while let Some(word) = words.next() {
        let mut number = |name: &str| {
            words
                .next()
                .and_then(|value| value.parse().ok())
                .ok_or_else(|| format!("`{name}` wants a number"))
        };
        match word.as_str() {
            "--runs" => runs = number("--runs")?,
            "--seed" => seed = number("--seed")?,
            name if TARGETS.iter().any(|(own, _)| *own == name) => names.push(word),
            other => {
                let known: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
                return Err(format!("unknown target `{other}`: one of {}", known.join(", ")));
            }
        }
    }
    let seeds = mutate::seeds()?;
    let mut out = std::io::stdout().lock();
    let mut failed = 0;
    for (name, target) in TARGETS {
        if !names.is_empty() && !names.iter().any(|own| own == name) {
            continue;
        }
        let mut source = mutate::Mutator::new(seed, &seeds);
        let mut own = 0;
        for _ in 0..runs {
            let input = source.next_input();
            if catch_unwind(AssertUnwindSafe(|| target(&input))).is_err() {
                own += 1;
                keep(name, &input)?;
            }
        }
        writeln!(out, "{name}: {runs} inputs, {own} failed").map_err(|error| error.to_string())?;
        failed += own;
    }
    Ok(failed)
}

fn keep(target: &str, input: &[u8]) -> Result<(), String> {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(target);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(format!("{:016x}", hasher.finish())), input))
        .map_err(|error| format!("cannot keep an input in `{}`: {error}", folder.display()))
}
