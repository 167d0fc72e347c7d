//! The shell's state as expansion sees it: values, substitutions, evaluation.

use super::flow::scalar;
use super::state::{State, Target};
use super::variable::{Variable, is_from_network};
use super::{Frame, Runner};
use crate::expand::{self, Environ, HOLE, HOLES, Mode, is_hole};
use crate::model::context::Shell;
use crate::model::fact::CodePlace;
use crate::model::script::{
    CommandKind, GapCause, LimitKind, ProcessSubstitution, RedirectionOperator, Script,
    Substitution, SubstitutionForm, Word,
};
use crate::model::span::{Site, SourceId, Span};
use crate::model::trace::{CodeUse, Source, SubstitutionUse};
use crate::model::utility::Language;
use crate::model::value::{Field, Piece, Text, Unknown, Value};
use crate::parse::{Dialect, parse_double_quoted};

/// Entries of the trace, the last ones, among which a new one is looked for so that it stands there
/// once.
pub(super) const RECENT: usize = 256;

/// An output process substitution that waits for its input.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    path: Text,
    script: Script,
    state: State,
    source: SourceId,
    frame: Frame,
    site: Site,
}

impl Environ for Runner<'_> {
    fn source(&self) -> SourceId {
        self.source
    }

    fn parameter(&self, name: &str) -> Value {
        if name.starts_with(|first: char| first.is_ascii_digit() || first == '+')
            && let Ok(number) = name.parse::<usize>()
        {
            return self.positional_parameter(number);
        }
        let number = || Value::Scalar(Text::unknown(Unknown::Arithmetic));
        match name {
            "?" | "$" => return number(),
            // Without a job it is not set.
            "!" => return Value::Unknown(Unknown::Parameter("!".into())),
            "#" if !self.state.positional.1 => {
                return Value::literal(self.state.positional.0.len().to_string());
            }
            "#" => return number(),
            "_" => return Value::Scalar(self.state.last.clone()),
            "-" => return Value::Unknown(Unknown::Parameter("-".into())),
            _ => {}
        }
        let Some(variable) = self.state.variable(name) else {
            return match name {
                "PWD" => Value::Scalar(one_of(&self.state.directories)),
                "OLDPWD" => Value::Scalar(one_of(&self.state.previous)),
                "RANDOM" | "SRANDOM" | "SECONDS" | "EPOCHSECONDS" | "LINENO" | "UID" | "EUID"
                | "PPID" | "BASHPID" | "COLUMNS" | "LINES" | "HISTCMD" | "SHLVL"
                | "BASH_SUBSHELL" | "PIPESTATUS" => number(),
                _ => Value::Unknown(Unknown::Parameter(name.into())),
            };
        };
        if variable.nameref
            && let Some(target) = scalar(&variable.value()).exact()
            && target != name
            && !target.is_empty()
        {
            return self.state.variable(target).filter(|variable| !variable.nameref).map_or_else(
                || Value::Unknown(Unknown::Parameter(target.into())),
                Variable::value,
            );
        }
        variable.value()
    }

    fn positional(&self) -> (Vec<Text>, bool) {
        (*self.state.positional).clone()
    }

    fn names(&self, _prefix: &str) -> Option<Vec<String>> {
        // The environment may hold further ones.
        None
    }

    fn assign(&mut self, name: &str, subscript: Option<&Text>, value: Text) {
        let site = Site::new(self.source, Span::default());
        self.assign_text(name, subscript, value, false, site);
    }

    fn substitute(&mut self, substitution: &Substitution, span: Span) -> Text {
        if !self.step(1, span) {
            return Text::unknown(Unknown::Limit);
        }
        let site = self.site(span);
        let first = self.trace.invocations.len();
        let place = self.trace.substitutions.len();
        self.trace.substitutions.push(SubstitutionUse {
            site,
            process: false,
            known: false,
            invocations: (first, first),
            decides: false,
        });
        let text = self.deeper(span, |runner| {
            let capture = runner.capture();
            let descriptors = runner.state.descriptors.clone();
            let reads = reads_a_file(&substitution.script);
            let work = |runner: &mut Self| {
                runner.state.descriptors.insert(1, Target::Capture(capture));
                let outcome = if reads {
                    runner.file_substitution(&substitution.script)
                } else {
                    runner.script(&substitution.script)
                };
                runner.settle(&outcome);
            };
            if substitution.form == SubstitutionForm::Brace {
                work(runner);
                runner.state.descriptors = descriptors;
            } else {
                runner.isolated(work);
            }
            Some(runner.release(capture))
        });
        let text = match text {
            Some(text) => trim_line_ends(&text),
            None => Text::unknown(Unknown::Limit),
        };
        let last = self.trace.invocations.len();
        if let Some(entry) = self.trace.substitutions.get_mut(place) {
            entry.known = text.is_exact();
            entry.invocations = (first, last);
        }
        text
    }

    fn process(&mut self, process: &ProcessSubstitution, span: Span) -> Text {
        let path = Text::literal(format!("/dev/fd/{}", self.next_path));
        self.next_path += 1;
        if !self.step(1, span) {
            return path;
        }
        let site = self.site(span);
        if process.output {
            if self.pending.len() < 64 {
                self.pending.push(Pending {
                    path: path.clone(),
                    script: process.script.clone(),
                    state: self.state.clone(),
                    source: self.source,
                    frame: self.frame.clone(),
                    site,
                });
            } else {
                self.gap(GapCause::Limit(LimitKind::Fields), span);
            }
            return path;
        }
        let first = self.trace.invocations.len();
        let place = self.trace.substitutions.len();
        self.trace.substitutions.push(SubstitutionUse {
            site,
            process: true,
            known: false,
            invocations: (first, first),
            decides: false,
        });
        let text = self
            .deeper(span, |runner| {
                let capture = runner.capture();
                runner.isolated(|runner| {
                    runner.state.descriptors.insert(1, Target::Capture(capture));
                    let outcome = runner.script(&process.script);
                    runner.settle(&outcome);
                });
                Some(runner.release(capture))
            })
            .unwrap_or_else(|| Text::unknown(Unknown::Limit));
        let last = self.trace.invocations.len();
        if let Some(entry) = self.trace.substitutions.get_mut(place) {
            entry.known = text.is_exact();
            entry.invocations = (first, last);
        }
        self.state.write_file(path.clone(), vec![text]);
        path
    }

    fn prompt(&mut self, text: &Text, span: Span) -> Text {
        let opaque = text
            .pieces()
            .iter()
            .any(|piece| matches!(piece, Piece::Unknown(cause) if !expand::is_number(cause)));
        if opaque {
            self.value_code(text.clone(), span);
        }
        if let Some(known) = self.open(text) {
            let decoded = decode_prompt(&known);
            self.evaluate_quoted(&decoded, span)
        } else {
            Text::unknown(taint(text))
        }
    }

    fn evaluate(&mut self, known: Option<&str>, cause: Unknown, span: Span) {
        match known {
            Some(known) if known.contains(['$', '`']) => {
                let _ = self.evaluate_quoted(known, span);
            }
            Some(_) => {}
            None => self.value_code(Text::unknown(cause), span),
        }
    }

    fn home(&self, user: Option<&str>) -> Text {
        match user {
            None => match self.state.variable("HOME") {
                Some(home) => scalar(&home.value()),
                None => Text::literal(self.context.home.clone()),
            },
            Some("root") => Text::literal("/root"),
            Some(user) => {
                let own = self.context.home.rsplit_once('/');
                match own {
                    Some((parent, name)) if name == user => {
                        Text::literal(format!("{parent}/{name}"))
                    }
                    Some((parent, _)) if !parent.is_empty() => {
                        Text::literal(format!("{parent}/{user}"))
                    }
                    _ => Text::unknown(Unknown::Parameter(format!("~{user}").into())),
                }
            }
        }
    }

    fn option(&self, name: &str) -> bool {
        // No name that a text can turn on.
        match name {
            "zsh" => self.state.shell == Shell::Zsh,
            "within_text" => self.texts > 0,
            _ => self.state.option(name),
        }
    }

    fn limit(&mut self, kind: LimitKind, span: Span) {
        self.gap(GapCause::Limit(kind), span);
    }

    fn fails(&mut self) {
        if let Target::Capture(place) = self.state.descriptor(1) {
            self.broken.insert(place);
        }
    }

    fn limits(&self) -> (usize, usize) {
        (self.limits.fields, self.limits.value_bytes)
    }
}

impl Runner<'_> {
    fn positional_parameter(&self, number: usize) -> Value {
        if number == 0 {
            return Value::Scalar(self.state.name.clone());
        }
        let (texts, open) = &*self.state.positional;
        match texts.get(number - 1) {
            Some(text) => Value::Scalar(text.clone()),
            None if *open => Value::Unknown(Unknown::Parameter(number.to_string().into())),
            None => Value::Unset,
        }
    }

    /// The fields a word becomes.
    pub(super) fn word_fields(&mut self, word: &Word) -> Vec<Field> {
        let fields = expand::fields(word, self);
        fields.into_iter().map(|field| self.close_field(field)).collect()
    }

    /// The one field of a word that no expansion changes.
    pub(super) fn plain_field(&self, word: &Word) -> Option<Field> {
        expand::plain_field(word, self).map(|field| self.close_field(field))
    }

    /// The fields an operand of a declaration utility becomes.
    pub(super) fn declaration_fields(&mut self, word: &Word) -> Vec<Field> {
        let fields = expand::declaration_fields(word, self);
        fields.into_iter().map(|field| self.close_field(field)).collect()
    }

    /// A word without splitting and pathname expansion.
    pub(super) fn word_text(&mut self, word: &Word, mode: Mode) -> Text {
        self.texts += 1;
        let text = expand::text(word, self, mode);
        self.texts -= 1;
        self.close(&text)
    }

    /// Expands a word where a pattern is meant, for the substitutions in it.
    pub(super) fn word_pattern(&mut self, word: &Word) {
        self.texts += 1;
        let _ = expand::pattern(word, self);
        self.texts -= 1;
    }

    /// The value of an arithmetic expression, where it is known.
    pub(super) fn arithmetic(&mut self, expression: &Word) -> Option<i64> {
        if expression.parts.is_empty() {
            return None;
        }
        expand::arithmetic(expression, self)
    }

    /// A text that the parser can read: each unknown piece becomes one character that stands for
    /// it. `None` where nothing is known.
    pub(super) fn open(&mut self, text: &Text) -> Option<String> {
        if !text.is_empty()
            && !text.pieces().iter().any(|piece| match piece {
                Piece::Literal(literal) => !literal.trim_matches([' ', '\t', '\n']).is_empty(),
                Piece::Glob(_) => true,
                Piece::Unknown(_) => false,
            })
        {
            return None;
        }
        let mut out = String::new();
        for piece in text.pieces() {
            match piece {
                Piece::Literal(literal) => out.push_str(literal),
                Piece::Glob(glob) => out.push_str(glob.source()),
                Piece::Unknown(cause) => out.push(self.hole(cause)),
            }
        }
        Some(out)
    }

    /// Known characters that stand for an unknown piece, for values that are surely not empty.
    pub(super) fn hole_text(&mut self, cause: &Unknown) -> Text {
        Text::literal(self.hole(cause))
    }

    fn hole(&mut self, cause: &Unknown) -> char {
        let last = HOLES as usize - 1;
        let index = match self.holes.iter().position(|hole| hole == cause) {
            Some(index) => index,
            None if self.holes.len() < last => {
                self.holes.push(cause.clone());
                self.holes.len() - 1
            }
            None if *cause == Unknown::Network => {
                // The last place is kept for what must not be forgotten.
                self.holes.resize(last, Unknown::Limit);
                self.holes.push(Unknown::Network);
                last
            }
            None => last - 1,
        };
        u32::try_from(index)
            .ok()
            .and_then(|index| char::from_u32(HOLE + index))
            .unwrap_or('\u{F6FE}')
    }

    fn cause_of(&self, character: char) -> Option<&Unknown> {
        let index = u32::from(character).checked_sub(HOLE).filter(|_| is_hole(character))?;
        self.holes.get(usize::try_from(index).ok()?)
    }

    /// Turns the characters that stand for unknown pieces back into them.
    pub(super) fn close(&self, text: &Text) -> Text {
        if self.holes.is_empty() {
            return text.clone();
        }
        let mut out = Text::empty();
        for piece in text.pieces() {
            let Piece::Literal(literal) = piece else {
                out.push(piece.clone());
                continue;
            };
            let mut start = 0;
            for (index, character) in literal.char_indices() {
                if let Some(cause) = self.cause_of(character) {
                    out.push_str(literal.get(start..index).unwrap_or_default());
                    out.push(Piece::Unknown(cause.clone()));
                    start = index + character.len_utf8();
                }
            }
            out.push_str(literal.get(start..).unwrap_or_default());
        }
        out
    }

    fn close_field(&self, field: Field) -> Field {
        if self.holes.is_empty() {
            return field;
        }
        let text = self.close(&field.text);
        if text == field.text {
            return field;
        }
        Field { text, ..field }
    }

    /// Adds a carried text to the sources.
    pub(super) fn add_source(&mut self, text: &str, origin: Site) -> SourceId {
        let id = SourceId(u32::try_from(self.trace.sources.len()).unwrap_or(u32::MAX));
        self.trace.sources.push(Source { text: text.into(), origin: Some(origin) });
        id
    }

    /// Notes that a value is evaluated as code.
    pub(super) fn value_code(&mut self, text: Text, span: Span) {
        let site = self.site(span);
        let invocation = self.frame.carrier;
        let code =
            CodeUse { language: Language::Shell, place: CodePlace::Value, text, invocation, site };
        if !self.trace.codes.iter().rev().take(RECENT).any(|known| *known == code) {
            self.trace.codes.push(code);
        }
    }

    /// Expands text as if it stood between double quotes, which runs its substitutions.
    fn evaluate_quoted(&mut self, known: &str, span: Span) -> Text {
        if !known.contains(['$', '`', '\\']) {
            return self.close(&Text::literal(known));
        }
        if !self.step(1 + known.len() / 64, span) {
            return Text::unknown(Unknown::Limit);
        }
        if known.contains("$(") || known.contains('`') || known.contains("${") {
            self.value_code(Text::literal(known), span);
        }
        let origin = self.site(span);
        self.deeper(span, |runner| {
            let (word, gaps) = parse_double_quoted(known, runner.limits, runner.dialect());
            let id = runner.add_source(known, origin);
            runner.trace.gaps.extend(gaps.into_iter().map(|gap| (id, gap)));
            let outer = std::mem::replace(&mut runner.source, id);
            let text = runner.word_text(&word, Mode::HereDocument);
            runner.source = outer;
            Some(text)
        })
        .unwrap_or_else(|| Text::unknown(Unknown::Limit))
    }

    /// How the parser has to read further texts.
    pub(super) fn dialect(&self) -> Dialect {
        Dialect {
            extglob: self.state.option("extglob"),
            depth: self.depth,
            ..super::dialect_of(self.state.shell)
        }
    }

    /// The operand of a builtin that names a variable and whose subscript is evaluated
    /// (`test -v`, `printf -v`, `unset`).
    pub(super) fn name_operand(&mut self, text: &Text, span: Span) {
        if let Some(name) = text.exact() {
            if let Some((variable, subscript)) = name.split_once('[') {
                let subscript = closed(subscript);
                if !matches!(subscript, "@" | "*") {
                    let key = self.evaluate_quoted(subscript, span);
                    if !self.is_associative(variable) {
                        self.number_operand(&key, span);
                    }
                }
            }
        } else {
            let plain = !text.prefix().is_empty() && text.prefix().contains('[');
            let numeric = plain
                && text.pieces().iter().all(|piece| match piece {
                    Piece::Literal(literal) => !literal.contains(['$', '`']),
                    Piece::Unknown(Unknown::Arithmetic) => true,
                    _ => false,
                });
            if !numeric {
                self.value_code(text.clone(), span);
            }
        }
    }

    /// Assigns to what the operand of a builtin names: a variable, or an element of one.
    pub(super) fn assign_operand(&mut self, name: &Text, value: Text, site: Site) {
        self.name_operand(name, site.span);
        match name.exact().map(|exact| (exact, exact.split_once('['))) {
            Some((_, Some((variable, key)))) => {
                let key = Text::literal(key.trim_end_matches(']'));
                self.assign_text(variable, Some(&key), value, false, site);
            }
            Some((variable, None)) => self.assign_text(variable, None, value, false, site),
            None => {}
        }
    }

    /// An operand that is evaluated as an arithmetic expression.
    pub(super) fn number_operand(&mut self, text: &Text, span: Span) -> Option<i64> {
        if text.is_empty() {
            return Some(0);
        }
        expand::arithmetic_text(text, self, span)
    }

    /// `$(<file)` reads a file without a program.
    fn file_substitution(&mut self, script: &Script) -> super::Outcome {
        let Some(command) = script
            .items
            .first()
            .and_then(|item| item.list.first.stages.first())
            .map(|stage| &stage.command)
        else {
            return super::Outcome::default();
        };
        let saved = self.state.descriptors.clone();
        self.redirect(&command.redirections);
        if let Some(text) = self.stdin().text().cloned() {
            self.state.descriptors.clone_from(&saved);
            self.emit(1, &text);
        }
        self.state.descriptors = saved;
        super::Outcome::known(true)
    }

    /// Runs output process substitutions that were met since `from`. What a program that is not
    /// followed may have written to their paths is `rest`.
    pub(super) fn flush(&mut self, from: usize, rest: Option<&Text>) {
        while self.pending.len() > from {
            let Some(pending) = self.pending.pop() else { return };
            let first = self.trace.invocations.len();
            let place = self.trace.substitutions.len();
            self.trace.substitutions.push(SubstitutionUse {
                site: pending.site,
                process: true,
                known: false,
                invocations: (first, first),
                decides: false,
            });
            let contents = self.state.files.get(&pending.path).cloned().unwrap_or_default();
            let text = match contents.as_slice() {
                [] => rest.cloned().unwrap_or_else(|| Text::unknown(Unknown::Output)),
                [one] => one.clone(),
                many => super::variable::widen_texts(&many.iter().collect::<Vec<_>>()),
            };
            let source = std::mem::replace(&mut self.source, pending.source);
            let frame = std::mem::replace(&mut self.frame, pending.frame);
            let span = pending.site.span;
            let before = self.state.clone();
            self.deeper(span, |runner| {
                let files = std::rc::Rc::clone(&runner.state.files);
                runner.state = pending.state;
                runner.state.files = files;
                let index = runner.input(text);
                runner.state.descriptors.insert(0, Target::Input(index));
                let outcome = runner.script(&pending.script);
                runner.settle(&outcome);
            });
            let after = std::mem::replace(&mut self.state, before);
            self.state.files = after.files;
            self.source = source;
            self.frame = frame;
            let last = self.trace.invocations.len();
            if let Some(entry) = self.trace.substitutions.get_mut(place) {
                entry.invocations = (first, last);
            }
        }
    }
}

/// Whether a script is nothing but one input redirection.
fn reads_a_file(script: &Script) -> bool {
    let [item] = script.items.as_slice() else { return false };
    let [stage] = item.list.first.stages.as_slice() else { return false };
    let CommandKind::Simple(simple) = &stage.command.kind else { return false };
    let [redirection] = stage.command.redirections.as_slice() else { return false };
    simple.words.is_empty()
        && simple.assignments.is_empty()
        && item.list.rest.is_empty()
        && !item.background
        && redirection.operator == RedirectionOperator::Input
        && redirection.descriptor.is_none()
}

/// One text for the directories a shell may be in.
fn one_of(texts: &[Text]) -> Text {
    super::variable::widen_texts(&texts.iter().collect::<Vec<_>>())
}

/// What stands before the bracket that closes a subscript; all of it where none does.
fn closed(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' if depth == 0 => return text.get(..at).unwrap_or(text),
            ']' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// The cause of a text that is made from this one.
pub(super) fn taint(text: &Text) -> Unknown {
    if is_from_network(text) {
        Unknown::Network
    } else if text.pieces().contains(&Piece::Unknown(Unknown::Secret)) {
        Unknown::Secret
    } else {
        Unknown::Output
    }
}

/// Removes line ends at the end.
pub(super) fn trim_line_ends(text: &Text) -> Text {
    let mut pieces: Vec<Piece> = text.pieces().to_vec();
    while let Some(Piece::Literal(last)) = pieces.last_mut() {
        let kept = last.trim_end_matches('\n').len();
        last.truncate(kept);
        if !last.is_empty() {
            break;
        }
        pieces.pop();
    }
    pieces.into_iter().collect()
}

/// Backslash escapes of prompts that can make a `$` or hide one; all others stay (they make no
/// code).
fn decode_prompt(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.peek().copied() {
            Some(digit) if digit.is_digit(8) => {
                let mut value = 0u32;
                for _ in 0..3 {
                    match characters.peek().and_then(|c| c.to_digit(8)) {
                        Some(digit) => {
                            value = value * 8 + digit;
                            characters.next();
                        }
                        None => break,
                    }
                }
                out.push(char::from_u32(value & 0xff).unwrap_or(' '));
            }
            Some('\\') => {
                out.push('\\');
                characters.next();
            }
            Some('n') => {
                out.push('\n');
                characters.next();
            }
            Some('[' | ']' | '$') => {
                characters.next();
            }
            Some(_) => {
                characters.next();
                out.push(' ');
            }
            None => out.push('\\'),
        }
    }
    out
}
