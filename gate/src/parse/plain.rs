//! Texts so plain that two readers of shell text cannot differ: no tree is needed as a witness.
//!
//! The look at the characters knows nothing of our reading, the look at the script nothing of the
//! characters. The suite proves for every line of the corpus, and for generated ones, that the tree
//! has nothing to say about a text that passes both.

use crate::model::script::{
    Command, CommandKind, Part, RedirectionOperator, RedirectionTarget, Script, Word,
};

/// Whether both the characters and our reading of them are plain.
pub(super) fn is_plain(text: &str, script: &Script) -> bool {
    has_plain_characters(text.as_bytes()) && has_plain_commands(script)
}

/// Printable ASCII, blanks and line ends; outside quotes nothing that expands, groups, escapes or
/// begins a comment or here-document; double quotes without anything that works inside them; every
/// quote closed.
fn has_plain_characters(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        rest = match first {
            b'\'' | b'"' => {
                let Some(length) = behind.iter().position(|byte| byte == first) else {
                    return false;
                };
                let Some((inside, after)) = behind.split_at_checked(length) else { return false };
                if !inside.iter().all(|byte| is_plain_inside(*first, *byte)) {
                    return false;
                }
                after.get(1..).unwrap_or_default()
            }
            b'<' if behind.first() == Some(&b'<') => return false,
            b'$' | b'`' | b'\\' | b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'#' | b'!' | b'^' => {
                return false;
            }
            // A value follows at once; the tree is confused by an empty one.
            b'=' if !behind
                .first()
                .is_some_and(|next| next.is_ascii_alphanumeric() || b"./_-'\"".contains(next)) =>
            {
                return false;
            }
            b' '..=b'~' | b'\t' | b'\n' => behind,
            _ => return false,
        };
    }
    true
}

const fn is_plain_inside(quote: u8, byte: u8) -> bool {
    match byte {
        b'$' | b'`' | b'\\' | b'!' => quote == b'\'',
        b' '..=b'~' | b'\t' => true,
        _ => false,
    }
}

/// Lists and pipelines of simple commands, words of plain text and quotes.
fn has_plain_commands(script: &Script) -> bool {
    script.items.iter().all(|item| {
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
        Part::Literal(..) | Part::SingleQuoted(..) => true,
        Part::DoubleQuoted(inner, _) => inner.iter().all(|part| matches!(part, Part::Literal(..))),
        _ => false,
    })
}
