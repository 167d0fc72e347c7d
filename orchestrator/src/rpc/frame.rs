//! `Content-Length` framing, a pure reader and writer of bytes.

use std::fmt;

/// How large a frame may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// Bytes of a header block, its closing empty line counted.
    pub header: usize,
    /// Bytes of a body.
    pub body: usize,
}

impl Default for FrameLimits {
    /// 8 KiB of headers, 32 MiB of body.
    fn default() -> Self {
        Self { header: 8 * 1024, body: 32 * 1024 * 1024 }
    }
}

/// Why the stream is out of step for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// A header block that names no usable `Content-Length`.
    NoLength,
    /// A header block that does not end within its limit.
    LongHeader {
        /// The limit in bytes.
        limit: usize,
    },
    /// A body above its limit.
    LongBody {
        /// The announced bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLength => f.write_str("a header block without a usable `Content-Length`"),
            Self::LongHeader { limit } => write!(f, "a header block above {limit} bytes"),
            Self::LongBody { length, limit } => {
                write!(f, "a frame of {length} bytes, more than the {limit} that are accepted")
            }
        }
    }
}

impl std::error::Error for FrameError {}

/// Cuts a stream of bytes into bodies, however the bytes arrive.
#[derive(Debug, Default)]
pub struct FrameReader {
    limits: FrameLimits,
    buffer: Vec<u8>,
    /// Bytes at the start of `buffer` that were handed out already.
    used: usize,
    /// Bytes of the header block that were searched already.
    searched: usize,
    /// Length of the body that comes next, once its header block was read.
    body: Option<usize>,
}

impl FrameReader {
    /// A reader with these limits.
    pub fn new(limits: FrameLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes bytes as they came.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether bytes of an unfinished frame wait.
    pub fn is_midway(&self) -> bool {
        self.body.is_some() || self.buffer.len() > self.used
    }

    /// The next whole body; none when more bytes are needed.
    ///
    /// # Errors
    ///
    /// When the stream is out of step for good; every later call gives an error too.
    pub fn next_body(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let length = match self.body {
            Some(length) => length,
            None => match self.read_header()? {
                Some(length) => length,
                None => return Ok(None),
            },
        };
        let rest = self.buffer.get(self.used..).unwrap_or_default();
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let body = body.to_vec();
        self.used += length;
        self.body = None;
        Ok(Some(body))
    }

    /// Reads a header block when it is whole; gives the length it names.
    fn read_header(&mut self) -> Result<Option<usize>, FrameError> {
        let limit = self.limits.header;
        let rest = self.buffer.get(self.used..).unwrap_or_default();
        let head = rest.get(..limit).unwrap_or(rest);
        let from = self.searched.min(head.len()).saturating_sub(3);
        let end = head
            .get(from..)
            .and_then(|tail| tail.windows(4).position(|window| window == b"\r\n\r\n"))
            .map(|at| from + at + 4);
        let head = end.and_then(|end| head.get(..end)).unwrap_or(head);
        // Line feeds alone would keep both sides waiting for ever, so they are told apart early.
        if head.get(from..).is_some_and(|tail| tail.windows(2).any(|window| window == b"\n\n")) {
            return Err(FrameError::NoLength);
        }
        let Some(end) = end else {
            if head.len() >= limit {
                return Err(FrameError::LongHeader { limit });
            }
            self.searched = rest.len();
            return Ok(None);
        };
        let length = content_length(head).ok_or(FrameError::NoLength)?;
        if length > self.limits.body {
            return Err(FrameError::LongBody { length, limit: self.limits.body });
        }
        self.used += end;
        self.searched = 0;
        self.body = Some(length);
        Ok(Some(length))
    }
}

/// The length a header block names; none when it names none, an unreadable one, or two different.
fn content_length(block: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(block).ok()?;
    let mut found = None;
    for line in text.split("\r\n") {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if !name.trim().eq_ignore_ascii_case("content-length") {
            continue;
        }
        let value = value.trim();
        if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        // A figure that no machine word holds is above every limit.
        let length = value.parse().unwrap_or(usize::MAX);
        if found.is_some_and(|earlier| earlier != length) {
            return None;
        }
        found = Some(length);
    }
    found
}

/// A frame around a body.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(input: &[u8], step: usize) -> Result<Vec<String>, FrameError> {
        let mut reader = FrameReader::new(FrameLimits { header: 128, body: 64 });
        let mut bodies = Vec::new();
        for piece in input.chunks(step) {
            reader.push(piece);
            while let Some(body) = reader.next_body()? {
                bodies.push(String::from_utf8(body).unwrap());
            }
        }
        Ok(bodies)
    }

    #[test]
    fn frames_are_cut_the_same_however_the_bytes_arrive() {
        let cases: &[(&str, Result<&[&str], FrameError>)] = &[
            ("Content-Length: 2\r\n\r\n{}", Ok(&["{}"])),
            ("content-length:2\r\nX-Other: a:b\r\n\r\n{}", Ok(&["{}"])),
            (
                "Content-Type: text/x; charset=utf-8\r\nCONTENT-LENGTH:  4 \r\n\r\n\"é\"",
                Ok(&["\"é\""]),
            ),
            (
                "Content-Length: 2\r\n\r\n{}Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1",
                Ok(&["{}", "", "1"]),
            ),
            ("Content-Length: 4\r\n\r\n\"é\"", Ok(&["\"é\""])),
            ("Content-Length: 9\r\n\r\n{}", Ok(&[])),
            ("X: 1\r\n\r\n{}", Err(FrameError::NoLength)),
            ("\r\n\r\n", Err(FrameError::NoLength)),
            ("Content-Length: 2\n\n{}", Err(FrameError::NoLength)),
            ("Content-Length: -2\r\n\r\n{}", Err(FrameError::NoLength)),
            ("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", Err(FrameError::NoLength)),
            ("Content-Length: 65\r\n\r\n", Err(FrameError::LongBody { length: 65, limit: 64 })),
            (
                "Content-Length: 99999999999999999999999\r\n\r\n",
                Err(FrameError::LongBody { length: usize::MAX, limit: 64 }),
            ),
        ];
        for (input, expected) in cases {
            for step in 1..=input.len() {
                let got = read_all(input.as_bytes(), step);
                let expected =
                    expected.map(|bodies| bodies.iter().map(ToString::to_string).collect());
                assert_eq!(got, expected, "{input:?} by {step}");
            }
        }
        let long = format!("X: {}", "y".repeat(200));
        assert_eq!(read_all(long.as_bytes(), 7), Err(FrameError::LongHeader { limit: 128 }));
    }
}
