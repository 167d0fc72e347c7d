//! Grok CLI: `PreToolUse` with a payload in camel case; an allow grants nothing and is not sent.

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "grok", title: "Grok CLI", asks: &[Event::Main], separates: false, read, say };

const TOOLS: Tools = Tools {
    shell: &["Bash", "run_terminal_command"],
    foreign: &[],
    read: &["Read", "read_file"],
    write: &["Write", "Edit", "write_file", "edit_file"],
    other: &["*"],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    let name = form::need(payload, "toolName")?;
    let input =
        payload.get("toolInput").ok_or_else(|| Misread("the payload has no `toolInput`".into()))?;
    Ok(Call {
        event: Event::Main,
        acts: TOOLS.acts(name, input)?,
        cwd: form::directory(payload, "cwd"),
        workspaces: Vec::new(),
        session: None,
    })
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    match advice {
        Some(advice) if advice.decision >= Decision::Ask => {
            Reply::object(&json!({ "decision": advice.decision.name(), "reason": advice.model }))
        }
        _ => Reply::silence(),
    }
}
