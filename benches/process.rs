//! Whole processes: `shellgate check`, the hook call and an empty batch beside `/bin/true`.
//!
//! Needs the program: `cargo build --release -p shellgate-cli` before.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use benches::{compare, program, run, tell};

/// What an agent hands to its hook.
const CALL: &str = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls -la"},"cwd":"/srv/app"}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = program()?;
    let mut table = String::from("| process | ms | ms over /bin/true |\n|---|---:|---:|\n");
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
        writeln!(table, "| {name} | {ours:.2} | {:.2} |", ours - bare)?;
    }
    Ok(tell("process", &table)?)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
