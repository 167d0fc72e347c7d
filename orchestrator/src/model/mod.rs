//! Takes a request: system text, history, tools; the provider's settings and its secret.
//! Gives one stream of events, whoever answers; failures are events.
//! May import task.
//! Never runs a tool, judges a call, or contacts a host that is not configured or loopback.

mod anthropic;
mod catalog;
mod client;
pub mod http;
mod lines;
pub mod ndjson;
mod ollama;
mod openai;
pub mod redact;
pub mod registry;
pub mod scripted;
pub mod secret;
pub mod sse;
pub mod text_tools;
mod turn;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::task::call::{RawCall, ToolSpec};
use crate::task::settings::{
    Capabilities, Locality, ModelSettings, Provider, ReasoningLevel, Role,
};

pub use http::Limits;
pub use registry::Models;

/// What a model is asked.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The system prompt.
    pub system: String,
    /// The history, oldest first.
    pub messages: Vec<Message>,
    /// Tools on offer, in order; may be empty.
    pub tools: Vec<ToolSpec>,
    /// At most this many output tokens.
    pub max_output_tokens: Option<u64>,
    /// Overrides the configured level.
    pub reasoning: Option<ReasoningLevel>,
}

/// One entry of a history.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From the person, or from us in the person's place.
    User {
        /// The text.
        text: String,
    },
    /// From the model.
    Assistant {
        /// Its text; may be empty.
        text: String,
        /// Its calls, in its order.
        calls: Vec<RawCall>,
        /// What goes back only to the model that made it.
        state: Option<ProviderState>,
    },
    /// What came of a call.
    Tool {
        /// The call's id.
        call: String,
        /// The tool's name.
        name: String,
        /// The text.
        text: String,
        /// Whether it failed.
        failed: bool,
    },
}

/// Something opaque that belongs to one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderState {
    /// The configured id of the model that made it.
    pub model: String,
    /// The provider's own data.
    pub data: Value,
}

/// A piece of an answer. After `Done` or `Failed` nothing follows.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Text, not empty.
    Text(String),
    /// Visible reasoning, not empty.
    Reasoning(String),
    /// A whole call; calls follow all text.
    Call(RawCall),
    /// At most once.
    State(ProviderState),
    /// At most once.
    Usage(TokenUsage),
    /// The end.
    Done(StopReason),
    /// The end, too early.
    Failed(ModelError),
}

/// Tokens of one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Sent, cached ones included.
    pub input: u64,
    /// Received.
    pub output: u64,
    /// Read from the provider's cache, part of `input`.
    pub cache_read: u64,
    /// Written to the provider's cache, part of `input`.
    pub cache_write: u64,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It had said everything.
    End,
    /// It waits for its calls.
    ToolCalls,
    /// The output limit.
    MaxTokens,
    /// Anything else.
    Other,
}

/// Why a model gave no whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// The kind.
    pub kind: ModelErrorKind,
    /// What happened, secrets redacted.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// Milliseconds the provider asks to wait.
    pub retry_after_ms: Option<u64>,
}

impl ModelError {
    /// An error of that kind with the kind's own hint.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: kind.hint().map(str::to_owned),
            status: None,
            retry_after_ms: None,
        }
    }

    /// The same with another hint.
    #[must_use]
    pub fn advise(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// We stopped it.
    pub fn cancelled() -> Self {
        Self::new(ModelErrorKind::Cancelled, "the request was cancelled")
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for ModelError {}

/// The kind of a model's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelErrorKind {
    /// The key is missing or refused.
    Auth,
    /// Too many requests.
    RateLimit,
    /// Too much text.
    ContextLength,
    /// The provider does not understand the request, or the settings name nothing.
    BadRequest,
    /// The provider is at fault.
    Server,
    /// The connection is.
    Network,
    /// It took too long.
    Timeout,
    /// We stopped it.
    Cancelled,
    /// Anything else.
    Unknown,
}

impl ModelErrorKind {
    /// Its word, as it stands in failure reasons.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::ContextLength => "context_length",
            Self::BadRequest => "bad_request",
            Self::Server => "server",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// The kind of that word.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Auth,
            Self::RateLimit,
            Self::ContextLength,
            Self::BadRequest,
            Self::Server,
            Self::Network,
            Self::Timeout,
            Self::Cancelled,
            Self::Unknown,
        ]
        .into_iter()
        .find(|kind| kind.name() == name)
    }

    /// What to do about it where nothing better is known.
    pub const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Auth => Some("check the API key that is stored for this model"),
            Self::RateLimit => Some("wait a little, or switch to another model"),
            Self::ContextLength => Some("attach less context, or use a model with a larger window"),
            Self::Network => Some("check the base URL and that the server is running"),
            Self::Timeout => Some("try again, or use a faster model"),
            Self::BadRequest | Self::Server | Self::Cancelled | Self::Unknown => None,
        }
    }

    /// Whether trying again may help.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::RateLimit | Self::Server | Self::Network | Self::Timeout)
    }
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from a cache.
    pub cache_read: f64,
    /// Input written to a cache.
    pub cache_write: f64,
}

impl Price {
    /// US dollars of that usage; cached input has its own prices.
    pub fn cost(&self, usage: TokenUsage) -> f64 {
        let plain = usage.input.saturating_sub(usage.cache_read.saturating_add(usage.cache_write));
        (plain as f64 * self.input
            + usage.cache_read as f64 * self.cache_read
            + usage.cache_write as f64 * self.cache_write
            + usage.output as f64 * self.output)
            / 1e6
    }
}

/// What a list of models shows of one.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// Its id, 1 to 128 characters.
    pub id: String,
    /// Who speaks for it.
    pub provider: Provider,
    /// The provider's name for it.
    pub model: String,
    /// The first of cheap, strong, reviewer that points at it.
    pub role: Option<Role>,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Whether it can be asked: it was understood, answered about itself, and did not fail its test.
    pub healthy: bool,
    /// Where it runs.
    pub locality: Locality,
}

/// Models that are configured, and models that were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// One per configured model, in the person's order.
    pub models: Vec<ModelInfo>,
    /// Models of configured and loopback servers that are not configured; no repetition.
    pub discovered: Vec<ModelInfo>,
}

/// Where models come from.
pub trait ModelSource: Send + Sync {
    /// The model that does that job.
    ///
    /// # Errors
    ///
    /// `bad_request` with the setting to change when none does.
    fn by_role(&self, role: Role) -> Result<Arc<dyn ChatModel>, ModelError>;

    /// The model of that id.
    fn get(&self, id: &str) -> Option<Arc<dyn ChatModel>>;

    /// All models in the person's order.
    fn all(&self) -> Vec<Arc<dyn ChatModel>>;
}

/// One configured model.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Its settings.
    fn settings(&self) -> &ModelSettings;

    /// Where it runs.
    fn locality(&self) -> Locality;

    /// What it costs, where that is known.
    fn price(&self) -> Option<Price>;

    /// What it can do: probed, then overridden by what the person declared.
    async fn capabilities(&self, cancel: &CancellationToken) -> Result<Capabilities, ModelError>;

    /// Asks it. The stream ends with exactly one `Done` or `Failed`; dropping it stops the request.
    fn stream(&self, request: Request, cancel: CancellationToken) -> mpsc::Receiver<Piece>;
}
