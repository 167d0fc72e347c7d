//! Claude Code: `PreToolUse` and `PermissionRequest` (code.claude.com/docs/en/hooks).

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent = Agent {
    name: "claude",
    title: "Claude Code",
    asks: &[Event::Main, Event::Other],
    separates: true,
    read,
    say,
};

/// Its tools.
pub const TOOLS: Tools = Tools {
    shell: &["Bash", "Monitor"],
    foreign: &["PowerShell"],
    read: &["Read"],
    write: &["Write", "Edit", "MultiEdit", "NotebookEdit"],
    other: &[
        "Agent",
        "Task",
        "Task*",
        "AskUserQuestion",
        "BashOutput",
        "KillShell",
        "KillBash",
        "ExitPlanMode",
        "EnterPlanMode",
        "Glob",
        "Grep",
        "LS",
        "NotebookRead",
        "SlashCommand",
        "Skill",
        "TodoWrite",
        "TodoRead",
        "WebFetch",
        "WebSearch",
        "ListMcpResourcesTool",
        "ReadMcpResourceTool",
        "ToolSearch",
        "LSP",
        "EnterWorktree",
        "ExitWorktree",
        "SendMessage",
        "mcp__*",
    ],
};

/// The call of a payload of the Claude family with these tools.
///
/// # Errors
/// When something that must be there is not.
pub fn call(payload: &Value, tools: &Tools) -> Result<Call, Misread> {
    let event = match form::need(payload, "hook_event_name")? {
        "PreToolUse" => Event::Main,
        "PermissionRequest" => Event::Other,
        other => return Err(Misread(format!("the event `{other}` is none of ours"))),
    };
    Ok(Call { event, ..form::call(payload, tools, &["cwd"])? })
}

fn read(payload: &Value) -> Result<Call, Misread> {
    call(payload, &TOOLS)
}

fn say(event: Event, advice: Option<&Advice>, approve: bool) -> Reply {
    match (event, advice) {
        (Event::Other, advice) => permission(advice, approve),
        (Event::Main, Some(advice)) if advice.decision == Decision::Deny => {
            let mut value = form::claude("deny", &advice.model);
            if let Value::Object(object) = &mut value {
                object.insert("systemMessage".into(), advice.person.clone().into());
            }
            Reply::object(&value)
        }
        (Event::Main, advice) => form::claude_reply(advice, approve),
    }
}

/// The reply to a request for permission: silence shows the prompt.
pub fn permission(advice: Option<&Advice>, approve: bool) -> Reply {
    let decision = match advice {
        Some(advice) if advice.decision == Decision::Deny => {
            json!({ "behavior": "deny", "message": advice.model })
        }
        Some(advice) if advice.decision == Decision::Allow && approve && advice.approvable => {
            json!({ "behavior": "allow" })
        }
        _ => return Reply::silence(),
    };
    Reply::object(&json!({
        "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision }
    }))
}
