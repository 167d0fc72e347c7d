//! Texts so plain that two readers of shell text cannot differ: no tree is needed as a witness.
//!
//! The look at the characters knows nothing of our reading, the look at the script nothing of the
//! characters. The suite proves for every line of the corpus, and for generated ones, that the tree
//! has nothing to say about a text that passes both.

use super::word::continues_name;
use crate::model::script::{
    Command, CommandKind, Item, Operation, Part, RedirectionOperator, RedirectionTarget, Word,
};

/// Whether both the characters and our reading of them are plain.
pub(super) fn is_plain(text: &str, items: &[Item]) -> bool {
    has_plain_characters(text.as_bytes()) && has_plain_commands(items)
}

/// Printable ASCII, blanks and line ends; outside quotes nothing that groups, escapes or begins a
/// comment or here-document, and no expansion but `$name`, `${name}` and `$?`; double quotes with
/// nothing more inside them, but with backslashes before characters; every quote closed.
fn has_plain_characters(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        rest = match first {
            b'\'' => {
                let Some(length) = behind.iter().position(|byte| byte == first) else {
                    return false;
                };
                let Some((inside, after)) = behind.split_at_checked(length) else { return false };
                if !inside.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
                    return false;
                }
                after.get(1..).unwrap_or_default()
            }
            b'"' => {
                let Some(after) = behind_double_quotes(behind) else { return false };
                after
            }
            b'$' => {
                let Some(after) = behind_parameter(behind) else { return false };
                after
            }
            b'<' if behind.first() == Some(&b'<') => return false,
            b'`' | b'\\' | b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'#' | b'!' | b'^' => {
                return false;
            }
            // A value follows at once; the tree is confused by an empty one.
            b'=' if !behind
                .first()
                .is_some_and(|next| next.is_ascii_alphanumeric() || b"./_-'\"$".contains(next)) =>
            {
                return false;
            }
            b' '..=b'~' | b'\t' | b'\n' => behind,
            _ => return false,
        };
    }
    true
}

/// What stands behind the end of double quotes that are plain inside.
fn behind_double_quotes(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        let (first, behind) = rest.split_first()?;
        rest = match first {
            b'"' => return Some(behind),
            b'\\' => match behind.split_first()? {
                (b' '..=b'~', behind) => behind,
                _ => return None,
            },
            b'$' => behind_parameter(behind)?,
            b'`' | b'!' => return None,
            b' '..=b'~' | b'\t' => behind,
            _ => return None,
        };
    }
}

/// What stands behind the name of a parameter, in braces or not, or behind `?`.
fn behind_parameter(text: &[u8]) -> Option<&[u8]> {
    let (first, behind) = text.split_first()?;
    match first {
        b'?' => Some(behind),
        b'{' => match behind_name(behind)?.split_first()? {
            (b'}', behind) => Some(behind),
            _ => None,
        },
        _ => behind_name(text),
    }
}

fn behind_name(text: &[u8]) -> Option<&[u8]> {
    let length = text.iter().take_while(|byte| continues_name(**byte)).count();
    if length == 0 || text.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    text.get(length..)
}

/// Lists and pipelines of simple commands, words of plain text and quotes.
fn has_plain_commands(items: &[Item]) -> bool {
    items.iter().all(|item| {
        let rest = item.list.rest.iter().map(|(_, pipeline)| pipeline);
        std::iter::once(&item.list.first).chain(rest).all(|pipeline| {
            !pipeline.negated
                && !pipeline.timed
                && pipeline.stages.iter().all(|stage| is_plain_command(&stage.command))
        })
    })
}

fn is_plain_command(command: &Command) -> bool {
    let CommandKind::Simple(simple) = &command.kind else { return false };
    // The tree is confused by what looks like an assignment and is none, and by some that are.
    let names = |part: &Part| matches!(part, Part::Literal(text, _) if text.contains('='));
    simple.assignments.is_empty()
        && simple.words.first().is_some_and(|name| !name.parts.iter().any(names))
        && simple.words.iter().all(is_plain_word)
        && command.redirections.iter().all(|redirection| {
            redirection.operator != RedirectionOperator::HereString
                && matches!(&redirection.target, RedirectionTarget::Word(word) if is_plain_word(word))
        })
}

fn is_plain_word(word: &Word) -> bool {
    word.parts.iter().all(|part| match part {
        Part::SingleQuoted(..) => true,
        Part::DoubleQuoted(inner, _) => inner.iter().all(is_plain_part),
        part => is_plain_part(part) && !matches!(part, Part::Escaped(..)),
    })
}

fn is_plain_part(part: &Part) -> bool {
    match part {
        Part::Literal(..) | Part::Escaped(..) => true,
        Part::Parameter(parameter, _) => {
            parameter.operation == Operation::Value
                && parameter.subscript.is_none()
                && !parameter.indirect
        }
        _ => false,
    }
}
