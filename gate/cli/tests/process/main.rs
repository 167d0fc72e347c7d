//! Tests that start the program.
#[cfg(test)]
mod program;
