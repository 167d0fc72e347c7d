//! A pattern against a text: the places of the text that each piece of the pattern can lead to.

use super::{Kind, Node, Set, SetItem, Token};
use crate::model::value::Truth;

/// Steps one match may take.
pub(super) const WORK: usize = 1 << 23;

/// Levels of extended patterns inside each other.
pub(super) const DEPTH: usize = 32;

/// One walk of a pattern along a subject.
pub(super) struct Walk<'a> {
    pub(super) tokens: &'a [Token],
    pub(super) path: bool,
    pub(super) fold: bool,
    pub(super) work: usize,
}

impl Walk<'_> {
    fn spend(&mut self, amount: usize) -> bool {
        self.work = self.work.saturating_sub(amount.max(1));
        self.work > 0
    }

    /// Adds the places that are reached because a run of any characters may be empty; in order,
    /// each once.
    pub(super) fn close(&mut self, mut places: Vec<usize>, certain: bool) -> Vec<usize> {
        if !certain {
            let mut at = 0;
            while let Some(&place) = places.get(at) {
                match self.tokens.get(place) {
                    Some(Token::Wild { .. }) => places.push(place + 1),
                    Some(Token::Lead) => places.push(place + 2),
                    _ => {}
                }
                at += 1;
                if at % 4096 == 0 {
                    places.dedup();
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    pub(super) fn row(
        &mut self,
        nodes: &[Node],
        start: Vec<usize>,
        certain: bool,
        depth: usize,
    ) -> Vec<usize> {
        let mut places = start;
        for node in nodes {
            if places.is_empty() || !self.spend(places.len()) {
                return Vec::new();
            }
            places = self.step(node, &places, certain, depth);
        }
        places
    }

    fn step(&mut self, node: &Node, places: &[usize], certain: bool, depth: usize) -> Vec<usize> {
        match node {
            Node::Char(char) => {
                let (char, fold) = (*char, self.fold);
                self.one(
                    places,
                    certain,
                    true,
                    |other| equal(char, other, fold),
                    |set| set.has(char).is_possible(),
                    char == '.',
                )
            }
            Node::One { dot } => self.one(places, certain, *dot, |_| true, |_| true, *dot),
            Node::Set { set, dot } => {
                let fold = self.fold;
                let wanted = move |char: char| {
                    let truth = if fold {
                        char.to_lowercase()
                            .chain(char.to_uppercase())
                            .fold(set.has(char), |truth, char| truth.or(set.has(char)))
                    } else {
                        set.has(char)
                    };
                    if certain { truth == Truth::Yes } else { truth.is_possible() }
                };
                self.one(places, certain, *dot, wanted, |_| true, *dot)
            }
            Node::Any { dot } => self.any(places, certain, *dot, !self.path),
            Node::Deep => {
                if certain && self.path {
                    Vec::new()
                } else {
                    self.any(places, certain, true, true)
                }
            }
            Node::Unknown(_) => {
                if certain {
                    Vec::new()
                } else {
                    self.any(places, false, true, true)
                }
            }
            Node::Extended(kind, alternatives) => {
                if depth > DEPTH {
                    return if certain { Vec::new() } else { self.any(places, false, true, true) };
                }
                self.extended(*kind, alternatives, places, certain, depth)
            }
        }
    }

    /// A dot at the start of a name in a path.
    fn leads(&self, place: usize) -> bool {
        self.path
            && matches!(self.tokens.get(place), Some(Token::Char('.')))
            && match place.checked_sub(1) {
                None => true,
                Some(before) => matches!(self.tokens.get(before), Some(Token::Char('/'))),
            }
    }

    /// A node of one character. `dot`: it may match a leading dot. `lone_dot`: it is a dot itself.
    fn one(
        &mut self,
        places: &[usize],
        certain: bool,
        dot: bool,
        wanted: impl Fn(char) -> bool,
        set_wanted: impl Fn(&Set) -> bool,
        lone_dot: bool,
    ) -> Vec<usize> {
        let literal_slash = dot && wanted('/') && !wanted('x');
        let mut out = Vec::with_capacity(places.len());
        for &place in places {
            let next = match self.tokens.get(place) {
                Some(Token::Char(char)) => {
                    let slash = self.path && *char == '/' && !literal_slash;
                    (wanted(*char) && !slash && (dot || !self.leads(place))).then_some(place + 1)
                }
                Some(Token::One) => {
                    // Certain only for a node that takes every character.
                    let every = wanted('\u{0}') && wanted('x') && wanted('.');
                    (if certain { every && !self.path } else { !(self.path && literal_slash) })
                        .then_some(place + 1)
                }
                Some(Token::Set(set)) => {
                    let every = wanted('\u{0}') && wanted('x') && wanted('.');
                    (if certain { every && !self.path } else { set_wanted(set) })
                        .then_some(place + 1)
                }
                Some(Token::Wild { slash }) => {
                    (!certain && (*slash || !literal_slash)).then_some(place)
                }
                Some(Token::Lead) => {
                    (!certain && !literal_slash && (!lone_dot || wanted('x'))).then_some(place + 1)
                }
                None => None,
            };
            out.extend(next);
        }
        self.close(out, certain)
    }

    /// A node of any characters.
    fn any(&mut self, places: &[usize], certain: bool, dot: bool, slash: bool) -> Vec<usize> {
        let Some(&first) = places.first() else { return Vec::new() };
        let mut out = Vec::new();
        let mut wanted = places.iter().copied().peekable();
        let mut carry = false;
        for place in first..=self.tokens.len() {
            if !carry && wanted.peek().is_none() {
                break;
            }
            if wanted.next_if_eq(&place).is_some() {
                if !dot && self.leads(place) {
                    out.push(place);
                    if !carry {
                        continue;
                    }
                } else {
                    carry = true;
                }
            }
            if carry {
                if out.last() != Some(&place) {
                    out.push(place);
                }
                carry = match self.tokens.get(place) {
                    Some(Token::Char('/')) => slash,
                    Some(Token::Wild { slash: true }) => slash || !certain,
                    Some(Token::Lead) => true,
                    Some(_) => true,
                    None => false,
                };
            }
        }
        self.spend(out.len());
        self.close(out, certain)
    }

    fn extended(
        &mut self,
        kind: Kind,
        alternatives: &[Vec<Node>],
        places: &[usize],
        certain: bool,
        depth: usize,
    ) -> Vec<usize> {
        match kind {
            Kind::One => self.choice(alternatives, places, certain, depth),
            Kind::Optional => {
                let mut out = self.choice(alternatives, places, certain, depth);
                out.extend_from_slice(places);
                self.close(out, certain)
            }
            Kind::Any | Kind::Some => {
                let mut seen: std::collections::BTreeSet<usize> = std::collections::BTreeSet::new();
                if kind == Kind::Any {
                    seen.extend(places);
                }
                let mut front = places.to_vec();
                while !front.is_empty() && self.spend(front.len()) {
                    let reached = self.choice(alternatives, &front, certain, depth);
                    front = reached.into_iter().filter(|place| seen.insert(*place)).collect();
                }
                seen.into_iter().collect()
            }
            Kind::Not => {
                let mut out = std::collections::BTreeSet::new();
                for &place in places {
                    let all = self.any(&[place], certain, true, !self.path);
                    let start = self.close(vec![place], !certain);
                    let inner = self.choice(alternatives, &start, !certain, depth);
                    if !self.spend(all.len()) {
                        return Vec::new();
                    }
                    out.extend(all.into_iter().filter(|end| inner.binary_search(end).is_err()));
                }
                let out = out.into_iter().collect();
                self.close(out, certain)
            }
        }
    }

    fn choice(
        &mut self,
        alternatives: &[Vec<Node>],
        places: &[usize],
        certain: bool,
        depth: usize,
    ) -> Vec<usize> {
        let mut out = Vec::new();
        for nodes in alternatives {
            out.extend(self.row(nodes, places.to_vec(), certain, depth + 1));
        }
        self.close(out, certain)
    }
}

fn equal(left: char, right: char, fold: bool) -> bool {
    left == right || (fold && left.to_lowercase().eq(right.to_lowercase()))
}

impl Set {
    fn has(&self, char: char) -> Truth {
        let inside = self.items.iter().fold(Truth::No, |truth, item| {
            truth.or(match item {
                SetItem::Range(from, to) => Truth::from(*from <= char && char <= *to),
                SetItem::Class(name) => in_class(name, char),
                SetItem::Open => Truth::Maybe,
            })
        });
        if self.negated { inside.negate() } else { inside }
    }
}

fn in_class(name: &str, char: char) -> Truth {
    let ascii = match name {
        "alnum" => char.is_ascii_alphanumeric(),
        "alpha" => char.is_ascii_alphabetic(),
        "ascii" => return Truth::from(char.is_ascii()),
        "blank" => char == ' ' || char == '\t',
        "cntrl" => char.is_ascii_control(),
        "digit" => return Truth::from(char.is_ascii_digit()),
        "graph" => char.is_ascii_graphic(),
        "lower" => char.is_ascii_lowercase(),
        "print" => char.is_ascii_graphic() || char == ' ',
        "punct" => char.is_ascii_punctuation(),
        "space" => char.is_ascii_whitespace() || char == '\u{b}',
        "upper" => char.is_ascii_uppercase(),
        "word" => char.is_ascii_alphanumeric() || char == '_',
        "xdigit" => return Truth::from(char.is_ascii_hexdigit()),
        _ => return Truth::No,
    };
    // What another character belongs to depends on the locale.
    if char.is_ascii() { Truth::from(ascii) } else { Truth::Maybe }
}
