//! sed: options, scripts, files (GNU sed 4.9 manual; POSIX.1-2024 XCU sed).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, Reading};
use crate::model::utility::Language;
use crate::model::value::{Field, Piece, Text, Unknown};
use crate::resolve::grammar::words::{
    Options, code_file, is_stream, known, on_path, on_text, program, script, settle,
};

const OPTIONS: Options = Options {
    short: "nbsruzEe:f:l:i::I::h",
    long: &[
        "expression=>e",
        "file=>f",
        "in-place==>i",
        "line-length=>l",
        "quiet>n",
        "silent>n",
        "debug",
        "sandbox",
        "follow-symlinks",
        "posix",
        "regexp-extended>E",
        "separate>s",
        "unbuffered>u",
        "null-data>z",
        "zero-terminated>z",
        "binary>b",
        "help>h",
        "version",
    ],
    permute: true,
};

/// Reads the words behind `sed`.
pub(super) fn read(words: &[Field], reading: &mut Reading, carried: &mut Vec<Carried>) {
    let sorted = OPTIONS.sort(words);
    let in_place = sorted.has("i") || sorted.has("I");
    let mut operands = sorted.operands.iter();
    let mut scripts: Vec<&Field> = sorted.values("e").collect();
    for file in sorted.values("f") {
        if file.exact().is_none_or(|name| !is_stream(name)) {
            reading.deeds.push(on_path(EffectKind::Read, file));
        }
        carried.push(code_file(Language::Sed, file.site));
    }
    if scripts.is_empty() && !sorted.has("f") {
        let Some(first) = operands.next() else { return };
        // The BSD spelling `-i '' SCRIPT` has the script in the second word.
        let bsd = in_place && first.exact() == Some("");
        scripts.push(if bsd { operands.next().unwrap_or(first) } else { first });
    }
    let kind = if in_place { EffectKind::Write } else { EffectKind::Read };
    for file in operands {
        if file.exact() != Some("-") {
            reading.deeds.push(on_path(kind, file));
        }
    }
    settle(reading, &sorted);
    reading.complete = true;

    let Some(site) = scripts.first().map(|field| field.site) else { return };
    let mut whole = Text::empty();
    for (index, part) in scripts.iter().enumerate() {
        if index > 0 {
            whole.push_str("\n");
        }
        whole.extend(&part.text);
    }
    let Some(text) = known(&whole) else {
        if !is_harmless_around_unknown(&whole) {
            carried.push(program(Language::Sed, whole, CodePlace::Option, site));
        }
        return;
    };
    let found = scan(&text);
    for path in &found.writes {
        if !is_stream(path) {
            reading.deeds.push(on_text(EffectKind::Write, Text::literal(path.as_str()), site));
        }
    }
    for path in &found.reads {
        if !is_stream(path) {
            reading.deeds.push(on_text(EffectKind::Read, Text::literal(path.as_str()), site));
        }
    }
    if found.runs_input || !found.understood {
        carried.push(program(Language::Sed, whole, CodePlace::Option, site));
    }
    for text in found.commands {
        carried.push(script(Text::literal(text), CodePlace::Option, site));
    }
}

/// Whether every unknown piece is a number and the script is harmless with one in its place. Any
/// other unknown text could end the command it stands in and begin one that runs something.
fn is_harmless_around_unknown(text: &Text) -> bool {
    let arithmetic = |piece: &Piece| match piece {
        Piece::Unknown(cause) => *cause == Unknown::Arithmetic,
        _ => true,
    };
    if !text.pieces().iter().all(arithmetic) {
        return false;
    }
    let found = scan(&text.fill("1"));
    found.understood
        && !found.runs_input
        && found.commands.is_empty()
        && found.writes.is_empty()
        && found.reads.is_empty()
}

/// What a script does beside editing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    commands: Vec<String>,
    writes: Vec<String>,
    reads: Vec<String>,
    /// Whether the pattern space is run as a command.
    runs_input: bool,
    /// Whether the whole script was understood.
    understood: bool,
}

struct Scanner<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
}

/// Bytes of a script that are read; a longer one is not understood.
const LONGEST: usize = 8 << 10;

/// Reads a whole script.
fn scan(script: &str) -> Found {
    let mut found = Found::default();
    let mut scanner = Scanner { rest: script.chars().peekable() };
    found.understood = script.len() <= LONGEST && scanner.script(&mut found).is_some();
    found
}

impl Scanner<'_> {
    fn script(&mut self, found: &mut Found) -> Option<()> {
        loop {
            self.skip(|c| c.is_ascii_whitespace() || c == ';');
            if self.rest.peek().is_none() {
                return Some(());
            }
            if self.address()? {
                self.blanks();
                if self.rest.next_if_eq(&',').is_some() {
                    self.blanks();
                    if !self.address()? {
                        return None;
                    }
                }
            }
            self.skip(|c| c == '!' || c == ' ' || c == '\t');
            self.command(found)?;
        }
    }

    fn skip(&mut self, what: impl Fn(char) -> bool) {
        while self.rest.next_if(|c| what(*c)).is_some() {}
    }

    fn blanks(&mut self) {
        self.skip(|c| c == ' ' || c == '\t');
    }

    fn digits(&mut self) {
        self.skip(|c| c.is_ascii_digit());
    }

    /// Reads one address; false where none stands here, `None` where it is not closed.
    fn address(&mut self) -> Option<bool> {
        match self.rest.peek() {
            Some('0'..='9') => {
                self.digits();
                self.blanks();
                if self.rest.next_if_eq(&'~').is_some() {
                    self.digits();
                }
                Some(true)
            }
            Some('$') => {
                self.rest.next();
                Some(true)
            }
            Some('+' | '~') => {
                self.rest.next();
                self.digits();
                Some(true)
            }
            Some('/') => {
                self.rest.next();
                self.delimited('/')?;
                self.skip(|c| c == 'I' || c == 'M');
                Some(true)
            }
            Some('\\') => {
                self.rest.next();
                let delimiter = self.rest.next()?;
                self.delimited(delimiter)?;
                self.skip(|c| c == 'I' || c == 'M');
                Some(true)
            }
            _ => Some(false),
        }
    }

    /// Reads a pattern up to the delimiter; a delimiter in a bracket expression does not close it.
    fn delimited(&mut self, delimiter: char) -> Option<String> {
        let mut out = String::new();
        while let Some(c) = self.rest.next() {
            match c {
                c if c == delimiter => return Some(out),
                '\\' => {
                    out.push(c);
                    out.push(self.rest.next()?);
                }
                '[' => {
                    out.push(c);
                    self.bracket(&mut out);
                }
                c => out.push(c),
            }
        }
        None
    }

    /// Reads the rest of a bracket expression where one is closed before the line ends.
    fn bracket(&mut self, out: &mut String) {
        if !self.rest.clone().take_while(|c| *c != '\n').any(|c| c == ']') {
            return;
        }
        let mut ahead = self.rest.clone();
        let mut text = String::new();
        if ahead.peek() == Some(&'^') {
            text.extend(ahead.next());
        }
        if ahead.peek() == Some(&']') {
            text.extend(ahead.next());
        }
        while let Some(c) = ahead.next() {
            text.push(c);
            match c {
                ']' => {
                    self.rest = ahead;
                    out.push_str(&text);
                    return;
                }
                '[' if matches!(ahead.peek(), Some(':' | '.' | '=')) => {
                    let kind = ahead.next().unwrap_or(':');
                    text.push(kind);
                    while let Some(inner) = ahead.next() {
                        text.push(inner);
                        if inner == kind && ahead.peek() == Some(&']') {
                            text.extend(ahead.next());
                            break;
                        }
                    }
                }
                '\n' => break,
                _ => {}
            }
        }
    }

    /// Reads a replacement or a list of `y` up to the delimiter.
    fn replacement(&mut self, delimiter: char) -> Option<String> {
        let mut out = String::new();
        while let Some(c) = self.rest.next() {
            match c {
                c if c == delimiter => return Some(out),
                '\\' => {
                    let next = self.rest.next()?;
                    if next != delimiter {
                        out.push(c);
                    }
                    out.push(next);
                }
                c => out.push(c),
            }
        }
        None
    }

    fn line(&mut self) -> String {
        self.blanks();
        let mut out = String::new();
        while let Some(c) = self.rest.next_if(|c| *c != '\n') {
            out.push(c);
        }
        out
    }

    /// Text of `a`, `i`, `c`: up to a line end that no backslash precedes.
    fn text(&mut self) {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => {
                    self.rest.next();
                }
                '\n' => return,
                _ => {}
            }
        }
    }

    /// What may stand behind a command without an argument.
    fn end(&mut self) -> Option<()> {
        self.blanks();
        match self.rest.peek() {
            None | Some('}' | '#') => Some(()),
            Some(';' | '\n' | '\r') => {
                self.rest.next();
                Some(())
            }
            Some(_) => None,
        }
    }

    fn command(&mut self, found: &mut Found) -> Option<()> {
        match self.rest.next()? {
            '{' => Some(()),
            '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z'
            | 'F' => self.end(),
            '#' => {
                self.line();
                Some(())
            }
            'a' | 'i' | 'c' => {
                self.text();
                Some(())
            }
            ':' | 'b' | 't' | 'T' | 'v' => {
                self.blanks();
                self.skip(|c| !c.is_ascii_whitespace() && c != ';' && c != '}');
                self.end()
            }
            'q' | 'Q' | 'l' | 'L' => {
                self.blanks();
                self.digits();
                self.end()
            }
            'r' | 'R' => {
                found.reads.push(self.line());
                Some(())
            }
            'w' | 'W' => {
                found.writes.push(self.line());
                Some(())
            }
            'e' => {
                let text = self.line();
                if text.trim().is_empty() {
                    found.runs_input = true;
                } else {
                    found.commands.push(text);
                }
                Some(())
            }
            'y' => {
                let delimiter = self.rest.next()?;
                self.replacement(delimiter)?;
                self.replacement(delimiter)?;
                self.end()
            }
            's' => self.substitution(found),
            _ => None,
        }
    }

    fn substitution(&mut self, found: &mut Found) -> Option<()> {
        let delimiter = self.rest.next().filter(|c| *c != '\n' && *c != '\\')?;
        self.delimited(delimiter)?;
        let replacement = self.replacement(delimiter)?;
        loop {
            match self.rest.peek().copied() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                    self.rest.next();
                }
                Some('e') => {
                    self.rest.next();
                    found.runs_input = true;
                    // The replacement is all of the command where the pattern matches all of a line.
                    if !replacement.contains(['&', '\\']) {
                        found.commands.push(replacement.clone());
                    }
                }
                Some('w') => {
                    self.rest.next();
                    found.writes.push(self.line());
                    return Some(());
                }
                _ => return self.end(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::scan;

    #[test]
    fn scripts_are_read_as_sed_reads_them() {
        for script in [
            "s/we/me/g",
            "1,5p",
            "$!d",
            "/a/,/b/{s/x/y/;p}",
            "s|a|w x|",
            ":a;N;$!ba;s/\\n/ /g",
            "s/[/]w/x/",
            "y/abc/xyz/",
            "1~2d;0,/x/I{=;b};q5",
            "a\\\ntext e rm\nd",
            "\\,x,d",
            "/x/!s/a/b/2pg",
        ] {
            let found = scan(script);
            assert!(found.understood && !found.runs_input, "{script}: {found:?}");
            assert!(found.commands.is_empty() && found.writes.is_empty(), "{script}: {found:?}");
        }
        assert_eq!(scan("1e id").commands, ["id"]);
        assert!(scan("e").runs_input);
        assert!(scan("s/x/id/ge").runs_input);
        assert_eq!(scan("/x/w out.txt\np").writes, ["out.txt"]);
        assert_eq!(scan("s/a/b/w out.txt").writes, ["out.txt"]);
        assert_eq!(scan("$r /etc/passwd").reads, ["/etc/passwd"]);
        assert!(!scan("k").understood);
        assert!(!scan("s/a/b").understood);
    }
}
