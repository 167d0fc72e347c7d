//! What becomes of everything that prints once standard output was claimed for frames: it goes to standard
//! error. Prints from here, from below the standard library and from a child, between two frames.

use std::io::Write as _;
use std::process::{Command, ExitCode};

use serde_json::json;
use shellgate_orchestrator::rpc::connection::Connection;
use shellgate_orchestrator::rpc::frame::FrameLimits;
use shellgate_orchestrator::rpc::message::Message;
use shellgate_orchestrator::rpc::stdio;

#[expect(clippy::print_stdout, reason = "it shows where such prints go")]
fn noise() -> std::io::Result<()> {
    println!("printed");
    std::io::stdout().lock().write_all(b"written to standard output\n")?;
    rustix::io::write(rustix::stdio::stdout(), b"written to descriptor 1\n")?;
    // A child has this process's descriptors and nothing else to print to.
    Command::new("sh").args(["-c", "echo by a child; cat"]).status()?;
    Ok(())
}

fn say(connection: &Connection, word: &str) -> bool {
    let params = Some(json!({ "word": word }));
    connection.outgoing.send(&Message::Notification { method: "said".to_owned(), params })
}

fn main() -> ExitCode {
    let run = || -> std::io::Result<bool> {
        let connection = stdio::connect(stdio::claim()?, FrameLimits::default())?;
        let mut is_said = say(&connection, "before");
        noise()?;
        is_said &= say(&connection, "after");
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        runtime.block_on(connection.outgoing.flushed());
        Ok(is_said)
    };
    if matches!(run(), Ok(true)) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
