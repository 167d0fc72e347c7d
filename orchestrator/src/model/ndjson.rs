//! Newline-delimited JSON: one text per line, however the bytes are cut.

pub use super::lines::TooLong;
use super::lines::{Ends, Lines};

/// Reads lines that are not blank.
#[derive(Clone, Debug)]
pub struct Reader {
    lines: Lines,
}

impl Reader {
    /// Lines of at most that many bytes.
    pub const fn new(most: usize) -> Self {
        Self { lines: Lines::new(Ends::LineFeed, most) }
    }

    /// Adds bytes; puts each whole line into `out`. Bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    ///
    /// When a line is too long; lines before it are in `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<String>) -> Result<(), TooLong> {
        self.lines.push(bytes, |line| {
            out.extend(text(line));
            Ok(())
        })
    }

    /// The last line, if it was not ended.
    pub fn finish(&mut self) -> Option<String> {
        text(&self.lines.finish())
    }
}

fn text(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
