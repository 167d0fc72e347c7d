//! Settings of agents: what they let run without asking.
//!
//! An entry is a pattern. It becomes a command in which everything the pattern leaves open is a
//! parameter nobody knows, so that the gate says what the entry lets through. An entry for every
//! command becomes a program nobody knows.

use crate::scan::mapped::Mapped;
use crate::scan::tree::Node;
use crate::scan::{Extracted, Piece, json};

/// What stands for the open part of a pattern.
const OPEN: &str = "${ARGUMENTS}";

/// Names of the shell tool in entries of the form `Tool(pattern)`.
const TOOLS: &[&str] =
    &["Bash", "Shell", "ShellTool", "run_shell_command", "Execute", "bash", "shell"];

/// Lists of entries of the form `Tool(pattern)`, or a bare tool for every command.
const TOOL_LISTS: &[&[&str]] = &[
    &["permissions", "allow"],
    &["permissions", "allowed_tools"],
    &["allowedTools"],
    &["coreTools"],
    &["tools", "allowed"],
    &["tools", "core"],
];

/// Lists of commands, each for everything that begins with it.
const COMMAND_LISTS: &[&[&str]] = &[
    &["commandAllowlist"],
    &["windsurf.cascadeCommandsAllowList"],
    &["cursor.terminal.allowlist"],
    &["toolsSettings", "execute_bash", "allowedCommands"],
    &["toolsSettings", "shell", "allowedCommands"],
];

/// Tables of patterns, each with what is to happen.
const TABLES: &[&[&str]] = &[&["permission", "bash"], &["chat.tools.terminal.autoApprove"]];

/// What the settings let run, in order.
pub fn extract(text: &str) -> Extracted {
    let node = match json::read(text) {
        Ok(node) => node,
        Err(trouble) => return Extracted { pieces: Vec::new(), trouble: Some(trouble) },
    };
    let mut pieces = Vec::new();
    let mut push = |command: Mapped| pieces.push(Piece::new(command));
    for keys in TOOL_LISTS {
        for entry in node.at(keys).map(Node::items).unwrap_or_default() {
            if let Some(command) = entry.mapped().and_then(tool) {
                push(command);
            }
        }
    }
    for keys in COMMAND_LISTS {
        for entry in node.at(keys).map(Node::items).unwrap_or_default() {
            if let Some(entry) = entry.mapped() {
                push(pattern(entry, 0, entry.text().len(), true));
            }
        }
    }
    for keys in TABLES {
        let Some(table) = node.at(keys) else { continue };
        if let Some(word) = table.mapped().filter(|word| word.text() == "allow") {
            push(everything(word));
        }
        for (name, value) in table.entries() {
            if matches!(value.text(), Some("allow" | "true")) {
                push(pattern(name, 0, name.text().len(), false));
            }
        }
    }
    for keys in [&["permissions", "defaultMode"][..], &["defaultMode"], &["approvalMode"]] {
        if let Some(mode) = node.at(keys).and_then(Node::mapped)
            && matches!(mode.text(), "bypassPermissions" | "yolo")
        {
            push(everything(mode));
        }
    }
    pieces.into()
}

/// The command of `Tool(pattern)` or of a bare tool; none for other tools.
fn tool(entry: &Mapped) -> Option<Mapped> {
    let text = entry.text();
    if TOOLS.contains(&text) || text == "*" {
        return Some(everything(entry));
    }
    let (name, rest) = text.split_once('(')?;
    let inside = rest.strip_suffix(')')?;
    if !TOOLS.contains(&name.trim()) {
        return None;
    }
    let start = name.len() + 1;
    // In these agents a command stands for everything that begins with it; in Claude Code only what
    // says so.
    let prefix = !matches!(name.trim(), "Bash");
    Some(pattern(entry, start, start + inside.len(), prefix))
}

fn everything(entry: &Mapped) -> Mapped {
    let mut command = Mapped::default();
    command.push_instead(OPEN, entry, 0, entry.text().len());
    command
}

/// The command of a pattern that stands at those bytes of an entry.
fn pattern(entry: &Mapped, start: usize, end: usize, prefix: bool) -> Mapped {
    let text = entry.text().get(start..end).unwrap_or_default();
    let mut command = Mapped::default();
    let (body, open) = match text.strip_suffix(":*") {
        Some(body) => (body, true),
        None => (text, false),
    };
    let body_end = start + body.len();
    let mut at = start;
    while let Some(star) = entry.text().get(at..body_end).and_then(|rest| rest.find('*')) {
        let star = at + star;
        command.push_part(entry, at, star);
        // `.*` of an expression is one open part.
        command.push_instead(OPEN, entry, star, star + 1);
        at = star + 1;
    }
    command.push_part(entry, at, body_end);
    let ended = command.text().ends_with(OPEN);
    if open || (prefix && !ended) {
        let space = if command.text().is_empty() { "" } else { " " };
        command.push_instead(space, entry, body_end, body_end);
        command.push_instead(OPEN, entry, body_end, end.max(body_end));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_become_commands() {
        let file = r#"{ "permissions": { "allow": ["Bash(git status)", "Bash(rm:*)", "Bash(npm run *)", "Read(~/x)", "Bash"] },
          "permission": { "bash": { "git *": "allow", "rm *": "deny" } },
          "chat.tools.terminal.autoApprove": { "curl": true, "rm": false },
          "tools": { "allowed": ["run_shell_command(git)"] }, "windsurf.cascadeCommandsAllowList": ["ls"] }"#;
        let extracted = extract(file);
        assert_eq!(extracted.trouble, None);
        let got: Vec<&str> = extracted.pieces.iter().map(|piece| piece.command.text()).collect();
        assert_eq!(
            got,
            [
                "git status",
                "rm ${ARGUMENTS}",
                "npm run ${ARGUMENTS}",
                "${ARGUMENTS}",
                "git ${ARGUMENTS}",
                "ls ${ARGUMENTS}",
                "git ${ARGUMENTS}",
                "curl",
            ]
        );
        let rm = &extracted.pieces.get(1).unwrap().command;
        let region = rm.between(3, 15);
        assert_eq!(file.get(region.start..region.end).unwrap(), ":*");
    }
}
