//! From a method's name and its params to a checked request, in the order of checks of the protocol.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::reply::Fault;
use crate::protocol::desiide::check::{Payload, Problems, check};
use crate::protocol::desiide::convert::{decode, encode};
use crate::protocol::desiide::types::{
    DecisionsListParams, DecisionsReplayParams, DesiideConfig, EditsReportParams, Empty,
    InitializeParams, InitializeResult, JevPreviewParams, Method, ModelsListParams,
    ModelsTestParams, PROTOCOL_VERSION, SERVER_NAME, SemVer, ServerInfo, TaskApproveParams,
    TaskCancelParams, TaskInput, TaskRejectParams,
};

/// A request whose params were checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `initialize`
    Initialize(InitializeParams),
    /// `health.ping`
    HealthPing,
    /// `config.update`
    ConfigUpdate(DesiideConfig),
    /// `task.create`
    TaskCreate(TaskInput),
    /// `task.cancel`
    TaskCancel(TaskCancelParams),
    /// `task.list`
    TaskList,
    /// `task.approve`
    TaskApprove(TaskApproveParams),
    /// `task.reject`
    TaskReject(TaskRejectParams),
    /// `edits.report`
    EditsReport(EditsReportParams),
    /// `models.list`
    ModelsList(ModelsListParams),
    /// `models.test`
    ModelsTest(ModelsTestParams),
    /// `jev.test`
    JevTest,
    /// `jev.preview`
    JevPreview(JevPreviewParams),
    /// `decisions.list`
    DecisionsList(DecisionsListParams),
    /// `decisions.replay`
    DecisionsReplay(DecisionsReplayParams),
}

impl Request {
    /// Its method.
    pub const fn method(&self) -> Method {
        match self {
            Self::Initialize(_) => Method::Initialize,
            Self::HealthPing => Method::HealthPing,
            Self::ConfigUpdate(_) => Method::ConfigUpdate,
            Self::TaskCreate(_) => Method::TaskCreate,
            Self::TaskCancel(_) => Method::TaskCancel,
            Self::TaskList => Method::TaskList,
            Self::TaskApprove(_) => Method::TaskApprove,
            Self::TaskReject(_) => Method::TaskReject,
            Self::EditsReport(_) => Method::EditsReport,
            Self::ModelsList(_) => Method::ModelsList,
            Self::ModelsTest(_) => Method::ModelsTest,
            Self::JevTest => Method::JevTest,
            Self::JevPreview(_) => Method::JevPreview,
            Self::DecisionsList(_) => Method::DecisionsList,
            Self::DecisionsReplay(_) => Method::DecisionsReplay,
        }
    }
}

/// Reads a request. The checks come in this order: the session is open (or this is `initialize`), the
/// method is known, the params fit.
///
/// # Errors
///
/// The first check that failed.
pub fn read(method: &str, params: Option<Value>, is_open: bool) -> Result<Request, Fault> {
    let known = Method::from_name(method);
    if !is_open && known != Some(Method::Initialize) {
        return Err(Fault::NotInitialized);
    }
    let method = known.ok_or_else(|| Fault::UnknownMethod(method.to_owned()))?;
    Ok(match method {
        Method::Initialize => Request::Initialize(typed(method, params)?),
        Method::HealthPing => empty(method, params, Request::HealthPing)?,
        Method::ConfigUpdate => Request::ConfigUpdate(typed(method, params)?),
        Method::TaskCreate => Request::TaskCreate(typed(method, params)?),
        Method::TaskCancel => Request::TaskCancel(typed(method, params)?),
        Method::TaskList => empty(method, params, Request::TaskList)?,
        Method::TaskApprove => Request::TaskApprove(typed(method, params)?),
        Method::TaskReject => Request::TaskReject(typed(method, params)?),
        Method::EditsReport => Request::EditsReport(typed(method, params)?),
        Method::ModelsList => Request::ModelsList(typed(method, params)?),
        Method::ModelsTest => Request::ModelsTest(typed(method, params)?),
        Method::JevTest => empty(method, params, Request::JevTest)?,
        Method::JevPreview => Request::JevPreview(typed(method, params)?),
        Method::DecisionsList => Request::DecisionsList(typed(method, params)?),
        Method::DecisionsReplay => Request::DecisionsReplay(typed(method, params)?),
    })
}

fn typed<T: DeserializeOwned>(method: Method, params: Option<Value>) -> Result<T, Fault> {
    decode(params, Payload::Params(method)).map_err(|problems| Fault::Params(method, problems))
}

fn empty(method: Method, params: Option<Value>, request: Request) -> Result<Request, Fault> {
    typed::<Empty>(method, params).map(|Empty {}| request)
}

/// The answer to a first `initialize`.
///
/// # Errors
///
/// When the client speaks another major version.
pub fn initialize(params: &InitializeParams) -> Result<Value, Fault> {
    let theirs = &params.protocol_version.0;
    if major(theirs) != major(PROTOCOL_VERSION) {
        return Err(Fault::OtherVersion(theirs.chars().take(100).collect()));
    }
    result(
        Method::Initialize,
        &InitializeResult {
            protocol_version: SemVer(PROTOCOL_VERSION.to_owned()),
            server: ServerInfo {
                name: SERVER_NAME.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
        },
    )
}

/// The major number without leading zeros, as text, since it may be longer than any integer.
fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or_default().trim_start_matches('0')
}

/// A result as JSON, checked.
///
/// # Errors
///
/// When it does not fit its schema.
pub fn result<T: serde::Serialize>(method: Method, result: &T) -> Result<Value, Fault> {
    let (value, checked) = encode(result, Payload::Result(method));
    checked.map(|()| value).map_err(|problems| ill_formed(method, &problems))
}

/// A result that is JSON already, checked.
///
/// # Errors
///
/// When it does not fit its schema.
pub fn raw_result(method: Method, mut value: Value) -> Result<Value, Fault> {
    check(Payload::Result(method), &mut value)
        .map(|()| value)
        .map_err(|problems| ill_formed(method, &problems))
}

fn ill_formed(method: Method, problems: &Problems) -> Fault {
    Fault::Internal(method, format!("its result does not fit: {problems}"))
}
