//! The house's own rules, as far as a machine can hold them: what a room may import, and how long a
//! file may be before its head says why.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// A room's folder or file below the root, and the rooms of its package it may name. Its own name
/// is always allowed.
const IMPORTS: &[(&str, &[&str])] = &[
    ("gate/src/model", &[]),
    ("gate/src/parse", &["model"]),
    ("gate/src/print.rs", &["model"]),
    ("gate/src/expand", &["model"]),
    ("gate/src/resolve", &["model"]),
    ("gate/src/interpret", &["model", "parse", "expand", "resolve"]),
    ("gate/src/derive", &["model"]),
    ("gate/src/judge", &["model"]),
    ("gate/src/load", &["model"]),
    ("gate/cli/src/hook", &["strict"]),
    ("orchestrator/src/rpc", &[]),
    ("orchestrator/src/protocol", &["task"]),
    ("orchestrator/src/server/reply.rs", &["rpc", "protocol", "task"]),
    ("orchestrator/src/task", &[]),
    ("orchestrator/src/drive", &["task", "guard", "advisor", "tool", "model", "wait"]),
    ("orchestrator/src/guard", &["task", "advisor"]),
    ("orchestrator/src/advisor", &["task"]),
    ("orchestrator/src/tool", &["task", "guard"]),
    ("orchestrator/src/model", &["task"]),
    ("orchestrator/src/host", &["task", "wait"]),
    ("orchestrator/src/wait.rs", &[]),
];

/// Modules of the standard library that ask the machine; the gate uses none.
const MACHINE: &str = r"\bstd::(fs|env|process|thread|net|time::(Instant|SystemTime))\b";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the suite lies in the root").into()
}

/// Rust files at or below a path, in order.
fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.into()];
    }
    let mut found: Vec<PathBuf> = fs::read_dir(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .map(|entry| entry.expect("a folder can be listed").path())
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    found.sort();
    found
}

/// The lines of a file that ship: no comment, nothing from the tests at its end on.
fn shipped(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(index, line)| (index + 1, line))
}

#[test]
fn a_room_names_only_the_rooms_it_may() {
    let named = Regex::new(r"\bcrate::([a-z_]+)").expect("the pattern is fixed");
    let mut failures = Vec::new();
    for (room, allowed) in IMPORTS {
        let own = Path::new(room).file_stem().expect("a room has a name").to_string_lossy();
        let own = if own == "reply" { "server".into() } else { own };
        for file in sources(&root().join(room)) {
            let text = fs::read_to_string(&file).expect("a source can be read");
            for (number, line) in shipped(&text) {
                for name in named.captures_iter(line).map(|found| found[1].to_owned()) {
                    if name != own && !allowed.contains(&name.as_str()) {
                        failures.push(format!("{}:{number}: names `{name}`", file.display()));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_gate_asks_the_machine_nothing() {
    let machine = Regex::new(MACHINE).expect("the pattern is fixed");
    let mut failures = Vec::new();
    for file in sources(&root().join("gate/src")) {
        let text = fs::read_to_string(&file).expect("a source can be read");
        for (number, line) in shipped(&text).filter(|(_, line)| machine.is_match(line)) {
            failures.push(format!("{}:{number}: {}", file.display(), line.trim()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn each_room_says_what_it_takes_gives_imports_and_never_does() {
    let mut failures = Vec::new();
    for (room, _) in IMPORTS {
        let head = root().join(room).join("mod.rs");
        if !head.is_file() {
            continue;
        }
        let text = fs::read_to_string(&head).expect("a source can be read");
        let says: String = text
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .collect::<String>()
            .to_lowercase();
        for word in ["take", "give", "may import", "never"] {
            if !says.contains(word) {
                failures.push(format!("{}: its head does not say `{word}`", head.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
