//! What the tests share: cases as data, a runner that gathers failures, and bash as the judge.

pub mod bash;
pub mod campaign;
pub mod case;
pub mod generate;
pub mod law;
pub mod random;
pub mod runner;
pub mod strace;
