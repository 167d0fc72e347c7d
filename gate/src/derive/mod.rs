//! Effects of what would run.
//!
//! Takes a trace, the catalog, the context and what is known about places. Gives facts, each with
//! its truth. May import: model. Never: judges whether an effect is welcome.

pub mod component;
pub mod path;
