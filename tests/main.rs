//! Tests.
mod parse;
mod utilities;
mod words;
