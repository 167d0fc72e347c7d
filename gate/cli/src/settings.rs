//! Where each agent's settings are, and what stands in them so that it calls shellgate.
//!
//! Takes places and texts; gives texts. Does no I/O. Long, because it is a table of agents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::edit::{self, EditError};
use crate::hook::text::quoted;

/// Where the person's and the project's files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The home, absolute.
    pub home: PathBuf,
    /// The root of the project, for settings of the project in place of the person's.
    pub project: Option<PathBuf>,
    /// Variables that move an agent's folder.
    pub variables: BTreeMap<String, String>,
}

/// How shellgate is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The program, absolute.
    pub program: PathBuf,
    /// Whether what is known to be harmless is approved.
    pub approve: bool,
    /// Whether an agent that can is told to block when the hook breaks.
    pub strict: bool,
}

impl Call {
    /// The line a shell is given.
    pub fn line(&self, agent: &str) -> String {
        let approve = if self.approve { " --approve" } else { "" };
        format!("{} hook {agent}{approve}", quoted(&self.program.to_string_lossy()))
    }
}

/// What must stand in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON, with these elements at the ends of lists, and these members of the outermost object.
    Json {
        /// The keys that lead to a list, and the element.
        elements: Vec<(Vec<&'static str>, Value)>,
        /// Members that must be there.
        members: Vec<(&'static str, Value)>,
    },
    /// A file of our own with this text.
    Own {
        /// The text.
        text: String,
        /// Whether it is started as a program.
        program: bool,
    },
}

/// A file of an agent and what must stand in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The file, absolute.
    pub file: PathBuf,
    /// What must stand in it.
    pub form: Form,
}

/// Why a text cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// The file holds something that is not understood.
    Edit(EditError),
    /// The file is not ours.
    Foreign,
}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Edit(error) => write!(f, "it is left alone: {error}"),
            Self::Foreign => f.write_str(
                "a hook of somebody else is there: call `shellgate hook` from it, or move it away",
            ),
        }
    }
}

impl std::error::Error for SettingsError {}

/// The mark in files of our own.
const MARK: &str = "Written by `shellgate install`";

/// Agents whose settings are written only when they are named: their form was not seen in a
/// document of the vendor.
pub const ON_DEMAND: &[&str] = &["antigravity", "openhands"];

/// The files of an agent; none where it has none at this level.
pub fn targets(agent: &str, machine: &Machine, call: &Call) -> Vec<Target> {
    let line = call.line(agent);
    let handler = |more: &[(&str, Value)]| {
        let mut handler = json!({ "type": "command", "command": line });
        if let Value::Object(object) = &mut handler {
            object.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        }
        handler
    };
    let group = |matcher: &str, more: &[(&str, Value)]| json!({ "matcher": matcher, "hooks": [handler(more)] });
    let list = |file: Option<PathBuf>, keys: &[&'static str], element: Value| -> Vec<Target> {
        file.into_iter()
            .map(|file| Target {
                file,
                form: Form::Json {
                    elements: vec![(keys.to_vec(), element.clone())],
                    members: Vec::new(),
                },
            })
            .collect()
    };
    let own = |file: Option<PathBuf>, text: String| -> Vec<Target> {
        file.into_iter()
            .map(|file| Target { file, form: Form::Own { text: text.clone(), program: false } })
            .collect()
    };
    let pretty = |value: &Value| {
        // INVARIANT (json): a value of texts, numbers and lists serialises.
        format!("{}\n", serde_json::to_string_pretty(value).unwrap_or_default())
    };
    let sixty = ("timeout", json!(60));
    match agent {
        "claude" => {
            let more: &[(&str, Value)] =
                if call.strict { &[("onFailure", json!("block"))] } else { &[] };
            list(
                Some(machine.file("CLAUDE_CONFIG_DIR", ".claude", "settings.json")),
                &["hooks", "PreToolUse"],
                group("Bash|PowerShell|Monitor|Read|Write|Edit|MultiEdit|NotebookEdit", more),
            )
        }
        "codex" => std::iter::once(machine.file("CODEX_HOME", ".codex", "hooks.json"))
            .map(|file| Target {
                file,
                form: Form::Json {
                    elements: vec![
                        (vec!["hooks", "PreToolUse"], group("^(Bash|apply_patch)$", &[])),
                        (vec!["hooks", "PermissionRequest"], group("^Bash$", &[])),
                    ],
                    members: Vec::new(),
                },
            })
            .collect(),
        "gemini" => list(
            Some(machine.below("GEMINI_CLI_HOME", ".gemini/settings.json")),
            &["hooks", "BeforeTool"],
            group(
                "^(run_shell_command|read_file|write_file|replace)$",
                &[("name", json!("shellgate")), ("timeout", json!(60_000))],
            ),
        ),
        "cursor" => std::iter::once(machine.file("CURSOR_CONFIG_DIR", ".cursor", "hooks.json"))
            .map(|file| Target {
                file,
                form: Form::Json {
                    elements: vec![(
                        vec!["hooks", "beforeShellExecution"],
                        json!({ "command": line, "failClosed": true }),
                    )],
                    members: vec![("version", json!(1))],
                },
            })
            .collect(),
        "copilot" => own(
            match &machine.project {
                Some(root) => Some(root.join(".github/hooks/shellgate.json")),
                None => Some(machine.file("COPILOT_HOME", ".copilot", "hooks/shellgate.json")),
            },
            pretty(&json!({ "version": 1, "hooks": { "preToolUse": [{
                "type": "command", "bash": line, "powershell": format!("& {line}"), "timeoutSec": 60,
            }] } })),
        ),
        "windsurf" => list(
            Some(match &machine.project {
                Some(root) => root.join(".windsurf/hooks.json"),
                None => machine.home.join(".codeium/windsurf/hooks.json"),
            }),
            &["hooks", "pre_run_command"],
            json!({ "command": line, "show_output": true }),
        ),
        "devin" => list(
            machine.project.as_ref().map(|root| root.join(".devin/hooks.v1.json")),
            &["PreToolUse"],
            group("^(exec|read|edit|write)$", &[sixty]),
        ),
        "cline" => {
            let text =
                format!("#!/bin/sh\n# {MARK}; `shellgate uninstall` removes it.\nexec {line}\n");
            let mut files = vec![machine.root().join(".cline/hooks/PreToolUse")];
            if machine.project.is_none() {
                files.push(machine.home.join("Documents/Cline/Hooks/PreToolUse"));
            }
            files
                .into_iter()
                .map(|file| Target { file, form: Form::Own { text: text.clone(), program: true } })
                .collect()
        }
        "goose" => own(
            Some(machine.root().join(".agents/plugins/shellgate/hooks/hooks.json")),
            pretty(&json!({ "hooks": { "PreToolUse": [group(
                "developer__",
                &[("timeout", json!(60)), ("on_failure", json!("block"))],
            )] } })),
        ),
        "kiro" => own(
            Some(machine.root().join(".kiro/hooks/shellgate.json")),
            pretty(&json!({ "version": "v1", "hooks": [{
                "name": "shellgate", "trigger": "PreToolUse",
                "matcher": "execute_bash|shell|fs_read|fs_write",
                "action": { "type": "command", "command": line }, "timeout": 60, "enabled": true,
            }] })),
        ),
        "droid" => list(
            Some(machine.root().join(".factory/hooks.json")),
            &["PreToolUse"],
            group("Execute|Read|Create|Edit|MultiEdit", &[sixty]),
        ),
        "qwen" => list(
            Some(machine.root().join(".qwen/settings.json")),
            &["hooks", "PreToolUse"],
            // Versions before 0.25 read milliseconds, later ones too from 1000 on.
            group(
                "^(run_shell_command|monitor|read_file|write_file|replace|edit)$",
                &[("timeout", json!(60_000))],
            ),
        ),
        "crush" => list(
            Some(match &machine.project {
                Some(root) => root.join("crush.json"),
                None => machine.config().join("crush/crush.json"),
            }),
            &["hooks", "PreToolUse"],
            json!({
                "name": "shellgate", "matcher": "^(bash|view|edit|multiedit|write)$",
                "command": line, "timeout": 60,
            }),
        ),
        "opencode" => own(
            Some(match &machine.project {
                Some(root) => root.join(".opencode/plugins/shellgate.js"),
                None => machine.config().join("opencode/plugins/shellgate.js"),
            }),
            plugin(OPENCODE, call),
        ),
        "amp" => own(
            Some(match &machine.project {
                Some(root) => root.join(".amp/plugins/shellgate.ts"),
                None => machine.config().join("amp/plugins/shellgate.ts"),
            }),
            plugin(AMP, call),
        ),
        "antigravity" => list(
            Some(match &machine.project {
                Some(root) => root.join(".agents/hooks.json"),
                None => machine.home.join(".gemini/config/hooks.json"),
            }),
            &["shellgate", "PreToolUse"],
            group("^(run_command|view_file|write_to_file|replace_file_content)$", &[sixty]),
        ),
        "grok" => own(
            Some(machine.root().join(".grok/hooks/shellgate.json")),
            pretty(&json!({ "hooks": { "PreToolUse": [{ "hooks": [handler(&[sixty])] }] } })),
        ),
        "openhands" => list(
            machine.project.as_ref().map(|root| root.join(".openhands/hooks.json")),
            &["hooks", "PreToolUse"],
            group("*", &[sixty]),
        ),
        _ => Vec::new(),
    }
}

/// Folders that show, when they are there, that a person has the agent.
pub fn traces(agent: &str, machine: &Machine) -> Vec<PathBuf> {
    let home = |path: &str| machine.home.join(path);
    match agent {
        "claude" => vec![machine.file("CLAUDE_CONFIG_DIR", ".claude", "")],
        "codex" => vec![machine.file("CODEX_HOME", ".codex", "")],
        "gemini" => vec![machine.below("GEMINI_CLI_HOME", ".gemini/settings.json")],
        "cursor" => vec![machine.file("CURSOR_CONFIG_DIR", ".cursor", "")],
        "copilot" => vec![machine.file("COPILOT_HOME", ".copilot", "")],
        "windsurf" => vec![home(".codeium/windsurf")],
        "devin" => vec![machine.root().join(".devin")],
        "cline" => vec![home(".cline"), home("Documents/Cline")],
        "goose" => vec![machine.config().join("goose")],
        "kiro" => vec![home(".kiro")],
        "droid" => vec![home(".factory")],
        "qwen" => vec![home(".qwen")],
        "crush" => vec![machine.config().join("crush")],
        "opencode" => vec![machine.config().join("opencode")],
        "amp" => vec![machine.config().join("amp")],
        "antigravity" => vec![home(".gemini/antigravity-cli")],
        "grok" => vec![home(".grok")],
        "openhands" => vec![machine.root().join(".openhands")],
        _ => Vec::new(),
    }
}

impl Machine {
    fn root(&self) -> &Path {
        self.project.as_deref().unwrap_or(&self.home)
    }

    /// A file in an agent's folder: in the project, where the variable says, or in the home.
    fn file(&self, variable: &str, folder: &str, name: &str) -> PathBuf {
        let moved = self.variables.get(variable).map(PathBuf::from).filter(|one| one.is_absolute());
        match (&self.project, moved) {
            (Some(root), _) => root.join(folder).join(name),
            (None, Some(moved)) => moved.join(name),
            (None, None) => self.home.join(folder).join(name),
        }
    }

    /// A path below the project, the directory that the variable names, or the home.
    fn below(&self, variable: &str, path: &str) -> PathBuf {
        self.file(variable, "", path)
    }

    fn config(&self) -> PathBuf {
        self.variables
            .get("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .unwrap_or_else(|| self.home.join(".config"))
    }
}

/// The text of a file with what must stand in it; the same text when it already does.
///
/// # Errors
/// When the file holds something else than expected.
pub fn applied(before: Option<&str>, agent: &str, form: &Form) -> Result<String, SettingsError> {
    match form {
        Form::Own { text, .. } => match before {
            Some(old) if !is_own(old, agent) => Err(SettingsError::Foreign),
            _ => Ok(text.clone()),
        },
        Form::Json { elements, members } => {
            let mut text = before.unwrap_or_default().to_owned();
            for (key, value) in members {
                text = edit::set_new(&text, key, value).map_err(SettingsError::Edit)?;
            }
            for (keys, element) in elements {
                text = element_applied(&text, agent, keys, element).map_err(SettingsError::Edit)?;
            }
            Ok(text)
        }
    }
}

fn element_applied(
    text: &str,
    agent: &str,
    keys: &[&str],
    element: &Value,
) -> Result<String, EditError> {
    if text.trim().is_empty() {
        return edit::append(text, keys, element);
    }
    let list = edit::elements(text, keys)?;
    match list.iter().position(|old| is_ours(old, agent)) {
        Some(index) if list.get(index) == Some(element) => Ok(text.to_owned()),
        Some(index) => edit::replace(text, keys, index, element),
        None => edit::append(text, keys, element),
    }
}

/// The text of a JSON file without what is ours; none for a file of our own.
///
/// # Errors
/// When the file is not JSON.
pub fn removed(text: &str, agent: &str, form: &Form) -> Result<Option<String>, SettingsError> {
    let Form::Json { elements, .. } = form else {
        return if is_own(text, agent) { Ok(None) } else { Err(SettingsError::Foreign) };
    };
    // An empty file is one that nobody has written into yet.
    if text.trim().is_empty() {
        return Ok(Some(text.to_owned()));
    }
    let mut text = text.to_owned();
    for (keys, _) in elements {
        let list = edit::elements(&text, keys).map_err(SettingsError::Edit)?;
        for (index, element) in list.iter().enumerate().rev() {
            if is_ours(element, agent) {
                text = edit::remove(&text, keys, index).map_err(SettingsError::Edit)?;
            }
        }
    }
    Ok(Some(text))
}

/// Whether something in a value calls shellgate for this agent.
fn is_ours(value: &Value, agent: &str) -> bool {
    match value {
        Value::String(text) => calls(text, agent),
        Value::Array(list) => list.iter().any(|one| is_ours(one, agent)),
        Value::Object(object) => object.values().any(|one| is_ours(one, agent)),
        _ => false,
    }
}

fn calls(line: &str, agent: &str) -> bool {
    line.contains("shellgate")
        && line.split_once(" hook ").is_some_and(|(_, rest)| {
            rest.split(' ').next().is_some_and(|name| name.trim_matches(['"', '\'']) == agent)
        })
}

fn is_own(text: &str, agent: &str) -> bool {
    text.contains(MARK)
        || serde_json::from_str(text).is_ok_and(|value: Value| is_ours(&value, agent))
}

/// A plugin with the program and its arguments put in.
fn plugin(text: &str, call: &Call) -> String {
    let program = Value::String(call.program.to_string_lossy().into_owned()).to_string();
    text.replace("MARK", MARK)
        .replace("VERSION", env!("CARGO_PKG_VERSION"))
        .replace("PROGRAM", &program)
}

const OPENCODE: &str = include_str!("plugin/opencode.js");
const AMP: &str = include_str!("plugin/amp.ts");
