//! One component of a path against a name or a glob.

use std::borrow::Cow;

use crate::model::value::{Glob, Piece, Text, Truth};

/// Characters a component may have; no file has a longer name.
const LONGEST: usize = 1024;

/// What a component or glob asks of the next characters.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Atom {
    /// This one.
    Char(char),
    /// Any one.
    One,
    /// One of a bracket expression.
    Set(String),
    /// Any number of any.
    Any,
    /// Any number of any, not known now.
    Unknown,
}

impl Atom {
    const fn is_many(&self) -> bool {
        matches!(self, Self::Any | Self::Unknown)
    }

    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Char(a), Self::Char(b)) => fold(*a) == fold(*b),
            (Self::Set(set), Self::Char(c)) | (Self::Char(c), Self::Set(set)) => in_set(set, *c),
            _ => true,
        }
    }
}

/// A component of a path: most are plain names, which then borrow from the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Exactly these characters.
    Name(&'a str),
    /// Anything else.
    Mixed(Text),
}

impl Part<'_> {
    /// The characters, where all are known and none is a pattern.
    pub fn exact(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Mixed(text) => text.exact(),
        }
    }

    /// Whether all characters are known and none is a pattern.
    pub fn is_exact(&self) -> bool {
        self.exact().is_some()
    }

    /// Whether some piece is unknown.
    pub fn has_unknown(&self) -> bool {
        matches!(self, Self::Mixed(text) if text.has_unknown())
    }

    /// Whether some piece is a pattern.
    pub fn has_glob(&self) -> bool {
        matches!(self, Self::Mixed(text) if text.has_glob())
    }

    /// The known characters at its start.
    pub fn prefix(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Mixed(text) => text.prefix(),
        }
    }

    /// Appends it to a text.
    pub fn append_to(&self, out: &mut Text) {
        match self {
            Self::Name(name) => out.push_str(name),
            Self::Mixed(text) => out.extend(text),
        }
    }
}

/// A glob (`*` and `?` only) that is compared with many names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern<'a> {
    text: Cow<'a, str>,
    kind: PatternKind,
    /// Its last byte, a small letter; 0 for none.
    last: u8,
}

/// What a pattern looks like, for the two that can be compared byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternKind {
    /// ASCII without a wildcard.
    Name,
    /// `*`, then ASCII without a wildcard.
    Ending,
    /// Anything else.
    Glob,
}

impl<'a> Pattern<'a> {
    /// The pattern of a glob.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii() && b != b'*' && b != b'?');
        let kind = match text.strip_prefix('*') {
            _ if plain(&text) => PatternKind::Name,
            Some(ending) if !ending.is_empty() && plain(ending) => PatternKind::Ending,
            _ => PatternKind::Glob,
        };
        let last = text.bytes().last().map_or(0, |byte| byte.to_ascii_lowercase());
        Self { text, kind, last }
    }

    /// The glob.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// As [`matches()`].
    pub fn matches(&self, part: &Part<'_>) -> Truth {
        match part {
            Part::Name(name) => Truth::from(self.fits(name)),
            Part::Mixed(text) => matches(text, &self.text),
        }
    }

    /// As [`spells`].
    pub fn is_spelled_by(&self, part: &Part<'_>) -> Truth {
        match part {
            Part::Name(name) => Truth::from(self.fits(name)),
            Part::Mixed(text) => spells(text, &self.text),
        }
    }

    fn fits(&self, name: &str) -> bool {
        let (own, bytes) = (self.text.as_bytes(), name.as_bytes());
        // An ASCII byte at the end is a character of its own, which only its own letter fits.
        if self.kind != PatternKind::Glob
            && let Some(last) = bytes.last()
            && last.is_ascii()
            && last.to_ascii_lowercase() != self.last
        {
            return false;
        }
        match self.kind {
            PatternKind::Name if name.is_ascii() => own.eq_ignore_ascii_case(bytes),
            PatternKind::Ending if name.is_ascii() && name.len() <= LONGEST => {
                let ending = own.get(1..).unwrap_or_default();
                let start = bytes.len().checked_sub(ending.len());
                start
                    .and_then(|start| bytes.get(start..))
                    .is_some_and(|end| end.eq_ignore_ascii_case(ending))
            }
            _ => is_like(name, &self.text),
        }
    }
}

/// Whether `component` is a name that the glob `pattern` (`*` and `?` only) describes, letters
/// folded. A pattern in the component counts as every name it can match.
pub fn matches(component: &Text, pattern: &str) -> Truth {
    if let Some(name) = component.exact() {
        return Truth::from(is_like(name, pattern));
    }
    let Some(subject) = atoms(component) else { return Truth::No };
    let pattern = glob(pattern);
    if hides(component, &pattern) || !intersects(&subject, &pattern) {
        Truth::No
    } else if !component.has_unknown() || swallows(&pattern, &subject) {
        Truth::Yes
    } else {
        Truth::Maybe
    }
}

/// As [`matches()`], but a pattern in the component counts only where its own characters spell the
/// glob out: `*secret*` is spelled out in `a_secret.*` and not in `*`.
pub fn spells(component: &Text, pattern: &str) -> Truth {
    if let Some(name) = component.exact() {
        return Truth::from(is_like(name, pattern));
    }
    let Some(subject) = atoms(component) else { return Truth::No };
    let pattern = glob(pattern);
    if swallows(&pattern, &subject) {
        Truth::Yes
    } else if component.has_unknown() && intersects(&subject, &pattern) {
        Truth::Maybe
    } else {
        Truth::No
    }
}

/// Patterns that are compared with the same names, found by their last letter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns {
    list: Vec<Pattern<'static>>,
    /// Positions of those without a wildcard at their end, by the low bits of the last byte.
    by_last: [Vec<u16>; BUCKETS],
    /// Positions of the others.
    globs: Vec<u16>,
}

/// As many lists as the low five bits of a byte tell apart; a letter has the same in both cases.
const BUCKETS: usize = 32;

impl Patterns {
    /// Takes in further patterns.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Pattern<'static>>) {
        for pattern in more {
            let position = u16::try_from(self.list.len()).unwrap_or(u16::MAX);
            match self.by_last.get_mut(usize::from(pattern.last) % BUCKETS) {
                Some(bucket) if pattern.kind != PatternKind::Glob => bucket.push(position),
                _ => self.globs.push(position),
            }
            self.list.push(pattern);
        }
    }

    /// Whether one of them [`matches()`].
    pub fn matches(&self, part: &Part<'_>) -> Truth {
        self.any(part, |pattern| pattern.matches(part))
    }

    /// Whether one of them is what the part [`spells`].
    pub fn are_spelled_by(&self, part: &Part<'_>) -> Truth {
        self.any(part, |pattern| pattern.is_spelled_by(part))
    }

    fn any(&self, part: &Part<'_>, mut ask: impl FnMut(&Pattern<'_>) -> Truth) -> Truth {
        let last = match part {
            Part::Name(name) => name.bytes().last().filter(u8::is_ascii),
            Part::Mixed(_) => None,
        };
        let bucket = last.and_then(|last| self.by_last.get(usize::from(last) % BUCKETS));
        let Some(bucket) = bucket else {
            return self.list.iter().fold(Truth::No, |truth, one| truth.or(ask(one)));
        };
        let chosen = bucket.iter().chain(&self.globs);
        chosen
            .filter_map(|position| self.list.get(usize::from(*position)))
            .fold(Truth::No, |truth, one| truth.or(ask(one)))
    }
}

/// Whether a known name fits a glob, letters folded. Only the last `*` is gone back to, which is
/// enough and keeps the work below the product of the lengths.
fn is_like(name: &str, pattern: &str) -> bool {
    if name.len() > LONGEST {
        return false;
    }
    let (mut names, mut globs) = (name.chars(), pattern.chars());
    let mut back: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let (mut next_names, mut next_globs) = (names.clone(), globs.clone());
        match (next_globs.next(), next_names.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                globs = next_globs;
                back = Some((names.clone(), globs.clone()));
            }
            (Some('?'), Some(_)) => (names, globs) = (next_names, next_globs),
            (Some(glob), Some(name)) if glob == name || fold(glob) == fold(name) => {
                (names, globs) = (next_names, next_globs);
            }
            _ => {
                let Some((from, rest)) = &mut back else { return false };
                if from.next().is_none() {
                    return false;
                }
                (names, globs) = (from.clone(), rest.clone());
            }
        }
    }
}

/// Whether the component is exactly `name`, letters as they are.
pub fn is(component: &Part<'_>, name: &str) -> bool {
    component.exact() == Some(name)
}

/// Whether it stands for every name in its directory (`*`, `?*`, `[!.]*`, `**`), or for every hidden
/// one (`.*`, which some shells take for `..` too).
pub fn is_everything(component: &Part<'_>) -> Truth {
    let Part::Mixed(component) = component else { return Truth::No };
    let mut many = false;
    for (index, piece) in component.pieces().iter().enumerate() {
        match piece {
            Piece::Glob(Glob::Any | Glob::Deep) => many = true,
            Piece::Glob(Glob::One) => {}
            Piece::Glob(Glob::Set(set)) if set.starts_with("[!") || set.starts_with("[^") => {}
            Piece::Literal(text) if index == 0 && text == "." => {}
            _ => return Truth::No,
        }
    }
    Truth::from(many)
}

/// Atoms of a component; none where it is longer than any name.
fn atoms(component: &Text) -> Option<Vec<Atom>> {
    let mut out = Vec::new();
    for piece in component.pieces() {
        match piece {
            Piece::Literal(text) => out.extend(text.chars().take(LONGEST + 1).map(Atom::Char)),
            Piece::Unknown(_) => out.push(Atom::Unknown),
            Piece::Glob(Glob::One) => out.push(Atom::One),
            Piece::Glob(Glob::Set(set)) => out.push(Atom::Set(set.clone())),
            Piece::Glob(Glob::Any | Glob::Deep | Glob::Extended(_)) => out.push(Atom::Any),
        }
        if out.len() > LONGEST {
            return None;
        }
    }
    Some(out)
}

fn glob(pattern: &str) -> Vec<Atom> {
    pattern
        .chars()
        .map(|c| match c {
            '*' => Atom::Any,
            '?' => Atom::One,
            other => Atom::Char(other),
        })
        .collect()
}

/// Whether a pattern at the start of the component keeps it from matching a name with a dot there.
fn hides(component: &Text, pattern: &[Atom]) -> bool {
    matches!(component.pieces().first(), Some(Piece::Glob(glob)) if !matches!(glob, Glob::Extended(_)))
        && pattern.first() == Some(&Atom::Char('.'))
}

/// Whether some string fits both.
fn intersects(left: &[Atom], right: &[Atom]) -> bool {
    // `next[j]` says whether the rest of `left` and `right[j..]` fit a common string.
    let mut next: Vec<bool> = vec![false; right.len() + 1];
    for i in (0..=left.len()).rev() {
        let mut row = vec![false; right.len() + 1];
        for j in (0..=right.len()).rev() {
            let below = next.get(j).copied().unwrap_or(false);
            let beside = row.get(j + 1).copied().unwrap_or(false);
            let across = next.get(j + 1).copied().unwrap_or(false);
            let value = match (left.get(i), right.get(j)) {
                (None, None) => true,
                (Some(a), None) => a.is_many() && below,
                (None, Some(b)) => b.is_many() && beside,
                (Some(a), Some(b)) if a.is_many() || b.is_many() => below || beside,
                (Some(a), Some(b)) => a.meets(b) && across,
            };
            if let Some(slot) = row.get_mut(j) {
                *slot = value;
            }
        }
        next = row;
    }
    next.first().copied().unwrap_or(false)
}

/// Whether every string that fits `subject` fits `pattern`; only a `*` of the pattern takes in a
/// wild part of the subject.
fn swallows(pattern: &[Atom], subject: &[Atom]) -> bool {
    let mut next: Vec<bool> = vec![false; pattern.len() + 1];
    for i in (0..=subject.len()).rev() {
        let mut row = vec![false; pattern.len() + 1];
        for j in (0..=pattern.len()).rev() {
            let below = next.get(j).copied().unwrap_or(false);
            let beside = row.get(j + 1).copied().unwrap_or(false);
            let across = next.get(j + 1).copied().unwrap_or(false);
            let value = match (subject.get(i), pattern.get(j)) {
                (None, None) => true,
                (_, None) => false,
                (None, Some(b)) => *b == Atom::Any && beside,
                (Some(_), Some(Atom::Any)) => below || beside,
                (Some(Atom::Any | Atom::Unknown), Some(_)) => false,
                (Some(_), Some(Atom::One)) => across,
                (Some(Atom::Char(a)), Some(Atom::Char(b))) => fold(*a) == fold(*b) && across,
                (Some(_), Some(_)) => false,
            };
            if let Some(slot) = row.get_mut(j) {
                *slot = value;
            }
        }
        next = row;
    }
    next.first().copied().unwrap_or(false)
}

fn fold(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Whether a bracket expression matches a character; a class it does not know matches any.
fn in_set(set: &str, c: char) -> bool {
    let inner = set.strip_prefix('[').and_then(|s| s.strip_suffix(']')).unwrap_or(set);
    if inner.contains("[:") || inner.contains("[=") || inner.contains("[.") {
        return true;
    }
    let (negated, inner) = match inner.strip_prefix(['!', '^']) {
        Some(rest) => (true, rest),
        None => (false, inner),
    };
    let chars: Vec<char> = inner.chars().filter(|c| *c != '\\').collect();
    let mut found = false;
    let mut rest = chars.as_slice();
    while let Some((first, tail)) = rest.split_first() {
        if let ['-', last, after @ ..] = tail {
            found |= (*first..=*last).contains(&c);
            rest = after;
        } else {
            found |= fold(*first) == fold(c);
            rest = tail;
        }
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::value::Unknown;

    fn text(shown: &str) -> Text {
        shown
            .chars()
            .map(|c| match c {
                '*' => Piece::Glob(Glob::Any),
                '?' => Piece::Glob(Glob::One),
                '$' => Piece::Unknown(Unknown::Output),
                c => Piece::Literal(c.to_string()),
            })
            .collect()
    }

    #[test]
    fn components_match_what_they_can_become() {
        use Truth::{Maybe, No, Yes};
        let table = [
            ("id_rsa", "id_rsa*", Yes, Yes),
            ("ID_RSA", "id_rsa", Yes, Yes),
            ("form", "rm", No, No),
            ("a_secret_b", "*secret*", Yes, Yes),
            ("aabab", "*ab", Yes, Yes),
            ("*", "id_rsa", Yes, No),
            ("*", ".env", No, No),
            (".e*", ".env", Yes, No),
            ("*.md", "*.pem", No, No),
            ("*.p*", "*.pem", Yes, No),
            ("*secret*", "*secret*", Yes, Yes),
            ("$", "id_rsa", Maybe, Maybe),
            ("secret$", "*secret*", Yes, Yes),
            ("a$.md", "*.pem", No, No),
        ];
        for (shown, pattern, matched, spelled) in table {
            assert_eq!(matches(&text(shown), pattern), matched, "{shown} {pattern}");
            assert_eq!(spells(&text(shown), pattern), spelled, "{shown} {pattern}");
        }
    }
}
