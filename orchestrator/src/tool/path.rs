//! The lexical rules for paths that tools are given, and the one way to write a path down.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Most code points of a path.
pub const MAX_LENGTH: usize = 4096;

/// Characters that look like a slash and are none.
const FALSE_SLASHES: [char; 8] = [
    '\u{2044}', '\u{2215}', '\u{2216}', '\u{29F8}', '\u{29F9}', '\u{FE68}', '\u{FF0F}', '\u{FF3C}',
];

/// Why a path is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// It is empty.
    Empty,
    /// It has more than [`MAX_LENGTH`] code points.
    TooLong,
    /// It holds a character that cannot be seen or that changes how text is shown.
    Invisible(char),
    /// It holds a character that only looks like a slash.
    FalseSlash(char),
    /// It holds a backslash.
    Backslash,
    /// It is absolute, starts in a home, or names a drive.
    Absolute,
    /// A segment leads upwards.
    Parent,
    /// A symbolic link on the way leads out of the workspace.
    LeadsOut,
    /// A symbolic link on the way leads nowhere.
    Dangling,
    /// Nothing is there.
    Missing,
    /// A part of it is not a directory, or it cannot be looked up.
    Unusable(String),
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the path is empty"),
            Self::TooLong => write!(f, "the path is longer than {MAX_LENGTH} characters"),
            Self::Invisible(char) => {
                write!(f, "the path holds the invisible character U+{:04X}", u32::from(*char))
            }
            Self::FalseSlash(char) => {
                write!(
                    f,
                    "the path holds U+{:04X}, which only looks like a slash",
                    u32::from(*char)
                )
            }
            Self::Backslash => f.write_str("the path holds a backslash; separate folders with `/`"),
            Self::Absolute => f.write_str("the path must be relative to the workspace"),
            Self::Parent => f.write_str("the path must not hold `..`"),
            Self::LeadsOut => f.write_str("a symbolic link in the path leads out of the workspace"),
            Self::Dangling => f.write_str("a symbolic link in the path leads nowhere"),
            Self::Missing => f.write_str("there is no such file or folder"),
            Self::Unusable(cause) => write!(f, "the path cannot be used: {cause}"),
        }
    }
}

impl std::error::Error for PathError {}

/// The path without empty and `.` segments and without a trailing slash; `.` for nothing left.
///
/// # Errors
///
/// The first rule of section 6.2 of the protocol that it breaks.
pub fn normalise(path: &str) -> Result<String, PathError> {
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.chars().nth(MAX_LENGTH).is_some() {
        return Err(PathError::TooLong);
    }
    if let Some(char) = path.chars().find(|char| is_invisible(*char)) {
        return Err(PathError::Invisible(char));
    }
    if let Some(char) = path.chars().find(|char| FALSE_SLASHES.contains(char)) {
        return Err(PathError::FalseSlash(char));
    }
    if path.contains('\\') {
        return Err(PathError::Backslash);
    }
    check_form(path)?;
    check_form(&path.nfkc().collect::<String>())?;
    let segments: Vec<&str> = path.split('/').filter(|one| !matches!(*one, "" | ".")).collect();
    if segments.is_empty() {
        return Ok(".".to_owned());
    }
    Ok(segments.join("/"))
}

fn check_form(path: &str) -> Result<(), PathError> {
    let mut chars = path.chars();
    let (first, second) = (chars.next(), chars.next());
    let is_drive = first.is_some_and(|char| char.is_ascii_alphabetic()) && second == Some(':');
    if matches!(first, Some('/' | '~')) || is_drive {
        return Err(PathError::Absolute);
    }
    if path.split('/').any(|segment| segment == "..") {
        return Err(PathError::Parent);
    }
    Ok(())
}

fn is_invisible(char: char) -> bool {
    matches!(
        char.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    )
}

#[cfg(test)]
mod tests {
    use super::{PathError, normalise};

    #[test]
    fn each_rule_refuses_its_own() {
        let table: &[(&str, Result<&str, PathError>)] = &[
            ("a", Ok("a")),
            ("a//b/./c/", Ok("a/b/c")),
            (".", Ok(".")),
            ("./", Ok(".")),
            ("a b/ä/日本", Ok("a b/ä/日本")),
            ("..a/b..", Ok("..a/b..")),
            ("...", Ok("...")),
            ("", Err(PathError::Empty)),
            ("a\0b", Err(PathError::Invisible('\0'))),
            ("a\nb", Err(PathError::Invisible('\n'))),
            ("a\u{7f}", Err(PathError::Invisible('\u{7f}'))),
            ("a\u{ad}b", Err(PathError::Invisible('\u{ad}'))),
            ("a\u{200b}b", Err(PathError::Invisible('\u{200b}'))),
            ("a\u{202e}b", Err(PathError::Invisible('\u{202e}'))),
            ("\u{feff}a", Err(PathError::Invisible('\u{feff}'))),
            ("a\u{2028}b", Err(PathError::Invisible('\u{2028}'))),
            ("a\u{2029}b", Err(PathError::Invisible('\u{2029}'))),
            ("a\u{2044}b", Err(PathError::FalseSlash('\u{2044}'))),
            ("a\u{2215}b", Err(PathError::FalseSlash('\u{2215}'))),
            ("a\u{2216}b", Err(PathError::FalseSlash('\u{2216}'))),
            ("a\u{29f8}b", Err(PathError::FalseSlash('\u{29f8}'))),
            ("a\u{29f9}b", Err(PathError::FalseSlash('\u{29f9}'))),
            ("a\u{fe68}b", Err(PathError::FalseSlash('\u{fe68}'))),
            ("a\u{ff0f}b", Err(PathError::FalseSlash('\u{ff0f}'))),
            ("a\u{ff3c}b", Err(PathError::FalseSlash('\u{ff3c}'))),
            ("a\\b", Err(PathError::Backslash)),
            ("/etc", Err(PathError::Absolute)),
            ("//etc", Err(PathError::Absolute)),
            ("~", Err(PathError::Absolute)),
            ("~root/x", Err(PathError::Absolute)),
            ("C:x", Err(PathError::Absolute)),
            ("c:/x", Err(PathError::Absolute)),
            ("\u{ff5e}/x", Err(PathError::Absolute)),
            ("\u{ff23}:x", Err(PathError::Absolute)),
            ("C\u{ff1a}x", Err(PathError::Absolute)),
            ("..", Err(PathError::Parent)),
            ("a/..", Err(PathError::Parent)),
            ("../a", Err(PathError::Parent)),
            ("a/../b", Err(PathError::Parent)),
            ("\u{2025}/a", Err(PathError::Parent)),
            ("a/\u{ff0e}\u{ff0e}/b", Err(PathError::Parent)),
            ("a/.\u{ff0e}", Err(PathError::Parent)),
            ("1:x", Ok("1:x")),
            ("a~/b", Ok("a~/b")),
        ];
        for (path, expected) in table {
            assert_eq!(
                normalise(path).as_deref().map_err(Clone::clone),
                expected.clone(),
                "{path:?}"
            );
        }
        assert_eq!(normalise(&"ä".repeat(4096)), Ok("ä".repeat(4096)));
        assert_eq!(normalise(&"a".repeat(4097)), Err(PathError::TooLong));
    }
}
