//! What a model is told of the workspace before it asks for anything.
//!
//! Everything is looked up by the tools the model itself has, judged by the same guard: what would ask
//! a person, such as a secret file, is not looked at but named as left out. Nothing of this is told as a
//! call, because nobody but us asked for it.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::guard::{Ruling, TaskGuard};
use crate::task::call::{ToolCall, ToolName};
use crate::task::input::{ContextRef, Range, TaskContext};
use crate::tool::{Ran, Toolbox};

/// Characters that count as one token.
const CHARACTERS: usize = 4;
/// So many open editors are shown.
const EDITORS: usize = 10;
/// So many files of attached folders are shown.
const FOLDER_FILES: usize = 50;
/// So many files the map of the workspace names.
const MAPPED: usize = 400;
/// So many things that were left out are named.
const NAMED: usize = 40;

/// Files that machines write: they say much and tell little.
const LOCKFILES: [&str; 14] = [
    "Cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "poetry.lock",
    "uv.lock",
    "Pipfile.lock",
    "Gemfile.lock",
    "composer.lock",
    "go.sum",
    "flake.lock",
];

/// Endings of files that are made from others.
const GENERATED: [&str; 8] =
    [".min.js", ".min.css", ".map", ".pb.go", "_pb2.py", ".snap", ".svg", ".g.dart"];

/// Where the context is looked up.
pub(super) struct Look<'a> {
    pub(super) toolbox: &'a Toolbox,
    pub(super) guard: &'a TaskGuard,
    pub(super) cancel: &'a CancellationToken,
}

/// Tokens of context for a window of that many: a quarter, 2,000 at least and 32,000 at most.
pub(super) const fn limit(window: u64) -> u64 {
    let quarter = window / 4;
    if quarter < 2_000 {
        2_000
    } else if quarter > 32_000 {
        32_000
    } else {
        quarter
    }
}

/// A snapshot of what the task is about, of at most `limit` tokens: what the person attached first,
/// then changes, then what lies around.
pub(super) async fn gather(look: &Look<'_>, context: &TaskContext, limit: u64) -> String {
    let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_mul(CHARACTERS);
    let mut snapshot =
        Snapshot { look, room, text: String::new(), shown: Vec::new(), out: Vec::new() };
    snapshot.attached(context).await;
    snapshot.selections(context).await;
    snapshot.changes(context).await;
    snapshot.folders(context).await;
    for path in context.open_editors.iter().take(EDITORS) {
        snapshot.file(path).await;
    }
    snapshot.map().await;
    snapshot.finish()
}

struct Snapshot<'a> {
    look: &'a Look<'a>,
    /// Characters that are left.
    room: usize,
    text: String,
    shown: Vec<String>,
    /// What was left out, and why.
    out: Vec<(String, &'static str)>,
}

impl Snapshot<'_> {
    async fn attached(&mut self, context: &TaskContext) {
        for attached in &context.refs {
            if let ContextRef::File { path } = attached {
                self.file(path).await;
            }
        }
        for path in &context.tests {
            self.file(path).await;
        }
    }

    async fn selections(&mut self, context: &TaskContext) {
        for attached in &context.refs {
            if let ContextRef::Selection { path, range } = attached {
                if let Some(why) = unwanted(path) {
                    self.leave_out(path, why);
                    continue;
                }
                let (first, last) = lines(*range);
                let args = json!({"path": path, "startLine": first, "endLine": last});
                let title = format!("Selection in {path}");
                self.show(&title, path, ToolName::ReadFile, args).await;
            }
        }
    }

    /// Changes that were asked for, else what is not committed.
    async fn changes(&mut self, context: &TaskContext) {
        let asked: Vec<_> = context
            .refs
            .iter()
            .filter_map(|attached| match attached {
                ContextRef::Diff { staged, path } => Some((*staged, path.as_deref())),
                _ => None,
            })
            .collect();
        let is_asked = !asked.is_empty();
        if !is_asked && !self.look.is_repository() {
            return;
        }
        for (staged, path) in if is_asked { asked } else { vec![(false, None)] } {
            let mut args = json!({"command": "diff", "staged": staged});
            if let (Some(path), Some(args)) = (path, args.as_object_mut()) {
                args.insert("path".to_owned(), Value::from(path));
            }
            let title = if staged { "Staged changes" } else { "Changes that are not committed" };
            let Ok(diff) = self.look.run(ToolName::GitRead, args).await else {
                if is_asked {
                    self.leave_out(title, "cannot be shown");
                }
                continue;
            };
            let wanted = wanted_parts(&diff, &mut self.out);
            if wanted.contains("diff --") {
                self.add(title, title, &wanted);
            }
        }
    }

    async fn folders(&mut self, context: &TaskContext) {
        for attached in &context.refs {
            let ContextRef::Folder { path } = attached else { continue };
            let args = json!({"path": path, "depth": 10, "limit": FOLDER_FILES});
            match self.look.run(ToolName::ListFiles, args).await {
                Ok(list) => {
                    for file in names(&list) {
                        self.file(file).await;
                    }
                }
                Err(why) => self.leave_out(path, why),
            }
        }
    }

    async fn map(&mut self) {
        let args = json!({"path": ".", "depth": 4, "limit": MAPPED});
        if let Ok(list) = self.look.run(ToolName::ListFiles, args).await {
            self.add("Files of the workspace", "the list of files", &list);
        }
    }

    async fn file(&mut self, path: &str) {
        if self.shown.iter().any(|shown| shown == path) {
            return;
        }
        self.shown.push(path.to_owned());
        if let Some(why) = unwanted(path) {
            return self.leave_out(path, why);
        }
        self.show(&format!("File {path}"), path, ToolName::ReadFile, json!({"path": path})).await;
    }

    async fn show(&mut self, title: &str, name: &str, tool: ToolName, args: Value) {
        if self.room == 0 {
            return self.leave_out(name, "no room");
        }
        match self.look.run(tool, args).await {
            Ok(text) if is_generated(&text) => self.leave_out(name, "generated"),
            Ok(text) => self.add(title, name, &text),
            Err(why) => self.leave_out(name, why),
        }
    }

    /// Adds a part whole, or not at all: half a file misleads.
    fn add(&mut self, title: &str, name: &str, text: &str) {
        let length = title.chars().count().saturating_add(text.chars().count()).saturating_add(8);
        if length > self.room {
            return self.leave_out(name, "no room");
        }
        self.room -= length;
        // Writing to a string cannot fail.
        let _ = write!(self.text, "## {title}\n{}\n\n", text.trim_end());
    }

    fn leave_out(&mut self, name: &str, why: &'static str) {
        self.out.push((name.to_owned(), why));
    }

    fn finish(mut self) -> String {
        if !self.out.is_empty() {
            self.text.push_str("## Left out\n");
            for (name, why) in self.out.iter().take(NAMED) {
                let _ = writeln!(self.text, "- {name} ({why})");
            }
            if self.out.len() > NAMED {
                let _ = writeln!(self.text, "- and {} more", self.out.len() - NAMED);
            }
        }
        self.text
    }
}

impl Look<'_> {
    /// Whether the first root lies in a repository, so that asking git is worth a process.
    fn is_repository(&self) -> bool {
        let root = self.toolbox.workspace().root(0);
        root.is_some_and(|root| root.ancestors().any(|folder| folder.join(".git").exists()))
    }

    /// What a tool prints, where the guard lets it run unasked; else why it is left out.
    async fn run(&self, tool: ToolName, args: Value) -> Result<String, &'static str> {
        let args = match args {
            Value::Object(args) => args,
            _ => Map::new(),
        };
        let call = ToolCall { id: "context".to_owned(), tool, args };
        if self.cancel.is_cancelled() || self.toolbox.check(&call).is_err() {
            return Err("cannot be shown");
        }
        match self.guard.judge(call, self.cancel).await.ruling {
            Ruling::Run(cleared) => match self.toolbox.run(cleared, self.cancel).await {
                Ran::Result(result) if result.failure.is_none() => Ok(result.output),
                Ran::Result(_) | Ran::Proposal { .. } => Err("cannot be shown"),
            },
            Ruling::Ask(_) | Ruling::Refuse { .. } => Err("protected"),
        }
    }
}

/// The lines of a range, from 1, whichever end comes first.
fn lines(range: Range) -> (u64, u64) {
    let (first, last) =
        (range.start.line.min(range.end.line), range.start.line.max(range.end.line));
    (first.saturating_add(1), last.saturating_add(1))
}

/// Names in a list of files; lines that end it in words are none.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.is_empty() && !line.contains(' '))
}

fn unwanted(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if LOCKFILES.contains(&name) {
        Some("lockfile")
    } else if GENERATED.iter().any(|ending| name.ends_with(ending)) {
        Some("generated")
    } else {
        None
    }
}

/// Whether one of the first lines says so.
fn is_generated(text: &str) -> bool {
    text.lines().take(6).any(|line| {
        line.contains("@generated")
            || (line.contains("enerated") && line.to_ascii_lowercase().contains("do not edit"))
    })
}

/// The parts of a diff that are worth their room.
fn wanted_parts(diff: &str, out: &mut Vec<(String, &'static str)>) -> String {
    let mut wanted = String::new();
    let mut is_wanted = true;
    for line in diff.split_inclusive('\n') {
        if let Some(names) = line.strip_prefix("diff --git a/") {
            let path = names.split(" b/").next().unwrap_or(names).trim_end();
            let why = unwanted(path);
            is_wanted = why.is_none();
            if let Some(why) = why {
                out.push((format!("changes of {path}"), why));
            }
        }
        if is_wanted {
            wanted.push_str(line);
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::input::Position;

    #[test]
    fn the_limit_is_a_quarter_within_bounds() {
        assert_eq!([0, 8_000, 40_000, 1 << 40].map(limit), [2_000, 2_000, 10_000, 32_000]);
    }

    #[test]
    fn a_range_may_stand_backwards() {
        let at = |line| Position { line, character: 3 };
        assert_eq!(lines(Range { start: at(7), end: at(2) }), (3, 8));
    }

    #[test]
    fn parts_of_a_diff_that_tell_little_go() {
        let diff = "diff --git a/x/Cargo.lock b/x/Cargo.lock\n+1\ndiff --git a/a.rs b/a.rs\n+2\n";
        let mut out = Vec::new();
        assert_eq!(wanted_parts(diff, &mut out), "diff --git a/a.rs b/a.rs\n+2\n");
        assert_eq!(out, [("changes of x/Cargo.lock".to_owned(), "lockfile")]);
        assert!(is_generated("// Code generated by x. DO NOT EDIT.\n"));
        assert!(!is_generated("fn generated() {}\n"));
    }
}
