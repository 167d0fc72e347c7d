//! Bytes of any size into whole lines.

/// A line or an event is longer than it may be; holds the limit in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(pub usize);

/// Which bytes end a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// A line feed.
    LineFeed,
    /// A line feed, a carriage return, or both as a pair.
    Either,
}

/// Gathers lines. The same bytes give the same lines however they are cut.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    ends: Ends,
    most: usize,
    begun: Vec<u8>,
    after_return: bool,
}

impl Lines {
    /// Lines of at most that many bytes.
    pub(super) const fn new(ends: Ends, most: usize) -> Self {
        Self { ends, most, begun: Vec::new(), after_return: false }
    }

    /// Adds bytes; gives each whole line, without its end, to `take`.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), TooLong>,
    ) -> Result<(), TooLong> {
        let is_end = |byte: u8| byte == b'\n' || (self.ends == Ends::Either && byte == b'\r');
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = bytes.iter().position(|byte| is_end(*byte));
            let line = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            if self.begun.len().saturating_add(line.len()) > self.most {
                return Err(TooLong(self.most));
            }
            let Some(end) = end else {
                self.begun.extend_from_slice(line);
                return Ok(());
            };
            if self.begun.is_empty() {
                take(line)?;
            } else {
                self.begun.extend_from_slice(line);
                let whole = std::mem::take(&mut self.begun);
                take(&whole)?;
            }
            self.after_return = bytes.get(end) == Some(&b'\r');
            bytes = bytes.get(end + 1..).unwrap_or_default();
        }
        Ok(())
    }

    /// What stands behind the last end.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.begun)
    }
}
