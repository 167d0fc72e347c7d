//! GitLab CI: `script`, `before_script` and `after_script` of every job and of `default`.
//!
//! The lines of one list run in one shell, one after the other, so they are one command.

use std::collections::BTreeMap;

use crate::scan::mapped::Mapped;
use crate::scan::tree::{DEPTH, Node};
use crate::scan::{Extracted, Piece, yaml};

const KEYS: [&str; 3] = ["before_script", "script", "after_script"];

/// The scripts of every job, hidden ones (`.name`) included.
pub fn extract(text: &str) -> Extracted {
    let read = yaml::read(text);
    let mut pieces = Vec::new();
    for document in &read.documents {
        let values = variables(document, &BTreeMap::new());
        scripts(document, &values, &mut pieces);
        for (name, job) in document.entries() {
            if KEYS.contains(&name.text()) {
                continue;
            }
            let values = variables(job, &values);
            scripts(job, &values, &mut pieces);
            if let Some(hooks) =
                job.get("hooks").and_then(|hooks| hooks.get("pre_get_sources_script"))
            {
                piece(hooks, &values, &mut pieces);
            }
        }
    }
    // An anchor that several jobs name is one script.
    let mut unique: Vec<Piece> = Vec::new();
    for piece in pieces {
        if !unique.contains(&piece) {
            unique.push(piece);
        }
    }
    Extracted { pieces: unique, trouble: read.trouble }
}

/// The variables around a node with its own, as far as their values are plain.
fn variables(node: &Node, around: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut values = around.clone();
    for (name, value) in node.get("variables").map(Node::entries).unwrap_or_default() {
        let text = value.text().or_else(|| value.get("value").and_then(Node::text));
        match text.filter(|text| !text.contains('$')) {
            Some(text) => values.insert(name.text().to_owned(), text.to_owned()),
            None => values.remove(name.text()),
        };
    }
    values
}

fn scripts(node: &Node, values: &BTreeMap<String, String>, pieces: &mut Vec<Piece>) {
    for key in KEYS {
        if let Some(script) = node.get(key) {
            piece(script, values, pieces);
        }
    }
}

fn piece(script: &Node, values: &BTreeMap<String, String>, pieces: &mut Vec<Piece>) {
    let mut command = Mapped::default();
    lines(script, 0, &mut command);
    if !command.text().trim().is_empty() {
        pieces.push(Piece { command, directory: None, parameters: values.clone() });
    }
}

/// Adds the lines of a text, or of a list of texts and lists.
fn lines(node: &Node, depth: usize, command: &mut Mapped) {
    match node {
        Node::Text(text) => {
            if !command.text().is_empty() && !command.text().ends_with('\n') {
                command.push_instead("\n", text, 0, 0);
            }
            command.push_part(text, 0, text.text().len());
        }
        // A node that holds itself by an alias ends at the depth.
        Node::List(items) if depth < DEPTH.min(10) => {
            for item in items {
                lines(item, depth + 1, command);
            }
        }
        _ => {}
    }
}
