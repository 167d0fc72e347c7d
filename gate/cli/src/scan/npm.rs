//! `package.json`: every entry of `scripts`.

use crate::scan::tree::Node;
use crate::scan::{Extracted, Piece, json};

/// The scripts, in order.
pub fn extract(text: &str) -> Extracted {
    match json::read(text) {
        Err(trouble) => Extracted { pieces: Vec::new(), trouble: Some(trouble) },
        Ok(node) => node
            .get("scripts")
            .map(Node::entries)
            .unwrap_or_default()
            .iter()
            .filter_map(|(_, script)| script.mapped())
            .filter(|script| !script.text().trim().is_empty())
            .map(|script| Piece::new(script.clone()))
            .collect::<Vec<_>>()
            .into(),
    }
}
