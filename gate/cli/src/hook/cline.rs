//! Cline: the file hook `PreToolUse` (github.com/cline/cline). Its program can be told `review`, and
//! yet runs the call where tools are approved on their own, as they are by default (seen in 3.0.65);
//! so an ask is a cancel in both forms.

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "cline", title: "Cline", asks: &[], separates: false, read, say };

const TOOLS: Tools = Tools {
    shell: &["run_commands", "execute_command"],
    foreign: &[],
    read: &["read_file", "read_files"],
    write: &["write_to_file", "replace_in_file", "editor"],
    other: &["*"],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    let event = match form::need(payload, "hookName")? {
        "tool_call" => Event::Other,
        "PreToolUse" => Event::Main,
        other => return Err(Misread(format!("the event `{other}` is none of ours"))),
    };
    let (name, input) = if let Some(call) = payload.get("tool_call") {
        (form::need(call, "name")?, call.get("input"))
    } else if let Some(call) = payload.get("preToolUse") {
        (
            form::need(call, "toolName").or_else(|_| form::need(call, "tool"))?,
            call.get("parameters"),
        )
    } else {
        return Err(Misread("the payload has neither `tool_call` nor `preToolUse`".into()));
    };
    let input = input.ok_or_else(|| Misread(format!("`{name}` is called without an input")))?;
    let workspaces = form::directories(payload, "workspaceRoots");
    Ok(Call {
        event,
        acts: TOOLS.acts(name, input)?,
        cwd: workspaces.first().cloned(),
        workspaces,
        session: None,
    })
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    let value = match advice {
        Some(advice) if advice.decision >= Decision::Ask => {
            json!({ "cancel": true, "errorMessage": advice.model })
        }
        _ => json!({}),
    };
    Reply::object(&value)
}
