//! What a stored decision would be today.

use std::fmt;

use crate::task::decision::{Answer, DecisionRecord, EngineKind, Outcome};

/// A stored decision run again.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The record.
    pub record: DecisionRecord,
    /// The rules under today's settings.
    pub rules: EngineRun,
    /// The service under today's settings, where one is configured and answered.
    pub jev: Option<EngineRun>,
    /// Why the service gave no answer.
    pub jev_error: Option<String>,
    /// Whether a run differs from the record in its decisive value or outcome.
    pub differs: bool,
    /// The decision from what was stored with it: settings, context, analysis and answers of its
    /// time. None for a record without a basis.
    pub as_recorded: Option<EngineRun>,
    /// What is different today: version, settings, context or analysis; one phrase each.
    pub changes: Vec<String>,
}

/// One engine's run.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineRun {
    /// Who answered.
    pub engine: EngineKind,
    /// The answer.
    pub answer: Answer,
    /// What was decided; runs about calls only.
    pub outcome: Option<Outcome>,
    /// Milliseconds it took.
    pub latency_ms: u64,
}

/// Why a record cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// The pack, the state or the question is none of ours.
    NotReplayable(String),
    /// The caller stopped waiting.
    Cancelled,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReplayable(why) => f.write_str(why),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for ReplayError {}
