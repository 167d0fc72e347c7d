//! Takes states built as metadata only, and questions about them.
//! Gives answers of the rules or of the configured service, and routes for tasks.
//! May import task.
//! Never makes a decision milder, and never sees the content of a file.

pub mod canonical;
pub mod pack;
pub mod redact;
pub mod replay;
pub mod route;
pub mod rules;
pub mod service;
pub mod state;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::pack::{Pack, Question, QuestionKind};
use self::redact::Names;
use self::rules::Facts;
use self::service::{
    Ask, Endpoint, Engine, EngineFailure, FailureKind, Fallback, TestFailure, Timing, Watched,
};
use self::state::{RiskBuilt, RiskInput, State};
use crate::task::Timestamp;
use crate::task::decision::{Answer, DecisionRecord, EngineKind, Outcome};
use crate::task::edit::FileMeta;
use crate::task::input::{Preference, TaskKind, Workflow};
use crate::task::port::SharedSecrets;
use crate::task::settings::{JevSettings, Settings};

/// A rewriter of texts that hides secret values it knows.
pub type Conceal = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Answers questions and chooses routes. One advisor serves all tasks.
pub struct Advisor {
    names: Names,
    conceal: Option<Conceal>,
    timing: Timing,
    active: RwLock<Arc<Active>>,
}

/// What is in force until the next settings. Whoever works with one keeps it, so that a late failure
/// of an old service says nothing about a new one.
pub(crate) struct Active {
    service: Service,
    names: Option<Names>,
    conceal: Option<Conceal>,
}

enum Service {
    /// Not wanted.
    Off,
    /// Wanted, and there is none that could be asked.
    Missing(EngineFailure),
    /// Asked.
    On(Watched),
}

/// An answer and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// Who gave it.
    pub engine: EngineKind,
    /// Why the rules answered in the service's place.
    pub fallback: Option<Fallback>,
    /// Milliseconds it took, rounded.
    pub latency_ms: u64,
}

/// Why a question got no answer at all; a failing service is no reason, the rules step in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskError {
    /// The question is wrong: a fault of this program. One of `invalid_state`,
    /// `wrong_question_type`, `invalid_options`, with what is wrong.
    Request(String),
    /// The caller stopped waiting.
    Cancelled,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(why) => f.write_str(why),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for AskError {}

/// The caller stopped waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}

impl Advisor {
    /// An advisor without a service. `salt` keeps redacted names apart: secret, the same for every
    /// start in one workspace, at least 16 characters; a shorter one is replaced by a random one.
    pub fn new(salt: &str) -> Self {
        let salt = if salt.chars().count() < 16 {
            format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
        } else {
            salt.to_owned()
        };
        Self {
            names: Names::new(salt),
            conceal: None,
            timing: Timing::default(),
            active: RwLock::new(Arc::new(Active {
                service: Service::Off,
                names: None,
                conceal: None,
            })),
        }
    }

    /// The same with a rewriter that hides secret values it knows; what has the form of a secret is
    /// hidden without it. Call it before settings are taken.
    #[must_use]
    pub fn concealing(mut self, conceal: Conceal) -> Self {
        self.conceal = Some(conceal);
        self.install(Service::Off, false);
        self
    }

    /// The same with other time limits.
    #[must_use]
    pub const fn timed(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Takes new settings and forgets that the service was failing. A service that is wanted and
    /// cannot be asked is marked in every answer.
    pub fn configure(&self, settings: &Settings, secrets: SharedSecrets) {
        let JevSettings { enabled, endpoint, api_key, redact_paths } = &settings.jev;
        let service = match (enabled, endpoint) {
            (false, _) => Service::Off,
            (true, None) => Service::Missing(EngineFailure {
                kind: FailureKind::BadRequest,
                message: "the service is enabled and no endpoint is set".into(),
            }),
            (true, Some(endpoint)) => match Endpoint::new(endpoint, api_key.clone(), secrets) {
                Ok(engine) => Service::On(Watched::new(Arc::new(engine), self.timing)),
                Err(failure) => Service::Missing(failure),
            },
        };
        self.install(service, *redact_paths);
    }

    /// Takes an engine of another kind as the service.
    pub fn configure_engine(&self, engine: Arc<dyn Engine>, redact_paths: bool) {
        self.install(Service::On(Watched::new(engine, self.timing)), redact_paths);
    }

    fn install(&self, service: Service, redact_paths: bool) {
        let active = Active {
            service,
            names: redact_paths.then(|| self.names.clone()),
            conceal: self.conceal.clone(),
        };
        *self.active.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(active);
    }

    pub(crate) fn active(&self) -> Arc<Active> {
        Arc::clone(&self.active.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// One cheap question to the configured service, even while it is left alone after a failure:
    /// milliseconds it took, or what is wrong.
    ///
    /// # Errors
    ///
    /// When there is no service or it gave no usable answer.
    pub async fn jev_test(&self, cancel: &CancellationToken) -> Result<u64, TestFailure> {
        let active = self.active();
        let failed = |failure: EngineFailure| TestFailure {
            kind: failure.kind,
            message: failure.message,
            hint: failure.kind.hint().map(str::to_owned),
        };
        let watched = match &active.service {
            Service::On(watched) => watched,
            Service::Missing(failure) => return Err(failed(failure.clone())),
            Service::Off => {
                return Err(TestFailure {
                    kind: FailureKind::BadRequest,
                    message: "no service is configured".into(),
                    hint: Some("set `jev.enabled` and `jev.endpoint`".into()),
                });
            }
        };
        let state = active.sample(Pack::CostRoute);
        let started = Instant::now();
        let ask = Ask { state: &state, question: Question::CheapSuccess, options: &[] };
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Err(TestFailure {
                    kind: FailureKind::Cancelled,
                    message: "cancelled".into(),
                    hint: None,
                });
            }
            answer = watched.ask(ask, true) => answer,
        };
        answer.map(|_| milliseconds(started)).map_err(|(_, failure)| failed(failure))
    }

    /// A sample state of a pack, redacted as settings say; nothing is sent anywhere. None for a
    /// pack that is not known.
    pub fn preview(&self, pack: &str) -> Option<Map<String, Value>> {
        Some(self.active().sample(Pack::from_name(pack)?).to_map())
    }
}

impl Active {
    /// Whether a service is asked.
    pub(crate) const fn is_asking(&self) -> bool {
        matches!(self.service, Service::On(_))
    }

    /// Whether names in paths are hidden.
    pub(crate) const fn is_redacting(&self) -> bool {
        self.names.is_some()
    }

    /// A path as engines and records see it.
    pub(crate) fn path(&self, path: &str) -> String {
        self.names.as_ref().map_or_else(|| path.to_owned(), |names| names.path(path))
    }

    /// A command without the secrets it shows.
    pub(crate) fn without_secrets(&self, command: &str) -> String {
        let known = self.conceal.as_ref().map(|conceal| conceal(command));
        redact::secrets(known.as_deref().unwrap_or(command))
    }

    /// A command as engines and records see it, not yet cut.
    pub(crate) fn command(&self, command: &str) -> String {
        let plain = self.without_secrets(command);
        match &self.names {
            Some(names) => names.command(&plain),
            None => plain,
        }
    }

    /// The state of a call.
    pub(crate) fn risk_state(&self, input: RiskInput) -> RiskBuilt {
        state::risk(input, &|path| self.path(path), &|command| self.command(command), &|branch| {
            self.names.as_ref().map_or_else(|| branch.to_owned(), |own| own.branch(branch))
        })
    }

    /// Asks one question. The rules answer where no service is configured, and in place of one that
    /// gives no usable answer.
    pub(crate) async fn ask(
        &self,
        state: &State,
        question: Question,
        facts: Option<&Facts>,
        options: &[Workflow],
        cancel: &CancellationToken,
    ) -> Result<Reply, AskError> {
        check(state, question, options)?;
        let started = Instant::now();
        let fallback = match &self.service {
            Service::Off => None,
            Service::Missing(_) => Some(Fallback::Unavailable),
            Service::On(watched) => {
                let ask = Ask { state, question, options };
                let answer = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Err(AskError::Cancelled),
                    answer = watched.ask(ask, false) => answer,
                };
                match answer {
                    Ok(answer) => {
                        return Ok(Reply {
                            answer,
                            engine: EngineKind::Jev,
                            fallback: None,
                            latency_ms: milliseconds(started),
                        });
                    }
                    Err((fallback, _)) => Some(fallback),
                }
            }
        };
        let answer = rules::answer(state, question, facts, options).ok_or_else(|| {
            AskError::Request("invalid_options: none of them can be chosen".into())
        })?;
        Ok(Reply { answer, engine: EngineKind::Rules, fallback, latency_ms: milliseconds(started) })
    }

    /// Asks the service alone.
    ///
    /// # Errors
    ///
    /// None where no service is configured, otherwise why it gave no answer.
    pub(crate) async fn ask_service(
        &self,
        state: &State,
        question: Question,
        options: &[Workflow],
        cancel: &CancellationToken,
    ) -> Result<Result<Reply, Option<String>>, Cancelled> {
        let watched = match &self.service {
            Service::Off => return Ok(Err(None)),
            Service::Missing(failure) => return Ok(Err(Some(failure.message.clone()))),
            Service::On(watched) => watched,
        };
        let started = Instant::now();
        let ask = Ask { state, question, options };
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Cancelled),
            answer = watched.ask(ask, false) => answer,
        };
        Ok(answer
            .map(|answer| Reply {
                answer,
                engine: EngineKind::Jev,
                fallback: None,
                latency_ms: milliseconds(started),
            })
            .map_err(|(_, failure)| Some(failure.message)))
    }

    /// A made-up state of a pack.
    fn sample(&self, pack: Pack) -> State {
        let files = [
            FileMeta {
                path: "src/auth/session.rs".into(),
                size_lines: 240,
                language: "rust".into(),
                sensitive: true,
            },
            FileMeta {
                path: "src/ledger/report.rs".into(),
                size_lines: 120,
                language: "rust".into(),
                sensitive: false,
            },
        ];
        match pack {
            Pack::WorkflowSelect => {
                let (files_touched, truncated_count) =
                    state::files(&files, &|path| self.path(path));
                let model = |id: &str, cost_tier, locality| state::StateModel {
                    id: id.into(),
                    context_tokens: 32_768,
                    latency_ms: 800,
                    cost_tier,
                    locality: Some(locality),
                };
                State::Workflow(state::WorkflowState {
                    task_type: TaskKind::BugFix,
                    files_touched,
                    truncated_count,
                    estimated_diff_size: 40,
                    last_run_status: state::RunStatus::None,
                    user_preference: Preference::Balance,
                    available_models: vec![
                        model("local", state::CostTier::Free, state::StateLocality::Local),
                        model("cloud", state::CostTier::Medium, state::StateLocality::Cloud),
                    ],
                })
            }
            Pack::RiskGate => {
                let built = self.risk_state(RiskInput {
                    action: state::Action::RunCommand,
                    command: Some("cargo run -- report src/ledger/2024.csv".into()),
                    edit_file_count: None,
                    context: state::RiskContext {
                        branch: Some("feature/report".into()),
                        env: state::Surroundings::Local,
                        has_pending_migrations: false,
                    },
                    files: files
                        .iter()
                        .map(|file| state::RiskFile {
                            path: file.path.clone(),
                            sensitive: file.sensitive,
                        })
                        .collect(),
                });
                State::Risk(built.state)
            }
            Pack::CostRoute => State::Cost(state::CostState {
                task_type: TaskKind::BugFix,
                files_touched_count: 2,
                project_size_lines: 12_000,
                user_cost_bias: Preference::Balance,
                recent_failures: 0,
            }),
        }
    }
}

fn check(state: &State, question: Question, options: &[Workflow]) -> Result<(), AskError> {
    state.check().map_err(|why| AskError::Request(format!("invalid_state: {why}")))?;
    if question.pack() != state.pack() {
        let why = format!("`{}` is no question of `{}`", question.name(), state.pack().name());
        return Err(AskError::Request(format!("wrong_question_type: {why}")));
    }
    if (question.kind() == QuestionKind::Choice) == options.is_empty() {
        return Err(AskError::Request(
            "invalid_options: a choice, and only one, has options".into(),
        ));
    }
    Ok(())
}

fn milliseconds(since: Instant) -> u64 {
    let micros = since.elapsed().as_micros().saturating_add(500);
    u64::try_from(micros / 1000).unwrap_or(u64::MAX)
}

/// What a record is made of.
pub(crate) struct RecordInput<'a> {
    pub(crate) task: Option<String>,
    pub(crate) state: &'a State,
    pub(crate) question: &'a str,
    pub(crate) reply: Reply,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) workflow: Option<Workflow>,
    pub(crate) reasons: Vec<String>,
    pub(crate) basis: Option<Value>,
}

/// A record with a fresh id and the present time.
pub(crate) fn record(input: RecordInput<'_>) -> DecisionRecord {
    let state = input.state.to_map();
    DecisionRecord {
        id: Uuid::new_v4().to_string(),
        task: input.task,
        pack: input.state.pack().name().to_owned(),
        question: input.question.to_owned(),
        engine: input.reply.engine,
        state_hash: canonical::hash(&state),
        state,
        answer: input.reply.answer,
        outcome: input.outcome,
        workflow: input.workflow,
        reasons: input.reasons,
        latency_ms: input.reply.latency_ms,
        at: now(),
        basis: input.basis,
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
