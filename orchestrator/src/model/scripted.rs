//! A model that says what a script says: for demonstrations and tests.
//!
//! A script is JSON: one object, or one turn per line (JSONL), or an array of turns.
//!
//! ```json
//! {"plays": [{"match": "fix the test", "turns": [
//!     {"reasoning": "Let me look.", "text": ["I read ", "the file."],
//!      "calls": [{"name": "read_file", "args": {"path": "a.rs"}}],
//!      "usage": {"input": 120, "output": 8}, "delay_ms": 50, "gap_ms": 10},
//!     {"error": {"kind": "server", "message": "overloaded"}},
//!     {"text": "Done."}]}]}
//! ```
//!
//! - `{"turns": [...]}` is one play without `match`. The first play whose `match` occurs in the system
//!   prompt or in the first user message is played; a play without `match` always is.
//! - The turn is found by the history: its number is the number of answers in it, plus the number of
//!   errors this conversation has been given since its first turn. So many tasks share one script.
//! - `text` and `reasoning` are a string or an array of pieces. `args` is an object, or a string that is
//!   passed on as it is. A call without `id` gets `call_<turn>_<n>`. `stop` is `end`, `tool_calls`,
//!   `max_tokens` or `other`; left out, it follows from the calls. `hang` never ends.
//! - `"repeat": true` in a play begins again after its last turn; else a last turn says that the script
//!   is over.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    ChatModel, Message, ModelError, ModelErrorKind, ModelSource, Piece, Price, Request, StopReason,
    TokenUsage,
};
use crate::task::call::RawCall;
use crate::task::settings::{
    Capabilities, DeclaredCapabilities, Locality, ModelSettings, Provider, Role,
};

/// Why a text is no script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError(String);

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the script cannot be read: {}", self.0)
    }
}

impl std::error::Error for ScriptError {}

/// A script as it is written; the format is told at the head of this file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Plays, tried in order.
    #[serde(default)]
    pub plays: Vec<Play>,
    /// Turns of a play without `match`, tried last.
    #[serde(default)]
    pub turns: Vec<ScriptedTurn>,
    /// Whether that play begins again.
    #[serde(default)]
    pub repeat: bool,
}

/// What is said in conversations of one kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// Occurs in the system prompt or the first user message; empty always does.
    #[serde(default, rename = "match")]
    pub pattern: String,
    /// Turns in order.
    pub turns: Vec<ScriptedTurn>,
    /// Whether the play begins again after its last turn.
    #[serde(default)]
    pub repeat: bool,
}

/// One answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedTurn {
    /// Reasoning, before the text.
    pub reasoning: Pieces,
    /// Text.
    pub text: Pieces,
    /// Calls.
    pub calls: Vec<ScriptedCall>,
    /// Tokens.
    pub usage: Option<ScriptedUsage>,
    /// Milliseconds before the first piece.
    pub delay_ms: u64,
    /// Milliseconds between pieces.
    pub gap_ms: u64,
    /// Why it stops.
    pub stop: Option<ScriptedStop>,
    /// Ends with this error instead.
    pub error: Option<ScriptedError>,
    /// Never ends.
    pub hang: bool,
}

/// Text in one piece or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Pieces {
    /// One piece.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Default for Pieces {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Pieces {
    fn list(&self) -> Vec<String> {
        let pieces = match self {
            Self::One(piece) => vec![piece.clone()],
            Self::Many(pieces) => pieces.clone(),
        };
        pieces.into_iter().filter(|piece| !piece.is_empty()).collect()
    }
}

/// A call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// Its id.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// Its arguments; a string is passed on as it is.
    #[serde(default)]
    pub args: Value,
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedUsage {
    /// Sent, cached ones included.
    pub input: u64,
    /// Received.
    pub output: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Written to a cache.
    pub cache_write: u64,
}

/// Why a turn stops.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedStop {
    /// It had said everything.
    End,
    /// It waits for its calls.
    ToolCalls,
    /// The output limit.
    MaxTokens,
    /// Anything else.
    Other,
}

/// An error.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedError {
    /// The word of its kind.
    pub kind: String,
    /// What happened.
    #[serde(default)]
    pub message: String,
    /// What to do about it; the kind's own hint if left out.
    pub hint: Option<String>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// Milliseconds to wait.
    pub retry_after_ms: Option<u64>,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    ///
    /// When it is neither an object, an array of turns, nor one turn per line; or an error in it has an
    /// unknown kind.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let fail = |error: serde_json::Error| ScriptError(error.to_string());
        let script = match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(turns)) => Self {
                turns: serde_json::from_value(Value::Array(turns)).map_err(fail)?,
                ..Self::default()
            },
            Ok(value) if value.get("plays").is_none() && value.get("turns").is_none() => Self {
                turns: vec![serde_json::from_value(value).map_err(fail)?],
                ..Self::default()
            },
            Ok(value) => serde_json::from_value(value).map_err(fail)?,
            Err(whole) => match lines(text) {
                Some(turns) => Self { turns: turns.map_err(fail)?, ..Self::default() },
                None => return Err(fail(whole)),
            },
        };
        let turns = script.plays.iter().flat_map(|play| &play.turns).chain(&script.turns);
        for error in turns.filter_map(|turn| turn.error.as_ref()) {
            if ModelErrorKind::from_name(&error.kind).is_none() {
                return Err(ScriptError(format!("unknown kind of error `{}`", error.kind)));
            }
        }
        Ok(script)
    }
}

/// One turn per line; none if the text has only one line.
fn lines(text: &str) -> Option<Result<Vec<ScriptedTurn>, serde_json::Error>> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    (lines.len() > 1).then(|| lines.into_iter().map(serde_json::from_str).collect())
}

/// How far a conversation has come.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    errors: usize,
    was_error: bool,
}

/// A model that plays a script. Clones share where they stand.
#[derive(Clone)]
pub struct Scripted {
    settings: ModelSettings,
    locality: Locality,
    price: Option<Price>,
    capabilities: Capabilities,
    script: Arc<Script>,
    progress: Arc<Mutex<HashMap<String, Progress>>>,
}

impl Scripted {
    /// A local model without a price that plays the script under that id.
    pub fn new(id: &str, script: Script) -> Self {
        Self {
            settings: ModelSettings {
                id: id.to_owned(),
                provider: Provider::OpenaiCompatible,
                model: "scripted".to_owned(),
                base_url: None,
                api_key: None,
                cost_per_mtok: None,
                declared: DeclaredCapabilities::default(),
                locality: Some(Locality::Local),
                stream_usage: None,
                max_tokens_field: None,
                reasoning: None,
            },
            locality: Locality::Local,
            price: None,
            capabilities: Capabilities {
                streaming: true,
                tool_calls: true,
                context_tokens: 128_000,
                max_output_tokens: None,
                vision: false,
            },
            script: Arc::new(script),
            progress: Arc::default(),
        }
    }

    /// The same, said to run there.
    #[must_use]
    pub fn at(mut self, locality: Locality) -> Self {
        self.settings.locality = Some(locality);
        self.locality = locality;
        self
    }

    /// The same with a price.
    #[must_use]
    pub fn priced(mut self, price: Price) -> Self {
        self.settings.cost_per_mtok = Some((price.input, price.output));
        self.price = Some(price);
        self
    }

    /// The same with other capabilities.
    #[must_use]
    pub fn able(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// The turn that is due and its number in the play.
    fn turn(&self, request: &Request) -> (ScriptedTurn, usize) {
        let first = request.messages.iter().find_map(|message| match message {
            Message::User { text } => Some(text.as_str()),
            _ => None,
        });
        let first = first.unwrap_or_default();
        let answers = request
            .messages
            .iter()
            .filter(|message| matches!(message, Message::Assistant { .. }))
            .count();
        let is_due =
            |play: &&Play| request.system.contains(&play.pattern) || first.contains(&play.pattern);
        let (turns, repeat) = self
            .script
            .plays
            .iter()
            .find(is_due)
            .map_or((&self.script.turns, self.script.repeat), |play| (&play.turns, play.repeat));
        let key = format!("{}\u{0}{first}", request.system);
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let progress = progress.entry(key).or_default();
        if answers == 0 && !progress.was_error {
            progress.errors = 0;
        }
        let number = answers.saturating_add(progress.errors);
        let index = if repeat { number.checked_rem(turns.len()).unwrap_or(0) } else { number };
        let turn = turns.get(index).cloned().unwrap_or_else(|| ScriptedTurn {
            text: Pieces::One("The script is over.".to_owned()),
            ..ScriptedTurn::default()
        });
        progress.was_error = turn.error.is_some();
        progress.errors = progress.errors.saturating_add(usize::from(turn.error.is_some()));
        (turn, number)
    }
}

#[async_trait]
impl ChatModel for Scripted {
    fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    fn locality(&self) -> Locality {
        self.locality
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    async fn capabilities(&self, _cancel: &CancellationToken) -> Result<Capabilities, ModelError> {
        Ok(self.capabilities)
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> mpsc::Receiver<Piece> {
        let (out, pieces) = mpsc::channel(64);
        let (turn, number) = self.turn(&request);
        tokio::spawn(async move {
            tokio::select! {
                // A turn that is over and a cancel at the same moment: the turn is over.
                biased;
                () = play(&turn, number, &out) => {}
                () = out.closed() => {}
                () = cancel.cancelled() => {
                    let _ = out.send(Piece::Failed(ModelError::cancelled())).await;
                }
            }
        });
        pieces
    }
}

/// Says a turn.
async fn play(turn: &ScriptedTurn, number: usize, out: &mpsc::Sender<Piece>) {
    let gap = Duration::from_millis(turn.gap_ms);
    pause(Duration::from_millis(turn.delay_ms)).await;
    let reasoning = turn.reasoning.list().into_iter().map(Piece::Reasoning);
    let text = turn.text.list().into_iter().map(Piece::Text);
    for piece in reasoning.chain(text) {
        if out.send(piece).await.is_err() {
            return;
        }
        pause(gap).await;
    }
    if turn.hang {
        std::future::pending::<()>().await;
    }
    let usage = turn.usage.map(|usage| {
        Piece::Usage(TokenUsage {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
        })
    });
    let calls = turn.calls.iter().enumerate().map(|(at, call)| {
        let args = match &call.args {
            Value::String(text) => text.clone(),
            Value::Null => "{}".to_owned(),
            value => value.to_string(),
        };
        let id = call.id.clone().unwrap_or_else(|| format!("call_{number}_{at}"));
        Piece::Call(RawCall { id, name: call.name.clone(), args })
    });
    let (calls, end) = match &turn.error {
        Some(error) => (Vec::new(), Piece::Failed(error.error())),
        None => (calls.collect(), Piece::Done(turn.stop_reason())),
    };
    for piece in calls.into_iter().chain(usage).chain([end]) {
        if out.send(piece).await.is_err() {
            return;
        }
    }
}

/// Waits, not at all for nothing.
async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

impl ScriptedTurn {
    fn stop_reason(&self) -> StopReason {
        match self.stop {
            Some(ScriptedStop::End) => StopReason::End,
            Some(ScriptedStop::ToolCalls) => StopReason::ToolCalls,
            Some(ScriptedStop::MaxTokens) => StopReason::MaxTokens,
            Some(ScriptedStop::Other) => StopReason::Other,
            None if self.calls.is_empty() => StopReason::End,
            None => StopReason::ToolCalls,
        }
    }
}

impl ScriptedError {
    fn error(&self) -> ModelError {
        let kind = ModelErrorKind::from_name(&self.kind).unwrap_or(ModelErrorKind::Unknown);
        let mut error = ModelError::new(kind, self.message.clone());
        if self.hint.is_some() {
            error.hint.clone_from(&self.hint);
        }
        error.status = self.status;
        error.retry_after_ms = self.retry_after_ms;
        error
    }
}

/// A source of models that are given, for demonstrations and tests.
#[derive(Clone, Default)]
pub struct Cast {
    models: Vec<Arc<dyn ChatModel>>,
    roles: Vec<(Role, Arc<dyn ChatModel>)>,
}

impl Cast {
    /// One model for every job.
    pub fn one(model: Arc<dyn ChatModel>) -> Self {
        Self { models: vec![model], roles: Vec::new() }
    }

    /// The same with one more model that does this job.
    #[must_use]
    pub fn with(mut self, role: Role, model: Arc<dyn ChatModel>) -> Self {
        self.roles.push((role, Arc::clone(&model)));
        self.models.push(model);
        self
    }
}

impl ModelSource for Cast {
    fn by_role(&self, role: Role) -> Result<Arc<dyn ChatModel>, ModelError> {
        self.roles
            .iter()
            .find(|(job, _)| *job == role)
            .map(|(_, model)| model)
            .or_else(|| self.models.first())
            .cloned()
            .ok_or_else(|| ModelError::new(ModelErrorKind::BadRequest, "no model is given"))
    }

    fn get(&self, id: &str) -> Option<Arc<dyn ChatModel>> {
        self.models.iter().find(|model| model.settings().id == id).cloned()
    }

    fn all(&self) -> Vec<Arc<dyn ChatModel>> {
        self.models.clone()
    }
}
