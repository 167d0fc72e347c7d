//! Gemini CLI: `BeforeTool` (github.com/google-gemini/gemini-cli, docs/hooks). Public documents
//! list no ask, so that an ask is a deny.

use serde_json::{Value, json};
use shellgate::model::verdict::Decision;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply};

/// The adapter.
pub const AGENT: Agent =
    Agent { name: "gemini", title: "Gemini CLI", asks: &[], separates: true, read, say };

const TOOLS: Tools = Tools {
    shell: &["run_shell_command"],
    foreign: &[],
    read: &["read_file"],
    write: &["write_file", "replace"],
    other: &[
        "list_directory",
        "glob",
        "search_file_content",
        "grep_search",
        "google_web_search",
        "web_fetch",
        "save_memory",
        "write_todos",
        "ask_user",
        "activate_skill",
        "get_internal_docs",
        "enter_plan_mode",
        "exit_plan_mode",
        "codebase_investigator",
        "cli_help",
        "mcp_*",
    ],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    let call = form::call(payload, &TOOLS, &["cwd"])?;
    // The tool may name a directory of its own, from the current one.
    let inner = ["/tool_input/dir_path", "/tool_input/directory"]
        .iter()
        .find_map(|key| payload.pointer(key)?.as_str());
    let cwd = match (inner, call.cwd) {
        (Some(path), _) if path.starts_with('/') => Some(path.to_owned()),
        (Some(path), Some(cwd)) if !path.is_empty() => Some(format!("{cwd}/{path}")),
        (_, cwd) => cwd,
    };
    Ok(Call { cwd, ..call })
}

fn say(_: Event, advice: Option<&Advice>, _: bool) -> Reply {
    match advice {
        Some(advice) if advice.decision >= Decision::Ask => Reply::object(&json!({
            "decision": "deny", "reason": advice.model, "systemMessage": advice.person,
        })),
        _ => Reply::silence(),
    }
}
