//! What a person asks for.

use serde::{Deserialize, Serialize};

use super::call::ToolName;

/// What kind of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TaskKind {
    /// Finishing what somebody is typing.
    Autocomplete,
    /// Changing shape, not behaviour.
    Refactor,
    /// Repairing a fault.
    BugFix,
    /// Writing tests.
    TestWrite,
    /// Changing build, deployment or other infrastructure.
    InfraChange,
    /// Explaining, nothing changes.
    Explain,
    /// Anything else.
    Other,
}

/// What the person would rather have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Preference {
    /// Little cost.
    Cheap,
    /// A fair share of both.
    #[default]
    Balance,
    /// The best result.
    Quality,
}

/// Which models work on a task, and how; the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Workflow {
    /// One local model.
    LocalSingle,
    /// A cheap model drafts, a strong one takes over once when the draft fails.
    LocalCloudCascade,
    /// One model in the cloud.
    CloudSingle,
    /// One model in the cloud, a second reviews its edits.
    CloudWithCritique,
}

/// A place in a document, counted as the editor counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Line, from 0.
    pub line: u64,
    /// Column, from 0.
    pub character: u64,
}

/// A part of a document; start after end is possible and means the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// Where it begins.
    pub start: Position,
    /// Where it ends.
    pub end: Position,
}

/// Something the person attached. Paths are relative to a workspace root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContextRef {
    /// A file.
    File {
        /// Its path.
        path: String,
    },
    /// A folder.
    Folder {
        /// Its path.
        path: String,
    },
    /// Part of a file.
    Selection {
        /// The file.
        path: String,
        /// The part.
        range: Range,
    },
    /// Changes that are not committed.
    Diff {
        /// True for what is staged, false for the working tree.
        staged: bool,
        /// Only this path.
        path: Option<String>,
    },
}

/// What the person was looking at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskContext {
    /// Attached things, in the person's order.
    pub refs: Vec<ContextRef>,
    /// Files open in the editor, the most recent first.
    pub open_editors: Vec<String>,
    /// Test files that belong to the work.
    pub tests: Vec<String>,
}

/// When the task counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Success {
    /// The project's tests pass.
    pub tests_pass: bool,
    /// The project's linter is content.
    pub lint_clean: bool,
    /// The person agrees with each edit. Edits are always reviewed, whatever this says.
    pub user_approval: bool,
}

impl Default for Success {
    fn default() -> Self {
        Self { tests_pass: false, lint_clean: false, user_approval: true }
    }
}

/// How much a task may use up; every figure is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Attempts to pass the checks, the first one counted.
    pub max_iterations: u64,
    /// Calls the model makes, refused and malformed ones counted.
    pub max_tool_calls: u64,
    /// Input and output tokens of all turns.
    pub max_tokens: u64,
    /// Milliseconds from planning on, without the time a person is asked.
    pub wall_clock_ms: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { max_iterations: 8, max_tool_calls: 40, max_tokens: 200_000, wall_clock_ms: 600_000 }
    }
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInput {
    /// The kind of work.
    pub kind: TaskKind,
    /// What to do: trimmed, 1 to 20,000 characters.
    pub instruction: String,
    /// What the person was looking at.
    pub context: TaskContext,
    /// Tools the model may use; not empty, repetition is harmless.
    pub allowed_tools: Vec<ToolName>,
    /// When it counts as done.
    pub success: Success,
    /// How much it may use up.
    pub budget: Budget,
    /// What the person would rather have.
    pub preference: Preference,
    /// A workflow the person insists on.
    pub workflow_override: Option<Workflow>,
}
