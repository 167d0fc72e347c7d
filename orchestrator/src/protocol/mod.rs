//! Takes JSON of one protocol, one folder each.
//! Gives our own types, and turns ours back into that protocol's.
//! May import serde and task.
//! Never runs anything and never knows another protocol.

pub mod desiide;
