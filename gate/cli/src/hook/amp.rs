//! Amp: the plugin that `shellgate install` writes sends the call on; on `ask` it shows Amp's own
//! dialog with the person's text and rejects where there is none (ampcode.com/manual).

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::Tools;
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply, opencode};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "amp", title: "Amp", asks: &[Event::Main], separates: true, read, say };

const TOOLS: Tools = Tools {
    shell: &["Bash", "shell_command"],
    foreign: &[],
    read: &["Read"],
    write: &["create_file", "edit_file"],
    other: &["*"],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    opencode::call(payload, &TOOLS)
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    match advice {
        Some(advice) if advice.decision >= Decision::Ask => Reply::object(&json!({
            "decision": advice.decision.name(), "reason": advice.model, "person": advice.person,
        })),
        _ => Reply::object(&json!({ "decision": "pass" })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_keeps_its_name() {
        let advice = crate::hook::text::fault("x");
        assert_eq!(advice.decision, Decision::Ask);
        assert!(say(Event::Main, Some(&advice), true).stdout.starts_with(r#"{"decision":"ask""#));
    }
}
