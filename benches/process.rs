//! Whole processes: `shellgate check`, the hook call and an empty batch beside `/bin/true`; and
//! batches of many lines, as commands a second.
//!
//! Needs the program: `cargo build --release -p shellgate-cli` before.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use benches::compare;

/// Lines of the batch.
const LINES: usize = 100_000;

/// What an agent hands to its hook.
const CALL: &str = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls -la"},"cwd":"/srv/app"}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = program().ok_or("build the program first: cargo build --release")?;
    let mut out = io::stdout().lock();
    writeln!(out, "\n| process | ms | ms over /bin/true |\n|---|---:|---:|")?;
    for (name, arguments, input) in [
        ("check 'ls -la'", &["check", "ls -la"][..], ""),
        ("check 'rm -rf /'", &["check", "rm -rf /"][..], ""),
        ("hook claude", &["hook", "claude"][..], CALL),
        ("check --jsonl, no line", &["check", "--jsonl"][..], ""),
    ] {
        let pair = compare(
            200,
            || run(&program, arguments, input),
            || run(Path::new("/bin/true"), &[], ""),
        );
        let (ours, bare) = (milliseconds(pair.ours), milliseconds(pair.bare));
        writeln!(out, "| {name} | {ours:.2} | {:.2} |", ours - bare)?;
    }

    let commands = benches::slice("benign/", "agent_")?;
    let path = std::env::temp_dir().join(format!("shellgate-batch-{}.jsonl", std::process::id()));
    let mut text = String::new();
    for (number, command) in commands.iter().cycle().take(LINES).enumerate() {
        let quoted = serde_json::to_string(command)?;
        let line = format!("{{\"id\":{number},\"cmd\":{quoted}}}\n");
        text.push_str(&line);
    }
    std::fs::write(&path, text)?;
    let file = path.display().to_string();
    writeln!(out, "\n| batch of {LINES} | commands a second |\n|---|---:|")?;
    for jobs in ["1", "2"] {
        let start = Instant::now();
        run(&program, &["check", "--jsonl", "--jobs", jobs, &file], "");
        writeln!(out, "| {jobs} thread(s) | {:.0} |", per_second(LINES, start.elapsed()))?;
    }
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| run(&program, &["check", "--jsonl", &file], ""));
        }
    });
    writeln!(out, "| two processes | {:.0} |", per_second(2 * LINES, start.elapsed()))?;
    std::fs::remove_file(&path)?;
    Ok(())
}

/// The program beside this one: `target/release/shellgate` for `target/release/deps/process-...`.
fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let program = own.parent()?.parent()?.join("shellgate");
    program.is_file().then_some(program)
}

fn run(program: &Path, arguments: &[&str], input: &str) {
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

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}
