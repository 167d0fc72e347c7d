//! Loads the files of utilities and prints what is in them, or the first mistake.

use std::process::ExitCode;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it exists to print")]
fn main() -> ExitCode {
    let files = shellgate::load::builtin::utilities();
    match shellgate::load::utilities(files) {
        Ok((catalog, examples)) => {
            println!(
                "{} files, {} names, {} entries with sub-commands, {} variables, {} examples",
                files.len(),
                catalog.names().count(),
                catalog.iter().count(),
                catalog.variables().len(),
                examples.len()
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
