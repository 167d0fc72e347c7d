//! The service is not there yet.
fn main() {}
