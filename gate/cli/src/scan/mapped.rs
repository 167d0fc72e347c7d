//! A text made from parts of a file, which knows the bytes of the file each part comes from.

use shellgate::model::span::Span;

/// Bytes of a file, half-open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Region {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last one; never less than `start`.
    pub end: usize,
}

/// A run of the text. With as many bytes here as there, byte stands for byte; else all for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    at: usize,
    length: usize,
    region: Region,
}

impl Segment {
    const fn is_verbatim(&self) -> bool {
        self.region.end - self.region.start == self.length
    }
}

/// The text and where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    text: String,
    /// In the order of the text, without holes.
    segments: Vec<Segment>,
}

impl Mapped {
    /// A part of a file as it stands there, from byte `at`.
    pub fn verbatim(text: &str, at: usize) -> Self {
        let mut mapped = Self::default();
        mapped.push(text, at);
        mapped
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds a part of the file as it stands there, from byte `at`.
    pub fn push(&mut self, text: &str, at: usize) {
        self.add(text, Region { start: at, end: at + text.len() });
    }

    /// Adds the end of the line that ends before byte `at` of the file; the last one may have none.
    pub fn push_end(&mut self, file: &str, at: usize) {
        let end = if at < file.len() { at + 1 } else { at };
        self.add("\n", Region { start: at.min(end), end });
    }

    /// Adds text that stands for those bytes of the file.
    pub fn push_for(&mut self, text: &str, region: Region) {
        self.add(text, region);
    }

    /// Adds the bytes `start..end` of another text, which are borders of characters.
    pub fn push_part(&mut self, other: &Self, start: usize, end: usize) {
        // Segments are in order, so that those before the part are passed over at once.
        let first = other.segments.partition_point(|segment| segment.at + segment.length <= start);
        for segment in other.segments.iter().skip(first) {
            if segment.at >= end {
                break;
            }
            let (from, to) = (start.max(segment.at), end.min(segment.at + segment.length));
            let Some(text) = other.text.get(from..to) else { continue };
            let region = if segment.is_verbatim() {
                let shift = segment.region.start;
                Region { start: shift + from - segment.at, end: shift + to - segment.at }
            } else {
                segment.region
            };
            self.add(text, region);
        }
    }

    /// Adds text that stands for the bytes `start..end` of another text.
    pub fn push_instead(&mut self, text: &str, other: &Self, start: usize, end: usize) {
        self.add(text, other.between(start, end));
    }

    fn add(&mut self, text: &str, region: Region) {
        if text.is_empty() {
            return;
        }
        let added = Segment { at: self.text.len(), length: text.len(), region };
        self.text.push_str(text);
        if let Some(last) = self.segments.last_mut()
            && last.is_verbatim()
            && added.is_verbatim()
            && last.region.end == region.start
        {
            last.length += added.length;
            last.region.end = region.end;
            return;
        }
        self.segments.push(added);
    }

    /// The bytes of the file behind a span of the text.
    pub fn region(&self, span: Span) -> Region {
        self.between(span.start, span.end)
    }

    /// The bytes of the file behind the bytes `start..end` of the text.
    pub fn between(&self, start: usize, end: usize) -> Region {
        let from = match self.segment(start) {
            Some(segment) if segment.is_verbatim() => {
                segment.region.start + (start - segment.at).min(segment.length)
            }
            Some(segment) => segment.region.start,
            None => 0,
        };
        let to = match end.checked_sub(1).filter(|last| *last >= start) {
            None => from,
            Some(last) => match self.segment(last) {
                Some(segment) if segment.is_verbatim() => {
                    segment.region.start + (end - segment.at).min(segment.length)
                }
                Some(segment) => segment.region.end,
                None => from,
            },
        };
        Region { start: from, end: to.max(from) }
    }

    /// The segment that holds the byte, or the last one.
    fn segment(&self, at: usize) -> Option<&Segment> {
        let next = self.segments.partition_point(|segment| segment.at <= at);
        next.checked_sub(1).and_then(|index| self.segments.get(index))
    }
}

/// Lines and columns of a file.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Of that text.
    pub fn new(text: &'a str) -> Self {
        let starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// Line and column of a byte, both from 1, the column in characters.
    pub fn place(&self, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= at);
        let start = line.checked_sub(1).and_then(|index| self.starts.get(index)).copied();
        let start = start.unwrap_or_default();
        // A byte inside a character counts for it.
        let end = (start..=at.min(self.text.len()))
            .rev()
            .find(|at| self.text.is_char_boundary(*at))
            .unwrap_or(start);
        let column = self.text.get(start..end).map_or(0, |head| head.chars().count());
        (line, column + 1)
    }

    /// The line of that number, from 1, without its end.
    pub fn line(&self, number: usize) -> &'a str {
        number
            .checked_sub(1)
            .and_then(|index| self.starts.get(index))
            .and_then(|start| self.text.get(*start..))
            .and_then(|rest| rest.lines().next())
            .unwrap_or_default()
    }
}

/// Each line of a text with the byte it begins at, without its end (`\n` or `\r\n`).
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        (start, line.strip_suffix('\r').unwrap_or(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lead_back_to_the_file() {
        let file = "run: \"a\\tb $${X} c\"";
        let mut mapped = Mapped::verbatim("a", 6);
        mapped.push_for("\t", Region { start: 7, end: 9 });
        mapped.push("b ", 9);
        mapped.push_for("$", Region { start: 11, end: 13 });
        mapped.push("{X} c", 13);
        assert_eq!(mapped.text(), "a\tb ${X} c");
        let at = |start: usize, end: usize| {
            let region = mapped.between(start, end);
            file.get(region.start..region.end).unwrap()
        };
        assert_eq!(at(0, 1), "a");
        assert_eq!(at(1, 2), "\\t");
        assert_eq!(at(2, 3), "b");
        assert_eq!(at(4, 8), "$${X}");
        assert_eq!(at(0, 10), "a\\tb $${X} c");
        assert_eq!(at(10, 10), "");
        let mut part = Mapped::default();
        part.push_part(&mapped, 2, 8);
        assert_eq!(part.text(), "b ${X}");
        assert_eq!(part.between(2, 6), Region { start: 11, end: 16 });
    }

    #[test]
    fn places_count_characters() {
        let lines = Lines::new("é x\nab\n");
        assert_eq!(lines.place(0), (1, 1));
        assert_eq!(lines.place(3), (1, 3));
        assert_eq!(lines.place(5), (2, 1));
        assert_eq!(lines.place(99), (3, 1));
        assert_eq!(lines.line(2), "ab");
    }
}
