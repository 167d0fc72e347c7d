//! Takes a `Cleared<ToolCall>` and nothing else that could run.
//! Gives a result whose output is capped, or a proposal of edits.
//! May import task and guard.
//! Never decides whether a call may run, and never follows a path out of the workspace.

mod answer;
mod args;
mod check;
mod environment;
mod git_read;
mod launch;
mod links;
mod lint;
mod list_files;
pub mod meta;
mod migrations;
mod output;
pub mod path;
pub mod process;
pub mod project;
mod propose_edit;
mod read_file;
mod run_tests;
pub mod sandbox;
mod search;
mod shell;
mod size;
#[cfg(test)]
mod tests;
mod tree;
mod walk;
pub mod workspace;

use std::ffi::OsString;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::guard::secret::SecretNames;
use crate::guard::{Cleared, Link, Named, Repository, Surroundings};
use crate::task::call::{FailureKind, ToolCall, ToolName, ToolResult, ToolSpec};
use crate::task::edit::{FileEdit, FileMeta};
use crate::task::project::Project;
use answer::Answer;
use args::Args;
pub use process::{Children, Launcher};
pub use sandbox::Sandbox;
pub use workspace::{Workspace, WorkspaceError};

/// What the tools of a task are given besides its workspace.
#[derive(Clone, Debug)]
pub struct ToolOptions {
    /// How shell, tests and linter are confined.
    pub sandbox: Sandbox,
    /// The environment of children before it is filtered.
    pub environment: Vec<(OsString, OsString)>,
    /// Every child of this process.
    pub children: Children,
}

impl ToolOptions {
    /// No sandbox, this process's own environment, children of their own.
    pub fn of_this_process() -> Self {
        Self {
            sandbox: Sandbox::Off,
            environment: std::env::vars_os().collect(),
            children: Children::new(Launcher::this_program()),
        }
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It ended.
    Result(ToolResult),
    /// Edits that passed validation and wait for a person.
    Proposal {
        /// Normalised paths, edits in the model's order.
        files: Vec<FileEdit>,
        /// Facts of the files, in the same order.
        metas: Vec<FileMeta>,
        /// What a person should know of them, one sentence each; may be empty.
        notes: Vec<String>,
    },
}

/// The tools of one task. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Toolbox {
    workspace: Arc<Workspace>,
    project: Arc<Project>,
    secrets: Arc<SecretNames>,
    options: ToolOptions,
}

/// One call in progress, as the tools see it.
#[derive(Clone, Copy)]
struct Task<'a> {
    toolbox: &'a Toolbox,
    cancel: &'a CancellationToken,
}

impl Task<'_> {
    const fn children(&self) -> &Children {
        &self.toolbox.options.children
    }
}

impl Toolbox {
    /// The tools over a workspace as its project configures them.
    pub fn new(workspace: Arc<Workspace>, project: Arc<Project>, options: &ToolOptions) -> Self {
        let secrets = Arc::new(SecretNames::new(&project.sensitive_globs));
        Self { workspace, project, secrets, options: options.clone() }
    }

    /// The workspace they work in.
    pub const fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// The project they work for.
    pub const fn project(&self) -> &Arc<Project> {
        &self.project
    }

    /// What a model is told of these tools, in the fixed order of [`ToolName::ALL`].
    pub fn specs(&self, names: &[ToolName]) -> Vec<ToolSpec> {
        ToolName::ALL
            .into_iter()
            .filter(|tool| names.contains(tool))
            .map(|tool| ToolSpec {
                name: tool.name().to_owned(),
                description: self.description(tool),
                parameters: args::schema(tool),
            })
            .collect()
    }

    fn description(&self, tool: ToolName) -> String {
        let confined = match self.options.sandbox {
            Sandbox::Off => "",
            Sandbox::WorkspaceWrite => {
                " It runs in a sandbox: it can write only inside the workspace and has no network."
            }
            Sandbox::ReadOnly => " It runs in a sandbox: it can write nothing and has no network.",
        };
        let command = |command: &Option<String>, none: &str| match command {
            Some(command) => format!(" The command is `{command}`."),
            None => format!(" {none}"),
        };
        match tool {
            ToolName::ReadFile => "Reads lines of a text file, numbered, at most 2,000 at a time.".to_owned(),
            ToolName::ListFiles => {
                "Lists files below a folder, hidden ones included, ignored ones left out.".to_owned()
            }
            ToolName::Search => {
                "Finds lines in files, as `path:line: text`. Ignored, binary and secret files are left out."
                    .to_owned()
            }
            ToolName::ProposeEdit => "Proposes edits of files for a person to review; this is the only way to \
                change files. Each edit replaces text that stands exactly once in the file; read the file \
                first and copy the text exactly, without line numbers."
                .to_owned(),
            ToolName::Shell => format!(
                "Runs a command by bash in the first workspace folder, without input. Processes it leaves \
                 behind are killed when it ends.{confined}"
            ),
            ToolName::RunTests => format!(
                "Runs the project's tests.{}{confined}",
                command(&self.project.test_command, "No command is configured.")
            ),
            ToolName::Lint => format!(
                "Runs the project's linter.{}{confined}",
                command(&self.project.lint_command, "No command is configured.")
            ),
            ToolName::GitRead => {
                "Reads from git: status, diff, log or show. Contents of secret files are left out.".to_owned()
            }
        }
    }

    /// Whether the arguments of a call are what its tool takes.
    ///
    /// # Errors
    ///
    /// A text that names every field that is wrong.
    pub fn check(&self, call: &ToolCall) -> Result<(), String> {
        args::check(call.tool, &call.args)
    }

    /// Runs a call; a tripped `cancel` kills what it started and gives a cancelled result.
    pub async fn run(&self, call: Cleared<ToolCall>, cancel: &CancellationToken) -> Ran {
        let begin = Instant::now();
        let is_reader = call.is_reader();
        let call = call.into_inner();
        let answer = match self.answer(&call, is_reader, cancel).await {
            Outcome::Answer(answer) => answer,
            Outcome::Proposal(proposal) => return proposal,
        };
        let duration = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ran::Result(answer.into_result(call.id, duration))
    }

    /// The branch that is checked out in the first root; none when detached, when there is no
    /// repository, or when git took more than 5 seconds.
    pub async fn branch(&self, cancel: &CancellationToken) -> Option<String> {
        git_read::branch(self, cancel).await
    }

    /// Lines of the text files in the first root that git would not ignore; beyond 32 MiB an estimate.
    /// Blocks while it reads them.
    pub fn lines(&self) -> u64 {
        size::lines(self)
    }

    async fn answer(
        &self,
        call: &ToolCall,
        is_reader: bool,
        cancel: &CancellationToken,
    ) -> Outcome {
        if let Err(problems) = self.check(call) {
            let message = format!("the arguments of {} are wrong: {problems}", call.tool.name());
            return Outcome::Answer(Answer::failed(FailureKind::InvalidArgs, message));
        }
        if cancel.is_cancelled() {
            return Outcome::Answer(cancelled());
        }
        let task = Task { toolbox: self, cancel };
        let args = Args(&call.args);
        let answer = match call.tool {
            ToolName::ReadFile => read_file::run(&task, args).await,
            ToolName::ListFiles => list_files::run(&task, args).await,
            ToolName::Search => search::run(&task, args).await,
            ToolName::ProposeEdit => return propose_edit::run(&task, args).await,
            ToolName::Shell => shell::run(&task, args, is_reader).await,
            ToolName::RunTests => run_tests::run(&task).await,
            ToolName::Lint => lint::run(&task).await,
            ToolName::GitRead => git_read::run(&task, args).await,
        };
        // Where the workspace itself is gone, no other path would have helped.
        Outcome::Answer(match self.workspace.problem() {
            Some(problem) if answer.blames_arguments() => {
                Answer::failed(FailureKind::Failed, problem)
            }
            _ => answer,
        })
    }
}

#[async_trait]
impl Repository for Toolbox {
    async fn branch(&self) -> Option<String> {
        git_read::branch(self, &CancellationToken::new()).await
    }

    async fn default_branch(&self) -> Option<String> {
        git_read::default_branch(self).await
    }

    async fn has_pending_migrations(&self) -> bool {
        migrations::are_pending(self).await
    }

    fn surroundings(&self) -> Surroundings {
        environment::surroundings(&self.options.environment)
    }

    async fn links(&self, named: Vec<Named>) -> Option<Vec<Link>> {
        let roots = self.workspace.place().roots.clone();
        let looked = tokio::task::spawn_blocking(move || links::look(&roots, &named));
        // A disk that does not answer must not keep a task from being asked about.
        tokio::time::timeout(LOOK_LIMIT, looked).await.ok()?.ok()?
    }

    async fn behind(&self, command: &str) -> Option<String> {
        let (workspace, command) = (Arc::clone(&self.workspace), command.to_owned());
        let read = tokio::task::spawn_blocking(move || project::scripts(&workspace, &command));
        tokio::time::timeout(LOOK_LIMIT, read).await.ok()?.ok()?
    }
}

/// How long a look at links or scripts may take.
const LOOK_LIMIT: std::time::Duration = std::time::Duration::from_secs(5);

/// What a tool gives.
enum Outcome {
    /// A result.
    Answer(Answer),
    /// Always [`Ran::Proposal`].
    Proposal(Ran),
}

/// The answer to a call whose task ended meanwhile.
fn cancelled() -> Answer {
    Answer::failed(FailureKind::Cancelled, "the call was cancelled".to_owned())
}

/// Does work that touches the disk apart from the tasks that must stay quick. The work may go on for a
/// while after it was cancelled or its time was over, where the disk does not answer.
async fn apart<T: Send + 'static>(
    task: &Task<'_>,
    limit: std::time::Duration,
    work: impl FnOnce(Toolbox, CancellationToken) -> T + Send + 'static,
) -> Result<T, Answer> {
    let toolbox = task.toolbox.clone();
    // Tripped with this future, so that dropped work ends too.
    let token = task.cancel.child_token();
    let _guard = token.clone().drop_guard();
    let for_work = token.clone();
    let work = tokio::task::spawn_blocking(move || work(toolbox, for_work));
    tokio::select! {
        done = work => done.map_err(|_| {
            Answer::failed(FailureKind::Failed, "the tool failed by a fault of its own".to_owned())
        }),
        () = task.cancel.cancelled() => Err(cancelled()),
        () = tokio::time::sleep(limit) => Err(Answer::failed(
            FailureKind::Timeout,
            format!("the call took longer than {} s", limit.as_secs()),
        )),
    }
}
