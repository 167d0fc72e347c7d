//! Takes and gives the JSON of the Desiide protocol, version 1.0.0.
//! Gives our own types, and turns ours back.
//! May import serde and task.
//! Never runs anything and knows no framing.

pub mod check;
pub mod convert;
pub mod schema;
pub mod types;
