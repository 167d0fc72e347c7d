//! The command line; its verbs are wired in once the gate stands.
fn main() {}
