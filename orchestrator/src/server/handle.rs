//! Runs requests. What changes tasks or settings runs one after the other, in the order it came; what asks
//! models, services or the decision log starts in its turn, runs beside everything else, and can be
//! cancelled.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::dispatch::{Request, raw_result, result};
use super::reply::Fault;
use super::{Notices, Services};
use crate::advisor::replay::{EngineRun, Replay, ReplayError};
use crate::drive::{AnswerError, NoSuchTask, Runtime, Scope};
use crate::host::log::{Level, Log};
use crate::model::{ModelError, ModelInfo};
use crate::protocol::desiide::check::Problems;
use crate::protocol::desiide::convert::write_cursor;
use crate::protocol::desiide::types::{
    self, Ack, DecisionsListParams, DecisionsListResult, DecisionsReplayResult, HealthPingResult,
    Id, JevTestError, JevTestResult, Method, ModelCapabilities, ModelErrorKind, ModelsListResult,
    ModelsTestError, ModelsTestResult, TaskCancelResult, TaskCreateResult, TaskListResult, True,
};
use crate::rpc::message::Id as RequestId;
use crate::task::settings::Settings;

/// What handlers tell the loop.
pub(super) enum Told {
    /// A request has its result.
    Finished(Finished),
    /// The services could not be made, by a fault of ours.
    Fault,
}

/// A handler that ended.
pub(super) struct Finished {
    /// Which of the open requests.
    pub(super) serial: u64,
    /// The request's id.
    pub(super) id: RequestId,
    /// What came of it.
    pub(super) result: Result<Value, Fault>,
}

/// Requests at work.
pub(super) struct Handlers {
    started: Instant,
    told: mpsc::UnboundedSender<Told>,
    session: Option<Session>,
    next: u64,
    open: HashMap<u64, (RequestId, CancellationToken)>,
}

/// The services of an open session, and the queue of what runs in order.
struct Session {
    /// Empty until they are made.
    services: Arc<OnceLock<Services>>,
    ordered: mpsc::UnboundedSender<Begun>,
    /// Fires when nothing may begin any more.
    over: CancellationToken,
}

/// A request that waits for its turn.
struct Begun {
    serial: u64,
    id: RequestId,
    request: Request,
    cancel: CancellationToken,
}

impl Handlers {
    pub(super) fn new(started: Instant, told: mpsc::UnboundedSender<Told>) -> Self {
        Self { started, told, session: None, next: 0, open: HashMap::new() }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.session.is_some()
    }

    /// How many requests are at work.
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// The tasks; none while nothing can have begun.
    pub(super) fn runtime(&self) -> Option<Runtime> {
        let session = self.session.as_ref()?;
        session.services.get().map(|services| services.runtime.clone())
    }

    /// Opens the session. Services are made and requests run on the workers, whatever stops them there.
    pub(super) fn open_with(
        &mut self,
        workers: &Handle,
        compose: impl FnOnce() -> Services + Send + 'static,
        notices: Notices,
        log: Log,
    ) {
        let (ordered, queue) = mpsc::unbounded_channel::<Begun>();
        let told = self.told.clone();
        let (services, over) = (Arc::new(OnceLock::new()), CancellationToken::new());
        let (made, ended) = (Arc::clone(&services), over.clone());
        let composed = workers.spawn_blocking(compose);
        workers.spawn(async move {
            let Ok(services) = composed.await else {
                // A loop that is gone needs no word.
                let _ = told.send(Told::Fault);
                return;
            };
            let services = made.get_or_init(|| services).clone();
            tokio::select! {
                () = work_off(queue, &services, (&notices, &log), &told) => {}
                // What runs in order ends at the next place where it waits; tasks are ended by themselves.
                () = ended.cancelled() => {}
            }
        });
        self.session = Some(Session { services, ordered, over });
    }

    /// Begins a request; gives it back with its result where that is known at once.
    pub(super) fn begin(
        &mut self,
        id: RequestId,
        request: Request,
    ) -> Option<(RequestId, Result<Value, Fault>)> {
        let method = request.method();
        if method == Method::HealthPing {
            let uptime_ms = millis(self.started);
            return Some((id, result(method, &HealthPingResult { ok: True, uptime_ms })));
        }
        let Some(session) = &self.session else {
            return Some((id, Err(Fault::NotInitialized)));
        };
        self.next += 1;
        let serial = self.next;
        let cancel = CancellationToken::new();
        self.open.insert(serial, (id.clone(), cancel.clone()));
        match session.ordered.send(Begun { serial, id, request, cancel }) {
            Ok(()) => None,
            Err(mpsc::error::SendError(Begun { serial, id, .. })) => {
                self.open.remove(&serial);
                Some((id, Err(Fault::Internal(method, "the session is over".to_owned()))))
            }
        }
    }

    /// The request is answered.
    pub(super) fn close(&mut self, serial: u64) {
        self.open.remove(&serial);
    }

    /// Stops the requests of that id, where they can be stopped.
    pub(super) fn cancel(&self, id: &RequestId) {
        for (open, cancel) in self.open.values() {
            if open == id {
                cancel.cancel();
            }
        }
    }

    /// Stops all requests, and begins none any more.
    pub(super) fn cancel_all(&self) {
        if let Some(session) = &self.session {
            session.over.cancel();
        }
        self.open.values().for_each(|(_, cancel)| cancel.cancel());
    }
}

/// Begins requests in the order they came.
async fn work_off(
    mut queue: mpsc::UnboundedReceiver<Begun>,
    services: &Services,
    warned: (&Notices, &Log),
    told: &mpsc::UnboundedSender<Told>,
) {
    while let Some(Begun { serial, id, request, cancel }) = queue.recv().await {
        let method = request.method();
        if is_ordered(method) {
            let work = in_order(services, warned, request);
            let result = guarded(method, work).await;
            if told.send(Told::Finished(Finished { serial, id, result })).is_err() {
                return;
            }
            continue;
        }
        // It starts when its turn comes, so that it sees the settings sent before it.
        let (services, told) = (services.clone(), told.clone());
        tokio::spawn(async move {
            let result = guarded(method, beside(&services, request, &cancel)).await;
            // A session that is over needs no answer.
            let _ = told.send(Told::Finished(Finished { serial, id, result }));
        });
    }
}

/// Whether `$/cancelRequest` ends a request of this method.
pub(super) fn can_be_cancelled(method: &str) -> bool {
    Method::from_name(method).is_some_and(|method| !is_ordered(method))
}

/// A handler's fault ends its request, not the service.
async fn guarded(
    method: Method,
    work: impl Future<Output = Result<Value, Fault>>,
) -> Result<Value, Fault> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        Err(Fault::Internal(method, "a fault of the service; see its log".to_owned()))
    })
}

const fn is_ordered(method: Method) -> bool {
    match method {
        Method::Initialize
        | Method::HealthPing
        | Method::ConfigUpdate
        | Method::TaskCreate
        | Method::TaskCancel
        | Method::TaskList
        | Method::TaskApprove
        | Method::TaskReject
        | Method::EditsReport => true,
        Method::ModelsList
        | Method::ModelsTest
        | Method::JevTest
        | Method::JevPreview
        | Method::DecisionsList
        | Method::DecisionsReplay => false,
    }
}

/// What runs in the order it came.
async fn in_order(
    services: &Services,
    told: (&Notices, &Log),
    request: Request,
) -> Result<Value, Fault> {
    let method = request.method();
    let runtime = &services.runtime;
    match request {
        Request::ConfigUpdate(config) => {
            configure(services, told, &config.into());
            result(method, &Ack::default())
        }
        Request::TaskCreate(input) => {
            let task = runtime
                .create(input.into())
                .await
                .map_err(|error| Fault::Internal(method, error.to_string()))?;
            result(method, &TaskCreateResult { task: (&task).into() })
        }
        Request::TaskCancel(params) => {
            let cancelled = runtime
                .cancel(&params.task_id.0)
                .map_err(|NoSuchTask| Fault::NoTask(params.task_id.0.clone()))?;
            result(method, &TaskCancelResult { cancelled })
        }
        Request::TaskList => {
            let tasks = runtime.list().iter().map(Into::into).collect();
            result(method, &TaskListResult { tasks })
        }
        Request::TaskApprove(params) => {
            let scope = if params.scope.is_task() { Scope::Task } else { Scope::Once };
            let (task, approval) = (params.task_id.0, params.approval_id.0);
            let told = runtime.approve(&task, &approval, scope);
            told.map_err(|error| unanswered(method, error, task, approval))?;
            result(method, &Ack::default())
        }
        Request::TaskReject(params) => {
            let (task, approval) = (params.task_id.0, params.approval_id.0);
            let told = runtime.reject(&task, &approval, params.reason);
            told.map_err(|error| unanswered(method, error, task, approval))?;
            result(method, &Ack::default())
        }
        Request::EditsReport(params) => {
            let (task, proposal) = (params.task_id.0, params.proposal_id.0);
            let files = params.files.into_iter().map(Into::into).collect();
            let told = runtime.report(&task, &proposal, files);
            told.map_err(|error| unanswered(method, error, task, proposal))?;
            result(method, &Ack::default())
        }
        Request::Initialize(_)
        | Request::HealthPing
        | Request::ModelsList(_)
        | Request::ModelsTest(_)
        | Request::JevTest
        | Request::JevPreview(_)
        | Request::DecisionsList(_)
        | Request::DecisionsReplay(_) => Err(misplaced(method)),
    }
}

/// What runs beside everything else.
async fn beside(
    services: &Services,
    request: Request,
    cancel: &CancellationToken,
) -> Result<Value, Fault> {
    let method = request.method();
    match request {
        Request::ModelsList(params) => {
            let listing = services.models.list(params.discover, cancel).await;
            let list = |models: &[ModelInfo]| models.iter().map(model_info).collect();
            let models = list(&listing.models);
            let discovered = if params.discover { list(&listing.discovered) } else { Vec::new() };
            result(method, &ModelsListResult { models, discovered })
        }
        Request::ModelsTest(params) => {
            let tested = services.models.test(&params.model_id.0, cancel).await;
            result(method, &models_test(tested))
        }
        Request::JevTest => {
            let answer = match services.advisor.jev_test(cancel).await {
                Ok(latency) => JevTestResult { ok: true, latency_ms: Some(latency), error: None },
                Err(failure) => JevTestResult {
                    ok: false,
                    latency_ms: None,
                    error: Some(JevTestError {
                        kind: failure.kind.name().to_owned(),
                        message: failure.message,
                        hint: failure.hint,
                    }),
                },
            };
            result(method, &answer)
        }
        Request::JevPreview(params) => {
            let pack = serde_json::to_value(params.pack).unwrap_or_default();
            let state = services
                .advisor
                .preview(pack.as_str().unwrap_or_default())
                .ok_or_else(|| Fault::Internal(method, "the pack has no state".to_owned()))?;
            raw_result(method, json!({ "state": state }))
        }
        Request::DecisionsList(params) => decisions_list(services, params).await,
        Request::DecisionsReplay(params) => decisions_replay(services, &params.id.0, cancel).await,
        Request::Initialize(_)
        | Request::HealthPing
        | Request::ConfigUpdate(_)
        | Request::TaskCreate(_)
        | Request::TaskCancel(_)
        | Request::TaskList
        | Request::TaskApprove(_)
        | Request::TaskReject(_)
        | Request::EditsReport(_) => Err(misplaced(method)),
    }
}

fn misplaced(method: Method) -> Fault {
    Fault::Internal(method, "the service does not know where to run it".to_owned())
}

/// Replaces all settings. Models go first, since they forget secrets for everyone.
fn configure(services: &Services, (notices, log): (&Notices, &Log), settings: &Settings) {
    services.models.configure(settings);
    services.advisor.configure(settings, services.models.secrets());
    for warning in services.runtime.configure(settings) {
        notices.warn(warning);
    }
    let roles = &settings.roles;
    for (role, id) in
        [("cheap", &roles.cheap), ("strong", &roles.strong), ("reviewer", &roles.reviewer)]
    {
        if let Some(id) = id
            && !settings.models.iter().any(|model| model.id == *id)
        {
            log.say(Level::Warn, &format!("the role `{role}` names no configured model: `{id}`"));
        }
    }
}

fn unanswered(method: Method, error: AnswerError, task: String, approval: String) -> Fault {
    match error {
        AnswerError::NoTask => Fault::NoTask(task),
        AnswerError::NoApproval => Fault::NoApproval(approval),
        AnswerError::ForeignPath(path) => {
            let path: String = path.chars().take(200).collect();
            Fault::Params(
                method,
                Problems::of(format!("files: `{path}` is no file of the proposal")),
            )
        }
    }
}

fn model_info(info: &ModelInfo) -> types::ModelInfo {
    types::ModelInfo {
        id: Id::fit(&info.id),
        provider: info.provider.into(),
        model: if info.model.is_empty() { "-".to_owned() } else { info.model.clone() },
        role: info.role.map(Into::into),
        capabilities: ModelCapabilities {
            streaming: info.capabilities.streaming,
            tool_calls: info.capabilities.tool_calls,
            context_tokens: info.capabilities.context_tokens.max(1),
            max_output_tokens: info.capabilities.max_output_tokens.filter(|tokens| *tokens > 0),
            vision: info.capabilities.vision,
        },
        healthy: info.healthy,
        locality: Some(info.locality.into()),
    }
}

fn models_test(tested: Result<u64, ModelError>) -> ModelsTestResult {
    match tested {
        Ok(latency) => ModelsTestResult { ok: true, latency_ms: Some(latency), error: None },
        Err(error) => ModelsTestResult {
            ok: false,
            latency_ms: None,
            error: Some(ModelsTestError {
                kind: ModelErrorKind::of(error.kind.name()),
                message: error.message,
                hint: error.hint.or_else(|| error.kind.hint().map(str::to_owned)),
            }),
        },
    }
}

async fn decisions_list(services: &Services, params: DecisionsListParams) -> Result<Value, Fault> {
    let method = Method::DecisionsList;
    let query = params.into_query().map_err(|problems| Fault::Params(method, problems))?;
    let (records, has_more) = services.records.list(&query).await;
    let next_cursor = records.last().filter(|_| has_more).map(|record| write_cursor(&record.id));
    let decisions = records.iter().map(Into::into).collect();
    result(method, &DecisionsListResult { decisions, next_cursor })
}

async fn decisions_replay(
    services: &Services,
    id: &str,
    cancel: &CancellationToken,
) -> Result<Value, Fault> {
    let method = Method::DecisionsReplay;
    let refuse = |line: String| Fault::Params(method, Problems::of(line));
    let aborted = || Fault::Internal(method, "cancelled".to_owned());
    let replayed = async {
        let record = services.records.find(id).await.ok_or_else(|| {
            refuse(format!("id: no decision `{id}`; the log keeps the latest ones only"))
        })?;
        services.guard.replay(record, cancel).await.map_err(|error| match error {
            ReplayError::NotReplayable(why) => refuse(format!("id: {why}")),
            ReplayError::Cancelled => aborted(),
        })
    };
    let replay = tokio::select! {
        replay = replayed => replay?,
        () = cancel.cancelled() => return Err(aborted()),
    };
    result(method, &replay_result(&replay))
}

fn replay_result(replay: &Replay) -> DecisionsReplayResult {
    DecisionsReplayResult {
        record: (&replay.record).into(),
        rules: engine_run(&replay.rules),
        jev: replay.jev.as_ref().map(engine_run),
        jev_error: replay.jev_error.clone(),
        differs: replay.differs,
        as_recorded: replay.as_recorded.as_ref().map(engine_run),
        changes: replay.changes.clone(),
    }
}

fn engine_run(run: &EngineRun) -> types::EngineRun {
    types::EngineRun {
        engine: run.engine.into(),
        result: (&run.answer).into(),
        policy_outcome: run.outcome.map(Into::into),
        latency_ms: run.latency_ms,
    }
}

/// Milliseconds since then.
fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
