//! Which utility a command word names.

use crate::model::utility::{Catalog, UtilityId};
use crate::model::value::{Field, Glob, Piece, Str, Text};

/// The most utilities a pattern may stand for.
const CANDIDATES: usize = 64;

/// What a command word names.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) name: Option<Str>,
    pub(super) utility: Option<UtilityId>,
    pub(super) folded: bool,
    pub(super) candidates: Vec<String>,
}

/// Looks a command word up: the name itself, then with a version or `.exe` removed, then with the
/// case of its letters folded.
pub(super) fn look_up(field: &Field, catalog: &Catalog) -> Found {
    let Some(word) = field.text.exact() else {
        return Found { candidates: candidates(&field.text, catalog), ..Found::default() };
    };
    let (name, folded_path) = match word.rfind('/') {
        None => (Str::from(word), false),
        Some(_) => match trusted(word, catalog) {
            Some(found) => found,
            None => return Found::default(),
        },
    };
    if !folded_path && let Some(utility) = find(&name, catalog) {
        return Found { name: Some(name), utility: Some(utility), ..Found::default() };
    }
    let folded = name.to_lowercase();
    if (folded_path || folded != name)
        && let Some(utility) = find(&folded, catalog)
    {
        return Found {
            name: Some(folded),
            utility: Some(utility),
            folded: true,
            ..Found::default()
        };
    }
    Found { name: Some(name), ..Found::default() }
}

fn find(name: &str, catalog: &Catalog) -> Option<UtilityId> {
    if let Some(utility) = catalog.find(name) {
        return Some(utility);
    }
    if let Some(stem) = name.strip_suffix(".exe")
        && let Some(utility) = find_versioned(stem, catalog)
    {
        return Some(utility);
    }
    find_versioned(name, catalog)
}

/// `python3.11`, `gcc-12`, `lua5.4`, `mkfs.ext4`: the name up to its version or, where a name in the
/// catalog ends in `.*`, up to any rest behind the dot.
fn find_versioned(name: &str, catalog: &Catalog) -> Option<UtilityId> {
    if let Some(utility) = catalog.find(name) {
        return Some(utility);
    }
    if let Some((stem, _)) = name.split_once('.')
        && let Some(utility) = catalog.find(&format!("{stem}.*"))
    {
        return Some(utility);
    }
    let mut stem = name;
    while let Some(shorter) =
        stem.strip_suffix(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
    {
        stem = shorter;
        if stem.is_empty() {
            return None;
        }
        if let Some(utility) = catalog.find(stem) {
            return Some(utility);
        }
    }
    None
}

/// The last part of a path whose directory is trusted, and whether case was folded to see that.
fn trusted(path: &str, catalog: &Catalog) -> Option<(Str, bool)> {
    let (directory, name) = normalise(path)?;
    let matches = |own: &str| catalog.trusted_directories.iter().any(|known| known == own);
    if matches(&directory) {
        return Some((name.into(), false));
    }
    let folded = directory.to_lowercase();
    matches(&folded).then(|| (name.to_lowercase().into(), true))
}

/// Directory and last part of an absolute path, doubled slashes and dots removed.
fn normalise(path: &str) -> Option<(String, String)> {
    let rest = path.strip_prefix('/')?;
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    let name = parts.pop()?;
    Some((format!("/{}", parts.join("/")), name.to_owned()))
}

/// Names in the catalog that a pattern can match; none for a word with unknown pieces.
fn candidates(text: &Text, catalog: &Catalog) -> Vec<String> {
    if text.has_unknown() {
        return Vec::new();
    }
    let mut directories: Vec<&str> = vec![""];
    directories.extend(catalog.trusted_directories.iter().map(String::as_str));
    let pieces = text.pieces();
    let slashed = pieces.iter().any(|piece| match piece {
        Piece::Literal(literal) => literal.contains('/'),
        _ => false,
    });
    let start = text.prefix();
    let end = match pieces.last() {
        Some(Piece::Literal(end)) if !end.contains('/') => end.as_str(),
        _ => "",
    };
    let least = least_length(pieces);
    let pattern = Steps::new(pieces);
    // What is left of the pattern behind each directory, and how long that makes a name.
    let starts: Vec<(Reached, usize)> = if slashed {
        let named = directories.iter().filter(|directory| !directory.is_empty());
        named
            .map(|directory| {
                let mut reached = pattern.start();
                directory.chars().chain(['/']).for_each(|c| pattern.step(&mut reached, c));
                (reached, directory.chars().count() + 1)
            })
            .filter(|(reached, _)| reached.is_any())
            .collect()
    } else {
        vec![(pattern.start(), 0)]
    };
    let mut found = Vec::new();
    if starts.is_empty() {
        return found;
    }
    let longest = starts.iter().map(|(_, length)| *length).max().unwrap_or_default();
    for name in catalog.names() {
        if name.len() + longest < least
            || !name.ends_with(end)
            || !(slashed || name.starts_with(start))
        {
            continue;
        }
        let matched = starts.iter().any(|(start, _)| {
            let mut reached = start.clone();
            name.chars().all(|character| {
                pattern.step(&mut reached, character);
                reached.is_any()
            }) && pattern.is_end(&reached)
        });
        if matched {
            found.push(name.to_owned());
            if found.len() == CANDIDATES {
                break;
            }
        }
    }
    found
}

/// The fewest characters that a pattern can match.
fn least_length(pieces: &[Piece]) -> usize {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal(literal) => literal.chars().count(),
            Piece::Glob(Glob::One | Glob::Set(_)) => 1,
            _ => 0,
        })
        .sum()
}

/// A step of a pattern.
enum Step<'a> {
    Char(char),
    One,
    Set(&'a str),
    /// Any characters but slashes.
    Any,
    /// Any characters.
    Deep,
}

/// Positions of a pattern that the characters read so far can have led to, one bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reached(Vec<u64>);

impl Reached {
    fn holds(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|bits| bits & (1 << (at % 64)) != 0)
    }

    fn add(&mut self, at: usize) {
        if let Some(bits) = self.0.get_mut(at / 64) {
            *bits |= 1 << (at % 64);
        }
    }

    fn is_any(&self) -> bool {
        self.0.iter().any(|bits| *bits != 0)
    }
}

/// The steps of a pattern; extended patterns are taken to match anything.
struct Steps<'a>(Vec<Step<'a>>);

impl<'a> Steps<'a> {
    fn new(pieces: &'a [Piece]) -> Self {
        let mut steps = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => steps.extend(literal.chars().map(Step::Char)),
                Piece::Glob(Glob::One) => steps.push(Step::One),
                Piece::Glob(Glob::Set(set)) => steps.push(Step::Set(set)),
                Piece::Glob(Glob::Any | Glob::Extended(_)) => steps.push(Step::Any),
                Piece::Glob(Glob::Deep) | Piece::Unknown(_) => steps.push(Step::Deep),
            }
        }
        Self(steps)
    }

    /// Where it stands before the first character.
    fn start(&self) -> Reached {
        let mut reached = Reached(vec![0; self.0.len() / 64 + 1]);
        reached.add(0);
        self.close(&mut reached);
        reached
    }

    fn is_end(&self, reached: &Reached) -> bool {
        reached.holds(self.0.len())
    }

    /// Goes on by one character, from the last position to the first, so that none is used twice.
    fn step(&self, reached: &mut Reached, character: char) {
        let before = std::mem::replace(reached, Reached(vec![0; self.0.len() / 64 + 1]));
        for (at, step) in self.0.iter().enumerate() {
            if !before.holds(at) {
                continue;
            }
            let (takes, stays) = match step {
                Step::Char(own) => (*own == character, false),
                Step::One => (character != '/', false),
                Step::Set(set) => (character != '/' && in_set(set, character), false),
                Step::Any => (false, character != '/'),
                Step::Deep => (false, true),
            };
            if takes {
                reached.add(at + 1);
            }
            if stays {
                reached.add(at);
            }
        }
        self.close(reached);
    }

    /// Adds what is reached by taking no character.
    fn close(&self, reached: &mut Reached) {
        for (at, step) in self.0.iter().enumerate() {
            if matches!(step, Step::Any | Step::Deep) && reached.holds(at) {
                reached.add(at + 1);
            }
        }
    }
}

/// Whether a bracket expression can match a character; classes are taken to match every letter.
fn in_set(set: &str, character: char) -> bool {
    let inner = set.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(set);
    if inner.contains("[:") || inner.contains("[.") || inner.contains("[=") {
        return true;
    }
    let (inner, negated) = match inner.strip_prefix(['!', '^']) {
        Some(rest) => (rest, true),
        None => (inner, false),
    };
    let characters: Vec<char> = inner.chars().collect();
    let mut held = false;
    let mut at = 0;
    while let Some(first) = characters.get(at).copied() {
        if let (Some('-'), Some(last)) = (characters.get(at + 1), characters.get(at + 2)) {
            held |= (first..=*last).contains(&character);
            at += 3;
        } else {
            held |= first == character;
            at += 1;
        }
    }
    held != negated
}

#[cfg(test)]
mod tests {
    use super::{Steps, in_set, normalise};
    use crate::model::value::{Glob, Piece};

    fn matches(pattern: &[Piece], name: &str) -> bool {
        let steps = Steps::new(pattern);
        let mut reached = steps.start();
        name.chars().for_each(|character| steps.step(&mut reached, character));
        steps.is_end(&reached)
    }

    #[test]
    fn a_pattern_matches_as_pathname_expansion_does() {
        let pattern = [Piece::Literal("/bin/r".into()), Piece::Glob(Glob::One)];
        assert!(matches(&pattern, "/bin/rm"));
        assert!(!matches(&pattern, "/bin/rmd"));
        let pattern = [Piece::Glob(Glob::Any), Piece::Literal("m".into())];
        assert!(matches(&pattern, "rm"));
        assert!(!matches(&pattern, "/rm"));
        assert!(in_set("[a-c]", 'b') && !in_set("[!b]", 'b'));
    }

    #[test]
    fn a_path_is_normalised() {
        assert_eq!(normalise("/usr//bin/../bin/./rm"), Some(("/usr/bin".into(), "rm".into())));
        assert_eq!(normalise("./rm"), None);
    }
}
