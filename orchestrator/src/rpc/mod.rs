//! Takes bytes of a connection.
//! Gives JSON-RPC 2.0 messages, and answers to the requests we sent.
//! May import serde and tokio.
//! Never knows a method's meaning.
