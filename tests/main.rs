//! Tests.
mod parse;
mod rules;
mod trace;
mod utilities;
mod words;
