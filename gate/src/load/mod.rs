//! From TOML text to checked data: what commands do, what we mind, the labels.
//!
//! Takes texts with their names; gives a [`Catalog`](crate::model::utility::Catalog) and the
//! examples stated in it. May import: model; the only user of serde.
//! Never: reads a file, or decides about a command.

pub mod builtin;
mod error;
mod labels;
pub mod pack;
mod policy;
mod rules;
mod utilities;

pub use error::LoadError;
pub use policy::{Level, Policy};
pub use rules::{Judgement, rules};
pub use utilities::{Example, Stated, add_utilities, utilities};
