//! What a task tells its listeners.

use serde::{Deserialize, Serialize};

use super::Timestamp;
use super::call::{ToolCall, ToolResult};
use super::decision::DecisionRecord;
use super::edit::{EditProposal, FileMeta};
use super::state::{TaskState, Usage};

/// One event of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The task's id.
    pub task: String,
    /// From 0, one more for each event of the task, no gap.
    pub seq: u64,
    /// When it was emitted.
    pub at: Timestamp,
    /// What happened.
    pub body: EventBody,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum EventBody {
    /// The state changed; no event for a change to the same state.
    StateChanged {
        /// None for the first event only.
        from: Option<TaskState>,
        /// The new state.
        to: TaskState,
        /// The failure reason, only when failed.
        reason: Option<String>,
    },
    /// A piece of the model's text, not empty.
    TextDelta {
        /// One id per model turn.
        message: String,
        /// The piece.
        delta: String,
    },
    /// A piece of the model's visible reasoning, for display only.
    ReasoningDelta {
        /// The id of the turn it belongs to.
        message: String,
        /// The piece.
        delta: String,
    },
    /// A known and allowed tool was called.
    ToolCallStarted {
        /// The call.
        call: ToolCall,
    },
    /// A call ended, started or not; exactly one per started call.
    ToolCallFinished {
        /// What came of it.
        result: ToolResult,
    },
    /// Edits wait for review.
    EditProposed {
        /// The proposal.
        proposal: EditProposal,
        /// Facts of its files, in its order.
        files: Vec<FileMeta>,
    },
    /// A call waits for a person.
    ApprovalRequired {
        /// What the answer must name.
        approval: String,
        /// The call.
        call: ToolCall,
        /// Labels, may be empty.
        reasons: Vec<String>,
        /// The id of the first decision record.
        decision: Option<String>,
        /// Workspace-relative paths the call touches, shell commands included.
        paths: Vec<String>,
    },
    /// A decision was recorded.
    DecisionMade {
        /// The record.
        decision: DecisionRecord,
    },
    /// A model turn reported its usage.
    Usage {
        /// The configured model's id.
        model: String,
        /// Of this turn.
        usage: Usage,
    },
    /// The task fails; the terminal state follows.
    Error {
        /// The kind of a model's error, or the failure reason.
        kind: String,
        /// For the person.
        message: String,
        /// Whether trying again may help.
        retryable: bool,
        /// Milliseconds to wait before trying again, where the provider said so.
        retry_after_ms: Option<u64>,
    },
}
