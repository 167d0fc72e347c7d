//! From fields to an invocation: which utility it is, its options and operands, what it carries.
//!
//! Takes the fields of one simple command, its surroundings and the [`Catalog`]; gives a
//! [`Resolved`]. May import: model.
//! Never: expands a word, follows what is carried, or decides what is bad.

mod carry;
pub mod grammar;
mod items;
mod name;
pub(crate) mod names;
mod read;

use crate::model::trace::{Carried, Reading, Stream};
use crate::model::utility::{Catalog, UtilityId};
use crate::model::value::{Field, Str, Text};
use crate::resolve::grammar::Scene;

/// What stands around a simple command.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Variables that this text puts into its environment, prefix assignments last.
    pub environment: &'a [(Str, Text)],
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
    pub name: Option<Str>,
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

/// Reads the fields of a simple command, the name first. Without a field nothing is resolved.
pub fn resolve(fields: &[Field], surroundings: &Surroundings<'_>, catalog: &Catalog) -> Resolved {
    let Some((first, arguments)) = fields.split_first() else { return Resolved::default() };
    let found = name::look_up(first, catalog);
    let mut resolved = Resolved {
        name: found.name,
        utility: found.utility,
        folded: found.folded,
        candidates: found.candidates,
        ..Resolved::default()
    };
    if let Some(utility) = resolved.utility {
        let outcome = read::words(catalog, utility, arguments, surroundings);
        let id = outcome.chain.last().copied().unwrap_or(utility);
        resolved.utility = Some(id);
        resolved.reading = outcome.reading;
        let name = resolved.name.clone().unwrap_or_default();
        if !resolved.reading.inert {
            let scene = |entry| Scene {
                utility: entry,
                id,
                name: &name,
                site: first.site,
                fields: arguments,
                surroundings: *surroundings,
                catalog,
            };
            if let Some(entry) = catalog.get(id) {
                carry::arguments(
                    &scene(entry),
                    &resolved.reading,
                    &outcome.tail,
                    &mut resolved.carried,
                );
            }
            for above in &outcome.chain {
                let Some(entry) = catalog.get(*above) else { continue };
                if let Some(grammar) = entry.grammar {
                    grammar::read(
                        grammar,
                        &scene(entry),
                        &mut resolved.reading,
                        &mut resolved.carried,
                    );
                }
            }
        }
    } else {
        resolved.reading = read::unknown_program(arguments);
    }
    let builtin = found.utility.and_then(|id| catalog.get(id)).is_some_and(|entry| entry.builtin);
    carry::variables(
        resolved.name.as_deref(),
        builtin,
        surroundings,
        catalog,
        first.site,
        &mut resolved.carried,
    );
    resolved
}
