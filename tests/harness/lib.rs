//! What the tests share: cases as data, and a runner that gathers failures.

pub mod case;
pub mod runner;
