//! Cursor: `beforeShellExecution`, and `preToolUse`, where an ask is not enforced (cursor.com/docs/hooks).

use serde_json::{Value, json};
use shellgate::model::fact::EffectKind;
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Act, Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "cursor", title: "Cursor", asks: &[Event::Main], separates: true, read, say };

const TOOLS: Tools = Tools {
    shell: &["Shell"],
    foreign: &[],
    read: &["Read"],
    write: &["Write", "StrReplace", "Delete", "EditNotebook"],
    other: &[
        "Grep",
        "Glob",
        "LS",
        "SemanticSearch",
        "WebSearch",
        "WebFetch",
        "Task",
        "TodoWrite",
        "ReadLints",
        "MCP:*",
    ],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    let mut cwd = form::directory(payload, "cwd");
    let workspaces = form::directories(payload, "workspace_roots");
    let (event, acts) = match form::need(payload, "hook_event_name")? {
        "beforeShellExecution" => {
            (Event::Main, vec![Act::Command(form::need(payload, "command")?.to_owned())])
        }
        "beforeReadFile" => {
            let path = form::need(payload, "file_path")?.to_owned();
            (Event::Other, vec![Act::File { path, kind: EffectKind::Read }])
        }
        "preToolUse" => {
            let name = form::need(payload, "tool_name")?;
            let input = payload
                .get("tool_input")
                .ok_or_else(|| Misread("the payload has no `tool_input`".into()))?;
            cwd = form::directory(input, "working_directory").or(cwd);
            (Event::Other, TOOLS.acts(name, input)?)
        }
        other => return Err(Misread(format!("the event `{other}` is none of ours"))),
    };
    let cwd = cwd.or_else(|| workspaces.first().cloned());
    Ok(Call { event, acts, cwd, workspaces, session: None })
}

fn say(event: Event, advice: Option<&Advice>, approve: bool) -> Reply {
    let Some(advice) = advice else { return Reply::silence() };
    let permission = match (advice.decision, event) {
        (Decision::Allow, _) if approve && advice.approvable => {
            return Reply::object(&json!({ "permission": "allow" }));
        }
        (Decision::Allow | Decision::Pass, _) => return Reply::silence(),
        (Decision::Ask, Event::Main) => "ask",
        (Decision::Ask, Event::Other) | (Decision::Deny, _) => "deny",
    };
    Reply::object(&json!({
        "permission": permission, "user_message": advice.person, "agent_message": advice.model,
    }))
}
