//! Everything that speaks `/chat/completions`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use url::Url;
use uuid::Uuid;

use super::http::{self, Ask, Http, Key, Reply};
use super::turn::Turn;
use super::{Message, ModelError, ModelErrorKind, Request, StopReason, TokenUsage, sse};
use crate::task::call::RawCall;
use crate::task::settings::{MaxTokensField, ModelSettings, ReasoningLevel};

/// How often a request is sent again.
const RETRIES: u32 = 3;

/// An OpenAI-compatible model.
pub(super) struct OpenAi {
    http: Arc<Http>,
    base: Url,
    model: String,
    reasoning: Option<ReasoningLevel>,
    header_limit: std::time::Duration,
    quirks: Mutex<Quirks>,
}

/// What the server is known to understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quirks {
    stream_usage: bool,
    tokens: MaxTokensField,
    reasoning: bool,
}

impl Quirks {
    fn of(settings: &ModelSettings, base: &Url) -> Self {
        let host = base.host_str().unwrap_or_default().trim_end_matches('.');
        let under = |domain: &str| {
            host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let tokens = if under("openai.com") || under("openai.azure.com") {
            MaxTokensField::MaxCompletionTokens
        } else {
            MaxTokensField::MaxTokens
        };
        Self {
            stream_usage: settings.stream_usage.unwrap_or(!under("mistral.ai")),
            tokens: settings.max_tokens_field.unwrap_or(tokens),
            reasoning: true,
        }
    }

    /// The same with the field switched that a refusal names, if this request has it and it was not
    /// switched before.
    fn switched(self, first: Self, body: &Value, said: &str) -> Option<Self> {
        let names = |field: &str| said.contains(field);
        let mut next = self;
        if body.get("stream_options").is_some() && names("stream_options") {
            next.stream_usage = false;
        } else if body.get("reasoning_effort").is_some() && names("reasoning_effort") {
            next.reasoning = false;
        } else if body.get(tokens_field(self.tokens)).is_some()
            && self.tokens == first.tokens
            && names(tokens_field(self.tokens))
        {
            next.tokens = match self.tokens {
                MaxTokensField::MaxTokens => MaxTokensField::MaxCompletionTokens,
                MaxTokensField::MaxCompletionTokens => MaxTokensField::MaxTokens,
            };
        }
        (next != self).then_some(next)
    }
}

const fn tokens_field(field: MaxTokensField) -> &'static str {
    match field {
        MaxTokensField::MaxTokens => "max_tokens",
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
    }
}

impl OpenAi {
    pub(super) fn new(
        http: Arc<Http>,
        settings: &ModelSettings,
        base: Url,
        header_limit: std::time::Duration,
    ) -> Self {
        Self {
            http,
            quirks: Mutex::new(Quirks::of(settings, &base)),
            base,
            model: settings.model.clone(),
            reasoning: settings.reasoning,
            header_limit,
        }
    }

    /// Asks, and says the answer into `turn`.
    pub(super) async fn answer(
        &self,
        request: &Request,
        key: Option<String>,
        turn: &mut Turn,
    ) -> Result<StopReason, ModelError> {
        let key = key.map(|value| Key { header: "authorization", prefix: "Bearer ", value });
        let reply = self.ask(request, key.as_ref()).await?;
        Answer::new(&self.http, key.as_ref()).read(reply, turn).await
    }

    /// Sends the request; a refusal that names a field is answered by switching that field, once. What
    /// the server then accepts is kept.
    async fn ask(&self, request: &Request, key: Option<&Key>) -> Result<Reply, ModelError> {
        let first = *self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut quirks = first;
        loop {
            let ask = Ask {
                body: Some(self.body(request, quirks)),
                url: http::join(&self.base, "chat/completions"),
                headers: vec![("accept", "text/event-stream")],
                key: key.cloned(),
                retries: RETRIES,
                header_limit: self.header_limit,
            };
            let failure = match self.http.send(&ask).await {
                Ok(reply) => {
                    if quirks != first {
                        *self.quirks.lock().unwrap_or_else(PoisonError::into_inner) = quirks;
                    }
                    return Ok(reply);
                }
                Err(failure) => failure,
            };
            let is_refusal = failure.error.status == Some(400)
                && failure.error.kind == ModelErrorKind::BadRequest;
            let said = format!("{} {}", failure.error.message, failure.body);
            let body = ask.body.unwrap_or_default();
            match quirks.switched(first, &body, &said) {
                Some(next) if is_refusal => quirks = next,
                _ => return Err(failure.error),
            }
        }
    }

    fn body(&self, request: &Request, quirks: Quirks) -> Value {
        let mut body = json!({
            "model": self.model,
            "messages": messages(request),
            "stream": true,
        });
        let Some(fields) = body.as_object_mut() else { return body };
        if !request.tools.is_empty() {
            fields.insert("tools".to_owned(), tools(request));
        }
        if let Some(most) = request.max_output_tokens {
            fields.insert(tokens_field(quirks.tokens).to_owned(), most.into());
        }
        if quirks.stream_usage {
            fields.insert("stream_options".to_owned(), json!({ "include_usage": true }));
        }
        if let Some(level) = request.reasoning.or(self.reasoning)
            && quirks.reasoning
        {
            let effort = match level {
                ReasoningLevel::Off => "none",
                ReasoningLevel::Low => "low",
                ReasoningLevel::Medium => "medium",
                ReasoningLevel::High => "high",
            };
            fields.insert("reasoning_effort".to_owned(), effort.into());
        }
        body
    }
}

/// Tools as functions; Ollama takes the same.
pub(super) fn tools(request: &Request) -> Value {
    let tools = request.tools.iter().map(|tool| {
        json!({
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        })
    });
    tools.collect()
}

/// The text of a result as the model reads it.
pub(super) fn result_text(text: &str, failed: bool) -> String {
    if failed { format!("Error: {text}") } else { text.to_owned() }
}

fn messages(request: &Request) -> Value {
    let mut told = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        told.push(json!({ "role": "system", "content": request.system }));
    }
    for message in &request.messages {
        match message {
            Message::User { text } => told.push(json!({ "role": "user", "content": text })),
            Message::Assistant { text, calls, .. } => {
                let calls: Vec<Value> = calls.iter().map(call).collect();
                match (text.is_empty(), calls.is_empty()) {
                    // An answer of nothing is refused by some servers and says nothing.
                    (true, true) => {}
                    (false, true) => told.push(json!({ "role": "assistant", "content": text })),
                    (empty, false) => told.push(json!({
                        "role": "assistant",
                        "content": if empty { Value::Null } else { text.as_str().into() },
                        "tool_calls": calls,
                    })),
                }
            }
            Message::Tool { call, text, failed, .. } => told.push(json!({
                "role": "tool",
                "tool_call_id": call,
                "content": result_text(text, *failed),
            })),
        }
    }
    Value::Array(told)
}

/// A call of the history. Servers that read the arguments refuse the whole request over broken ones,
/// for good; the result that follows tells the model what was wrong.
fn call(call: &RawCall) -> Value {
    let is_object = serde_json::from_str::<Map<String, Value>>(&call.args).is_ok();
    json!({
        "id": call.id,
        "type": "function",
        "function": {
            "name": call.name,
            "arguments": if is_object { call.args.as_str() } else { "{}" },
        },
    })
}

/// An answer that is being read.
struct Answer<'a> {
    http: &'a Http,
    key: Option<&'a Key>,
    calls: Merge,
    finish: Option<String>,
    is_done: bool,
}

impl<'a> Answer<'a> {
    fn new(http: &'a Http, key: Option<&'a Key>) -> Self {
        Self { http, key, calls: Merge::default(), finish: None, is_done: false }
    }

    fn server_error(&self, text: &str) -> ModelError {
        self.http.error(ModelErrorKind::Server, text, self.key)
    }

    async fn read(mut self, mut reply: Reply, turn: &mut Turn) -> Result<StopReason, ModelError> {
        if reply.is_json() {
            // A server that does not stream: its one answer has the shape of one piece.
            let whole = reply.json().await?;
            self.piece(&whole, turn).await?;
            return self.end(turn);
        }
        let mut events = sse::Reader::new(self.http.limits().event_bytes);
        let mut whole = Vec::new();
        while !self.is_done {
            let chunk = match self.finish {
                None => reply.chunk().await?,
                // The answer is there; what may follow is its usage.
                Some(_) => reply.rest().await.unwrap_or_default(),
            };
            let Some(chunk) = chunk else { break };
            let pushed = events.push(&chunk, &mut whole);
            for event in whole.drain(..) {
                if self.event(&event.data, turn).await? {
                    break;
                }
            }
            if let (Err(sse::TooLong(most)), false) = (pushed, self.is_done) {
                return Err(self.server_error(&format!("an event is longer than {most} bytes")));
            }
        }
        if let (Some(event), false) = (events.finish(), self.is_done)
            && (event.data.trim() == "[DONE]" || serde_json::from_str::<Value>(&event.data).is_ok())
        {
            self.event(&event.data, turn).await?;
        }
        self.end(turn)
    }

    /// Reads an event; true after the last one.
    async fn event(&mut self, data: &str, turn: &mut Turn) -> Result<bool, ModelError> {
        let data = data.trim();
        if data == "[DONE]" {
            self.is_done = true;
        } else if !data.is_empty() {
            let piece = serde_json::from_str(data).map_err(|error| {
                self.server_error(&format!("the server sent an event that is no JSON: {error}"))
            })?;
            self.piece(&piece, turn).await?;
        }
        Ok(self.is_done)
    }

    async fn piece(&mut self, piece: &Value, turn: &mut Turn) -> Result<(), ModelError> {
        if !piece.is_object() {
            return Err(self.server_error("the server sent an event that is no object"));
        }
        if let Some(error) = piece.get("error").filter(|error| !error.is_null()) {
            return Err(self.said_error(piece, error));
        }
        if let Some(usage) = piece.get("usage").filter(|usage| usage.is_object()) {
            turn.usage(tokens(usage));
        }
        let choice = match piece.get("choices") {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Array(choices)) => choices.first(),
            Some(_) => return Err(self.server_error("the server sent choices that are no list")),
        };
        let Some(choice) = choice else { return Ok(()) };
        let said = |name: &str| choice.get(name).filter(|said| said.is_object());
        if let Some(delta) = said("delta").or_else(|| said("message")) {
            let text_of = |name: &str| delta.get(name).and_then(Value::as_str);
            if let Some(reasoning) = text_of("reasoning_content").or_else(|| text_of("reasoning")) {
                turn.reasoning(reasoning.to_owned()).await;
            }
            match delta.get("content") {
                Some(Value::String(text)) => turn.text(text.clone()).await?,
                Some(Value::Array(parts)) => {
                    for part in parts {
                        let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
                        turn.text(text.to_owned()).await?;
                        turn.reasoning(thinking(part)).await;
                    }
                }
                _ => {}
            }
            for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                self.calls.piece(piece);
            }
        }
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
        Ok(())
    }

    /// An error inside the stream.
    fn said_error(&self, piece: &Value, error: &Value) -> ModelError {
        let text = http::said(piece).unwrap_or_else(|| error.to_string());
        let all = error.to_string().to_ascii_lowercase();
        let is_rate = ["rate_limit", "rate limit", "too many requests", "quota", "429"]
            .iter()
            .any(|word| all.contains(word));
        let kind = if http::is_context_length(&all) {
            ModelErrorKind::ContextLength
        } else if is_rate {
            ModelErrorKind::RateLimit
        } else {
            ModelErrorKind::Server
        };
        self.http.error(kind, &text, self.key)
    }

    fn end(self, turn: &mut Turn) -> Result<StopReason, ModelError> {
        if self.finish.is_none() && !self.is_done {
            let text = "the answer broke off before its end";
            return Err(self.http.error(ModelErrorKind::Network, text, self.key));
        }
        for call in self.calls.whole() {
            turn.call(call)?;
        }
        Ok(match self.finish.as_deref() {
            Some("stop" | "tool_calls" | "function_call" | "none") | None if turn.has_calls() => {
                StopReason::ToolCalls
            }
            Some("stop" | "end_turn" | "none") | None => StopReason::End,
            Some("length") => StopReason::MaxTokens,
            Some(_) => StopReason::Other,
        })
    }
}

/// The reasoning inside a part of a content list.
fn thinking(part: &Value) -> String {
    match part.get("thinking") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

fn tokens(usage: &Value) -> TokenUsage {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let input = count("/prompt_tokens").unwrap_or(0);
    let cached = count("/prompt_tokens_details/cached_tokens")
        .or_else(|| count("/prompt_cache_hit_tokens"))
        .unwrap_or(0);
    TokenUsage {
        input,
        output: count("/completion_tokens").unwrap_or(0),
        cache_read: cached.min(input),
        cache_write: 0,
    }
}

/// Calls that come in pieces.
#[derive(Default)]
struct Merge {
    calls: Vec<RawCall>,
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
}

impl Merge {
    /// Adds a piece: by its index, else by its id, else to the latest call. A new id begins a new call.
    fn piece(&mut self, piece: &Value) {
        let id = piece.get("id").and_then(Value::as_str).unwrap_or_default();
        let index = piece.get("index").and_then(Value::as_u64);
        let function = piece.get("function").unwrap_or(piece);
        let known = match index {
            Some(index) => self.by_index.get(&index).copied(),
            None if !id.is_empty() => self.by_id.get(id).copied(),
            None => self.calls.len().checked_sub(1),
        };
        let known = known.filter(|at| {
            let current = self.calls.get(*at).map_or("", |call| call.id.as_str());
            id.is_empty() || current.is_empty() || current == id
        });
        let at = known.unwrap_or_else(|| {
            self.calls.push(RawCall {
                id: String::new(),
                name: String::new(),
                args: String::new(),
            });
            self.calls.len() - 1
        });
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        let Some(call) = self.calls.get_mut(at) else { return };
        if !id.is_empty() && call.id.is_empty() {
            id.clone_into(&mut call.id);
            self.by_id.insert(id.to_owned(), at);
        }
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        match function.get("arguments") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => call.args.push_str(text),
            Some(value) => call.args.push_str(&value.to_string()),
        }
    }

    /// The calls that have a name; ids are there and distinct, arguments are not empty.
    fn whole(self) -> Vec<RawCall> {
        let mut seen = HashSet::new();
        let named = self.calls.into_iter().filter(|call| !call.name.trim().is_empty());
        let whole = named.map(|mut call| {
            if call.id.is_empty() || !seen.insert(call.id.clone()) {
                call.id = format!("call_{}", Uuid::new_v4().simple());
            }
            if call.args.trim().is_empty() {
                "{}".clone_into(&mut call.args);
            }
            call
        });
        whole.collect()
    }
}
