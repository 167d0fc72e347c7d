//! What the tests share: cases as data, a runner that gathers failures, and bash as the judge.
#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "reports and generated scripts are short; the plain form reads better"
)]

pub mod bash;
pub mod campaign;
pub mod case;
pub mod generate;
pub mod law;
pub mod ledger;
pub mod plainly;
pub mod provider;
pub mod random;
pub mod runner;
pub mod scripts;
pub mod shapes;
pub mod strace;
pub mod walk;
