//! Anthropic's messages interface.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use url::Url;

use super::catalog::{self, Entry, Thinking};
use super::http::{self, Ask, Failure, Http, Key, Reply};
use super::turn::Turn;
use super::{
    Message, ModelError, ModelErrorKind, ProviderState, Request, StopReason, TokenUsage, sse,
};
use crate::task::call::RawCall;
use crate::task::settings::{Capabilities, ModelSettings, ReasoningLevel};

/// Where it is by itself.
pub(super) const DEFAULT_BASE: &str = "https://api.anthropic.com";

const VERSION: &str = "2023-06-01";
const RETRIES: u32 = 3;

/// Output tokens when the request names none.
const DEFAULT_OUTPUT: u64 = 32_000;

/// The smallest budget the interface takes, and what must be left beside it.
const MIN_THINKING: u64 = 1024;

/// User turns at the end that get a cache breakpoint; the system prompt has one too, of four in all.
const CACHED_TURNS: usize = 3;

/// A model of Anthropic.
pub(super) struct Anthropic {
    http: Arc<Http>,
    base: Url,
    id: String,
    model: String,
    entry: Entry,
    declared_output: Option<u64>,
    reasoning: Option<ReasoningLevel>,
    header_limit: Duration,
}

impl Anthropic {
    pub(super) fn new(
        http: Arc<Http>,
        settings: &ModelSettings,
        base: Url,
        header_limit: Duration,
    ) -> Self {
        Self {
            http,
            base,
            id: settings.id.clone(),
            model: settings.model.clone(),
            entry: catalog::find(&settings.model),
            declared_output: settings.declared.max_output_tokens,
            reasoning: settings.reasoning,
            header_limit,
        }
    }

    /// What the table says of it.
    pub(super) const fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: true,
            tool_calls: true,
            context_tokens: self.entry.context,
            max_output_tokens: Some(self.entry.output),
            vision: self.entry.vision,
        }
    }

    /// Asks, and says the answer into `turn`.
    pub(super) async fn answer(
        &self,
        request: &Request,
        key: String,
        turn: &mut Turn,
    ) -> Result<StopReason, ModelError> {
        let key = Key { header: "x-api-key", prefix: "", value: key };
        let ask = Ask {
            body: Some(self.body(request)),
            url: http::join(&self.base, "v1/messages"),
            headers: vec![("anthropic-version", VERSION), ("accept", "text/event-stream")],
            key: Some(key.clone()),
            retries: RETRIES,
            header_limit: self.header_limit,
        };
        let reply = self.http.send(&ask).await.map_err(|failure| kind_by_type(*failure))?;
        Answer::new(&self.http, &key).read(reply, turn).await
    }

    fn body(&self, request: &Request) -> Value {
        let most = self.declared_output.unwrap_or(self.entry.output);
        let asked = request.max_output_tokens.unwrap_or(DEFAULT_OUTPUT);
        let level = request.reasoning.or(self.reasoning);
        let thinking = level.map_or(Reasoning::None, |level| {
            let budget_is_possible = !self.lacks_thinking(&request.messages);
            reasoning(self.entry.thinking, level, asked, most, budget_is_possible)
        });
        let mut body = json!({ "model": self.model, "stream": true });
        let Some(fields) = body.as_object_mut() else { return body };
        let mut output = asked.min(most);
        match thinking {
            Reasoning::None => {}
            Reasoning::Off => {
                fields.insert("thinking".to_owned(), json!({ "type": "disabled" }));
            }
            Reasoning::Budget(budget) => {
                output = asked.saturating_add(budget).min(most);
                let thinking = json!({ "type": "enabled", "budget_tokens": budget });
                fields.insert("thinking".to_owned(), thinking);
            }
            Reasoning::Effort { effort, adaptive } => {
                if adaptive {
                    fields.insert("thinking".to_owned(), json!({ "type": "adaptive" }));
                }
                fields.insert("output_config".to_owned(), json!({ "effort": effort }));
            }
        }
        fields.insert("max_tokens".to_owned(), output.max(1).into());
        let cache = || json!({ "type": "ephemeral" });
        let has_system = !request.system.trim().is_empty();
        if has_system {
            let block = json!({ "type": "text", "text": request.system, "cache_control": cache() });
            fields.insert("system".to_owned(), json!([block]));
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters,
                })
            });
            let mut tools: Vec<Value> = tools.collect();
            if let (false, Some(last)) =
                (has_system, tools.last_mut().and_then(Value::as_object_mut))
            {
                last.insert("cache_control".to_owned(), cache());
            }
            fields.insert("tools".to_owned(), Value::Array(tools));
        }
        let mut turns = History::new(&self.id).turns(&request.messages);
        let latest = turns.iter_mut().rev().filter(|turn| turn.role == "user").take(CACHED_TURNS);
        for turn in latest {
            if let Some(block) = turn.blocks.last_mut().and_then(Value::as_object_mut) {
                block.insert("cache_control".to_owned(), cache());
            }
        }
        let turns = turns
            .into_iter()
            .map(|turn| json!({ "role": turn.role, "content": turn.blocks }))
            .collect();
        fields.insert("messages".to_owned(), turns);
        body
    }

    /// Whether the model waits for results of calls that it made without thinking, or that another made.
    /// With a budget, the interface then wants thinking in front of them.
    fn lacks_thinking(&self, messages: &[Message]) -> bool {
        let mut latest = messages.iter().rev();
        match latest.find(|message| !matches!(message, Message::Tool { .. })) {
            Some(Message::Assistant { calls, state, .. }) => {
                !calls.is_empty() && own_blocks(state.as_ref(), &self.id).is_none()
            }
            _ => false,
        }
    }
}

/// What is asked for in the way of reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reasoning {
    /// Nothing is said.
    None,
    /// It is turned off.
    Off,
    /// So many tokens.
    Budget(u64),
    /// That much; with `adaptive`, the model decides when.
    Effort { effort: &'static str, adaptive: bool },
}

fn reasoning(
    thinking: Thinking,
    level: ReasoningLevel,
    asked: u64,
    most: u64,
    budget_is_possible: bool,
) -> Reasoning {
    let effort = match level {
        ReasoningLevel::Off | ReasoningLevel::Low => "low",
        ReasoningLevel::Medium => "medium",
        ReasoningLevel::High => "high",
    };
    let budget = match level {
        ReasoningLevel::Off => 0,
        ReasoningLevel::Low => 2048,
        ReasoningLevel::Medium => 8192,
        ReasoningLevel::High => 24_576,
    };
    match (thinking, level) {
        (Thinking::No, _) => Reasoning::None,
        (Thinking::Budget, ReasoningLevel::Off) => Reasoning::None,
        (Thinking::Budget, _) => {
            // What is left beside the budget is the answer; it needs some room under the maximum.
            let room =
                most.min(asked.saturating_add(budget)).saturating_sub(MIN_THINKING.min(asked));
            match budget.min(room) {
                fits if fits >= MIN_THINKING && budget_is_possible => Reasoning::Budget(fits),
                _ => Reasoning::None,
            }
        }
        (Thinking::Adaptive { can_disable: true }, ReasoningLevel::Off) => Reasoning::Off,
        (Thinking::Adaptive { can_disable: false }, ReasoningLevel::Off) => {
            Reasoning::Effort { effort, adaptive: false }
        }
        (Thinking::Adaptive { .. }, _) => Reasoning::Effort { effort, adaptive: true },
    }
}

/// One turn of the history as the interface takes it.
struct HistoryTurn {
    role: &'static str,
    blocks: Vec<Value>,
}

/// Makes a history that the interface takes: turns alternate and begin with the person's; each call has
/// one well-formed id and its result at the start of the next turn.
struct History<'a> {
    model: &'a str,
    turns: Vec<HistoryTurn>,
    ids: HashSet<String>,
    made: usize,
}

impl<'a> History<'a> {
    fn new(model: &'a str) -> Self {
        Self { model, turns: Vec::new(), ids: HashSet::new(), made: 0 }
    }

    fn push(&mut self, role: &'static str, block: Value) {
        match self.turns.last_mut() {
            Some(turn) if turn.role == role => turn.blocks.push(block),
            None if role == "assistant" => {
                self.push("user", text_block("(The conversation goes on.)"));
                self.push(role, block);
            }
            _ => self.turns.push(HistoryTurn { role, blocks: vec![block] }),
        }
    }

    fn turns(mut self, messages: &[Message]) -> Vec<HistoryTurn> {
        let mut used: HashSet<usize> = HashSet::new();
        for (at, message) in messages.iter().enumerate() {
            match message {
                Message::User { text } => self.text("user", text),
                Message::Assistant { text, calls, state } => {
                    let ids: Vec<String> = calls.iter().map(|call| self.id(&call.id)).collect();
                    self.assistant(text, calls, &ids, state.as_ref());
                    self.results(messages, at, calls, &ids, &mut used);
                }
                Message::Tool { name, text, .. } if !used.contains(&at) => {
                    self.text("user", &format!("Result of the tool `{name}`:\n{text}"));
                }
                Message::Tool { .. } => {}
            }
        }
        match self.turns.last() {
            // An answer that is last would be one to go on with, which newer models refuse.
            Some(turn) if turn.role == "assistant" => self.push("user", text_block("Go on.")),
            None => self.push("user", text_block("Begin.")),
            _ => {}
        }
        self.turns
    }

    fn text(&mut self, role: &'static str, text: &str) {
        if !text.trim().is_empty() {
            self.push(role, text_block(text));
        }
    }

    /// The id of a call as the interface takes it, distinct from all before.
    fn id(&mut self, raw: &str) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let is_well_formed = (1..=64).contains(&raw.len()) && raw.bytes().all(is_plain);
        let mut id = raw.to_owned();
        while !(is_well_formed || id != raw) || self.ids.contains(&id) {
            self.made += 1;
            id = format!("toolu_{}", self.made);
        }
        self.ids.insert(id.clone());
        id
    }

    fn assistant(
        &mut self,
        text: &str,
        calls: &[RawCall],
        ids: &[String],
        state: Option<&ProviderState>,
    ) {
        if text.trim().is_empty() && calls.is_empty() {
            return;
        }
        let call_block = |at: usize| {
            let (call, id) = (calls.get(at)?, ids.get(at)?);
            let input = serde_json::from_str::<Map<String, Value>>(&call.args).unwrap_or_default();
            Some(json!({ "type": "tool_use", "id": id, "name": call.name, "input": input }))
        };
        let own = own_blocks(state, self.model).unwrap_or_default();
        let signed = |block: &&Value| block.get("type").is_some_and(|kind| kind != "place");
        if let Some(blocks) = in_place(own, text, calls.len(), call_block) {
            for block in blocks {
                self.push("assistant", block);
            }
            return;
        }
        for block in own.iter().filter(signed) {
            self.push("assistant", block.clone());
        }
        self.text("assistant", text);
        for block in (0..calls.len()).filter_map(call_block) {
            self.push("assistant", block);
        }
    }

    /// The results of calls, wherever they stand before the next answer.
    fn results(
        &mut self,
        messages: &[Message],
        at: usize,
        calls: &[RawCall],
        ids: &[String],
        used: &mut HashSet<usize>,
    ) {
        let mut found: HashMap<&str, Vec<usize>> = HashMap::new();
        let later = messages.iter().enumerate().skip(at + 1);
        for (place, message) in
            later.take_while(|(_, message)| !matches!(message, Message::Assistant { .. }))
        {
            if let Message::Tool { call, .. } = message {
                found.entry(call).or_default().push(place);
            }
        }
        for places in found.values_mut() {
            places.reverse();
        }
        for (call, id) in calls.iter().zip(ids) {
            let place = found.get_mut(call.id.as_str()).and_then(Vec::pop);
            let (text, failed) = match place.and_then(|place| messages.get(place)) {
                Some(Message::Tool { text, failed, .. }) => (text.as_str(), *failed),
                _ => ("No result was recorded for this call.", true),
            };
            used.extend(place);
            let mut block = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
            if let (Some(fields), true) = (block.as_object_mut(), failed) {
                fields.insert("is_error".to_owned(), true.into());
            }
            self.push("user", block);
        }
    }
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// The blocks that this model made.
fn own_blocks<'a>(state: Option<&'a ProviderState>, model: &str) -> Option<&'a [Value]> {
    let state = state.filter(|state| state.model == model)?;
    state.data.get("blocks")?.as_array().map(Vec::as_slice)
}

/// All blocks in the order the model made them, if text and calls are still what they were.
fn in_place(
    own: &[Value],
    text: &str,
    calls: usize,
    call_block: impl Fn(usize) -> Option<Value>,
) -> Option<Vec<Value>> {
    let mut blocks = Vec::new();
    let (mut rest, mut next) = (text, 0);
    for block in own {
        if block.get("type")? != "place" {
            blocks.push(block.clone());
        } else if let Some(length) = block.get("text").and_then(Value::as_u64) {
            let (part, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            if !part.trim().is_empty() {
                blocks.push(text_block(part));
            }
            rest = after;
        } else {
            blocks.push(call_block(next)?);
            next += 1;
        }
    }
    (rest.is_empty() && next == calls && !own.is_empty()).then_some(blocks)
}

/// The kind that the interface's own word says, where it says more than the status.
fn kind_by_type(failure: Failure) -> ModelError {
    let mut error = failure.error;
    let word = failure.body.pointer("/error/type").and_then(Value::as_str).unwrap_or_default();
    let kind = match word {
        _ if error.status == Some(529) => Some(ModelErrorKind::RateLimit),
        "invalid_request_error" | "api_error" | "" => None,
        word => kind_of_word(word, &error.message),
    };
    if let Some(kind) = kind
        && kind != error.kind
    {
        error.kind = kind;
        error.hint = kind.hint().map(str::to_owned);
    }
    error
}

fn kind_of_word(word: &str, text: &str) -> Option<ModelErrorKind> {
    Some(match word {
        "overloaded_error" | "rate_limit_error" => ModelErrorKind::RateLimit,
        "authentication_error" | "permission_error" => ModelErrorKind::Auth,
        "request_too_large" => ModelErrorKind::ContextLength,
        "invalid_request_error" if http::is_context_length(text) => ModelErrorKind::ContextLength,
        "invalid_request_error" | "not_found_error" | "billing_error" => ModelErrorKind::BadRequest,
        "timeout_error" => ModelErrorKind::Timeout,
        "api_error" => ModelErrorKind::Server,
        _ => return None,
    })
}

/// A block of an answer.
enum Block {
    Text { bytes: usize },
    Call(RawCall),
    Thinking { text: String, signature: String },
    Redacted { data: Value },
    Unknown,
}

/// An answer that is being read.
struct Answer<'a> {
    http: &'a Http,
    key: &'a Key,
    blocks: Vec<Block>,
    by_index: HashMap<u64, usize>,
    usage: TokenUsage,
    stop: Option<String>,
    is_done: bool,
}

impl<'a> Answer<'a> {
    fn new(http: &'a Http, key: &'a Key) -> Self {
        Self {
            http,
            key,
            blocks: Vec::new(),
            by_index: HashMap::new(),
            usage: TokenUsage::default(),
            stop: None,
            is_done: false,
        }
    }

    fn error(&self, kind: ModelErrorKind, text: &str) -> ModelError {
        self.http.error(kind, text, Some(self.key))
    }

    async fn read(mut self, mut reply: Reply, turn: &mut Turn) -> Result<StopReason, ModelError> {
        let mut events = sse::Reader::new(self.http.limits().event_bytes);
        let mut whole = Vec::new();
        while !self.is_done {
            let Some(chunk) = reply.chunk().await? else { break };
            let pushed = events.push(&chunk, &mut whole);
            for event in whole.drain(..) {
                let data = serde_json::from_str(&event.data).map_err(|cause| {
                    let text = format!("the server sent an event that is no JSON: {cause}");
                    self.error(ModelErrorKind::Server, &text)
                })?;
                self.event(&data, turn).await?;
                if self.is_done {
                    break;
                }
            }
            if let (Err(sse::TooLong(most)), false) = (pushed, self.is_done) {
                let text = format!("an event is longer than {most} bytes");
                return Err(self.error(ModelErrorKind::Server, &text));
            }
        }
        if let (Some(event), false) = (events.finish(), self.is_done)
            && let Ok(data) = serde_json::from_str(&event.data)
        {
            self.event(&data, turn).await?;
        }
        self.end(turn)
    }

    async fn event(&mut self, data: &Value, turn: &mut Turn) -> Result<(), ModelError> {
        let text_of = |pointer: &str| data.pointer(pointer).and_then(Value::as_str);
        let kind = text_of("/type").ok_or_else(|| {
            self.error(ModelErrorKind::Server, "the server sent an event without a type")
        })?;
        match kind {
            "message_start" => {
                if let Some(usage) = data.pointer("/message/usage") {
                    self.count(usage, turn);
                }
            }
            "content_block_start" => {
                let index = data.get("index").and_then(Value::as_u64).unwrap_or_default();
                let block = data.get("content_block").cloned().unwrap_or_default();
                self.begin(index, &block, turn).await?;
            }
            "content_block_delta" => {
                let index = data.get("index").and_then(Value::as_u64).unwrap_or_default();
                let delta = data.get("delta").cloned().unwrap_or_default();
                self.delta(index, &delta, turn).await?;
            }
            "message_delta" => {
                if let Some(stop) = text_of("/delta/stop_reason") {
                    self.stop = Some(stop.to_owned());
                }
                if let Some(usage) = data.get("usage") {
                    self.count(usage, turn);
                }
            }
            "message_stop" => self.is_done = true,
            "error" => {
                let text = http::said(data).unwrap_or_else(|| data.to_string());
                let word = text_of("/error/type").unwrap_or_default();
                let kind = kind_of_word(word, &text).unwrap_or(ModelErrorKind::Server);
                return Err(self.error(kind, &text));
            }
            // Signs of life and what is not known yet.
            _ => {}
        }
        Ok(())
    }

    /// Counts tokens. Later counts replace earlier ones, field by field.
    fn count(&mut self, usage: &Value, turn: &mut Turn) {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64);
        let before = self.usage.input - self.usage.cache_read - self.usage.cache_write;
        let plain = count("input_tokens").unwrap_or(before);
        let cache_read = count("cache_read_input_tokens").unwrap_or(self.usage.cache_read);
        let cache_write = count("cache_creation_input_tokens").unwrap_or(self.usage.cache_write);
        // Counts beyond all reason are cut, so that their sum is one.
        let most = u64::MAX / 4;
        let (plain, cache_read, cache_write) =
            (plain.min(most), cache_read.min(most), cache_write.min(most));
        self.usage = TokenUsage {
            input: plain + cache_read + cache_write,
            output: count("output_tokens").unwrap_or(self.usage.output),
            cache_read,
            cache_write,
        };
        turn.usage(self.usage);
    }

    async fn begin(
        &mut self,
        index: u64,
        start: &Value,
        turn: &mut Turn,
    ) -> Result<(), ModelError> {
        let text_of =
            |name: &str| start.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let block = match text_of("type").as_str() {
            "text" => Block::Text { bytes: 0 },
            "tool_use" => {
                let input = start.get("input").and_then(Value::as_object);
                let args = input
                    .filter(|input| !input.is_empty())
                    .map(|input| Value::Object(input.clone()).to_string());
                Block::Call(RawCall {
                    id: text_of("id"),
                    name: text_of("name"),
                    args: args.unwrap_or_default(),
                })
            }
            "thinking" => Block::Thinking { text: String::new(), signature: text_of("signature") },
            "redacted_thinking" => {
                Block::Redacted { data: start.get("data").cloned().unwrap_or_default() }
            }
            _ => Block::Unknown,
        };
        self.blocks.push(block);
        self.by_index.insert(index, self.blocks.len() - 1);
        for (name, delta) in [("text", "text_delta"), ("thinking", "thinking_delta")] {
            if let Some(text) = start.get(name).filter(|text| text.as_str() != Some("")) {
                self.delta(index, &json!({ "type": delta, name: text }), turn).await?;
            }
        }
        Ok(())
    }

    async fn delta(
        &mut self,
        index: u64,
        delta: &Value,
        turn: &mut Turn,
    ) -> Result<(), ModelError> {
        let text_of =
            |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let block = self.by_index.get(&index).and_then(|at| self.blocks.get_mut(*at));
        match (text_of("type").as_str(), block) {
            ("text_delta", Some(Block::Text { bytes })) => {
                let more = text_of("text");
                *bytes += more.len();
                turn.text(more).await?;
            }
            ("input_json_delta", Some(Block::Call(call))) => {
                call.args.push_str(&text_of("partial_json"));
            }
            ("thinking_delta", Some(Block::Thinking { text, .. })) => {
                let more = text_of("thinking");
                text.push_str(&more);
                turn.reasoning(more).await;
            }
            ("signature_delta", Some(Block::Thinking { signature, .. })) => {
                signature.push_str(&text_of("signature"));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(mut self, turn: &mut Turn) -> Result<StopReason, ModelError> {
        if !self.is_done {
            let text = "the answer broke off before its end";
            return Err(self.error(ModelErrorKind::Network, text));
        }
        if let Some(state) = state(&self.blocks) {
            turn.state(state);
        }
        for block in std::mem::take(&mut self.blocks) {
            if let Block::Call(mut call) = block {
                if call.args.trim().is_empty() {
                    "{}".clone_into(&mut call.args);
                }
                turn.call(call)?;
            }
        }
        match self.stop.as_deref() {
            Some("tool_use") => Ok(StopReason::ToolCalls),
            Some("end_turn" | "stop_sequence") | None => Ok(StopReason::End),
            Some("max_tokens" | "model_context_window_exceeded") => Ok(StopReason::MaxTokens),
            Some("refusal") => {
                let text = "the model refuses to answer this request";
                Err(self.error(ModelErrorKind::BadRequest, text))
            }
            Some(_) => Ok(StopReason::Other),
        }
    }
}

/// What goes back with the next request: signed thinking, and the places of text and calls between it.
/// None when there was no thinking.
fn state(blocks: &[Block]) -> Option<Value> {
    let is_signed = |block: &Block| match block {
        Block::Thinking { signature, .. } => !signature.is_empty(),
        Block::Redacted { .. } => true,
        _ => false,
    };
    if !blocks.iter().any(is_signed) {
        return None;
    }
    let blocks = blocks.iter().filter_map(|block| match block {
        Block::Text { bytes } => Some(json!({ "type": "place", "text": bytes })),
        Block::Call(_) => Some(json!({ "type": "place", "call": true })),
        Block::Thinking { text, signature } if !signature.is_empty() => {
            Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
        }
        Block::Redacted { data } => Some(json!({ "type": "redacted_thinking", "data": data })),
        Block::Thinking { .. } | Block::Unknown => None,
    });
    Some(json!({ "blocks": blocks.collect::<Vec<_>>() }))
}
