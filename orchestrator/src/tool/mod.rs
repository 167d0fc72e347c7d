//! Takes a `Cleared<ToolCall>` and nothing else that could run.
//! Gives a result whose output is capped, or a proposal of edits.
//! May import task and guard.
//! Never decides whether a call may run, and never follows a path out of the workspace.

pub mod meta;
pub mod process;
pub mod project;
pub mod sandbox;
pub mod workspace;

use std::ffi::OsString;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::guard::Cleared;
use crate::task::call::{FailureKind, ToolCall, ToolFailure, ToolName, ToolResult, ToolSpec};
use crate::task::edit::{FileEdit, FileMeta};
use crate::task::project::Project;
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
    options: ToolOptions,
}

impl Toolbox {
    /// The tools over a workspace as its project configures them.
    pub fn new(workspace: Arc<Workspace>, project: Arc<Project>, options: &ToolOptions) -> Self {
        Self { workspace, project, options: options.clone() }
    }

    /// What a model is told of these tools, in the fixed order of [`ToolName::ALL`].
    pub fn specs(&self, names: &[ToolName]) -> Vec<ToolSpec> {
        let _ = (&self.workspace, &self.project, &self.options, names);
        Vec::new()
    }

    /// Whether the arguments of a call are what its tool takes.
    ///
    /// # Errors
    ///
    /// A text that names every field that is wrong.
    pub fn check(&self, call: &ToolCall) -> Result<(), String> {
        let _ = (self, call);
        Ok(())
    }

    /// Runs a call; a tripped `cancel` kills what it started and gives a cancelled result.
    pub async fn run(&self, call: Cleared<ToolCall>, cancel: &CancellationToken) -> Ran {
        let call = call.into_inner();
        let _ = cancel;
        Ran::Result(ToolResult {
            call: call.id,
            output: String::new(),
            truncated: false,
            exit_code: None,
            duration_ms: 0,
            failure: Some(ToolFailure {
                kind: FailureKind::Failed,
                message: "this tool is not there yet".to_owned(),
                reasons: Vec::new(),
            }),
        })
    }

    /// The branch that is checked out in the first root; none when detached, when there is no
    /// repository, or when git took more than 5 seconds.
    pub async fn branch(&self, cancel: &CancellationToken) -> Option<String> {
        let _ = cancel;
        None
    }
}
