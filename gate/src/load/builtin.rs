//! What `rules/` says, built in: as checked data that needs no parsing, and as the texts behind it.
//!
//! The build script checks the files and writes the data; each utility becomes a value when it is
//! first asked for. The texts hold the examples too, which no verdict needs.

use crate::load::pack::Pack;
use crate::load::rules::Judgement;
use crate::model::utility::{Catalog, Store, Utility, VariableSpec};

#[allow(clippy::unreadable_literal, reason = "the tables are written by the build script")]
mod files {
    include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

    pub(super) static VARIABLES: &[u8] =
        include_bytes!(concat!(env!("OUT_DIR"), "/variables.pack"));
    pub(super) static GENERAL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/general.pack"));
    pub(super) static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/utilities.pack"));

    pub(super) fn rules() -> &'static [(&'static str, &'static str)] {
        RULES
    }

    pub(super) fn utilities() -> &'static [(&'static str, &'static str)] {
        UTILITIES
    }

    pub(super) fn end(index: usize) -> Option<usize> {
        ENDS.get(index).map(|end| *end as usize)
    }

    pub(super) static STORE: super::Store = super::Store {
        count: ENDS.len(),
        names: NAMES,
        top: TOP,
        slots: SLOTS,
        variables: super::variables,
        telling: TELLING,
        below: BELOW,
        make: super::utility,
    };
}

/// Name and text of every file of rules and labels (`rules/*.toml`), sorted by name.
pub fn rules() -> &'static [(&'static str, &'static str)] {
    files::rules()
}

/// Name and text of every file of utilities (`rules/utilities/*.toml`), sorted by name.
pub fn utilities() -> &'static [(&'static str, &'static str)] {
    files::utilities()
}

/// What the files say, without the examples of rules; `None` if the data does not fit the library,
/// which the suite rules out.
pub fn data() -> Option<(Catalog, Judgement)> {
    let mut input = files::GENERAL;
    let judgement = Judgement::unpack(&mut input)?;
    let mut catalog = Catalog::stored(&files::STORE);
    catalog.trusted_directories = Vec::unpack(&mut input)?;
    catalog.secret_variables = Vec::unpack(&mut input)?;
    Some((catalog, judgement))
}

fn variables() -> Vec<VariableSpec> {
    let mut input = files::VARIABLES;
    // INVARIANT (builtin)
    Vec::unpack(&mut input).unwrap_or_default()
}

fn utility(index: usize) -> Option<Utility> {
    let start = match index.checked_sub(1) {
        Some(before) => files::end(before)?,
        None => 0,
    };
    Utility::unpack(&mut files::PACKED.get(start..files::end(index)?)?)
}
