//! justfiles: the lines of every recipe, each a command; a recipe with a first line `#!` is a script.
//!
//! `{{ ... }}` is put in by just before a shell starts; it becomes a parameter nobody knows.

use crate::scan::Piece;
use crate::scan::github::expressions;
use crate::scan::mapped::{Mapped, lines};
use crate::scan::script::names_shell;

const EXPRESSION: &str = "${JUST_EXPRESSION}";

/// The commands of every recipe, and those between backticks in assignments.
pub fn extract(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut body: Vec<(usize, &str)> = Vec::new();
    let mut in_recipe = false;
    for (at, line) in lines(text) {
        let indented = line.starts_with([' ', '\t']);
        if in_recipe && (indented || line.trim().is_empty()) {
            body.push((at, line));
            continue;
        }
        recipe(text, &std::mem::take(&mut body), &mut pieces);
        in_recipe = is_header(line);
        if !in_recipe && !line.starts_with('#') && line.contains(":=") {
            backticks(at, line, &mut pieces);
        }
    }
    recipe(text, &body, &mut pieces);
    pieces
}

/// Whether a line begins a recipe: a name and, somewhere, a colon that assigns nothing.
fn is_header(line: &str) -> bool {
    let name = line.trim_start_matches('@');
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let colon = line.find(':').is_some_and(|at| !line.get(at..).unwrap_or("").starts_with(":="));
    // Default values of parameters may hold `:=` in no valid file.
    named && colon && !line.starts_with("set ") && !line.starts_with("alias ")
}

fn recipe(text: &str, body: &[(usize, &str)], pieces: &mut Vec<Piece>) {
    let Some((_, first)) = body.iter().find(|(_, line)| !line.trim().is_empty()) else { return };
    let indent = first.len() - first.trim_start().len();
    let cut = |line: &str| (line.len() - line.trim_start().len()).min(indent);
    let script = first.trim_start().starts_with("#!");
    if script && names_shell(first.trim_start()) == Some(false) {
        return;
    }
    let mut command = Mapped::default();
    for (at, line) in body {
        let skip = cut(line);
        let content = line.get(skip..).unwrap_or_default();
        if script {
            command.push(content, at + skip);
            command.push_end(text, at + line.len());
            continue;
        }
        let continued = !command.text().is_empty();
        // Only the first of several lines has signs: quiet, mistakes allowed.
        let signs = if continued {
            0
        } else {
            content.len() - content.trim_start_matches(['@', '-']).len()
        };
        command.push(content.get(signs..).unwrap_or_default(), at + skip + signs);
        if content.ends_with('\\') {
            command.push_end(text, at + line.len());
        } else {
            push(&std::mem::take(&mut command), pieces);
        }
    }
    push(&command, pieces);
}

fn push(command: &Mapped, pieces: &mut Vec<Piece>) {
    if !command.text().trim().is_empty() && !command.text().starts_with('#')
        || command.text().starts_with("#!")
    {
        pieces.push(Piece::new(expressions(command, "{{", "}}", |_| EXPRESSION)));
    }
}

fn backticks(at: usize, line: &str, pieces: &mut Vec<Piece>) {
    let mut open = None;
    for (index, _) in line.match_indices('`') {
        match open.take() {
            None => open = Some(index + 1),
            Some(start) => {
                push(
                    &Mapped::verbatim(line.get(start..index).unwrap_or_default(), at + start),
                    pieces,
                );
            }
        }
    }
}
