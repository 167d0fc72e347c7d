//! Trees of lists, tables and texts, as YAML and JSON have them, with the bytes of every text.

use std::rc::Rc;

use crate::scan::mapped::{Mapped, Region};

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A text, or any other scalar as it is written.
    Text(Mapped),
    /// A list.
    List(Vec<Rc<Node>>),
    /// A table, in order.
    Table(Vec<(Mapped, Rc<Node>)>),
    /// Something a tag changes (`!reference`), or nothing.
    Other,
}

/// Levels of nesting that are read.
pub const DEPTH: usize = 128;

impl Node {
    /// The value of a key of a table; the last one where it stands more than once.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().rev().find(|(name, _)| name.text() == key).map(|(_, node)| &**node)
    }

    /// The value behind several keys.
    pub fn at(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The entries of a table; none for anything else.
    pub fn entries(&self) -> &[(Mapped, Rc<Self>)] {
        match self {
            Self::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Rc<Self>] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The text.
    pub const fn mapped(&self) -> Option<&Mapped> {
        match self {
            Self::Text(mapped) => Some(mapped),
            _ => None,
        }
    }

    /// The text alone.
    pub fn text(&self) -> Option<&str> {
        self.mapped().map(Mapped::text)
    }
}

/// A character of a value and the bytes it is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The character; none for bytes that stand for nothing (a line that goes on).
    pub character: Option<char>,
    /// The bytes.
    pub region: Region,
}

/// Characters of a text as it is written, from byte `at`; `\r\n` is one end of a line.
pub fn plain_units(text: &str, at: usize, units: &mut Vec<Unit>) {
    let mut characters = text.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        let mut end = index + character.len_utf8();
        let mut character = character;
        if character == '\r'
            && let Some((next, _)) = characters.next_if(|(_, next)| *next == '\n')
        {
            end = next + 1;
            character = '\n';
        }
        let region = Region { start: at + index, end: at + end };
        units.push(Unit { character: Some(character), region });
    }
}

/// Characters of a text with escapes after a backslash, as JSON (RFC 8259 section 7) and YAML (1.2.2
/// section 5.7) have them.
pub fn escaped_units(text: &str, at: usize, units: &mut Vec<Unit>) {
    let mut rest = text;
    let mut index = 0;
    while let Some(character) = rest.chars().next() {
        let (value, length) = if character == '\\' { escape(rest) } else { (None, 0) };
        if length > 0 {
            units.push(Unit {
                character: value,
                region: Region { start: at + index, end: at + index + length },
            });
            index += length;
            rest = rest.get(length..).unwrap_or_default();
        } else {
            let next = rest.find('\\').filter(|next| *next > 0).unwrap_or(rest.len());
            let (head, tail) = rest.split_at_checked(next).unwrap_or((rest, ""));
            plain_units(head, at + index, units);
            index += head.len();
            rest = tail;
        }
    }
}

/// The character of the escape that a text begins with, and its length in bytes; length 0 for one
/// that is not known.
fn escape(text: &str) -> (Option<char>, usize) {
    let Some(kind) = text.chars().nth(1) else { return (None, 0) };
    let code = |digits: usize| {
        text.get(2..2 + digits)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .map(|code| (code, 2 + digits))
    };
    let simple = match kind {
        'n' => '\n',
        't' | '\t' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '0' => '\0',
        'a' => '\u{7}',
        'v' => '\u{b}',
        'e' => '\u{1b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        '"' | '/' | '\\' | ' ' => kind,
        'x' => return code(2).map_or((None, 0), |(code, length)| (char::from_u32(code), length)),
        'U' => return code(8).map_or((None, 0), |(code, length)| (char::from_u32(code), length)),
        'u' => return code(4).map_or((None, 0), |(code, length)| pair(text, code, length)),
        '\n' | '\r' => {
            // The line goes on behind the blanks of the next one.
            let blanks = text.chars().skip(1).take_while(char::is_ascii_whitespace).count();
            return (None, 1 + blanks);
        }
        _ => return (None, 0),
    };
    (Some(simple), 1 + kind.len_utf8())
}

/// A character of one or, with a surrogate, two escapes of four digits.
fn pair(text: &str, high: u32, length: usize) -> (Option<char>, usize) {
    if !(0xD800..0xDC00).contains(&high) {
        return (char::from_u32(high).or(Some('\u{fffd}')), length);
    }
    let low = text
        .get(length..length + 6)
        .and_then(|next| next.strip_prefix("\\u"))
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .filter(|low| (0xDC00..0xE000).contains(low));
    match low {
        Some(low) => {
            let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            (char::from_u32(code), length + 6)
        }
        None => (Some('\u{fffd}'), length),
    }
}

/// A value beside the units it was made of. Ends of lines and blanks may have been folded or left
/// out; where the two do not agree the rest of the value stands for the rest of the bytes.
pub fn align(value: &str, units: &[Unit]) -> Mapped {
    let mut mapped = Mapped::default();
    let mut next = units.iter().peekable();
    let mut buffer = [0_u8; 4];
    for (at, character) in value.char_indices() {
        // Left out: bytes without a character, blanks that folding took.
        while next
            .next_if(|unit| match unit.character {
                None => true,
                Some(other) => {
                    other.is_whitespace()
                        && other != character
                        && !(character == ' ' && other == '\n')
                }
            })
            .is_some()
        {}
        let fits = |unit: &&Unit| {
            unit.character == Some(character) || (character == ' ' && unit.character == Some('\n'))
        };
        if let Some(unit) = next.next_if(fits) {
            mapped.push_for(character.encode_utf8(&mut buffer), unit.region);
        } else {
            let rest = value.get(at..).unwrap_or_default();
            let end = units.last().map_or(0, |unit| unit.region.end);
            let start = next.peek().map_or(end, |unit| unit.region.start);
            mapped.push_for(rest, Region { start, end });
            return mapped;
        }
    }
    mapped
}
