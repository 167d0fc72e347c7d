//! GitHub Copilot CLI: `preToolUse` (docs.github.com/en/copilot/reference/hooks-reference). Every
//! status but 0 denies, so that all is said in JSON.

use std::borrow::Cow;

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply, claude};

/// The adapter.
pub const AGENT: Agent = Agent {
    name: "copilot",
    title: "GitHub Copilot CLI",
    asks: &[Event::Main, Event::Other],
    separates: false,
    read,
    say,
};

const TOOLS: Tools = Tools {
    shell: &["bash"],
    foreign: &["powershell"],
    read: &["view"],
    write: &["create", "edit"],
    other: &["*"],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    if payload.get("toolName").is_none() && payload.get("tool_name").is_some() {
        // The event spelled `PreToolUse` comes in the form of Claude Code.
        return claude::call(payload, &Tools { other: TOOLS.other, ..claude::TOOLS });
    }
    let name = form::need(payload, "toolName")?;
    let input = match payload.get("toolArgs") {
        Some(Value::String(text)) => Cow::Owned(
            serde_json::from_str(text)
                .map_err(|error| Misread(format!("`toolArgs` is not JSON: {error}")))?,
        ),
        Some(value @ Value::Object(_)) => Cow::Borrowed(value),
        _ => return Err(Misread("the payload has no `toolArgs`".into())),
    };
    Ok(Call {
        event: Event::Main,
        acts: TOOLS.acts(name, &input)?,
        cwd: form::directory(payload, "cwd"),
        workspaces: Vec::new(),
        session: None,
    })
}

fn say(_: Event, advice: Option<&Advice>, approve: bool) -> Reply {
    let Some(advice) = advice else { return Reply::silence() };
    let decision = match advice.decision {
        Decision::Allow if approve && advice.approvable => "allow",
        Decision::Allow | Decision::Pass => return Reply::silence(),
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    Reply::object(
        &json!({ "permissionDecision": decision, "permissionDecisionReason": advice.model }),
    )
}
