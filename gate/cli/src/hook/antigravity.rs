//! Antigravity CLI: `PreToolUse` (antigravity.google/docs/hooks). A decision must always be there;
//! its `allow` only hands the call on to the next judge.

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent = Agent {
    name: "antigravity",
    title: "Antigravity CLI",
    asks: &[Event::Main],
    separates: false,
    read,
    say,
};

const TOOLS: Tools = Tools {
    shell: &["run_command"],
    foreign: &[],
    read: &["view_file"],
    write: &["write_to_file", "replace_file_content"],
    other: &["list_dir", "grep_search", "find_by_name", "search_web", "read_url_content", "mcp_*"],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    let call =
        payload.get("toolCall").ok_or_else(|| Misread("the payload has no `toolCall`".into()))?;
    let name = form::need(call, "name")?;
    let input = call.get("args").ok_or_else(|| Misread("the call has no `args`".into()))?;
    let workspaces = form::directories(payload, "workspacePaths");
    Ok(Call {
        event: Event::Main,
        acts: TOOLS.acts(name, input)?,
        cwd: form::directory(input, "Cwd").or_else(|| workspaces.first().cloned()),
        workspaces,
        session: None,
    })
}

fn say(_: Event, advice: Option<&Advice>, approve: bool) -> Reply {
    let value = match advice {
        Some(advice) if advice.decision == Decision::Deny => {
            json!({ "decision": "deny", "reason": advice.model })
        }
        Some(advice) if advice.decision == Decision::Ask => {
            json!({ "decision": "force_ask", "reason": advice.model })
        }
        Some(advice) if advice.decision == Decision::Allow && approve && advice.approvable => {
            json!({ "decision": "auto_approve", "reason": advice.model })
        }
        _ => json!({ "decision": "allow" }),
    };
    Reply::object(&value)
}
