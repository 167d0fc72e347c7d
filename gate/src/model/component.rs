//! One component of a path against a name or a glob.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Deref;

use crate::model::value::{Glob, Piece, Str, Text, Truth};

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
    Set(Str),
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
    Mixed(Mixed),
}

/// The text of a component that is not plain, prepared when it is first compared with a pattern.
#[derive(Clone, Debug)]
pub struct Mixed {
    text: Text,
    subject: OnceCell<Option<Subject>>,
}

impl Mixed {
    /// None where it is longer than any name.
    fn subject(&self) -> Option<&Subject> {
        self.subject.get_or_init(|| Subject::new(&self.text)).as_ref()
    }

    /// Appends known characters.
    pub fn push_str(&mut self, more: &str) {
        self.subject.take();
        self.text.push_str(more);
    }

    /// The text.
    pub fn into_text(self) -> Text {
        self.text
    }
}

impl From<Text> for Mixed {
    fn from(text: Text) -> Self {
        Self { text, subject: OnceCell::new() }
    }
}

impl Deref for Mixed {
    type Target = Text;

    fn deref(&self) -> &Text {
        &self.text
    }
}

impl PartialEq for Mixed {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Mixed {}

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
    /// The letters that a name must have to fit it, as [`letters`].
    letters: u32,
}

/// The letters of a name without regard to their case, a bit each; 0 where it is not ASCII.
fn letters(name: &str) -> u32 {
    let bit = |byte: u8| if byte.is_ascii_alphabetic() { 1 << (byte & 31) } else { 0 };
    if name.is_ascii() { name.bytes().fold(0, |all, byte| all | bit(byte)) } else { 0 }
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
        let letters = letters(&text);
        Self { text, kind, last, letters }
    }

    /// The glob.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The list it stands in, of [`BUCKETS`]; none where its end tells nothing.
    pub fn bucket(&self) -> Option<usize> {
        (self.kind != PatternKind::Glob).then(|| usize::from(self.last) % BUCKETS)
    }

    /// As [`matches()`].
    pub fn matches(&self, part: &Part<'_>) -> Truth {
        match part {
            Part::Name(name) => Truth::from(self.fits(name)),
            Part::Mixed(text) => match text.exact() {
                Some(name) => Truth::from(is_like(name, &self.text)),
                None => text.subject().map_or(Truth::No, |subject| subject.matches(self)),
            },
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

/// A component that is not all known, prepared for many patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Subject {
    atoms: Vec<Atom>,
    /// Whether it begins with a pattern that does not match a dot there.
    hides: bool,
    /// Whether it has an unknown piece.
    has_unknown: bool,
    /// Whether it takes in any number of characters somewhere.
    has_many: bool,
}

impl Subject {
    /// None where the component is longer than any name.
    fn new(component: &Text) -> Option<Self> {
        let atoms = atoms(component)?;
        let first = component.pieces().first();
        Some(Self {
            hides: matches!(first, Some(Piece::Glob(glob)) if !matches!(glob, Glob::Extended(_))),
            has_unknown: component.has_unknown(),
            has_many: atoms.iter().any(Atom::is_many),
            atoms,
        })
    }

    /// As [`matches()`].
    fn matches(&self, pattern: &Pattern<'_>) -> Truth {
        if self.is_anything() {
            let everything = pattern.text.bytes().all(|byte| byte == b'*') && pattern.last != 0;
            return if everything { Truth::Yes } else { Truth::Maybe };
        }
        if self.differs(pattern)
            || (self.hides && pattern.text.starts_with('.'))
            || !self.meets(pattern)
        {
            Truth::No
        } else if !self.has_unknown || self.spells_out(pattern) {
            Truth::Yes
        } else {
            Truth::Maybe
        }
    }

    /// Whether it is any string at all.
    fn is_anything(&self) -> bool {
        matches!(self.atoms.as_slice(), [Atom::Unknown])
    }

    /// As [`spells`].
    fn spells(&self, pattern: &Pattern<'_>) -> Truth {
        if self.is_anything() {
            return self.matches(pattern);
        }
        if self.differs(pattern) {
            Truth::No
        } else if self.spells_out(pattern) {
            Truth::Yes
        } else if self.has_unknown && self.meets(pattern) {
            Truth::Maybe
        } else {
            Truth::No
        }
    }

    /// Whether a letter at an end already says that nothing fits both.
    fn differs(&self, pattern: &Pattern<'_>) -> bool {
        let other = |atom: Option<&Atom>, own: Option<u8>| match (atom, own) {
            (Some(Atom::Char(c)), Some(own)) => {
                c.is_ascii() && !c.eq_ignore_ascii_case(&char::from(own))
            }
            _ => false,
        };
        match pattern.kind {
            PatternKind::Glob => false,
            PatternKind::Ending => other(self.atoms.last(), Some(pattern.last)),
            PatternKind::Name => {
                other(self.atoms.last(), Some(pattern.last).filter(|last| *last != 0))
                    || other(self.atoms.first(), pattern.text.bytes().next())
            }
        }
    }

    /// Whether some string fits both.
    fn meets(&self, pattern: &Pattern<'_>) -> bool {
        match pattern.kind {
            PatternKind::Name => self.takes(&pattern.text),
            PatternKind::Ending if self.atoms.last().is_some_and(Atom::is_many) => true,
            _ => intersects(&self.atoms, &glob(&pattern.text)),
        }
    }

    /// Whether every string that fits it fits the pattern.
    fn spells_out(&self, pattern: &Pattern<'_>) -> bool {
        match pattern.kind {
            PatternKind::Name if self.has_many => false,
            PatternKind::Ending => {
                let mut atoms = self.atoms.iter().rev();
                pattern.text.bytes().skip(1).rev().all(|byte| {
                    matches!(atoms.next(), Some(Atom::Char(c)) if fold(*c) == fold(byte.into()))
                })
            }
            _ => swallows(&glob(&pattern.text), &self.atoms),
        }
    }

    /// Whether a name fits it. Only the last part that takes in any number is gone back to.
    fn takes(&self, name: &str) -> bool {
        let (mut names, mut atoms) = (name.chars(), self.atoms.iter());
        let mut back = None;
        loop {
            let (mut next_names, mut next_atoms) = (names.clone(), atoms.clone());
            match (next_atoms.next(), next_names.next()) {
                (None, None) => return true,
                (Some(atom), _) if atom.is_many() => {
                    atoms = next_atoms;
                    back = Some((names.clone(), atoms.clone()));
                }
                (Some(atom), Some(c)) if atom.meets(&Atom::Char(c)) => {
                    (names, atoms) = (next_names, next_atoms);
                }
                _ => {
                    let Some((from, rest)) = &mut back else { return false };
                    if from.next().is_none() {
                        return false;
                    }
                    (names, atoms) = (from.clone(), rest.clone());
                }
            }
        }
    }
}

/// Whether `component` is a name that the glob `pattern` (`*` and `?` only) describes, letters
/// folded. A pattern in the component counts as every name it can match.
pub fn matches(component: &Text, pattern: &str) -> Truth {
    if let Some(name) = component.exact() {
        return Truth::from(is_like(name, pattern));
    }
    Subject::new(component).map_or(Truth::No, |subject| subject.matches(&Pattern::new(pattern)))
}

/// As [`matches()`], but a pattern in the component counts only where its own characters spell the
/// glob out: `*secret*` is spelled out in `a_secret.*` and not in `*`.
pub fn spells(component: &Text, pattern: &str) -> Truth {
    if let Some(name) = component.exact() {
        return Truth::from(is_like(name, pattern));
    }
    Subject::new(component).map_or(Truth::No, |subject| subject.spells(&Pattern::new(pattern)))
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
pub const BUCKETS: usize = 32;

/// The list in which patterns stand that may fit a known name and tell by their end; none for a name
/// whose end tells nothing, which all have to be compared with.
pub fn bucket(name: &str) -> Option<usize> {
    name.bytes().last().filter(u8::is_ascii).map(|last| usize::from(last) % BUCKETS)
}

impl Patterns {
    /// Takes in further patterns.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Pattern<'static>>) {
        for pattern in more {
            let position = u16::try_from(self.list.len()).unwrap_or(u16::MAX);
            match pattern.bucket().and_then(|slot| self.by_last.get_mut(slot)) {
                Some(bucket) => bucket.push(position),
                None => self.globs.push(position),
            }
            self.list.push(pattern);
        }
    }

    /// Whether one of them [`matches()`].
    pub fn matches(&self, part: &Part<'_>) -> Truth {
        self.any(part, Subject::matches)
    }

    /// Whether one of them is what the part [`spells`].
    pub fn are_spelled_by(&self, part: &Part<'_>) -> Truth {
        self.any(part, Subject::spells)
    }

    /// What one of them says about a part: of a known name whether it fits, of another as asked.
    fn any(&self, part: &Part<'_>, ask: impl Fn(&Subject, &Pattern<'_>) -> Truth) -> Truth {
        let mixed = match part {
            Part::Mixed(text) if !text.is_exact() => Some(text),
            _ => None,
        };
        if let Some(text) = mixed {
            let Some(subject) = text.subject() else { return Truth::No };
            return self.list.iter().fold(Truth::No, |truth, one| truth.or(ask(subject, one)));
        }
        let Some(name) = part.exact() else { return Truth::No };
        let bucket = bucket(name).and_then(|slot| self.by_last.get(slot));
        // A letter of another alphabet may be an ASCII one in small.
        let lacking = if name.is_ascii() { !letters(name) } else { 0 };
        let fits = |one: &Pattern<'_>| one.letters & lacking == 0 && one.fits(name);
        Truth::from(match bucket {
            None => self.list.iter().any(fits),
            Some(bucket) => bucket
                .iter()
                .chain(&self.globs)
                .filter_map(|position| self.list.get(usize::from(*position)))
                .any(fits),
        })
    }
}

/// Whether a known name fits a glob, letters folded. Only the last `*` is gone back to, which is
/// enough and keeps the work below the product of the lengths.
fn is_like(name: &str, pattern: &str) -> bool {
    if name.len() > LONGEST {
        return false;
    }
    if name.is_ascii() && pattern.is_ascii() {
        return is_like_ascii(name.as_bytes(), pattern.as_bytes());
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

/// As [`is_like`], for ASCII.
fn is_like_ascii(mut name: &[u8], mut pattern: &[u8]) -> bool {
    let mut back: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => return true,
            (Some((b'*', rest)), _) => {
                if rest.is_empty() {
                    return true;
                }
                pattern = rest;
                back = Some((name, rest));
            }
            (Some((glob, globs)), Some((byte, names)))
                if *glob == b'?' || glob.eq_ignore_ascii_case(byte) =>
            {
                (name, pattern) = (names, globs);
            }
            _ => {
                let Some((from, rest)) = back else { return false };
                let Some((_, from)) = from.split_first() else { return false };
                back = Some((from, rest));
                (name, pattern) = (from, rest);
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

/// Whether some string fits both.
fn intersects(left: &[Atom], right: &[Atom]) -> bool {
    // `next[j]` says whether the rest of `left` and `right[j..]` fit a common string.
    let mut next: Vec<bool> = vec![false; right.len() + 1];
    let mut row = next.clone();
    for i in (0..=left.len()).rev() {
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
        std::mem::swap(&mut next, &mut row);
    }
    next.first().copied().unwrap_or(false)
}

/// Whether every string that fits `subject` fits `pattern`; only a `*` of the pattern takes in a
/// wild part of the subject.
fn swallows(pattern: &[Atom], subject: &[Atom]) -> bool {
    let mut next: Vec<bool> = vec![false; pattern.len() + 1];
    let mut row = next.clone();
    for i in (0..=subject.len()).rev() {
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
        std::mem::swap(&mut next, &mut row);
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
                c => Piece::Literal(c.into()),
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
