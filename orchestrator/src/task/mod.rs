//! Takes nothing from outside: these are the nouns every other room speaks in.
//! Gives a task's input, state, calls, edits, events, decisions and settings, and the pure machine.
//! May import serde for storage, nothing else of this package.
//! Never reads a file, a clock or a wire, and knows no protocol's spelling.

pub mod budget;
pub mod call;
pub mod decision;
pub mod edit;
pub mod event;
pub mod failure;
pub mod input;
pub mod machine;
pub mod port;
pub mod project;
pub mod queue;
pub mod repeat;
pub mod settings;
pub mod state;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Timestamp(pub i64);
