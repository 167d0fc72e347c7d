//! Server-sent events (WHATWG HTML, 9.2.6), however the bytes are cut.

pub use super::lines::TooLong;
use super::lines::{Ends, Lines};

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its type; empty when it names none.
    pub name: String,
    /// Its data; lines are joined with a line feed.
    pub data: String,
}

/// Reads events. Comments, ids and retry times are left out.
#[derive(Clone, Debug)]
pub struct Reader {
    lines: Lines,
    event: Begun,
}

/// An event whose blank line has not come.
#[derive(Clone, Debug)]
struct Begun {
    most: usize,
    is_first_line: bool,
    name: String,
    data: Option<String>,
}

impl Reader {
    /// Events of at most that many bytes of data.
    pub const fn new(most: usize) -> Self {
        Self {
            lines: Lines::new(Ends::Either, most),
            event: Begun { most, is_first_line: true, name: String::new(), data: None },
        }
    }

    /// Adds bytes; puts each whole event into `out`. Bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    ///
    /// When an event is too long; events before it are in `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), TooLong> {
        let event = &mut self.event;
        self.lines.push(bytes, |line| {
            out.extend(event.line(line)?);
            Ok(())
        })
    }

    /// The last event, if no blank line ended it. Browsers drop it; some servers end with it, and one
    /// that was cut is no longer JSON.
    pub fn finish(&mut self) -> Option<SseEvent> {
        let rest = self.lines.finish();
        if !rest.is_empty() && self.event.line(&rest).is_err() {
            return None;
        }
        self.event.end()
    }
}

impl Begun {
    fn line(&mut self, line: &[u8]) -> Result<Option<SseEvent>, TooLong> {
        let is_first = std::mem::take(&mut self.is_first_line);
        let line = String::from_utf8_lossy(line);
        let line = if is_first { line.trim_start_matches('\u{feff}') } else { &line };
        if line.is_empty() {
            return Ok(self.end());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                let before = self.data.as_ref().map_or(0, String::len);
                if before.saturating_add(value.len()) >= self.most {
                    return Err(TooLong(self.most));
                }
                match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(value);
                    }
                    None => self.data = Some(value.to_owned()),
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// Ends the event; one without data is none.
    fn end(&mut self) -> Option<SseEvent> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| SseEvent { name, data })
    }
}
