//! Tests.
mod utilities;
mod words;
