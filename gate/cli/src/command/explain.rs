//! `shellgate explain`: every stage of one command.

use std::io::{self, Write as _};

use clap::Args;

use crate::command::{Failure, Place};
use crate::{machine, policy, report, wire};

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Answer in JSON.
    #[arg(long)]
    json: bool,
    /// The command, as one argument.
    #[arg(value_name = "COMMAND", allow_hyphen_values = true)]
    command: String,
}

/// Explains and prints; the exit status is the decision's.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let context = machine::context(&arguments.place)?;
    let (gate, context) = policy::gate_for(&arguments.place, context)?;
    let explanation = gate.explain(&arguments.command, &context);
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", wire::explanation(None, &explanation))?;
    } else {
        write!(out, "{explanation}")?;
    }
    out.flush()?;
    Ok(report::status(explanation.verdict.decision))
}
