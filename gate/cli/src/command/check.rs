//! `shellgate check`: one command, or a batch of JSON lines.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;

use crate::batch::Batch;
use crate::command::{Failure, Place};
use crate::{batch, machine, policy, report, wire};

/// Arguments of `check`.
#[derive(Args, Debug)]
#[command(
    after_help = "A batch has one JSON object on a line: {\"id\": ..., \"cmd\": \"...\"}, and may \
                  set \"cwd\", \"workspace\", \"home\" and \"branch\" on each. Answers come in the \
                  same order. A bad line is answered with {\"error\": ...} and makes the exit status 1."
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Answer in JSON.
    #[arg(long, conflicts_with = "jsonl")]
    json: bool,
    /// Read commands as JSON lines from FILE (or `-`, the default) and answer each on a line.
    #[arg(long)]
    jsonl: bool,
    /// Add invocations, effects and gaps to each answer of a batch.
    #[arg(long, requires = "jsonl")]
    explain: bool,
    /// Judge a batch on N threads; answers keep their order.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "jsonl",
          value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// The command, as one argument; with --jsonl the file to read.
    #[arg(value_name = "COMMAND|FILE", allow_hyphen_values = true)]
    operand: Vec<String>,
}

/// Judges and prints; the exit status is the decision's.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    if arguments.jsonl {
        return run_batch(arguments);
    }
    let command = match arguments.operand.as_slice() {
        [command] => command,
        [] => {
            return Err(Failure::Usage("no command given; try `shellgate check 'ls -la'`".into()));
        }
        _ => {
            return Err(Failure::Usage(
                "more than one argument given; quote the command so that it is one: \
                 `shellgate check 'ls -la'`"
                    .into(),
            ));
        }
    };
    let context = machine::context(&arguments.place)?;
    let (gate, context) = policy::gate_for(&arguments.place, context)?;
    let verdict = gate.classify(command, &context);
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", wire::verdict(None, &verdict))?;
    } else {
        let color = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        report::verdict(&mut out, command, &verdict, color)?;
    }
    out.flush()?;
    Ok(report::status(verdict.decision))
}

fn run_batch(arguments: &Arguments) -> Result<u8, Failure> {
    let path = match arguments.operand.as_slice() {
        [] => None,
        [one] if one == "-" => None,
        [one] => Some(PathBuf::from(one)),
        _ => return Err(Failure::Usage("a batch is read from one file".into())),
    };
    let (gate, context) =
        policy::gate_for_batch(&arguments.place, machine::fixed(&arguments.place))?;
    let out = io::BufWriter::new(io::stdout().lock());
    let batch = Batch {
        gate: &gate,
        context: &context,
        explain: arguments.explain,
        jobs: usize::from(arguments.jobs),
    };
    let bad = match path {
        None => batch::run(&batch, io::stdin().lock(), out),
        Some(path) => {
            let file = File::open(&path).map_err(|error| {
                Failure::Usage(format!("cannot read `{}`: {error}", path.display()))
            })?;
            batch::run(&batch, file, out)
        }
    }?;
    Ok(u8::from(bad > 0))
}
