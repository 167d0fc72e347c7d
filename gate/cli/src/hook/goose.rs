//! Goose: `PreToolUse` of a plugin (block/goose, hooks). With `on_failure` set to block, silence may
//! count as a failure, so that an allow is said.

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "goose", title: "Goose", asks: &[], separates: false, read, say };

const TOOLS: Tools = Tools {
    shell: &["developer__shell", "shell"],
    foreign: &[],
    read: &[],
    write: &["developer__text_editor", "developer__write", "developer__edit"],
    other: &[
        "developer__analyze",
        "developer__tree",
        "developer__screen_capture",
        "developer__list_windows",
        "developer__image_processor",
        "memory__*",
        "todo__*",
        "skills__*",
        "extensionmanager__*",
        "chatrecall__*",
    ],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    form::call(payload, &TOOLS, &["working_dir"])
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    match advice {
        Some(advice) if advice.decision >= Decision::Ask => {
            Reply::object(&json!({ "decision": "block", "reason": advice.model }))
        }
        _ => Reply::object(&json!({ "decision": "allow" })),
    }
}
