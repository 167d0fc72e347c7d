//! `OpenHands`: `PreToolUse` of a repository's hooks (docs.openhands.dev).

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "openhands", title: "OpenHands", asks: &[], separates: false, read, say };

const TOOLS: Tools = Tools {
    shell: &["terminal", "execute_bash", "Bash", "bash"],
    foreign: &[],
    read: &[],
    write: &["file_editor", "str_replace_editor"],
    other: &["*"],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    form::call(payload, &TOOLS, &["cwd", "working_dir"])
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    match advice {
        Some(advice) if advice.decision >= Decision::Ask => {
            Reply::object(&json!({ "decision": "deny", "reason": advice.model }))
        }
        _ => Reply::silence(),
    }
}
