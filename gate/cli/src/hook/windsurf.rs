//! Windsurf Cascade: `pre_run_command` and its sisters for files (docs.windsurf.com/windsurf/cascade/hooks).

use serde_json::Value;
use shellgate::model::fact::EffectKind;

use crate::hook::form;
use crate::hook::{Act, Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "windsurf", title: "Windsurf", asks: &[], separates: false, read, say };

fn read(payload: &Value) -> Result<Call, Misread> {
    let action = form::need(payload, "agent_action_name")?;
    let info =
        payload.get("tool_info").ok_or_else(|| Misread("the payload has no `tool_info`".into()))?;
    let file = |kind| -> Result<Act, Misread> {
        Ok(Act::File { path: form::need(info, "file_path")?.to_owned(), kind })
    };
    let act = match action {
        "pre_run_command" => Act::Command(form::need(info, "command_line")?.to_owned()),
        "pre_read_code" => file(EffectKind::Read)?,
        "pre_write_code" => file(EffectKind::Write)?,
        other => return Err(Misread(format!("the event `{other}` is none of ours"))),
    };
    Ok(Call {
        event: Event::Main,
        acts: vec![act],
        cwd: form::directory(info, "cwd"),
        workspaces: Vec::new(),
        session: None,
    })
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    form::exit_reply(advice)
}
