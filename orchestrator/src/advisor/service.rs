//! The configured service: asked over HTTP with a time limit, left alone for a while after a failure.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use url::Url;

use super::pack::{self, Question, QuestionKind};
use super::state::State;
use crate::task::decision::{Answer, Noul};
use crate::task::input::Workflow;
use crate::task::port::SharedSecrets;

/// Bytes of an answer that are read.
const LARGEST_ANSWER: usize = 64 << 10;

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The limit of one question.
    pub question: Duration,
    /// How long a service that failed is left alone.
    pub rest: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self { question: Duration::from_millis(1500), rest: Duration::from_secs(30) }
    }
}

/// One question to a service.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// What it is about.
    pub state: &'a State,
    /// The question; it belongs to the state's pack.
    pub question: Question,
    /// For a choice, what may be chosen; otherwise empty.
    pub options: &'a [Workflow],
}

/// Something that answers questions, other than the rules.
#[async_trait]
pub trait Engine: Send + Sync {
    /// An answer of the asked kind.
    ///
    /// # Errors
    ///
    /// Why there is none; the message holds no secret.
    async fn ask(&self, ask: Ask<'_>) -> Result<Answer, EngineFailure>;
}

/// Why a service gave no usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFailure {
    /// The kind.
    pub kind: FailureKind,
    /// What happened; holds no secret.
    pub message: String,
}

impl EngineFailure {
    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// Why a test of the service failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFailure {
    /// The kind.
    pub kind: FailureKind,
    /// What happened; holds no secret.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for TestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TestFailure {}

/// The kind of a service's failure, in the words of models' failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The key is missing or refused.
    Auth,
    /// Too many requests.
    RateLimit,
    /// It is not configured, or it does not understand the request.
    BadRequest,
    /// It is at fault.
    Server,
    /// The connection is.
    Network,
    /// It took too long.
    Timeout,
    /// We stopped it.
    Cancelled,
    /// Its answer is none.
    Unknown,
}

impl FailureKind {
    /// Its word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::BadRequest => "bad_request",
            Self::Server => "server",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// What a person can do about it.
    pub(super) const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Auth => Some("set the key that `jev.apiKey` names"),
            Self::RateLimit => Some("wait a while"),
            Self::BadRequest => Some("check `jev.endpoint`"),
            Self::Server | Self::Unknown => Some("check the service's own log"),
            Self::Network => Some("check that the service runs and `jev.endpoint` names it"),
            Self::Timeout => Some("the service must answer within 1.5 s"),
            Self::Cancelled => None,
        }
    }
}

/// The service behind an endpoint.
pub struct Endpoint {
    url: Url,
    key: Option<String>,
    secrets: SharedSecrets,
    client: reqwest::Client,
}

impl Endpoint {
    /// A client for one endpoint. It follows no redirect and uses no proxy, so that no other host is
    /// contacted. `key` is the reference of its secret.
    ///
    /// # Errors
    ///
    /// When the endpoint is no http or https address.
    pub fn new(
        endpoint: &str,
        key: Option<String>,
        secrets: SharedSecrets,
    ) -> Result<Self, EngineFailure> {
        let bad = |why: String| EngineFailure::new(FailureKind::BadRequest, why);
        let url = Url::parse(endpoint.trim())
            .map_err(|error| bad(format!("the endpoint is no address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(bad("the endpoint is no http or https address".into()));
        }
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| bad(format!("no HTTP client: {error}")))?;
        Ok(Self { url, key, secrets, client })
    }

    async fn bearer(&self) -> Result<Option<HeaderValue>, EngineFailure> {
        let Some(reference) = &self.key else { return Ok(None) };
        let auth = |why: String| EngineFailure::new(FailureKind::Auth, why);
        let name = reference.strip_prefix("secret:").unwrap_or(reference);
        let value = self
            .secrets
            .get(reference)
            .await
            .map_err(|error| auth(format!("the key `{name}` cannot be had: {error}")))?
            .filter(|value| !value.is_empty())
            .ok_or_else(|| auth(format!("the key `{name}` is not set")))?;
        let mut header = HeaderValue::from_str(&format!("Bearer {value}"))
            .map_err(|_| auth(format!("the key `{name}` cannot stand in a header")))?;
        header.set_sensitive(true);
        Ok(Some(header))
    }
}

#[async_trait]
impl Engine for Endpoint {
    async fn ask(&self, ask: Ask<'_>) -> Result<Answer, EngineFailure> {
        let mut request = self.client.post(self.url.clone()).json(&body(ask));
        if let Some(header) = self.bearer().await? {
            request = request.header(AUTHORIZATION, header);
        }
        let mut response = request.send().await.map_err(network)?;
        let status = response.status();
        if !status.is_success() {
            let kind = match status.as_u16() {
                401 | 403 => FailureKind::Auth,
                429 => FailureKind::RateLimit,
                408 | 504 => FailureKind::Timeout,
                code if code < 500 => FailureKind::BadRequest,
                _ => FailureKind::Server,
            };
            return Err(EngineFailure::new(kind, format!("the service answered HTTP {status}")));
        }
        let mut bytes: Vec<u8> = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(network)? {
            if bytes.len() + chunk.len() > LARGEST_ANSWER {
                return Err(EngineFailure::new(FailureKind::Unknown, "the answer is too large"));
            }
            bytes.extend_from_slice(&chunk);
        }
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|_| EngineFailure::new(FailureKind::Unknown, "the answer is no JSON"))?;
        read_answer(&value, ask.question, ask.options).ok_or_else(|| {
            EngineFailure::new(FailureKind::Unknown, "the answer is not of the asked kind")
        })
    }
}

fn network(error: reqwest::Error) -> EngineFailure {
    // The text of the error may hold the address with a password in it; it is left out.
    let error = error.without_url();
    if error.is_timeout() {
        EngineFailure::new(FailureKind::Timeout, "the service took too long")
    } else {
        EngineFailure::new(FailureKind::Network, format!("the service cannot be reached: {error}"))
    }
}

/// What is sent.
fn body(ask: Ask<'_>) -> Value {
    let mut body = Map::new();
    body.insert("pack".into(), ask.question.pack().name().into());
    body.insert("question".into(), ask.question.name().into());
    body.insert("type".into(), ask.question.kind().name().into());
    body.insert("text".into(), ask.question.text().into());
    if ask.question.kind() == QuestionKind::Choice {
        let options: Vec<&str> = ask.options.iter().map(|own| pack::workflow_word(*own)).collect();
        body.insert("options".into(), json!(options));
    }
    body.insert("state".into(), Value::Object(ask.state.to_map()));
    Value::Object(body)
}

/// Reads an answer of the asked kind. Further keys are left alone; a probability out of 0 to 1, a
/// choice that was not offered, or another kind is none.
pub fn read_answer(value: &Value, question: Question, options: &[Workflow]) -> Option<Answer> {
    let object = value.as_object()?;
    if object.get("kind")?.as_str()? != question.kind().name() {
        return None;
    }
    let probability = |value: &Value| value.as_f64().filter(|own| (0.0..=1.0).contains(own));
    match question.kind() {
        QuestionKind::Choice => {
            let selected = object.get("selected")?.as_str()?;
            let chosen = pack::workflow_of(selected)?;
            if !options.contains(&chosen) {
                return None;
            }
            let probs = object
                .get("probs")?
                .as_object()?
                .iter()
                .map(|(name, value)| Some((name.clone(), probability(value)?)))
                .collect::<Option<Vec<_>>>()?;
            Some(Answer::Choice { selected: selected.to_owned(), probs })
        }
        QuestionKind::Score => {
            let number = object.get("score")?.as_f64().filter(|own| own.fract() == 0.0)?;
            let score = (0..=4_u8).find(|own| (f64::from(*own) - number).abs() < f64::EPSILON)?;
            let probs = match object.get("probs") {
                None => None,
                Some(list) => {
                    let list: Vec<f64> =
                        list.as_array()?.iter().map(probability).collect::<Option<_>>()?;
                    Some(<[f64; 5]>::try_from(list).ok()?)
                }
            };
            Some(Answer::Score { score, probs })
        }
        QuestionKind::Noul => {
            let answer = match object.get("answer")?.as_str()? {
                "yes" => Noul::Yes,
                "no" => Noul::No,
                "unknown" => Noul::Unknown,
                _ => return None,
            };
            Some(Answer::Noul { answer, p_yes: probability(object.get("pYes")?)? })
        }
    }
}

/// A service with a memory of its last failure.
pub(super) struct Watched {
    engine: Arc<dyn Engine>,
    timing: Timing,
    rests_until: Mutex<Option<Instant>>,
}

/// Why the rules answered in a service's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fallback {
    /// It took too long.
    Timeout,
    /// It failed, or its answer was none.
    Error,
    /// It was left alone after a failure, or there is none where one is configured.
    Unavailable,
}

impl Fallback {
    /// Its word in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "jev_timeout",
            Self::Error => "jev_error",
            Self::Unavailable => "jev_unavailable",
        }
    }
}

impl Watched {
    pub(super) fn new(engine: Arc<dyn Engine>, timing: Timing) -> Self {
        Self { engine, timing, rests_until: Mutex::new(None) }
    }

    /// An answer within the time limit; the failure is remembered. With `always` the service is
    /// asked even while it is left alone.
    pub(super) async fn ask(
        &self,
        ask: Ask<'_>,
        always: bool,
    ) -> Result<Answer, (Fallback, EngineFailure)> {
        if !always && self.is_resting() {
            let why = EngineFailure::new(FailureKind::Server, "the service failed a moment ago");
            return Err((Fallback::Unavailable, why));
        }
        let answer = tokio::time::timeout(self.timing.question, self.engine.ask(ask)).await;
        let result = match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(failure)) if failure.kind == FailureKind::Timeout => {
                Err((Fallback::Timeout, failure))
            }
            Ok(Err(failure)) => Err((Fallback::Error, failure)),
            Err(_) => Err((
                Fallback::Timeout,
                EngineFailure::new(FailureKind::Timeout, "the service took too long"),
            )),
        };
        let until = result.is_err().then(|| Instant::now() + self.timing.rest);
        *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
        result
    }

    fn is_resting(&self) -> bool {
        let until = *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }
}
