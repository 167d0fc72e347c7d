//! Workflows and composite actions of GitHub: the `run` of every step.
//!
//! `${{ ... }}` is put in by GitHub before a shell starts; it becomes a parameter nobody knows.

use crate::scan::mapped::Mapped;
use crate::scan::script::is_shell;
use crate::scan::tree::Node;
use crate::scan::{Extracted, Piece, yaml};

/// What stands for `${{ ... }}`.
const EXPRESSION: &str = "${GITHUB_EXPRESSION}";

/// The steps of every job of a workflow, and those of a composite action.
pub fn extract(text: &str) -> Extracted {
    let read = yaml::read(text);
    let mut pieces = Vec::new();
    for document in &read.documents {
        let default = defaults(document);
        let jobs = document.get("jobs").map(Node::entries).unwrap_or_default();
        for (_, job) in jobs {
            let own = defaults(job);
            let default = (own.0.or(default.0), own.1.or(default.1));
            steps(job.get("steps"), default, &mut pieces);
        }
        steps(document.at(&["runs", "steps"]), default, &mut pieces);
    }
    Extracted { pieces, trouble: read.trouble }
}

/// The shell and the directory that `defaults.run` names.
fn defaults(node: &Node) -> (Option<&str>, Option<&str>) {
    let run = node.at(&["defaults", "run"]);
    let text = |key| run.and_then(|run| run.get(key)).and_then(Node::text);
    (text("shell"), text("working-directory"))
}

fn steps(list: Option<&Node>, default: (Option<&str>, Option<&str>), pieces: &mut Vec<Piece>) {
    for step in list.map(Node::items).unwrap_or_default() {
        let Some(run) = step.get("run").and_then(Node::mapped) else { continue };
        let shell = step.get("shell").and_then(Node::text).or(default.0);
        let shell = shell.and_then(|line| line.split_ascii_whitespace().next()).unwrap_or("bash");
        if !is_shell(shell) && !shell.contains("${{") {
            continue;
        }
        let directory = step.get("working-directory").and_then(Node::text).or(default.1);
        pieces.push(Piece {
            command: expressions(run, "${{", "}}", EXPRESSION),
            directory: directory.filter(|path| !path.contains("${{")).map(str::to_owned),
        });
    }
}

/// The text with everything from `open` to `close` replaced; what is not closed is kept.
pub fn expressions(text: &Mapped, open: &str, close: &str, instead: &str) -> Mapped {
    let mut out = Mapped::default();
    let mut at = 0;
    while let Some(rest) = text.text().get(at..)
        && let Some(start) = rest.find(open)
        && let Some(length) = rest.get(start..).and_then(|rest| rest.find(close))
    {
        let (start, end) = (at + start, at + start + length + close.len());
        out.push_part(text, at, start);
        out.push_instead(instead, text, start, end);
        at = end;
    }
    out.push_part(text, at, text.text().len());
    out
}
