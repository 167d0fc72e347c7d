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
    other: &[
        "grep",
        "glob",
        "web_search",
        "web_fetch",
        "thinking",
        "todo_list",
        "knowledge",
        "introspect",
        "report_issue",
        "@*",
    ],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    form::call(payload, &TOOLS, &["cwd"])
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    form::exit_reply(advice)
}
