//! Here-documents (POSIX.1-2024 XCU 2.7.4): the bodies that follow the line of their operators.

use crate::model::script::{GapCause, HereDocument, Part, Parts, Word};

use super::reader::{Body, Pending, Place, Quoted, Reader};

/// Here-documents that may wait for their bodies; bash gives up at one more (`HEREDOC_MAX`).
const MOST_PENDING: usize = 16;

impl Reader<'_> {
    /// Steps over a line end and reads the here-documents that wait for it.
    pub(super) fn line_end(&mut self) {
        let newline = self.pos;
        self.pos += 1;
        if self.pending.is_empty() {
            return;
        }
        if self.second_pass
            && let Some(end) = self.jumps.get(&newline)
        {
            self.pos = *end;
            self.pending.clear();
            return;
        }
        self.read_pending();
        self.jumps.insert(newline, self.pos);
    }

    /// Reads the bodies that are waited for, from here on.
    pub(super) fn read_pending(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let body = self.body(&pending);
            self.bodies.insert(pending.key, body);
        }
    }

    /// The here-document of the operator at `key`; empty in the first pass.
    pub(super) fn here_document(&mut self, pending: Pending) -> HereDocument {
        let key = pending.key;
        let known = if self.second_pass { self.bodies.get_mut(&key) } else { None };
        let known = known.map(|body| {
            body.given = true;
            body.clone()
        });
        let (delimiter, quoted) = (pending.delimiter.clone(), pending.quoted);
        if self.pending.len() < MOST_PENDING {
            self.pending.push(pending);
        } else {
            self.too_many_documents(key);
        }
        let Some(body) = known else {
            return HereDocument { delimiter, quoted, body: Word::default(), closed: false };
        };
        let rereads = self.rereads;
        self.absorb(body.gaps, body.comments, rereads);
        body.document
    }

    fn body(&mut self, pending: &Pending) -> Body {
        let start = self.pos;
        let mut stripped = String::new();
        let mut pieces = Vec::new();
        let mut closed = false;
        let mut end = self.text.len();
        while self.pos < self.text.len() {
            let line_start = self.pos;
            let next = self.logical_line_end(line_start, pending.quoted);
            let mut from = line_start;
            if pending.tabs {
                while self.byte(from) == Some(b'\t') {
                    from += 1;
                }
            }
            if let Some(behind) = self.closing_line(from, next, pending) {
                (closed, end, self.pos) = (true, line_start, behind);
                break;
            }
            pieces.push((stripped.len(), self.map(from)));
            stripped.push_str(self.slice(from, next));
            self.pos = next;
        }
        if !closed {
            self.pos = self.text.len();
        }
        let span = self.place_of(start, end);
        let mut gaps = Vec::new();
        let mut comments = Vec::new();
        let parts = if stripped.is_empty() {
            Parts::new()
        } else if pending.quoted {
            Parts::from([Part::SingleQuoted(stripped.into(), span)])
        } else {
            let mut inner =
                self.inner(&stripped, Place::Pieces(pieces)).keeping_the_last_backslash();
            let word = inner.twice(|reader| reader.quoted(Quoted::Text));
            self.rereads = inner.rereads;
            (gaps, comments) = inner.finish();
            word.parts
        };
        if !closed {
            let cause = GapCause::OpenHereDocument(pending.delimiter.clone());
            let span =
                if span.is_empty() { self.place_of(pending.key, pending.key + 2) } else { span };
            gaps.push(crate::model::script::Gap { cause, span });
        }
        let delimiter = pending.delimiter.clone();
        let body = Word { parts, span };
        Body {
            document: HereDocument { delimiter, quoted: pending.quoted, body, closed },
            gaps,
            comments,
            given: false,
        }
    }

    /// The position behind the line that begins at `at`; in an unquoted body a continuation joins
    /// lines.
    fn logical_line_end(&self, mut at: usize, quoted: bool) -> usize {
        let mut escaped = false;
        while let Some(byte) = self.byte(at) {
            at += 1;
            match byte {
                b'\n' if !escaped => return at,
                b'\\' if !quoted => escaped = !escaped,
                _ => escaped = false,
            }
        }
        at
    }

    /// Where reading goes on if the line from `from` up to `next` closes the document. Inside
    /// `$( )` bash also takes the delimiter with a `)` somewhere behind it.
    fn closing_line(&self, from: usize, next: usize, pending: &Pending) -> Option<usize> {
        let line = self.slice(from, next);
        let content = line.strip_suffix('\n').unwrap_or(line);
        if !pending.quoted && content.contains("\\\n") {
            let joined = content.replace("\\\n", "");
            return (joined == pending.delimiter).then_some(next);
        }
        let behind = content.strip_prefix(pending.delimiter.as_str())?;
        if behind.is_empty() {
            return Some(next);
        }
        (self.substitutions > 0 && behind.contains(')')).then(|| from + pending.delimiter.len())
    }
}
