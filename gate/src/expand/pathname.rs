//! Patterns: pathname expansion's, `case`'s and `[[ ]]`'s, those of `${x#p}` and `${x/p/r}`
//! (POSIX.1-2024 XCU 2.14; Bash manual 3.5.8.1).
//!
//! Matching walks the pattern once and keeps the set of places in the subject it may have reached,
//! so it never backtracks; the work is counted and what exceeds it is a Maybe. The subject is a
//! row of tokens, some of which stand for any characters: the same walk answers whether a match is
//! possible and whether it is certain.

mod read;
mod walk;

use crate::model::value::{Glob, Piece, Str, Text, Truth, Unknown};
use read::Reader;
use walk::{DEPTH, WORK, Walk};

/// A pattern, known in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    nodes: Vec<Node>,
    fold: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Char(char),
    One { dot: bool },
    Any { dot: bool },
    Deep,
    Set { set: Set, dot: bool },
    Extended(Kind, Vec<Vec<Node>>),
    Unknown(Unknown),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Optional,
    Any,
    Some,
    One,
    Not,
}

/// A bracket expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Set {
    negated: bool,
    items: Vec<SetItem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SetItem {
    Range(char, char),
    Class(String),
    /// Not known which characters.
    Open,
}

/// A character of a pattern before it is read as one, with what is known of its quoting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// A character. `quoted` makes it stand for itself; `expanded` says that it comes from a value,
    /// where a backslash still quotes.
    Char { char: char, quoted: bool, expanded: bool },
    /// Any characters.
    Unknown(Unknown),
    /// A piece of a pattern that an earlier expansion left.
    Glob(Glob),
}

impl Cell {
    fn active(&self) -> Option<char> {
        match self {
            Self::Char { char, quoted: false, .. } => Some(*char),
            _ => None,
        }
    }
}

/// A place in the subject.
#[derive(Clone, Debug)]
enum Token {
    Char(char),
    One,
    Set(Set),
    /// Any characters; `slash` says whether a slash is among them.
    Wild {
        slash: bool,
    },
    /// Directly before a [`Token::Wild`] at the start of a name: nothing at all, or a first
    /// character other than a dot.
    Lead,
}

impl Pattern {
    /// The pattern that a shell source text without quotes spells, extended patterns included.
    pub fn parse(source: &str) -> Self {
        let cells: Vec<Cell> =
            source.chars().map(|char| Cell::Char { char, quoted: false, expanded: true }).collect();
        Self::from_cells(&cells, true, false)
    }

    /// The pattern that matches exactly `text`.
    pub fn literal(text: &str) -> Self {
        Self { nodes: text.chars().map(Node::Char).collect(), fold: false }
    }

    pub(super) fn from_cells(cells: &[Cell], extended: bool, fold: bool) -> Self {
        Self { nodes: Reader::new(cells, extended, false).nodes(0, cells.len(), 0), fold }
    }

    /// The string it is, where it matches one string only.
    pub fn exact(&self) -> Option<String> {
        if self.fold {
            return None;
        }
        self.nodes
            .iter()
            .map(|node| if let Node::Char(char) = node { Some(*char) } else { None })
            .collect()
    }

    /// Whether it is the empty pattern.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Why it is not known, where a part of it is not.
    pub fn first_unknown(&self) -> Option<&Unknown> {
        self.nodes.iter().find_map(|node| match node {
            Node::Unknown(cause) => Some(cause),
            _ => None,
        })
    }

    /// Whether characters other than ASCII could be matched in a way that depends on the locale.
    pub(super) fn counts_characters(&self) -> bool {
        !self.nodes.iter().all(|node| matches!(node, Node::Char(_) | Node::Any { .. }))
    }

    fn reversed(&self) -> Self {
        Self { nodes: reverse(&self.nodes), fold: self.fold }
    }
}

fn reverse(nodes: &[Node]) -> Vec<Node> {
    nodes
        .iter()
        .rev()
        .map(|node| match node {
            Node::Extended(kind, alternatives) => {
                Node::Extended(*kind, alternatives.iter().map(|nodes| reverse(nodes)).collect())
            }
            other => other.clone(),
        })
        .collect()
}

/// Whether the whole of `subject` matches, as in `case` and `[[ == ]]`: slashes and dots are
/// ordinary.
pub fn matches(pattern: &Pattern, subject: &Text) -> Truth {
    whole(pattern, subject, false)
}

/// As [`matches()`], with the rules of pathnames: only `**` and unknown pieces match a slash, and a
/// dot at the start of a name is matched by a dot only.
pub fn matches_path(pattern: &Pattern, subject: &Text) -> Truth {
    whole(pattern, subject, true)
}

fn whole(pattern: &Pattern, subject: &Text, path: bool) -> Truth {
    let first = whole_tokens(pattern, &tokens(subject, path), path);
    if first == Truth::No && subject.has_glob() && !subject.has_unknown() {
        // The pattern in the subject may have matched no name and stand for itself.
        let kept = Text::literal(subject.fill(""));
        if whole_tokens(pattern, &tokens(&kept, path), path).is_possible() {
            return Truth::Maybe;
        }
    }
    first
}

fn whole_tokens(pattern: &Pattern, tokens: &[Token], path: bool) -> Truth {
    let end = tokens.len();
    let mut walk = Walk { tokens, path, fold: pattern.fold, work: WORK };
    let start = walk.close(vec![0], false);
    let possible = walk.row(&pattern.nodes, start, false, 0);
    if walk.work == 0 {
        return Truth::Maybe;
    }
    if !possible.contains(&end) {
        return Truth::No;
    }
    let certain = walk.row(&pattern.nodes, vec![0], true, 0);
    if walk.work > 0 && certain.contains(&end) { Truth::Yes } else { Truth::Maybe }
}

/// Whether `text`, after pathname expansion, can be `candidate`: Yes where it is exactly that, Maybe
/// where a pattern or an unknown piece could become it.
pub fn may_be(text: &Text, candidate: &str) -> Truth {
    if let Some(exact) = text.exact() {
        return Truth::from(exact == candidate);
    }
    if text.has_glob() && !text.has_unknown() && text.fill("") == candidate {
        return Truth::Maybe;
    }
    let tokens: Vec<Token> = candidate.chars().map(Token::Char).collect();
    reach(text, &tokens)
}

/// Whether `text`, after pathname expansion, can begin with `prefix`.
pub fn may_start_with(text: &Text, prefix: &str) -> Truth {
    if text.prefix().starts_with(prefix) {
        return Truth::Yes;
    }
    if text.is_exact() {
        return Truth::No;
    }
    let mut tokens: Vec<Token> = prefix.chars().map(Token::Char).collect();
    tokens.push(Token::Wild { slash: true });
    reach(text, &tokens)
}

/// Whether `text`, after pathname expansion, can end with `suffix`.
pub fn may_end_with(text: &Text, suffix: &str) -> Truth {
    if let Some(Piece::Literal(last)) = text.pieces().last()
        && last.ends_with(suffix)
    {
        return Truth::Yes;
    }
    if text.is_exact() {
        return Truth::from(suffix.is_empty());
    }
    let mut tokens = vec![Token::Wild { slash: true }];
    tokens.extend(suffix.chars().map(Token::Char));
    reach(text, &tokens)
}

fn reach(text: &Text, tokens: &[Token]) -> Truth {
    let nodes = nodes_of(text);
    let mut walk = Walk { tokens, path: true, fold: false, work: WORK };
    let start = walk.close(vec![0], false);
    let ends = walk.row(&nodes, start, false, 0);
    if walk.work == 0 || ends.contains(&tokens.len()) { Truth::Maybe } else { Truth::No }
}

/// What a pattern does to a known string: the ends, in characters, of its matches that begin at
/// `start`; `None` where that cannot be told.
fn ends_from(
    pattern: &Pattern,
    tokens: &[Token],
    start: usize,
    work: &mut usize,
) -> Option<Vec<usize>> {
    let mut walk = Walk { tokens, path: false, fold: pattern.fold, work: *work };
    let possible = walk.row(&pattern.nodes, vec![start], false, 0);
    let certain = if pattern.first_unknown().is_some() {
        walk.row(&pattern.nodes, vec![start], true, 0)
    } else {
        possible.clone()
    };
    *work = walk.work;
    (walk.work > 0 && possible == certain && !has_open(&pattern.nodes)).then_some(possible)
}

fn has_open(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Unknown(_) => true,
        Node::Set { set, .. } => set.items.contains(&SetItem::Open),
        Node::Extended(_, alternatives) => alternatives.iter().any(|nodes| has_open(nodes)),
        _ => false,
    })
}

/// `text` without the shortest or longest prefix that matches; `None` where that cannot be told.
pub(super) fn remove_prefix(text: &str, pattern: &Pattern, longest: bool) -> Option<String> {
    let tokens: Vec<Token> = text.chars().map(Token::Char).collect();
    let ends = ends_from(pattern, &tokens, 0, &mut { WORK })?;
    let cut = if longest { ends.last() } else { ends.first() };
    Some(text.chars().skip(cut.copied().unwrap_or(0)).collect())
}

/// `text` without the shortest or longest suffix that matches; `None` where that cannot be told.
pub(super) fn remove_suffix(text: &str, pattern: &Pattern, longest: bool) -> Option<String> {
    let tokens: Vec<Token> = text.chars().rev().map(Token::Char).collect();
    let ends = ends_from(&pattern.reversed(), &tokens, 0, &mut { WORK })?;
    let cut = if longest { ends.last() } else { ends.first() };
    Some(text.chars().take(tokens.len().saturating_sub(cut.copied().unwrap_or(0))).collect())
}

/// The half-open ranges, in characters, that `${x/p/r}` replaces: the longest match at the leftmost
/// place, all of them or the first; `None` where that cannot be told.
pub(super) fn matches_in(text: &str, pattern: &Pattern, all: bool) -> Option<Vec<(usize, usize)>> {
    let tokens: Vec<Token> = text.chars().map(Token::Char).collect();
    let mut found = Vec::new();
    let mut work = WORK;
    let mut at = 0;
    while at < tokens.len() {
        let end = ends_from(pattern, &tokens, at, &mut work)?.last().copied();
        match end {
            Some(end) if end > at => {
                found.push((at, end));
                if !all {
                    break;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    Some(found)
}

/// The range, in characters, of the longest match at the start of `text`, if there is one; `None`
/// where that cannot be told.
pub(super) fn longest_at_start(text: &str, pattern: &Pattern) -> Option<Vec<(usize, usize)>> {
    let tokens: Vec<Token> = text.chars().map(Token::Char).collect();
    let ends = ends_from(pattern, &tokens, 0, &mut { WORK })?;
    Some(ends.last().map(|end| (0, *end)).into_iter().collect())
}

/// As [`longest_at_start`], at the end of `text`.
pub(super) fn longest_at_end(text: &str, pattern: &Pattern) -> Option<Vec<(usize, usize)>> {
    let tokens: Vec<Token> = text.chars().rev().map(Token::Char).collect();
    let ends = ends_from(&pattern.reversed(), &tokens, 0, &mut { WORK })?;
    let total = tokens.len();
    Some(ends.last().map(|length| (total.saturating_sub(*length), total)).into_iter().collect())
}

/// Whether one character matches, as `${x^p}` asks.
pub(super) fn matches_char(char: char, pattern: &Pattern) -> Option<bool> {
    if pattern.nodes.is_empty() {
        return Some(true);
    }
    let ends = ends_from(pattern, &[Token::Char(char)], 0, &mut { WORK })?;
    Some(ends.contains(&1))
}

fn nodes_of(text: &Text) -> Vec<Node> {
    let mut nodes = Vec::new();
    for piece in text.pieces() {
        match piece {
            Piece::Literal(text) => nodes.extend(text.chars().map(Node::Char)),
            Piece::Unknown(cause) => nodes.push(Node::Unknown(cause.clone())),
            Piece::Glob(glob) => nodes.extend(glob_nodes(glob)),
        }
    }
    nodes
}

fn glob_nodes(glob: &Glob) -> Vec<Node> {
    match glob {
        Glob::Any => vec![Node::Any { dot: false }],
        Glob::One => vec![Node::One { dot: false }],
        Glob::Deep => vec![Node::Deep],
        Glob::Set(source) => source_nodes(source, false),
        Glob::Extended(source) => source_nodes(source, true),
    }
}

fn source_nodes(source: &str, dot: bool) -> Vec<Node> {
    let cells: Vec<Cell> =
        source.chars().map(|char| Cell::Char { char, quoted: false, expanded: true }).collect();
    Reader::new(&cells, true, dot).nodes(0, cells.len(), 0)
}

/// The subject as tokens.
fn tokens(text: &Text, path: bool) -> Vec<Token> {
    let mut out = Vec::new();
    for piece in text.pieces() {
        let at_start = matches!(out.last(), None | Some(Token::Char('/')));
        match piece {
            Piece::Literal(text) => out.extend(text.chars().map(Token::Char)),
            Piece::Unknown(_) => out.push(Token::Wild { slash: true }),
            Piece::Glob(Glob::Any) => {
                if path && at_start {
                    out.push(Token::Lead);
                }
                out.push(Token::Wild { slash: false });
            }
            Piece::Glob(Glob::One) => out.push(Token::One),
            Piece::Glob(Glob::Deep) => out.push(Token::Wild { slash: true }),
            Piece::Glob(Glob::Set(source)) => match source_nodes(source, false).as_slice() {
                [Node::Set { set, .. }] => out.push(Token::Set(set.clone())),
                [Node::Char(char)] => out.push(Token::Char(*char)),
                _ => out.push(Token::Wild { slash: false }),
            },
            Piece::Glob(Glob::Extended(_)) => out.push(Token::Wild { slash: false }),
        }
    }
    out
}

/// Pathname expansion of one field: which of its characters are a pattern.
/// `None` where none is, so that the characters stand as they are.
pub(super) fn expand(cells: &[Cell], options: Options) -> Option<Text> {
    let reader = Reader::new(cells, options.extended, false);
    let mut text = Text::empty();
    let mut found = false;
    let mut at = 0;
    // Brackets are looked for once per name of the path: without a closing one there is no set.
    let mut no_set_before = 0;
    while let Some(cell) = cells.get(at) {
        at += 1;
        let start_of_name = text.is_empty()
            || text
                .pieces()
                .last()
                .is_some_and(|piece| matches!(piece, Piece::Literal(text) if text.ends_with('/')));
        match cell {
            Cell::Unknown(cause) => text.push(Piece::Unknown(cause.clone())),
            Cell::Glob(glob) => text.push(Piece::Glob(glob.clone())),
            Cell::Char { char, quoted: true, .. } => push_folded(&mut text, *char, options),
            Cell::Char { char, expanded, .. } => {
                if let Some(end) = reader.extended_end(at - 1) {
                    text.push(span_piece(cells, at - 1, end, Glob::Extended));
                    found = true;
                    at = end;
                    continue;
                }
                match char {
                    '*' => {
                        let double = cells.get(at).and_then(Cell::active) == Some('*');
                        let mut end = at;
                        while cells.get(end).and_then(Cell::active) == Some('*')
                            && reader.extended_end(end).is_none()
                        {
                            end += 1;
                        }
                        let closes = match cells.get(end) {
                            None => true,
                            Some(Cell::Char { char, .. }) => *char == '/',
                            Some(_) => false,
                        };
                        let deep =
                            double && options.globstar && start_of_name && closes && end == at + 1;
                        at = end;
                        let glob = if deep { Glob::Deep } else { Glob::Any };
                        text.push(Piece::Glob(options.leading(glob, start_of_name)));
                        found = true;
                    }
                    '?' => {
                        text.push(Piece::Glob(options.leading(Glob::One, start_of_name)));
                        found = true;
                    }
                    '[' if at > no_set_before => {
                        if let Some(end) = reader.set_end(at - 1, true) {
                            let piece = span_piece(cells, at - 1, end, Glob::Set);
                            text.push(match piece {
                                Piece::Glob(glob) => {
                                    Piece::Glob(options.leading(glob, start_of_name))
                                }
                                other => other,
                            });
                            found = true;
                            at = end;
                        } else {
                            no_set_before = cells
                                .iter()
                                .skip(at)
                                .position(|cell| cell.active() == Some('/'))
                                .map_or(cells.len(), |offset| at + offset);
                            text.push_str("[");
                        }
                    }
                    '\\' if *expanded => match cells.get(at) {
                        Some(Cell::Char { char, .. }) => {
                            text.push(Piece::Glob(Glob::Set(format!("\\{char}").into())));
                            at += 1;
                        }
                        _ => text.push_str("\\"),
                    },
                    other => push_folded(&mut text, *other, options),
                }
            }
        }
    }
    found.then_some(text)
}

fn push_folded(text: &mut Text, char: char, options: Options) {
    let (lower, upper) = (char.to_ascii_lowercase(), char.to_ascii_uppercase());
    if options.fold && lower != upper {
        text.push(Piece::Glob(Glob::Set(format!("[{lower}{upper}]").into())));
    } else {
        text.push_str(char.encode_utf8(&mut [0; 4]));
    }
}

fn span_piece(cells: &[Cell], start: usize, end: usize, make: fn(Str) -> Glob) -> Piece {
    let mut source = Str::new();
    for cell in cells.get(start..end).unwrap_or_default() {
        match cell {
            Cell::Char { char, quoted, .. } => {
                if *quoted && !char.is_alphanumeric() {
                    source.push('\\');
                }
                source.push(*char);
            }
            Cell::Unknown(cause) => return Piece::Unknown(cause.clone()),
            Cell::Glob(glob) => source.push_str(glob.source()),
        }
    }
    Piece::Glob(make(source))
}

/// The shell options that pathname expansion minds.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a shell option of its own")]
pub(super) struct Options {
    pub(super) extended: bool,
    pub(super) globstar: bool,
    pub(super) dotglob: bool,
    /// `nocaseglob`
    pub(super) fold: bool,
}

impl Options {
    /// With `dotglob`, a pattern at the start of a name takes the form that matches a dot too.
    fn leading(self, glob: Glob, start_of_name: bool) -> Glob {
        if self.dotglob && start_of_name && glob != Glob::Deep {
            Glob::Extended(glob.source().into())
        } else {
            glob
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, matches, matches_path, may_be, may_start_with};
    use crate::model::value::{Glob, Piece, Text, Truth, Unknown};

    fn glob(source: &str) -> Text {
        let mut text = Text::empty();
        for char in source.chars() {
            match char {
                '*' => text.push(Piece::Glob(Glob::Any)),
                '?' => text.push(Piece::Glob(Glob::One)),
                '%' => text.push(Piece::Unknown(Unknown::Output)),
                other => text.push_str(&other.to_string()),
            }
        }
        text
    }

    #[test]
    fn known_strings_match_as_in_bash() {
        for (pattern, subject, expect) in [
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("*.tar.*", "x.tar.gz", true),
            ("[!a-c]x", "dx", true),
            ("[!a-c]x", "bx", false),
            ("[]a]", "]", true),
            ("[[:digit:]]?", "7z", true),
            ("@(a|b|c*)d", "cccd", true),
            ("+(ab)", "ababab", true),
            ("+(ab)", "ababa", false),
            ("!(*.txt)", "a.md", true),
            ("!(*.txt)", "a.txt", false),
            ("?(x)y", "y", true),
            ("*(a|b)c", "abbac", true),
            ("a[", "a[", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("a\\?b*", "a?bc", true),
            ("!(!(a))", "a", true),
            ("!(!(a))", "b", false),
        ] {
            let truth = matches(&Pattern::parse(pattern), &Text::literal(subject));
            assert_eq!(truth, Truth::from(expect), "{pattern} on {subject}");
        }
    }

    #[test]
    fn unknown_subjects_are_possible_certain_or_neither() {
        for (pattern, subject, expect) in [
            ("*", "%", Truth::Yes),
            ("a*", "a%", Truth::Yes),
            ("b*", "a%", Truth::No),
            ("*.sh", "%.txt", Truth::No),
            ("*.txt", "%.txt", Truth::Yes),
            ("a?", "a%", Truth::Maybe),
            ("!(x)", "%", Truth::Maybe),
            ("", "%", Truth::Maybe),
        ] {
            assert_eq!(
                matches(&Pattern::parse(pattern), &glob(subject)),
                expect,
                "{pattern} {subject}"
            );
        }
    }

    #[test]
    fn patterns_reach_paths() {
        for (text, path, expect) in [
            ("/e*/passw?", "/etc/passwd", Truth::Maybe),
            ("/e*/passw?", "/etc/x/passwd", Truth::No),
            ("*", ".env", Truth::No),
            (".e?v", ".env", Truth::Maybe),
            ("/b?n/r*", "/bin/rm", Truth::Maybe),
            ("%/x", "/a/b/x", Truth::Maybe),
            ("%/x", "/a/b/y", Truth::No),
            ("/etc", "/etc", Truth::Yes),
        ] {
            assert_eq!(may_be(&glob(text), path), expect, "{text} {path}");
        }
        assert_eq!(may_start_with(&glob("/e*/x"), "/etc/"), Truth::Maybe);
        assert_eq!(may_start_with(&glob("/e*/x"), "/usr/"), Truth::No);
        assert_eq!(may_start_with(&glob("/etc/*"), "/etc/"), Truth::Yes);
        assert_eq!(matches_path(&Pattern::parse(".env*"), &glob("*")), Truth::No);
        assert_eq!(matches_path(&Pattern::parse("/srv/*"), &glob("/srv/?")), Truth::Yes);
    }

    #[test]
    fn hostile_patterns_end() {
        let pattern = Pattern::parse(&"*a".repeat(3000));
        let subject = Text::literal("a".repeat(20000) + "b");
        assert_ne!(matches(&pattern, &subject), Truth::Yes);
        let pattern = Pattern::parse(&"!(".repeat(500));
        assert_eq!(matches(&pattern, &Text::literal("x")), Truth::No);
    }
}
