//! Calls of tools and what came of them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool, in the order tools are offered to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ToolName {
    /// Lines of a file.
    ReadFile,
    /// Names of files.
    ListFiles,
    /// Lines that match.
    Search,
    /// Edits a person reviews; writes nothing itself.
    ProposeEdit,
    /// A shell command.
    Shell,
    /// The project's tests.
    RunTests,
    /// The project's linter.
    Lint,
    /// What git knows.
    GitRead,
}

impl ToolName {
    /// All tools in the order they are offered.
    pub const ALL: [Self; 8] = [
        Self::ReadFile,
        Self::ListFiles,
        Self::Search,
        Self::ProposeEdit,
        Self::Shell,
        Self::RunTests,
        Self::Lint,
        Self::GitRead,
    ];

    /// The name a model calls it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read_file",
            Self::ListFiles => "list_files",
            Self::Search => "search",
            Self::ProposeEdit => "propose_edit",
            Self::Shell => "shell",
            Self::RunTests => "run_tests",
            Self::Lint => "lint",
            Self::GitRead => "git_read",
        }
    }

    /// The tool of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// What it may change.
    pub const fn side_effect(self) -> SideEffect {
        match self {
            Self::ReadFile | Self::ListFiles | Self::Search | Self::GitRead => SideEffect::None,
            Self::ProposeEdit => SideEffect::Workspace,
            Self::Shell | Self::RunTests | Self::Lint => SideEffect::External,
        }
    }
}

/// What a tool may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SideEffect {
    /// Nothing.
    None,
    /// Files of the workspace.
    Workspace,
    /// Anything.
    External,
}

/// A call as a model wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawCall {
    /// The provider's id: neither surely unique nor well formed.
    pub id: String,
    /// The name it called.
    pub name: String,
    /// The arguments as JSON text; may be empty or broken.
    pub args: String,
}

/// A call of a known tool with an object of arguments; the arguments are not yet checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in its task, 1 to 128 characters.
    pub id: String,
    /// The tool.
    pub tool: ToolName,
    /// The arguments as the model sent them, no default filled in.
    pub args: Map<String, Value>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub call: String,
    /// What it printed, capped by the tool; also the text the model is given.
    pub output: String,
    /// Whether output was cut.
    pub truncated: bool,
    /// The exit status, where a process ended by itself.
    pub exit_code: Option<i64>,
    /// Milliseconds from the moment the call was taken up, waits included.
    pub duration_ms: u64,
    /// Why it failed; none for a call that did what was asked.
    pub failure: Option<ToolFailure>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFailure {
    /// The kind.
    pub kind: FailureKind,
    /// What went wrong and what to do, for the model and the person.
    pub message: String,
    /// Labels; only refused and rejected calls have some.
    pub reasons: Vec<String>,
}

/// The kind of a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailureKind {
    /// The guard refused it.
    Blocked,
    /// The person declined it.
    Rejected,
    /// Its arguments are wrong.
    InvalidArgs,
    /// It took too long.
    Timeout,
    /// The task ended meanwhile.
    Cancelled,
    /// Anything else.
    Failed,
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}
