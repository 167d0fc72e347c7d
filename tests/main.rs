//! Tests.
mod parse;
mod utilities;
mod words;
mod rules;
