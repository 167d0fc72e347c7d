//! The rules that keep agents away from shellgate's own files, as a policy on top.
//!
//! Takes where things are; gives a policy. Asks the disk only where links lead.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use shellgate::load::{Level, LoadError, Policy};
use shellgate::model::context::Context;
use toml::{Table, Value};

use crate::store::Folders;
use crate::store::installed::Installed;

/// The rule by which `doctor` knows that a hook refuses.
pub const CANARY: &str = "self_protection_canary";

/// The label of all of them.
pub const LABEL: &str = "deny_list:self_protection";

/// Effects that change what they reach.
const CHANGES: &[&str] = &[
    "write", "put", "fill", "append", "create", "delete", "move", "mode", "owner", "group", "touch",
];

/// The policy for a person with these folders and settings files, for calls from such a place.
///
/// # Errors
/// When a path cannot be said in a rule; the suite shows that ordinary ones can.
pub fn policy(
    folders: &Folders,
    installed: &Installed,
    program: Option<&Path>,
    context: &Context,
) -> Result<Policy, LoadError> {
    let workspaces = &context.workspaces;
    let mut files: BTreeSet<String> = BTreeSet::new();
    let mut above: BTreeSet<String> = BTreeSet::new();
    let mut hidden: BTreeSet<String> = BTreeSet::new();
    let mut add = |path: &Path, tree: bool| {
        let Some(text) = path.to_str().filter(|text| text.starts_with('/')) else { return };
        let glob = escaped(text);
        if tree {
            files.insert(format!("{glob}/*"));
            files.insert(format!("{glob}/*/*"));
        }
        files.insert(glob);
        // Whole workspaces, homes and what they lie in are looked after by other rules; a search
        // that removes some files begins there.
        let holds = |folder: &Path| {
            workspaces.iter().chain([&context.home]).any(|one| Path::new(one).starts_with(folder))
        };
        for folder in path.ancestors().skip(1).take_while(|folder| !holds(folder)) {
            above.extend(folder.to_str().map(escaped));
        }
    };
    add(&folders.config, true);
    add(&folders.state, true);
    for root in workspaces {
        add(&Path::new(root).join(".shellgate"), true);
    }
    let mut own = BTreeSet::new();
    let programs = [Some(installed.program.as_path()), program];
    for path in programs.into_iter().flatten() {
        // Links are followed: the agent may name either end.
        for path in [Some(path.to_path_buf()), std::fs::canonicalize(path).ok()].iter().flatten() {
            add(path, false);
            own.extend(path.to_str().filter(|text| text.starts_with('/')).map(escaped));
        }
    }
    for entry in &installed.entries {
        add(&entry.file, false);
        if let Ok(real) = std::fs::canonicalize(&entry.file) {
            add(&real, false);
        }
    }
    // What is unpacked there, or closes the folder, reaches the settings too. A workspace's root is
    // left out: everything is unpacked there.
    let near: BTreeSet<String> = installed
        .entries
        .iter()
        .filter_map(|entry| entry.file.parent()?.to_str())
        .filter(|folder| !workspaces.iter().any(|root| root.trim_end_matches('/') == *folder))
        .map(escaped)
        .collect();
    let inside: BTreeSet<String> = near.iter().map(|folder| format!("{folder}/*")).collect();
    let config = folders.config.to_str().map(escaped).unwrap_or_default();
    hidden.insert(format!("{config}/grants.json"));
    above.retain(|path| !files.contains(path));
    let mut told = Table::new();
    told.insert("option".into(), list(&["--help", "--dry-run"]));
    let told = Value::Table(told);
    let mut rules = vec![
        rule(
            "self_protection",
            "It would change shellgate's own files or the settings that make an agent call it.",
            "Ask the person to make the change in a terminal of their own.",
            &[("effect", list(CHANGES)), ("path", globs(&files))],
        ),
        rule(
            "self_protection_folder",
            "It would remove or move a folder that holds shellgate's own files or an agent's hook settings.",
            "Name what is meant inside the folder, or ask the person to do it in a terminal of their own.",
            &[("effect", list(&["delete", "move"])), ("path", globs(&above))],
        ),
        rule(
            "self_protection_link",
            "It would make another name for shellgate's own files or the settings that make an agent call it, by which they can be changed.",
            "Copy what is needed, or ask the person to do it in a terminal of their own.",
            &[
                ("utility", list(&["ln", "link", "gln"])),
                ("path", globs(&files.iter().chain(&above).chain(&near).cloned().collect())),
            ],
        ),
        rule(
            "self_protection_contents",
            "It would unpack into a folder that holds an agent's hook settings.",
            "Unpack into a folder of its own.",
            &[("effect", list(&["fill"])), ("path", globs(&inside))],
        ),
        rule(
            "self_protection_rights",
            "It would change who may read or write a folder that holds an agent's hook settings.",
            "Ask the person to make the change in a terminal of their own.",
            &[("effect", list(&["mode", "owner", "group"])), ("path", globs(&near))],
        ),
        rule(
            "self_protection_grants",
            "It would read the codes by which a person lets a stopped command through.",
            "Ask the person to run `shellgate allow` in a terminal of their own.",
            &[
                ("effect", list(&["read", "search", "send", "touch", "execute"])),
                ("path", globs(&hidden)),
            ],
        ),
        asking(
            rule(
                "self_protection_command",
                "Only a person may let commands through or switch the guard on and off.",
                "Ask the person to run it in a terminal of their own.",
                &[
                    ("utility", list(&["shellgate"])),
                    (
                        "subcommand",
                        list(&["allow", "grants revoke", "install", "uninstall", "hook"]),
                    ),
                    ("not", told),
                ],
            ),
            "It may let commands through or switch the guard on or off, which only a person may.",
        ),
        rule(
            "self_protection_program",
            "It runs shellgate by its path, where only a person may let commands through or switch the guard on and off.",
            "Call it by its name where it is only asked (`shellgate check`), or ask the person.",
            &[("effect", list(&["execute"])), ("path", globs(&own))],
        ),
        rule(
            CANARY,
            "This is the command by which `shellgate doctor` sees that the hook refuses.",
            "Nothing is wrong: the guard is on.",
            &[("utility", list(&["shellgate"])), ("subcommand", list(&["canary"]))],
        ),
    ];
    // A rule about no path at all would be one about every path.
    rules.retain(|rule| {
        let globs = rule.get("match").and_then(|own| own.get("path")?.get("glob")?.as_array());
        globs.is_none_or(|globs| !globs.is_empty())
    });
    let mut table = Table::new();
    table.insert("rule".into(), Value::Array(rules));
    Policy::of_table("self protection", table, Level::User)
}

fn rule(id: &str, why: &str, instead: &str, matching: &[(&str, Value)]) -> Value {
    let mut condition = Table::new();
    for (key, value) in matching {
        condition.insert((*key).into(), value.clone());
    }
    let mut table = Table::new();
    for (key, text) in [("id", id), ("label", LABEL), ("why", why), ("instead", instead)] {
        table.insert(key.into(), Value::String(text.into()));
    }
    table.insert("match".into(), Value::Table(condition));
    Value::Table(table)
}

/// The same rule, that also asks where it may hold.
fn asking(mut rule: Value, doubt: &str) -> Value {
    if let Value::Table(table) = &mut rule {
        table.insert("maybe".into(), Value::String("unparsable_command".into()));
        table.insert("doubt".into(), Value::String(doubt.into()));
    }
    rule
}

fn list(names: &[&str]) -> Value {
    Value::Array(names.iter().map(|name| Value::String((*name).into())).collect())
}

fn globs(paths: &BTreeSet<String>) -> Value {
    let mut table = Table::new();
    let all = paths.iter().map(|path| Value::String(path.clone())).collect();
    table.insert("glob".into(), Value::Array(all));
    Value::Table(table)
}

/// A path as a glob that fits it; a character that globs take for more is fit by any one.
fn escaped(path: &str) -> String {
    path.chars().map(|c| if "*?[]\\{}".contains(c) { '?' } else { c }).collect()
}

/// The program that runs now.
pub fn program() -> Option<PathBuf> {
    std::env::current_exe().ok()
}
