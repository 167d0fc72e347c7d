//! The reader's state: where it is, what it has noted, how it fails and goes on.
//!
//! A continuation (a backslash before a line end) vanishes wherever the shell lets it vanish; all
//! looking ahead goes through [`Reader::peek`], [`Reader::nth`] and [`Reader::looking_at`], which
//! step over it. A fault does not unwind by `Result`: it is noted, every loop ends where it stands,
//! what was read so far is kept, and [`Reader::script`] goes on behind the fault.

use std::collections::BTreeMap;

use crate::model::context::Limits;
use crate::model::script::{self, Gap, GapCause, HereDocument, LimitKind, Script, Word};
use crate::model::span::Span;
use crate::model::value::List;

use super::Dialect;
use super::odd::is_odd;

/// Gaps beyond this number are folded into the last one.
const MOST_GAPS: usize = 256;
/// Longer texts are read into lists without room to grow.
const ROOMY: usize = 16 << 10;
/// How often the text behind an open quote is read again from its second line on.
const MOST_REREADS: usize = 16;

/// Where a list of commands ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// At the end of the text.
    End,
    /// Before `)`.
    Paren,
    /// Before one of these reserved words.
    Words(&'static [&'static str]),
    /// Before `;;`, `;&`, `;;&` or `esac`.
    Arm,
}

/// Where text that is read like a word outside quotes ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// At a metacharacter.
    Meta,
    /// At a metacharacter; extended globs are read whatever the option says.
    Pattern,
    /// At a metacharacter, but `|` and pairs of parentheses are ordinary.
    Regex,
    /// Before `}`.
    Brace,
    /// Before `}` or `/`.
    Slash,
    /// Before the `]` that belongs to a bracket already read.
    Index,
    /// At the end of the text.
    End,
}

/// Where text that is read like the inside of double quotes ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoted {
    /// Before `"`.
    String,
    /// At the end of the text, which is a here-document or its like.
    Text,
    /// At the end of the text, which is an arithmetic expression.
    Expression,
    /// Before `}`, in `"${x:-word}"`.
    Brace,
    /// Before the `)` that is one too many.
    Paren,
    /// Before `;` or the `)` that is one too many, in `for ((...))`.
    Clause,
    /// Before the `]` that is one too many.
    Square,
    /// Before `:` or `}`, in `${x:offset:length}`.
    Offset,
}

/// How reading goes on behind a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resume {
    /// Behind the next separator.
    Separator,
    /// On the next line: the rest of the text was taken for the inside of a quote.
    Line,
    /// Nowhere: the rest of the text was read, as commands or as a skipped bracket.
    End,
}

/// A fault that stops the command that is being read.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    cause: GapCause,
    at: usize,
    resume: Resume,
}

/// How positions of the text that is read become positions of the source.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// By adding.
    Shift(usize),
    /// By pieces: position here and position there of the first byte of each, ascending.
    Pieces(Vec<(usize, usize)>),
}

/// A here-document whose body was not reached yet.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// Position of its operator.
    pub(super) key: usize,
    pub(super) delimiter: String,
    pub(super) quoted: bool,
    pub(super) tabs: bool,
}

/// A here-document that was read in the first pass.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) document: HereDocument,
    pub(super) gaps: Vec<Gap>,
    pub(super) comments: Vec<Span>,
    /// Whether a redirection has it.
    pub(super) given: bool,
}

/// What a failed attempt has to give back.
#[derive(Debug)]
pub(super) struct Mark {
    pos: usize,
    gaps: usize,
    comments: usize,
    pending: usize,
    depth: usize,
}

pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) pos: usize,
    pub(super) place: Place,
    pub(super) limits: &'t Limits,
    pub(super) extglob: bool,
    pub(super) dialect: Dialect,
    pub(super) depth: usize,
    /// Number of `$(` and `<(` that are open.
    pub(super) substitutions: usize,
    keeps_last_backslash: bool,
    failure: Option<Failure>,
    pub(super) rereads: usize,
    pub(super) gaps: Vec<Gap>,
    /// Gaps noted so far, those folded into another one included.
    pub(super) gap_count: usize,
    odd_end: usize,
    pub(super) comments: Vec<Span>,
    pub(super) pending: Vec<Pending>,
    /// Here-documents by the position of their operator. The first pass finds them, the second one
    /// gives them to their redirection, which stands before the body.
    pub(super) bodies: BTreeMap<usize, Body>,
    /// Where reading goes on behind a line end that is followed by here-documents.
    pub(super) jumps: BTreeMap<usize, usize>,
    pub(super) second_pass: bool,
    /// Bytes that failed attempts at arithmetic have read.
    pub(super) wasted: usize,
    /// By position of `((`: whether it opens arithmetic.
    pub(super) arithmetic: BTreeMap<usize, bool>,
    /// By position behind a bracket that was too deep: the position behind its end.
    skips: BTreeMap<usize, Option<usize>>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, limits: &'t Limits, dialect: Dialect) -> Self {
        let mut end = limits.bytes.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut reader = Self {
            text: text.get(..end).unwrap_or_default(),
            pos: 0,
            place: Place::Shift(0),
            limits,
            extglob: dialect.extglob,
            dialect,
            depth: dialect.depth,
            substitutions: 0,
            keeps_last_backslash: false,
            failure: None,
            rereads: MOST_REREADS,
            gaps: Vec::new(),
            gap_count: 0,
            odd_end: usize::MAX,
            comments: Vec::new(),
            pending: Vec::new(),
            bodies: BTreeMap::new(),
            jumps: BTreeMap::new(),
            second_pass: false,
            wasted: 0,
            arithmetic: BTreeMap::new(),
            skips: BTreeMap::new(),
        };
        if end < text.len() {
            reader.gap(GapCause::Limit(LimitKind::Bytes), end, text.len());
        }
        reader
    }

    /// A reader of a text that lies inside the text of this one.
    pub(super) fn inner<'u>(&self, text: &'u str, place: Place) -> Reader<'u>
    where
        't: 'u,
    {
        let dialect = Dialect { extglob: self.extglob, depth: self.depth, ..self.dialect };
        let mut reader = Reader::new(text, self.limits, dialect);
        reader.place = place;
        reader.rereads = self.rereads;
        reader
    }

    /// A backslash at the very end is text and no continuation of nothing.
    pub(super) const fn keeping_the_last_backslash(mut self) -> Self {
        self.keeps_last_backslash = true;
        self
    }

    /// Takes over what an inner reader noted.
    pub(super) fn absorb(&mut self, gaps: Vec<Gap>, comments: Vec<Span>, rereads: usize) {
        for gap in gaps {
            self.note(gap);
        }
        self.comments.extend(comments);
        self.rereads = rereads;
    }

    /// Gaps and comments in source order.
    pub(super) fn finish(mut self) -> (Vec<Gap>, Vec<Span>) {
        self.gaps.sort_by_key(|gap| gap.span);
        self.comments.sort_unstable();
        self.comments.dedup();
        (self.gaps, self.comments)
    }

    /// Reads a whole text as commands.
    pub(super) fn script(&mut self) -> Script {
        self.twice(Self::commands)
    }

    /// Runs a reading function; once more when it met here-documents whose bodies are known only
    /// then. Those of a whole line of commands are found by [`Self::list`].
    pub(super) fn twice<T>(&mut self, read: impl Fn(&mut Self) -> T) -> T {
        let (gaps, count) = (self.gaps.clone(), self.gap_count);
        let (rereads, start) = (self.rereads, self.pos);
        let value = self.ending(&read);
        if self.bodies.values().all(|body| body.given) && self.gaps.is_empty() {
            return value;
        }
        drop(value);
        self.second_pass = true;
        self.gaps = gaps;
        self.gap_count = count;
        self.odd_end = usize::MAX;
        self.comments.clear();
        self.rereads = rereads;
        self.pos = start;
        self.ending(&read)
    }

    fn ending<T>(&mut self, read: impl Fn(&mut Self) -> T) -> T {
        let value = read(self);
        if let Some(failure) = self.failure.take() {
            self.gap(failure.cause, failure.at, self.text.len());
        }
        self.read_pending();
        value
    }

    /// Reads commands to the end, going on behind faults.
    fn commands(&mut self) -> Script {
        let mut script = Script::default();
        loop {
            let list = self.list(Until::End);
            if script.items.is_empty() {
                script = list;
            } else {
                script.items.extend(list.items);
            }
            let Some(failure) = self.failure.take() else { break };
            let rest = self.text.as_bytes().get(failure.at..).unwrap_or_default();
            let found = match failure.resume {
                Resume::Separator => rest.iter().position(|byte| b";&|\n".contains(byte)),
                Resume::Line if self.rereads > 0 => {
                    self.rereads -= 1;
                    rest.iter().position(|byte| *byte == b'\n')
                }
                Resume::Line | Resume::End => None,
            };
            let resume = found.map_or(self.text.len(), |offset| failure.at + offset);
            let end = if found.is_some() && self.byte(resume) != Some(b'\n') {
                resume + 1
            } else {
                resume
            };
            self.gap(failure.cause, failure.at, end);
            self.pos = end;
        }
        script
    }

    /// Notes a fault where something is left over.
    pub(super) fn expect_end(&mut self, expected: &str) {
        if self.pos < self.text.len() {
            let cause = GapCause::Syntax(format!("expected {expected}"));
            self.gap(cause, self.pos, self.text.len());
        }
    }

    // Looking.

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The position of the first byte from `at` on that is not part of a continuation.
    pub(super) fn skip_continuations(&self, mut at: usize) -> usize {
        while self.byte(at) == Some(b'\\') {
            match self.byte(at + 1) {
                Some(b'\n') => at += 2,
                None if !self.keeps_last_backslash => at += 1,
                _ => break,
            }
        }
        at
    }

    /// The next byte; `None` at the end and behind a fault.
    pub(super) fn peek(&mut self) -> Option<u8> {
        if self.failure.is_some() {
            return None;
        }
        self.pos = self.skip_continuations(self.pos);
        self.byte(self.pos)
    }

    /// The byte `n` steps behind the next one, which has to be ASCII as all between.
    pub(super) fn nth(&self, n: usize) -> Option<u8> {
        let mut at = self.skip_continuations(self.pos);
        for _ in 0..n {
            at = self.skip_continuations(at + 1);
        }
        self.byte(at)
    }

    /// The position behind `token` where it comes next.
    pub(super) fn looking_at(&self, token: &str) -> Option<usize> {
        if self.failure.is_some() {
            return None;
        }
        let mut at = self.pos;
        for byte in token.bytes() {
            at = self.skip_continuations(at);
            if self.byte(at) != Some(byte) {
                return None;
            }
            at += 1;
        }
        Some(at)
    }

    /// Steps over `token` where it comes next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let Some(end) = self.looking_at(token) else { return false };
        self.pos = end;
        true
    }

    /// The next character.
    pub(super) fn next_char(&mut self) -> Option<char> {
        let c = self.text.get(self.pos..)?.chars().next()?;
        self.pos += c.len_utf8();
        Some(c)
    }

    /// The source between two positions.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The source text of a span that this reader gave, where the text was not changed on its way.
    pub(super) fn source_of(&self, span: Span) -> &'t str {
        match &self.place {
            Place::Shift(shift) => {
                self.slice(span.start.saturating_sub(*shift), span.end.saturating_sub(*shift))
            }
            Place::Pieces(_) => "",
        }
    }

    // Positions.

    /// The position in the source of a position here.
    pub(super) fn map(&self, at: usize) -> usize {
        match &self.place {
            Place::Shift(shift) => at + shift,
            Place::Pieces(pieces) => {
                let index = pieces.partition_point(|(here, _)| *here <= at);
                let (here, there) =
                    index.checked_sub(1).and_then(|i| pieces.get(i)).copied().unwrap_or_default();
                there + at.saturating_sub(here)
            }
        }
    }

    /// The span in the source of a range here.
    pub(super) fn place_of(&self, start: usize, end: usize) -> Span {
        let first = self.map(start);
        if end <= start {
            return Span::new(first, first);
        }
        Span::new(first, self.map(end - 1) + 1)
    }

    /// The span from `start` up to where the reader is.
    pub(super) fn span(&self, start: usize) -> Span {
        self.place_of(start, self.pos)
    }

    // Noting.

    pub(super) fn gap(&mut self, cause: GapCause, start: usize, end: usize) {
        let span = self.place_of(start, end);
        self.note(Gap { cause, span });
    }

    fn note(&mut self, gap: Gap) {
        self.gap_count += 1;
        match self.gaps.last_mut() {
            Some(last) if self.gap_count > MOST_GAPS => last.span = last.span.to(gap.span),
            _ => self.gaps.push(gap),
        }
    }

    /// Notes a character outside quotes that a person would not see; one gap for a run of them.
    pub(super) fn check_odd(&mut self, c: char, at: usize) {
        if !is_odd(c) {
            return;
        }
        let end = at + c.len_utf8();
        let joins = self.odd_end == at;
        self.odd_end = end;
        if joins {
            let more = self.place_of(at, end);
            if let Some(Gap { cause: GapCause::OddCharacter(_), span }) = self.gaps.last_mut() {
                *span = span.to(more);
                return;
            }
        }
        self.gap(GapCause::OddCharacter(c), at, end);
    }

    // Failing.

    pub(super) const fn failed(&self) -> bool {
        self.failure.is_some()
    }

    fn fail(&mut self, cause: GapCause, at: usize, resume: Resume) {
        if self.failure.is_none() {
            self.failure = Some(Failure { cause, at, resume });
        }
    }

    /// bash would reject what comes next.
    pub(super) fn expected(&mut self, what: &str) {
        let at = self.pos;
        self.fail(GapCause::Syntax(format!("expected {what}")), at, Resume::Separator);
    }

    /// What comes next belongs to another shell and bash would reject it.
    pub(super) fn foreign(&mut self, what: &'static str) {
        let at = self.pos;
        self.fail(GapCause::OtherShell(what), at, Resume::Separator);
    }

    /// A quote that opened at `at` is never closed.
    pub(super) fn open_quote(&mut self, which: &'static str, at: usize) {
        self.fail(GapCause::Unterminated(which), at, Resume::Line);
    }

    /// A bracket or keyword that opened at `at` is never closed; what is inside was read.
    pub(super) fn open_bracket(&mut self, which: &'static str, at: usize) {
        self.fail(GapCause::Unterminated(which), at, Resume::End);
    }

    /// bash takes no more here-documents before their bodies.
    pub(super) fn too_many_documents(&mut self, at: usize) {
        let cause = GapCause::Syntax("expected fewer here-documents on a line".into());
        self.fail(cause, at, Resume::Separator);
    }

    /// Reading the rest would cost more than a text of this length may.
    pub(super) fn overspent(&mut self, at: usize) {
        self.fail(GapCause::Limit(LimitKind::Steps), at, Resume::End);
    }

    /// Goes one level down; `false`, and a fault, where a compound command is too deep.
    pub(super) fn descend(&mut self) -> bool {
        if self.depth >= self.limits.depth {
            let at = self.pos;
            self.fail(GapCause::Limit(LimitKind::Depth), at, Resume::Separator);
            return false;
        }
        self.depth += 1;
        true
    }

    /// Goes one level down, into a bracket that opened at `start` and whose inside begins here. Where
    /// it is too deep the bracket is stepped over, which is a gap, and `false` comes back.
    pub(super) fn descend_bracket(&mut self, start: usize, open: u8, close: u8) -> bool {
        if self.depth < self.limits.depth {
            self.depth += 1;
            return true;
        }
        let from = self.pos;
        let found = match self.skips.get(&from) {
            Some(found) => *found,
            None => self.matching(from, open, close),
        };
        self.skips.insert(from, found);
        self.pos = found.unwrap_or(self.text.len());
        if found.is_some() {
            self.gap(GapCause::Limit(LimitKind::Depth), start, self.pos);
        } else {
            self.fail(GapCause::Limit(LimitKind::Depth), start, Resume::End);
        }
        false
    }

    pub(super) const fn ascend(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The position behind the bracket that closes the one whose inside begins at `at`; quotes and
    /// backslashes hide brackets, nothing else does.
    fn matching(&self, mut at: usize, open: u8, close: u8) -> Option<usize> {
        let mut level = 0usize;
        let mut double = false;
        loop {
            match self.byte(at)? {
                b'\\' => at += 1,
                b'"' => double = !double,
                b'\'' if !double => {
                    at += 1;
                    while self.byte(at)? != b'\'' {
                        at += 1;
                    }
                }
                byte if byte == open => level += 1,
                byte if byte == close => match level.checked_sub(1) {
                    Some(less) => level = less,
                    None => return Some(at + 1),
                },
                _ => {}
            }
            at += 1;
        }
    }

    // Attempts.

    pub(super) const fn mark(&self) -> Mark {
        Mark {
            pos: self.pos,
            gaps: self.gaps.len(),
            comments: self.comments.len(),
            pending: self.pending.len(),
            depth: self.depth,
        }
    }

    /// Forgets what was read since the mark, a fault too. Used only where there was no fault before.
    pub(super) fn give_back(&mut self, mark: &Mark) {
        self.pos = mark.pos;
        self.gap_count = self.gap_count.saturating_sub(self.gaps.len().saturating_sub(mark.gaps));
        self.gaps.truncate(mark.gaps);
        self.comments.truncate(mark.comments);
        self.pending.truncate(mark.pending);
        self.depth = mark.depth;
        self.odd_end = usize::MAX;
        self.failure = None;
    }

    // Blanks.

    /// Steps over blanks and a comment.
    pub(super) fn blanks(&mut self) {
        if self.failed() {
            return;
        }
        let rest = self.text.as_bytes().get(self.pos..).unwrap_or_default();
        self.pos += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if self.byte(self.pos) == Some(b'\\') {
            while let Some(b' ' | b'\t') = self.peek() {
                self.pos += 1;
            }
        }
        if self.peek() == Some(b'#') {
            let start = self.pos;
            let rest = self.text.as_bytes().get(start..).unwrap_or_default();
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            self.pos = start + length;
            self.comments.push(self.span(start));
        }
    }

    /// Steps over blanks, comments, line ends and the here-documents behind them.
    pub(super) fn newlines(&mut self) {
        self.blanks();
        while self.peek() == Some(b'\n') {
            self.line_end();
            self.blanks();
        }
    }

    /// Gives back the room a list does not use, where the text is so long that it matters.
    pub(super) fn settle<T>(&self, list: &mut Vec<T>) {
        if self.text.len() > ROOMY {
            list.shrink_to_fit();
        }
    }

    /// As [`Self::settle`], for lists that are shared.
    pub(super) fn settle_shared<T: Clone>(&self, list: &mut List<T>) {
        if self.text.len() > ROOMY && list.capacity() > list.len() {
            *list = list.as_slice().into();
        }
    }

    /// As [`Self::settle`], for lists that hold one item without room of their own.
    pub(super) fn settle_small<A: smallvec::Array>(&self, list: &mut smallvec::SmallVec<A>) {
        // Room that was made for what is left of the text has little to give back, and giving it
        // back would need it twice.
        let spare = list.capacity() - list.len();
        if self.text.len() > ROOMY && spare > list.len() / 32 {
            list.shrink_to_fit();
        }
    }

    /// An empty word where the reader is.
    pub(super) fn empty_word(&self) -> Word {
        Word { parts: script::Parts::new(), span: self.span(self.pos) }
    }
}
