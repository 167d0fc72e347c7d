//! awk: options, programs, files (POSIX.1-2024 XCU awk; GAWK manual 5.3).
//!
//! A program is cut into tokens; what it runs or opens shows in a few token sequences, whatever the
//! rest means. Values of variables with one constant assignment are followed.

use std::collections::BTreeMap;

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::span::Site;
use crate::model::trace::{Carried, DeedObject, Reading};
use crate::model::utility::{CarryScope, Language};
use crate::model::value::{Field, Piece, Text, Unknown};
use crate::resolve::grammar::words::{
    Options, code_file, command, deed, is_stream, known, on_path, on_text, program, script, settle,
    split,
};

const OPTIONS: Options = Options {
    short: "F:v:f:i:l:e:E:W::bcCghIkLMnNOPrsStVd::D::o::p::",
    long: &[
        "field-separator=>F",
        "assign=>v",
        "file=>f",
        "include=>i",
        "load=>l",
        "source=>e",
        "exec=>E",
        "characters-as-bytes>b",
        "traditional>c",
        "copyright>C",
        "csv>k",
        "debug==>D",
        "dump-variables==>d",
        "gen-pot>g",
        "help>h",
        "lint==>L",
        "bignum>M",
        "use-lc-numeric>N",
        "non-decimal-data>n",
        "optimize>O",
        "no-optimize>s",
        "posix>P",
        "pretty-print==>o",
        "profile==>p",
        "re-interval>r",
        "sandbox>S",
        "lint-old>t",
        "trace>I",
        "version>V",
    ],
    permute: false,
};

/// Reads the words behind `awk`.
pub(super) fn read(words: &[Field], reading: &mut Reading, carried: &mut Vec<Carried>) {
    let sorted = OPTIONS.sort(words);
    let mut variables = Variables::default();
    for assignment in sorted.values("v") {
        match split(&assignment.text, '=') {
            Some((name, value)) => variables.set(&name, known(&value)),
            None => variables.all_unknown = true,
        }
    }
    let mut programs: Vec<Field> = sorted.values("e").cloned().collect();
    let mut in_place = false;
    for option in &sorted.options {
        let value = option.value.as_ref();
        match option.name.as_str() {
            "f" | "E" | "l" => {
                if let Some(file) = value {
                    if file.exact().is_none_or(|name| !is_stream(name)) {
                        reading.deeds.push(on_path(EffectKind::Read, file));
                    }
                    carried.push(code_file(Language::Awk, option.site));
                }
            }
            "i" => match value.and_then(Field::exact) {
                Some("inplace" | "inplace.awk") => in_place = true,
                _ => carried.push(code_file(Language::Awk, option.site)),
            },
            "D" | "W" => carried.push(code_file(Language::Awk, option.site)),
            "d" | "o" | "p" => {
                let default = if option.name == "d" { "awkvars.out" } else { "awkprof.out" };
                let path = value.map_or_else(|| Text::literal(default), |file| file.text.clone());
                reading.deeds.push(on_text(EffectKind::Write, path, option.site));
            }
            _ => {}
        }
    }
    let mut operands = sorted.operands.iter();
    let has_file = sorted.has("f") || sorted.has("E");
    if programs.is_empty() && !has_file {
        match operands.next() {
            Some(first) => programs.push(first.clone()),
            None => return,
        }
    }
    let kind = if in_place { EffectKind::Write } else { EffectKind::Read };
    for file in operands {
        let is_assignment =
            split(&file.text, '=').is_some_and(|(name, _)| is_name(&name) && !name.is_empty());
        if !is_assignment && file.exact() != Some("-") {
            reading.deeds.push(on_path(kind, file));
        }
    }
    settle(reading, &sorted);
    reading.complete = true;
    for text in &programs {
        let Some(exact) = known(&text.text) else {
            carried.push(program(Language::Awk, text.text.clone(), CodePlace::Option, text.site));
            continue;
        };
        let Some(tokens) = tokens(&exact) else {
            carried.push(program(Language::Awk, text.text.clone(), CodePlace::Option, text.site));
            continue;
        };
        variables.learn(&tokens);
        let found = scan(&tokens, &variables);
        if found.runs {
            carried.push(program(Language::Awk, text.text.clone(), CodePlace::Option, text.site));
        }
        for text_of_command in found.commands {
            if !text_of_command.prefix().is_empty() {
                carried.push(script(text_of_command, CodePlace::Operand, text.site));
            }
        }
        for (lines, reader) in found.fed {
            carried.push(fed(&lines, &reader, text.site));
        }
        for (kind, path) in found.files {
            push_file(kind, path, text.site, reading);
        }
    }
}

/// Adds what a file name inside a program means; gawk's own network names are connections.
fn push_file(kind: EffectKind, path: Text, site: Site, reading: &mut Reading) {
    if path.exact().is_some_and(is_stream) {
        return;
    }
    if path.prefix().starts_with("/inet") {
        let host = path.prefix().split('/').nth(4).unwrap_or_default();
        let host = DeedObject::Host(Text::literal(host));
        reading.deeds.push(deed(EffectKind::Connect, host.clone(), site));
        reading.deeds.push(deed(EffectKind::Send, host.clone(), site));
        reading.deeds.push(deed(EffectKind::Receive, host, site));
    } else {
        reading.deeds.push(on_text(kind, path, site));
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Text(String),
    Regex,
    Number,
    Name(String),
    Sign(&'static str),
    Line,
}

const SIGNS: &[&str] = &[
    ">>", "|&", "||", "&&", "==", "!=", "<=", ">=", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=",
    "**", "!~", "::", ">", "|", "<", "=", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*",
    "/", "%", "^", "!", "~", "$", "?", ":", "@", "&", "\\", ".", "'", "`",
];

/// The most tokens that are looked at; a longer program is not understood.
const TOKENS: usize = 8_000;

/// Cuts a program into tokens; `None` where a string or expression is not closed.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut out: Vec<Token> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if out.len() >= TOKENS {
            return None;
        }
        let behind = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\n' => {
                out.push(Token::Line);
                rest = behind;
            }
            '\\' if behind.starts_with('\n') => rest = behind.get(1..).unwrap_or_default(),
            c if c.is_ascii_whitespace() => rest = behind,
            '#' => rest = behind.find('\n').and_then(|at| behind.get(at..)).unwrap_or_default(),
            '"' => {
                let (string, used) = string(behind)?;
                out.push(Token::Text(string));
                rest = behind.get(used..).unwrap_or_default();
            }
            '/' if begins_regex(out.last()) => {
                rest = behind.get(regex(behind)?..).unwrap_or_default();
                out.push(Token::Regex);
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
                out.push(Token::Name(name.to_owned()));
                rest = after;
            }
            c if c.is_ascii_digit()
                || (c == '.' && behind.starts_with(|c: char| c.is_ascii_digit())) =>
            {
                let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
                out.push(Token::Number);
                rest = end.and_then(|at| behind.get(at..)).unwrap_or_default();
            }
            c => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => {
                    out.push(Token::Sign(sign));
                    rest = rest.get(sign.len()..).unwrap_or_default();
                }
                None if c.is_ascii() => return None,
                None => rest = behind,
            },
        }
    }
    Some(out)
}

fn begins_regex(before: Option<&Token>) -> bool {
    match before {
        Some(Token::Text(_) | Token::Regex | Token::Number) => false,
        Some(Token::Name(name)) => is_keyword(name),
        Some(Token::Sign(sign)) => !matches!(*sign, ")" | "]" | "$" | "++" | "--"),
        Some(Token::Line) | None => true,
    }
}

fn is_keyword(name: &str) -> bool {
    matches!(
        name,
        "print"
            | "printf"
            | "return"
            | "in"
            | "if"
            | "while"
            | "for"
            | "do"
            | "else"
            | "case"
            | "getline"
    )
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A string behind its opening quote: its value and the bytes used, the closing quote included.
fn string(text: &str) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, at + 1)),
            '\n' => return None,
            '\\' => {
                let (_, escaped) = chars.next()?;
                match escaped {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    'a' => out.push('\u{7}'),
                    'b' => out.push('\u{8}'),
                    'f' => out.push('\u{c}'),
                    'v' => out.push('\u{b}'),
                    '\n' => {}
                    '0'..='7' => {
                        let mut value = escaped.to_digit(8)?;
                        for _ in 0..2 {
                            let Some((_, digit)) = chars.next_if(|(_, c)| c.is_digit(8)) else {
                                break;
                            };
                            value = value * 8 + digit.to_digit(8)?;
                        }
                        out.push(char::from_u32(value & 0xff)?);
                    }
                    'x' => {
                        let mut value = 0;
                        for _ in 0..2 {
                            let Some((_, digit)) = chars.next_if(|(_, c)| c.is_ascii_hexdigit())
                            else {
                                break;
                            };
                            value = value * 16 + digit.to_digit(16)?;
                        }
                        out.push(char::from_u32(value)?);
                    }
                    '"' | '\\' | '/' => out.push(escaped),
                    // Not defined; mawk and the one true awk keep the backslash, gawk drops it. To a shell
                    // that reads the text it is the same outside of quotes.
                    other => out.extend(['\\', other]),
                }
            }
            c => out.push(c),
        }
    }
    None
}

/// Bytes of a regular expression behind its opening slash, the closing one included.
fn regex(text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    let mut in_set = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '/' if !in_set => return Some(at + 1),
            '\n' => return None,
            '\\' => {
                chars.next()?;
            }
            '[' if !in_set => {
                in_set = text.get(at + 1..).is_some_and(|rest| {
                    rest.split('\n').next().is_some_and(|line| line.contains(']'))
                });
            }
            ']' => in_set = false,
            _ => {}
        }
    }
    None
}

/// What is known about variables: the value where there is one constant assignment only.
#[derive(Debug, Default)]
struct Variables {
    values: BTreeMap<String, Option<String>>,
    all_unknown: bool,
}

impl Variables {
    fn set(&mut self, name: &str, value: Option<String>) {
        match self.values.get(name) {
            Some(old) if *old != value => {
                self.values.insert(name.to_owned(), None);
            }
            _ => {
                self.values.insert(name.to_owned(), value);
            }
        }
    }

    fn learn(&mut self, tokens: &[Token]) {
        for window in tokens.windows(4) {
            if let [
                Token::Name(name),
                Token::Sign("="),
                Token::Text(text),
                Token::Sign(";" | "}" | ")") | Token::Line,
            ] = window
            {
                self.set(name, Some(text.clone()));
            } else if let [Token::Name(name), Token::Sign("=" | "+=" | "-=" | "++" | "--"), ..] =
                window
            {
                self.set(name, None);
            } else if let [Token::Name(word), Token::Name(name), ..] = window
                && (word == "getline" || word == "function" || word == "func")
            {
                self.set(name, None);
            }
        }
    }

    /// What `print` or `printf` writes: constants, and fields of the input between them.
    fn lines(&self, tokens: &[Token]) -> Text {
        let input = || Text::unknown(Unknown::Input);
        let known = self.value(tokens);
        let told = known.exact().is_some_and(|text| !text.is_empty() && !text.contains('%'));
        if told {
            return known;
        }
        let mut out = Text::empty();
        for token in tokens {
            match token {
                Token::Text(text) => {
                    for (at, part) in text.split('%').enumerate() {
                        if at > 0 {
                            out.extend(&input());
                        }
                        let part = if at > 0 {
                            part.trim_start_matches(|c: char| {
                                c.is_ascii_digit() || "-+ #.*".contains(c)
                            })
                        } else {
                            part
                        };
                        let skip =
                            if at > 0 { part.chars().next().map_or(0, char::len_utf8) } else { 0 };
                        out.push_str(part.get(skip..).unwrap_or_default());
                    }
                }
                Token::Sign(",") => out.push_str(" "),
                Token::Sign("(" | ")") | Token::Line => {}
                _ => out.extend(&input()),
            }
        }
        if tokens.is_empty() { input() } else { out }
    }

    /// The value of a concatenation.
    fn value(&self, tokens: &[Token]) -> Text {
        let tokens = match tokens {
            [Token::Sign("("), inner @ .., Token::Sign(")")] if is_balanced(inner) => inner,
            other => other,
        };
        let mut out = Text::empty();
        for token in tokens {
            match token {
                Token::Text(text) => out.push_str(text),
                Token::Name(name) if !self.all_unknown => match self.values.get(name) {
                    Some(Some(value)) => out.push_str(value),
                    _ => out.extend(&unknown()),
                },
                Token::Sign("(" | ")") | Token::Line => {}
                _ => out.extend(&unknown()),
            }
        }
        out
    }
}

fn unknown() -> Text {
    Text::unknown(Unknown::NotModelled("an awk expression"))
}

fn is_balanced(tokens: &[Token]) -> bool {
    let mut depth = 0usize;
    for token in tokens {
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    depth == 0
}

/// A command with what is printed into it on its standard input.
fn fed(lines: &Text, reader: &Text, site: Site) -> Carried {
    let mut line = Text::literal("printf '%s\\n' '");
    for piece in lines.pieces() {
        match piece {
            Piece::Literal(literal) => line.push_str(&literal.as_str().replace('\'', "'\\''")),
            other => line.push(other.clone()),
        }
    }
    line.push_str("' | ");
    line.extend(reader);
    let word = |text| Field { text, site, quoted: true, ..Field::default() };
    let words = vec![word(Text::literal("sh")), word(Text::literal("-c")), word(line)];
    command(words, CarryScope::Local)
}

/// What a program runs and opens.
#[derive(Debug, Default)]
struct Found {
    runs: bool,
    commands: Vec<Text>,
    /// What is printed, and the command it is printed into.
    fed: Vec<(Text, Text)>,
    files: Vec<(EffectKind, Text)>,
}

fn scan(tokens: &[Token], variables: &Variables) -> Found {
    let mut found = Found::default();
    let mut depth = 0usize;
    // The depth of brackets at which a print statement stands, while one is open; what follows it.
    let mut print: Option<usize> = None;
    let mut printed = 0;
    for (at, token) in tokens.iter().enumerate() {
        let behind = tokens.get(at + 1..).unwrap_or_default();
        match token {
            Token::Sign("(" | "[") => depth += 1,
            Token::Sign(")" | "]") => depth = depth.saturating_sub(1),
            Token::Sign(";" | "{" | "}") | Token::Line => print = None,
            Token::Name(name) if name == "print" || name == "printf" => {
                print = Some(depth);
                printed = at + 1;
            }
            Token::Name(name) if name == "system" && behind.first() == Some(&Token::Sign("(")) => {
                found.runs = true;
                found.commands.push(variables.value(group(behind)));
            }
            Token::Name(name) if name == "getline" => {
                if let Some(target) = getline_source(behind) {
                    found.files.push((EffectKind::Read, variables.value(target)));
                }
            }
            Token::Name(name) if name == "ARGV" => {
                if let [Token::Sign("["), rest @ ..] = behind
                    && let Some(close) = rest.iter().position(|t| *t == Token::Sign("]"))
                    && let Some([Token::Sign("="), value @ ..]) = rest.get(close + 1..)
                {
                    found.files.push((EffectKind::Read, variables.value(until_end(value, true))));
                }
            }
            Token::Sign("@") => match behind.first() {
                Some(Token::Regex) => {}
                _ => found.runs = true,
            },
            Token::Sign(sign @ (">" | ">>")) if print == Some(depth) => {
                let kind = if *sign == ">" { EffectKind::Write } else { EffectKind::Append };
                let path = match until_end(behind, false) {
                    // The file is called by the number.
                    [Token::Number] => Text::unknown(Unknown::Plain),
                    path => variables.value(path),
                };
                found.files.push((kind, path));
                print = None;
            }
            Token::Sign("|" | "|&") => {
                found.runs = true;
                let is_read =
                    matches!(behind.first(), Some(Token::Name(name)) if name == "getline");
                let command = if is_read {
                    before(tokens.get(..at).unwrap_or_default())
                } else {
                    until_end(behind, false)
                };
                let command = variables.value(command);
                if !is_read && print == Some(depth) && !command.prefix().is_empty() {
                    let lines = tokens.get(printed..at).unwrap_or_default();
                    found.fed.push((variables.lines(lines), command.clone()));
                }
                found.commands.push(command);
            }
            _ => {}
        }
    }
    found
}

/// The tokens of the group that opens at the start, its brackets left out.
fn group(tokens: &[Token]) -> &[Token] {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return tokens.get(1..at).unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    tokens.get(1..).unwrap_or_default()
}

/// The file of `getline [variable] < file`.
fn getline_source(tokens: &[Token]) -> Option<&[Token]> {
    let at = tokens.iter().take(8).position(|token| *token == Token::Sign("<"))?;
    let variable = tokens.get(..at)?;
    let is_variable = variable.iter().all(|token| {
        matches!(
            token,
            Token::Name(_) | Token::Number | Token::Text(_) | Token::Sign("[" | "]" | "$" | ",")
        )
    });
    if !is_variable {
        return None;
    }
    let rest = tokens.get(at + 1..)?;
    match rest.first()? {
        Token::Sign("(") => Some(group(rest)),
        Token::Sign("$") => rest.get(..2),
        Token::Name(_) if rest.get(1) == Some(&Token::Sign("[")) => rest.get(..3),
        _ => rest.get(..1),
    }
}

/// The tokens up to the end of the statement or of the group around it.
fn until_end(tokens: &[Token], at_comma: bool) -> &[Token] {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign("(" | "[") => depth += 1,
            Token::Sign(")" | "]") => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return tokens.get(..at).unwrap_or_default(),
            },
            Token::Sign(";" | "}") | Token::Line if depth == 0 => {
                return tokens.get(..at).unwrap_or_default();
            }
            Token::Sign(",") if depth == 0 && at_comma => {
                return tokens.get(..at).unwrap_or_default();
            }
            _ => {}
        }
    }
    tokens
}

/// The tokens of the expression that ends here, back to an operator that binds less than a pipe.
fn before(tokens: &[Token]) -> &[Token] {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().rev() {
        let ends = match token {
            Token::Sign(")" | "]") => {
                depth += 1;
                false
            }
            Token::Sign("(" | "[") => match depth.checked_sub(1) {
                Some(less) => {
                    depth = less;
                    false
                }
                None => true,
            },
            Token::Sign("{" | "}" | ";" | "," | "&&" | "||" | "=" | "!" | "?" | ":")
            | Token::Line => depth == 0,
            Token::Name(name) => depth == 0 && is_keyword(name),
            _ => false,
        };
        if ends {
            return tokens.get(at + 1..).unwrap_or_default();
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::{Variables, scan, tokens};
    use crate::model::fact::EffectKind;
    use crate::model::value::Text;

    fn found(program: &str) -> super::Found {
        let tokens = tokens(program).unwrap();
        let mut variables = Variables::default();
        variables.learn(&tokens);
        scan(&tokens, &variables)
    }

    #[test]
    fn comparisons_and_texts_are_harmless() {
        for program in [
            "{print $1}",
            "$3 > 10 {n++} END {print n}",
            "{ if ($1 > 2 || $2 < 3) print }",
            "/\\/tmp\\//{print}",
            "{print ($1 > 2) ? \"a > b\" : \"c | d\"}",
            "BEGIN { while ((getline line) > 0) n++ }",
            "{ x = $1 / 2; y = $2 / 3; print x }",
            "!seen[$0]++",
            "/[/]x/ { print \"system(1)\" }",
        ] {
            let found = found(program);
            assert!(!found.runs && found.files.is_empty(), "{program}: {found:?}");
        }
    }

    #[test]
    fn what_is_run_and_opened_shows() {
        for (program, command) in [
            ("BEGIN{system(\"rm -rf /\")}", "rm -rf /"),
            ("{print | \"sh\"}", "sh"),
            ("BEGIN{\"id\" | getline x; print x}", "id"),
            ("BEGIN{while (((\"a \" \"b\") | getline l) > 0) n++}", "a b"),
            ("BEGIN{c = \"id\"; system(c)}", "id"),
            ("{print \"x\" |& \"cat\"}", "cat"),
            ("{printf(\"%s\", $1) | \"sort -u\"}", "sort -u"),
        ] {
            let found = found(program);
            assert!(found.runs, "{program}");
            assert_eq!(found.commands, [Text::literal(command)], "{program}");
        }
        assert!(found("@load \"x\"").runs);
        for (program, kind, path) in [
            ("{print > \"out.txt\"}", EffectKind::Write, "out.txt"),
            ("{print $1, $2 >> \"/etc/x\"}", EffectKind::Append, "/etc/x"),
            (
                "BEGIN{while((getline l < \"/etc/passwd\")>0) print l}",
                EffectKind::Read,
                "/etc/passwd",
            ),
            ("{print(1) > (\"a\" \"b\")}", EffectKind::Write, "ab"),
            ("BEGIN{ARGV[1] = \"/etc/x\"; ARGC = 2}", EffectKind::Read, "/etc/x"),
        ] {
            let found = found(program);
            assert!(!found.runs, "{program}: {found:?}");
            assert_eq!(found.files, [(kind, Text::literal(path))], "{program}");
        }
    }
}
