//! What several dialects share: pieces of payloads and two families of replies.

use serde_json::{Value, json};
use shellgate::model::fact::EffectKind;
use shellgate::model::verdict::Decision;

use crate::hook::text::quoted;
use crate::hook::{Act, Advice, Call, Event, Misread, Reply};

/// Tools of an agent that matter.
#[derive(Clone, Copy, Debug)]
pub struct Tools {
    /// Those that hand text to a POSIX shell.
    pub shell: &'static [&'static str],
    /// Those that hand text to another shell.
    pub foreign: &'static [&'static str],
    /// Those that read a file.
    pub read: &'static [&'static str],
    /// Those that change one.
    pub write: &'static [&'static str],
    /// Those that do neither; a `*` at the end stands for any rest. `*` alone is for agents that ask
    /// about the tools of every server too: there a tool that is not listed counts by what it
    /// carries. Elsewhere one that carries nothing is a misread, which asks.
    pub other: &'static [&'static str],
}

/// A tool that is not listed changes what it names where its name has one of these in it.
const CHANGING: &[&str] = &[
    "write", "edit", "create", "delete", "remove", "move", "rename", "patch", "replace", "insert",
    "append", "save", "put", "copy", "upload",
];

/// Names that file tools give to their path.
const PATHS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "notebook_path",
    "target_file",
    "AbsolutePath",
    "TargetFile",
];

/// Names that shell tools give to their text.
const COMMANDS: &[&str] = &["command", "cmd", "CommandLine", "command_line", "commands", "script"];

impl Tools {
    /// What a call of the tool `name` with this input would do; nothing for a tool that has
    /// nothing to do with shells and files. A tool that is not listed is taken for a shell where it
    /// carries a command, and for a file tool where it names a path.
    ///
    /// # Errors
    /// When a listed tool lacks what it must have, and for a tool that is not known where every tool
    /// should be.
    pub fn acts(&self, name: &str, input: &Value) -> Result<Vec<Act>, Misread> {
        let listed = |names: &[&str]| names.contains(&name);
        if listed(self.shell) {
            return commands(input)
                .map(|texts| texts.into_iter().map(Act::Command).collect())
                .ok_or_else(|| Misread(format!("`{name}` is called without a command")));
        }
        if listed(self.foreign) {
            return commands(input)
                .map(|texts| texts.into_iter().map(Act::Foreign).collect())
                .ok_or_else(|| Misread(format!("`{name}` is called without a command")));
        }
        if listed(self.read) {
            return Ok(files(input, EffectKind::Read));
        }
        if listed(self.write) {
            // Editors of several agents have one tool for both, told apart by a word.
            let views = input.get("command").and_then(Value::as_str) == Some("view");
            let acts = files(input, if views { EffectKind::Read } else { EffectKind::Write });
            return if acts.is_empty() && !views {
                Err(Misread(format!("`{name}` is called without a path")))
            } else {
                Ok(acts)
            };
        }
        let left_alone = self.other.iter().any(|other| match other.strip_suffix('*') {
            Some(start) => !start.is_empty() && name.starts_with(start),
            None => *other == name,
        });
        if left_alone {
            return Ok(Vec::new());
        }
        if let Some(texts) = commands(input) {
            return Ok(texts.into_iter().map(Act::Command).collect());
        }
        let lower = name.to_ascii_lowercase();
        let changes = CHANGING.iter().any(|word| lower.contains(word));
        let acts = files(input, if changes { EffectKind::Write } else { EffectKind::Read });
        if acts.is_empty() && !self.other.contains(&"*") {
            return Err(Misread(format!("the tool `{name}` is not known")));
        }
        Ok(acts)
    }
}

/// The files that an input names.
fn files(input: &Value, kind: EffectKind) -> Vec<Act> {
    let lists = ["files", "paths"].iter().filter_map(|key| input.get(key)?.as_array()).flatten();
    let listed = lists.filter_map(|one| one.as_str().or_else(|| one.get("path")?.as_str()));
    PATHS
        .iter()
        .filter_map(|key| input.get(key).and_then(Value::as_str))
        .chain(listed)
        .filter(|path| !path.is_empty())
        .map(|path| Act::File { path: path.to_owned(), kind })
        .collect()
}

/// The call of a payload with `tool_name` and `tool_input`; the directory stands at one of these
/// keys.
///
/// # Errors
/// When one of the two is not there, or as [`Tools::acts`].
pub fn call(payload: &Value, tools: &Tools, places: &[&str]) -> Result<Call, Misread> {
    let name = need(payload, "tool_name")?;
    let input = payload
        .get("tool_input")
        .ok_or_else(|| Misread("the payload has no `tool_input`".into()))?;
    Ok(Call {
        event: Event::Main,
        acts: tools.acts(name, input)?,
        cwd: places.iter().find_map(|key| directory(payload, key)),
        workspaces: Vec::new(),
        session: None,
    })
}

/// The commands of a shell tool's input: a text, a list of words, or a list of commands. Several
/// are also given joined, because they may share a shell.
pub fn commands(input: &Value) -> Option<Vec<String>> {
    let value = COMMANDS.iter().find_map(|key| input.get(key))?;
    match value {
        Value::String(text) => {
            // Some agents hand a list on as the text of a JSON list.
            let list = text.trim_start().starts_with('[').then(|| serde_json::from_str(text).ok());
            match list.flatten() {
                Some(Value::Array(list)) => several(&list).or_else(|| Some(vec![text.clone()])),
                _ => Some(vec![text.clone()]),
            }
        }
        Value::Array(list) if input.get("commands").is_some() => several(list),
        Value::Array(words) => {
            let words: Option<Vec<String>> =
                words.iter().map(|word| word.as_str().map(quoted)).collect();
            words.filter(|words| !words.is_empty()).map(|words| vec![words.join(" ")])
        }
        _ => None,
    }
}

fn several(list: &[Value]) -> Option<Vec<String>> {
    let texts: Option<Vec<String>> = list
        .iter()
        .map(|one| match one {
            Value::String(text) => Some(text.clone()),
            Value::Object(_) => one.get("command").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        })
        .collect();
    let mut texts = texts.filter(|texts| !texts.is_empty())?;
    if texts.len() > 1 {
        texts.push(texts.join("\n"));
    }
    Some(texts)
}

/// The text at a key; an absent one or one of another type is a misread.
///
/// # Errors
/// When there is no text.
pub fn need<'a>(value: &'a Value, key: &str) -> Result<&'a str, Misread> {
    value
        .get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
        .ok_or_else(|| Misread(format!("the payload has no `{key}`")))
}

/// The absolute path at a key.
pub fn directory(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).filter(|path| path.starts_with('/')).map(str::to_owned)
}

/// The absolute paths in the list at a key; none if one of them is something else.
pub fn directories(value: &Value, key: &str) -> Vec<String> {
    let Some(Value::Array(list)) = value.get(key) else { return Vec::new() };
    list.iter()
        .map(|one| one.as_str().filter(|path| path.starts_with('/')).map(str::to_owned))
        .collect::<Option<_>>()
        .unwrap_or_default()
}

/// The object of the Claude family: event, decision, reason.
pub fn claude(decision: &str, reason: &str) -> Value {
    json!({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    })
}

/// The reply of the Claude family where it takes allow, ask and deny; the reason of an ask is for
/// the person, that of a deny for the model.
pub fn claude_reply(advice: Option<&Advice>, approve: bool) -> Reply {
    let Some(advice) = advice else { return Reply::silence() };
    match advice.decision {
        Decision::Allow if approve && advice.approvable => {
            Reply::object(&claude("allow", &advice.model))
        }
        Decision::Allow | Decision::Pass => Reply::silence(),
        Decision::Ask => Reply::object(&claude("ask", &advice.person)),
        Decision::Deny => Reply::object(&claude("deny", &advice.model)),
    }
}

/// Silence, or status 2 with the model's text.
pub fn exit_reply(advice: Option<&Advice>) -> Reply {
    match advice {
        Some(advice) if advice.decision >= Decision::Ask => Reply::block(&advice.model),
        _ => Reply::silence(),
    }
}
