//! From the start of a process to its first verdict, beside a verdict that follows.
//!
//! Runs itself: each run is a process of its own that starts cold.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use benches::{median, tell};
use shellgate::Gate;
use shellgate::model::context::Context;

type Failure = Box<dyn std::error::Error>;

/// Processes that are started for each command.
const RUNS: usize = 100;

fn main() -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, first, command] = arguments.as_slice()
        && first == "--first"
    {
        let context = Context::default();
        black_box(Gate::builtin().classify(command, &context));
        let cold = start.elapsed();
        black_box(Gate::builtin().classify(command, &context));
        writeln!(
            io::stdout().lock(),
            "{} {}",
            cold.as_nanos(),
            start.elapsed().saturating_sub(cold).as_nanos()
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let own = std::env::current_exe()?;
    let mut table = String::from("| command | first verdict, µs | second, µs |\n|---|---:|---:|\n");
    for command in ["ls -la src", "git status --short | head -20", "rm -rf /"] {
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let told = Command::new(&own).args(["--first", command]).output()?;
            let told = String::from_utf8(told.stdout)?;
            let (first, second) = told.trim().split_once(' ').ok_or("no times")?;
            cold.push(Duration::from_nanos(first.parse()?));
            warm.push(Duration::from_nanos(second.parse()?));
        }
        let micros = |times| median(times).as_secs_f64() * 1e6;
        writeln!(table, "| `{command}` | {:.0} | {:.1} |", micros(cold), micros(warm))?;
    }
    tell("load", &table)?;
    Ok(ExitCode::SUCCESS)
}
