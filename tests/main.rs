//! Tests.
mod bash;
mod corpus;
#[cfg(test)]
mod hooks;
mod laws;
#[cfg(test)]
mod parse;
mod rules;
#[cfg(test)]
mod scan;
mod scorecard;
#[cfg(test)]
mod store;
mod trace;
mod utilities;
mod words;
