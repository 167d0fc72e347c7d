//! Tests.
#![allow(
    clippy::expect_used,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test fails by panicking, tells the person what it left out, and its reports are short"
)]

mod bash;
mod brush;
mod corpus;
mod direct;
#[cfg(test)]
mod hooks;
mod laws;
mod limits;
#[cfg(test)]
#[path = "orchestrator/advisor.rs"]
mod orchestrator_advisor;
#[cfg(test)]
#[path = "orchestrator/guard.rs"]
mod orchestrator_guard;
#[cfg(test)]
#[path = "orchestrator/model.rs"]
mod orchestrator_model;
#[cfg(test)]
#[path = "orchestrator/records.rs"]
mod orchestrator_records;
#[cfg(test)]
mod parse;
mod protocol;
mod rules;
#[cfg(test)]
mod scan;
mod scorecard;
#[cfg(test)]
mod store;
#[cfg(test)]
mod tidy;
mod trace;
mod utilities;
mod words;

/// How properties are tried: always the same cases, so that a change is judged by what it changed.
/// `PROPTEST_RNG_SEED` gives others.
fn tries(cases: u32) -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, RngSeed};
    let own = Config { cases, failure_persistence: None, ..Config::default() };
    match own.rng_seed {
        RngSeed::Random => Config { rng_seed: RngSeed::Fixed(1), ..own },
        RngSeed::Fixed(_) => own,
    }
}
