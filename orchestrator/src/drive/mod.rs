//! Takes task inputs, answers of people, models, tools and the guard.
//! Gives tasks that run to their end, and their events in order.
//! May import task, guard, advisor, tool and model.
//! Never speaks a protocol, and never runs a call that is not cleared.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::task::edit::FileReport;
use crate::task::event::Event;
use crate::task::input::TaskInput;
use crate::task::port::{Journal, PortError, Records};
use crate::task::settings::Settings;
use crate::task::state::TaskSummary;

/// What tasks need. The composition root makes it; `start` takes it.
pub struct Services {
    /// The decision log.
    pub records: Arc<dyn Records>,
    /// The history of tasks.
    pub journal: Arc<dyn Journal>,
    /// Workspace roots as the client named them; may be empty, relative or missing.
    pub roots: Vec<PathBuf>,
    /// Takes one line about a fault that nobody else is told in detail; without secrets.
    pub note: Arc<dyn Fn(&str) + Send + Sync>,
}

/// All tasks. A clone is a handle of the same tasks.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    services: Services,
    #[expect(dead_code, reason = "the first task will send")]
    events: mpsc::UnboundedSender<Event>,
    ended: Mutex<Vec<TaskSummary>>,
}

/// How far an approval reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This call.
    Once,
    /// This call, and each equal one of the same task.
    Task,
}

/// No task has that id, or it has been forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchTask;

impl fmt::Display for NoSuchTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such task")
    }
}

impl std::error::Error for NoSuchTask {}

/// Why an answer of a person reached nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerError {
    /// No task has that id.
    NoTask,
    /// The task waits for no such approval or proposal.
    NoApproval,
    /// A reported path is none of the proposal's; nothing was recorded.
    ForeignPath(String),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTask => f.write_str("no such task"),
            Self::NoApproval => f.write_str("the task waits for no such answer"),
            Self::ForeignPath(path) => write!(f, "`{path}` is no file of the proposal"),
        }
    }
}

impl std::error::Error for AnswerError {}

impl Runtime {
    /// Takes up work inside a tokio runtime. Tasks of earlier processes are listed as ended.
    pub fn start(services: Services, events: mpsc::UnboundedSender<Event>) -> Self {
        let ended = services.journal.ended(100).unwrap_or_else(|error| {
            (services.note)(&format!("task history not read: {error}"));
            Vec::new()
        });
        Self { inner: Arc::new(Inner { services, events, ended: Mutex::new(ended) }) }
    }

    /// Takes a task in. The summary always says queued, even when events already tell more.
    ///
    /// # Errors
    ///
    /// After shutdown began.
    #[expect(clippy::unused_async, reason = "the signature the rooms agreed on")]
    pub async fn create(&self, _input: TaskInput) -> Result<TaskSummary, PortError> {
        Err(PortError("tasks are not taken in".to_owned()))
    }

    /// Ends a task. False when it had ended before.
    ///
    /// # Errors
    ///
    /// When no task has that id.
    pub fn cancel(&self, task: &str) -> Result<bool, NoSuchTask> {
        self.list().iter().find(|known| known.id == task).map(|_| false).ok_or(NoSuchTask)
    }

    /// All tasks that are not forgotten, the oldest first.
    pub fn list(&self) -> Vec<TaskSummary> {
        self.inner.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The person agrees to a call.
    ///
    /// # Errors
    ///
    /// When the task does not wait for it.
    pub fn approve(&self, task: &str, _approval: &str, _scope: Scope) -> Result<(), AnswerError> {
        self.waiting(task)
    }

    /// The person declines a call.
    ///
    /// # Errors
    ///
    /// When the task does not wait for it.
    pub fn reject(
        &self,
        task: &str,
        _approval: &str,
        _reason: Option<String>,
    ) -> Result<(), AnswerError> {
        self.waiting(task)
    }

    /// What became of some or all files of a proposal; a file may be told again until all are told.
    ///
    /// # Errors
    ///
    /// When the task does not wait for it, or a path is none of the proposal's.
    pub fn report(
        &self,
        task: &str,
        _proposal: &str,
        _files: Vec<FileReport>,
    ) -> Result<(), AnswerError> {
        self.waiting(task)
    }

    /// Replaces all settings. Gives a line for each threshold that was dropped because it loosens.
    pub fn configure(&self, _settings: &Settings) -> Vec<String> {
        Vec::new()
    }

    /// Ends all tasks and waits until their events are told, `deadline` at most.
    #[expect(clippy::unused_async, reason = "the signature the rooms agreed on")]
    pub async fn shutdown(&self, _deadline: Duration) {
        (self.inner.services.note)("no task is at work");
    }

    fn waiting(&self, task: &str) -> Result<(), AnswerError> {
        match self.cancel(task) {
            Ok(_) => Err(AnswerError::NoApproval),
            Err(NoSuchTask) => Err(AnswerError::NoTask),
        }
    }
}
