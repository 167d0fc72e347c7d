//! Runs a shell command.

use std::time::Duration;

use super::answer::Answer;
use super::args::Args;
use super::output::Keep;
use super::process::{Command, Ended, How};
use super::{Task, environment, git_read};
use crate::task::call::FailureKind;

/// When a command that named no limit is killed.
const DEFAULT_LIMIT: Duration = Duration::from_secs(120);

/// How many bytes of output are kept.
const KEPT: usize = 64 * 1024;

/// What is shown for a command that printed nothing.
const NOTHING: &str = "(no output)";

/// Runs the command; one that runs because it only reads is kept from what a repository's settings could
/// make of it.
pub(super) async fn run(task: &Task<'_>, args: Args<'_>, is_reader: bool) -> Answer {
    let line = args.text("command").unwrap_or_default();
    let limit = args
        .number("timeoutMs")
        .and_then(|limit| u64::try_from(limit).ok())
        .map_or(DEFAULT_LIMIT, Duration::from_millis);
    let mut command = match command(task, line, Keep::Last(KEPT), limit) {
        Ok(command) => command,
        Err(cause) => return Answer::failed(FailureKind::Failed, cause),
    };
    if is_reader && line.contains("git") {
        git_read::disarm(task, &mut command.environment).await;
    }
    let ended = task.children().run(command, task.cancel).await;
    answer(task, &ended)
}

/// A shell line in the first root.
///
/// # Errors
///
/// When the root is gone.
pub(super) fn command(
    task: &Task<'_>,
    line: &str,
    keep: Keep,
    limit: Duration,
) -> Result<Command, String> {
    if line.contains('\0') {
        return Err("the command holds a NUL character, which no command can".to_owned());
    }
    let directory = task.toolbox.workspace.first()?.display().to_string();
    Ok(Command {
        program: bash()?.to_owned(),
        arguments: vec!["-c".to_owned(), line.to_owned()],
        directory,
        environment: environment::filter(&task.toolbox.options.environment)
            .into_iter()
            .filter(|(name, _)| !changes_reading(&name.to_string_lossy()))
            .collect(),
        sandbox: task.toolbox.options.sandbox,
        roots: task.toolbox.workspace.place().roots.clone(),
        apart: false,
        keep,
        limit,
    })
}

/// The shell that reads a command as the guard does. Another shell reads some texts otherwise: what
/// bash takes for one quoted string, `dash` may run.
fn bash() -> Result<&'static str, String> {
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        .into_iter()
        .find(|path| std::path::Path::new(path).is_file())
        .ok_or_else(|| {
            "commands are judged as bash reads them, and there is no bash in /bin, /usr/bin or \
             /usr/local/bin: install it"
                .to_owned()
        })
}

/// Whether a variable changes how bash reads a text, or brings text along that nobody judged.
fn changes_reading(name: &str) -> bool {
    matches!(name, "BASH_ENV" | "ENV" | "SHELLOPTS" | "BASHOPTS" | "POSIXLY_CORRECT")
        || name.starts_with("BASH_FUNC_")
}

fn answer(task: &Task<'_>, ended: &Ended) -> Answer {
    let mut output = ended.output.marked();
    if output.is_empty() {
        NOTHING.clone_into(&mut output);
    }
    if let (Some(notice), false) =
        (task.toolbox.options.sandbox.notice(), matches!(ended.how, How::Broken(_)))
    {
        output = format!("{notice}\n{output}");
    }
    let answer = Answer::of(output).truncated(ended.output.dropped() > 0);
    finish(answer, ended)
}

/// Adds how a command ended to what it printed.
pub(super) fn finish(answer: Answer, ended: &Ended) -> Answer {
    let seconds = ended.elapsed.as_secs_f64();
    let answer = match &ended.how {
        How::Exited(0) => answer.exited(0),
        How::Exited(code) => answer
            .exited(*code)
            .fail(FailureKind::Failed, format!("the command ended with exit code {code}")),
        How::Signalled(signal) => answer
            .exited(128_i32.saturating_add(*signal))
            .fail(FailureKind::Failed, format!("the command was killed by signal {signal}")),
        How::TimedOut => answer.fail(
            FailureKind::Timeout,
            format!("the command was killed after {seconds:.1} s because its time was over"),
        ),
        How::Cancelled => {
            answer.fail(FailureKind::Cancelled, "the command was cancelled".to_owned())
        }
        How::Broken(cause) => {
            answer.fail(FailureKind::Failed, format!("the command did not run: {cause}"))
        }
    };
    if ended.left == 0 {
        return answer;
    }
    answer.note(&format!(
        "[{} processes of the command could not be killed; they may belong to another user]",
        ended.left
    ))
}
