//! Takes bytes of a connection.
//! Gives JSON-RPC 2.0 messages, and answers to the requests we sent.
//! May import serde and tokio.
//! Never knows a method's meaning.

pub mod connection;
pub mod frame;
pub mod memory;
pub mod message;
pub mod pending;
pub mod stdio;
