//! Decisions about calls and routes, as they are recorded.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Timestamp;
use super::input::Workflow;

/// What the guard says of a call, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// Runs unasked.
    Auto,
    /// A person is asked.
    Confirm,
    /// Refused.
    Block,
}

/// Who answered a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EngineKind {
    /// The configured service.
    Jev,
    /// The deterministic rules.
    Rules,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// One of several options.
    Choice {
        /// The option.
        selected: String,
        /// Probabilities by option, each 0 to 1, in the order they were offered.
        probs: Vec<(String, f64)>,
    },
    /// A grade.
    Score {
        /// 0 to 4.
        score: u8,
        /// Probability of each grade.
        probs: Option<[f64; 5]>,
    },
    /// Yes, no, or not known.
    Noul {
        /// The word.
        answer: Noul,
        /// Probability of yes, 0 to 1.
        p_yes: f64,
    },
}

/// Yes, no, or not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Noul {
    /// Yes.
    Yes,
    /// No.
    No,
    /// Not known.
    Unknown,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// Its id.
    pub id: String,
    /// The task it belongs to.
    pub task: Option<String>,
    /// The pack with its version, as `risk_gate@1`.
    pub pack: String,
    /// The question, or `policy` for one that policy alone decided.
    pub question: String,
    /// Who answered.
    pub engine: EngineKind,
    /// Lower-case hex SHA-256 of the state's canonical JSON.
    pub state_hash: String,
    /// What the engine was given, after redaction.
    pub state: Map<String, Value>,
    /// The answer.
    pub answer: Answer,
    /// What was decided; records about calls only.
    pub outcome: Option<Outcome>,
    /// What was chosen; records about routes only.
    pub workflow: Option<Workflow>,
    /// Labels without repetition.
    pub reasons: Vec<String>,
    /// Milliseconds the answer took.
    pub latency_ms: u64,
    /// When.
    pub at: Timestamp,
    /// Settings and context a faithful replay needs; stored, never on the wire.
    pub basis: Option<Value>,
}
