//! Our reading beside the tree's: a command that only the tree sees is a gap, unless the tree is
//! known to be wrong about the construct around it.

use smallvec::{SmallVec, smallvec};

use crate::model::context::Limits;
use crate::model::script::{
    Assignment, Command, CommandKind, Gap, GapCause, Operation, Part, Redirection,
    RedirectionTarget, Script, Subscript, SubstitutionForm, Word,
};
use crate::model::span::Span;
use crate::model::walk::{self, Visit};

use super::plain;
use super::tree::{self, Evidence};

/// So many pieces of a text are compared.
const MOST_PIECES: usize = 256;
/// So many places where the readings differ are looked at in a piece.
const MOST_DIFFERENCES: usize = 64;

/// Words the tree takes for a program where they are keywords (S14, S23).
const KEYWORDS: [&str; 20] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "select", "case",
    "esac", "in", "function", "{", "}", "!", "time", "coproc",
];

/// Which pieces of a text the tree is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// All of them.
    All,
    /// Those that are not plain.
    Doubtful,
}

/// The gaps where the tree of `text` has a command that `script`, our reading without gaps, lacks.
pub(super) fn gaps(text: &str, script: &Script, limits: &Limits, asked: Asked) -> Vec<Gap> {
    let mut gaps = Vec::new();
    if text.len() > limits.tree_bytes {
        return gaps;
    }
    let mut ours: Option<Ours<'_>> = None;
    let starts = script.items.iter().map(|item| item.span.start);
    // Where each piece starts, and its first item.
    let mut cuts: SmallVec<[(usize, usize); 8]> = smallvec![(0, 0)];
    let mut behind = 0;
    for ((number, start), item) in starts.enumerate().zip(&script.items) {
        // Commands on one line stay in one piece, as do a command and its here-documents.
        let between = text.get(behind..start).unwrap_or_default();
        if behind > 0 && between.contains('\n') {
            cuts.push((start, number));
        }
        behind = item.span.end;
    }
    for (index, (start, first)) in cuts.iter().enumerate().take(MOST_PIECES) {
        let (end, last) = cuts.get(index + 1).copied().unwrap_or((text.len(), script.items.len()));
        let Some(piece) = text.get(*start..end) else { continue };
        let items = script.items.get(*first..last).unwrap_or_default();
        if asked == Asked::Doubtful && plain::is_plain(piece, *start, items) {
            continue;
        }
        if let Some(evidence) = tree::evidence(piece) {
            let ours = ours.get_or_insert_with(|| Ours::new(text, script));
            ours.compare(&evidence, *start, &mut gaps);
        }
    }
    gaps
}

/// What our reading holds, by position in the source.
#[derive(Default)]
struct Ours<'a> {
    text: &'a str,
    /// Starts of first words, of assignments before them, and of compound commands.
    commands: Vec<usize>,
    /// Starts of substitutions and of arithmetic.
    substitutions: Vec<usize>,
    /// Ends of expansions inside words.
    ends: Vec<usize>,
    words: Vec<Span>,
    documents: Vec<Span>,
    arithmetic: Vec<Span>,
    nested: Vec<Span>,
    /// Backquotes with backslashes inside, whose spans count in another text.
    shifted: Vec<Span>,
}

impl<'a> Ours<'a> {
    fn new(text: &'a str, script: &Script) -> Self {
        let mut ours = Self { text, ..Self::default() };
        ours.script(script);
        ours.commands.sort_unstable();
        ours.substitutions.sort_unstable();
        ours.ends.sort_unstable();
        ours
    }

    fn compare(&self, evidence: &Evidence, shift: usize, gaps: &mut Vec<Gap>) {
        let mut left = MOST_DIFFERENCES;
        let shifted = |span: &Span| Span::new(span.start + shift, span.end + shift);
        for span in evidence.commands.iter().map(shifted) {
            if left == 0 {
                return;
            }
            if self.commands.binary_search(&span.start).is_ok() {
                continue;
            }
            left -= 1;
            if !self.is_known_fault(span) {
                gaps.push(Gap { cause: GapCause::TreeDisagrees("a command"), span });
            }
        }
        for span in evidence.substitutions.iter().map(shifted) {
            if left == 0 {
                return;
            }
            if self.substitutions.binary_search(&span.start).is_ok() {
                continue;
            }
            left -= 1;
            if !self.is_known_fault(span) {
                gaps.push(Gap { cause: GapCause::TreeDisagrees("a substitution"), span });
            }
        }
    }

    /// Whether the tree is known to see a command at this place where there is none.
    fn is_known_fault(&self, span: Span) -> bool {
        let at = span.start;
        let inside = |spans: &[Span]| spans.iter().any(|s| s.start <= at && at < s.end);
        // S6, T4: the body of a here-document is taken for commands. S16: escaped backquotes.
        if inside(&self.documents) || inside(&self.shifted) {
            return true;
        }
        // T5, S25: arithmetic is taken for subshells.
        let innermost = |spans: &[Span]| {
            spans.iter().filter(|s| s.start <= at && at < s.end).map(|s| s.start).max()
        };
        let arithmetic = innermost(&self.arithmetic);
        if arithmetic.is_some() && arithmetic >= innermost(&self.nested) {
            return true;
        }
        // S14, S23: a keyword is taken for a program.
        let text = span.of(self.text);
        let in_word = self.words.iter().any(|word| word.start <= at && at < word.end);
        if !in_word && KEYWORDS.contains(&text) {
            return true;
        }
        // S8, S11, S17, S18: a word falls apart; nothing that ends a word stands before the place.
        let split = self.words.iter().any(|word| word.start < at && at < word.end);
        let before = self.text.get(..at).unwrap_or_default();
        let mut before = before;
        while let Some(shorter) = before.strip_suffix("\\\n") {
            before = shorter;
        }
        split
            && (self.ends.binary_search(&at).is_ok()
                || !before
                    .ends_with([' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>', '`', '{']))
    }

    /// Plain text of an unquoted here-document; the expansions in it are compared.
    fn literals(&mut self, parts: &[Part]) {
        for part in parts {
            if matches!(part, Part::Literal(..) | Part::Escaped(..)) {
                self.documents.push(part.span());
            }
        }
    }

    fn expand(&mut self, span: Span) {
        self.substitutions.push(span.start);
        self.ends.push(span.end);
    }
}

impl Visit for Ours<'_> {
    fn command(&mut self, command: &Command) {
        self.commands.push(command.span.start);
        match &command.kind {
            CommandKind::Simple(simple) => {
                if let Some(name) = simple.words.first() {
                    self.commands.push(name.span.start);
                }
                // S27: an assignment is taken for a program.
                self.commands.extend(simple.assignments.iter().map(|own| own.span.start));
            }
            CommandKind::ArithmeticFor { expressions, .. } => {
                self.arithmetic.extend(expressions.iter().map(|expression| expression.span));
            }
            CommandKind::Arithmetic(_) => self.arithmetic.push(command.span),
            _ => {}
        }
        walk::command(self, command);
    }

    fn redirection(&mut self, redirection: &Redirection) {
        let RedirectionTarget::HereDocument(document) = &redirection.target else {
            walk::redirection(self, redirection);
            return;
        };
        let end = document.body.span.end;
        let rest = self.text.get(end..).unwrap_or_default();
        let line = rest.find('\n').unwrap_or(rest.len());
        self.documents.push(Span::new(end, end + line));
        if document.quoted {
            self.documents.push(document.body.span);
        } else {
            self.literals(&document.body.parts);
        }
        // A body is no word, so that its blanks end words.
        walk::word(self, &document.body);
    }

    fn assignment(&mut self, assignment: &Assignment) {
        self.words.push(assignment.span);
        walk::assignment(self, assignment);
    }

    fn word(&mut self, word: &Word) {
        self.words.push(word.span);
        walk::word(self, word);
    }

    fn part(&mut self, part: &Part) {
        let span = part.span();
        match part {
            // S19: what stands behind an escaped blank is taken for a word of its own.
            Part::Escaped(..) => self.ends.push(span.end),
            Part::Parameter(parameter, _) => {
                self.ends.push(span.end);
                if let Some(Subscript::Index(word)) = &parameter.subscript {
                    self.arithmetic.push(word.span);
                }
                if let Operation::Substring { offset, length } = &parameter.operation {
                    self.arithmetic.push(offset.span);
                    self.arithmetic.extend(length.iter().map(|word| word.span));
                }
            }
            Part::CommandSubstitution(inner, _) => {
                self.expand(span);
                self.nested.push(span);
                let backquoted = inner.form == SubstitutionForm::Backquote;
                if backquoted && span.of(self.text).contains('\\') {
                    self.shifted.push(span);
                }
            }
            Part::ProcessSubstitution(..) => {
                self.expand(span);
                self.nested.push(span);
            }
            Part::Arithmetic(..) => {
                self.expand(span);
                self.arithmetic.push(span);
            }
            _ => {}
        }
        walk::part(self, part);
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, gaps};
    use crate::model::context::Limits;

    #[test]
    fn a_command_that_only_the_tree_sees_is_a_gap() {
        let limits = Limits::default();
        let table = [
            ("ls", "ls; rm x", 1),
            ("ls x      ", "ls x$(rm y)", 2),
            ("# x", "\nrm y", 1),
            ("ls", "ls; rm x | sort", 2),
            ("ls; rm x", "ls; rm x", 0),
            ("echo 0 `a``b`", "echo 0 `a``b`", 0),
        ];
        for (read, text, expected) in table {
            let script = super::super::parse(read, &limits).script;
            assert_eq!(gaps(text, &script, &limits, Asked::All).len(), expected, "{text}");
        }
    }
}
