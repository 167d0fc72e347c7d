//! Workflows and composite actions of GitHub: the `run` of every step.
//!
//! `${{ ... }}` is put in by GitHub before a shell starts; `${{ env.NAME }}` of a value in the file
//! becomes that value, every other a parameter nobody knows.

use std::collections::BTreeMap;

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
        let values = environment(document, &Values::new());
        let jobs = document.get("jobs").map(Node::entries).unwrap_or_default();
        for (_, job) in jobs {
            let own = defaults(job);
            let default = (own.0.or(default.0), own.1.or(default.1));
            let values = environment(job, &values);
            steps(job.get("steps"), default, &values, &mut pieces);
        }
        steps(document.at(&["runs", "steps"]), default, &values, &mut pieces);
    }
    Extracted { pieces, trouble: read.trouble }
}

/// The shell and the directory that `defaults.run` names.
fn defaults(node: &Node) -> (Option<&str>, Option<&str>) {
    let run = node.at(&["defaults", "run"]);
    let text = |key| run.and_then(|run| run.get(key)).and_then(Node::text);
    (text("shell"), text("working-directory"))
}

/// Values of the environment, by name.
type Values = BTreeMap<String, String>;

/// The values around a node with those of its own `env`; what GitHub puts in is not known.
fn environment(node: &Node, around: &Values) -> Values {
    let mut values = around.clone();
    for (name, value) in node.get("env").map(Node::entries).unwrap_or_default() {
        match value.text().filter(|text| !text.contains("${{")) {
            Some(text) => values.insert(name.text().to_owned(), text.to_owned()),
            None => values.remove(name.text()),
        };
    }
    values
}

fn steps(
    list: Option<&Node>,
    default: (Option<&str>, Option<&str>),
    values: &Values,
    pieces: &mut Vec<Piece>,
) {
    for step in list.map(Node::items).unwrap_or_default() {
        let Some(run) = step.get("run").and_then(Node::mapped) else { continue };
        let shell = step.get("shell").and_then(Node::text).or(default.0);
        let shell = shell.and_then(|line| line.split_ascii_whitespace().next()).unwrap_or("bash");
        if !is_shell(shell) && !shell.contains("${{") {
            continue;
        }
        let directory = step.get("working-directory").and_then(Node::text).or(default.1);
        let parameters = environment(step, values);
        let command = expressions(run, "${{", "}}", |inside| {
            let name = inside.trim().strip_prefix("env.");
            name.and_then(|name| parameters.get(name)).map_or(EXPRESSION, String::as_str)
        });
        let directory = directory.filter(|path| !path.contains("${{")).map(str::to_owned);
        pieces.push(Piece { command, directory, parameters });
    }
}

/// The text with everything from `open` to `close` replaced by what is given for the part between
/// them; what is not closed is kept.
pub fn expressions<'a>(
    text: &Mapped,
    open: &str,
    close: &str,
    instead: impl Fn(&str) -> &'a str,
) -> Mapped {
    let mut out = Mapped::default();
    let mut at = 0;
    while let Some(rest) = text.text().get(at..)
        && let Some(start) = rest.find(open)
        && let Some(length) = rest.get(start + open.len()..).and_then(|rest| rest.find(close))
    {
        let (start, end) = (at + start, at + start + open.len() + length + close.len());
        out.push_part(text, at, start);
        let inside = text.text().get(start + open.len()..end - close.len()).unwrap_or_default();
        out.push_instead(instead(inside), text, start, end);
        at = end;
    }
    out.push_part(text, at, text.text().len());
    out
}
