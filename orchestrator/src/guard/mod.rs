//! Takes a tool call, the project and the settings; asks the shell gate and the advisor.
//! Gives a ruling: a cleared call, a held call with reasons, or a refusal.
//! May import the `shellgate` library, task and advisor; the only user of the library here.
//! Never runs a call and never makes anything milder than the gate said.

pub mod secret;

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::advisor::Advisor;
use crate::advisor::replay::{Replay, ReplayError};
use crate::task::call::ToolCall;
use crate::task::decision::DecisionRecord;
use crate::task::port::Trust;
use crate::task::project::{Place, Project};
use crate::task::settings::Gating;

/// What the guard asks of the repository a task works in. Both look-ups may be slow; the guard asks
/// only where a call needs them.
#[async_trait]
pub trait Repository: Send + Sync {
    /// The current branch; none where it is detached, not there, or took over 5 s.
    async fn branch(&self) -> Option<String>;

    /// The branch the remote calls its default, where that is known; it is protected like `main`.
    async fn default_branch(&self) -> Option<String> {
        None
    }
}

/// A repository of which nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRepository;

#[async_trait]
impl Repository for NoRepository {
    async fn branch(&self) -> Option<String> {
        None
    }
}

/// Judges calls. One guard serves all tasks.
pub struct Guard {
    trust: Arc<dyn Trust>,
    home: String,
}

impl Guard {
    /// A guard with the default settings. `home` is the person's home, empty when not known.
    pub fn new(_advisor: Arc<Advisor>, trust: Arc<dyn Trust>, home: String) -> Self {
        Self { trust, home }
    }

    /// Takes new settings, which count from the next call on. Gives one warning per threshold that
    /// was dropped.
    pub fn configure(&self, _gating: &Gating) -> Vec<String> {
        Vec::new()
    }

    /// The guard of one task. An empty home of `place` is filled with the guard's own.
    pub fn open(
        self: &Arc<Self>,
        task: String,
        place: Place,
        project: Arc<Project>,
        repository: Arc<dyn Repository>,
    ) -> TaskGuard {
        let _ = (&self.home, repository);
        TaskGuard { guard: Arc::clone(self), task, place, project }
    }

    /// Decides a stored record again, a call's or a route's. Writes nothing, tells nobody.
    ///
    /// # Errors
    ///
    /// When its pack, state or question is none of ours, or `cancel` fired.
    pub async fn replay(
        &self,
        record: DecisionRecord,
        _cancel: &CancellationToken,
    ) -> Result<Replay, ReplayError> {
        Err(ReplayError::NotReplayable(format!("unknown pack `{}`", record.pack)))
    }
}

/// Judges the calls of one task and remembers what the person agreed to for all of it.
pub struct TaskGuard {
    guard: Arc<Guard>,
    task: String,
    place: Place,
    project: Arc<Project>,
}

impl TaskGuard {
    /// Judges a call. Never fails: what cannot be judged asks with `gate_error`. A call that was
    /// remembered runs where it would ask; its records say `confirm` all the same.
    pub async fn judge(&self, call: ToolCall, cancel: &CancellationToken) -> Judged {
        let _ = (cancel, &self.task, &self.project);
        let held = Held { call, reasons: vec!["gate_error".into()], paths: Vec::new() };
        Judged { ruling: Ruling::Ask(held), records: Vec::new() }
    }

    /// The person agreed to this call, and to the same tool with the same arguments, for the rest
    /// of the task.
    pub fn remember(&self, _call: &ToolCall) {}

    /// The person agreed to this call; where it is one of the project's own commands, its text is
    /// trusted in this workspace from now on. Any approved call may be passed.
    pub fn trusted(&self, _call: &ToolCall) {
        if let (Some(root), Some(command)) =
            (self.place.roots.first(), self.project.test_command.as_ref())
        {
            let _ = self.guard.trust.is_trusted(root, command);
        }
    }
}

/// A thing that may be run. Only this room makes one.
#[derive(Debug)]
pub struct Cleared<T> {
    inner: T,
}

impl<T> Cleared<T> {
    /// What was cleared.
    pub const fn get(&self) -> &T {
        &self.inner
    }

    /// What was cleared, used up.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

/// What the guard says of one call, and the records that say why.
#[derive(Debug)]
pub struct Judged {
    /// The ruling.
    pub ruling: Ruling,
    /// One record for policy alone, three for the engine's questions; not yet stored.
    pub records: Vec<DecisionRecord>,
}

/// What may happen to a call.
#[derive(Debug)]
pub enum Ruling {
    /// It runs unasked.
    Run(Cleared<ToolCall>),
    /// A person is asked.
    Ask(Held),
    /// It does not run.
    Refuse {
        /// Labels, at least one.
        reasons: Vec<String>,
    },
}

/// A call that waits for a person.
#[derive(Debug)]
pub struct Held {
    call: ToolCall,
    /// Labels, may be empty.
    pub reasons: Vec<String>,
    /// Workspace-relative paths it touches, without repetition.
    pub paths: Vec<String>,
}

impl Held {
    /// The call.
    pub const fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The person agreed.
    pub fn approve(self) -> Cleared<ToolCall> {
        Cleared { inner: self.call }
    }
}
