//! From words to fields, in the shell's order (POSIX.1-2024 XCU 2.6; Bash manual 3.5).
//!
//! Takes a word and an [`Environ`]; gives fields, known in part. May import: model.
//! Never: runs a command, looks at a file, or decides what is bad.

mod arithmetic;
mod brace;
#[cfg(not(feature = "broken-rules"))]
mod broken;
#[cfg(feature = "broken-rules")]
pub mod broken;
mod parameter;
pub mod pathname;
mod quote;
mod split;
mod tilde;

pub use pathname::Pattern;

use crate::model::script::{
    AssignmentValue, LimitKind, Operation, Parameter, Part, ProcessSubstitution, Subscript,
    Substitution, Word,
};
use crate::model::span::{Site, SourceId, Span};
use crate::model::value::{Field, Glob, Piece, Str, Text, Unknown, Value};

use broken::{Rule, holds};
use tilde::Tilde;

/// The first of the characters that stand for unknown pieces in a carried text. They are private
/// characters below those that stand for bytes which are no UTF-8.
pub(crate) const HOLE: u32 = 0xF600;
/// How many there are.
pub(crate) const HOLES: u32 = 0x100;

/// Whether the character stands for an unknown piece.
pub(crate) fn is_hole(character: char) -> bool {
    (HOLE..HOLE + HOLES).contains(&u32::from(character))
}

/// Levels of expansions inside each other.
const DEPTH: usize = 64;

/// The shell's state as expansion sees it. The interpreter implements it; tests have their own.
pub trait Environ {
    /// The text the words' spans count in.
    fn source(&self) -> SourceId;
    /// The value of a variable, a positional parameter (`1`, `2`, ...; `0`) or a special parameter
    /// other than `@`, `*` and `#`.
    fn parameter(&self, name: &str) -> Value;
    /// Positional parameters from 1 in order, and whether there may be more behind them.
    fn positional(&self) -> (Vec<Text>, bool);
    /// Names of set variables that begin with `prefix`, sorted; `None` where not all are known.
    fn names(&self, prefix: &str) -> Option<Vec<String>>;
    /// Assigns a variable or, with a subscript, an element of an array (`${x:=w}`, `$((x=1))`).
    fn assign(&mut self, name: &str, subscript: Option<&Text>, value: Text);
    /// What a command substitution prints, trailing line ends removed; runs it in the model.
    fn substitute(&mut self, substitution: &Substitution, span: Span) -> Text;
    /// The path a process substitution gives; runs it in the model.
    fn process(&mut self, process: &ProcessSubstitution, span: Span) -> Text;
    /// Text that is evaluated as a prompt (`${x@P}`): the interpreter parses and runs what is in it.
    fn prompt(&mut self, text: &Text, span: Span) -> Text;
    /// Text from outside, or with a subscript that runs code, reaches the arithmetic evaluator
    /// (`$((x))` with an unknown `x`; `a[$(cmd)]` in a value). `known` is the text where it is known.
    fn evaluate(&mut self, known: Option<&str>, cause: Unknown, span: Span);
    /// The home of a user, `None` for the one who runs the shell; unknown text where not known.
    fn home(&self, user: Option<&str>) -> Text;
    /// Whether a shell option is on: the names of `set -o` and `shopt`
    /// (`noglob`, `extglob`, `nullglob`, `dotglob`, `globstar`, `nocaseglob`, `failglob`,
    /// `braceexpand`, `nounset`, ...); `zsh` says that it is that shell, in which what a parameter gives
    /// is neither split nor a pattern and elements count from 1; `within_text` that the command is one of a
    /// substitution in a word that is not split.
    fn option(&self, name: &str) -> bool;
    /// Notes that a limit was reached while expanding.
    fn limit(&mut self, kind: LimitKind, span: Span);
    /// Notes that an expansion is, or may be, in error: the command then does not run, and a shell
    /// that runs a script ends.
    fn fails(&mut self) {}
    /// Fields one word may become, and bytes one value may have.
    fn limits(&self) -> (usize, usize);
}

/// Where a word stands that gives one text and no fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The value of an assignment: a tilde counts at its start and after each colon.
    Assignment,
    /// The body of a here-document: like a double-quoted string.
    HereDocument,
    /// The operand of `<<<`: a tilde counts at its start and after each colon, as in an assignment.
    HereString,
    /// The word of `case`.
    CaseSubject,
    /// An operand of `[[ ]]` that is not a pattern.
    Conditional,
    /// An arithmetic expression or a subscript, before it is evaluated: like a double-quoted string.
    ArithmeticText,
}

/// The fields a word of a command becomes, in order: none where it expands to nothing and had no
/// quotes. A last field that is unknown and [`crate::model::value::Arity::Many`] stands for more
/// than is known, or than the limits let through.
pub fn fields(word: &Word, environ: &mut dyn Environ) -> Vec<Field> {
    Expander::new(environ, word.span).fields(word, false)
}

/// As [`fields`], for an operand of a declaration utility (`export`, `declare`, `local`,
/// `readonly`, `typeset`): the value of an operand `name=value` is neither split nor a pattern.
pub fn declaration_fields(word: &Word, environ: &mut dyn Environ) -> Vec<Field> {
    Expander::new(environ, word.span).fields(word, true)
}

/// The text a word becomes where the shell neither splits nor looks for names.
pub fn text(word: &Word, environ: &mut dyn Environ, mode: Mode) -> Text {
    let mut expander = Expander::new(environ, word.span);
    match mode {
        Mode::Assignment | Mode::HereString => expander.flat(word, Tilde::Assignment, false),
        Mode::CaseSubject | Mode::Conditional => expander.flat(word, Tilde::Start, false),
        Mode::HereDocument | Mode::ArithmeticText => expander.flat(word, Tilde::None, true),
    }
}

/// The pattern a word is after `case`'s arms or in `[[ == ]]`: quoted characters stand for
/// themselves.
pub fn pattern(word: &Word, environ: &mut dyn Environ) -> Pattern {
    Expander::new(environ, word.span).pattern(word)
}

/// The value of an arithmetic expression as it stands in `(( ))`, `for (( ))` or a subscript,
/// variables assigned on the way; `None` where it is not known or the expression is in error.
pub fn arithmetic(word: &Word, environ: &mut dyn Environ) -> Option<i64> {
    let mut expander = Expander::new(environ, word.span);
    let text = expander.flat(word, Tilde::None, true);
    arithmetic::evaluate(&mut expander, &text, word.span)
}

/// As [`arithmetic`], for text that is expanded already: operands of `let`, of `[[ -eq ]]`,
/// values of variables with the integer attribute.
pub fn arithmetic_text(text: &Text, environ: &mut dyn Environ, span: Span) -> Option<i64> {
    arithmetic::evaluate(&mut Expander::new(environ, span), text, span)
}

/// Whether an unknown piece is surely a number: evaluated as an expression it runs nothing, and
/// unquoted it is one field.
pub fn is_number(cause: &Unknown) -> bool {
    match cause {
        Unknown::Arithmetic => true,
        Unknown::Parameter(name) => matches!(
            name.as_str(),
            "?" | "#"
                | "$"
                | "RANDOM"
                | "SRANDOM"
                | "LINENO"
                | "SECONDS"
                | "EPOCHSECONDS"
                | "UID"
                | "EUID"
                | "PPID"
                | "BASHPID"
                | "BASH_SUBSHELL"
                | "SHLVL"
        ),
        _ => false,
    }
}

/// A stretch of an expanded word before it is split.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Run {
    /// Known characters. `quoted`: they stand for themselves. `splits`: an unquoted expansion gave
    /// them, so they are split and a backslash among them quotes in a pattern.
    Text { text: Str, quoted: bool, splits: bool },
    /// Any characters.
    Unknown { cause: Unknown, quoted: bool },
    /// A piece of a pattern that is part of a value.
    Glob { glob: Glob, quoted: bool },
    /// Quotes around nothing.
    Null,
    /// The border between two elements of a list.
    Break,
    /// There may be more elements.
    More(Unknown),
}

/// Where a substitution stands in its word. What prints names may print none, and a word without
/// them is another one than with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It is the whole word: without names there is no path at all.
    Alone,
    /// It begins the word, and a slash follows: without names the path counts from the root.
    Rooted,
    /// Anywhere else.
    Within,
}

impl Place {
    fn of(word: &Word) -> Self {
        let mut parts = word.parts.iter().flat_map(|part| match part {
            Part::DoubleQuoted(inner, _) => inner.as_slice(),
            other => std::slice::from_ref(other),
        });
        if !matches!(parts.next(), Some(Part::CommandSubstitution(..))) {
            return Self::Within;
        }
        match parts.next() {
            None => Self::Alone,
            Some(Part::Literal(text, _) | Part::SingleQuoted(text, _)) if text.starts_with('/') => {
                Self::Rooted
            }
            Some(_) => Self::Within,
        }
    }

    /// The text, not known any more where it may lack what it says.
    fn admits(self, text: Text) -> Text {
        let says = text.pieces().len() > 1;
        let lacks = text.pieces().iter().any(|piece| match piece {
            Piece::Glob(_) => self != Self::Alone,
            Piece::Unknown(cause) if cause.is_below() => {
                self == Self::Rooted || (self == Self::Within && says)
            }
            _ => false,
        });
        if lacks { Text::unknown(Unknown::Output) } else { text }
    }
}

/// How sure it is that what is being expanded takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// It does.
    Live,
    /// It may.
    Maybe,
    /// It does not; it is looked at for the substitutions it holds.
    Dry,
}

/// An atom of a word after brace expansion.
#[derive(Clone, Debug)]
enum Atom<'w> {
    /// Unquoted characters.
    Text(Str),
    /// Any other part of the source.
    Part(&'w Part),
    /// A part that brace expansion made.
    Made(Part),
}

/// One expansion at work.
struct Expander<'e> {
    environ: &'e mut dyn Environ,
    /// The whole word, for notes on limits.
    span: Span,
    /// Bytes that values may still give.
    left: usize,
    depth: usize,
    effect: Effect,
    place: Place,
    /// Whether lists become several fields.
    splits: bool,
    /// Whether a quoted list without elements was met, which makes its quotes vanish.
    vanished: bool,
    noted: bool,
}

/// Whether bash takes a changed `${a[*]}` in double quotes apart at its blanks: it does so where the
/// quotes hold a list (`$@`) too.
fn splits_stars(parts: &[Part]) -> bool {
    let mut list = false;
    let mut star = false;
    for part in parts {
        let Part::Parameter(parameter, _) = part else { continue };
        list |= parameter.name == "@" || parameter.subscript == Some(Subscript::At);
        star |= parameter.operation != Operation::Value
            && (parameter.name == "*" || parameter.subscript == Some(Subscript::Star));
    }
    list && star
}

/// The characters of a word that every expansion leaves alone, and whether the first is quoted:
/// non-empty quotes and plain text without a character that means something to any expansion.
fn untouched(word: &Word) -> Option<(Str, bool)> {
    let quoted = !matches!(word.parts.first()?, Part::Literal(..));
    match word.parts.as_slice() {
        [Part::Literal(text, _)] => return is_untouched(text).then(|| (text.clone(), quoted)),
        [Part::SingleQuoted(text, _)] if !text.is_empty() => return Some((text.clone(), quoted)),
        _ => {}
    }
    let mut out = Str::new();
    for part in &word.parts {
        match part {
            Part::Literal(text, _) if is_untouched(text) => out.push_str(text),
            Part::SingleQuoted(text, _) if !text.is_empty() => out.push_str(text),
            Part::DoubleQuoted(inner, _) if !inner.is_empty() => {
                for part in inner {
                    let Part::Literal(text, _) = part else { return None };
                    out.push_str(text);
                }
            }
            _ => return None,
        }
    }
    Some((out, quoted))
}

/// Whether unquoted text has no character that means something to any expansion.
fn is_untouched(text: &str) -> bool {
    text.bytes().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'.' | b'/' | b',' | b'%' | b'=' | b':' | b'@' | b'+')
    })
}

/// How a word is looked at that needs no runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// As a field: parameters stand in double quotes, plain text means nothing to any expansion.
    Field,
    /// As one text in which a tilde may count.
    Text,
    /// As one text in which it does not.
    Quoted,
}

/// The text of a word out of known characters and parameters that hold one string each, and whether
/// its first character is quoted. `None` where there is more to it, or where it comes to nothing.
fn at_once(word: &Word, environ: &dyn Environ, sight: Sight) -> Option<(Text, bool)> {
    let mut text = Text::empty();
    let mut first = None;
    for part in &word.parts {
        let quoted = !matches!(part, Part::Literal(..) | Part::Parameter(..));
        match part {
            Part::Literal(own, _) => {
                let known = match sight {
                    Sight::Field => is_untouched(own),
                    Sight::Text => !own.contains('~'),
                    Sight::Quoted => true,
                };
                if !known {
                    return None;
                }
                text.push_str(own);
            }
            Part::Escaped(own, _) | Part::SingleQuoted(own, _) => text.push_str(own),
            Part::Parameter(parameter, _) if sight != Sight::Field => {
                text.extend(&string(parameter, environ)?);
            }
            Part::DoubleQuoted(inner, _) => {
                for part in inner {
                    match part {
                        Part::Literal(own, _) | Part::Escaped(own, _) => text.push_str(own),
                        Part::Parameter(parameter, _) => {
                            let own = string(parameter, environ)?;
                            if sight == Sight::Field && own.has_glob() {
                                return None;
                            }
                            text.extend(&own);
                        }
                        _ => return None,
                    }
                }
            }
            _ => return None,
        }
        first.get_or_insert(quoted);
    }
    let size = text.pieces().iter().fold(0_usize, |size, piece| {
        size.saturating_add(match piece {
            Piece::Literal(own) => own.len(),
            _ => 16,
        })
    });
    (!text.is_empty() && size <= environ.limits().1).then_some((text, first?))
}

/// The string that a parameter holds, nothing done to it.
fn string(parameter: &Parameter, environ: &dyn Environ) -> Option<Text> {
    let name = parameter.name.as_str();
    let plain = parameter.operation == Operation::Value
        && parameter.subscript.is_none()
        && !parameter.indirect
        && !name.starts_with(['@', '*', '#', '0']);
    match plain.then(|| environ.parameter(name))? {
        Value::Scalar(text) => Some(text),
        _ => None,
    }
}

/// The one field of a word that expansions leave alone, but for quoted parameters that hold a string.
pub fn plain_field(word: &Word, environ: &dyn Environ) -> Option<Field> {
    let (most, bytes) = environ.limits();
    let Some((text, quoted)) = untouched(word) else {
        let (text, quoted) = at_once(word, environ, Sight::Field)?;
        if most == 0 || environ.option("nocaseglob") {
            return None;
        }
        let site = Site::new(environ.source(), word.span);
        return Some(Field { text, site, quoted, ..Field::default() });
    };
    if text.len() > bytes || most == 0 {
        return None;
    }
    let site = Site::new(environ.source(), word.span);
    Some(Field { text: Text::literal(text), site, quoted, ..Field::default() })
}

impl<'e> Expander<'e> {
    fn new(environ: &'e mut dyn Environ, span: Span) -> Self {
        let left = environ.limits().1.saturating_mul(16);
        Self {
            environ,
            span,
            left,
            depth: 0,
            effect: Effect::Live,
            place: Place::Within,
            splits: false,
            vanished: false,
            noted: false,
        }
    }

    fn note(&mut self, kind: LimitKind) {
        if !self.noted {
            self.noted = true;
            self.environ.limit(kind, self.span);
        }
    }

    fn fails(&mut self) {
        if self.effect != Effect::Dry {
            self.environ.fails();
        }
    }

    fn site(&self) -> Site {
        Site::new(self.environ.source(), self.span)
    }

    /// The value of a parameter. bash does not take IFS from the environment, so an IFS that nothing
    /// has set is the usual one.
    fn lookup(&self, name: &str) -> Value {
        match self.environ.parameter(name) {
            Value::Unknown(Unknown::Parameter(cause)) if name == "IFS" && cause == "IFS" => {
                Value::literal(" \t\n")
            }
            other => other,
        }
    }

    fn fields(&mut self, word: &Word, declaration: bool) -> Vec<Field> {
        if let Some(field) = plain_field(word, self.environ) {
            return vec![field];
        }
        self.place = Place::of(word);
        let (limit, _) = self.environ.limits();
        let words = if self.environ.option("braceexpand") && holds(Rule::Braces) {
            brace::expand(self, word)
        } else {
            brace::Expanded { words: vec![brace::atoms(word)], more: false }
        };
        let mut more = words.more;
        let mut out = Vec::new();
        for atoms in &words.words {
            if out.len() > limit {
                break;
            }
            let mut runs = Vec::new();
            if declaration && tilde::assignment_end(atoms).is_some() {
                self.splits = false;
                self.atoms(atoms, Tilde::Word, false, &mut runs);
                let quoted = split::starts_quoted(&runs);
                let text = self.flatten(runs);
                out.push(Field { text, site: self.site(), quoted, ..Field::default() });
            } else {
                // A word that braces made has lost the form of an assignment.
                let tilde = if words.words.len() > 1 { Tilde::Start } else { Tilde::Word };
                self.splits = true;
                self.atoms(atoms, tilde, false, &mut runs);
                split::fields(self, runs, limit.saturating_add(1), &mut out);
            }
        }
        if out.len() > limit {
            out.truncate(limit);
            more = true;
        }
        if more {
            self.noted = false;
            self.note(LimitKind::Fields);
            out.push(Field {
                text: Text::unknown(Unknown::Limit),
                arity: crate::model::value::Arity::Many,
                site: self.site(),
                quoted: false,
            });
        }
        out
    }

    /// A word as one text, without splitting.
    fn flat(&mut self, word: &Word, tilde: Tilde, quoted: bool) -> Text {
        let sight = if quoted || tilde == Tilde::None { Sight::Quoted } else { Sight::Text };
        if let Some((text, _)) = at_once(word, self.environ, sight) {
            return text;
        }
        let outer = std::mem::replace(&mut self.splits, false);
        let place = std::mem::replace(&mut self.place, Place::of(word));
        let mut runs = Vec::new();
        self.atoms(&brace::atoms(word), tilde, quoted, &mut runs);
        self.splits = outer;
        self.place = place;
        self.flatten(runs)
    }

    fn flatten(&mut self, runs: Vec<Run>) -> Text {
        let mut out = Text::empty();
        for run in runs {
            match run {
                Run::Text { text, .. } => out.push_str(&text),
                Run::Unknown { cause, .. } | Run::More(cause) => out.push(Piece::Unknown(cause)),
                Run::Glob { glob, .. } => out.push(Piece::Glob(glob)),
                Run::Break => out.push_str(" "),
                Run::Null => {}
            }
        }
        self.bounded(out)
    }

    /// The text, cut where it is longer than a value may be.
    fn bounded(&mut self, text: Text) -> Text {
        let limit = self.environ.limits().1;
        let size: usize = text
            .pieces()
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => text.len(),
                Piece::Glob(glob) => glob.source().len(),
                Piece::Unknown(_) => 16,
            })
            .fold(0, usize::saturating_add);
        if size <= limit {
            return text;
        }
        self.note(LimitKind::Bytes);
        let mut out = Text::empty();
        let mut left = limit;
        for piece in text.pieces() {
            match piece {
                Piece::Literal(text) => {
                    let mut kept = left.min(text.len());
                    while !text.is_char_boundary(kept) {
                        kept -= 1;
                    }
                    out.push_str(text.get(..kept).unwrap_or_default());
                    left = left.saturating_sub(text.len());
                }
                other => {
                    out.push(other.clone());
                    left = left.saturating_sub(16);
                }
            }
            if left == 0 {
                break;
            }
        }
        out.push(Piece::Unknown(Unknown::Limit));
        out
    }

    fn pattern(&mut self, word: &Word) -> Pattern {
        let outer = std::mem::replace(&mut self.splits, false);
        let mut runs = Vec::new();
        self.atoms(&brace::atoms(word), Tilde::Start, false, &mut runs);
        self.splits = outer;
        let extended = self.environ.option("extglob");
        let fold = self.environ.option("nocasematch");
        Pattern::from_cells(&split::cells(runs), extended, fold)
    }

    fn atoms(&mut self, atoms: &[Atom], tilde: Tilde, quoted: bool, out: &mut Vec<Run>) {
        let tilde = if quoted { Tilde::None } else { tilde };
        // What follows in a word that begins like an assignment is part of its value.
        let value = tilde == Tilde::Word && tilde::assignment_end(atoms).is_some();
        for (at, atom) in atoms.iter().enumerate() {
            match atom {
                Atom::Text(text) => {
                    let last = at + 1 == atoms.len();
                    let tilde = if value && at > 0 { Tilde::Assignment } else { tilde };
                    tilde::literal(self, text, tilde, at == 0, last, quoted, out);
                }
                Atom::Part(part) => self.part(part, quoted, out),
                Atom::Made(part) => self.part(part, quoted, out),
            }
        }
    }

    /// The word of `${x:-w}` and its kin.
    fn operand(&mut self, word: &Word, quoted: bool, out: &mut Vec<Run>) {
        let start = out.len();
        // A list without elements makes the quotes around `"$@"` vanish, not those around the word.
        let vanished = self.vanished;
        self.atoms(&brace::atoms(word), Tilde::Start, quoted, out);
        self.vanished = vanished;
        for run in out.iter_mut().skip(start) {
            if let Run::Text { quoted: false, splits, .. } = run {
                *splits = true;
            }
        }
    }

    fn part(&mut self, part: &Part, quoted: bool, out: &mut Vec<Run>) {
        if self.depth >= DEPTH {
            self.note(LimitKind::Depth);
            out.push(Run::Unknown { cause: Unknown::Limit, quoted });
            return;
        }
        self.depth += 1;
        self.part_within(part, quoted, out);
        self.depth -= 1;
    }

    fn part_within(&mut self, part: &Part, quoted: bool, out: &mut Vec<Run>) {
        match part {
            Part::Literal(text, _) => {
                out.push(Run::Text { text: text.clone(), quoted, splits: false });
            }
            Part::Escaped(text, _) | Part::SingleQuoted(text, _) | Part::AnsiQuoted(text, _) => {
                out.push(if text.is_empty() {
                    Run::Null
                } else {
                    Run::Text { text: text.clone(), quoted: true, splits: false }
                });
            }
            Part::DoubleQuoted(parts, _) | Part::LocaleQuoted(parts, _) => {
                let outer = std::mem::replace(&mut self.vanished, false);
                let start = out.len();
                for part in parts {
                    self.part(part, true, out);
                }
                if splits_stars(parts) {
                    let cause = Unknown::NotModelled("a changed `$*` beside `$@`");
                    out.push(Run::Unknown { cause, quoted: false });
                }
                if out.len() == start && !self.vanished && holds(Rule::EmptyQuotes) {
                    out.push(Run::Null);
                }
                self.vanished = outer;
            }
            Part::Parameter(parameter, span) => {
                let start = out.len();
                parameter::expand(self, parameter, *span, quoted, out);
                if !quoted && self.environ.option("zsh") {
                    keep(out, start);
                }
            }
            Part::CommandSubstitution(substitution, span) => {
                let text = self.environ.substitute(substitution, *span);
                let mut text = self.place.admits(text);
                if !quoted && self.environ.option("zsh") && self.splits_elsewhere(&text) {
                    text = Text::unknown(Unknown::NotModelled("the splitting of zsh"));
                }
                self.value(&text, quoted, out);
            }
            Part::ProcessSubstitution(process, span) => {
                let text = self.environ.process(process, *span);
                self.value(&text, true, out);
            }
            Part::Arithmetic(word, span) => {
                let text = self.flat(word, Tilde::None, true);
                let number = arithmetic::evaluate(self, &text, *span);
                self.value(&arithmetic::result(number), quoted, out);
            }
            Part::ArrayAssignment(assignment, _) => {
                out.push(Run::Text {
                    text: format!("{}=", assignment.name).into(),
                    quoted: true,
                    splits: false,
                });
                match &assignment.value {
                    AssignmentValue::Scalar(word) => {
                        let text = self.flat(word, Tilde::Assignment, false);
                        self.value(&text, true, out);
                    }
                    AssignmentValue::Array(elements) => {
                        for element in elements {
                            if let Some(subscript) = &element.subscript {
                                self.flat(subscript, Tilde::None, true);
                            }
                            self.flat(&element.value, Tilde::Assignment, false);
                        }
                        let cause = Unknown::NotModelled("an array value");
                        out.push(Run::Unknown { cause, quoted: true });
                    }
                }
            }
        }
    }

    /// Whether zsh splits a text at other places than bash: at blanks at its ends it does not, and empty
    /// fields between separators of one's own it keeps.
    fn splits_elsewhere(&self, text: &Text) -> bool {
        let ends =
            |own: &str| own.starts_with([' ', '\t', '\n']) || own.ends_with([' ', '\t', '\n']);
        let outer = [text.pieces().first(), text.pieces().last()];
        let blank = outer
            .into_iter()
            .flatten()
            .any(|piece| matches!(piece, Piece::Literal(own) if ends(own)));
        blank || self.lookup("IFS") != Value::literal(" \t\n")
    }

    /// Whether splitting makes words of known characters alone out of names that a search finds: there
    /// may be none of these lines, or several, so that how often such a word stands there is not known.
    fn scatters(&self, text: &Text) -> bool {
        let found =
            |piece: &Piece| matches!(piece, Piece::Unknown(Unknown::Found | Unknown::Listed));
        if !text.pieces().iter().any(found) {
            return false;
        }
        let split::Ifs::Known { characters, .. } = split::Ifs::new(self) else { return false };
        // A line has a name in it.
        let separates = |char: char| char != '\n' && characters.contains(&char);
        text.pieces()
            .iter()
            .any(|piece| matches!(piece, Piece::Literal(own) if own.contains(separates)))
    }

    /// Appends the value an expansion gave.
    fn value(&mut self, text: &Text, quoted: bool, out: &mut Vec<Run>) {
        if !quoted && self.splits && self.scatters(text) {
            out.push(Run::Unknown { cause: Unknown::Output, quoted });
            return;
        }
        for piece in text.pieces() {
            let size = match piece {
                Piece::Literal(text) => text.len() + 8,
                _ => 16,
            };
            if size > self.left {
                self.left = 0;
                self.note(LimitKind::Bytes);
                let limit = Run::Unknown { cause: Unknown::Limit, quoted };
                if out.last() != Some(&limit) {
                    out.push(limit);
                }
                return;
            }
            self.left -= size;
            out.push(match piece {
                Piece::Literal(text) => Run::Text { text: text.clone(), quoted, splits: !quoted },
                Piece::Unknown(cause) => Run::Unknown { cause: cause.clone(), quoted },
                Piece::Glob(glob) => Run::Glob { glob: glob.clone(), quoted },
            });
        }
    }

    /// Whether bash joins `$*` without quotes: in a substitution where nothing is split, without a
    /// separator (seen with bash 5.2: `IFS=; x=$(ls $*)`).
    fn joins_stars(&self) -> bool {
        let none = |ifs: &split::Ifs| matches!(ifs, split::Ifs::Known { characters, .. } if characters.is_empty());
        self.environ.option("within_text") && none(&split::Ifs::new(self))
    }

    /// Appends the elements of a list, joined where it is one text.
    fn list(&mut self, list: &parameter::List, quoted: bool, out: &mut Vec<Run>) {
        let joined = if self.splits { list.star && quoted } else { true };
        if self.splits && !quoted && list.star && list.items.len() > 1 && self.joins_stars() {
            let cause = Unknown::NotModelled("`$*` without a separator in a substitution");
            out.push(Run::Unknown { cause, quoted });
            return;
        }
        if !joined && quoted && list.items.is_empty() && list.open.is_none() {
            self.vanished = true;
        }
        let separator = if !joined {
            // An unquoted list is joined by the first separator and split again, which tells only
            // where that is no blank: it keeps empty elements between others.
            let between = if quoted { Text::empty() } else { split::Ifs::new(self).separator() };
            between
                .exact()
                .is_some_and(|between| !matches!(between, "" | " " | "\t" | "\n"))
                .then_some(between)
        } else if list.star {
            Some(split::Ifs::new(self).separator())
        } else {
            Some(Text::literal(" "))
        };
        let mut first = true;
        for item in &list.items {
            if self.left == 0 {
                self.value(&Text::unknown(Unknown::Limit), quoted, out);
                break;
            }
            if !first {
                self.between(separator.as_ref(), quoted, out);
            }
            first = false;
            if item.is_empty() && quoted && !joined {
                self.left = self.left.saturating_sub(8);
                out.push(Run::Null);
            }
            self.value(item, quoted, out);
        }
        if let Some(cause) = &list.open {
            if !first {
                if joined {
                    // Whether a separator follows is as unknown as what follows it.
                    out.push(Run::Unknown { cause: cause.clone(), quoted });
                    return;
                }
                out.push(Run::Break);
            }
            out.push(if joined {
                Run::Unknown { cause: cause.clone(), quoted }
            } else {
                Run::More(cause.clone())
            });
        }
    }

    fn between(&mut self, separator: Option<&Text>, quoted: bool, out: &mut Vec<Run>) {
        if let Some(separator) = separator {
            self.value(separator, quoted, out);
        } else {
            self.left = self.left.saturating_sub(8);
            out.push(Run::Break);
        }
    }

    fn assign(&mut self, name: &str, subscript: Option<&Text>, value: Text) {
        match self.effect {
            Effect::Live => self.environ.assign(name, subscript, value),
            Effect::Maybe => {
                self.environ.assign(name, subscript, Text::unknown(Unknown::Joined));
            }
            Effect::Dry => {}
        }
    }

    /// As [`subscript`](Self::subscript), where an element is read: zsh counts from 1.
    fn element_key(&mut self, value: &Value, word: &Word) -> parameter::Key {
        match self.subscript(value, word) {
            parameter::Key::Index(index) if index > 0 && self.environ.option("zsh") => {
                parameter::Key::Index(index - 1)
            }
            key => key,
        }
    }

    /// The subscript as the key of an element: evaluated unless the array is associative.
    fn subscript(&mut self, value: &Value, word: &Word) -> parameter::Key {
        let text = self.flat(word, Tilde::None, true);
        if matches!(value, Value::Associative { .. }) {
            return parameter::Key::Name(text);
        }
        match arithmetic::evaluate(self, &text, word.span) {
            Some(index) => parameter::Key::Index(index),
            None => parameter::Key::Unknown,
        }
    }
}

/// What a parameter gave is neither split nor a pattern (zsh); the empty text is still no field.
fn keep(runs: &mut Vec<Run>, start: usize) {
    let mut at = 0;
    runs.retain(|run| {
        at += 1;
        at <= start || !matches!(run, Run::Text { text, .. } if text.is_empty())
    });
    for run in runs.iter_mut().skip(start) {
        if let Run::Text { quoted, splits, .. } = run {
            *quoted = true;
            *splits = false;
        }
    }
}

/// Whether a subscript names all elements.
fn names_all(subscript: &Subscript) -> bool {
    !matches!(subscript, Subscript::Index(_))
}
