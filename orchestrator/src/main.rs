//! The service that runs coding-agent tasks for an editor, every tool call judged by the gate first.
//!
//! It is not there yet: the binary says so and fails, so that nobody takes it for a guard.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A reader of standard error that went away changes nothing about the exit status.
    let _ = writeln!(
        std::io::stderr().lock(),
        "shellgate-orchestrator: this service is not there yet; use the `shellgate` command or the \
         `shellgate` library"
    );
    ExitCode::from(69)
}
