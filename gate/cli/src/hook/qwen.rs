//! Qwen Code: `PreToolUse` and `PermissionRequest` (QwenLM/qwen-code, docs/users/features/hooks.md).

use serde_json::Value;

use crate::hook::form::{self, Tools};
use crate::hook::{Advice, Agent, Call, Event, Misread, Reply, claude};

/// The adapter.
pub const AGENT: Agent = Agent {
    name: "qwen",
    title: "Qwen Code",
    asks: &[Event::Main, Event::Other],
    separates: false,
    read,
    say,
};

const TOOLS: Tools = Tools {
    shell: &["run_shell_command", "monitor"],
    foreign: &[],
    read: &["read_file"],
    write: &["write_file", "replace", "edit"],
    other: &[
        "list_directory",
        "glob",
        "grep_search",
        "search_file_content",
        "web_fetch",
        "web_search",
        "save_memory",
        "todo_write",
        "task",
        "agent",
        "skill",
        "exit_plan_mode",
        "lsp",
        "ask_user_question",
        "mcp__*",
    ],
};

fn read(payload: &Value) -> Result<Call, Misread> {
    claude::call(payload, &TOOLS)
}

fn say(event: Event, advice: Option<&Advice>, approve: bool) -> Reply {
    match event {
        Event::Main => form::claude_reply(advice, approve),
        Event::Other => claude::permission(advice, approve),
    }
}
