//! A payload of each agent that runs one command, as its documents describe it.

use serde_json::{Value, json};

/// The payload of that agent for a command in a directory; none for an unknown agent.
pub fn payload(agent: &str, command: &str, cwd: &str) -> Option<Value> {
    let claude = |tool: &str| {
        json!({
            "session_id": "sample", "transcript_path": "", "cwd": cwd, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": "sample-1",
            "tool_input": { "command": command },
        })
    };
    Some(match agent {
        "claude" | "codex" => claude("Bash"),
        "droid" => claude("Execute"),
        "devin" => claude("exec"),
        "qwen" => claude("run_shell_command"),
        "openhands" => claude("terminal"),
        "gemini" => json!({
            "session_id": "sample", "transcript_path": "", "cwd": cwd,
            "hook_event_name": "BeforeTool", "timestamp": "2026-11-30T00:00:00Z",
            "tool_name": "run_shell_command", "tool_input": { "command": command },
        }),
        "cursor" => json!({
            "conversation_id": "sample", "generation_id": "sample-1", "command": command, "cwd": cwd,
            "hook_event_name": "beforeShellExecution", "cursor_version": "2026.10.08",
            "workspace_roots": [cwd],
        }),
        "copilot" => json!({
            "sessionId": "sample", "timestamp": 1_796_000_000_000_u64, "cwd": cwd,
            "toolName": "bash", "toolArgs": json!({ "command": command }).to_string(),
        }),
        "windsurf" => json!({
            "agent_action_name": "pre_run_command", "trajectory_id": "sample",
            "execution_id": "sample-1", "timestamp": "2026-11-30T00:00:00Z",
            "tool_info": { "command_line": command, "cwd": cwd },
        }),
        "cline" => json!({
            "clineVersion": "4.1.0", "hookName": "PreToolUse", "timestamp": "0", "taskId": "sample",
            "workspaceRoots": [cwd], "userId": "sample",
            "preToolUse": { "toolName": "execute_command", "parameters": { "command": command } },
        }),
        "goose" => json!({
            "event": "PreToolUse", "session_id": "sample", "tool_name": "developer__shell",
            "tool_input": { "command": command }, "working_dir": cwd, "tool_call_id": "sample-1",
        }),
        "kiro" => json!({
            "hook_event_name": "preToolUse", "cwd": cwd, "tool_name": "execute_bash",
            "tool_input": { "command": command },
        }),
        "crush" => json!({
            "event": "PreToolUse", "session_id": "sample", "cwd": cwd, "tool_name": "bash",
            "tool_input": { "command": command },
        }),
        "opencode" => json!({
            "sessionID": "sample", "cwd": cwd, "workspaces": [cwd], "tool": "bash",
            "input": { "command": command },
        }),
        "amp" => json!({
            "cwd": cwd, "workspaces": [cwd], "tool": "Bash", "input": { "command": command },
        }),
        "antigravity" => json!({
            "conversationId": "sample", "workspacePaths": [cwd], "transcriptPath": "",
            "toolCall": { "name": "run_command", "args": { "CommandLine": command, "Cwd": cwd } },
        }),
        "grok" => json!({
            "sessionId": "sample", "cwd": cwd, "hookEventName": "PreToolUse",
            "toolName": "run_terminal_command", "toolInput": { "command": command },
        }),
        _ => return None,
    })
}
