//! Kiro: `preToolUse` of the command-line program and of the editor (kiro.dev/docs).

use serde_json::Value;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "kiro", title: "Kiro", asks: &[], separates: false, read, say };

const TOOLS: Tools = Tools {
    shell: &["execute_bash", "shell"],
    foreign: &[],
    read: &["fs_read"],
    write: &["fs_write"],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    let name = form::need(payload, "tool_name")?;
    let input = payload
        .get("tool_input")
        .ok_or_else(|| Misread("the payload has no `tool_input`".into()))?;
    Ok(Call {
        event: Event::Main,
        acts: TOOLS.acts(name, input)?,
        cwd: form::directory(payload, "cwd"),
        workspaces: Vec::new(),
        session: None,
    })
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    form::exit_reply(advice)
}
