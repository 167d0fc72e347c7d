//! Operations on the text of a parameter: lengths, parts, replacements, cases.

use super::{List, State, Subject};
use crate::expand::broken::{Rule, holds};
use crate::expand::pathname::{self, Pattern};
use crate::expand::tilde::Tilde;
use crate::expand::{Expander, Run, quote};
use crate::model::script::{Replace, Word};
use crate::model::value::{Glob, Piece, Text, Unknown, Value};

/// How many characters a text has depends on the locale where some are not ASCII.
fn counted(text: &Text) -> Option<&str> {
    text.exact().filter(|exact| exact.is_ascii())
}

pub(super) fn length(subject: &Subject) -> Text {
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

pub(super) fn remove(text: &Text, pattern: &Pattern, longest: bool, prefix: bool) -> Text {
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
pub(super) fn either(runs: &[Run], quoted: bool) -> Run {
    if runs.iter().any(|run| matches!(run, Run::Break | Run::More(_))) {
        Run::More(Unknown::Joined)
    } else {
        Run::Unknown { cause: Unknown::Joined, quoted }
    }
}

/// The replacement of `${x/p/r}`.
pub(super) struct Replacement {
    text: Text,
    /// Since bash 5.2 an unquoted `&` stands for what was matched and an unquoted backslash quotes it or
    /// another one; before, both stand for themselves.
    ampersand: bool,
}

impl Replacement {
    pub(super) fn read(expander: &mut Expander, word: &Word) -> Self {
        let outer = std::mem::replace(&mut expander.splits, false);
        let mut runs = Vec::new();
        expander.atoms(&super::super::brace::atoms(word), Tilde::Start, false, &mut runs);
        expander.splits = outer;
        let special = |text: &str| text.contains('&') || text.contains("\\\\");
        let ampersand = runs
            .iter()
            .any(|run| matches!(run, Run::Text { text, quoted: false, .. } if special(text)));
        Self { text: expander.flatten(runs), ampersand }
    }
}

pub(super) fn replace(
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

pub(super) fn change_case(text: &Text, operator: char, all: bool, pattern: &Pattern) -> Text {
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

pub(super) fn transform(text: &Text, kind: char) -> Text {
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
pub(super) enum Length {
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

pub(super) fn substring(
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
