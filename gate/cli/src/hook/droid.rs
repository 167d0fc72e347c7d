//! Factory Droid: `PreToolUse` (docs.factory.com/reference/hooks-reference).

use serde_json::Value;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply, claude};

/// The adapter.
pub const AGENT: Agent = Agent {
    name: "droid",
    title: "Factory Droid",
    asks: &[Event::Main, Event::Other],
    separates: false,
    read,
    say,
};

const TOOLS: Tools = Tools {
    shell: &["Execute"],
    foreign: &[],
    read: &["Read"],
    write: &["Create", "Edit", "MultiEdit"],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    claude::call(payload, &TOOLS)
}

fn say(_: Event, advice: Option<&Advice>, approve: bool) -> Reply {
    form::claude_reply(advice, approve)
}
