//! Gemini CLI: `BeforeTool` (github.com/google-gemini/gemini-cli, docs/hooks). Public documents
//! list no ask, so that an ask is a deny.

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "gemini", title: "Gemini CLI", asks: &[], separates: true, read, say };

const TOOLS: Tools = Tools {
    shell: &["run_shell_command"],
    foreign: &[],
    read: &["read_file"],
    write: &["write_file", "replace"],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    let name = form::need(payload, "tool_name")?;
    let input = payload
        .get("tool_input")
        .ok_or_else(|| Misread("the payload has no `tool_input`".into()))?;
    let cwd = form::directory(payload, "cwd");
    // The tool may name a directory of its own, from the current one.
    let inner = ["dir_path", "directory"].iter().find_map(|key| input.get(key)?.as_str());
    let place = match (inner, &cwd) {
        (Some(path), _) if path.starts_with('/') => Some(path.to_owned()),
        (Some(path), Some(cwd)) if !path.is_empty() => Some(format!("{cwd}/{path}")),
        _ => cwd.clone(),
    };
    Ok(Call {
        event: Event::Main,
        acts: TOOLS.acts(name, input)?,
        cwd: place,
        workspaces: Vec::new(),
        session: None,
    })
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    match advice {
        Some(advice) if advice.decision >= Decision::Ask => Reply::object(&json!({
            "decision": "deny", "reason": advice.model, "systemMessage": advice.person,
        })),
        _ => Reply::silence(),
    }
}
