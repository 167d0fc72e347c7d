//! Crush: `PreToolUse` (github.com/charmbracelet/crush).

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "crush", title: "Crush", asks: &[], separates: false, read, say };

const TOOLS: Tools = Tools {
    shell: &["bash"],
    foreign: &[],
    read: &["view"],
    write: &["edit", "multiedit", "write"],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    let name = form::need(payload, "tool_name")?;
    let input = payload
        .get("tool_input")
        .ok_or_else(|| Misread("the payload has no `tool_input`".into()))?;
    Ok(Call {
        event: Event::Main,
        acts: TOOLS.acts(name, input)?,
        cwd: form::directory(input, "working_dir").or_else(|| form::directory(payload, "cwd")),
        workspaces: Vec::new(),
        session: None,
    })
}

fn say(_: Event, advice: Option<&Advice>, approve: bool) -> Reply {
    match advice {
        Some(advice) if advice.decision >= Decision::Ask => {
            Reply::object(&json!({ "version": 1, "decision": "deny", "reason": advice.model }))
        }
        Some(advice) if advice.decision == Decision::Allow && approve && advice.approvable => {
            Reply::object(&json!({ "version": 1, "decision": "allow" }))
        }
        _ => Reply::silence(),
    }
}
