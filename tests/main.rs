//! Tests.
mod bash;
mod corpus;
mod hooks;
mod laws;
#[cfg(test)]
mod parse;
mod rules;
mod scorecard;
mod trace;
mod utilities;
mod words;
