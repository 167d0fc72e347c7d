//! Bytes of known texts: those that are no UTF-8 are the characters U+F700 + byte.

use crate::model::value::{Piece, Text};

const BASE: u32 = 0xF700;

/// The bytes of a text.
pub(super) fn to_bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c).checked_sub(BASE).and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte) if byte >= 0x80 => out.push(byte),
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

/// The text of some bytes.
pub(super) fn from_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(
            chunk.invalid().iter().filter_map(|byte| char::from_u32(BASE + u32::from(*byte))),
        );
    }
    out
}

/// An output under construction.
#[derive(Debug, Default)]
pub(super) struct Out {
    text: Text,
    bytes: Vec<u8>,
}

impl Out {
    /// Adds bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds a text; pieces that are not known stay what they are.
    pub(super) fn text(&mut self, text: &Text) {
        for piece in text.pieces() {
            match piece {
                Piece::Literal(literal) => self.bytes.extend(to_bytes(literal)),
                other => {
                    self.flush();
                    self.text.push(other.clone());
                }
            }
        }
    }

    /// Bytes so far, unknown pieces not counted.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    fn flush(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        self.text.push_str(&from_bytes(&bytes));
    }

    /// The whole text.
    pub(super) fn finish(mut self) -> Text {
        self.flush();
        self.text
    }
}
