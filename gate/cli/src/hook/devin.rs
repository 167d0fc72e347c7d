//! Devin CLI: `PreToolUse` and `PermissionRequest` (docs.devin.ai/cli/extensibility/hooks). Whether
//! it takes allow or ask is not known, so that neither is sent.

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::Tools;
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply, claude};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "devin", title: "Devin CLI", asks: &[Event::Other], separates: false, read, say };

const TOOLS: Tools = Tools {
    shell: &["exec"],
    foreign: &[],
    read: &["read"],
    write: &["edit", "write"],
    other: &[
        "grep",
        "glob",
        "ls",
        "think",
        "webfetch",
        "websearch",
        "todo_write",
        "ask_user_question",
        "skill",
        "mcp__*",
    ],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    claude::call(payload, &TOOLS)
}

fn say(event: Event, advice: Option<&Advice>, _: bool) -> Reply {
    match advice {
        // A request for permission already asks the person.
        Some(advice) if advice.decision == Decision::Ask && event == Event::Other => {
            Reply::silence()
        }
        Some(advice) if advice.decision >= Decision::Ask => {
            Reply::object(&json!({ "decision": "block", "reason": advice.model }))
        }
        _ => Reply::silence(),
    }
}
