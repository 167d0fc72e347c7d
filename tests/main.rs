//! Tests.
mod bash;
mod corpus;
mod hooks;
mod laws;
#[cfg(test)]
mod parse;
mod rules;
mod scan;
mod scorecard;
mod store;
mod trace;
mod utilities;
mod words;
