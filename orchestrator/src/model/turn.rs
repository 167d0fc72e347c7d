//! The one door by which the pieces of an answer leave, so that their order holds by construction.

use serde_json::Value;
use tokio::sync::mpsc;

use super::text_tools::{Part, Splitter};
use super::{ModelError, ModelErrorKind, Piece, ProviderState, StopReason, TokenUsage};
use crate::task::call::RawCall;

/// More calls in one answer than any model makes on purpose.
const MAX_CALLS: usize = 1000;

/// An answer that is under way. Text leaves at once; calls, state and usage wait for the end, of which
/// there is one.
pub(super) struct Turn {
    out: mpsc::Sender<Piece>,
    model: String,
    calls: Vec<RawCall>,
    state: Option<Value>,
    usage: Option<TokenUsage>,
    splitter: Option<Splitter>,
}

impl Turn {
    /// An answer of the model with that id.
    pub(super) fn new(out: mpsc::Sender<Piece>, model: &str) -> Self {
        Self {
            out,
            model: model.to_owned(),
            calls: Vec::new(),
            state: None,
            usage: None,
            splitter: None,
        }
    }

    /// Calls are looked for in the text.
    pub(super) fn read_calls_in_text(&mut self) {
        self.splitter = Some(Splitter::default());
    }

    /// Text; nothing happens for none.
    pub(super) async fn text(&mut self, text: String) -> Result<(), ModelError> {
        let Some(splitter) = &mut self.splitter else {
            self.say(text).await;
            return Ok(());
        };
        let mut parts = Vec::new();
        splitter.push(&text, &mut parts);
        self.take(parts).await
    }

    async fn take(&mut self, parts: Vec<Part>) -> Result<(), ModelError> {
        for part in parts {
            match part {
                Part::Text(text) => self.say(text).await,
                Part::Call(call) => self.call(call)?,
            }
        }
        Ok(())
    }

    async fn say(&self, text: String) {
        if !text.is_empty() {
            // Nobody listens: whoever drives this turn sees it too and drops it.
            let _ = self.out.send(Piece::Text(text)).await;
        }
    }

    /// Visible reasoning; nothing happens for none.
    pub(super) async fn reasoning(&self, text: String) {
        if !text.is_empty() {
            let _ = self.out.send(Piece::Reasoning(text)).await;
        }
    }

    /// A whole call.
    pub(super) fn call(&mut self, call: RawCall) -> Result<(), ModelError> {
        if self.calls.len() >= MAX_CALLS {
            return Err(ModelError::new(
                ModelErrorKind::Server,
                format!("the answer holds more than {MAX_CALLS} tool calls"),
            ));
        }
        self.calls.push(call);
        Ok(())
    }

    /// Whether there was a call.
    pub(super) const fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// What goes back to this model alone.
    pub(super) fn state(&mut self, data: Value) {
        self.state = Some(data);
    }

    /// Tokens so far; the last word counts.
    pub(super) const fn usage(&mut self, usage: TokenUsage) {
        self.usage = Some(usage);
    }

    /// Ends the answer. An answer that failed keeps its usage and nothing else.
    pub(super) async fn end(mut self, mut result: Result<StopReason, ModelError>) {
        if let Some(mut splitter) = self.splitter.take() {
            let mut parts = Vec::new();
            splitter.finish(&mut parts);
            if let Err(error) = self.take(parts).await {
                result = result.and(Err(error));
            }
            if self.has_calls() && result == Ok(StopReason::End) {
                result = Ok(StopReason::ToolCalls);
            }
        }
        let usage = self.usage.map(Piece::Usage);
        let pieces: Vec<Piece> = match result {
            Ok(stop) => {
                let calls = self.calls.into_iter().map(Piece::Call);
                let model = self.model;
                let state = self.state.map(|data| Piece::State(ProviderState { model, data }));
                calls.chain(state).chain(usage).chain([Piece::Done(stop)]).collect()
            }
            Err(error) => usage.into_iter().chain([Piece::Failed(error)]).collect(),
        };
        for piece in pieces {
            if self.out.send(piece).await.is_err() {
                return;
            }
        }
    }
}
