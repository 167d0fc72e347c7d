//! From TOML text to checked data: what commands do, what we mind, the labels.
//!
//! Takes texts with their names; gives a [`Catalog`](crate::model::utility::Catalog) and the
//! examples stated in it. May import: model; the only user of serde.
//! Never: reads a file, or decides about a command.

pub mod builtin;
mod error;
mod utilities;

pub use error::LoadError;
pub use utilities::{Example, Stated, utilities};
