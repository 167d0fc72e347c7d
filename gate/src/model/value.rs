//! Values that are known in part.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use ecow::{EcoString, EcoVec};

use crate::model::span::Site;

/// Characters that are shared: a copy costs nothing, and a few bytes need no room of their own.
pub type Str = EcoString;

/// A list that is shared until one of its holders changes it.
pub type List<T> = EcoVec<T>;

/// Three-valued truth. And is the lesser, or the greater, not the mirror.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Truth {
    /// Known not to hold.
    #[default]
    No,
    /// Cannot be told.
    Maybe,
    /// Known to hold.
    Yes,
}

impl Truth {
    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.min(other)
    }

    /// One of them holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.max(other)
    }

    /// The mirror image.
    #[must_use]
    pub const fn negate(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
            Self::Yes => Self::No,
        }
    }

    /// Whether it may hold.
    pub fn is_possible(self) -> bool {
        self != Self::No
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::Yes } else { Self::No }
    }
}

/// A string known in part: pieces in order. Two literals never touch; no piece is an empty literal,
/// so the empty string has no piece at all.
#[derive(Clone, Debug, Default)]
pub struct Text(Pieces);

/// The pieces of a text. Most texts are one piece, which needs no list.
#[derive(Clone, Debug, Default)]
enum Pieces {
    #[default]
    None,
    One(Piece),
    Many(List<Piece>),
}

impl Pieces {
    fn as_slice(&self) -> &[Piece] {
        match self {
            Self::None => &[],
            Self::One(piece) => std::slice::from_ref(piece),
            Self::Many(list) => list,
        }
    }

    fn push(&mut self, piece: Piece) {
        match std::mem::take(self) {
            Self::None => *self = Self::One(piece),
            Self::One(first) => *self = Self::Many([first, piece].into()),
            Self::Many(mut list) => {
                list.push(piece);
                *self = Self::Many(list);
            }
        }
    }

    fn last_mut(&mut self) -> Option<&mut Piece> {
        match self {
            Self::None => None,
            Self::One(piece) => Some(piece),
            Self::Many(list) => list.make_mut().last_mut(),
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.pieces() == other.pieces()
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.pieces().cmp(other.pieces())
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pieces().hash(state);
    }
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Piece {
    /// Exactly these characters.
    Literal(Str),
    /// Any string, the empty one and slashes included.
    Unknown(Unknown),
    /// A piece of a pattern that pathname expansion replaces by names it finds. Where the pattern
    /// matches nothing, the shell leaves its own characters in place.
    Glob(Glob),
}

/// A piece of a pattern (POSIX.1-2024 XCU 2.14). None matches a slash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Glob {
    /// `*`
    Any,
    /// `?`
    One,
    /// `[...]` as it stands in the source, brackets included.
    Set(Str),
    /// `**` with `globstar`: crosses slashes.
    Deep,
    /// An extended pattern `@(...)` and its kin, as it stands in the source.
    Extended(Str),
}

/// Why a piece is not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Unknown {
    /// The environment's or an earlier input's value of this parameter.
    Parameter(Str),
    /// What a command prints.
    Output,
    /// What is read from standard input or a file.
    Input,
    /// What came over the network, whatever passed it on.
    Network,
    /// What may hold secrets of the environment or of a store, whatever passed it on.
    Secret,
    /// What an expression yields.
    Arithmetic,
    /// Names that stand in for a wrapper's own placeholder (`{}` of `find -exec`, items of `xargs`).
    Item,
    /// Names that a search prints, each of what lies below the directory named before it or below
    /// the current one: no slash at its start, no `..`. A text of lines with such a piece stands for
    /// any number of them.
    Found,
    /// As [`Self::Found`], a name in a directory or below it, hidden ones and secrets included.
    Listed,
    /// A word of letters, digits and a few signs that begins with a letter or a digit and is no path
    /// that leads away: a revision, a branch, a date.
    Plain,
    /// Letters of a name that is made up so that nothing has it yet (`mktemp`).
    Fresh,
    /// Values of several branches or passes that were joined.
    Joined,
    /// A limit was reached.
    Limit,
    /// An operation that is not modelled; which.
    NotModelled(&'static str),
    /// A path the shell makes for a process substitution.
    ProcessPath,
}

impl Unknown {
    /// The cause of what an operation makes of such a piece: a part of a name may be anything.
    #[must_use]
    pub fn changed(&self) -> Self {
        if self.is_below() { Self::Output } else { self.clone() }
    }

    /// Whether, as a path, it leads to something below the current directory.
    pub const fn is_below(&self) -> bool {
        matches!(self, Self::Found | Self::Listed | Self::Plain | Self::Fresh)
    }

    /// A phrase for a person, e.g. ``the value of `DIR` ``.
    pub fn phrase(&self) -> String {
        match self {
            Self::Parameter(name) => format!("the value of `{name}`"),
            Self::Output => "what a command prints".into(),
            Self::Input => "what is read from an input".into(),
            Self::Network => "what comes over the network".into(),
            Self::Secret => "what may hold secrets".into(),
            Self::Arithmetic => "what an expression yields".into(),
            Self::Item => "the names another program passes on".into(),
            Self::Found | Self::Listed => "the names a search finds".into(),
            Self::Plain => "which word a lookup prints".into(),
            Self::Fresh => "which name is made up".into(),
            Self::Joined => "which of several values holds".into(),
            Self::Limit => "a value past a limit of the analysis".into(),
            Self::NotModelled(what) => format!("what {what} gives"),
            Self::ProcessPath => "the path of a process substitution".into(),
        }
    }
}

impl Text {
    /// The empty string.
    pub const fn empty() -> Self {
        Self(Pieces::None)
    }

    /// Exactly `text`.
    pub fn literal(text: impl Into<Str>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::empty() } else { Self(Pieces::One(Piece::Literal(text))) }
    }

    /// Any string.
    pub fn unknown(cause: Unknown) -> Self {
        Self(Pieces::One(Piece::Unknown(cause)))
    }

    /// The pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        self.0.as_slice()
    }

    /// Appends a piece and keeps the form.
    pub fn push(&mut self, piece: Piece) {
        match piece {
            Piece::Literal(text) => self.push_str(&text),
            other => self.0.push(other),
        }
    }

    /// Appends known characters.
    pub fn push_str(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Piece::Literal(last)) = self.0.last_mut() {
            last.push_str(text);
        } else {
            self.0.push(Piece::Literal(text.into()));
        }
    }

    /// Appends another text.
    pub fn extend(&mut self, other: &Self) {
        for piece in other.pieces() {
            self.push(piece.clone());
        }
    }

    /// The two texts one behind the other.
    #[must_use]
    pub fn concat(mut self, other: &Self) -> Self {
        self.extend(other);
        self
    }

    /// The characters, where all are known and none is a pattern.
    pub fn exact(&self) -> Option<&str> {
        match self.pieces() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether all characters are known and none is a pattern.
    pub fn is_exact(&self) -> bool {
        self.exact().is_some()
    }

    /// Whether some piece is unknown (a pattern is not).
    pub fn has_unknown(&self) -> bool {
        self.pieces().iter().any(|piece| matches!(piece, Piece::Unknown(_)))
    }

    /// Whether some piece is a pattern.
    pub fn has_glob(&self) -> bool {
        self.pieces().iter().any(|piece| matches!(piece, Piece::Glob(_)))
    }

    /// Whether it is the empty string.
    pub fn is_empty(&self) -> bool {
        self.pieces().is_empty()
    }

    /// The known characters at its start.
    pub fn prefix(&self) -> &str {
        match self.pieces().first() {
            Some(Piece::Literal(text)) => text,
            _ => "",
        }
    }

    /// The cause of its first unknown piece.
    pub fn first_unknown(&self) -> Option<&Unknown> {
        self.pieces().iter().find_map(|piece| match piece {
            Piece::Unknown(cause) => Some(cause),
            _ => None,
        })
    }

    /// Known characters as they are, patterns as written, `…` for each unknown piece: for people.
    pub fn display(&self) -> String {
        self.fill("…")
    }

    /// As the shell would leave it when no name matches: patterns as written, each unknown piece
    /// replaced by `stand_in`.
    pub fn fill(&self, stand_in: &str) -> String {
        let mut out = String::new();
        for piece in self.pieces() {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Unknown(_) => out.push_str(stand_in),
                Piece::Glob(glob) => out.push_str(glob.source()),
            }
        }
        out
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::literal(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::literal(text)
    }
}

impl From<Str> for Text {
    fn from(text: Str) -> Self {
        Self::literal(text)
    }
}

impl FromIterator<Piece> for Text {
    fn from_iter<I: IntoIterator<Item = Piece>>(pieces: I) -> Self {
        let mut text = Self::empty();
        for piece in pieces {
            text.push(piece);
        }
        text
    }
}

impl Glob {
    /// The characters of the source.
    pub fn source(&self) -> &str {
        match self {
            Self::Any => "*",
            Self::One => "?",
            Self::Deep => "**",
            Self::Set(text) | Self::Extended(text) => text,
        }
    }
}

/// A word after all expansions: what may become one argument, or several, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Its characters.
    pub text: Text,
    /// How many arguments it becomes.
    pub arity: Arity,
    /// The word it comes from.
    pub site: Site,
    /// Whether its first character was quoted (a quoted `-` is still an option to a utility, a
    /// quoted keyword or tilde is none to the shell).
    pub quoted: bool,
}

impl Field {
    /// A field of exactly these characters.
    pub fn literal(text: impl Into<Str>, site: Site) -> Self {
        Self { text: Text::literal(text), arity: Arity::One, site, quoted: false }
    }

    /// The characters where it is exactly one known argument.
    pub fn exact(&self) -> Option<&str> {
        if self.arity == Arity::One { self.text.exact() } else { None }
    }
}

/// How many arguments a field becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arity {
    /// Exactly one (a pattern without a match stays one argument).
    #[default]
    One,
    /// None, one or several: an unquoted unknown may split or vanish, a pattern may match several
    /// names.
    Many,
}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Known to be unset.
    Unset,
    /// Nothing is known: it may be unset, empty or anything (a parameter of the environment).
    Unknown(Unknown),
    /// A string, known in part.
    Scalar(Text),
    /// An indexed array: known indices in order. `open` says that there may be further elements.
    Indexed {
        /// Elements by index.
        elements: std::collections::BTreeMap<i64, Text>,
        /// Whether others may exist.
        open: bool,
    },
    /// An associative array: known keys. `open` says that there may be further elements.
    Associative {
        /// Elements by key.
        elements: std::collections::BTreeMap<String, Text>,
        /// Whether others may exist.
        open: bool,
    },
}

impl Value {
    /// A known string.
    pub fn literal(text: impl Into<Str>) -> Self {
        Self::Scalar(Text::literal(text))
    }
}
