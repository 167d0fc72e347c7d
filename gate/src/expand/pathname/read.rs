//! Patterns as they are spelled.

use super::{Cell, DEPTH, Kind, Node, Set, SetItem, glob_nodes};
use crate::model::value::Unknown;

/// Reads cells as a pattern. Brackets are paired once, so reading is linear.
pub(super) struct Reader<'a> {
    cells: &'a [Cell],
    /// For an opening bracket the place of its closing one, else 0.
    closing: Vec<usize>,
    extended: bool,
    dot: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(cells: &'a [Cell], extended: bool, dot: bool) -> Self {
        let mut closing = vec![0; cells.len()];
        let mut open = Vec::new();
        for (at, cell) in cells.iter().enumerate() {
            match cell.active() {
                Some('(') => open.push(at),
                Some(')') => {
                    if let Some(start) = open.pop()
                        && let Some(slot) = closing.get_mut::<usize>(start)
                    {
                        *slot = at;
                    }
                }
                _ => {}
            }
        }
        Self { cells, closing, extended, dot }
    }

    /// The end of the extended pattern whose kind stands at `at`, one past its bracket.
    pub(super) fn extended_end(&self, at: usize) -> Option<usize> {
        let cell = self.cells.get(at)?;
        if !matches!(cell.active(), Some('?' | '*' | '+' | '@' | '!'))
            || self.cells.get(at + 1)?.active() != Some('(')
            // The parser admits such a bracket inside a word only where extended patterns are on.
            || (!self.extended && matches!(cell, Cell::Char { expanded: true, .. }))
        {
            return None;
        }
        match self.closing.get(at + 1) {
            Some(0) | None => None,
            Some(end) => Some(end + 1),
        }
    }

    /// The end of the bracket expression that begins at `at`, one past its bracket.
    pub(super) fn set_end(&self, at: usize, path: bool) -> Option<usize> {
        let mut next = at + 1;
        if matches!(self.cells.get(next)?.active(), Some('!' | '^')) {
            next += 1;
        }
        let first = next;
        while let Some(cell) = self.cells.get(next) {
            match cell.active() {
                Some(']') if next > first => return Some(next + 1),
                Some('/') if path => return None,
                Some('\\') if matches!(cell, Cell::Char { expanded: true, .. }) => next += 1,
                Some('[') => next = self.class_end(next).map_or(next, |end| end - 1),
                None if path && matches!(cell, Cell::Char { char: '/', .. }) => return None,
                _ => {}
            }
            next += 1;
        }
        None
    }

    /// The end of `[:name:]`, `[=c=]` or `[.c.]`, one past its bracket.
    fn class_end(&self, at: usize) -> Option<usize> {
        let mark = self.cells.get(at + 1)?.active()?;
        if !matches!(mark, ':' | '=' | '.') {
            return None;
        }
        (at + 3..at + 24)
            .find(|end| {
                self.cells.get(*end).and_then(Cell::active) == Some(']')
                    && self.cells.get(end - 1).and_then(Cell::active) == Some(mark)
            })
            .map(|end| end + 1)
    }

    fn set(&self, at: usize, end: usize) -> Set {
        let mut next = at + 1;
        let mut set = Set::default();
        if matches!(self.cells.get(next).and_then(Cell::active), Some('!' | '^')) {
            set.negated = true;
            next += 1;
        }
        let end = end.saturating_sub(1);
        while next < end {
            if self.cells.get(next).and_then(Cell::active) == Some('[')
                && let Some(close) = self.class_end(next)
            {
                set.items.push(self.class(next, close));
                next = close;
                continue;
            }
            let (Some(from), after) = self.set_char(next) else {
                set.items.push(SetItem::Open);
                next += 1;
                continue;
            };
            next = after;
            let dash = self.cells.get(next).and_then(Cell::active) == Some('-') && next + 1 < end;
            if dash {
                let opens_class = self.cells.get(next + 1).and_then(Cell::active) == Some('[')
                    && self.class_end(next + 1).is_some();
                match self.set_char(next + 1) {
                    (Some(to), after) if !opens_class => {
                        set.items.push(SetItem::Range(from, to));
                        next = after;
                    }
                    _ => {
                        set.items.push(SetItem::Open);
                        next += 1;
                    }
                }
            } else {
                set.items.push(SetItem::Range(from, from));
            }
        }
        set
    }

    fn set_char(&self, at: usize) -> (Option<char>, usize) {
        match self.cells.get(at) {
            Some(Cell::Char { char: '\\', quoted: false, expanded: true }) => {
                match self.cells.get(at + 1) {
                    Some(Cell::Char { char, .. }) => (Some(*char), at + 2),
                    _ => (None, at + 1),
                }
            }
            Some(Cell::Char { char, .. }) => (Some(*char), at + 1),
            _ => (None, at + 1),
        }
    }

    fn class(&self, at: usize, close: usize) -> SetItem {
        let mark = self.cells.get(at + 1).and_then(Cell::active);
        let name: String = self
            .cells
            .get(at + 2..close.saturating_sub(2))
            .unwrap_or_default()
            .iter()
            .filter_map(Cell::active)
            .collect();
        let mut chars = name.chars();
        match (mark, chars.next(), chars.next()) {
            (Some(':'), ..) => SetItem::Class(name),
            (_, Some(char), None) => SetItem::Range(char, char),
            _ => SetItem::Open,
        }
    }

    pub(super) fn nodes(&self, start: usize, end: usize, depth: usize) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut at = start;
        while at < end {
            let Some(cell) = self.cells.get(at) else { break };
            at += 1;
            match cell {
                Cell::Unknown(cause) => nodes.push(Node::Unknown(cause.clone())),
                Cell::Glob(glob) => nodes.extend(glob_nodes(glob)),
                Cell::Char { char, quoted: true, .. } => nodes.push(Node::Char(*char)),
                Cell::Char { char, expanded, .. } => {
                    if let Some(close) = self.extended_end(at - 1).filter(|close| *close <= end) {
                        nodes.push(self.extended_node(*char, at + 1, close - 1, depth));
                        at = close;
                        continue;
                    }
                    match char {
                        '*' => {
                            if !matches!(nodes.last(), Some(Node::Any { .. })) {
                                nodes.push(Node::Any { dot: self.dot });
                            }
                        }
                        '?' => nodes.push(Node::One { dot: self.dot }),
                        '[' => match self.set_end(at - 1, false).filter(|close| *close <= end) {
                            Some(close) => {
                                let set = self.set(at - 1, close);
                                nodes.push(Node::Set { set, dot: self.dot });
                                at = close;
                            }
                            None => nodes.push(Node::Char('[')),
                        },
                        '\\' if *expanded => match self.cells.get(at).filter(|_| at < end) {
                            Some(Cell::Char { char, .. }) => {
                                nodes.push(Node::Char(*char));
                                at += 1;
                            }
                            _ => nodes.push(Node::Char('\\')),
                        },
                        other => nodes.push(Node::Char(*other)),
                    }
                }
            }
        }
        nodes
    }

    fn extended_node(&self, kind: char, start: usize, end: usize, depth: usize) -> Node {
        if depth >= DEPTH {
            return Node::Unknown(Unknown::Limit);
        }
        let kind = match kind {
            '?' => Kind::Optional,
            '*' => Kind::Any,
            '+' => Kind::Some,
            '@' => Kind::One,
            _ => Kind::Not,
        };
        let mut alternatives = Vec::new();
        let (mut from, mut at) = (start, start);
        while at < end {
            match self.cells.get(at).and_then(Cell::active) {
                Some('(') => {
                    at = self.closing.get(at).copied().filter(|close| *close > at).unwrap_or(at);
                }
                Some('|') => {
                    alternatives.push(self.nodes(from, at, depth + 1));
                    from = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        alternatives.push(self.nodes(from, end, depth + 1));
        Node::Extended(kind, alternatives)
    }
}
