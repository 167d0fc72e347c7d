//! Factory Droid: `PreToolUse` (docs.factory.com/reference/hooks-reference). It documents an ask, and
//! yet `droid exec` runs the call (seen in 0.215.0); so an ask is a deny.

use serde_json::Value;
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply, claude};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "droid", title: "Factory Droid", asks: &[], separates: false, read, say };

const TOOLS: Tools = Tools {
    shell: &["Execute"],
    foreign: &[],
    read: &["Read"],
    write: &["Create", "Edit", "MultiEdit"],
    other: &[
        "LS",
        "Glob",
        "Grep",
        "TodoWrite",
        "WebSearch",
        "FetchUrl",
        "ExitSpecMode",
        "Task",
        "Skill",
        "AskUser",
        "mcp__*",
    ],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    claude::call(payload, &TOOLS)
}

fn say(_: Event, advice: Option<&Advice>, approve: bool) -> Reply {
    match advice {
        Some(advice) if advice.decision == Decision::Ask => {
            Reply::object(&form::claude("deny", &advice.model))
        }
        advice => form::claude_reply(advice, approve),
    }
}
