//! What a task needs from its host, as traits, so that tests stand in for disk and people.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::decision::{DecisionRecord, Outcome};
use super::event::Event;
use super::input::TaskInput;
use super::state::TaskSummary;

/// Why a port did not do its work: what, where, and what to do, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortError(pub String);

impl std::fmt::Display for PortError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PortError {}

/// Where secrets come from.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// The value of a reference `secret:name`; none when it is not set.
    ///
    /// # Errors
    ///
    /// When it could not be asked for; the text holds no secret.
    async fn get(&self, reference: &str) -> Result<Option<String>, PortError>;
}

/// A secret source that many hold.
pub type SharedSecrets = Arc<dyn Secrets>;

/// The history of tasks. What `append` took survives the death of the process.
pub trait Journal: Send + Sync {
    /// A task was created.
    ///
    /// # Errors
    ///
    /// When it could not be written.
    fn create(&self, summary: &TaskSummary, input: &TaskInput) -> Result<(), PortError>;

    /// An event is about to be told; `summary` is the task after it.
    ///
    /// # Errors
    ///
    /// When it could not be written.
    fn append(&self, event: &Event, summary: &TaskSummary) -> Result<(), PortError>;

    /// The latest ended tasks of earlier processes, oldest created first, at most `limit`. Those that
    /// were not finished are failed with `internal_error`, once.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    fn ended(&self, limit: usize) -> Result<Vec<TaskSummary>, PortError>;

    /// The process is about to end: from now on all calls together wait for others no longer than this.
    /// It never waits itself.
    fn hurry(&self, _limit: Duration) {}
}

/// A filter and a place in the list of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordQuery {
    /// Only of this task.
    pub task: Option<String>,
    /// Only of this pack.
    pub pack: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<Outcome>,
    /// At most this many.
    pub limit: usize,
    /// Only records older than the one with this id.
    pub older_than: Option<String>,
}

/// The decision log.
#[async_trait]
pub trait Records: Send + Sync {
    /// Adds a record. A failure is told by other means and never changes a decision.
    async fn append(&self, record: &DecisionRecord);

    /// Records, newest first, and whether a further one exists.
    async fn list(&self, query: &RecordQuery) -> (Vec<DecisionRecord>, bool);

    /// The record with that id.
    async fn find(&self, id: &str) -> Option<DecisionRecord>;
}

/// Which of a project's own commands a person has agreed to, by workspace and text.
pub trait Trust: Send + Sync {
    /// Whether the person agreed to exactly this text in this workspace.
    fn is_trusted(&self, root: &str, command: &str) -> bool;

    /// The person agreed.
    fn remember(&self, root: &str, command: &str);
}
