//! The dialects of coding agents: a payload becomes a call, an advice becomes a reply.
//!
//! Takes bytes and a judge; gives what to print and the exit status. Adapters are pure: no file, no
//! environment, no clock. May import: serde, the gate and `strict`. Never answers anything that an agent takes for an approval by mistake.

pub mod amp;
pub mod antigravity;
pub mod claude;
pub mod cline;
pub mod codex;
pub mod copilot;
pub mod crush;
pub mod cursor;
pub mod devin;
pub mod droid;
pub mod form;
pub mod gemini;
pub mod goose;
pub mod grok;
pub mod kiro;
pub mod opencode;
pub mod openhands;
pub mod qwen;
pub mod sample;
pub mod text;
pub mod windsurf;

use std::fmt;

use serde_json::Value;
use shellgate::model::fact::EffectKind;
use shellgate::model::verdict::Decision;

use crate::strict;

/// Which of an agent's events a payload belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The one the adapter is made for, before a tool runs.
    Main,
    /// The agent's other one: a request for permission, or a form with other powers.
    Other,
}

/// One thing an agent is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Text goes to a shell of the POSIX family.
    Command(String),
    /// Text goes to a shell that we do not read (`PowerShell`).
    Foreign(String),
    /// A tool works on a file without a shell.
    File {
        /// The path, absolute or from the current directory.
        path: String,
        /// What is done to it.
        kind: EffectKind,
    },
}

/// What an agent is about to do, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The event.
    pub event: Event,
    /// What it would do, all of it; empty for a tool that is left alone.
    pub acts: Vec<Act>,
    /// The current directory, where the payload names one.
    pub cwd: Option<String>,
    /// Roots of workspaces, where the payload names them.
    pub workspaces: Vec<String>,
    /// The agent's session, where the payload names it.
    pub session: Option<String>,
}

impl Call {
    /// Whether all of it goes to a shell that we read.
    pub fn is_shell(&self) -> bool {
        self.acts.iter().all(|act| matches!(act, Act::Command(_)))
    }

    /// The text that grants are bound to: commands as they are, a file tool as its kind and path.
    pub fn subject(&self) -> String {
        // Several commands are followed by the text that joins them.
        if let (true, Some(Act::Command(text))) = (self.is_shell(), self.acts.last()) {
            return text.clone();
        }
        let parts: Vec<String> = self
            .acts
            .iter()
            .map(|act| match act {
                Act::Command(text) | Act::Foreign(text) => text.clone(),
                Act::File { path, kind } => format!("({} {path})", kind.name()),
            })
            .collect();
        parts.join("\n")
    }
}

/// What is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The decision.
    pub decision: Decision,
    /// What the model may read: what, why, a safer way, the rule. Not empty for ask and deny.
    pub model: String,
    /// What the person may read: the same, and how to allow it.
    pub person: String,
    /// Whether an allow may be told as an approval: never for a file tool.
    pub approvable: bool,
}

/// What the program prints and how it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Standard output, with its line end where it is not empty.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    /// The exit status.
    pub status: u8,
}

impl Reply {
    /// Nothing at all: no opinion.
    pub fn silence() -> Self {
        Self::default()
    }

    /// One JSON object, status 0.
    pub fn object(value: &Value) -> Self {
        Self { stdout: format!("{value}\n"), ..Self::default() }
    }

    /// Status 2 with a text on standard error: how agents without a reply of their own are told no.
    pub fn block(text: &str) -> Self {
        Self { stderr: format!("{text}\n"), status: 2, ..Self::default() }
    }
}

/// Why a payload could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misread(pub String);

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A foreign agent.
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The events in which a person is asked, by its own prompt, where we say so or say nothing.
    pub asks: &'static [Event],
    /// Whether it shows a person a text that the model does not get.
    pub separates: bool,
    /// A payload, a call.
    pub read: fn(&Value) -> Result<Call, Misread>,
    /// What to reply; none where the tool is left alone. The flag says that the person wants what
    /// is known to be harmless approved.
    pub say: fn(Event, Option<&Advice>, bool) -> Reply,
}

/// All agents, in the order people are shown them.
pub const AGENTS: &[Agent] = &[
    claude::AGENT,
    codex::AGENT,
    gemini::AGENT,
    cursor::AGENT,
    copilot::AGENT,
    windsurf::AGENT,
    devin::AGENT,
    cline::AGENT,
    goose::AGENT,
    kiro::AGENT,
    droid::AGENT,
    qwen::AGENT,
    crush::AGENT,
    opencode::AGENT,
    amp::AGENT,
    antigravity::AGENT,
    grok::AGENT,
    openhands::AGENT,
];

/// The agent of that name.
pub fn find(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.name == name)
}

/// Reads a payload, has it judged, replies. A payload that cannot be read and a judge that fails
/// are answered as if a person must be asked.
pub fn answer(
    agent: &Agent,
    input: &[u8],
    approve: bool,
    judge: &mut dyn FnMut(&Call) -> Result<Advice, String>,
) -> Reply {
    let call = strict::value(input)
        .map_err(|error| Misread(format!("the payload is not JSON: {error}")))
        .and_then(|payload| {
            (agent.read)(&payload).map(|call| Call { session: session(&payload), ..call })
        });
    match call {
        Err(misread) => fault(agent, Event::Main, &misread.0),
        Ok(call) if call.acts.is_empty() => (agent.say)(call.event, None, approve),
        Ok(call) => match judge(&call) {
            Ok(advice) => (agent.say)(call.event, Some(&advice), approve),
            Err(what) => fault(agent, call.event, &what),
        },
    }
}

/// What the payload calls the session.
fn session(payload: &Value) -> Option<String> {
    const KEYS: &[&str] = &[
        "session_id",
        "sessionId",
        "sessionID",
        "conversation_id",
        "conversationId",
        "trajectory_id",
        "taskId",
    ];
    KEYS.iter()
        .find_map(|key| payload.get(key)?.as_str())
        .map(|text| text.chars().take(128).collect())
}

/// The reply to a failure of our own: a person must be asked.
pub fn fault(agent: &Agent, event: Event, what: &str) -> Reply {
    (agent.say)(event, Some(&text::fault(what)), false)
}
