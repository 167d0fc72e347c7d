//! Where a task stands.

use serde::{Deserialize, Serialize};

use super::Timestamp;
use super::input::{TaskKind, Workflow};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TaskState {
    /// Waits for a free slot.
    Queued,
    /// A slot is taken, model and context are being prepared.
    Planning,
    /// The model works.
    Running,
    /// A person is asked.
    AwaitingApproval,
    /// The checks run.
    Verifying,
    /// Ended well.
    Done,
    /// Ended badly.
    Failed,
    /// Ended by a person or by shutdown.
    Cancelled,
}

impl TaskState {
    /// Whether nothing can follow.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// Tokens and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// US dollars; none where no price is known.
    pub cost_usd: Option<f64>,
}

/// What a list of tasks shows of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSummary {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: TaskKind,
    /// What to do.
    pub instruction: String,
    /// Where it stands.
    pub state: TaskState,
    /// The workflow that was chosen.
    pub workflow: Option<Workflow>,
    /// Ids of the models used so far, in order, no repetition.
    pub models: Vec<String>,
    /// The current attempt; 0 before the first.
    pub iteration: u64,
    /// Of all turns so far.
    pub usage: Usage,
    /// When it was created.
    pub created: Timestamp,
    /// When its state last changed.
    pub updated: Timestamp,
    /// Only when failed.
    pub failure_reason: Option<String>,
}
