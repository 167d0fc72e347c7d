//! Dockerfiles and Containerfiles (Dockerfile reference 1.x): every `RUN`, as a line for a shell, as a
//! list of words, and with here-documents.

use crate::scan::Piece;
use crate::scan::json;
use crate::scan::mapped::{Mapped, lines};
use crate::scan::script::{is_shell, names_shell};
use crate::scan::tree::Node;

/// The commands of every `RUN`, in order.
pub fn extract(text: &str) -> Vec<Piece> {
    let escape = escape(text);
    let mut pieces = Vec::new();
    let mut shell = true;
    let mut rest = lines(text).peekable();
    while let Some((at, line)) = rest.next() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let mut instruction = Mapped::default();
        let mut open = push_line(&mut instruction, line, at, escape);
        while open && let Some((at, line)) = rest.next() {
            // Comments and empty lines do not end an instruction.
            if !line.trim_start().starts_with('#') && !line.trim().is_empty() {
                open = push_line(&mut instruction, line, at, escape);
            }
        }
        let mut words = instruction.text().split_ascii_whitespace();
        let mut name = words.next().unwrap_or_default().to_ascii_uppercase();
        if name == "ONBUILD" {
            name = words.next().unwrap_or_default().to_ascii_uppercase();
        }
        let start = behind(instruction.text(), &name);
        match name.as_str() {
            "FROM" => shell = true,
            "SHELL" => {
                let program = instruction
                    .text()
                    .get(start..)
                    .and_then(|list| json::read(list).ok())
                    .and_then(|list| list.items().first().and_then(|one| one.text().map(is_shell)));
                shell = program.unwrap_or(true);
            }
            "RUN" => {
                let mut command = Mapped::default();
                let start = flags(instruction.text(), start);
                command.push_part(&instruction, start, instruction.text().len());
                let bodies = here_documents(command.text());
                if command.text().starts_with('[')
                    && let Some(list) = words_of(&command)
                {
                    pieces.push(Piece::new(list));
                    continue;
                }
                let alone = only_here_document(command.text());
                let mut body = Mapped::default();
                for (word, dash) in &bodies {
                    for (at, line) in rest.by_ref() {
                        let end = if *dash { line.trim_start_matches('\t') } else { line };
                        if end == word && alone {
                            break;
                        }
                        body.push(line, at);
                        body.push_end(text, at + line.len());
                        if end == word {
                            break;
                        }
                    }
                }
                if alone {
                    command = body;
                    if names_shell(command.text()) == Some(false) {
                        continue;
                    }
                } else if !body.text().is_empty() {
                    command.push_instead("\n", &body, 0, 0);
                    command.push_part(&body, 0, body.text().len());
                }
                if shell && !command.text().trim().is_empty() {
                    pieces.push(Piece::new(command));
                }
            }
            _ => {}
        }
    }
    pieces
}

/// The sign that lets a line go on, from the directive `# escape=`.
fn escape(text: &str) -> char {
    for line in text.lines() {
        let Some(directive) = line.trim_start().strip_prefix('#') else { break };
        let Some((name, value)) = directive.split_once('=') else { break };
        if name.trim().eq_ignore_ascii_case("escape") {
            return value.trim().chars().next().unwrap_or('\\');
        }
    }
    '\\'
}

/// Adds a line; whether it goes on.
fn push_line(instruction: &mut Mapped, line: &str, at: usize, escape: char) -> bool {
    let trimmed = line.trim_end();
    let kept = trimmed.strip_suffix(escape);
    instruction.push(kept.unwrap_or(line), at);
    kept.is_some()
}

/// The byte behind the name of the instruction and the blanks that follow.
fn behind(text: &str, name: &str) -> usize {
    let end = text.to_ascii_uppercase().find(name).map_or(text.len(), |start| start + name.len());
    blanks(text, end)
}

fn blanks(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.len() - rest.trim_start().len()
}

/// The byte behind flags (`--mount=...`).
fn flags(text: &str, mut at: usize) -> usize {
    while let Some(rest) = text.get(at..)
        && rest.starts_with("--")
    {
        let length = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        at = blanks(text, at + length);
    }
    at
}

/// A list of words as one command, each word quoted; none where it is no list of texts.
fn words_of(list: &Mapped) -> Option<Mapped> {
    let Ok(Node::List(items)) = json::read(list.text()) else { return None };
    let mut command = Mapped::default();
    for item in &items {
        let word = item.mapped()?;
        let region = word.between(0, word.text().len());
        if !command.text().is_empty() {
            command.push_instead(" ", list, region.start, region.start);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
        if !word.text().is_empty() && word.text().chars().all(plain) {
            command.push_part(list, region.start, region.end);
        } else {
            let quoted = format!("'{}'", word.text().replace('\'', "'\\''"));
            command.push_instead(&quoted, list, region.start, region.end);
        }
    }
    (!items.is_empty()).then_some(command)
}

/// The end words of the here-documents of a line, each with whether tabs go (`<<-`).
fn here_documents(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("<<") {
        // `<<<` has its text on the line.
        if let Some(string) = behind.strip_prefix('<') {
            rest = string;
            continue;
        }
        let dash = behind.starts_with('-');
        let word = behind.trim_start_matches('-').trim_start_matches(['"', '\'']);
        let length =
            word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(word.len());
        let name = word.get(..length).unwrap_or_default();
        if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            found.push((name.to_owned(), dash));
        }
        rest = behind;
    }
    found
}

/// Whether a line is nothing but the beginning of one here-document, whose body is the script.
fn only_here_document(text: &str) -> bool {
    let Some(rest) = text.trim().strip_prefix("<<") else { return false };
    let word = rest.trim_start_matches('-');
    !word.is_empty()
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '"' | '\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_run_is_read() {
        let file = "# syntax=docker/dockerfile:1\nFROM a\nRUN --mount=type=cache,target=/x a && \\\n  # note\n\n  b\nrun [\"rm\", \"-rf\", \"a b\"]\nRUN <<EOF\nc\nd\nEOF\nRUN python3 <<'E' > x\nprint()\nE\nONBUILD RUN e\nSHELL [\"pwsh\"]\nRUN f\nFROM b\nRUN g";
        let pieces = extract(file);
        let got: Vec<&str> = pieces.iter().map(|piece| piece.command.text()).collect();
        assert_eq!(
            got,
            ["a &&   b", "rm -rf 'a b'", "c\nd\n", "python3 <<'E' > x\nprint()\nE\n", "e", "g"]
        );
        let list = &pieces.get(1).unwrap().command;
        let region = list.between(7, 12);
        assert_eq!(file.get(region.start..region.end).unwrap(), "a b");
    }
}
