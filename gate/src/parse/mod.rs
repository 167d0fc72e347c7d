//! From text to script: tokens, commands, lists; what is not understood is a gap.
//!
//! Takes a text and limits; gives a [`Parsed`]. May import: model.
//! Never: fails, expands, runs, or judges. Each byte is in a token, a comment, a here-document or a
//! gap. The reader follows bash 5.2; where bash rejects a text, everything that can be read before
//! and behind the fault is still in the script.

mod ansi;
mod command;
mod compare;
mod condition;
mod heredoc;
mod lower;
mod odd;
mod parameter;
mod plain;
mod reader;
mod tree;
mod word;

use crate::model::context::Limits;
use crate::model::script::{ArrayElement, Assignment, Gap, GapCause, Parsed, Script, Word};
use crate::model::span::Span;
use compare::Asked;
use reader::{Quoted, Reader, Stop};

/// What the reader has to know about the shell that reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// Whether `shopt -s extglob` is on.
    pub extglob: bool,
    /// Whether it has the reserved words of POSIX alone: `[[`, `function`, `time` are names, and `((`
    /// opens two subshells.
    pub posix: bool,
    /// Whether it has the quotes and operators of POSIX alone: `$'` is a dollar before a quote, and the
    /// ampersand of `&>` ends a command.
    pub strict: bool,
    /// Levels of nesting that are used up already, of [`Limits::depth`].
    pub depth: usize,
}

/// Reads a whole text as bash does with its default options. Spans count in `text`.
pub fn parse(text: &str, limits: &Limits) -> Parsed {
    parse_in(text, limits, Dialect::default())
}

/// Reads a whole text in a given dialect.
pub fn parse_in(text: &str, limits: &Limits, dialect: Dialect) -> Parsed {
    let mut reader = Reader::new(text, limits, dialect);
    let script = reader.script();
    let (mut gaps, comments) = reader.finish();
    // The tree's grammar is that of bash.
    if gaps.is_empty() && !dialect.posix {
        gaps = compare::gaps(text, &script, limits, Asked::Doubtful);
    }
    // Behind the last byte of a text of `bash -c` a backslash is a word of its own or the end of one,
    // at the end of a file it is nothing.
    let slashes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
    let end = text.len();
    if slashes % 2 == 1 && comments.last().is_none_or(|comment| comment.end < end) {
        let cause = GapCause::NotModelled("a backslash at the very end");
        gaps.push(Gap { cause, span: Span::new(end - 1, end) });
    }
    Parsed { script, gaps, comments }
}

/// Whether a text is so plain that no tree is asked about our reading of it.
pub fn is_plain(text: &str, script: &Script) -> bool {
    plain::is_plain(text, 0, &script.items)
}

/// Where the tree of a text has a command or substitution that our reading of it, which has no
/// gaps, lacks.
pub fn disagreements(text: &str, script: &Script, limits: &Limits) -> Vec<Gap> {
    compare::gaps(text, script, limits, Asked::All)
}

/// Reads a text as the inside of a here-document: `"` is ordinary, `$`, backquotes and backslashes
/// before them work. For unquoted here-documents and values that are expanded once more (`${x@P}`).
pub fn parse_double_quoted(text: &str, limits: &Limits, dialect: Dialect) -> (Word, Vec<Gap>) {
    inside(text, limits, dialect, Quoted::Text)
}

/// Reads a text as an arithmetic expression, that is like the inside of `$(( ))`.
pub fn parse_arithmetic_word(text: &str, limits: &Limits, dialect: Dialect) -> (Word, Vec<Gap>) {
    inside(text, limits, dialect, Quoted::Expression)
}

/// Reads a text as the elements between the parentheses of an array value (`x [2]=y "z"`).
pub fn parse_word_list(
    text: &str,
    limits: &Limits,
    dialect: Dialect,
) -> (Vec<ArrayElement>, Vec<Gap>) {
    let mut reader = Reader::new(text, limits, dialect);
    let elements = reader.twice(Reader::array_elements);
    reader.expect_end("a word");
    (elements, reader.finish().0)
}

/// Reads a text as one assignment (`a=x`, `a[1]+=x`, `a=(x y)`); `None` where it is none or where
/// something is left over.
pub fn parse_assignment(
    text: &str,
    limits: &Limits,
    dialect: Dialect,
) -> Option<(Assignment, Vec<Gap>)> {
    let mut reader = Reader::new(text, limits, dialect);
    let assignment = reader.assignment()?;
    if reader.peek().is_some() {
        return None;
    }
    Some((assignment, reader.finish().0))
}

/// Reads a text as one word, in which blanks and operators are ordinary (the word of `${x:-word}`).
pub fn parse_word(text: &str, limits: &Limits, dialect: Dialect) -> (Word, Vec<Gap>) {
    let mut reader = Reader::new(text, limits, dialect);
    let word = reader.twice(|reader| reader.unquoted(Stop::End));
    (word, reader.finish().0)
}

fn inside(text: &str, limits: &Limits, dialect: Dialect, quoted: Quoted) -> (Word, Vec<Gap>) {
    let mut reader = Reader::new(text, limits, dialect).keeping_the_last_backslash();
    let word = reader.twice(|reader| reader.quoted(quoted));
    (word, reader.finish().0)
}
