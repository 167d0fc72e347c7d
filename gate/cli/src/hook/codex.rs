//! Codex CLI: `PreToolUse` and `PermissionRequest` (developers.openai.com/codex/hooks).
//!
//! An unknown key, a bare allow or an ask counts as a failed hook and the command runs: a deny has
//! exactly the three documented keys, everything else is silence.

use serde_json::Value;
use shellgate::model::fact::EffectKind;
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Act, Advice, Agent, Call, Event, Misread, Reply, claude};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "codex", title: "Codex CLI", asks: &[Event::Other], separates: false, read, say };

const TOOLS: Tools = Tools {
    shell: &["Bash"],
    foreign: &[],
    read: &[],
    write: &[],
    other: &[
        "view_image",
        "update_plan",
        "web_search",
        "request_user_input",
        "spawn_agent",
        "wait",
        "mcp__*",
    ],
};

/// What stands before the path of a file in a patch.
const MARKS: &[&str] =
    &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

fn read(payload: &Value) -> Result<Call, Misread> {
    if payload.get("tool_name").and_then(Value::as_str) == Some("apply_patch") {
        let mut call = claude::call(payload, &Tools { shell: &["apply_patch"], ..TOOLS })?;
        call.acts = call.acts.iter().flat_map(paths).collect();
        return Ok(call);
    }
    let mut call = claude::call(payload, &TOOLS)?;
    let network = payload
        .pointer("/tool_input/description")
        .and_then(Value::as_str)
        .is_some_and(|text| text.starts_with("network-access"));
    if call.event == Event::Other && network {
        // The question is about the network, not about the command; the person answers it.
        call.acts.clear();
    }
    Ok(call)
}

/// The files a patch names, each changed.
fn paths(act: &Act) -> Vec<Act> {
    let Act::Command(patch) = act else { return Vec::new() };
    patch
        .lines()
        .filter_map(|line| MARKS.iter().find_map(|mark| line.trim_start().strip_prefix(mark)))
        .map(|path| Act::File { path: path.trim().to_owned(), kind: EffectKind::Write })
        .collect()
}

fn say(event: Event, advice: Option<&Advice>, approve: bool) -> Reply {
    match (event, advice) {
        (Event::Other, advice) => claude::permission(advice, approve),
        (Event::Main, Some(advice)) if advice.decision >= Decision::Ask => {
            Reply::object(&form::claude("deny", &advice.model))
        }
        (Event::Main, _) => Reply::silence(),
    }
}
