//! JSON read into a tree with the bytes of every text. Comments and commas too many are passed over,
//! as the settings files of editors and agents have them.

use std::rc::Rc;

use crate::scan::mapped::{Mapped, Region};
use crate::scan::tree::{DEPTH, Node, align, escaped_units};

/// The value of a file.
///
/// # Errors
/// One sentence that names the byte, where it is no JSON.
pub fn read(text: &str) -> Result<Node, String> {
    let shift = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut reader = Reader { text, at: shift };
    let node = reader.value(0)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.wrong("something behind the value"));
    }
    Ok(node)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn wrong(&self, what: &str) -> String {
        format!("not JSON: {what} at byte {}", self.at)
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.at += wanted.len_utf8();
        }
        there
    }

    /// Passes over blanks and comments.
    fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            let length = rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            let comment = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                0
            };
            self.at += length + comment;
            if comment == 0 {
                return;
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEPTH {
            return Err(self.wrong("nested too deep"));
        }
        self.blanks();
        match self.peek() {
            Some('{') => {
                self.at += 1;
                let mut entries = Vec::new();
                loop {
                    self.blanks();
                    if self.take('}') {
                        return Ok(Node::Table(entries));
                    }
                    let key = self.string()?;
                    self.blanks();
                    if !self.take(':') {
                        return Err(self.wrong("no `:` behind a name"));
                    }
                    entries.push((key, Rc::new(self.value(depth + 1)?)));
                    self.blanks();
                    if !self.take(',') && self.peek() != Some('}') {
                        return Err(self.wrong("neither `,` nor `}`"));
                    }
                }
            }
            Some('[') => {
                self.at += 1;
                let mut items = Vec::new();
                loop {
                    self.blanks();
                    if self.take(']') {
                        return Ok(Node::List(items));
                    }
                    items.push(Rc::new(self.value(depth + 1)?));
                    self.blanks();
                    if !self.take(',') && self.peek() != Some(']') {
                        return Err(self.wrong("neither `,` nor `]`"));
                    }
                }
            }
            Some('"') => self.string().map(Node::Text),
            Some(c) if c.is_ascii_alphanumeric() || c == '-' => {
                let rest = self.rest();
                let word = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'));
                let length = rest.find(word).unwrap_or(rest.len());
                let text = rest.get(..length).unwrap_or_default();
                let mapped = Mapped::verbatim(text, self.at);
                self.at += length;
                Ok(Node::Text(mapped))
            }
            _ => Err(self.wrong("no value")),
        }
    }

    fn string(&mut self) -> Result<Mapped, String> {
        if !self.take('"') {
            return Err(self.wrong("no text in quotes"));
        }
        let start = self.at;
        let mut escaped = false;
        let end = self.rest().char_indices().find_map(|(index, character)| {
            let closes = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            closes.then_some(start + index)
        });
        let Some(end) = end else { return Err(self.wrong("a quote that is not closed")) };
        let mut units = Vec::new();
        escaped_units(self.text.get(start..end).unwrap_or_default(), start, &mut units);
        let value: String = units.iter().filter_map(|unit| unit.character).collect();
        self.at = end + 1;
        if value.is_empty() {
            let mut empty = Mapped::default();
            empty.push_for("", Region { start, end });
            return Ok(empty);
        }
        Ok(align(&value, &units))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lead_back_to_their_bytes() {
        let file = "{ // note\n \"a\": [\"x\\\"y\", 1,], /* b */ \"c\": {\"d\": \"\\u00e9\\ud83d\\ude00z\"}, }";
        let node = read(file).unwrap();
        let item = node.get("a").unwrap().items().first().unwrap().mapped().unwrap().clone();
        assert_eq!(item.text(), "x\"y");
        let region = item.between(1, 2);
        assert_eq!(file.get(region.start..region.end).unwrap(), "\\\"");
        let deep = node.at(&["c", "d"]).unwrap().mapped().unwrap();
        assert_eq!(deep.text(), "é😀z");
        let region = deep.between(2, 6);
        assert_eq!(file.get(region.start..region.end).unwrap(), "\\ud83d\\ude00");
        for bad in ["", "{", "[1 2]", "\"", "{\"a\" 1}", "{} x", "é", "\"\\"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read(&"[".repeat(9000)).is_err());
    }
}
