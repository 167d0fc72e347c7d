//! opencode: the plugin that `shellgate install` writes sends the call on and throws unless it reads
//! `{"decision":"pass"}` (opencode.ai/docs/plugins).

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "opencode", title: "opencode", asks: &[], separates: false, read, say };

const TOOLS: Tools = Tools {
    shell: &["bash"],
    foreign: &[],
    read: &["read"],
    write: &["write", "edit"],
    other: &["*"],
};

/// The call that a plugin of ours sends: `tool`, `input`, `cwd`, `workspaces`.
///
/// # Errors
/// When something that must be there is not.
pub fn call(payload: &Value, tools: &Tools) -> Result<Call, Misread> {
    let name = form::need(payload, "tool")?;
    let input = payload.get("input").ok_or_else(|| Misread("the payload has no `input`".into()))?;
    Ok(Call {
        event: Event::Main,
        acts: tools.acts(name, input)?,
        cwd: ["workdir", "cwd"]
            .iter()
            .find_map(|key| form::directory(input, key))
            .or_else(|| form::directory(payload, "cwd")),
        workspaces: form::directories(payload, "workspaces"),
        session: None,
    })
}

fn read(payload: &Value) -> Result<Call, Misread> {
    call(payload, &TOOLS)
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    match advice {
        Some(advice) if advice.decision >= Decision::Ask => {
            Reply::object(&json!({ "decision": "deny", "reason": advice.model }))
        }
        _ => Reply::object(&json!({ "decision": "pass" })),
    }
}
