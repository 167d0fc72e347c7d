//! From fields to an invocation: which utility it is, its options and operands, what it carries.
//!
//! Takes the fields of one simple command, its surroundings and the [`Catalog`]; gives a
//! [`Resolved`]. May import: model.
//! Never: expands a word, follows what is carried, or decides what is bad.

pub mod grammar;

use crate::model::trace::{Carried, Reading, Stream};
use crate::model::utility::UtilityId;
use crate::model::value::Text;

/// What stands around a simple command.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Variables that this text puts into its environment, prefix assignments last.
    pub environment: &'a [(String, Text)],
    /// What it finds on standard input.
    pub input: &'a Stream,
}

impl Surroundings<'_> {
    /// The value this text gives to a variable of the environment.
    pub fn variable(&self, name: &str) -> Option<&Text> {
        self.environment.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value)
    }
}

/// A simple command as the utility it names reads it.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// The name it is looked up by: the last part of a path in a trusted directory, or the word
    /// itself. None for other paths and where the name is not known.
    pub name: Option<String>,
    /// Its entry, or that of its sub-command.
    pub utility: Option<UtilityId>,
    /// Whether the name was found only by folding the case of its letters.
    pub folded: bool,
    /// Names of utilities that a pattern in the place of the name can match, sorted; empty where
    /// the name is known. Each may be what runs.
    pub candidates: Vec<String>,
    /// Its arguments as the utility reads them.
    pub reading: Reading,
    /// Commands and code in its arguments, its input and its environment, in that order.
    pub carried: Vec<Carried>,
}
