//! Tilde expansion (POSIX.1-2024 XCU 2.6.1; Bash manual 3.5.2).

use super::broken::{Rule, holds};
use super::{Atom, Expander, Run};
use crate::model::value::{Text, Unknown, Value};

/// Where a tilde counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tilde {
    /// Nowhere.
    None,
    /// At the start.
    Start,
    /// At the start and after each colon.
    Assignment,
    /// At the start; in a word with the form of an assignment after the sign and each colon, which
    /// bash does for every word of a command.
    Word,
}

/// Where the value begins in a word that begins like an assignment: one past the `=`.
pub(super) fn assignment_end(atoms: &[Atom]) -> Option<usize> {
    let Some(Atom::Text(text)) = atoms.first() else { return None };
    let name =
        text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    if name == 0 || text.starts_with(|char: char| char.is_ascii_digit()) {
        return None;
    }
    let mut rest = text.get(name..)?;
    if rest.starts_with('[') {
        rest = rest.get(rest.find(']')? + 1..)?;
    }
    rest = rest.strip_prefix('+').unwrap_or(rest);
    Some(text.len() - rest.strip_prefix('=')?.len())
}

/// Appends unquoted characters of the source, tildes expanded. `first` and `last` say whether the
/// text begins and ends the word.
pub(super) fn literal(
    expander: &mut Expander,
    text: &str,
    tilde: Tilde,
    first: bool,
    last: bool,
    quoted: bool,
    out: &mut Vec<Run>,
) {
    let mut text = text;
    let mut colons = tilde == Tilde::Assignment;
    if tilde == Tilde::Word {
        let head = first.then(|| assignment_end(&[Atom::Text(text.into())])).flatten();
        if let Some(end) = head {
            let (name, value) = text.split_at_checked(end).unwrap_or((text, ""));
            push(name, quoted, out);
            text = value;
            colons = true;
        }
    }
    if tilde == Tilde::None || !text.contains('~') {
        push(text, quoted, out);
        return;
    }
    let segments = if colons { text.split_inclusive(':') } else { text.split_inclusive('\0') };
    let mut start = first;
    let mut left = text.len();
    for segment in segments {
        left -= segment.len();
        let word = if colons { segment.strip_suffix(':').unwrap_or(segment) } else { segment };
        let ends = left > 0 || word.len() < segment.len() || last;
        if start && tilde == Tilde::Word && colons && word.starts_with('~') {
            signs(expander, segment, word.len(), ends, quoted, out);
            continue;
        }
        let rest = if start { prefix(expander, word, ends, out) } else { None };
        let done = rest.map_or(0, |rest| word.len() - rest.len());
        push(segment.get(done..).unwrap_or_default(), quoted, out);
        start = colons;
    }
}

/// Appends what stands behind the sign of a word that only looks like an assignment: in the part of
/// `segment` in front of the first slash, tildes behind further signs count too. `length` is that of
/// the segment without its colon.
fn signs(
    expander: &mut Expander,
    segment: &str,
    length: usize,
    ends: bool,
    quoted: bool,
    out: &mut Vec<Run>,
) {
    let (word, colon) = segment.split_at_checked(length).unwrap_or((segment, ""));
    let head = word.find('/').unwrap_or(word.len());
    let mut rest = word;
    let mut passed = 0;
    while let Some(at) = rest.find("=~").filter(|at| passed + at < head) {
        let (part, next) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let after = prefix(expander, part, true, out).unwrap_or(part);
        push(after, quoted, out);
        push("=", quoted, out);
        rest = next.strip_prefix('=').unwrap_or(next);
        passed += at + 1;
    }
    let after = prefix(expander, rest, ends, out).unwrap_or(rest);
    push(after, quoted, out);
    push(colon, quoted, out);
}

/// Expands the tilde at the start of `word`, which nothing unexpanded follows where `ends`; gives
/// what stands behind the name.
fn prefix<'t>(
    expander: &mut Expander,
    word: &'t str,
    ends: bool,
    out: &mut Vec<Run>,
) -> Option<&'t str> {
    let after = word.strip_prefix('~').filter(|_| holds(Rule::Tilde))?;
    let name = match after.find('/') {
        Some(slash) => after.get(..slash)?,
        None if ends => after,
        None => return None,
    };
    let directory = match name {
        "" => match expander.lookup("HOME") {
            Value::Scalar(text) => text,
            Value::Unset | Value::Unknown(_) => expander.environ.home(None),
            _ => Text::unknown(Unknown::Parameter("HOME".into())),
        },
        "+" => variable(expander, "PWD")?,
        "-" => variable(expander, "OLDPWD")?,
        _ if name.strip_prefix(['+', '-']).unwrap_or(name).bytes().all(|b| b.is_ascii_digit()) => {
            Text::unknown(Unknown::NotModelled("the directory stack"))
        }
        user if is_user(user) => expander.environ.home(Some(user)),
        _ => return None,
    };
    expander.value(&directory, true, out);
    after.get(name.len()..)
}

/// Whether a user may have this name (POSIX.1-2024 XBD 3.413: letters, digits, `.`, `_`, `-`; useradd(8) lets
/// it end in `$`). The names of directories are none.
fn is_user(name: &str) -> bool {
    let characters = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$');
    !matches!(name, "." | "..") && name.chars().all(characters)
}

fn variable(expander: &Expander, name: &str) -> Option<Text> {
    match expander.lookup(name) {
        Value::Scalar(text) => Some(text),
        Value::Unset => None,
        Value::Unknown(cause) => Some(Text::unknown(cause)),
        _ => Some(Text::unknown(Unknown::Parameter(name.into()))),
    }
}

fn push(text: &str, quoted: bool, out: &mut Vec<Run>) {
    if !text.is_empty() {
        out.push(Run::Text { text: text.into(), quoted, splits: false });
    }
}
