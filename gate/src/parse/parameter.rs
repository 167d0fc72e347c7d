//! Parameter expansions (POSIX.1-2024 XCU 2.6.2; Bash manual 3.5.3).

use crate::model::script::{GapCause, Operation, Parameter, Part, Replace, Subscript, Word};
use crate::model::value::Str;

use super::reader::{Quoted, Reader, Stop};
use super::word::{continues_name, starts_name, unread};

/// What surrounds an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// Nothing: a word outside quotes.
    Plain,
    /// Double quotes.
    String,
    /// A here-document.
    Text,
    /// Arithmetic.
    Expression,
}

/// The special parameters of one character.
const fn is_special(byte: u8) -> bool {
    matches!(byte, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
}

impl Reader<'_> {
    /// Reads `$name`, `$1` or `$?` at `$`; `None` where the `$` stands for itself.
    pub(super) fn bare_parameter(&mut self, start: usize) -> Option<Part> {
        let next = self.nth(1)?;
        let name = if starts_name(next) {
            self.eat("$");
            self.name()?
        } else if next.is_ascii_digit() || is_special(next) {
            self.eat("$");
            self.peek();
            self.pos += 1;
            Str::from(char::from(next))
        } else {
            return None;
        };
        let operation = Operation::Value;
        let parameter = Parameter { name, subscript: None, indirect: false, operation };
        Some(Part::Parameter(Box::new(parameter), self.span(start)))
    }

    /// Reads the rest of `${...}`.
    pub(super) fn braced(&mut self, start: usize, context: Context) -> Part {
        if !self.descend_bracket(start, b'{', b'}') {
            return unread(self, start);
        }
        let part = if let Some(b' ' | b'\t' | b'\n' | b'|') = self.peek() {
            self.brace_substitution(start)
        } else {
            let parameter = self.parameter(start, context);
            if !self.eat("}") {
                self.open_quote("${", start);
            }
            Part::Parameter(Box::new(parameter), self.span(start))
        };
        self.ascend();
        part
    }

    fn parameter(&mut self, start: usize, context: Context) -> Parameter {
        let length = self.peek() == Some(b'#') && self.names_behind_hash();
        let indirect = self.peek() == Some(b'!') && self.names_behind_mark();
        if length || indirect {
            self.pos += 1;
        }
        let Some(name) = self.parameter_name() else {
            return self.bad(start, String::new().into(), context);
        };
        let subscript = self.subscript(&name);
        let mut parameter = Parameter { name, subscript, indirect, operation: Operation::Value };
        if length {
            if self.peek() != Some(b'}') {
                return self.bad(start, parameter.name, context);
            }
            parameter.operation = Operation::Length;
            return parameter;
        }
        if indirect && self.peek() == Some(b'}') {
            let at = parameter.subscript == Some(Subscript::At);
            if at || parameter.subscript == Some(Subscript::Star) {
                let operation = Operation::Keys { at };
                return Parameter { subscript: None, indirect: false, operation, ..parameter };
            }
        }
        if indirect && parameter.subscript.is_none() {
            let at = self.looking_at("@}").is_some();
            if at || self.looking_at("*}").is_some() {
                self.pos += 1;
                let operation = Operation::Names { at };
                return Parameter { indirect: false, operation, ..parameter };
            }
        }
        match self.operation(context) {
            Some(operation) => parameter.operation = operation,
            None => return self.bad(start, parameter.name, context),
        }
        if !matches!(self.peek(), Some(b'}') | None) {
            return self.bad(start, parameter.name, context);
        }
        parameter
    }

    /// Whether the `#` of `${#` asks for a length; otherwise it is the parameter `#`.
    fn names_behind_hash(&self) -> bool {
        match self.nth(1) {
            Some(byte) if continues_name(byte) => true,
            Some(byte) if is_special(byte) => matches!(self.nth(2), Some(b'}' | b'[')),
            _ => false,
        }
    }

    /// Whether the `!` of `${!` asks for the parameter that is named; otherwise it is `$!`.
    fn names_behind_mark(&self) -> bool {
        match self.nth(1) {
            Some(byte) if continues_name(byte) => true,
            Some(b'#' | b'?' | b'@' | b'*') => self.nth(2) == Some(b'}'),
            _ => false,
        }
    }

    fn parameter_name(&mut self) -> Option<Str> {
        let first = self.peek()?;
        if starts_name(first) {
            return self.name();
        }
        if first.is_ascii_digit() {
            let mut digits = Str::new();
            while let Some(byte) = self.peek()
                && byte.is_ascii_digit()
            {
                digits.push(char::from(byte));
                self.pos += 1;
            }
            return Some(digits);
        }
        if is_special(first) {
            self.pos += 1;
            return Some(Str::from(char::from(first)));
        }
        None
    }

    fn subscript(&mut self, name: &str) -> Option<Subscript> {
        let named = name.bytes().next().is_some_and(starts_name);
        if !named || self.peek() != Some(b'[') {
            return None;
        }
        if self.eat("[@]") {
            return Some(Subscript::At);
        }
        if self.eat("[*]") {
            return Some(Subscript::Star);
        }
        let open = self.pos;
        self.pos += 1;
        let word = self.unquoted(Stop::Index);
        if !self.eat("]") {
            self.open_quote("[", open);
        }
        Some(Subscript::Index(word))
    }

    /// Reads an operator and its words, up to `}`; `None`, and nothing is read, where none comes.
    fn operation(&mut self, context: Context) -> Option<Operation> {
        let Some(byte) = self.peek() else { return Some(Operation::Value) };
        if byte == b'}' {
            return Some(Operation::Value);
        }
        let colon = byte == b':';
        let letter = if colon { self.nth(1) } else { Some(byte) };
        if let Some(letter @ (b'-' | b'=' | b'?' | b'+')) = letter {
            self.eat(if colon { ":" } else { "" });
            self.peek();
            self.pos += 1;
            let word = self.operand(context);
            return Some(match letter {
                b'-' => Operation::Default { colon, word },
                b'=' => Operation::Assign { colon, word },
                b'?' => Operation::Error { colon, word },
                _ => Operation::Alternative { colon, word },
            });
        }
        let doubled = self.nth(1) == Some(byte);
        match byte {
            b':' => {
                self.pos += 1;
                let offset = self.quoted(Quoted::Offset);
                let length = self.eat(":").then(|| self.quoted(Quoted::Offset));
                Some(Operation::Substring { offset, length })
            }
            b'#' | b'%' => {
                self.operator(doubled);
                let pattern = self.unquoted(Stop::Brace);
                Some(if byte == b'#' {
                    Operation::RemovePrefix { longest: doubled, pattern }
                } else {
                    Operation::RemoveSuffix { longest: doubled, pattern }
                })
            }
            b'/' => {
                self.pos += 1;
                let which = match self.peek() {
                    Some(b'/') => Replace::All,
                    Some(b'#') => Replace::Prefix,
                    Some(b'%') => Replace::Suffix,
                    _ => Replace::First,
                };
                if which != Replace::First {
                    self.pos += 1;
                }
                let pattern = self.replaced(which);
                let replacement =
                    if self.eat("/") { self.unquoted(Stop::Brace) } else { self.empty_word() };
                Some(Operation::Replace { which, pattern, replacement })
            }
            b'^' | b',' | b'~' => {
                self.operator(doubled);
                let pattern = self.unquoted(Stop::Brace);
                Some(Operation::Case { operator: char::from(byte), all: doubled, pattern })
            }
            b'@' => {
                let letter = self.nth(1).filter(u8::is_ascii_alphabetic)?;
                if self.nth(2) != Some(b'}') {
                    return None;
                }
                self.operator(true);
                Some(Operation::Transform(char::from(letter)))
            }
            _ => None,
        }
    }

    /// The pattern of a replacement: a slash right behind `//` belongs to it.
    fn replaced(&mut self, which: Replace) -> Word {
        if which != Replace::All || self.peek() != Some(b'/') {
            return self.unquoted(Stop::Slash);
        }
        let start = self.pos;
        self.pos += 1;
        let slash = self.span(start);
        let mut word = self.unquoted(Stop::Slash);
        word.span = self.span(start);
        match word.parts.first_mut() {
            Some(Part::Literal(text, span)) => {
                *text = Str::from(format!("/{text}"));
                *span = slash.to(*span);
            }
            _ => word.parts.insert(0, Part::Literal("/".into(), slash)),
        }
        word
    }

    /// Steps over an operator of one or two bytes.
    fn operator(&mut self, two: bool) {
        self.pos += 1;
        if two {
            self.peek();
            self.pos += 1;
        }
    }

    /// The word of `-`, `=`, `?` and `+`: quotes in it work as the surroundings have it.
    fn operand(&mut self, context: Context) -> Word {
        match context {
            Context::Plain => self.unquoted(Stop::Brace),
            Context::String | Context::Text | Context::Expression => self.quoted(Quoted::Brace),
        }
    }

    /// An expansion that bash gives up on when it runs. What is left of it is kept as a word, so that
    /// the commands in it are seen.
    fn bad(&mut self, start: usize, name: Str, context: Context) -> Parameter {
        let from = self.pos;
        let word = self.operand(context);
        if !self.failed() {
            let cause = if self.byte(from) == Some(b'(') {
                GapCause::OtherShell("flags of an expansion")
            } else {
                GapCause::Syntax("expected a parameter expansion".into())
            };
            let end = self.pos.max(start + 2);
            self.gap(cause, start, end);
        }
        let operation = Operation::Default { colon: false, word };
        Parameter { name, subscript: None, indirect: false, operation }
    }
}
