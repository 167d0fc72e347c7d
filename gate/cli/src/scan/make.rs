//! Makefiles (POSIX.1-2024 XCU make, GNU make 4.4): the lines of every recipe, each a command, and
//! what `$(shell ...)` and `!=` run.
//!
//! A variable that the file gives one plain value has it; every other becomes a parameter nobody
//! knows. `$$` is one dollar. Long, because it is a state machine over lines.

use std::collections::HashMap;

use crate::scan::Piece;
use crate::scan::mapped::{Mapped, lines};
use crate::scan::script::is_shell;

/// Levels of variables inside variables.
const DEPTH: usize = 8;
/// Bytes one command may grow to.
const BYTES: usize = 1 << 16;

/// What stands for the part that a pattern leaves open.
const STEM: &str = "stem";

/// Values of variables; none for one that has several.
type Values = HashMap<String, Option<String>>;

/// The commands, in order.
pub fn extract(text: &str) -> Vec<Piece> {
    let values = values(text);
    if let Some(Some(shell)) = values.get("SHELL")
        && !shell
            .split_ascii_whitespace()
            .next()
            .is_none_or(|word| is_shell(word) || word.contains('$') || word.ends_with("/env"))
    {
        return Vec::new();
    }
    let mut reader = Reader {
        values: &values,
        one_shell: lines(text).any(|(_, line)| line.trim_end() == ".ONESHELL:"),
        prefix: '\t',
        automatic: HashMap::new(),
        in_rule: false,
        recipe: Mapped::default(),
        pieces: Vec::new(),
    };
    let mut defining = false;
    let mut command: Option<Mapped> = None;
    let mut logical: Option<Mapped> = None;
    for (at, line) in lines(text) {
        if let Some(mut open) = command.take() {
            // The recipe goes on; the sign of the next line goes.
            let kept = line.strip_prefix(reader.prefix).unwrap_or(line);
            open.push(kept, at + line.len() - kept.len());
            if continues(line) {
                open.push_end(text, at + line.len());
                command = Some(open);
            } else {
                reader.command(&open);
            }
            continue;
        }
        if let Some(mut open) = logical.take() {
            open.push(line.trim_end_matches('\\'), at);
            if continues(line) {
                logical = Some(open);
            } else {
                reader.line(&open);
            }
            continue;
        }
        let word = line.split_ascii_whitespace().next().unwrap_or_default();
        if defining {
            defining = word != "endef";
        } else if reader.in_rule && line.starts_with(reader.prefix) {
            let kept = line.get(reader.prefix.len_utf8()..).unwrap_or_default();
            let mut open = Mapped::default();
            open.push(kept, at + line.len() - kept.len());
            if continues(line) {
                open.push_end(text, at + line.len());
                command = Some(open);
            } else {
                reader.command(&open);
            }
        } else if word == "define" {
            defining = true;
        } else if !word.is_empty() && !word.starts_with('#') {
            let mut open = Mapped::default();
            open.push(line.trim_end_matches('\\'), at);
            if continues(line) {
                logical = Some(open);
            } else {
                reader.line(&open);
            }
        }
    }
    if let Some(open) = command {
        reader.command(&open);
    }
    if let Some(open) = logical {
        reader.line(&open);
    }
    reader.flush();
    reader.pieces
}

/// Whether a line goes on: an odd number of backslashes at its end.
fn continues(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

struct Reader<'a> {
    values: &'a Values,
    one_shell: bool,
    prefix: char,
    /// What the rule makes and from what, by the automatic variable that says so.
    automatic: HashMap<char, String>,
    in_rule: bool,
    /// With `.ONESHELL` the lines so far.
    recipe: Mapped,
    pieces: Vec<Piece>,
}

impl Reader<'_> {
    /// A line that is no recipe.
    fn line(&mut self, line: &Mapped) {
        let text = line.text();
        if let Some(assignment) = Assignment::of(text) {
            if assignment.name == ".RECIPEPREFIX" {
                self.prefix = assignment.value.chars().next().unwrap_or('\t');
            }
            let start = text.len() - assignment.value_with_rest.len();
            if assignment.operator == "!=" {
                let mut command = Mapped::default();
                command.push_part(line, start, text.len());
                self.push(&command);
            } else {
                self.shells(line, start);
            }
            return;
        }
        let word = text.split_ascii_whitespace().next().unwrap_or_default();
        if matches!(
            word,
            "ifeq"
                | "ifneq"
                | "ifdef"
                | "ifndef"
                | "else"
                | "endif"
                | "include"
                | "-include"
                | "sinclude"
                | "export"
                | "unexport"
                | "override"
                | "vpath"
        ) {
            self.shells(line, 0);
            return;
        }
        self.shells(line, 0);
        let Some(colon) = text.find(':') else { return };
        self.flush();
        self.in_rule = true;
        let semicolon = text.get(colon..).and_then(|rest| rest.find(';')).map(|at| colon + at);
        self.automatic = self.automatic(line, colon, semicolon.unwrap_or(text.len()));
        if let Some(semicolon) = semicolon {
            let mut command = Mapped::default();
            command.push_part(line, semicolon + 1, text.len());
            self.command(&command);
        }
    }

    /// The automatic variables of a rule (GNU make 4.4 section 10.5.3). The part that a pattern leaves
    /// open is a plain name, so that what is made lies where the pattern says; a rule for several
    /// targets has its first one.
    fn automatic(&self, line: &Mapped, colon: usize, end: usize) -> HashMap<char, String> {
        let words = |start: usize, end: usize| -> Vec<String> {
            let (mut part, mut out) = (Mapped::default(), Mapped::default());
            part.push_part(line, start, end);
            self.expand(&part, 0, &mut out);
            out.text().replace('%', STEM).split_ascii_whitespace().map(str::to_owned).collect()
        };
        let targets = words(0, colon);
        let sources: Vec<String> = words(colon + 1, end)
            .into_iter()
            .map(|word| word.trim_start_matches(':').to_owned())
            .take_while(|word| word != "|")
            .filter(|word| !word.is_empty())
            .collect();
        let mut known = HashMap::from([('*', STEM.to_owned())]);
        known.extend(targets.into_iter().next().map(|target| ('@', target)));
        known.extend(sources.first().map(|source| ('<', source.clone())));
        for name in ['^', '+', '?'] {
            known.insert(name, sources.join(" "));
        }
        known
    }

    /// A line of a recipe, its prefix left out.
    fn command(&mut self, line: &Mapped) {
        let text = line.text();
        let signs = text.trim_start_matches(['@', '-', '+', ' ', '\t']);
        let mut command = Mapped::default();
        command.push_part(line, text.len() - signs.len(), text.len());
        if self.one_shell {
            let end = command.text().len();
            self.recipe.push_part(&command, 0, end);
            self.recipe.push_instead("\n", &command, end, end);
        } else {
            self.push(&command);
        }
    }

    fn flush(&mut self) {
        let recipe = std::mem::take(&mut self.recipe);
        self.push(&recipe);
    }

    fn push(&mut self, command: &Mapped) {
        let text = command.text().trim();
        if text.is_empty() || (text.starts_with('#') && !text.contains('\n')) {
            return;
        }
        let mut out = Mapped::default();
        self.expand(command, 0, &mut out);
        self.pieces.push(Piece::new(out));
    }

    /// What `$(shell ...)` runs in a line from byte `from` on.
    fn shells(&mut self, line: &Mapped, from: usize) {
        let text = line.text();
        let mut at = from;
        while let Some(start) = text.get(at..).and_then(|rest| rest.find("$(shell ")) {
            let start = at + start + 2;
            let Some(end) = closing(text, start, '(', ')') else { return };
            let mut command = Mapped::default();
            command.push_part(line, start + "shell ".len(), end);
            self.push(&command);
            at = end;
        }
    }

    /// Puts values in the place of variables.
    fn expand(&self, text: &Mapped, depth: usize, out: &mut Mapped) {
        let source = text.text();
        let mut at = 0;
        while let Some(dollar) = source.get(at..).and_then(|rest| rest.find('$')) {
            let dollar = at + dollar;
            out.push_part(text, at, dollar);
            if out.text().len() > BYTES {
                return;
            }
            let Some(next) = source.get(dollar + 1..).and_then(|rest| rest.chars().next()) else {
                return;
            };
            at = dollar + 1 + next.len_utf8();
            let close = match next {
                '(' => closing(source, at, '(', ')'),
                '{' => closing(source, at, '{', '}'),
                _ => None,
            };
            let inside = close.and_then(|end| source.get(at..end));
            match (next, inside, close) {
                ('$', ..) => out.push_instead("$", text, dollar, at),
                ('(' | '{', Some(inside), Some(end)) => {
                    if let Some(command) = inside.strip_prefix("shell ") {
                        let mut inner = Mapped::default();
                        inner.push_part(text, end - command.len(), end);
                        out.push_instead("$(", text, dollar, end - command.len());
                        if depth < DEPTH {
                            self.expand(&inner, depth + 1, out);
                        }
                        out.push_instead(")", text, end, end + 1);
                    } else if let Some(names) = inside.strip_prefix("wildcard ") {
                        // The shell finds the same names.
                        let mut inner = Mapped::default();
                        inner.push_part(text, end - names.len(), end);
                        if depth < DEPTH {
                            self.expand(&inner, depth + 1, out);
                        }
                    } else {
                        self.variable(inside, text, (dollar, end + 1), depth, out);
                    }
                    at = end + 1;
                }
                _ => {
                    if let Some(value) = self.automatic.get(&next) {
                        out.push_instead(value, text, dollar, at);
                        continue;
                    }
                    let mut buffer = [0_u8; 4];
                    let name: &str = next.encode_utf8(&mut buffer);
                    self.variable(name, text, (dollar, at), depth, out);
                }
            }
        }
        out.push_part(text, at, source.len());
    }

    fn variable(
        &self,
        name: &str,
        text: &Mapped,
        place: (usize, usize),
        depth: usize,
        out: &mut Mapped,
    ) {
        let (start, end) = place;
        if let Some(Some(value)) = self.values.get(name)
            && depth < DEPTH
        {
            let mut inner = Mapped::default();
            inner.push_instead(value, text, start, end);
            self.expand(&inner, depth + 1, out);
            return;
        }
        let known = if self.values.contains_key(name) { None } else { predefined(name) };
        match known {
            Some(value) => out.push_instead(value, text, start, end),
            None if is_name(name) => {
                out.push_instead(&format!("${{{}}}", shell_name(name)), text, start, end);
            }
            None => out.push_instead("${MAKE_VALUE}", text, start, end),
        }
    }
}

/// Where the bracket that is open at byte `from` closes.
fn closing(text: &str, from: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, character) in text.get(from..)?.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            match depth.checked_sub(1) {
                None => return Some(from + index),
                Some(less) => depth = less,
            }
        }
    }
    None
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// The name as one the shell takes.
fn shell_name(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// Values that make itself gives (GNU make 4.4 section 10.3).
fn predefined(name: &str) -> Option<&'static str> {
    Some(match name {
        "MAKE" => "make",
        "RM" => "rm -f",
        "CC" => "cc",
        "CXX" => "g++",
        "AR" => "ar",
        "AS" => "as",
        "LD" => "ld",
        "CPP" => "cc -E",
        "YACC" => "yacc",
        "LEX" => "lex",
        "SHELL" => "/bin/sh",
        "ARFLAGS" => "rv",
        "CFLAGS" | "CXXFLAGS" | "CPPFLAGS" | "LDFLAGS" | "LDLIBS" | "MAKEFLAGS" => "",
        _ => return None,
    })
}

/// `NAME = value` and its kin.
struct Assignment<'a> {
    name: &'a str,
    operator: &'a str,
    /// Without a comment and blanks around it.
    value: &'a str,
    /// As it stands, to the end of the line.
    value_with_rest: &'a str,
}

impl<'a> Assignment<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let mut rest = line.trim_start();
        while let Some((word, more)) = rest.split_once([' ', '\t'])
            && matches!(word, "export" | "override" | "private")
        {
            rest = more.trim_start();
        }
        let length =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
        let (name, rest) = rest.split_at_checked(length?)?;
        let rest = rest.trim_start();
        let operator = [":::=", "::=", ":=", "?=", "+=", "!=", "="]
            .into_iter()
            .find(|operator| rest.starts_with(operator))?;
        let value_with_rest = rest.get(operator.len()..)?;
        let value = value_with_rest.split(" #").next().unwrap_or_default().trim();
        (!name.is_empty()).then_some(Self { name, operator, value, value_with_rest })
    }
}

/// What the file gives to variables.
fn values(text: &str) -> Values {
    let mut values = Values::new();
    let mut defining = false;
    let mut logical = String::new();
    for (_, line) in lines(text) {
        if continues(line) {
            logical.push_str(line.trim_end_matches('\\'));
            continue;
        }
        logical.push_str(line);
        let line = std::mem::take(&mut logical);
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if defining {
            defining = first != "endef";
            continue;
        }
        if first == "define" {
            defining = true;
            values.insert(words.next().unwrap_or_default().to_owned(), None);
            continue;
        }
        if line.starts_with('\t') {
            continue;
        }
        if let Some(assignment) = Assignment::of(&line) {
            let plain = !matches!(assignment.operator, "+=" | "!=")
                && !assignment.value.contains("$(shell ");
            let value = plain.then(|| assignment.value.to_owned());
            let same = values.get(assignment.name).is_none_or(|old| *old == value);
            values.insert(assignment.name.to_owned(), if same { value } else { None });
        } else if let Some((_, own)) = line.split_once(':')
            && let Some(assignment) = Assignment::of(own)
        {
            // A value for one target only.
            values.insert(assignment.name.to_owned(), None);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_become_commands() {
        let file = "OUT := build\nV ?= 1\nW = a\nW += b\nNOW := $(shell date +%s)\nall: $(OUT)/x ; echo go\n\t@rm -rf $(OUT)/tmp \\\n\t  more\n\n# note\n\t-echo $$HOME $@ $< $(W) $(patsubst a,b,$(W)) ${OUT}\n\tls $(shell git ls-files)\nHOST != hostname\nx y: CFLAGS = z\n\t$(MAKE) -C sub\n";
        let pieces = extract(file);
        let got: Vec<&str> = pieces.iter().map(|piece| piece.command.text()).collect();
        assert_eq!(
            got,
            [
                "date +%s",
                "echo go",
                "rm -rf build/tmp \\\n  more",
                "echo $HOME all build/x ${W} ${MAKE_VALUE} build",
                "ls $(git ls-files)",
                " hostname",
                "make -C sub",
            ]
        );
        let rm = &pieces.get(2).unwrap().command;
        let region = rm.between(7, 16);
        assert_eq!(file.get(region.start..region.end).unwrap(), "$(OUT)/tmp");
    }

    #[test]
    fn odd_files_do_no_harm() {
        let loops = "A = $(A)$(A)$(A)\nx:\n\techo $(A)\n";
        for file in
            ["", "\t\n", ":", "x:\n\t$", "x:\n\t$(", "a=\\", "x:\n\ta\\", loops, "é: é\n\té$é"]
        {
            let _ = extract(file);
        }
        assert!(extract("SHELL := pwsh\nx:\n\trm -rf /\n").is_empty());
    }
}
