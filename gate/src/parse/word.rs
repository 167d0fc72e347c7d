//! Words: text up to a metacharacter, cut into its quoted, expanded and plain parts.

use crate::model::script::{
    self, ArrayElement, Assignment, AssignmentValue, GapCause, Part, ProcessSubstitution, Script,
    Substitution, SubstitutionForm, Word,
};
use crate::model::span::Span;
use crate::model::value::Str;

use super::ansi;
use super::parameter::Context;
use super::reader::{Place, Quoted, Reader, Stop, Until};

/// Failed attempts at arithmetic may read so many times the whole text; bash decides by the same
/// attempts, but a text that nests many of them is made to cost time.
const MOST_WASTE: usize = 8;

/// Bytes that end a word outside quotes.
pub(super) const fn is_metacharacter(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>')
}

/// Bytes that are ordinary wherever text is read.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b',')
}

pub(super) const fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(super) const fn continues_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Parts that are gathered, and the plain text behind the last one.
#[derive(Default)]
pub(super) struct Parts {
    done: script::Parts,
    text: Str,
    start: usize,
}

impl Parts {
    fn open(&mut self, at: usize) {
        if self.text.is_empty() {
            self.start = at;
        }
    }

    fn flush(&mut self, reader: &Reader<'_>) {
        if !self.text.is_empty() {
            let span = reader.span(self.start);
            self.done.push(Part::Literal(std::mem::take(&mut self.text), span));
        }
    }

    fn is_empty(&self) -> bool {
        self.done.is_empty() && self.text.is_empty()
    }
}

impl Reader<'_> {
    /// Reads a word up to a metacharacter; it has no parts where none comes next.
    pub(super) fn word(&mut self) -> Word {
        self.unquoted(Stop::Meta)
    }

    /// Reads text outside quotes up to its stop.
    pub(super) fn unquoted(&mut self, stop: Stop) -> Word {
        self.peek();
        let start = self.pos;
        let parts = self.unquoted_from(stop, Parts::default());
        let empty = self.place_of(start, start);
        // A continuation behind the last part is no part of the word.
        let span = parts.last().map_or(empty, |last| Span::new(empty.start, last.span().end));
        Word { parts, span }
    }

    /// Reads on in a word that has begun.
    pub(super) fn unquoted_from(&mut self, stop: Stop, mut out: Parts) -> script::Parts {
        // Parentheses of extended globs and regular expressions, brackets of a subscript.
        let mut open = 0usize;
        let group_start = self.pos;
        while let Some(byte) = self.peek() {
            let start = self.pos;
            if is_plain(byte) {
                self.plain_run(&mut out);
                continue;
            }
            let ends = match stop {
                Stop::Meta | Stop::Pattern => open == 0 && is_metacharacter(byte),
                Stop::Regex => open == 0 && is_metacharacter(byte) && !matches!(byte, b'(' | b'|'),
                Stop::Brace => byte == b'}',
                Stop::Slash => matches!(byte, b'}' | b'/'),
                Stop::Index => open == 0 && byte == b']',
                Stop::End => false,
            };
            let process = matches!(byte, b'<' | b'>') && self.nth(1) == Some(b'(');
            if ends && !process {
                break;
            }
            match byte {
                _ if process => {
                    out.flush(self);
                    let part = self.process_substitution(byte == b'>');
                    out.done.push(part);
                }
                b'\\' => {
                    out.flush(self);
                    self.pos += 1;
                    let text = self.next_char().map_or_else(|| "\\".to_owned(), String::from);
                    out.done.push(Part::Escaped(text.into(), self.span(start)));
                }
                b'\'' => {
                    out.flush(self);
                    self.pos += 1;
                    let text = self.single_quoted(start);
                    out.done.push(Part::SingleQuoted(text.into(), self.span(start)));
                }
                b'"' => {
                    out.flush(self);
                    self.pos += 1;
                    let parts = self.double_quoted(start);
                    out.done.push(Part::DoubleQuoted(parts, self.span(start)));
                }
                b'`' | b'$' => self.expansion(byte, Context::Plain, &mut out),
                b'=' if out.is_empty() && stop == Stop::Meta && self.nth(1) == Some(b'(') => {
                    self.pos += 1;
                    self.gap(GapCause::OtherShell("=(...)"), start, self.pos);
                    let part = self.process_substitution_inside(start, false);
                    out.done.push(part);
                }
                b'?' | b'*' | b'+' | b'@' | b'!' if self.opens_group(stop, byte) => {
                    out.open(start);
                    self.pos += 1;
                    out.text.push(char::from(byte));
                    self.peek();
                    self.pos += 1;
                    out.text.push('(');
                    open += 1;
                }
                b'(' if matches!(stop, Stop::Regex | Stop::Meta | Stop::Pattern) => {
                    open += 1;
                    self.push_next(&mut out);
                }
                b')' if matches!(stop, Stop::Regex | Stop::Meta | Stop::Pattern) => {
                    open = open.saturating_sub(1);
                    self.push_next(&mut out);
                }
                b'[' if stop == Stop::Index => {
                    open += 1;
                    self.push_next(&mut out);
                }
                b']' if stop == Stop::Index => {
                    open = open.saturating_sub(1);
                    self.push_next(&mut out);
                }
                _ => self.push_next(&mut out),
            }
        }
        if open > 0 && stop != Stop::Index && !self.failed() {
            self.open_quote("(", group_start);
        }
        out.flush(self);
        self.settle_small(&mut out.done);
        out.done
    }

    /// Whether a glob character and the parenthesis behind it open a group. Without the option the
    /// shell rejects it, unless it is the name of a function; reading goes on as if it were set.
    fn opens_group(&mut self, stop: Stop, byte: u8) -> bool {
        if self.nth(1) != Some(b'(') {
            return false;
        }
        match stop {
            Stop::Pattern => true,
            Stop::Meta if self.extglob => true,
            Stop::Meta => {
                if self.nth(2) == Some(b')') {
                    return false;
                }
                let cause = match byte {
                    b'*' | b'?' => GapCause::OtherShell("glob qualifiers"),
                    _ => GapCause::Syntax("expected no parenthesis in a word".into()),
                };
                self.gap(cause, self.pos, self.pos + 2);
                true
            }
            Stop::Regex | Stop::Brace | Stop::Slash | Stop::Index | Stop::End => false,
        }
    }

    /// Puts a run of ordinary bytes.
    fn plain_run(&mut self, out: &mut Parts) {
        let rest = self.text.as_bytes().get(self.pos..).unwrap_or_default();
        let length = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
        out.open(self.pos);
        out.text.push_str(self.slice(self.pos, self.pos + length));
        self.pos += length;
    }

    /// Puts the next character as plain text.
    fn push_next(&mut self, out: &mut Parts) {
        let start = self.pos;
        out.open(start);
        if let Some(c) = self.next_char() {
            self.check_odd(c, start);
            out.text.push(c);
        }
    }

    /// Reads text inside double quotes, or text that is read like it, up to its end.
    pub(super) fn quoted(&mut self, end: Quoted) -> Word {
        self.peek();
        let start = self.pos;
        let parts = self.quoted_parts(end);
        Word { parts, span: self.span(start) }
    }

    fn quoted_parts(&mut self, end: Quoted) -> script::Parts {
        let mut out = Parts::default();
        let mut open = 0usize;
        let mut questions = 0usize;
        let mut single = false;
        let context = match end {
            Quoted::String | Quoted::Brace => Context::String,
            Quoted::Text => Context::Text,
            _ => Context::Expression,
        };
        while let Some(byte) = self.peek() {
            let start = self.pos;
            if is_plain(byte) {
                self.plain_run(&mut out);
                continue;
            }
            match (end, byte) {
                // Single quotes hide brackets in arithmetic, though expansions work between them.
                (Quoted::Paren | Quoted::Clause | Quoted::Square, b'\'') => single = !single,
                _ if single => {}
                (Quoted::String, b'"') | (Quoted::Brace, b'}') => break,
                (Quoted::Paren | Quoted::Clause, b')') | (Quoted::Square, b']') if open == 0 => {
                    break;
                }
                (Quoted::Clause, b';') => break,
                (Quoted::Offset, b'}') => break,
                (Quoted::Offset, b':') if open == 0 && questions == 0 => break,
                (Quoted::Offset, b':') => questions = questions.saturating_sub(1),
                (Quoted::Offset, b'?') => questions += 1,
                (Quoted::Paren | Quoted::Clause | Quoted::Offset, b'(')
                | (Quoted::Square, b'[') => open += 1,
                (Quoted::Paren | Quoted::Clause | Quoted::Offset, b')')
                | (Quoted::Square, b']') => open = open.saturating_sub(1),
                _ => {}
            }
            match byte {
                b'"' if end != Quoted::Text => {
                    out.flush(self);
                    self.pos += 1;
                    let parts = self.double_quoted(start);
                    out.done.push(Part::DoubleQuoted(parts, self.span(start)));
                }
                b'`' | b'$' => self.expansion(byte, context, &mut out),
                b'\\' => {
                    let escapes = match self.byte(start + 1) {
                        Some(b'$' | b'`' | b'\\') => true,
                        Some(b'"') => end != Quoted::Text,
                        Some(b'}') => end == Quoted::Brace,
                        _ => false,
                    };
                    if escapes {
                        out.flush(self);
                        self.pos += 1;
                        let text = self.next_char().map(String::from).unwrap_or_default();
                        out.done.push(Part::Escaped(text.into(), self.span(start)));
                    } else {
                        out.open(start);
                        self.pos += 1;
                        out.text.push('\\');
                        // A bracket behind a backslash does not count in arithmetic.
                        if context == Context::Expression
                            && let Some(bracket @ (b'(' | b')' | b'[' | b']')) = self.peek()
                        {
                            self.pos += 1;
                            out.text.push(char::from(bracket));
                        }
                    }
                }
                _ => {
                    out.open(start);
                    if let Some(c) = self.next_char() {
                        out.text.push(c);
                    }
                }
            }
        }
        out.flush(self);
        self.settle_small(&mut out.done);
        out.done
    }

    /// Reads the rest of `'...'`.
    fn single_quoted(&mut self, start: usize) -> &str {
        let from = self.pos;
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        let Some(length) = rest.iter().position(|byte| *byte == b'\'') else {
            self.pos = self.text.len();
            self.open_quote("'", start);
            return self.slice(from, self.pos);
        };
        self.pos = from + length + 1;
        self.slice(from, from + length)
    }

    /// Reads the rest of `"..."`.
    fn double_quoted(&mut self, start: usize) -> Vec<Part> {
        let parts = self.quoted_parts(Quoted::String);
        if !self.eat("\"") {
            self.open_quote("\"", start);
        }
        parts.into_vec()
    }

    /// Reads what `$` or a backquote begins; a `$` that begins nothing is plain text.
    fn expansion(&mut self, byte: u8, context: Context, out: &mut Parts) {
        // Inside quotes and brackets bash looks for the end of `$(` here, and then takes `$$` for itself.
        let nested = matches!(self.nth(2), Some(b'(' | b'{' | b'['));
        if byte == b'$' && self.nth(1) == Some(b'$') && nested {
            let cause = GapCause::NotModelled("`$$` before a bracket");
            self.gap(cause, self.pos, self.pos + 2);
        }
        if byte == b'$' && !self.begins_expansion(context) {
            self.push_next(out);
            return;
        }
        out.flush(self);
        let start = self.pos;
        let part =
            if byte == b'`' { Some(self.backquoted(start, context)) } else { self.dollar(context) };
        out.done.extend(part);
    }

    /// Whether the `$` that comes next begins an expansion or a quote.
    fn begins_expansion(&self, context: Context) -> bool {
        match self.nth(1) {
            Some(b'(' | b'[' | b'{' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => true,
            Some(b'\'' | b'"') => context == Context::Plain && !self.dialect.strict,
            Some(byte) => continues_name(byte),
            None => false,
        }
    }

    /// Reads an expansion that begins with `$`; `None` where the `$` stands for itself.
    fn dollar(&mut self, context: Context) -> Option<Part> {
        let start = self.pos;
        match self.nth(1)? {
            b'(' if self.nth(2) == Some(b'(') => {
                self.eat("$(");
                if let Some(word) = self.arithmetic(start) {
                    return Some(Part::Arithmetic(Box::new(word), self.span(start)));
                }
                Some(self.substitution(start))
            }
            b'(' => {
                self.eat("$(");
                Some(self.substitution(start))
            }
            b'[' => {
                self.eat("$[");
                if !self.descend_bracket(start, b'[', b']') {
                    return Some(unread(self, start));
                }
                let word = self.quoted(Quoted::Square);
                self.ascend();
                if !self.eat("]") {
                    self.open_quote("$[", start);
                }
                Some(Part::Arithmetic(Box::new(word), self.span(start)))
            }
            b'{' => {
                self.eat("${");
                Some(self.braced(start, context))
            }
            b'\'' if context == Context::Plain => {
                self.eat("$'");
                let from = self.pos;
                let mut at = from;
                while let Some(byte) = self.byte(at)
                    && byte != b'\''
                {
                    at += if byte == b'\\' { 2 } else { 1 };
                }
                let closed = self.byte(at).is_some();
                let end = at.min(self.text.len());
                let text = ansi::decode(self.slice(from, end));
                self.pos = if closed { end + 1 } else { self.text.len() };
                if !closed {
                    self.open_quote("$'", start);
                }
                Some(Part::AnsiQuoted(text.into(), self.span(start)))
            }
            b'"' if context == Context::Plain => {
                self.eat("$\"");
                let parts = self.double_quoted(start);
                Some(Part::LocaleQuoted(parts, self.span(start)))
            }
            _ => self.bare_parameter(start),
        }
    }

    /// Reads arithmetic behind `((`, of which the first byte was read, up to `))`. `None`, and
    /// nothing is read, where the brackets do not close like that: then it is a subshell. What an
    /// attempt found is remembered, so that nested attempts cost no more than their depth.
    pub(super) fn arithmetic(&mut self, open: usize) -> Option<Word> {
        if self.arithmetic.get(&open) == Some(&false) {
            return None;
        }
        if self.wasted > MOST_WASTE * self.text.len() {
            self.overspent(open);
            return None;
        }
        let mark = self.mark();
        let from = self.pos;
        self.eat("(");
        self.depth += 1;
        let word =
            if self.depth > self.limits.depth { None } else { Some(self.quoted(Quoted::Paren)) };
        self.depth -= 1;
        let closed = !self.failed() && self.eat("))");
        let word = word.filter(|_| closed);
        self.arithmetic.insert(open, word.is_some());
        if word.is_none() {
            self.wasted += self.pos - from;
            self.give_back(&mark);
        }
        word
    }

    /// Reads the rest of `$( )`.
    fn substitution(&mut self, start: usize) -> Part {
        let (script, has_gaps) = self.bracketed_script(start, "$(");
        let form = SubstitutionForm::Dollar;
        let substitution = Substitution { form, script, has_gaps };
        Part::CommandSubstitution(Box::new(substitution), self.span(start))
    }

    fn process_substitution(&mut self, output: bool) -> Part {
        let start = self.pos;
        self.pos += 1;
        self.process_substitution_inside(start, output)
    }

    fn process_substitution_inside(&mut self, start: usize, output: bool) -> Part {
        self.eat("(");
        let (script, _) = self.bracketed_script(start, if output { ">(" } else { "<(" });
        let process = ProcessSubstitution { output, script };
        Part::ProcessSubstitution(Box::new(process), self.span(start))
    }

    /// Reads commands up to `)` and steps over it; says whether there were gaps.
    fn bracketed_script(&mut self, start: usize, which: &'static str) -> (Script, bool) {
        let gaps = self.gap_count;
        if !self.descend_bracket(start, b'(', b')') {
            return (Script::default(), true);
        }
        // A line end inside does not reach the here-documents of the outer line; those that are left
        // at the end are read behind it.
        let mut pending = std::mem::take(&mut self.pending);
        self.substitutions += 1;
        let script = self.list(Until::Paren);
        self.substitutions -= 1;
        pending.append(&mut self.pending);
        self.pending = pending;
        self.ascend();
        if !self.failed() && !self.eat(")") {
            if self.peek().is_none() {
                self.open_bracket(which, start);
            } else {
                self.expected("`)`");
            }
        }
        let has_gaps = self.gap_count > gaps || self.failed();
        (script, has_gaps)
    }

    /// Reads a pair of backquotes and the script between them.
    fn backquoted(&mut self, start: usize, context: Context) -> Part {
        self.pos += 1;
        let from = self.pos;
        let mut text = String::new();
        let mut copied = from;
        let mut at = from;
        let closed = loop {
            match self.byte(at) {
                None => break false,
                Some(b'`') => break true,
                Some(b'\\') => {
                    let removes = match self.byte(at + 1) {
                        Some(b'$' | b'`' | b'\\') => true,
                        Some(b'"') => context == Context::String,
                        _ => false,
                    };
                    if removes {
                        text.push_str(self.slice(copied, at));
                        copied = at + 1;
                    }
                    at += 2;
                }
                Some(_) => at += 1,
            }
        };
        let end = at.min(self.text.len());
        text.push_str(self.slice(copied, end));
        self.pos = if closed { end + 1 } else { self.text.len() };
        let gaps = self.gap_count;
        let mut script = Script::default();
        if closed {
            if self.depth < self.limits.depth {
                self.depth += 1;
                let mut inner = self.inner(&text, Place::Shift(self.map(from)));
                script = inner.script();
                let rereads = inner.rereads;
                let (gaps, comments) = inner.finish();
                self.absorb(gaps, comments, rereads);
                self.depth -= 1;
            } else {
                let cause = GapCause::Limit(crate::model::script::LimitKind::Depth);
                self.gap(cause, start, self.pos);
            }
        } else {
            self.open_quote("`", start);
        }
        let has_gaps = self.gap_count > gaps || self.failed();
        let substitution = Substitution { form: SubstitutionForm::Backquote, script, has_gaps };
        Part::CommandSubstitution(Box::new(substitution), self.span(start))
    }

    /// Reads `${ list; }` behind `${`.
    pub(super) fn brace_substitution(&mut self, start: usize) -> Part {
        let gaps = self.gap_count;
        self.eat("|");
        let mut pending = std::mem::take(&mut self.pending);
        let script = self.list(Until::Words(&["}"]));
        pending.append(&mut self.pending);
        self.pending = pending;
        if !self.eat_keyword("}") && !self.failed() {
            self.open_bracket("${", start);
        }
        let has_gaps = self.gap_count > gaps || self.failed();
        let substitution = Substitution { form: SubstitutionForm::Brace, script, has_gaps };
        Part::CommandSubstitution(Box::new(substitution), self.span(start))
    }

    // Assignments.

    /// The length of the name that comes next, continuations included, and the name.
    pub(super) fn name(&mut self) -> Option<Str> {
        let first = self.peek()?;
        if !starts_name(first) {
            return None;
        }
        let mut name = Str::new();
        while let Some(byte) = self.peek()
            && continues_name(byte)
        {
            name.push(char::from(byte));
            self.pos += 1;
        }
        Some(name)
    }

    /// Reads an assignment; `None`, and nothing is read, where none comes next.
    pub(super) fn assignment(&mut self) -> Option<Assignment> {
        self.assignment_or_word().ok().flatten()
    }

    /// Reads an assignment. A name with a bracket that is none comes back as the word it begins;
    /// `Ok(None)`, and nothing is read, where neither comes next.
    pub(super) fn assignment_or_word(&mut self) -> Result<Option<Assignment>, Word> {
        self.peek();
        let start = self.pos;
        let Some(name) = self.name() else { return Ok(None) };
        let mut subscript = None;
        if self.peek() == Some(b'[') {
            let bracket = self.pos;
            self.pos += 1;
            subscript = Some(self.unquoted(Stop::Index));
            if !self.eat("]") {
                self.open_quote("[", bracket);
            }
        }
        let append = self.looking_at("+=").is_some();
        if !self.eat(if append { "+=" } else { "=" }) {
            let Some(subscript) = subscript else {
                self.pos = start;
                return Ok(None);
            };
            let parts = self.word_behind_subscript(name, start, subscript);
            return Err(Word { parts, span: self.span(start) });
        }
        let value = self.assigned_value();
        Ok(Some(Assignment { name, subscript, append, value, span: self.span(start) }))
    }

    /// Reads on in a word that begins with `before`, `[`, a bracket's inside and `]`.
    fn word_behind_subscript(&mut self, before: Str, start: usize, inside: Word) -> script::Parts {
        let mut out = Parts { text: before, start, ..Parts::default() };
        out.text.push('[');
        let mut behind = self.map(start);
        for part in inside.parts {
            let span = part.span();
            match part {
                Part::Literal(text, _) => out.text.push_str(&text),
                other => {
                    if !out.text.is_empty() {
                        let text = std::mem::take(&mut out.text);
                        out.done.push(Part::Literal(text, Span::new(behind, span.start)));
                    }
                    out.done.push(other);
                    behind = span.end;
                    // The plain text that follows begins where this part ended.
                    out.start = start + (behind - self.map(start));
                }
            }
        }
        out.text.push(']');
        self.unquoted_from(Stop::Meta, out)
    }

    fn assigned_value(&mut self) -> AssignmentValue {
        if self.peek() != Some(b'(') {
            return AssignmentValue::Scalar(self.word());
        }
        let open = self.pos;
        if !self.descend() {
            return AssignmentValue::Array(Vec::new());
        }
        self.pos += 1;
        let elements = self.array_elements();
        self.ascend();
        if self.eat(")") {
            let behind = self.pos;
            if self.peek().is_some_and(|byte| !is_metacharacter(byte)) {
                let _ = self.word();
                self.gap(GapCause::NotModelled("text behind an array value"), behind, self.pos);
            }
        } else if self.peek().is_none() {
            self.open_bracket("(", open);
        } else {
            self.expected("a word or `)`");
        }
        AssignmentValue::Array(elements)
    }

    /// Reads the elements of an array value, up to what is none.
    pub(super) fn array_elements(&mut self) -> Vec<ArrayElement> {
        let mut elements = Vec::new();
        loop {
            self.newlines();
            let Some(byte) = self.peek() else { break };
            let element = if byte == b'[' { self.bracket_element() } else { plain(self.word()) };
            if element.value.parts.is_empty() && element.subscript.is_none() {
                break;
            }
            elements.push(element);
        }
        elements
    }

    /// Reads `[subscript]=word`, or a word that begins with a bracket.
    fn bracket_element(&mut self) -> ArrayElement {
        let start = self.pos;
        self.pos += 1;
        let subscript = self.unquoted(Stop::Index);
        if !self.eat("]") {
            self.open_quote("[", start);
        }
        let append = self.eat("+=");
        if !append && !self.eat("=") {
            let parts = self.word_behind_subscript(Str::new(), start, subscript);
            return plain(Word { parts, span: self.span(start) });
        }
        let value = self.word();
        ArrayElement { subscript: Some(subscript), append, value }
    }

    /// Reads an array assignment as an operand of a declaration utility; `None`, and nothing is
    /// read, where none comes next.
    pub(super) fn array_operand(&mut self) -> Option<Word> {
        self.peek();
        let mark = self.mark();
        let start = self.pos;
        let name = self.name()?;
        let is_array = self.looking_at("=(").is_some() || self.looking_at("+=(").is_some();
        if !is_array {
            self.give_back(&mark);
            return None;
        }
        let append = self.eat("+");
        self.eat("=");
        let value = self.assigned_value();
        let span = self.span(start);
        let assignment = Assignment { name, subscript: None, append, value, span };
        Some(Word {
            parts: script::Parts::from([Part::ArrayAssignment(Box::new(assignment), span)]),
            span,
        })
    }
}

fn plain(value: Word) -> ArrayElement {
    ArrayElement { subscript: None, append: false, value }
}

/// What stands for an expansion that was stepped over: a substitution of which nothing is known.
pub(super) fn unread(reader: &Reader<'_>, start: usize) -> Part {
    let form = SubstitutionForm::Dollar;
    let substitution = Substitution { form, script: Script::default(), has_gaps: true };
    Part::CommandSubstitution(Box::new(substitution), reader.span(start))
}
