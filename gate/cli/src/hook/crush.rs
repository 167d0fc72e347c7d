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
    other: &[
        "ls",
        "glob",
        "grep",
        "fetch",
        "agentic_fetch",
        "web_fetch",
        "web_search",
        "sourcegraph",
        "agent",
        "todos",
        "lsp_*",
        "job_output",
        "job_kill",
        "mcp_*",
    ],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    let call = form::call(payload, &TOOLS, &["cwd"])?;
    let own = payload.get("tool_input").and_then(|input| form::directory(input, "working_dir"));
    Ok(Call { cwd: own.or(call.cwd), ..call })
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
