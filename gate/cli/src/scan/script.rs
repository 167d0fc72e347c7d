//! Shell scripts: the whole file is one command.

use crate::scan::Piece;
use crate::scan::mapped::Mapped;

/// Shells whose language the gate reads, by the name of the program.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"];

/// Whether the program is a shell, by its name or path, `.exe` included.
pub fn is_shell(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    SHELLS.contains(&name.strip_suffix(".exe").unwrap_or(name))
}

/// Whether a first line (`#!/usr/bin/env -S bash -e`) names a shell; none where it names nothing.
pub fn names_shell(text: &str) -> Option<bool> {
    let line = text.lines().next()?.strip_prefix("#!")?;
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    let name = first.rsplit('/').next().unwrap_or(first);
    let program = match name {
        "env" => words.find(|word| !word.starts_with('-') && !word.contains('='))?,
        "busybox" => words.next()?,
        _ => first,
    };
    Some(is_shell(program))
}

/// The file as one command; nothing for an empty one.
pub fn extract(text: &str) -> Vec<Piece> {
    let shift = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut command = Mapped::default();
    if text.contains("\r\n") {
        let mut at = shift;
        for line in text.split_inclusive('\n') {
            match line.strip_suffix("\r\n") {
                None => command.push(line, at),
                Some(kept) => {
                    command.push(kept, at);
                    command.push("\n", at + kept.len() + 1);
                }
            }
            at += line.len();
        }
    } else {
        command.push(text, shift);
    }
    vec![Piece::new(command)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_name_shells() {
        let table = [
            ("#!/bin/sh", Some(true)),
            ("#! /usr/bin/env -S bash -eu", Some(true)),
            ("#!/usr/bin/env A=1 python3", Some(false)),
            ("#!/bin/busybox ash", Some(true)),
            ("#!/usr/bin/python3", Some(false)),
            ("echo", None),
            ("#!", None),
            ("", None),
        ];
        for (line, want) in table {
            assert_eq!(names_shell(line), want, "{line}");
        }
    }
}
