//! Ollama's own interface: chat, what a model can do, and which models are there.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use url::Url;
use uuid::Uuid;

use super::http::{self, Ask, Failure, Http, Key, Reply};
use super::turn::Turn;
use super::{Message, ModelError, ModelErrorKind, Request, StopReason, TokenUsage, ndjson, openai};
use crate::task::call::RawCall;
use crate::task::settings::{Capabilities, ModelSettings, ReasoningLevel};

/// Where Ollama listens by itself.
pub(super) const DEFAULT_BASE: &str = "http://localhost:11434/v1";

/// How often a chat is sent again.
const RETRIES: u32 = 1;

/// The window that is used of a model that could do more, unless more is configured: memory is taken
/// for all of it.
const DEFAULT_CONTEXT: u64 = 32_768;

/// The window of a model that does not tell.
const UNKNOWN_CONTEXT: u64 = 8192;

/// A model of an Ollama server.
pub(super) struct Ollama {
    http: Arc<Http>,
    base: Url,
    model: String,
    declared_context: Option<u64>,
    reasoning: Option<ReasoningLevel>,
    header_limit: Duration,
    shown: OnceCell<Shown>,
}

/// What the server tells about a model.
#[expect(clippy::struct_excessive_bools, reason = "one per ability that a server lists")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shown {
    tool_calls: bool,
    vision: bool,
    thinking: bool,
    completion: bool,
    context: Option<u64>,
    own_context: Option<u64>,
}

/// The base address without the part that only the OpenAI-compatible interface has.
pub(super) fn base(configured: Option<&str>) -> Result<Url, ModelError> {
    let mut url = http::base(configured, Some(DEFAULT_BASE))?;
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    url.set_path(&path);
    Ok(url)
}

impl Ollama {
    pub(super) fn new(
        http: Arc<Http>,
        settings: &ModelSettings,
        base: Url,
        header_limit: Duration,
    ) -> Self {
        Self {
            http,
            base,
            model: settings.model.clone(),
            declared_context: settings.declared.context_tokens,
            reasoning: settings.reasoning,
            header_limit,
            shown: OnceCell::new(),
        }
    }

    /// What the model can do; asked for once, failures are asked for again.
    pub(super) async fn probe(&self, key: Option<String>) -> Result<Capabilities, ModelError> {
        let shown = self.shown(key.map(bearer).as_ref()).await?;
        Ok(shown.capabilities(self.declared_context))
    }

    async fn shown(&self, key: Option<&Key>) -> Result<Shown, ModelError> {
        let ask = || show(&self.http, &self.base, &self.model, key, self.header_limit);
        self.shown.get_or_try_init(ask).await.copied()
    }

    /// Asks, and says the answer into `turn`.
    pub(super) async fn answer(
        &self,
        request: &Request,
        context: u64,
        key: Option<String>,
        turn: &mut Turn,
    ) -> Result<StopReason, ModelError> {
        let key = key.map(bearer);
        let body = self.body(request, context);
        let ask = Ask {
            body: Some(body),
            url: http::join(&self.base, "api/chat"),
            headers: Vec::new(),
            key: key.clone(),
            retries: RETRIES,
            header_limit: self.header_limit,
        };
        let reply = self.http.send(&ask).await.map_err(|failure| advise(*failure, &self.model))?;
        self.read(reply, key.as_ref(), turn).await
    }

    fn body(&self, request: &Request, context: u64) -> Value {
        // A window that was not asked for is not above what the model can do either.
        let shown = self.shown.get();
        let most = shown.and_then(|shown| shown.context).unwrap_or(u64::MAX);
        let mut options = json!({ "num_ctx": context.min(most) });
        if let (Some(options), Some(most)) = (options.as_object_mut(), request.max_output_tokens) {
            options.insert("num_predict".to_owned(), most.into());
        }
        let mut body = json!({
            "model": self.model,
            "messages": messages(request),
            "stream": true,
            "options": options,
        });
        let Some(fields) = body.as_object_mut() else { return body };
        if !request.tools.is_empty() {
            fields.insert("tools".to_owned(), openai::tools(request));
        }
        // Models that cannot reason refuse the field.
        if let Some(level) = request.reasoning.or(self.reasoning)
            && shown.is_some_and(|shown| shown.thinking)
        {
            fields.insert("think".to_owned(), think(&self.model, level));
        }
        body
    }

    async fn read(
        &self,
        mut reply: Reply,
        key: Option<&Key>,
        turn: &mut Turn,
    ) -> Result<StopReason, ModelError> {
        let error = |kind, text: &str| self.http.error(kind, text, key);
        let mut lines = ndjson::Reader::new(self.http.limits().event_bytes);
        let mut whole = Vec::new();
        while let Some(chunk) = reply.chunk().await? {
            let pushed = lines.push(&chunk, &mut whole);
            for line in whole.drain(..) {
                let line = serde_json::from_str::<Value>(&line).map_err(|cause| {
                    let text = format!("the server sent a line that is no JSON: {cause}");
                    error(ModelErrorKind::Server, &text)
                })?;
                if let Some(stop) = self.line(&line, key, turn).await? {
                    return Ok(stop);
                }
            }
            if let Err(ndjson::TooLong(most)) = pushed {
                let text = format!("a line is longer than {most} bytes");
                return Err(error(ModelErrorKind::Server, &text));
            }
        }
        // A last line without an end is whole if it is JSON.
        if let Some(Ok(line)) = lines.finish().map(|line| serde_json::from_str::<Value>(&line))
            && let Some(stop) = self.line(&line, key, turn).await?
        {
            return Ok(stop);
        }
        Err(error(ModelErrorKind::Network, "the answer broke off before its end"))
    }

    /// Reads a line; gives why the model stopped with the last one.
    async fn line(
        &self,
        line: &Value,
        key: Option<&Key>,
        turn: &mut Turn,
    ) -> Result<Option<StopReason>, ModelError> {
        if !line.is_object() {
            let text = "the server sent a line that is no object";
            return Err(self.http.error(ModelErrorKind::Server, text, key));
        }
        if let Some(cause) = line.get("error").filter(|cause| !cause.is_null()) {
            let text = http::said(line).unwrap_or_else(|| cause.to_string());
            let kind = if http::is_context_length(&text) {
                ModelErrorKind::ContextLength
            } else {
                ModelErrorKind::Server
            };
            return Err(self.http.error(kind, &text, key));
        }
        let said = |name: &str| {
            let text = line.pointer(&format!("/message/{name}")).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        turn.reasoning(said("thinking")).await;
        turn.text(said("content")).await?;
        let calls = line.pointer("/message/tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            if let Some(call) = whole_call(call) {
                turn.call(call)?;
            }
        }
        if line.get("done").and_then(Value::as_bool) != Some(true) {
            return Ok(None);
        }
        let count = |name: &str| line.get(name).and_then(Value::as_u64);
        if count("prompt_eval_count").or(count("eval_count")).is_some() {
            turn.usage(TokenUsage {
                input: count("prompt_eval_count").unwrap_or(0),
                output: count("eval_count").unwrap_or(0),
                ..TokenUsage::default()
            });
        }
        Ok(Some(match line.get("done_reason").and_then(Value::as_str) {
            Some("length") => StopReason::MaxTokens,
            Some("stop" | "tool_calls" | "") | None if turn.has_calls() => StopReason::ToolCalls,
            Some("stop" | "") | None => StopReason::End,
            Some(_) => StopReason::Other,
        }))
    }
}

fn bearer(value: String) -> Key {
    Key { header: "authorization", prefix: "Bearer ", value }
}

fn think(model: &str, level: ReasoningLevel) -> Value {
    // This family knows degrees and cannot be told not to reason.
    let has_degrees = model.rsplit('/').next().is_some_and(|name| name.starts_with("gpt-oss"));
    match level {
        ReasoningLevel::Off if !has_degrees => false.into(),
        _ if !has_degrees => true.into(),
        ReasoningLevel::Off | ReasoningLevel::Low => "low".into(),
        ReasoningLevel::Medium => "medium".into(),
        ReasoningLevel::High => "high".into(),
    }
}

fn whole_call(call: &Value) -> Option<RawCall> {
    let function = call.get("function")?;
    let name = function.get("name")?.as_str().filter(|name| !name.is_empty())?;
    let args = match function.get("arguments") {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) if text.trim().is_empty() => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let id = id.map_or_else(|| format!("call_{}", Uuid::new_v4().simple()), str::to_owned);
    Some(RawCall { id, name: name.to_owned(), args })
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
                if text.is_empty() && calls.is_empty() {
                    continue;
                }
                let mut message = json!({ "role": "assistant", "content": text });
                let calls: Vec<Value> = calls.iter().map(history_call).collect();
                if let (Some(fields), false) = (message.as_object_mut(), calls.is_empty()) {
                    fields.insert("tool_calls".to_owned(), Value::Array(calls));
                }
                told.push(message);
            }
            Message::Tool { name, text, failed, .. } => told.push(json!({
                "role": "tool",
                "tool_name": name,
                "content": openai::result_text(text, *failed),
            })),
        }
    }
    Value::Array(told)
}

/// A call of the history; the server takes nothing but an object of arguments.
fn history_call(call: &RawCall) -> Value {
    let arguments = serde_json::from_str::<Value>(&call.args)
        .ok()
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({}));
    json!({ "function": { "name": call.name, "arguments": arguments } })
}

/// What to do about a server that is not there, and a model it does not have.
fn advise(failure: Failure, model: &str) -> ModelError {
    let error = failure.error;
    match (error.kind, error.status) {
        (ModelErrorKind::Network, _) => {
            error.advise("start Ollama (`ollama serve`), or check the base URL")
        }
        (_, Some(404)) => error.advise(format!("fetch the model with `ollama pull {model}`")),
        _ => error,
    }
}

/// Asks what a model can do.
async fn show(
    http: &Http,
    base: &Url,
    model: &str,
    key: Option<&Key>,
    header_limit: Duration,
) -> Result<Shown, ModelError> {
    let ask = Ask {
        body: Some(json!({ "model": model })),
        url: http::join(base, "api/show"),
        headers: Vec::new(),
        key: key.cloned(),
        retries: 0,
        header_limit,
    };
    let mut reply = http.send(&ask).await.map_err(|failure| advise(*failure, model))?;
    let shown = reply.json().await?;
    if !shown.is_object() {
        let text = "the server tells nothing about the model";
        return Err(http.error(ModelErrorKind::Server, text, key));
    }
    Ok(Shown::of(&shown))
}

impl Shown {
    fn of(shown: &Value) -> Self {
        let listed = shown.get("capabilities").and_then(Value::as_array);
        let has = |name: &str| {
            listed.is_some_and(|listed| listed.iter().any(|item| item.as_str() == Some(name)))
        };
        // Servers before 0.6 list nothing; the model's template tells whether it knows tools.
        let template = shown.get("template").and_then(Value::as_str).unwrap_or_default();
        let info = shown.get("model_info").and_then(Value::as_object);
        let context = info.into_iter().flatten().find_map(|(name, value)| {
            name.ends_with(".context_length").then(|| value.as_u64()).flatten()
        });
        let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
        let own_context = parameters.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("num_ctx")).then(|| words.next()?.parse().ok()).flatten()
        });
        Self {
            tool_calls: has("tools") || (listed.is_none() && template.contains(".Tools")),
            vision: has("vision"),
            thinking: has("thinking"),
            completion: listed.is_none() || has("completion"),
            context: context.filter(|context| *context > 0),
            own_context: own_context.filter(|context| *context > 0),
        }
    }

    /// The window: what is declared, else the model file's, else a part of what the model can do; never
    /// above what it can do.
    fn window(self, declared: Option<u64>) -> u64 {
        let most = self.context.unwrap_or(u64::MAX);
        let own = self.context.map_or(UNKNOWN_CONTEXT, |most| most.min(DEFAULT_CONTEXT));
        declared.or(self.own_context).unwrap_or(own).min(most)
    }

    fn capabilities(self, declared_context: Option<u64>) -> Capabilities {
        Capabilities {
            streaming: true,
            tool_calls: self.tool_calls,
            context_tokens: self.window(declared_context),
            max_output_tokens: None,
            vision: self.vision,
        }
    }
}

/// Names of the models a server has that can complete text, with what they can do where that is told.
pub(super) async fn discover(
    http: &Http,
    base: &Url,
    key: Option<String>,
) -> Result<Vec<(String, Option<Capabilities>)>, ModelError> {
    /// Models whose abilities are asked for, at most.
    const SHOWN: usize = 50;
    let key = key.map(bearer);
    let header_limit = http.limits().headers_probe;
    let ask = Ask {
        body: None,
        url: http::join(base, "api/tags"),
        headers: Vec::new(),
        key: key.clone(),
        retries: 0,
        header_limit,
    };
    let mut reply = http.send(&ask).await.map_err(|failure| failure.error)?;
    let listed = reply.json().await?;
    let mut names: Vec<String> = Vec::new();
    for model in listed.get("models").and_then(Value::as_array).into_iter().flatten() {
        let name = model.get("model").or_else(|| model.get("name")).and_then(Value::as_str);
        let abilities = model.get("capabilities").and_then(Value::as_array);
        let completes = abilities
            .is_none_or(|listed| listed.iter().any(|item| item.as_str() == Some("completion")));
        if let Some(name) = name.filter(|name| !name.is_empty())
            && completes
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    let asked =
        names.iter().take(SHOWN).map(|name| show(http, base, name, key.as_ref(), header_limit));
    let shown = futures::future::join_all(asked).await;
    let shown = shown.into_iter().map(Result::ok).chain(std::iter::repeat(None));
    let found = names.into_iter().zip(shown).filter_map(|(name, shown)| match shown {
        Some(shown) if !shown.completion => None,
        shown => Some((name, shown.map(|shown| shown.capabilities(None)))),
    });
    Ok(found.collect())
}
