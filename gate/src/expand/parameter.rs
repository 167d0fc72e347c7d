//! Parameter expansion (POSIX.1-2024 XCU 2.6.2; Bash manual 3.5.3).

mod change;

use super::broken::{Rule, holds};
use super::tilde::Tilde;
use super::{Effect, Expander, Run, arithmetic, names_all};
use crate::model::script::{Operation, Parameter, Subscript, Word};
use crate::model::span::Span;
use crate::model::value::{Piece, Str, Text, Truth, Unknown, Value};
use change::{
    Length, Replacement, change_case, either, length, remove, replace, substring, transform,
};

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
        // In zsh the name of an array is all of it (zshparam(1), "Array Parameters").
        None if matches!(value, Value::Indexed { .. } | Value::Associative { .. })
            && expander.environ.option("zsh") =>
        {
            Subject::List(elements(&value, true))
        }
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
