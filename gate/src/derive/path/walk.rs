//! The way a path takes, part by part.

use smallvec::SmallVec;

use super::{Paths, Route};
use crate::model::component::{self, Part, Pattern};
use crate::model::value::{Piece, Text, Truth, Unknown};

/// Components that are kept of one path; what lies deeper does not change where it leads.
const DEEPEST: usize = 256;

/// A normalised path.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk<'a> {
    /// Components from the root, up to and with the first unknown one.
    pub(super) components: SmallVec<[Part<'a>; 8]>,
    /// Whether the last component is unknown, so that the path may go on.
    pub(super) open: bool,
    /// Whether not even its start is known.
    pub(super) floating: bool,
    /// What follows the unknown component, where something does: the name of what is meant.
    pub(super) tail: Option<Part<'a>>,
}

impl Paths<'_> {
    /// Whether it says more than a pattern that any name fits in a directory that holds no secrets.
    pub(super) fn spelled(&self, walk: &Walk<'_>) -> Truth {
        let Some((last, parents)) = walk.components.split_last() else { return Truth::No };
        let hidden = matches!(last, Part::Mixed(text) if text.prefix().starts_with('.'));
        if walk.floating || walk.open || hidden || component::is_everything(last) != Truth::Yes {
            return Truth::Yes;
        }
        let known = self.known;
        parents.iter().fold(Truth::No, |truth, parent| {
            truth
                .or(known.sensitive_names.are_spelled_by(parent))
                .or(known.sensitive_endings.are_spelled_by(parent))
                .or(known.sensitive_globs.are_spelled_by(parent))
        })
    }
}

impl Walk<'_> {
    pub(super) fn show(&self) -> Text {
        let mut out = Text::empty();
        for part in &self.components {
            if !(self.floating && out.is_empty()) {
                out.push_str("/");
            }
            part.append_to(&mut out);
        }
        if out.is_empty() {
            out.push_str("/");
        }
        out
    }
}

pub(super) fn is_fresh(text: &Text) -> bool {
    text.pieces().contains(&Piece::Unknown(Unknown::Fresh))
}

/// The text with some letters for those that are made up.
pub(super) fn made_up(text: &Text) -> Text {
    text.pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Unknown(Unknown::Fresh) => Piece::Literal("x".into()),
            other => other.clone(),
        })
        .collect()
}

/// Whether nothing in a text is unknown but letters that were made up for a new name, with no
/// pattern below it.
pub(super) fn is_named(text: &Text) -> bool {
    let fresh = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown::Fresh));
    let told =
        text.pieces().iter().all(|piece| !matches!(piece, Piece::Unknown(_)) || fresh(piece));
    told && !(text.has_glob() && text.pieces().iter().any(fresh))
}

/// Resolves a path lexically against a directory, where it is relative and there is one.
pub(super) fn walk<'a>(text: &'a Text, directory: Option<&'a Text>) -> Walk<'a> {
    let mut walk = Walk::default();
    if text.prefix().starts_with('/') {
        walk.follow(text);
    } else if matches!(text.pieces().first(), Some(Piece::Unknown(cause)) if !cause.is_below()) {
        walk.floating = true;
        each_part(text, |part| walk.components.push(part));
    } else {
        match directory {
            Some(directory) if directory.prefix().starts_with('/') => walk.follow(directory),
            _ => walk.floating = true,
        }
        walk.follow(text);
    }
    walk.alias(directory);
    if walk.floating {
        walk.open = false;
    } else if let Some(index) = walk.components.iter().position(Part::has_unknown) {
        let last = walk.components.last().filter(|_| index + 1 < walk.components.len());
        walk.tail = last.filter(|last| !last.has_unknown()).cloned();
        walk.components.truncate(index + 1);
        walk.open = true;
    }
    walk
}

fn part_unknown<'a>(text: &Text) -> Part<'a> {
    let unknown = Text::unknown(text.first_unknown().cloned().unwrap_or(Unknown::Joined));
    Part::Mixed(unknown.into())
}

/// Gives the pieces of a text between its slashes, in order.
fn each_part<'a>(text: &'a Text, mut give: impl FnMut(Part<'a>)) {
    let mut part = Part::Name("");
    for piece in text.pieces() {
        match piece {
            Piece::Literal(literal) => {
                for (index, name) in literal.split('/').enumerate() {
                    if index > 0 {
                        give(std::mem::replace(&mut part, Part::Name(name)));
                    } else if part == Part::Name("") {
                        part = Part::Name(name);
                    } else if let Part::Mixed(mixed) = &mut part {
                        mixed.push_str(name);
                    }
                }
            }
            other => {
                let mut mixed = match std::mem::replace(&mut part, Part::Name("")) {
                    Part::Name(name) => Text::literal(name),
                    Part::Mixed(mixed) => mixed.into_text(),
                };
                mixed.push(other.clone());
                part = Part::Mixed(mixed.into());
            }
        }
    }
    give(part);
}

/// The components of a known path.
pub(super) fn names(path: &str) -> Route<'_> {
    let mut walk = Walk::default();
    let whole = Text::empty();
    for name in path.split('/') {
        walk.step(Part::Name(name), &whole);
    }
    walk.alias(None);
    walk.components
        .into_iter()
        .filter_map(|part| match part {
            Part::Name(name) => Some(Pattern::new(name)),
            Part::Mixed(_) => None,
        })
        .collect()
}

pub(super) fn owned(route: &[Pattern<'_>]) -> Route<'static> {
    route.iter().map(|pattern| Pattern::new(pattern.text().to_owned())).collect()
}

/// Whether the path is at `root`, and whether it is below.
pub(super) fn relation(walk: &Walk<'_>, root: &[Pattern<'_>]) -> (Truth, Truth) {
    let mut truth = Truth::Yes;
    for (index, name) in root.iter().enumerate() {
        let Some(part) = walk.components.get(index) else { return (Truth::No, Truth::No) };
        truth = truth.and(name.matches(part));
        if truth == Truth::No {
            return (Truth::No, Truth::No);
        }
        if walk.open && index + 1 == walk.components.len() {
            return (Truth::Maybe, Truth::Maybe);
        }
    }
    let deeper = walk.components.len() - root.len().min(walk.components.len());
    match deeper {
        0 => (truth, Truth::No),
        1 if walk.open && walk.components.last().is_some_and(|last| last.prefix().is_empty()) => {
            (truth.and(Truth::Maybe), truth)
        }
        _ => (Truth::No, truth),
    }
}

/// Whether the path begins with `root`.
pub(super) fn prefix(path: &[Part<'_>], root: &[Pattern<'_>]) -> Truth {
    root.iter().zip(path).fold(Truth::Yes, |truth, (name, part)| truth.and(name.matches(part)))
}

/// Whether `rest` is or is below what a glob of several components describes.
pub(super) fn covers(open: bool, rest: &[Part<'_>], glob: &[Pattern<'_>]) -> Truth {
    let mut truth = Truth::Yes;
    for (index, name) in glob.iter().enumerate() {
        let Some(part) = rest.get(index) else { return Truth::No };
        truth = truth.and(name.matches(part));
        if open && index + 1 == rest.len() {
            return truth.and(Truth::Maybe);
        }
        if truth == Truth::No {
            return Truth::No;
        }
    }
    truth
}

impl<'a> Walk<'a> {
    fn follow(&mut self, text: &'a Text) {
        each_part(text, |part| self.step(part, text));
    }

    /// Goes on by one component of `text`.
    fn step(&mut self, part: Part<'a>, text: &Text) {
        match part.exact() {
            Some("" | ".") => {}
            Some("..") => {
                if self.components.iter().any(Part::has_unknown) {
                    self.floating = true;
                    self.components.clear();
                    self.components.push(part_unknown(text));
                } else {
                    self.components.pop();
                }
            }
            _ if self.components.len() < DEEPEST => self.components.push(part),
            _ => {}
        }
    }

    /// Replaces names of the same places: `/proc/self/root`, `/proc/self/cwd`, `/private/etc`.
    fn alias(&mut self, directory: Option<&'a Text>) {
        for _ in 0..8 {
            let at = |index: usize| self.components.get(index).and_then(Part::exact);
            let process = || {
                at(1).is_some_and(|name| {
                    name == "self"
                        || name == "thread-self"
                        || (!name.is_empty() && name.chars().all(|c| c.is_ascii_digit()))
                })
            };
            let first = at(0);
            if first == Some("proc") && process() && at(2) == Some("root") {
                self.components.drain(..3);
            } else if first == Some("proc") && process() && at(2) == Some("cwd") {
                let rest: Vec<Part<'a>> = self.components.drain(3..).collect();
                self.components.clear();
                match directory {
                    Some(directory) if directory.prefix().starts_with('/') => {
                        self.follow(directory);
                    }
                    _ => self.floating = true,
                }
                self.components.extend(rest);
            } else if first.is_some_and(|name| name.eq_ignore_ascii_case("private"))
                && at(1).is_some_and(|name| {
                    ["etc", "var", "tmp"].iter().any(|own| name.eq_ignore_ascii_case(own))
                })
            {
                self.components.drain(..1);
            } else {
                return;
            }
        }
    }
}
