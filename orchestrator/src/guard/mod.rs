//! Takes a tool call, the project and the settings; asks the shell gate and the advisor.
//! Gives a ruling: a cleared call, a held call with reasons, or a refusal.
//! May import the `shellgate` library, task and advisor; the only user of the library here.
//! Never runs a call and never makes anything milder than the gate said.

use crate::task::call::ToolCall;
use crate::task::decision::DecisionRecord;

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
