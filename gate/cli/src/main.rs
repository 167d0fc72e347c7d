//! `shellgate`: judges shell commands before they run.
//!
//! The composition root: arguments, files, environment and exit statuses meet here and nowhere else.

use std::io::Write as _;
use std::process::ExitCode;

use shellgate_cli::command::{self, Arguments, Failure};

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(error) => {
            // clap prints help to standard output and mistakes to standard error. A reader that
            // went away is no reason to complain.
            let status = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(status);
        }
    };
    match command::run(arguments) {
        Ok(status) => ExitCode::from(status),
        Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr().lock(), "shellgate: {failure}");
            ExitCode::from(failure.status())
        }
    }
}
