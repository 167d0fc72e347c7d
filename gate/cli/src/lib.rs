//! The insides of the program `shellgate`, as a library so that the tests can stop at any of them.

pub mod batch;
pub mod command;
pub mod edit;
pub mod examples;
pub mod hook;
pub mod machine;
pub mod policy;
pub mod protect;
pub mod report;
pub mod scan;
pub mod schema;
pub mod settings;
pub mod spare;
pub mod store;
pub mod strict;
pub mod wire;
