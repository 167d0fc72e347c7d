//! Peers on a network, and words that are a path in one form and something else in another.

use crate::model::value::{Piece, Text};

/// What a word is behind its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A path on this machine.
    Path(Text),
    /// A host, an address, a URL.
    Host(Text),
    /// Text that is never opened.
    Nothing,
}

/// A URL or host; `file:` URLs are paths.
pub fn url(text: &Text) -> Target {
    let prefix = text.prefix();
    let lower = prefix.to_ascii_lowercase();
    for scheme in ["file://localhost/", "file:///", "file:/"] {
        if lower.starts_with(scheme) {
            return Target::Path(Text::literal("/").concat(&cut(text, scheme.len())));
        }
    }
    Target::Host(text.clone())
}

/// `[user@]host:path` and URLs are remote, anything else is a path.
pub fn remote_path(text: &Text) -> Target {
    let prefix = text.prefix();
    if prefix.contains("://") {
        return url(text);
    }
    let colon = text.pieces().iter().find_map(|piece| match piece {
        Piece::Literal(literal) => literal.find([':', '/']).and_then(|at| literal.get(at..=at)),
        _ => None,
    });
    if colon == Some(":") { Target::Host(text.clone()) } else { Target::Path(text.clone()) }
}

/// The host of a URL, an address or a host with a port: without scheme, user, port and path.
pub fn host_of(text: &Text) -> Text {
    let mut out = Text::empty();
    let mut begins = true;
    for piece in text.pieces() {
        let Piece::Literal(literal) = piece else {
            out.push(piece.clone());
            continue;
        };
        let mut rest: &str = literal;
        if begins && let Some((_, behind)) = rest.split_once("://") {
            rest = behind;
        }
        begins = false;
        let end = rest.find(['/', '?', '#']);
        let whole = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let whole = match whole.rsplit_once('@') {
            Some((_, host)) => {
                out = Text::empty();
                host
            }
            None => whole,
        };
        match whole.split_once(':') {
            Some((host, port)) if port.chars().all(|c| c.is_ascii_digit()) => out.push_str(host),
            _ => out.push_str(whole),
        }
        if end.is_some() {
            break;
        }
    }
    out
}

/// The path in the value of a variable that names a file: all of it, or what stands behind `file=`,
/// up to a colon.
pub fn file_of(text: &Text) -> Text {
    let Some(at) = text.prefix().find("file=") else { return text.clone() };
    let rest = cut(text, at + "file=".len());
    match rest.exact().and_then(|path| path.split_once(':')) {
        Some((path, _)) => Text::literal(path),
        None => rest,
    }
}

/// `@path`, otherwise text.
pub fn at_path(text: &Text) -> Target {
    if !text.prefix().starts_with('@') {
        return Target::Nothing;
    }
    let rest = cut(text, 1);
    if rest.exact() == Some("-") { Target::Nothing } else { Target::Path(rest) }
}

/// The last component of a pattern of names, as the name of a file where the command runs; nothing
/// for one that leaves files out (`!x`) or that takes in all names. One that is not known may name
/// any.
pub fn name_pattern(text: &Text) -> Target {
    if text.prefix().starts_with('!') {
        return Target::Nothing;
    }
    let Some(pattern) = text.exact() else {
        return Target::Path(Text::literal("./").concat(text));
    };
    let end = pattern.rsplit(['/', ':']).next().unwrap_or_default();
    let name = end.trim_start_matches('^').trim_end_matches('$').replace('\\', "");
    match name.as_str() {
        "" | "." | ".." | "*" | "**" => Target::Nothing,
        _ => Target::Path(Text::literal(format!("./{name}"))),
    }
}

/// `NAME=@PATH`, `NAME=<PATH` and `NAME@PATH`, otherwise text; options behind a `;` are left out.
pub fn form_path(text: &Text) -> Target {
    let prefix = text.prefix();
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    if let Some((name, _)) = prefix.split_once('@')
        && is_name(name)
    {
        return Target::Path(cut(text, name.len() + 1));
    }
    let at = prefix.find("=@").into_iter().chain(prefix.find("=<")).min();
    let Some(at) = at else { return Target::Nothing };
    let rest = cut(text, at + 2);
    match rest.exact().and_then(|path| path.split_once(';')) {
        Some((path, _)) => Target::Path(Text::literal(path)),
        None => Target::Path(rest),
    }
}

/// Whether a word looks like a path: a slash, a tilde, dots or a dot and up to ten letters at its
/// end, or a dot and a letter at its start.
pub fn is_path_like(text: &Text) -> bool {
    let shown = text.fill("x");
    if shown.is_empty() || shown.starts_with('-') {
        return false;
    }
    if shown.contains('/') || shown.starts_with('~') || shown == ".." || shown == "." {
        return true;
    }
    if shown
        .strip_prefix('.')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    {
        return true;
    }
    shown.rsplit_once('.').is_some_and(|(_, end)| {
        !end.is_empty() && end.len() <= 10 && end.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

/// The text without its first `count` bytes, all of them known.
pub fn cut(text: &Text, count: usize) -> Text {
    let mut pieces = text.pieces().iter();
    let mut out = Text::empty();
    if let Some(Piece::Literal(first)) = pieces.next() {
        out.push_str(first.get(count..).unwrap_or_default());
    }
    for piece in pieces {
        out.push(piece.clone());
    }
    out
}

/// The part behind the last slash.
pub fn base_name(text: &Text) -> Text {
    let mut out = Text::empty();
    let trimmed = trim_slashes(text);
    for piece in trimmed.pieces() {
        match piece {
            Piece::Literal(literal) => match literal.rsplit_once('/') {
                Some((_, end)) => out = Text::literal(end),
                None => out.push_str(literal),
            },
            other => out.push(other.clone()),
        }
    }
    out
}

fn trim_slashes(text: &Text) -> Text {
    let last = text.pieces().len();
    text.pieces()
        .iter()
        .enumerate()
        .map(|(index, piece)| match piece {
            Piece::Literal(literal) if index + 1 == last => {
                Piece::Literal(literal.trim_end_matches('/').into())
            }
            other => other.clone(),
        })
        .collect()
}
