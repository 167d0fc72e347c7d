//! Brace expansion (Bash manual 3.5.1).
//!
//! A word becomes a small tree; its alternatives are counted before any is made and each is made on
//! its own, so a word that stands for a billion costs no more than those that fit.

use super::{Atom, Expander};
use crate::model::script::{Operation, Part, Word};
use crate::model::span::Span;

/// Levels of braces inside each other.
pub(super) const DEPTH: usize = 64;
/// Nodes that may be walked to make the alternatives of a word.
const NODES: usize = 1 << 18;

/// Units that may be looked at in search of closing braces.
pub(super) const WORK: usize = 1 << 22;

/// The alternatives of a word.
pub(super) struct Expanded<'w> {
    /// In order.
    pub(super) words: Vec<Vec<Atom<'w>>>,
    /// Whether there are more than the limits let through.
    pub(super) more: bool,
}

/// The word as atoms, braces untouched.
pub(super) fn atoms(word: &Word) -> Vec<Atom<'_>> {
    word.parts
        .iter()
        .map(|part| match part {
            Part::Literal(text, _) => Atom::Text(text.clone()),
            other => Atom::Part(other),
        })
        .collect()
}

/// A unit of the word: an unquoted character that matters here, a stretch of others, or a part.
#[derive(Clone, Copy)]
enum Unit<'w> {
    Text(&'w str),
    Open,
    Close,
    Comma,
    Part(&'w Part),
}

enum Node<'w> {
    Text(&'w str),
    Part(&'w Part),
    List(Vec<Row<'w>>, u64),
    Sequence(Sequence),
}

struct Row<'w> {
    nodes: Vec<Node<'w>>,
    count: u64,
}

/// `{from..to..step}`
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sequence {
    from: i64,
    step: i64,
    count: u64,
    letters: bool,
    width: usize,
}

pub(super) fn expand<'w>(expander: &mut Expander, word: &'w Word) -> Expanded<'w> {
    let has_brace =
        word.parts.iter().any(|part| matches!(part, Part::Literal(text, _) if text.contains('{')));
    if !has_brace {
        return Expanded { words: vec![atoms(word)], more: false };
    }
    let (row, limited) = {
        let units = units(word);
        let mut reader = Reader { units: &units, work: WORK, limited: false };
        (reader.row(0, units.len(), 0), reader.limited)
    };
    let (fields, bytes) = expander.environ.limits();
    let bytes = bytes.saturating_mul(16);
    let fields = u64::try_from(fields).unwrap_or(u64::MAX);
    let mut words = Vec::new();
    let (mut made, mut size) = (0_usize, 0_usize);
    let mut more = limited || row.count > fields;
    for index in 0..row.count.min(fields) {
        let mut backwards = Vec::new();
        row.nth(index, &mut backwards, &mut made);
        let atoms = join(backwards);
        size = atoms.iter().fold(size, |size, atom| {
            size + if let Atom::Text(text) = atom { text.len() } else { 8 }
        });
        if !words.is_empty() && (made > NODES || size > bytes) {
            more = true;
            break;
        }
        words.push(atoms);
    }
    Expanded { words, more }
}

fn units(word: &Word) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    for part in &word.parts {
        let Part::Literal(text, _) = part else {
            units.push(Unit::Part(part));
            continue;
        };
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['{', '}', ',']) {
            let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            if !before.is_empty() {
                units.push(Unit::Text(before));
            }
            let mut chars = after.chars();
            units.push(match chars.next() {
                Some('{') if before.ends_with('$') => Unit::Text("{"),
                Some('{') => Unit::Open,
                Some('}') => Unit::Close,
                _ => Unit::Comma,
            });
            rest = chars.as_str();
        }
        if !rest.is_empty() {
            units.push(Unit::Text(rest));
        }
    }
    units
}

/// Braces that a parameter expansion leaves open: it ends at its first closing brace, but bash looks
/// for lists with a count of all of them, so what follows up to as many closing braces is no list.
fn left_open(part: &Part) -> usize {
    let Part::Parameter(parameter, _) = part else { return 0 };
    match &parameter.operation {
        Operation::Default { word, .. }
        | Operation::Assign { word, .. }
        | Operation::Error { word, .. }
        | Operation::Alternative { word, .. }
        | Operation::RemovePrefix { pattern: word, .. }
        | Operation::RemoveSuffix { pattern: word, .. }
        | Operation::Case { pattern: word, .. } => open_in(word),
        Operation::Replace { pattern, replacement, .. } => {
            open_in(pattern).saturating_add(open_in(replacement))
        }
        _ => 0,
    }
}

fn open_in(word: &Word) -> usize {
    word.parts.iter().fold(0_usize, |open, part| match part {
        Part::Literal(text, _) => text.chars().fold(open, |open, char| match char {
            '{' => open.saturating_add(1),
            '}' => open.saturating_sub(1),
            _ => open,
        }),
        other => open.saturating_add(left_open(other)),
    })
}

struct Reader<'a, 'w> {
    units: &'a [Unit<'w>],
    /// Units that may still be looked at.
    work: usize,
    /// Whether a limit made braces count as text.
    limited: bool,
}

impl<'w> Reader<'_, 'w> {
    /// The place of the brace that closes a list or sequence which begins at `start`. One that
    /// closes at its own level before any comma or `..` is text: `{a},b}` is `a}` and `b`.
    fn closing(&mut self, start: usize, end: usize) -> Option<usize> {
        let mut level = 0_usize;
        let mut separated = false;
        for at in start..end {
            if self.work == 0 {
                self.limited = true;
                return None;
            }
            self.work -= 1;
            match self.units.get(at)? {
                Unit::Close if level == 0 && separated => return Some(at),
                Unit::Close => level = level.saturating_sub(1),
                Unit::Open => level += 1,
                Unit::Comma => separated |= level == 0,
                Unit::Part(part) => level = level.saturating_add(left_open(part)),
                Unit::Text(text) => {
                    let closes = matches!(self.units.get(at + 1), Some(Unit::Close));
                    let inner = if closes { text.strip_suffix("..").unwrap_or(text) } else { text };
                    separated |= level == 0 && inner.contains("..");
                }
            }
        }
        None
    }

    fn row(&mut self, start: usize, end: usize, depth: usize) -> Row<'w> {
        let mut nodes = Vec::new();
        let mut count = 1_u64;
        let mut at = start;
        // Inside braces that a parameter expansion left open.
        let mut level = 0_usize;
        // bash reads on behind a list as behind the start of a word: `{}` is text there.
        let mut fresh = start;
        while at < end {
            let Some(unit) = self.units.get(at) else { break };
            match unit {
                Unit::Text(text) => nodes.push(Node::Text(text)),
                Unit::Part(part) => {
                    level = level.saturating_add(left_open(part));
                    nodes.push(Node::Part(part));
                }
                Unit::Close => {
                    level = level.saturating_sub(1);
                    nodes.push(Node::Text("}"));
                }
                Unit::Comma => nodes.push(Node::Text(",")),
                Unit::Open if level > 0 => {
                    level += 1;
                    nodes.push(Node::Text("{"));
                }
                Unit::Open
                    if at == fresh && matches!(self.units.get(at + 1), Some(Unit::Close)) =>
                {
                    nodes.push(Node::Text("{"));
                }
                Unit::Open => {
                    let close = if depth < DEPTH {
                        self.closing(at + 1, end)
                    } else {
                        self.limited = true;
                        None
                    };
                    match close {
                        Some(close) => {
                            self.braces(at + 1, close, depth, &mut nodes);
                            at = close;
                            fresh = close + 1;
                        }
                        None => nodes.push(Node::Text("{")),
                    }
                }
            }
            at += 1;
        }
        for node in &nodes {
            count = count.saturating_mul(node.count());
        }
        Row { nodes, count }
    }

    /// Appends what a pair of braces around `start..end` stands for.
    fn braces(&mut self, start: usize, end: usize, depth: usize, out: &mut Vec<Node<'w>>) {
        let inner = self.units.get(start..end).unwrap_or_default();
        if !inner.iter().any(|unit| matches!(unit, Unit::Comma)) {
            if let [Unit::Text(text)] = inner
                && let Some(sequence) = Sequence::read(text)
            {
                out.push(Node::Sequence(sequence));
                return;
            }
            // What is no sequence stays as it is, braces inside it too.
            out.push(Node::Text("{"));
            out.extend(inner.iter().map(|unit| match unit {
                Unit::Text(text) => Node::Text(text),
                Unit::Part(part) => Node::Part(part),
                Unit::Open => Node::Text("{"),
                Unit::Close => Node::Text("}"),
                Unit::Comma => Node::Text(","),
            }));
            out.push(Node::Text("}"));
            return;
        }
        let mut borders = vec![start];
        let mut level = 0_usize;
        for (offset, unit) in inner.iter().enumerate() {
            match unit {
                Unit::Open => level += 1,
                Unit::Close => level = level.saturating_sub(1),
                Unit::Part(part) => level = level.saturating_add(left_open(part)),
                Unit::Comma if level == 0 => borders.push(start + offset + 1),
                _ => {}
            }
        }
        borders.push(end + 1);
        let rows: Vec<Row<'w>> = borders
            .iter()
            .zip(borders.iter().skip(1))
            .map(|(from, to)| self.row(*from, to.saturating_sub(1), depth + 1))
            .collect();
        let count = rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.count));
        out.push(Node::List(rows, count));
    }
}

impl Node<'_> {
    fn count(&self) -> u64 {
        match self {
            Self::Text(_) | Self::Part(_) => 1,
            Self::List(_, count) => *count,
            Self::Sequence(sequence) => sequence.count,
        }
    }
}

impl<'w> Row<'w> {
    /// Appends the alternative of that number, its atoms from the last to the first: the rightmost
    /// braces change fastest.
    fn nth(&self, index: u64, out: &mut Vec<Atom<'w>>, work: &mut usize) {
        *work = work.saturating_add(self.nodes.len());
        let mut index = index;
        for node in self.nodes.iter().rev() {
            let count = node.count().max(1);
            let mut own = index % count;
            index /= count;
            match node {
                Node::Text(text) => out.push(Atom::Text((*text).into())),
                Node::Part(part) => out.push(Atom::Part(part)),
                Node::Sequence(sequence) => out.push(Atom::Text(sequence.nth(own).into())),
                Node::List(rows, _) => {
                    for row in rows {
                        if own < row.count {
                            row.nth(own, out, work);
                            break;
                        }
                        own -= row.count;
                    }
                }
            }
        }
    }
}

/// Texts that touch become one; a name that braces lengthen is the name of another variable, since
/// braces are expanded before parameters (`$x{a,b}` is `$xa $xb`).
fn join(backwards: Vec<Atom>) -> Vec<Atom> {
    // Most become one text.
    let mut out: Vec<Atom> = Vec::new();
    for atom in backwards.into_iter().rev() {
        let Atom::Text(text) = atom else {
            out.push(atom);
            continue;
        };
        if text.is_empty() {
            continue;
        }
        if let Some(Atom::Text(last)) = out.last_mut() {
            last.push_str(&text);
            continue;
        }
        let name = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let longer = match out.last() {
            Some(Atom::Part(part)) if name > 0 => longer(part, text.get(..name).unwrap_or("")),
            Some(Atom::Made(part)) if name > 0 => longer(part, text.get(..name).unwrap_or("")),
            _ => None,
        };
        match longer {
            Some(part) => {
                out.pop();
                out.push(Atom::Made(part));
                if let Some(rest) = text.get(name..).filter(|rest| !rest.is_empty()) {
                    out.push(Atom::Text(rest.into()));
                }
            }
            None => out.push(Atom::Text(text)),
        }
    }
    out
}

fn longer(part: &Part, more: &str) -> Option<Part> {
    let Part::Parameter(parameter, span) = part else { return None };
    let plain = parameter.operation == Operation::Value
        && parameter.subscript.is_none()
        && !parameter.indirect
        && span.len() == parameter.name.len() + 1
        && parameter.name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
    if !plain {
        return None;
    }
    let mut parameter = parameter.clone();
    parameter.name.push_str(more);
    // The span keeps the form of a name without braces, so that more may follow.
    let span = Span::new(span.start, span.start + parameter.name.len() + 1);
    Some(Part::Parameter(parameter, span))
}

impl Sequence {
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split("..");
        let (from, to, step) = (words.next()?, words.next()?, words.next());
        if words.next().is_some() {
            return None;
        }
        let step = match step {
            Some(step) => integer(step)?,
            None => 1,
        };
        let numbers = integer(from).zip(integer(to));
        let letters = numbers.is_none();
        let (first, last) = numbers.or_else(|| letter(from).zip(letter(to)))?;
        let width = if !letters && (is_padded(from) || is_padded(to)) {
            from.len().max(to.len())
        } else {
            0
        };
        let size = step.unsigned_abs().max(1);
        let distance = first.abs_diff(last);
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        Some(Self {
            from: first,
            step: if first <= last { size } else { size.saturating_neg() },
            count: (distance / size.unsigned_abs().max(1)).saturating_add(1),
            letters,
            width,
        })
    }

    fn nth(&self, index: u64) -> String {
        let value = i128::from(self.from) + i128::from(self.step) * i128::from(index);
        if self.letters {
            return match u8::try_from(value).map(char::from) {
                // A backslash with nothing behind it goes when quotes are removed.
                Ok('\\') | Err(_) => String::new(),
                Ok(char) => char.to_string(),
            };
        }
        let digits = value.unsigned_abs().to_string();
        let sign = if value < 0 { "-" } else { "" };
        let width = self.width.saturating_sub(sign.len());
        format!("{sign}{digits:0>width$}")
    }
}

fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

fn letter(text: &str) -> Option<i64> {
    match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    }
}

fn is_padded(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.len() > 1 && digits.starts_with('0')
}
