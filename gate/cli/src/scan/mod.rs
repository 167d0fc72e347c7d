//! Commands inside files: where they stand, and what the gate says about them.
//!
//! Takes the path and the text of a file; gives commands with the bytes they stand at, and findings.
//! May import: gate, the parser of YAML. Never: reads a file, or asks the machine.

pub mod allow_list;
pub mod container;
pub mod finding;
pub mod github;
pub mod gitlab;
pub mod json;
pub mod just;
pub mod kind;
pub mod make;
pub mod mapped;
pub mod npm;
pub mod sarif;
pub mod script;
pub mod tree;
pub mod yaml;

use std::collections::BTreeMap;

use crate::scan::mapped::Mapped;

/// A command inside a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The command, with the bytes of the file each of its bytes comes from.
    pub command: Mapped,
    /// Where it runs below the root of the repository, where the file says so (`web`).
    pub directory: Option<String>,
    /// Values the file puts into the environment, by name.
    pub parameters: BTreeMap<String, String>,
}

impl Piece {
    /// A command that runs where the file's kind says.
    pub const fn new(command: Mapped) -> Self {
        Self { command, directory: None, parameters: BTreeMap::new() }
    }
}

/// What one file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Its commands, in order.
    pub pieces: Vec<Piece>,
    /// What could not be read, one sentence; the pieces are those found before.
    pub trouble: Option<String>,
}

impl From<Vec<Piece>> for Extracted {
    fn from(pieces: Vec<Piece>) -> Self {
        Self { pieces, trouble: None }
    }
}
