//! Batches of 100,000 lines: commands a second of wall time on one thread, on two, and by two
//! processes at once, in turn in one run; and per second of processor time on one thread.
//!
//! Needs the program: `cargo build --release` before.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use benches::{median, program, run, tell};

/// Lines of a batch.
const LINES: usize = 100_000;

/// Rounds; the median of each is told.
const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = program()?;
    let commands = benches::slice("benign/", "agent_")?;
    let mut text = String::new();
    for (number, command) in commands.iter().cycle().take(LINES).enumerate() {
        writeln!(text, "{{\"id\":{number},\"cmd\":{}}}", serde_json::to_string(command)?)?;
    }
    let path = std::env::temp_dir().join(format!("shellgate-batch-{}.jsonl", std::process::id()));
    std::fs::write(&path, text)?;
    let file = path.display().to_string();
    let jobs = |jobs: &str| run(&program, &["check", "--jsonl", "--jobs", jobs, &file], "");
    let mut times = [const { Vec::new() }; 3];
    let mut used = Vec::new();
    for _ in 0..ROUNDS {
        let [one, two, both] = &mut times;
        let before = children();
        one.push(timed(|| jobs("1")));
        used.push(children().saturating_sub(before));
        two.push(timed(|| jobs("2")));
        both.push(timed(|| {
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| jobs("1"));
                }
            });
        }));
    }
    std::fs::remove_file(&path)?;
    let [one, two, both] = times.map(median);
    let used = median(used);
    let rate = |lines: usize, time: Duration| lines as f64 / time.as_secs_f64();
    let mut table = String::new();
    writeln!(table, "| batch of {LINES} agent commands | commands a second |\n|---|---:|")?;
    writeln!(table, "| one thread | {:.0} |", rate(LINES, one))?;
    if !used.is_zero() {
        writeln!(table, "| one thread, of processor time | {:.0} |", rate(LINES, used))?;
    }
    writeln!(table, "| two threads | {:.0} |", rate(LINES, two))?;
    writeln!(table, "| two processes | {:.0} |", rate(2 * LINES, both))?;
    let ratio = rate(LINES, two) / rate(2 * LINES, both);
    writeln!(table, "\nTwo threads do {ratio:.2} of what two processes do.")?;
    Ok(tell("batch", &table)?)
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

/// Processor time of the processes this one has waited for, as Linux tells it; none elsewhere.
fn children() -> Duration {
    /// Fields 16 and 17 of `/proc/self/stat`, counted behind the name: time in programs, in the
    /// system, of children.
    const FIELDS: std::ops::Range<usize> = 13..15;
    /// Such times count in hundredths of a second.
    const TICKS: u64 = 100;
    let stat = std::fs::read_to_string(Path::new("/proc/self/stat")).unwrap_or_default();
    let behind = stat.rsplit(')').next().unwrap_or_default();
    let fields = behind.split_whitespace().skip(FIELDS.start).take(FIELDS.len());
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}
