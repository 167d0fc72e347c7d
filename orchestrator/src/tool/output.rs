//! What is kept of a command's output, and how it is made text.

use std::collections::VecDeque;

/// Which part of an output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// At most that many bytes from the start.
    First(usize),
    /// At most that many bytes from the end.
    Last(usize),
}

/// The kept part of an output.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    keep: Keep,
    bytes: VecDeque<u8>,
    dropped: u64,
}

impl Default for Kept {
    fn default() -> Self {
        Self::new(Keep::Last(0))
    }
}

impl Kept {
    /// Nothing yet.
    pub(super) const fn new(keep: Keep) -> Self {
        Self { keep, bytes: VecDeque::new(), dropped: 0 }
    }

    /// Adds what was read.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self.keep {
            Keep::First(limit) => {
                let room = limit.saturating_sub(self.bytes.len()).min(bytes.len());
                self.bytes.extend(bytes.iter().take(room));
                self.drop_count(bytes.len() - room);
            }
            Keep::Last(limit) => {
                self.bytes.extend(bytes);
                let surplus = self.bytes.len().saturating_sub(limit);
                self.bytes.drain(..surplus);
                self.drop_count(surplus);
            }
        }
    }

    fn drop_count(&mut self, count: usize) {
        self.dropped = self.dropped.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// How many bytes are not kept.
    pub(super) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The kept bytes as text: a character broken by the cut is removed, other bytes that are not UTF-8
    /// become replacement characters.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        if self.dropped == 0 {
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        let whole = match self.keep {
            Keep::Last(_) => {
                let broken =
                    bytes.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
                bytes.get(broken..).unwrap_or_default()
            }
            Keep::First(_) => without_broken_end(&bytes),
        };
        String::from_utf8_lossy(whole).into_owned()
    }

    /// As [`Self::text`], led by a line that tells how much of the start is missing.
    pub(super) fn marked(&self) -> String {
        if self.dropped == 0 {
            return self.text();
        }
        format!("[{} bytes of earlier output were dropped]\n{}", self.dropped, self.text())
    }
}

const fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// The bytes without an unfinished character at their end.
fn without_broken_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => {
            bytes.get(..error.valid_up_to()).unwrap_or_default()
        }
        _ => {
            // Bytes before may be broken in another way; only the last four can be an unfinished character.
            let start = bytes.len().saturating_sub(4);
            for at in start..bytes.len() {
                let tail = bytes.get(at..).unwrap_or_default();
                let is_unfinished = tail.first().is_some_and(|byte| *byte >= 0b1100_0000)
                    && std::str::from_utf8(tail).is_err_and(|error| {
                        error.valid_up_to() == 0 && error.error_len().is_none()
                    });
                if is_unfinished {
                    return bytes.get(..at).unwrap_or_default();
                }
            }
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Keep, Kept};

    fn kept(keep: Keep, pieces: &[&[u8]]) -> Kept {
        let mut kept = Kept::new(keep);
        for piece in pieces {
            kept.push(piece);
        }
        kept
    }

    #[test]
    fn the_end_is_kept_and_the_cut_repaired() {
        let table: &[(Keep, &[&[u8]], &str)] = &[
            (Keep::Last(10), &[b"abc", b"def"], "abcdef"),
            (Keep::Last(3), &[b"abc", b"def"], "[3 bytes of earlier output were dropped]\ndef"),
            (Keep::Last(3), &[b"abcdefghi"], "[6 bytes of earlier output were dropped]\nghi"),
            (Keep::Last(3), &["aäb".as_bytes()], "[1 bytes of earlier output were dropped]\näb"),
            (Keep::Last(2), &["aäb".as_bytes()], "[2 bytes of earlier output were dropped]\nb"),
            (Keep::Last(3), &["日本".as_bytes()], "[3 bytes of earlier output were dropped]\n本"),
            (Keep::Last(5), &["日本".as_bytes()], "[1 bytes of earlier output were dropped]\n本"),
            (Keep::Last(9), &[b"a\xffb"], "a\u{fffd}b"),
            (Keep::Last(0), &[b"a"], "[1 bytes of earlier output were dropped]\n"),
        ];
        for (keep, pieces, expected) in table {
            assert_eq!(kept(*keep, pieces).marked(), *expected, "{keep:?} {pieces:?}");
        }
    }

    #[test]
    fn the_start_is_kept_and_the_cut_repaired() {
        let table: &[(usize, &[&[u8]], &str, u64)] = &[
            (3, &[b"ab", b"cd"], "abc", 1),
            (4, &["日本".as_bytes()], "日", 2),
            (5, &["日本".as_bytes()], "日", 1),
            (6, &["日本".as_bytes()], "日本", 0),
            (4, &[b"\xffa\xe6\x97\xa5"], "\u{fffd}a", 1),
        ];
        for (limit, pieces, expected, dropped) in table {
            let kept = kept(Keep::First(*limit), pieces);
            assert_eq!((kept.text().as_str(), kept.dropped()), (*expected, *dropped), "{pieces:?}");
        }
    }
}
