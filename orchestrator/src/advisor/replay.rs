//! What a stored decision would be today.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::pack::{self, Pack, Question, QuestionKind};
use super::state::State;
use super::{Active, Advisor, Reply, route, rules};
use crate::task::decision::{Answer, DecisionRecord, EngineKind, Outcome};
use crate::task::input::Workflow;

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

impl EngineRun {
    /// Whether its decisive value or outcome is another than the record's.
    pub fn differs(&self, record: &DecisionRecord) -> bool {
        let same = match (&self.answer, &record.answer) {
            (Answer::Choice { selected: own, .. }, Answer::Choice { selected, .. }) => {
                own == selected
            }
            (Answer::Score { score: own, .. }, Answer::Score { score, .. }) => own == score,
            (Answer::Noul { answer: own, .. }, Answer::Noul { answer, .. }) => own == answer,
            _ => false,
        };
        !same || self.outcome != record.outcome
    }
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

/// The state of a record, read strictly.
///
/// # Errors
///
/// When the state fits no pack, or another than the record's.
pub(crate) fn state_of(record: &DecisionRecord) -> Result<State, ReplayError> {
    let state = State::from_map(&record.state).map_err(ReplayError::NotReplayable)?;
    if state.pack().name() == record.pack {
        Ok(state)
    } else {
        Err(ReplayError::NotReplayable(format!("the state is none of `{}`", record.pack)))
    }
}

/// What a replay of a route needs besides the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RouteBasis {
    version: String,
    options: Vec<String>,
    fallback: Option<String>,
    asking: bool,
    redacting: bool,
}

/// The version that answers of the rules depend on.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn basis(options: &[Workflow], reply: &Reply, active: &Active) -> Value {
    let basis = RouteBasis {
        version: VERSION.into(),
        options: options.iter().map(|own| pack::workflow_word(*own).to_owned()).collect(),
        fallback: reply.fallback.map(|own| own.name().to_owned()),
        asking: active.is_asking(),
        redacting: active.is_redacting(),
    };
    serde_json::to_value(basis).unwrap_or_default()
}

impl Advisor {
    /// Answers the question of a stored route again. Records about calls are the guard's.
    ///
    /// # Errors
    ///
    /// When its pack, state or question is none of ours, or `cancel` fired.
    pub async fn replay(
        &self,
        record: DecisionRecord,
        cancel: &CancellationToken,
    ) -> Result<Replay, ReplayError> {
        let not = ReplayError::NotReplayable;
        let state = state_of(&record)?;
        let question = Question::from_name(state.pack(), &record.question)
            .filter(|question| question.pack() != Pack::RiskGate)
            .ok_or_else(|| {
                not(format!("`{}` has no question `{}`", record.pack, record.question))
            })?;
        let options = match (&state, question.kind()) {
            (State::Workflow(own), QuestionKind::Choice) => route::possible(&own.available_models),
            _ => Vec::new(),
        };
        let run = |answer: Answer, engine, latency_ms| EngineRun {
            engine,
            answer,
            outcome: None,
            latency_ms,
        };
        let rules = rules::answer(&state, question, None, &options)
            .map(|answer| run(answer, EngineKind::Rules, 0))
            .ok_or_else(|| not("the state leaves nothing to choose".into()))?;
        let basis: Option<RouteBasis> =
            record.basis.clone().and_then(|basis| serde_json::from_value(basis).ok());
        let as_recorded = basis.as_ref().and_then(|basis| {
            if record.engine == EngineKind::Jev {
                return Some(run(record.answer.clone(), EngineKind::Jev, record.latency_ms));
            }
            let offered: Vec<Workflow> = match question.kind() {
                QuestionKind::Choice => {
                    basis.options.iter().filter_map(|word| pack::workflow_of(word)).collect()
                }
                _ => Vec::new(),
            };
            let answer = rules::answer(&state, question, None, &offered)?;
            Some(run(answer, EngineKind::Rules, 0))
        });
        let active = self.active();
        let (jev, jev_error) = match active
            .ask_service(&state, question, &options, cancel)
            .await
            .map_err(|_| ReplayError::Cancelled)?
        {
            Ok(reply) => (Some(run(reply.answer, EngineKind::Jev, reply.latency_ms)), None),
            Err(error) => (None, error),
        };
        let mut changes = Vec::new();
        if let Some(basis) = &basis {
            if basis.version != VERSION {
                changes.push(format!("version {} is now {VERSION}", basis.version));
            }
            if basis.asking != active.is_asking() {
                let now = if active.is_asking() { "asked now" } else { "not asked any more" };
                changes.push(format!("the service is {now}"));
            }
            if let Some(fallback) = &basis.fallback {
                changes.push(format!("the service had failed then: {fallback}"));
            }
        }
        let differs =
            rules.differs(&record) || jev.as_ref().is_some_and(|own| own.differs(&record));
        Ok(Replay { record, rules, jev, jev_error, differs, as_recorded, changes })
    }
}
