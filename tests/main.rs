//! Tests.
mod corpus;
mod parse;
mod rules;
mod scorecard;
mod trace;
mod utilities;
mod words;
