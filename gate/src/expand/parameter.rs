//! Parameter expansion (POSIX.1-2024 XCU 2.6.2; Bash manual 3.5.3).

use super::broken::{Rule, holds};
use super::pathname::{self, Pattern};
use super::tilde::Tilde;
use super::{Effect, Expander, Run, arithmetic, names_all, quote};
use crate::model::script::{Operation, Parameter, Replace, Subscript, Word};
use crate::model::span::Span;
use crate::model::value::{Glob, Piece, Str, Text, Truth, Unknown, Value};

/// A list: positional parameters or the elements of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct List {
    pub(super) items: Vec<Text>,
    /// There may be further elements, for this reason.
    pub(super) open: Option<Unknown>,
    /// `*` and not `@`.
    pub(super) star: bool,
    /// The index of each element, where they have some.
    indices: Option<Vec<i64>>,
    positional: bool,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Known to be unset.
    Unset,
    /// Set, known in part.
    Known(Text),
    /// Any value or none.
    Unknown(Unknown),
}

/// What a subscript names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Index(i64),
    Name(Text),
    Unknown,
}

/// What an expansion is about.
enum Subject {
    One { state: State, place: Option<(Str, Option<Text>)> },
    List(List),
}

/// The key that a name without a subscript means.
pub(super) fn first_key(value: &Value) -> Key {
    match value {
        Value::Associative { .. } => Key::Name(Text::literal("0")),
        _ => Key::Index(0),
    }
}

/// An element of a value.
pub(super) fn element(value: &Value, key: &Key) -> State {
    match value {
        Value::Unset => State::Unset,
        Value::Unknown(cause) => State::Unknown(cause.clone()),
        Value::Scalar(text) => match key {
            Key::Index(0 | -1) => State::Known(text.clone()),
            Key::Index(_) => State::Unset,
            _ => State::Unknown(Unknown::Joined),
        },
        Value::Indexed { elements, open } => {
            let Key::Index(index) = key else { return State::Unknown(Unknown::Joined) };
            let index = if *index < 0 {
                if *open {
                    return State::Unknown(Unknown::Joined);
                }
                let end = elements.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
                end.saturating_add(*index)
            } else {
                *index
            };
            // What may have become several elements moves those behind it.
            let moved = *open && elements.range(..index).any(|(_, text)| !text.is_exact());
            match elements.get(&index) {
                Some(_) if moved => State::Unknown(Unknown::Joined),
                Some(text) => State::Known(text.clone()),
                None if *open => State::Unknown(Unknown::Joined),
                None => State::Unset,
            }
        }
        Value::Associative { elements, open } => {
            let Key::Name(name) = key else { return State::Unknown(Unknown::Joined) };
            match name.exact().map(|name| elements.get(name)) {
                Some(Some(text)) => State::Known(text.clone()),
                Some(None) if !open => State::Unset,
                _ => State::Unknown(Unknown::Joined),
            }
        }
    }
}

/// Appends what the expansion gives.
pub(super) fn expand(
    expander: &mut Expander,
    parameter: &Parameter,
    span: Span,
    quoted: bool,
    out: &mut Vec<Run>,
) {
    match &parameter.operation {
        Operation::Names { at } => {
            let list = match expander.environ.names(&parameter.name) {
                Some(names) => List {
                    items: names.into_iter().map(Text::literal).collect(),
                    star: !at,
                    ..List::default()
                },
                None => List {
                    open: Some(Unknown::NotModelled("the names of variables")),
                    star: !at,
                    ..List::default()
                },
            };
            expander.list(&list, quoted, out);
            return;
        }
        Operation::Keys { at } => {
            let value = expander.lookup(&parameter.name);
            let list = keys(&value, !at);
            expander.list(&list, quoted, out);
            return;
        }
        _ => {}
    }
    let mut subject = subject(expander, &parameter.name, parameter.subscript.as_ref());
    if parameter.indirect {
        subject = follow(expander, subject, span);
    }
    operate(expander, subject, parameter, span, quoted, out);
}

fn keys(value: &Value, star: bool) -> List {
    let mut list = List { star, ..List::default() };
    match value {
        Value::Unset => {}
        Value::Scalar(_) => list.items.push(Text::literal("0")),
        Value::Unknown(cause) => list.open = Some(cause.clone()),
        Value::Indexed { elements, open } => {
            list.items = elements.keys().map(|key| Text::literal(key.to_string())).collect();
            list.open = open.then_some(Unknown::Joined);
            let first = elements.values().position(|text| *open && !text.is_exact());
            list.items.truncate(first.map_or(list.items.len(), |first| first + 1));
        }
        Value::Associative { elements, open } => {
            // bash's order of keys is that of its hash table.
            list.open = match elements.len() {
                0 | 1 => open.then_some(Unknown::Joined),
                _ => Some(Unknown::NotModelled("the order of keys")),
            };
            list.items = elements.keys().map(|key| Text::literal(key.as_str())).collect();
            shuffle(&mut list);
        }
    }
    list
}

/// Elements of an associative array of more than one come in an order that is not known: their
/// number is, their places are not.
fn shuffle(list: &mut List) {
    if list.items.len() > 1 {
        let cause = Unknown::NotModelled("the order of keys");
        list.items = list.items.iter().map(|_| Text::unknown(cause.clone())).collect();
        list.open = list.open.take().filter(|open| *open != cause);
    }
}

fn subject(expander: &mut Expander, name: &str, subscript: Option<&Subscript>) -> Subject {
    if matches!(name, "@" | "*") {
        let (items, more) = expander.environ.positional();
        return Subject::List(List {
            items,
            open: more.then(|| Unknown::Parameter("@".into())),
            star: name == "*",
            indices: None,
            positional: true,
        });
    }
    if name == "#" {
        let (items, more) = expander.environ.positional();
        let text = if more {
            Text::unknown(Unknown::Parameter("#".into()))
        } else {
            Text::literal(items.len().to_string())
        };
        return Subject::One { state: State::Known(text), place: None };
    }
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    if digits {
        let name = name.trim_start_matches('0');
        let name = if name.is_empty() { "0" } else { name };
        let value = expander.lookup(name);
        return Subject::One { state: element(&value, &Key::Index(0)), place: None };
    }
    let value = expander.lookup(name);
    match subscript {
        None => Subject::One {
            state: element(&value, &first_key(&value)),
            place: Some((name.into(), None)),
        },
        Some(subscript) if names_all(subscript) => {
            Subject::List(elements(&value, matches!(subscript, Subscript::Star)))
        }
        Some(Subscript::Index(word)) => {
            let key = expander.element_key(&value, word);
            let text = match &key {
                Key::Index(index) => Text::literal(index.to_string()),
                Key::Name(name) => name.clone(),
                Key::Unknown => Text::unknown(Unknown::Arithmetic),
            };
            Subject::One { state: element(&value, &key), place: Some((name.into(), Some(text))) }
        }
        Some(_) => Subject::One { state: State::Unset, place: None },
    }
}

fn elements(value: &Value, star: bool) -> List {
    let mut list = List { star, ..List::default() };
    match value {
        Value::Unset => {}
        Value::Unknown(cause) => list.open = Some(cause.clone()),
        Value::Scalar(text) => {
            list.items.push(text.clone());
            list.indices = Some(vec![0]);
        }
        Value::Indexed { elements, open } => {
            list.items = elements.values().cloned().collect();
            list.indices = Some(elements.keys().copied().collect());
            if *open {
                list.open = Some(Unknown::Joined);
                // Further elements may stand in front of those behind the first that is not exact.
                let first = list.items.iter().position(|text| !text.is_exact());
                let kept = first.map_or(list.items.len(), |first| first + 1);
                list.items.truncate(kept);
                if let Some(indices) = &mut list.indices {
                    indices.truncate(kept);
                }
            }
        }
        Value::Associative { elements, open } => {
            list.items = elements.values().cloned().collect();
            let same = list.items.iter().all(|item| list.items.first() == Some(item));
            if !same {
                shuffle(&mut list);
            }
            if *open {
                list.open = Some(Unknown::Joined);
            }
        }
    }
    list
}

/// `${!x}`: the parameter that the value names.
fn follow(expander: &mut Expander, subject: Subject, span: Span) -> Subject {
    let state = match subject {
        Subject::One { state, .. } => state,
        Subject::List(list) => match (list.items.as_slice(), &list.open) {
            ([item], None) => State::Known(item.clone()),
            _ => State::Unknown(Unknown::NotModelled("indirection over a list")),
        },
    };
    let unknown = |cause: Unknown| Subject::One { state: State::Unknown(cause), place: None };
    let text = match state {
        State::Known(text) => text,
        State::Unset => {
            expander.fails();
            return unknown(Unknown::NotModelled("indirection over an unset name"));
        }
        State::Unknown(cause) => Text::unknown(cause),
    };
    let Some(name) = text.exact() else {
        expander.fails();
        let cause = text.first_unknown().cloned().unwrap_or(Unknown::Item);
        if expander.effect != Effect::Dry && !super::is_number(&cause) {
            expander.environ.evaluate(None, cause.clone(), span);
        }
        return unknown(cause);
    };
    let (base, rest) = match name.find('[') {
        Some(at) => name.split_at_checked(at).unwrap_or((name, "")),
        None => (name, ""),
    };
    let special = matches!(base, "@" | "*" | "#" | "?" | "-" | "$" | "!");
    let digits = !base.is_empty() && base.bytes().all(|byte| byte.is_ascii_digit());
    if !(special || digits || is_name(base)) {
        expander.fails();
        return unknown(Unknown::NotModelled("an invalid indirection"));
    }
    if rest.is_empty() {
        return self::subject(expander, base, None);
    }
    let Some(inner) = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        expander.fails();
        return unknown(Unknown::NotModelled("an invalid indirection"));
    };
    match inner {
        "@" => self::subject(expander, base, Some(&Subscript::At)),
        "*" => self::subject(expander, base, Some(&Subscript::Star)),
        inner => {
            if inner.contains(['$', '`']) {
                if expander.effect != Effect::Dry {
                    expander.environ.evaluate(Some(name), Unknown::Arithmetic, span);
                }
                return unknown(Unknown::Arithmetic);
            }
            let value = expander.lookup(base);
            let text = Text::literal(inner);
            let key = if matches!(value, Value::Associative { .. }) {
                Key::Name(text)
            } else {
                arithmetic::evaluate(expander, &text, span).map_or(Key::Unknown, Key::Index)
            };
            Subject::One { state: element(&value, &key), place: None }
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|char: char| char.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a value counts as missing: unset, or empty where `colon`.
fn is_missing(subject: &Subject, colon: bool) -> Truth {
    let colon = colon && holds(Rule::Colon);
    match subject {
        Subject::One { state: State::Unset, .. } => Truth::Yes,
        Subject::One { state: State::Unknown(_), .. } => Truth::Maybe,
        Subject::One { state: State::Known(text), .. } => {
            if colon {
                is_empty(text)
            } else {
                Truth::No
            }
        }
        Subject::List(list) => match (list.items.as_slice(), &list.open) {
            ([], None) => Truth::Yes,
            ([], Some(_)) => Truth::Maybe,
            ([item], None) if colon => is_empty(item),
            ([_], Some(_)) if colon => Truth::Maybe,
            _ => Truth::No,
        },
    }
}

fn is_empty(text: &Text) -> Truth {
    if text.is_empty() {
        return Truth::Yes;
    }
    let sure = text.pieces().iter().any(|piece| match piece {
        Piece::Literal(_) => true,
        Piece::Glob(_) => true,
        Piece::Unknown(cause) => super::is_number(cause),
    });
    if sure { Truth::No } else { Truth::Maybe }
}

fn operate(
    expander: &mut Expander,
    subject: Subject,
    parameter: &Parameter,
    span: Span,
    quoted: bool,
    out: &mut Vec<Run>,
) {
    match &parameter.operation {
        Operation::Value => give(expander, &subject, quoted, out),
        Operation::Length => {
            let text = length(&subject);
            expander.value(&text, quoted, out);
        }
        Operation::Default { colon, word } | Operation::Error { colon, word } => {
            let missing = is_missing(&subject, *colon);
            let error = matches!(parameter.operation, Operation::Error { .. });
            match missing {
                Truth::No => {
                    aside(expander, word, quoted, Effect::Dry);
                    give(expander, &subject, quoted, out);
                }
                Truth::Yes if error => {
                    expander.fails();
                    // The shell stops here; the message may run substitutions before.
                    aside(expander, word, quoted, Effect::Live);
                    let cause = Unknown::Parameter(parameter.name.clone());
                    out.push(Run::Unknown { cause, quoted });
                }
                Truth::Yes => expander.operand(word, quoted, out),
                Truth::Maybe if error => {
                    expander.fails();
                    aside(expander, word, quoted, Effect::Maybe);
                    give(expander, &subject, quoted, out);
                }
                Truth::Maybe => {
                    let runs = aside(expander, word, quoted, Effect::Maybe);
                    if runs.iter().all(|run| *run == Run::Null) {
                        give(expander, &subject, quoted, out);
                    } else if let Subject::List(list) = &subject {
                        // Its elements, or the word.
                        let open = Some(Unknown::Joined);
                        expander.list(
                            &List { open, star: list.star, ..List::default() },
                            quoted,
                            out,
                        );
                    } else {
                        out.push(either(&runs, quoted));
                    }
                }
            }
        }
        Operation::Assign { colon, word } => match is_missing(&subject, *colon) {
            Truth::No => {
                aside(expander, word, quoted, Effect::Dry);
                give(expander, &subject, quoted, out);
            }
            missing => {
                let Subject::One { place: Some((name, subscript)), .. } = &subject else {
                    expander.fails();
                    aside(expander, word, quoted, Effect::Maybe);
                    let cause = Unknown::NotModelled("an assignment to a special parameter");
                    out.push(Run::Unknown { cause, quoted });
                    return;
                };
                if missing == Truth::Yes {
                    let text = expander.flat(word, Tilde::Start, quoted);
                    expander.assign(name, subscript.as_ref(), text.clone());
                    expander.value(&text, quoted, out);
                } else {
                    aside(expander, word, quoted, Effect::Maybe);
                    let text = Text::unknown(Unknown::Joined);
                    expander.assign(name, subscript.as_ref(), text.clone());
                    expander.value(&text, quoted, out);
                }
            }
        },
        Operation::Alternative { colon, word } => match is_missing(&subject, *colon) {
            Truth::Yes => {
                aside(expander, word, quoted, Effect::Dry);
            }
            Truth::No => expander.operand(word, quoted, out),
            Truth::Maybe => {
                let runs = aside(expander, word, quoted, Effect::Maybe);
                out.push(either(&runs, quoted));
            }
        },
        Operation::RemovePrefix { longest, pattern } => {
            let pattern = expander.pattern(pattern);
            each(expander, subject, quoted, out, |_, text| remove(text, &pattern, *longest, true));
        }
        Operation::RemoveSuffix { longest, pattern } => {
            let pattern = expander.pattern(pattern);
            each(expander, subject, quoted, out, |_, text| remove(text, &pattern, *longest, false));
        }
        Operation::Replace { which, pattern, replacement } => {
            let pattern = expander.pattern(pattern);
            let replacement = Replacement::read(expander, replacement);
            each(expander, subject, quoted, out, |expander, text| {
                let (_, most) = expander.environ.limits();
                replace(text, *which, &pattern, &replacement, most)
            });
        }
        Operation::Case { operator, all, pattern } => {
            let pattern = expander.pattern(pattern);
            each(expander, subject, quoted, out, |_, text| {
                change_case(text, *operator, *all, &pattern)
            });
        }
        Operation::Substring { offset, length } => {
            let mut number = |word: &Word| {
                let text = expander.flat(word, Tilde::None, true);
                arithmetic::evaluate(expander, &text, word.span)
            };
            let offset = number(offset);
            let length = length
                .as_ref()
                .map_or(Length::Whole, |word| number(word).map_or(Length::Unknown, Length::Known));
            substring(expander, &subject, offset, length, quoted, out);
        }
        Operation::Transform(kind) => {
            let kind = *kind;
            each(expander, subject, quoted, out, |expander, text| match kind {
                'P' => expander.environ.prompt(text, span),
                _ => transform(text, kind),
            });
        }
        Operation::Names { .. } | Operation::Keys { .. } => {}
    }
}

/// Expands a word for what it does; gives its runs.
fn aside(expander: &mut Expander, word: &Word, quoted: bool, effect: Effect) -> Vec<Run> {
    let outer = expander.effect;
    expander.effect = match (outer, effect) {
        (Effect::Dry, _) | (_, Effect::Dry) => Effect::Dry,
        (Effect::Maybe, _) | (_, Effect::Maybe) => Effect::Maybe,
        _ => Effect::Live,
    };
    let left = expander.left;
    let mut runs = Vec::new();
    expander.operand(word, quoted, &mut runs);
    expander.left = left;
    expander.effect = outer;
    runs
}

fn give(expander: &mut Expander, subject: &Subject, quoted: bool, out: &mut Vec<Run>) {
    match subject {
        Subject::One { state: State::Unset, .. } => unbound(expander),
        Subject::One { state: State::Known(text), .. } => expander.value(text, quoted, out),
        Subject::One { state: State::Unknown(cause), .. } => {
            unbound(expander);
            expander.value(&Text::unknown(cause.clone()), quoted, out);
        }
        Subject::List(list) => expander.list(list, quoted, out),
    }
}

/// What `set -u` makes of a parameter that is not set.
fn unbound(expander: &mut Expander) {
    if expander.environ.option("nounset") {
        expander.fails();
    }
}

/// Gives the subject with `change` done to each value. What is unset stays so.
fn each(
    expander: &mut Expander,
    subject: Subject,
    quoted: bool,
    out: &mut Vec<Run>,
    mut change: impl FnMut(&mut Expander, &Text) -> Text,
) {
    match subject {
        Subject::One { state: State::Unset, .. } => {}
        Subject::One { state: State::Known(text), .. } => {
            let text = change(expander, &text);
            expander.value(&text, quoted, out);
        }
        Subject::One { state: State::Unknown(cause), .. } => {
            let text = change(expander, &Text::unknown(cause));
            expander.value(&text, quoted, out);
        }
        Subject::List(mut list) => {
            for item in &mut list.items {
                *item = change(expander, item);
            }
            if let Some(cause) = list.open.take() {
                let text = change(expander, &Text::unknown(cause.clone()));
                list.open = Some(text.first_unknown().cloned().unwrap_or(cause));
            }
            expander.list(&list, quoted, out);
        }
    }
}

/// How many characters a text has depends on the locale where some are not ASCII.
fn counted(text: &Text) -> Option<&str> {
    text.exact().filter(|exact| exact.is_ascii())
}

fn length(subject: &Subject) -> Text {
    let count = match subject {
        Subject::One { state: State::Unset, .. } => Some(0),
        Subject::One { state: State::Known(text), .. } => counted(text).map(str::len),
        Subject::One { state: State::Unknown(_), .. } => None,
        Subject::List(list) => list.open.is_none().then_some(list.items.len()),
    };
    match count {
        Some(count) => Text::literal(count.to_string()),
        None => Text::unknown(Unknown::Arithmetic),
    }
}

/// What an operation makes of a text whose part it needs is not known.
fn lost(text: &Text, pattern: Option<&Pattern>) -> Text {
    let cause = text
        .first_unknown()
        .or_else(|| pattern.and_then(Pattern::first_unknown))
        .map_or(Unknown::NotModelled("an operation on a value"), Unknown::changed);
    Text::unknown(cause)
}

fn remove(text: &Text, pattern: &Pattern, longest: bool, prefix: bool) -> Text {
    let longest = longest || !holds(Rule::Shortest);
    if pattern.is_empty() || text.is_empty() {
        return text.clone();
    }
    if let Some(exact) = text.exact() {
        if !exact.is_ascii() && pattern.counts_characters() {
            return lost(text, Some(pattern));
        }
        let rest = if prefix {
            pathname::remove_prefix(exact, pattern, longest)
        } else {
            pathname::remove_suffix(exact, pattern, longest)
        };
        return rest.map_or_else(|| lost(text, Some(pattern)), Text::literal);
    }
    // A fixed pattern concerns only the piece at that end, where it is long enough.
    let pieces = text.pieces();
    let (Some(fixed), Some(end)) =
        (pattern.exact(), if prefix { pieces.first() } else { pieces.last() })
    else {
        return lost(text, Some(pattern));
    };
    match end {
        Piece::Literal(known) if known.len() >= fixed.len() => {
            let rest = if prefix { known.strip_prefix(&fixed) } else { known.strip_suffix(&fixed) };
            let Some(rest) = rest else { return text.clone() };
            let rest = Piece::Literal(rest.into());
            let between = pieces.get(usize::from(prefix)..pieces.len() - usize::from(!prefix));
            let between = between.unwrap_or_default().iter().cloned();
            if prefix {
                std::iter::once(rest).chain(between).collect()
            } else {
                between.chain(std::iter::once(rest)).collect()
            }
        }
        _ => lost(text, Some(pattern)),
    }
}

/// What may be a value or this word: several fields where the word may be several inside quotes.
fn either(runs: &[Run], quoted: bool) -> Run {
    if runs.iter().any(|run| matches!(run, Run::Break | Run::More(_))) {
        Run::More(Unknown::Joined)
    } else {
        Run::Unknown { cause: Unknown::Joined, quoted }
    }
}

/// The replacement of `${x/p/r}`.
struct Replacement {
    text: Text,
    /// Since bash 5.2 an unquoted `&` stands for what was matched and an unquoted backslash quotes it or
    /// another one; before, both stand for themselves.
    ampersand: bool,
}

impl Replacement {
    fn read(expander: &mut Expander, word: &Word) -> Self {
        let outer = std::mem::replace(&mut expander.splits, false);
        let mut runs = Vec::new();
        expander.atoms(&super::brace::atoms(word), Tilde::Start, false, &mut runs);
        expander.splits = outer;
        let special = |text: &str| text.contains('&') || text.contains("\\\\");
        let ampersand = runs
            .iter()
            .any(|run| matches!(run, Run::Text { text, quoted: false, .. } if special(text)));
        Self { text: expander.flatten(runs), ampersand }
    }
}

fn replace(
    text: &Text,
    which: Replace,
    pattern: &Pattern,
    replacement: &Replacement,
    most: usize,
) -> Text {
    let Some(exact) = text.exact() else { return lost(text, Some(pattern)) };
    if !exact.is_ascii() && pattern.counts_characters() {
        return lost(text, Some(pattern));
    }
    let total = exact.chars().count();
    let ranges = match which {
        _ if pattern.is_empty() => match which {
            Replace::First | Replace::All => Some(Vec::new()),
            Replace::Prefix => Some(vec![(0, 0)]),
            Replace::Suffix => Some(vec![(total, total)]),
        },
        // An empty value is replaced where the pattern matches nothing at all.
        Replace::First | Replace::All if exact.is_empty() => {
            pathname::longest_at_start(exact, pattern)
        }
        Replace::First => pathname::matches_in(exact, pattern, false),
        Replace::All => pathname::matches_in(exact, pattern, holds(Rule::Every)),
        Replace::Prefix => pathname::longest_at_start(exact, pattern),
        Replace::Suffix => pathname::longest_at_end(exact, pattern),
    };
    let Some(ranges) = ranges else { return lost(text, Some(pattern)) };
    if ranges.is_empty() {
        return text.clone();
    }
    if replacement.ampersand {
        return Text::unknown(Unknown::NotModelled("`&` in a replacement"));
    }
    let size: usize = replacement
        .text
        .pieces()
        .iter()
        .map(|piece| if let Piece::Literal(text) = piece { text.len() } else { 16 })
        .sum();
    if size.saturating_mul(ranges.len()) > most {
        return Text::unknown(Unknown::Limit);
    }
    let mut out = Text::empty();
    let mut chars = exact.chars();
    let mut at = 0;
    for (start, end) in ranges {
        let kept: String = chars.by_ref().take(start - at).collect();
        out.push_str(&kept);
        out.extend(&replacement.text);
        for _ in start..end {
            chars.next();
        }
        at = end;
    }
    out.push_str(chars.as_str());
    out
}

fn change_case(text: &Text, operator: char, all: bool, pattern: &Pattern) -> Text {
    let mut out = Text::empty();
    let mut first = true;
    for piece in text.pieces() {
        let literal = match piece {
            Piece::Literal(literal) => literal,
            Piece::Unknown(_) if all => {
                out.push(piece.clone());
                continue;
            }
            Piece::Glob(Glob::Any | Glob::One | Glob::Deep) if all => {
                out.push(piece.clone());
                continue;
            }
            _ if first => return lost(text, Some(pattern)),
            _ => {
                out.push(if all { lost_piece(text) } else { piece.clone() });
                continue;
            }
        };
        for char in literal.chars() {
            if !all && !first {
                out.push_str(char.encode_utf8(&mut [0; 4]));
                continue;
            }
            first = false;
            let Some(changes) = pathname::matches_char(char, pattern) else {
                return lost(text, Some(pattern));
            };
            if !char.is_ascii() {
                // Whether it has another case depends on the locale.
                if char.is_alphabetic() && changes {
                    return lost(text, Some(pattern));
                }
                out.push_str(char.encode_utf8(&mut [0; 4]));
                continue;
            }
            let changed = match operator {
                '^' => char.to_ascii_uppercase(),
                ',' => char.to_ascii_lowercase(),
                _ if char.is_ascii_lowercase() => char.to_ascii_uppercase(),
                _ => char.to_ascii_lowercase(),
            };
            out.push_str((if changes { changed } else { char }).encode_utf8(&mut [0; 4]));
        }
    }
    out
}

fn lost_piece(text: &Text) -> Piece {
    Piece::Unknown(text.first_unknown().map_or(Unknown::Item, Unknown::changed))
}

fn transform(text: &Text, kind: char) -> Text {
    let every = Pattern::default();
    match kind {
        'U' => change_case(text, '^', true, &every),
        'u' => change_case(text, '^', false, &every),
        'L' => change_case(text, ',', true, &every),
        'Q' => match text.exact() {
            Some(exact) if exact.is_ascii() => Text::literal(quote::quoted(exact)),
            _ => lost(text, None),
        },
        'E' => match text.exact() {
            Some(exact) => quote::decoded(exact).map_or_else(|| lost(text, None), Text::literal),
            None => lost(text, None),
        },
        // These show the attributes of a variable too.
        'A' => Text::unknown(Unknown::NotModelled("`${x@A}`")),
        'a' => Text::unknown(Unknown::NotModelled("`${x@a}`")),
        'K' => Text::unknown(Unknown::NotModelled("`${x@K}`")),
        'k' => Text::unknown(Unknown::NotModelled("`${x@k}`")),
        _ => Text::unknown(Unknown::NotModelled("an unknown transformation")),
    }
}

/// The length of `${x:offset:length}`.
#[derive(Clone, Copy)]
enum Length {
    /// None is given: all that follows.
    Whole,
    Known(i64),
    Unknown,
}

impl Length {
    #[expect(clippy::option_option, reason = "the inner one is the absence of a length")]
    fn known(self) -> Option<Option<i64>> {
        match self {
            Self::Whole => Some(None),
            Self::Known(length) => Some(Some(length)),
            Self::Unknown => None,
        }
    }
}

fn substring(
    expander: &mut Expander,
    subject: &Subject,
    offset: Option<i64>,
    length: Length,
    quoted: bool,
    out: &mut Vec<Run>,
) {
    match subject {
        Subject::One { state: State::Unset, .. } => {}
        Subject::One { state: State::Unknown(cause), .. } => {
            expander.value(&Text::unknown(cause.clone()), quoted, out);
        }
        Subject::One { state: State::Known(text), .. } => {
            let text = cut(text, offset, length);
            expander.value(&text, quoted, out);
        }
        Subject::List(list) => {
            let list = slice(expander, list, offset, length);
            expander.list(&list, quoted, out);
        }
    }
}

fn cut(text: &Text, offset: Option<i64>, length: Length) -> Text {
    let cause = || text.first_unknown().map_or(Unknown::Arithmetic, Unknown::changed);
    let (Some(offset), Some(length)) = (offset, length.known()) else {
        return Text::unknown(cause());
    };
    if let Some(exact) = counted(text) {
        let total = i64::try_from(exact.len()).unwrap_or(i64::MAX);
        let start = if offset < 0 { total.saturating_add(offset) } else { offset };
        if start < 0 || start > total {
            return Text::empty();
        }
        let end = match length {
            None => total,
            Some(length) if length < 0 => total.saturating_add(length),
            Some(length) => start.saturating_add(length).min(total),
        };
        let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
        // An end before the start is an error that stops the command.
        return exact.get(range).map_or_else(|| Text::unknown(Unknown::Arithmetic), Text::literal);
    }
    // What is cut out of the known start is known.
    let known = text.prefix();
    let Ok(start) = usize::try_from(offset) else { return Text::unknown(cause()) };
    if !known.is_ascii() || start > known.len() {
        return Text::unknown(cause());
    }
    match length {
        Some(length) => match usize::try_from(length).ok().map(|length| start + length) {
            Some(end) if end <= known.len() => {
                Text::literal(known.get(start..end).unwrap_or_default())
            }
            _ => Text::unknown(cause()),
        },
        None if known.is_empty() => text.clone(),
        None => std::iter::once(Piece::Literal(known.get(start..).unwrap_or_default().into()))
            .chain(text.pieces().iter().skip(1).cloned())
            .collect(),
    }
}

fn slice(expander: &mut Expander, list: &List, offset: Option<i64>, length: Length) -> List {
    let open = |cause: Unknown| List { open: Some(cause), star: list.star, ..List::default() };
    let (Some(offset), Some(length)) = (offset, length.known()) else {
        return open(list.open.clone().unwrap_or(Unknown::Joined));
    };
    if length.is_some_and(|length| length < 0) {
        return open(Unknown::Arithmetic);
    }
    let mut items = list.items.clone();
    let mut indices: Vec<i64> = match &list.indices {
        Some(indices) => indices.clone(),
        None => (1..).take(items.len()).collect(),
    };
    if list.positional {
        // Offset 0 is the name of the shell or script.
        let zero = match expander.lookup("0") {
            Value::Scalar(text) => text,
            Value::Unknown(cause) => Text::unknown(cause),
            _ => Text::unknown(Unknown::Parameter("0".into())),
        };
        items.insert(0, zero);
        indices.insert(0, 0);
    } else if list.indices.is_none() && !items.is_empty() {
        return open(Unknown::NotModelled("the order of keys"));
    }
    let end = indices.last().map_or(0, |last| last.saturating_add(1));
    let start = if offset < 0 {
        if list.open.is_some() {
            return open(Unknown::Joined);
        }
        end.saturating_add(offset)
    } else {
        offset
    };
    let chosen: Vec<Text> = if start < 0 {
        Vec::new()
    } else {
        let rest = indices.iter().zip(items).filter(|(index, _)| **index >= start);
        let most = length.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        rest.take(most).map(|(_, item)| item).collect()
    };
    let full = length.is_some_and(|most| usize::try_from(most).is_ok_and(|m| m <= chosen.len()));
    // An open array may have elements between those that are known.
    let cause = match &list.open {
        Some(_) if list.positional && full => None,
        other => other.clone(),
    };
    if cause.is_some() && !list.positional {
        return open(Unknown::Joined);
    }
    List { items: chosen, open: cause, star: list.star, ..List::default() }
}
