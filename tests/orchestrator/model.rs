//! Models against a provider that says what these tests tell it to, down to the byte.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use shellgate_orchestrator::model::http::Limits;
use shellgate_orchestrator::model::scripted::{Script, Scripted};
use shellgate_orchestrator::model::text_tools::{Part, Splitter};
use shellgate_orchestrator::model::{
    ChatModel, Message, ModelError, ModelErrorKind as Kind, ModelSource, Models, Piece, Price,
    ProviderState, Request, StopReason, TokenUsage, ndjson, sse,
};
use shellgate_orchestrator::task::call::{RawCall, ToolSpec};
use shellgate_orchestrator::task::port::{PortError, Secrets};
use shellgate_orchestrator::task::settings::{
    Capabilities, DeclaredCapabilities, Locality, MaxTokensField, ModelSettings, Provider as Who,
    ReasoningLevel, Role, Roles, Settings,
};
use suite::provider::{
    Act, END, Provider, Seen, answer, broken, chunks, head, json as json_answer, stalled, stream,
    stream_cut,
};
use tokio_util::sync::CancellationToken;

// ---------------------------------------------------------------- what the tests share

/// Secrets in a map; counts how often it is asked.
#[derive(Default)]
struct Vault {
    values: Mutex<BTreeMap<String, String>>,
    asked: AtomicUsize,
    delay: Duration,
    fails: bool,
}

#[async_trait]
impl Secrets for Vault {
    async fn get(&self, reference: &str) -> Result<Option<String>, PortError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(self.delay).await;
        if self.fails {
            return Err(PortError("the client is gone".to_owned()));
        }
        Ok(self.values.lock().unwrap().get(reference).cloned())
    }
}

fn vault(value: &str) -> Arc<Vault> {
    let values = BTreeMap::from([("secret:key".to_owned(), value.to_owned())]);
    Arc::new(Vault { values: Mutex::new(values), ..Vault::default() })
}

/// Limits that a test can wait for, and that a busy machine keeps.
fn quick() -> Limits {
    Limits {
        headers: Duration::from_secs(2),
        headers_local: Duration::from_secs(2),
        headers_probe: Duration::from_secs(2),
        first_chunk: Duration::from_secs(2),
        between_chunks: Duration::from_secs(2),
        after_end: Duration::from_millis(500),
        first_delay: Duration::from_millis(4),
        longest_delay: Duration::from_millis(8),
        event_bytes: 200_000,
        ..Limits::default()
    }
}

fn model(who: Who, url: &str) -> ModelSettings {
    ModelSettings {
        id: "m".to_owned(),
        provider: who,
        model: "some-model".to_owned(),
        base_url: Some(url.to_owned()),
        api_key: Some("secret:key".to_owned()),
        cost_per_mtok: None,
        declared: DeclaredCapabilities {
            tool_calls: Some(true),
            ..DeclaredCapabilities::default()
        },
        locality: None,
        stream_usage: None,
        max_tokens_field: None,
        reasoning: None,
    }
}

fn with(models: Vec<ModelSettings>) -> Models {
    let all = Models::limited(vault("hunter2-hunter2"), quick());
    all.configure(&Settings { models, ..Settings::default() });
    all
}

fn only(settings: ModelSettings) -> Arc<dyn ChatModel> {
    with(vec![settings]).get("m").unwrap()
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

fn raw(id: &str, name: &str, args: &str) -> RawCall {
    RawCall { id: id.to_owned(), name: name.to_owned(), args: args.to_owned() }
}

fn result(call: &str, text: &str, failed: bool) -> Message {
    Message::Tool {
        call: call.to_owned(),
        name: "read_file".to_owned(),
        text: text.to_owned(),
        failed,
    }
}

fn said(text: &str, calls: Vec<RawCall>) -> Message {
    Message::Assistant { text: text.to_owned(), calls, state: None }
}

fn asks(messages: Vec<Message>) -> Request {
    Request {
        system: "Be brief.".to_owned(),
        messages,
        tools: vec![ToolSpec {
            name: "read_file".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
        max_output_tokens: Some(100),
        reasoning: None,
    }
}

/// An answer with its text and reasoning joined.
#[derive(Clone, Debug, Default, PartialEq)]
struct Whole {
    text: String,
    reasoning: String,
    calls: Vec<RawCall>,
    state: Option<ProviderState>,
    usage: Option<TokenUsage>,
    end: Option<Result<StopReason, ModelError>>,
}

impl Whole {
    fn kind(&self) -> Option<Kind> {
        self.end.clone().and_then(Result::err).map(|error| error.kind)
    }

    fn error(&self) -> ModelError {
        self.end.clone().unwrap().unwrap_err()
    }

    fn stop(&self) -> Option<StopReason> {
        self.end.clone().and_then(Result::ok)
    }
}

/// Reads an answer and holds it against the order that every answer keeps.
async fn read(model: &dyn ChatModel, request: Request) -> Whole {
    let mut pieces = model.stream(request, CancellationToken::new());
    let mut whole = Whole::default();
    while let Some(piece) = pieces.recv().await {
        assert_eq!(whole.end, None, "nothing follows the end: {piece:?}");
        match piece {
            Piece::Text(text) => {
                assert!(!text.is_empty() && whole.calls.is_empty());
                whole.text.push_str(&text);
            }
            Piece::Reasoning(text) => {
                assert!(!text.is_empty() && whole.calls.is_empty());
                whole.reasoning.push_str(&text);
            }
            Piece::Call(call) => whole.calls.push(call),
            Piece::State(state) => assert_eq!(whole.state.replace(state), None),
            Piece::Usage(usage) => assert_eq!(whole.usage.replace(usage), None),
            Piece::Done(stop) => whole.end = Some(Ok(stop)),
            Piece::Failed(error) => whole.end = Some(Err(error)),
        }
    }
    assert!(whole.end.is_some(), "an answer ends: {whole:?}");
    whole
}

/// Asks a model of that kind once; the provider answers each request with these acts.
async fn once(who: Who, acts: Vec<Act>) -> Whole {
    let provider =
        Provider::start(move |seen| shown(seen).unwrap_or_else(|| acts.clone())).unwrap();
    read(&*only(model(who, &provider.url())), asks(vec![user("hi")])).await
}

/// What every Ollama server of these tests tells of its models.
fn shown(seen: &Seen) -> Option<Vec<Act>> {
    (seen.path == "/api/show").then(|| {
        json_answer(
            200,
            &json!({
                "capabilities": ["completion", "tools", "thinking"],
                "model_info": { "x.context_length": 100_000 },
            }),
        )
    })
}

fn events(pieces: &[Value]) -> String {
    pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect()
}

fn delta(delta: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn lines(pieces: &[Value]) -> String {
    pieces.iter().map(|piece| format!("{piece}\n")).collect()
}

// ---------------------------------------------------------------- openai-compatible

fn openai_text() -> String {
    let mut text = String::from(": a comment\r\n\r\nevent: x\r\ndata: {\"choices\":[]}\r\n\r\n");
    text.push_str(&events(&[
        delta(&json!({ "role": "assistant", "reasoning_content": "Grübeln." })),
        delta(&json!({ "content": "Grüße, " })),
        delta(&json!({ "content": "👋 Welt" })),
        delta(&json!({ "tool_calls": [{ "index": 0, "id": "a", "type": "function",
            "function": { "name": "read_file", "arguments": "" } }] })),
        delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{\"pa" } }] })),
        delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "th\":1}" } }] })),
        finish("tool_calls"),
        json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 4,
            "prompt_tokens_details": { "cached_tokens": 6 } } }),
    ]));
    text.push_str("data: [DONE]\n\n");
    text
}

fn openai_whole() -> Whole {
    Whole {
        text: "Grüße, 👋 Welt".to_owned(),
        reasoning: "Grübeln.".to_owned(),
        calls: vec![raw("a", "read_file", "{\"path\":1}")],
        state: None,
        usage: Some(TokenUsage { input: 10, output: 4, cache_read: 6, cache_write: 0 }),
        end: Some(Ok(StopReason::ToolCalls)),
    }
}

/// A stream cut at each place in turn, and into single bytes, gives the same answer.
async fn at_every_byte(who: Who, text: String, whole: Whole) {
    let length = text.len();
    let bytes = text.into_bytes();
    let chats = AtomicUsize::new(0);
    let provider = Provider::start(move |seen| {
        shown(seen).unwrap_or_else(|| {
            let number = chats.fetch_add(1, Ordering::Relaxed);
            let places: Vec<usize> =
                if number <= bytes.len() { vec![number] } else { (1..bytes.len()).collect() };
            stream_cut(&bytes, &places)
        })
    })
    .unwrap();
    let mut settings = model(who, &provider.url());
    settings.model = "claude-sonnet-4-5".to_owned();
    let model = only(settings);
    for at in 0..=length + 1 {
        let got = read(&*model, asks(vec![user("hi")])).await;
        let ids = whole.calls.iter().map(|call| call.id.clone());
        let mut got_same = got.clone();
        for (call, id) in got_same.calls.iter_mut().zip(ids) {
            // An empty id stands for one that is made.
            if id.is_empty() {
                assert!(!std::mem::take(&mut call.id).is_empty());
            }
        }
        assert_eq!(got_same, whole, "cut at {at}");
    }
}

#[tokio::test]
async fn an_openai_stream_may_be_cut_anywhere() {
    at_every_byte(Who::OpenaiCompatible, openai_text(), openai_whole()).await;
}

#[tokio::test]
async fn openai_is_asked_as_it_wants() {
    let provider = Provider::start(|_| stream(&openai_text())).unwrap();
    let mut settings = model(Who::OpenaiCompatible, &format!("{}/v1/", provider.url()));
    settings.reasoning = Some(ReasoningLevel::Off);
    let history = vec![
        user("hi"),
        said("", vec![raw("1", "read_file", "{\"path\":\"a\"}"), raw("2", "x", "{broken")]),
        result("1", "text", false),
        result("2", "no such tool", true),
        said("so", vec![]),
        said("", vec![]),
        user("on"),
    ];
    read(&*only(settings), asks(history)).await;
    let seen = provider.seen().remove(0);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(seen.header("authorization"), "Bearer hunter2-hunter2");
    let call = |id: &str, name: &str, args: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": args } });
    let expected = json!({
        "model": "some-model",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "hi" },
            { "role": "assistant", "content": null, "tool_calls": [
                call("1", "read_file", "{\"path\":\"a\"}"), call("2", "x", "{}")] },
            { "role": "tool", "tool_call_id": "1", "content": "text" },
            { "role": "tool", "tool_call_id": "2", "content": "Error: no such tool" },
            { "role": "assistant", "content": "so" },
            { "role": "user", "content": "on" },
        ],
        "stream": true,
        "tools": [{ "type": "function", "function": {
            "name": "read_file", "description": "Reads.", "parameters": { "type": "object" } } }],
        "max_tokens": 100,
        "stream_options": { "include_usage": true },
        "reasoning_effort": "none",
    });
    assert_eq!(seen.body, expected);
}

#[tokio::test]
async fn pieces_of_calls_find_their_call() {
    let piece = |index: Value, id: Value, name: Value, args: Value| {
        let mut call = json!({ "function": {} });
        for (place, value) in [("/index", index), ("/id", id)] {
            if !value.is_null() {
                call[&place[1..]] = value;
            }
        }
        if !name.is_null() {
            call["function"]["name"] = name;
        }
        if !args.is_null() {
            call["function"]["arguments"] = args;
        }
        delta(&json!({ "tool_calls": [call] }))
    };
    let none = Value::Null;
    let long = "x".repeat(10_000);
    for (name, pieces, calls) in [
        (
            "by index, interleaved",
            vec![
                piece(json!(0), json!("a"), json!("f"), json!("{\"x\"")),
                piece(json!(1), json!("b"), json!("g"), json!("{")),
                piece(json!(0), none.clone(), none.clone(), json!(":1}")),
                piece(json!(1), json!("b"), none.clone(), json!("}")),
            ],
            vec![raw("a", "f", "{\"x\":1}"), raw("b", "g", "{}")],
        ),
        (
            "by id, without index",
            vec![
                piece(none.clone(), json!("a"), json!("f"), json!("{")),
                piece(none.clone(), json!("b"), json!("g"), json!("{}")),
                piece(none.clone(), json!("a"), none.clone(), json!("}")),
            ],
            vec![raw("a", "f", "{}"), raw("b", "g", "{}")],
        ),
        (
            "onto the latest",
            vec![
                piece(none.clone(), json!("a"), json!("f"), json!("{")),
                piece(none.clone(), none.clone(), none.clone(), json!("}")),
            ],
            vec![raw("a", "f", "{}")],
        ),
        (
            "a new id on a known index",
            vec![
                piece(json!(0), json!("a"), json!("f"), json!("{}")),
                piece(json!(0), json!("b"), json!("g"), json!("{")),
                piece(json!(0), none.clone(), none.clone(), json!("}")),
            ],
            vec![raw("a", "f", "{}"), raw("b", "g", "{}")],
        ),
        (
            "an object of arguments, and none",
            vec![
                piece(json!(0), json!("a"), json!("f"), json!({ "x": [1] })),
                piece(json!(1), json!("b"), json!("g"), none.clone()),
            ],
            vec![raw("a", "f", "{\"x\":[1]}"), raw("b", "g", "{}")],
        ),
        (
            "without a name",
            vec![
                piece(json!(0), json!("a"), none.clone(), json!("{}")),
                piece(json!(1), json!("b"), json!("g"), json!("{}")),
            ],
            vec![raw("b", "g", "{}")],
        ),
        (
            "long, missing, empty and repeated ids",
            vec![
                piece(json!(0), json!(long), json!("f"), json!("{}")),
                piece(json!(1), none.clone(), json!("g"), json!("{}")),
                piece(json!(2), json!(""), json!("h"), json!("{}")),
                piece(json!(3), json!(long), json!("i"), json!("{}")),
            ],
            vec![raw(&long, "f", "{}"), raw("", "g", "{}"), raw("", "h", "{}"), raw("", "i", "{}")],
        ),
    ] {
        let mut all = pieces;
        all.push(finish("stop"));
        let got = once(Who::OpenaiCompatible, stream(&events(&all))).await;
        assert_eq!(got.stop(), Some(StopReason::ToolCalls), "{name}");
        assert_eq!(got.calls.len(), calls.len(), "{name}: {:?}", got.calls);
        let mut ids = std::collections::HashSet::new();
        for (got, mut expected) in got.calls.into_iter().zip(calls) {
            assert!(!got.id.is_empty() && ids.insert(got.id.clone()), "{name}");
            if expected.id.is_empty() {
                expected.id.clone_from(&got.id);
            }
            assert_eq!(got, expected, "{name}");
        }
    }
}

#[tokio::test]
async fn an_openai_answer_ends_for_a_reason() {
    let call = delta(&json!({ "tool_calls": [{ "index": 0, "id": "a",
        "function": { "name": "f", "arguments": "{}" } }] }));
    let text = delta(&json!({ "content": "x" }));
    let done = "data: [DONE]\n\n";
    for (pieces, tail, stop) in [
        (vec![text.clone(), finish("stop")], "", StopReason::End),
        (vec![text.clone(), finish("end_turn")], done, StopReason::End),
        (vec![text.clone()], done, StopReason::End),
        (vec![text.clone()], "data: [DONE]", StopReason::End),
        (vec![text.clone(), finish("length")], done, StopReason::MaxTokens),
        (vec![text.clone(), finish("content_filter")], done, StopReason::Other),
        (vec![call.clone(), finish("stop")], done, StopReason::ToolCalls),
        (vec![call.clone(), finish("tool_calls")], done, StopReason::ToolCalls),
        (vec![call.clone()], done, StopReason::ToolCalls),
        (vec![call.clone(), finish("length")], done, StopReason::MaxTokens),
    ] {
        let got = once(Who::OpenaiCompatible, stream(&(events(&pieces) + tail))).await;
        assert_eq!(got.stop(), Some(stop), "{pieces:?} {tail}: {got:?}");
    }
    // The answer is there, whatever becomes of the connection.
    let pieces = events(&[text.clone(), finish("stop")]);
    for acts in [broken(&pieces), stalled(&pieces)] {
        assert_eq!(once(Who::OpenaiCompatible, acts).await.stop(), Some(StopReason::End));
    }
    // A server that does not stream.
    let whole = json!({
        "choices": [{ "message": { "content": "x" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 2 },
    });
    let got = once(Who::OpenaiCompatible, json_answer(200, &whole)).await;
    assert_eq!((got.text.as_str(), got.stop()), ("x", Some(StopReason::End)));
    assert_eq!(got.usage.unwrap().output, 2);
}

#[tokio::test]
async fn a_bad_openai_stream_has_a_kind() {
    let text = events(&[delta(&json!({ "content": "x" }))]);
    let error = |error: Value| stream(&format!("{text}{}", events(&[json!({ "error": error })])));
    let huge = format!("data: \"{}\"\n\n", "x".repeat(300_000));
    for (name, acts, kind) in [
        ("cut between events", stream(&text), Kind::Network),
        ("cut in the middle of an event", stream(&format!("{text}data: {{\"cho")), Kind::Network),
        ("a broken connection", broken(&text), Kind::Network),
        ("no body", stream(""), Kind::Network),
        ("no JSON", stream(&format!("{text}data: {{oops\n\n")), Kind::Server),
        ("no object", stream("data: 7\n\n"), Kind::Server),
        ("choices of text", stream("data: {\"choices\":\"x\"}\n\n"), Kind::Server),
        ("a huge event", stream(&huge), Kind::Server),
        ("a huge line", stream(&"x".repeat(300_000)), Kind::Server),
        ("nothing at all", stalled(""), Kind::Timeout),
        ("nothing more", stalled(&text), Kind::Timeout),
        ("no headers", vec![Act::Stall], Kind::Timeout),
        ("no HTTP", vec![Act::Send(b"hello\r\n\r\n".to_vec())], Kind::Network),
        ("a web page", answer(200, &[("content-type", "text/html")], "<html>"), Kind::Server),
        (
            "json that is none",
            answer(200, &[("content-type", "application/json")], "{"),
            Kind::Server,
        ),
        ("an error", error(json!({ "message": "out of memory" })), Kind::Server),
        ("an error of text", error(json!("boom")), Kind::Server),
        (
            "too many",
            error(json!({ "code": "rate_limit_exceeded", "message": "x" })),
            Kind::RateLimit,
        ),
        (
            "too long",
            error(json!({ "message": "maximum context length is 8" })),
            Kind::ContextLength,
        ),
    ] {
        let got = once(Who::OpenaiCompatible, acts).await;
        assert_eq!(got.kind(), Some(kind), "{name}: {:?}", got.end);
        assert!(got.calls.is_empty() && got.state.is_none(), "{name}");
        assert_eq!(got.error().hint.as_deref(), kind.hint(), "{name}");
    }
}

#[tokio::test]
async fn a_refusal_that_names_a_field_switches_it_once_for_good() {
    let refusals = [
        "Unknown field stream_options",
        "Use 'max_completion_tokens', not 'max_tokens'",
        "reasoning_effort is not supported",
    ];
    let provider = Provider::start(move |seen| match refusals.get(seen.number) {
        Some(text) => json_answer(400, &json!({ "error": { "message": text } })),
        None => stream(&openai_text()),
    })
    .unwrap();
    let mut settings = model(Who::OpenaiCompatible, &provider.url());
    settings.reasoning = Some(ReasoningLevel::High);
    let model_ = only(settings.clone());
    for _ in 0..2 {
        assert_eq!(read(&*model_, asks(vec![user("hi")])).await, openai_whole());
    }
    let fields = |seen: &Seen| {
        ["stream_options", "max_tokens", "max_completion_tokens", "reasoning_effort"]
            .map(|field| seen.body.get(field).is_some())
    };
    let seen: Vec<_> = provider.seen().iter().map(fields).collect();
    let last = [false, false, true, false];
    assert_eq!(
        seen,
        [
            [true, true, false, true],
            [false, true, false, true],
            [false, false, true, true],
            last,
            last
        ]
    );

    // What is refused again is not kept, and a refusal for length is not about the field.
    for (text, asked, kind) in [
        ("max_tokens and max_completion_tokens are both wrong", 2, Kind::BadRequest),
        ("reduce the length of the messages or max_tokens", 1, Kind::ContextLength),
        ("the temperature is wrong", 1, Kind::BadRequest),
    ] {
        let provider =
            Provider::start(move |_| json_answer(400, &json!({ "error": text }))).unwrap();
        settings.base_url = Some(provider.url());
        settings.reasoning = None;
        let model = only(settings.clone());
        assert_eq!(read(&*model, asks(vec![user("hi")])).await.kind(), Some(kind), "{text}");
        assert_eq!(provider.seen().len(), asked, "{text}");
        read(&*model, asks(vec![user("hi")])).await;
        assert!(provider.seen()[asked].body.get("max_tokens").is_some(), "{text}");
    }

    // Configured quirks win.
    let provider = Provider::start(|_| stream(&openai_text())).unwrap();
    settings.base_url = Some(provider.url());
    settings.stream_usage = Some(false);
    settings.max_tokens_field = Some(MaxTokensField::MaxCompletionTokens);
    read(&*only(settings), asks(vec![user("hi")])).await;
    assert_eq!(provider.seen().iter().map(fields).collect::<Vec<_>>(), [last]);
}

// ---------------------------------------------------------------- HTTP

#[tokio::test]
async fn what_may_pass_is_asked_again_before_a_body_was_begun() {
    type Make = Box<dyn Fn() -> Vec<Act> + Send + Sync>;
    let fine = || stream(&openai_text());
    let status = |status: u16, headers: &'static [(&'static str, &'static str)]| {
        move || answer(status, headers, "{\"error\":{\"message\":\"later\"}}")
    };
    let cases: Vec<(&str, Make, usize, Option<Kind>)> = vec![
        ("429 with seconds", Box::new(status(429, &[("retry-after", "0")])), 2, None),
        (
            "429 with a date",
            Box::new(status(429, &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")])),
            2,
            None,
        ),
        ("429 with nonsense", Box::new(status(429, &[("retry-after", "soon")])), 2, None),
        ("500", Box::new(status(500, &[])), 2, None),
        ("503", Box::new(status(503, &[])), 2, None),
        ("a closed connection", Box::new(Vec::new), 2, None),
        (
            "429 with an hour",
            Box::new(status(429, &[("retry-after", "3600")])),
            1,
            Some(Kind::RateLimit),
        ),
        ("401", Box::new(status(401, &[])), 1, Some(Kind::Auth)),
        ("403", Box::new(status(403, &[])), 1, Some(Kind::Auth)),
        ("404", Box::new(status(404, &[])), 1, Some(Kind::BadRequest)),
        ("408", Box::new(status(408, &[])), 1, Some(Kind::Timeout)),
        ("413", Box::new(status(413, &[])), 1, Some(Kind::ContextLength)),
        ("a time-out", Box::new(|| vec![Act::Stall]), 1, Some(Kind::Timeout)),
        ("a body that was begun", Box::new(|| broken("data: ")), 1, Some(Kind::Network)),
        (
            "a redirect to another host",
            Box::new(status(307, &[("location", "http://127.0.0.2:9/")])),
            1,
            Some(Kind::BadRequest),
        ),
    ];
    for (name, first, asked, kind) in cases {
        let provider =
            Provider::start(move |seen| if seen.number == 0 { first() } else { fine() }).unwrap();
        let got =
            read(&*only(model(Who::OpenaiCompatible, &provider.url())), asks(vec![user("hi")]))
                .await;
        assert_eq!(got.kind(), kind, "{name}: {:?}", got.end);
        assert_eq!(provider.seen().len(), asked, "{name}");
    }
    // Three times at most, once for a chat with Ollama.
    for (who, chats) in [(Who::OpenaiCompatible, 4), (Who::Anthropic, 4), (Who::Ollama, 2)] {
        let provider = Provider::start(|seen| {
            shown(seen).unwrap_or_else(|| answer(429, &[("retry-after", "0.01")], "slow down"))
        })
        .unwrap();
        let got = read(&*only(model(who, &provider.url())), asks(vec![user("hi")])).await;
        let error = got.error();
        assert_eq!((error.kind, error.status), (Kind::RateLimit, Some(429)));
        assert_eq!(
            (error.message.as_str(), error.retry_after_ms),
            ("HTTP 429: slow down", Some(10))
        );
        let asked = provider.seen().iter().filter(|seen| seen.path != "/api/show").count();
        assert_eq!(asked, chats, "{who:?}");
    }
}

#[tokio::test]
async fn a_redirect_within_a_host_is_followed() {
    let provider = Provider::start(|seen| match seen.path.as_str() {
        "/chat/completions" => answer(307, &[("location", "/v1/chat/completions")], ""),
        _ => stream(&openai_text()),
    })
    .unwrap();
    let got =
        read(&*only(model(Who::OpenaiCompatible, &provider.url())), asks(vec![user("hi")])).await;
    assert_eq!(got, openai_whole());
}

#[tokio::test]
async fn errors_are_short_and_hold_no_secret() {
    let body = format!("key hunter2-hunter2 or Bearer abcdefgh1 is wrong: {}", "y".repeat(9000));
    let text = body.clone();
    let provider = Provider::start(move |_| answer(401, &[], &text)).unwrap();
    let models = with(vec![model(Who::OpenaiCompatible, &provider.url())]);
    let error = read(&*models.get("m").unwrap(), asks(vec![user("hi")])).await.error();
    assert!(error.message.starts_with("HTTP 401: key [redacted] or Bearer [redacted] is wrong"));
    assert!(error.message.chars().count() <= 2000);
    assert_eq!(error.status, Some(401));
    assert_eq!(models.redactor().redact("a hunter2-hunter2"), "a [redacted]");
    // In-stream errors too.
    let got =
        once(Who::OpenaiCompatible, stream("data: {\"error\":\"hunter2-hunter2\"}\n\n")).await;
    assert_eq!(got.error().message, "[redacted]");
}

#[tokio::test]
async fn nobody_there_is_a_network_error_with_a_hint() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for who in [Who::OpenaiCompatible, Who::Ollama, Who::Anthropic] {
        let error = read(&*only(model(who, &format!("http://{free}"))), asks(vec![user("hi")]))
            .await
            .error();
        assert_eq!(error.kind, Kind::Network, "{error}");
        assert_eq!(error.hint.unwrap().contains("ollama serve"), who == Who::Ollama);
    }
}

#[tokio::test]
async fn an_answer_that_nobody_wants_is_given_up() {
    let text = events(&[delta(&json!({ "content": "x" }))]);
    let provider = Provider::start(move |_| stalled(&text)).unwrap();
    let mut settings = model(Who::OpenaiCompatible, &provider.url());
    settings.id = "m".to_owned();
    let models = Models::new(vault("hunter2-hunter2"));
    models.configure(&Settings { models: vec![settings], ..Settings::default() });
    let model = models.get("m").unwrap();

    let cancel = CancellationToken::new();
    let mut pieces = model.stream(asks(vec![user("hi")]), cancel.clone());
    assert_eq!(pieces.recv().await, Some(Piece::Text("x".to_owned())));
    cancel.cancel();
    assert_eq!(pieces.recv().await, Some(Piece::Failed(ModelError::cancelled())));
    assert_eq!(pieces.recv().await, None);

    let mut pieces = model.stream(asks(vec![user("hi")]), CancellationToken::new());
    assert_eq!(pieces.recv().await, Some(Piece::Text("x".to_owned())));
    drop(pieces);
    let begin = Instant::now();
    while provider.abandoned() < 2 && begin.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(provider.abandoned(), 2, "both connections are closed");

    // One that is cancelled before it begins asks nobody.
    let mut pieces = model.stream(asks(vec![user("hi")]), cancel);
    assert_eq!(pieces.recv().await, Some(Piece::Failed(ModelError::cancelled())));
    assert_eq!(provider.seen().len(), 2);
}

// ---------------------------------------------------------------- ollama

fn ollama_lines() -> String {
    lines(&[
        json!({ "message": { "role": "assistant", "content": "", "thinking": "Grübeln." } }),
        json!({ "message": { "content": "Grüße, " } }),
        json!({ "message": { "content": "👋 Welt" }, "done": false }),
        json!({ "message": { "content": "", "tool_calls": [
            { "function": { "name": "read_file", "arguments": { "path": 1 } } },
            { "function": { "name": "", "arguments": {} } }] } }),
        json!({ "message": { "content": "" }, "done": true, "done_reason": "stop",
            "prompt_eval_count": 7, "eval_count": 3 }),
    ])
}

#[tokio::test]
async fn an_ollama_stream_may_be_cut_anywhere() {
    let whole = Whole {
        calls: vec![raw("", "read_file", "{\"path\":1}")],
        usage: Some(TokenUsage { input: 7, output: 3, ..TokenUsage::default() }),
        ..openai_whole()
    };
    at_every_byte(Who::Ollama, ollama_lines(), whole).await;
}

#[tokio::test]
async fn ollama_is_asked_as_it_wants() {
    let provider =
        Provider::start(|seen| shown(seen).unwrap_or_else(|| stream(&ollama_lines()))).unwrap();
    let mut settings = model(Who::Ollama, &format!("{}/v1/", provider.url()));
    settings.reasoning = Some(ReasoningLevel::Off);
    let model = only(settings);
    let history = vec![
        user("hi"),
        said("", vec![raw("1", "read_file", "{\"path\":\"a\"}"), raw("2", "x", "{broken")]),
        result("1", "text", true),
    ];
    for _ in 0..2 {
        read(&*model, asks(history.clone())).await;
    }
    let seen = provider.seen();
    let paths: Vec<&str> = seen.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!(paths, ["/api/show", "/api/chat", "/api/chat"]);
    assert_eq!(seen[0].body, json!({ "model": "some-model" }));
    let expected = json!({
        "model": "some-model",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "hi" },
            { "role": "assistant", "content": "", "tool_calls": [
                { "function": { "name": "read_file", "arguments": { "path": "a" } } },
                { "function": { "name": "x", "arguments": {} } }] },
            { "role": "tool", "tool_name": "read_file", "content": "Error: text" },
        ],
        "stream": true,
        "options": { "num_ctx": 32768, "num_predict": 100 },
        "tools": [{ "type": "function", "function": {
            "name": "read_file", "description": "Reads.", "parameters": { "type": "object" } } }],
        "think": false,
    });
    assert_eq!(seen[1].body, expected);
}

#[tokio::test]
async fn the_window_of_an_ollama_model() {
    let info = |most: u64| json!({ "llama.context_length": most });
    for (shown, declared, window) in [
        (json!({ "model_info": info(100_000) }), None, 32_768),
        (json!({ "model_info": info(4096) }), None, 4096),
        (
            json!({ "model_info": info(100_000), "parameters": "stop x\nnum_ctx   5000" }),
            None,
            5000,
        ),
        (json!({ "model_info": info(4096), "parameters": "num_ctx 5000" }), None, 4096),
        (
            json!({ "model_info": info(100_000), "parameters": "num_ctx 5000" }),
            Some(60_000),
            60_000,
        ),
        (json!({ "model_info": info(4096) }), Some(60_000), 4096),
        (json!({}), None, 8192),
        (json!({}), Some(60_000), 60_000),
    ] {
        let told = shown.clone();
        let provider = Provider::start(move |seen| match seen.path.as_str() {
            "/api/show" => json_answer(200, &told),
            _ => stream(&ollama_lines()),
        })
        .unwrap();
        let mut settings = model(Who::Ollama, &provider.url());
        settings.declared.context_tokens = declared;
        let model = only(settings);
        read(&*model, asks(vec![user("hi")])).await;
        let sent = provider.seen()[1].body["options"]["num_ctx"].clone();
        assert_eq!(sent, json!(window), "{shown} {declared:?}");
        let able = model.capabilities(&CancellationToken::new()).await.unwrap();
        assert_eq!(able.context_tokens, declared.unwrap_or(window));
    }
}

#[tokio::test]
async fn a_bad_ollama_stream_has_a_kind() {
    let text = lines(&[json!({ "message": { "content": "x" } })]);
    let done = |reason: &str| stream(&lines(&[json!({ "done": true, "done_reason": reason })]));
    for (reason, stop) in [
        ("stop", StopReason::End),
        ("length", StopReason::MaxTokens),
        ("unload", StopReason::Other),
    ] {
        assert_eq!(once(Who::Ollama, done(reason)).await.stop(), Some(stop), "{reason}");
    }
    let unended = once(Who::Ollama, stream("{\"done\":true}")).await;
    assert_eq!(unended.stop(), Some(StopReason::End));
    let huge = format!("\"{}\"\n", "x".repeat(300_000));
    for (name, acts, kind) in [
        ("no end", stream(&text), Kind::Network),
        ("a broken connection", broken(&text), Kind::Network),
        ("half a line", stream(&format!("{text}{{\"done\":tr")), Kind::Network),
        ("no JSON", stream("oops\n"), Kind::Server),
        ("no object", stream("[1]\n"), Kind::Server),
        ("a huge line", stream(&huge), Kind::Server),
        ("an error", stream("{\"error\":\"model runner has stopped\"}\n"), Kind::Server),
        ("an error of length", stream("{\"error\":\"exceeds num_ctx\"}\n"), Kind::ContextLength),
        ("nothing more", stalled(&text), Kind::Timeout),
    ] {
        let got = once(Who::Ollama, acts).await;
        assert_eq!(got.kind(), Some(kind), "{name}: {:?}", got.end);
    }
    let missing = once(Who::Ollama, json_answer(404, &json!({ "error": "model not found" }))).await;
    assert_eq!(missing.kind(), Some(Kind::BadRequest));
    assert!(missing.error().hint.unwrap().contains("ollama pull some-model"));
}

#[tokio::test]
async fn a_failed_probe_is_asked_again_and_a_good_one_is_kept() {
    let provider = Provider::start(|seen| match seen.number {
        0 => answer(500, &[], "not yet"),
        _ => shown(seen).unwrap(),
    })
    .unwrap();
    let mut settings = model(Who::Ollama, &provider.url());
    settings.declared =
        DeclaredCapabilities { vision: Some(true), ..DeclaredCapabilities::default() };
    let model = only(settings);
    let cancel = CancellationToken::new();
    assert_eq!(model.capabilities(&cancel).await.unwrap_err().kind, Kind::Server);
    for _ in 0..2 {
        let able = Capabilities {
            streaming: true,
            tool_calls: true,
            context_tokens: 32_768,
            max_output_tokens: None,
            vision: true,
        };
        assert_eq!(model.capabilities(&cancel).await, Ok(able));
    }
    assert_eq!(provider.seen().len(), 2);
    assert_eq!(model.locality(), Locality::Local);
}

// ---------------------------------------------------------------- anthropic

fn anthropic_events(pieces: &[Value]) -> String {
    let event =
        |piece: &Value| format!("event: {}\ndata: {piece}\n\n", piece["type"].as_str().unwrap());
    pieces.iter().map(event).collect()
}

fn block(index: u64, start: &Value, deltas: &[Value]) -> Vec<Value> {
    let mut events =
        vec![json!({ "type": "content_block_start", "index": index, "content_block": start })];
    events.extend(
        deltas
            .iter()
            .map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
    );
    events.push(json!({ "type": "content_block_stop", "index": index }));
    events
}

fn anthropic_text(stop: &str) -> String {
    let mut all = vec![
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5,
            "cache_read_input_tokens": 30, "cache_creation_input_tokens": 7, "output_tokens": 1 } } }),
        json!({ "type": "ping" }),
        json!({ "type": "something_new", "x": 1 }),
    ];
    all.extend(block(
        0,
        &json!({ "type": "thinking", "thinking": "", "signature": "" }),
        &[
            json!({ "type": "thinking_delta", "thinking": "Grü" }),
            json!({ "type": "thinking_delta", "thinking": "beln." }),
            json!({ "type": "signature_delta", "signature": "c2ln" }),
        ],
    ));
    all.extend(block(
        1,
        &json!({ "type": "text", "text": "" }),
        &[
            json!({ "type": "text_delta", "text": "Grüße, " }),
            json!({ "type": "text_delta", "text": "👋 Welt" }),
        ],
    ));
    all.extend(block(2, &json!({ "type": "redacted_thinking", "data": "b3BhcXVl" }), &[]));
    all.extend(block(
        3,
        &json!({ "type": "tool_use", "id": "a", "name": "read_file", "input": {} }),
        &[
            json!({ "type": "input_json_delta", "partial_json": "{\"pa" }),
            json!({ "type": "input_json_delta", "partial_json": "th\":1}" }),
        ],
    ));
    all.extend(block(4, &json!({ "type": "something_new" }), &[json!({ "type": "new_delta" })]));
    all.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop },
        "usage": { "output_tokens": 9 } }));
    all.push(json!({ "type": "message_stop" }));
    anthropic_events(&all)
}

fn anthropic_whole() -> Whole {
    let data = json!({ "blocks": [
        { "type": "thinking", "thinking": "Grübeln.", "signature": "c2ln" },
        { "type": "place", "text": "Grüße, 👋 Welt".len() },
        { "type": "redacted_thinking", "data": "b3BhcXVl" },
        { "type": "place", "call": true },
    ] });
    Whole {
        state: Some(ProviderState { model: "m".to_owned(), data }),
        usage: Some(TokenUsage { input: 42, output: 9, cache_read: 30, cache_write: 7 }),
        ..openai_whole()
    }
}

#[tokio::test]
async fn an_anthropic_stream_may_be_cut_anywhere() {
    at_every_byte(Who::Anthropic, anthropic_text("tool_use"), anthropic_whole()).await;
}

/// The body that a request makes.
async fn anthropic_body(
    name: &str,
    change: impl FnOnce(&mut ModelSettings),
    request: Request,
) -> Value {
    let provider = Provider::start(|_| stream(&anthropic_text("end_turn"))).unwrap();
    let mut settings = model(Who::Anthropic, &provider.url());
    name.clone_into(&mut settings.model);
    change(&mut settings);
    read(&*only(settings), request).await;
    let seen = provider.seen().remove(0);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(seen.header("x-api-key"), "hunter2-hunter2");
    assert_eq!(seen.header("anthropic-version"), "2023-06-01");
    assert_eq!(seen.header("authorization"), "");
    seen.body
}

#[tokio::test]
async fn anthropic_is_asked_as_it_wants() {
    let state = anthropic_whole().state;
    let foreign = ProviderState { model: "other".to_owned(), ..state.clone().unwrap() };
    let long = "x".repeat(10_000);
    let history = vec![
        said("before anybody spoke", vec![]),
        user("hi"),
        user(" "),
        Message::Assistant {
            text: "Grüße, 👋 Welt".to_owned(),
            calls: vec![raw("a", "read_file", "{\"path\":1}")],
            state: state.clone(),
        },
        user("meanwhile"),
        result("a", "one", false),
        Message::Assistant {
            text: "two".to_owned(),
            calls: vec![raw("a", "f", "{broken"), raw("", "g", "{}"), raw(&long, "h", "[]")],
            state: Some(foreign),
        },
        result("", "of g", true),
        result("nobody", "orphan", false),
        said("last", vec![]),
    ];
    let body = anthropic_body("claude-sonnet-4-5-20250929", |_| {}, asks(history)).await;
    let cache = json!({ "type": "ephemeral" });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let lost = "No result was recorded for this call.";
    let expected = json!({
        "model": "claude-sonnet-4-5-20250929",
        "stream": true,
        "max_tokens": 100,
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": cache }],
        "tools": [{ "name": "read_file", "description": "Reads.", "input_schema": { "type": "object" } }],
        "messages": [
            { "role": "user", "content": [text("(The conversation goes on.)")] },
            { "role": "assistant", "content": [text("before anybody spoke")] },
            { "role": "user", "content": [
                { "type": "text", "text": "hi", "cache_control": cache }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "Grübeln.", "signature": "c2ln" },
                text("Grüße, 👋 Welt"),
                { "type": "redacted_thinking", "data": "b3BhcXVl" },
                { "type": "tool_use", "id": "a", "name": "read_file", "input": { "path": 1 } }] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "a", "content": "one" },
                { "type": "text", "text": "meanwhile", "cache_control": cache }] },
            { "role": "assistant", "content": [
                text("two"),
                { "type": "tool_use", "id": "toolu_1", "name": "f", "input": {} },
                { "type": "tool_use", "id": "toolu_2", "name": "g", "input": {} },
                { "type": "tool_use", "id": "toolu_3", "name": "h", "input": {} }] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1", "content": lost, "is_error": true },
                { "type": "tool_result", "tool_use_id": "toolu_2", "content": "of g", "is_error": true },
                { "type": "tool_result", "tool_use_id": "toolu_3", "content": lost, "is_error": true },
                text("Result of the tool `read_file`:\norphan")] },
            { "role": "assistant", "content": [text("last")] },
            { "role": "user", "content": [{ "type": "text", "text": "Go on.", "cache_control": cache }] },
        ],
    });
    // The latest three turns of the person have a breakpoint each; these are the second last and last.
    let mut expected = expected;
    expected["messages"][2]["content"][0] = text("hi");
    expected["messages"][6]["content"][3]["cache_control"] = cache;
    assert_eq!(body, expected, "{body:#}");
    assert_eq!(body.to_string().matches("cache_control").count(), 4);

    // Changed by others, the text no longer has the places; signed blocks then come first.
    let changed = vec![
        user("hi"),
        Message::Assistant { text: "shorter".to_owned(), calls: vec![], state },
        user("on"),
    ];
    let body = anthropic_body("claude-sonnet-4-5", |_| {}, asks(changed)).await;
    let kinds = body["messages"][1]["content"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "redacted_thinking", "text"]);
    // Without a system prompt the tools have its breakpoint; without history somebody begins.
    let bare = Request { system: String::new(), ..asks(vec![]) };
    let body = anthropic_body("claude-sonnet-4-5", |_| {}, bare).await;
    assert_eq!(body["tools"][0]["cache_control"], json!({ "type": "ephemeral" }));
    assert_eq!(body["messages"][0]["role"], "user");
}

#[tokio::test]
async fn anthropic_levels_follow_the_generation() {
    use ReasoningLevel::{High, Low, Medium, Off};
    let enabled = |tokens: u64| json!({ "type": "enabled", "budget_tokens": tokens });
    let effort = |effort: &str| json!({ "effort": effort });
    let (adaptive, none) = (json!({ "type": "adaptive" }), Value::Null);
    for (name, level, asked, most, thinking, config) in [
        ("claude-3-5-sonnet-20241022", Some(High), None, 8192, none.clone(), none.clone()),
        ("claude-sonnet-4-5", None, None, 32_000, none.clone(), none.clone()),
        ("claude-sonnet-4-5", Some(Off), None, 32_000, none.clone(), none.clone()),
        ("claude-sonnet-4-5", Some(Low), None, 34_048, enabled(2048), none.clone()),
        ("claude-sonnet-4-5", Some(Medium), None, 40_192, enabled(8192), none.clone()),
        ("claude-sonnet-4-5", Some(High), None, 56_576, enabled(24_576), none.clone()),
        ("claude-opus-4-1", Some(High), None, 32_000, enabled(24_576), none.clone()),
        ("claude-sonnet-4-5", Some(High), Some(16), 24_592, enabled(24_576), none.clone()),
        ("claude-opus-4-6", Some(Off), None, 32_000, json!({ "type": "disabled" }), none.clone()),
        ("claude-opus-4-6", Some(Low), None, 32_000, adaptive.clone(), effort("low")),
        ("claude-sonnet-4-6", Some(High), None, 32_000, adaptive.clone(), effort("high")),
        ("somebody-else", Some(Off), None, 32_000, none.clone(), effort("low")),
        ("somebody-else", Some(Medium), None, 32_000, adaptive.clone(), effort("medium")),
        ("somebody-else", None, Some(100_000), 64_000, none.clone(), none.clone()),
    ] {
        let request = Request { max_output_tokens: asked, ..asks(vec![user("hi")]) };
        let body = anthropic_body(name, |settings| settings.reasoning = level, request).await;
        let got = (&body["max_tokens"], &body["thinking"], &body["output_config"]);
        assert_eq!(got, (&json!(most), &thinking, &config), "{name} {level:?}");
        assert!(body.get("temperature").is_none());
    }
    // Small limits leave room for an answer, or leave thinking out.
    for (declared, budget) in [(4096, Some(3072)), (2000, None)] {
        let change = |settings: &mut ModelSettings| {
            settings.reasoning = Some(High);
            settings.declared.max_output_tokens = Some(declared);
        };
        let request = Request { max_output_tokens: None, ..asks(vec![user("hi")]) };
        let body = anthropic_body("claude-sonnet-4-5", change, request).await;
        assert_eq!(body["max_tokens"], json!(declared));
        assert_eq!(body.pointer("/thinking/budget_tokens").cloned(), budget.map(Value::from));
    }
    // Calls of another model wait for their results: no thinking can stand in front of them.
    let history = vec![user("hi"), said("", vec![raw("a", "f", "{}")]), result("a", "text", false)];
    let change = |settings: &mut ModelSettings| settings.reasoning = Some(High);
    let body = anthropic_body("claude-sonnet-4-5", change, asks(history)).await;
    assert!(body.get("thinking").is_none());
}

#[tokio::test]
async fn an_anthropic_answer_ends_for_a_reason() {
    for (reason, stop) in [
        ("end_turn", Ok(StopReason::End)),
        ("stop_sequence", Ok(StopReason::End)),
        ("tool_use", Ok(StopReason::ToolCalls)),
        ("max_tokens", Ok(StopReason::MaxTokens)),
        ("model_context_window_exceeded", Ok(StopReason::MaxTokens)),
        ("pause_turn", Ok(StopReason::Other)),
        ("refusal", Err(Kind::BadRequest)),
    ] {
        let got = once(Who::Anthropic, stream(&anthropic_text(reason))).await;
        assert_eq!(got.end.unwrap().map_err(|error| error.kind), stop, "{reason}");
    }
    let whole = anthropic_text("end_turn");
    let cut = &whole[..whole.rfind("event: message_stop").unwrap()];
    let error = |word: &str| {
        format!(
            "{cut}{}",
            anthropic_events(&[json!({ "type": "error",
            "error": { "type": word, "message": "because" } })])
        )
    };
    for (text, kind) in [
        (cut.to_owned(), Kind::Network),
        (String::new(), Kind::Network),
        (format!("{cut}data: {{oops\n\n"), Kind::Server),
        (format!("{cut}data: 1\n\n"), Kind::Server),
        (error("overloaded_error"), Kind::RateLimit),
        (error("rate_limit_error"), Kind::RateLimit),
        (error("authentication_error"), Kind::Auth),
        (error("permission_error"), Kind::Auth),
        (error("request_too_large"), Kind::ContextLength),
        (error("invalid_request_error"), Kind::BadRequest),
        (error("timeout_error"), Kind::Timeout),
        (error("api_error"), Kind::Server),
        (error("news"), Kind::Server),
    ] {
        let got = once(Who::Anthropic, stream(&text)).await;
        assert_eq!(got.kind(), Some(kind), "{:?}", got.end);
        // What was used up until then is known.
        assert_eq!(got.usage.is_some(), !text.is_empty());
    }
    let refused = |status, word: &str| {
        json_answer(
            status,
            &json!({ "type": "error", "error": { "type": word, "message": "prompt is too long" } }),
        )
    };
    for (status, word, kind) in [
        (529, "overloaded_error", Kind::RateLimit),
        (400, "invalid_request_error", Kind::ContextLength),
        (413, "request_too_large", Kind::ContextLength),
        (401, "authentication_error", Kind::Auth),
        (404, "not_found_error", Kind::BadRequest),
        (500, "api_error", Kind::Server),
    ] {
        let error = once(Who::Anthropic, refused(status, word)).await.error();
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{error}");
        assert_eq!(error.hint.as_deref(), kind.hint());
    }
}

// ---------------------------------------------------------------- keys, prices, tools as text

#[tokio::test]
async fn a_key_is_asked_for_once_and_forgotten_with_the_settings() {
    let provider = Provider::start(|_| stream(&openai_text())).unwrap();
    let source = Arc::new(Vault { delay: Duration::from_millis(50), ..Vault::default() });
    let models = Models::limited(Arc::clone(&source) as _, quick());
    let settings = Settings {
        models: vec![model(Who::OpenaiCompatible, &provider.url())],
        ..Settings::default()
    };
    models.configure(&settings);
    // Not set: an error that names the key, asked for again each time.
    for asked in 1..=2 {
        let error = read(&*models.get("m").unwrap(), asks(vec![user("hi")])).await.error();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (Kind::Auth, "the API key `key` is not set")
        );
        assert!(error.hint.unwrap().contains("`key`"));
        assert_eq!(source.asked.load(Ordering::Relaxed), asked);
    }
    source.values.lock().unwrap().insert("secret:key".to_owned(), "first-value".to_owned());
    let ask = async || read(&*models.get("m").unwrap(), asks(vec![user("hi")])).await.stop();
    // Many at the same moment are one look-up.
    let (a, b, c) = tokio::join!(ask(), ask(), ask());
    assert_eq!([a, b, c], [Some(StopReason::ToolCalls); 3]);
    assert_eq!(source.asked.load(Ordering::Relaxed), 3);
    ask().await;
    assert_eq!(source.asked.load(Ordering::Relaxed), 3);
    assert_eq!(models.redactor().redact("first-value"), "[redacted]");

    source.values.lock().unwrap().insert("secret:key".to_owned(), "second-value".to_owned());
    models.configure(&settings);
    assert_eq!(models.redactor().redact("first-value"), "first-value");
    ask().await;
    assert_eq!(source.asked.load(Ordering::Relaxed), 4);
    let keys: Vec<_> =
        provider.seen().iter().map(|seen| seen.header("authorization").to_owned()).collect();
    assert_eq!(keys[..4], vec!["Bearer first-value"; 4]);
    assert_eq!(keys[4..], ["Bearer second-value"]);

    // A source that fails, a key no header can carry, a provider that must have one.
    let failing = Arc::new(Vault { fails: true, ..Vault::default() });
    let models = Models::limited(failing, quick());
    models.configure(&settings);
    let error = read(&*models.get("m").unwrap(), asks(vec![user("hi")])).await.error();
    assert_eq!(error.kind, Kind::Auth);
    let models = Models::limited(vault("one\ntwo-three"), quick());
    models.configure(&settings);
    let error = read(&*models.get("m").unwrap(), asks(vec![user("hi")])).await.error();
    assert_eq!(error.kind, Kind::Auth);
    assert!(!error.message.contains("two"));
    let mut keyless = model(Who::Anthropic, &provider.url());
    keyless.api_key = None;
    let error = read(&*only(keyless), asks(vec![user("hi")])).await.error();
    assert_eq!(error.kind, Kind::Auth);
    assert_eq!(provider.seen().len(), 5);
}

#[test]
fn prices_know_the_cache() {
    let usage =
        TokenUsage { input: 1_000_000, output: 100_000, cache_read: 600_000, cache_write: 200_000 };
    let near = |left: f64, right: f64| assert!((left - right).abs() < 1e-9, "{left} {right}");
    let mut settings = model(Who::Anthropic, "http://127.0.0.1:9");
    settings.model = "claude-sonnet-4-5-20250929".to_owned();
    near(only(settings.clone()).price().unwrap().cost(usage), 0.6 + 0.6 * 0.3 + 0.2 * 3.75 + 1.5);
    settings.cost_per_mtok = Some((10.0, 20.0));
    near(only(settings.clone()).price().unwrap().cost(usage), 2.0 + 0.6 + 2.5 + 2.0);
    settings.provider = Who::OpenaiCompatible;
    near(only(settings.clone()).price().unwrap().cost(usage), 12.0);
    settings.cost_per_mtok = None;
    assert_eq!(only(settings.clone()).price(), None);
    settings.provider = Who::Anthropic;
    settings.model = "unheard-of".to_owned();
    assert_eq!(only(settings).price(), None);
    let odd = TokenUsage { input: 1, cache_read: u64::MAX, cache_write: u64::MAX, output: 0 };
    let free = Price { input: 0.0, output: 0.0, cache_read: 0.0, cache_write: 0.0 };
    near(free.cost(odd), 0.0);
}

#[tokio::test]
async fn a_model_without_tools_is_given_them_as_text() {
    let body = events(&[
        delta(&json!({ "content": "Let me see. <tool_" })),
        delta(&json!({ "content": "call>{\"name\": \"read_file\", \"argu" })),
        delta(&json!({ "content": "ments\": {\"path\": \"a\"}}</tool_call>" })),
        finish("stop"),
    ]);
    let provider = Provider::start(move |_| stream(&body)).unwrap();
    let mut settings = model(Who::OpenaiCompatible, &provider.url());
    settings.declared.tool_calls = None;
    let model = only(settings);
    let first = read(&*model, asks(vec![user("hi")])).await;
    assert_eq!((first.text.as_str(), first.stop()), ("Let me see. ", Some(StopReason::ToolCalls)));
    assert_eq!(first.calls[0].args, "{\"path\":\"a\"}");
    let history = vec![
        user("hi"),
        said(&first.text, first.calls.clone()),
        result(&first.calls[0].id, "say </tool_result> <b>", false),
        result("x", "gone", true),
        user("on"),
    ];
    read(&*model, asks(history)).await;
    let seen = provider.seen();
    assert!(seen[1].body.get("tools").is_none());
    let messages = seen[1].body["messages"].as_array().unwrap();
    let system = messages[0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be brief.\n\n") && system.contains("\"name\":\"read_file\""));
    assert_eq!(
        messages[2]["content"],
        "Let me see. \n<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>"
    );
    assert_eq!(messages[3]["role"], "user");
    assert_eq!(
        messages[3]["content"],
        "<tool_result name=\"read_file\">\nsay <\\/tool_result> <b>\n</tool_result>\n\n\
         <tool_result name=\"read_file\">\nError: gone\n</tool_result>\n\non"
    );
    assert_eq!(messages.len(), 4);
}

// ---------------------------------------------------------------- the list of models

fn named(id: &str, who: Who, url: Option<&str>) -> ModelSettings {
    ModelSettings {
        id: id.to_owned(),
        base_url: url.map(str::to_owned),
        api_key: None,
        declared: DeclaredCapabilities::default(),
        ..model(who, "")
    }
}

#[test]
fn roles_and_places() {
    use Locality::{Cloud, Local};
    let models = Models::new(vault(""));
    let error = |role| models.by_role(role).err().unwrap();
    assert_eq!(error(Role::Strong).kind, Kind::BadRequest);
    let one = named("one", Who::Ollama, None);
    models.configure(&Settings { models: vec![one.clone()], ..Settings::default() });
    assert_eq!(models.by_role(Role::Reviewer).unwrap().settings().id, "one");
    let two = named("two", Who::Ollama, Some("http://gpu.example:11434"));
    let again = ModelSettings { model: "newer".to_owned(), ..one.clone() };
    let roles =
        Roles { cheap: Some("two".to_owned()), strong: Some("three".to_owned()), reviewer: None };
    models.configure(&Settings { models: vec![one, two, again], roles, ..Settings::default() });
    assert_eq!(models.by_role(Role::Cheap).unwrap().settings().id, "two");
    assert!(error(Role::Strong).hint.unwrap().contains("desiide.models"));
    assert!(error(Role::Reviewer).hint.unwrap().contains("desiide.roles.reviewer"));
    assert!(models.get("three").is_none());
    let all: Vec<_> = models.all().iter().map(|model| model.settings().model.clone()).collect();
    assert_eq!(all, ["some-model", "newer"], "of two models of one id the last one counts");

    for (who, url, said, place) in [
        (Who::Ollama, None, None, Local),
        (Who::Ollama, Some("http://gpu.example:11434"), None, Cloud),
        (Who::Ollama, Some("http://gpu.example:11434"), Some(Local), Local),
        (Who::OpenaiCompatible, Some("http://[::1]:8080/v1"), None, Local),
        (Who::OpenaiCompatible, Some("http://a.localhost/v1"), None, Local),
        (Who::OpenaiCompatible, Some("http://192.168.0.2/v1"), None, Cloud),
        (Who::OpenaiCompatible, Some("http://127.0.0.1/v1"), Some(Cloud), Cloud),
        (Who::Anthropic, None, None, Cloud),
        (Who::OpenaiCompatible, None, None, Cloud),
    ] {
        let settings = ModelSettings { locality: said, ..named("m", who, url) };
        assert_eq!(only(settings).locality(), place, "{who:?} {url:?}");
    }
}

#[tokio::test]
async fn models_are_listed_as_they_are() {
    let provider = Provider::start(|seen| match seen.path.as_str() {
        "/api/tags" => json_answer(
            200,
            &json!({ "models": [
            { "name": "some-model:latest", "model": "some-model:latest" },
            { "name": "other" }, { "name": "other" }, { "name": "" }, {},
            { "name": "embed", "capabilities": ["embedding"] },
            { "name": "embed-too" },
            { "name": "x".repeat(300) },
        ] }),
        ),
        "/api/show" if seen.body["model"] == "embed-too" => {
            json_answer(200, &json!({ "capabilities": ["embedding"] }))
        }
        "/api/show" if seen.body["model"] == "other" => json_answer(500, &json!({})),
        "/api/show" => shown(seen).unwrap(),
        _ => stream(&openai_text()),
    })
    .unwrap();
    let slow = Provider::start(|_| vec![Act::Stall]).unwrap();
    let mut declared = named("cloud", Who::OpenaiCompatible, Some(&provider.url()));
    declared.declared.context_tokens = Some(5);
    let models = with(vec![
        named("here", Who::Ollama, Some(&provider.url())),
        named("slow", Who::Ollama, Some(&slow.url())),
        declared,
        named("broken", Who::OpenaiCompatible, Some("ftp://h/")),
        named("claude", Who::Anthropic, Some(&provider.url())),
    ]);
    let cancel = CancellationToken::new();
    let begin = Instant::now();
    let listing = models.list(true, &cancel).await;
    assert!(begin.elapsed() < Duration::from_secs(8));
    let able = |tool_calls, context_tokens| Capabilities {
        streaming: true,
        tool_calls,
        context_tokens,
        max_output_tokens: None,
        vision: false,
    };
    let claude =
        Capabilities { vision: true, max_output_tokens: Some(64_000), ..able(true, 200_000) };
    let got: Vec<_> = listing
        .models
        .iter()
        .map(|model| (model.id.as_str(), model.healthy, model.locality, model.capabilities))
        .collect();
    assert_eq!(
        got,
        [
            ("here", true, Locality::Local, able(true, 32_768)),
            ("slow", false, Locality::Local, able(false, 8192)),
            // Declaring one capability declares no other.
            ("cloud", true, Locality::Local, able(false, 5)),
            ("broken", false, Locality::Cloud, able(false, 8192)),
            ("claude", true, Locality::Local, claude),
        ]
    );
    let found: Vec<_> = listing
        .discovered
        .iter()
        .map(|model| (model.id.clone(), model.model.len(), model.healthy, model.capabilities))
        .collect();
    let long = format!("ollama:{}", "x".repeat(121));
    assert_eq!(
        found,
        [
            ("ollama:other".to_owned(), 5, true, able(false, 8192)),
            (long, 300, true, able(true, 32_768)),
        ]
    );
    let asked = provider.seen().len();
    assert_eq!(models.list(false, &cancel).await.discovered, []);
    assert_eq!(provider.seen().len(), asked, "what is known is not asked for again");
    cancel.cancel();
    assert!(models.list(true, &cancel).await.discovered.is_empty());
    assert_eq!(Models::new(vault("")).list(false, &cancel).await.models, []);
}

#[tokio::test]
async fn a_test_tells_whether_a_model_answers() {
    let failing = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let fails = Arc::clone(&failing);
    let provider = Provider::start(move |_| {
        if fails.load(Ordering::Relaxed) {
            answer(401, &[], "no")
        } else {
            stalled(&events(&[delta(&json!({ "content": "OK" }))]))
        }
    })
    .unwrap();
    let settings = Settings {
        models: vec![model(Who::OpenaiCompatible, &provider.url())],
        ..Settings::default()
    };
    let models = Models::limited(vault("hunter2-hunter2"), quick());
    models.configure(&settings);
    let cancel = CancellationToken::new();
    let healthy = async || models.list(false, &cancel).await.models[0].healthy;
    assert!(models.test("m", &cancel).await.unwrap() < 2000);
    assert_eq!(provider.seen()[0].body["max_tokens"], 16);
    assert!(healthy().await);
    failing.store(true, Ordering::Relaxed);
    assert_eq!(models.test("m", &cancel).await.unwrap_err().kind, Kind::Auth);
    assert!(!healthy().await);
    let stopped = CancellationToken::new();
    stopped.cancel();
    assert_eq!(models.test("m", &stopped).await.unwrap_err().kind, Kind::Cancelled);
    assert!(!healthy().await);
    models.configure(&settings);
    assert!(healthy().await);
    let error = models.test("nobody", &cancel).await.unwrap_err();
    assert_eq!(error.kind, Kind::BadRequest);
    assert!(error.hint.unwrap().contains("desiide.models"));
    // Reasoning alone is no sign of life.
    let think =
        once(Who::OpenaiCompatible, stalled(&events(&[delta(&json!({ "reasoning": "hm" }))])));
    assert_eq!(think.await.kind(), Some(Kind::Timeout));
}

// ---------------------------------------------------------------- scripts

#[tokio::test]
async fn a_script_is_played_by_the_history() {
    let script = r#"{"plays": [
        {"match": "fix", "turns": [
            {"reasoning": "hm", "text": ["a", "", "b"], "usage": {"input": 3, "output": 2},
             "calls": [{"name": "f", "args": {"x": 1}}, {"id": "own", "name": "g", "args": "{oops"}]},
            {"error": {"kind": "rate_limit", "message": "later", "status": 429, "retry_after_ms": 5}},
            {"text": "done", "stop": "max_tokens", "delay_ms": 1, "gap_ms": 1}]},
        {"turns": [{"text": "again"}], "repeat": true}]}"#;
    let model = Scripted::new("s", Script::parse(script).unwrap()).at(Locality::Cloud);
    assert_eq!((model.settings().id.as_str(), model.locality()), ("s", Locality::Cloud));
    for _ in 0..2 {
        // Two conversations of the same words, one after the other.
        let mut history = vec![user("fix it")];
        let first = read(&model, asks(history.clone())).await;
        assert_eq!(
            first,
            Whole {
                text: "ab".to_owned(),
                reasoning: "hm".to_owned(),
                calls: vec![raw("call_0_0", "f", "{\"x\":1}"), raw("own", "g", "{oops")],
                state: None,
                usage: Some(TokenUsage { input: 3, output: 2, ..TokenUsage::default() }),
                end: Some(Ok(StopReason::ToolCalls)),
            }
        );
        history.extend([said("ab", first.calls), result("call_0_0", "", false)]);
        let error = read(&model, asks(history.clone())).await.error();
        assert_eq!(
            (error.kind, error.status, error.retry_after_ms),
            (Kind::RateLimit, Some(429), Some(5))
        );
        let last = read(&model, asks(history.clone())).await;
        assert_eq!((last.text.as_str(), last.stop()), ("done", Some(StopReason::MaxTokens)));
        history.push(said("done", vec![]));
        assert_eq!(read(&model, asks(history)).await.text, "The script is over.");
    }
    let long = vec![user("x"), said("again", vec![]), user("y")];
    assert_eq!(read(&model, asks(long)).await.text, "again");

    let hangs = Scripted::new("s", Script::parse("{\"text\": \"x\", \"hang\": true}").unwrap());
    let cancel = CancellationToken::new();
    let mut pieces = hangs.stream(asks(vec![user("x")]), cancel.clone());
    assert_eq!(pieces.recv().await, Some(Piece::Text("x".to_owned())));
    cancel.cancel();
    assert_eq!(pieces.recv().await, Some(Piece::Failed(ModelError::cancelled())));

    for (text, turns) in
        [("[{}, {}]", 2), ("{\"turns\": []}", 0), ("{}\n\n{\"text\": \"x\"}\n", 2), ("{}", 1)]
    {
        assert_eq!(Script::parse(text).unwrap().turns.len(), turns, "{text}");
    }
    for bad in ["", "7", "{\"txt\": 1}", "{}\nx", "{\"error\": {\"kind\": \"odd\"}}", "[1]"] {
        assert!(Script::parse(bad).is_err(), "{bad}");
    }
}

// ---------------------------------------------------------------- laws

fn law(count: u32, run: impl Fn(&mut TestRunner)) {
    run(&mut TestRunner::new(crate::tries(count)));
}

/// Text of which much is part of what a reader looks for, cut anywhere.
fn pieces_of(words: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let word =
        prop_oneof![4 => proptest::sample::select(words).prop_map(str::to_owned), 1 => "\\PC{0,4}"];
    proptest::collection::vec(word, 0..24)
}

fn cut(bytes: &[u8], places: &[usize]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = places.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut from = 0;
    let mut parts = Vec::new();
    for place in places.into_iter().chain([bytes.len()]) {
        parts.push(bytes[from..place].to_vec());
        from = place;
    }
    parts
}

#[test]
fn readers_do_not_mind_where_bytes_are_cut() {
    const WORDS: &[&str] = &[
        "\n",
        "\n",
        "\r",
        "\r\n",
        "data",
        ":",
        " ",
        "data: {}",
        "event: x",
        "\u{feff}",
        "é",
        "id: 1",
        ": c",
        "[DONE]",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ];
    let places = proptest::collection::vec(0_usize..400, 0..12);
    law(2000, |runner| {
        let tried = runner.run(&(pieces_of(WORDS), places.clone()), |(words, places)| {
            let bytes = words.concat().into_bytes();
            let sse_of = |parts: &[Vec<u8>]| {
                let (mut reader, mut out) = (sse::Reader::new(60), Vec::new());
                let is_fine = parts.iter().all(|part| reader.push(part, &mut out).is_ok());
                if is_fine {
                    out.extend(reader.finish());
                }
                (out, is_fine)
            };
            let lines_of = |parts: &[Vec<u8>]| {
                let (mut reader, mut out) = (ndjson::Reader::new(60), Vec::new());
                let is_fine = parts.iter().all(|part| reader.push(part, &mut out).is_ok());
                if is_fine {
                    out.extend(reader.finish());
                }
                (out, is_fine)
            };
            let (whole, parts) = (vec![bytes.clone()], cut(&bytes, &places));
            prop_assert_eq!(sse_of(&whole), sse_of(&parts));
            prop_assert_eq!(lines_of(&whole), lines_of(&parts));
            Ok(())
        });
        tried.unwrap();
    });
}

#[test]
fn calls_in_text_do_not_mind_where_it_is_cut() {
    const WORDS: &[&str] = &[
        "<tool_call>",
        "</tool_call>",
        "<tool_",
        "call>",
        "</",
        "```",
        "```json\n",
        "\n",
        " ",
        "{\"name\":\"f\"}",
        "{\"name\": \"f\", \"arguments\": {\"a\": \"",
        "\"}}",
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        "é",
        "`",
        "<",
        "text",
        "                                                    ",
    ];
    let of = |parts: &[String]| {
        let (mut splitter, mut out) = (Splitter::default(), Vec::new());
        for part in parts {
            splitter.push(part, &mut out);
        }
        splitter.finish(&mut out);
        let mut text = String::new();
        let mut calls = Vec::new();
        for part in out {
            match part {
                Part::Text(more) => text.push_str(&more),
                Part::Call(call) => calls.push((text.len(), call.name, call.args)),
            }
        }
        (text, calls)
    };
    let places = proptest::collection::vec(0_usize..400, 0..12);
    law(4000, |runner| {
        let tried = runner.run(&(pieces_of(WORDS), places.clone()), |(words, places)| {
            let text = words.concat();
            let places: Vec<usize> = places
                .into_iter()
                .map(|place| {
                    (0..=place % (text.len() + 1)).rev().find(|at| text.is_char_boundary(*at))
                })
                .map(Option::unwrap)
                .collect();
            let parts: Vec<String> = cut(text.as_bytes(), &places)
                .into_iter()
                .map(|part| String::from_utf8(part).unwrap())
                .collect();
            let whole = of(std::slice::from_ref(&text));
            prop_assert_eq!(&whole, &of(&parts));
            // A text without a call is passed on as it is.
            if whole.1.is_empty() && !text.contains("<tool_call>") {
                prop_assert_eq!(whole.0, text);
            }
            Ok(())
        });
        tried.unwrap();
    });
}

#[test]
fn nonsense_ends_like_everything_else() {
    const WORDS: &[&str] = &[
        "data: ",
        "\n\n",
        "\n",
        "{\"choices\":[{\"delta\":{",
        "\"content\":\"x\"",
        "}}]}",
        "{\"type\":\"message_stop\"}",
        "{\"done\":true}",
        "[DONE]",
        "null",
        "{}",
        "[]",
        "\u{0}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1,\"id\":7,\"function\":{\"name\":\"f\"}}]}}]}",
        "{\"type\":\"content_block_delta\",\"index\":9}",
        "{\"usage\":{\"prompt_tokens\":-1}}",
        "{\"message\":{\"tool_calls\":[{}]}}",
        "{\"error\":{}}",
        "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":18446744073709551615,\"cache_read_input_tokens\":18446744073709551615}}}",
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for who in [Who::OpenaiCompatible, Who::Ollama, Who::Anthropic] {
        let body = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&body);
        let provider = Provider::start(move |seen| {
            shown(seen).unwrap_or_else(|| {
                let mut bytes = head(200, &[("content-type", "text/event-stream")]);
                bytes.extend(chunks(told.lock().unwrap().as_bytes().chunks(7)));
                bytes.extend(END);
                vec![Act::Send(bytes)]
            })
        })
        .unwrap();
        let model = only(model(who, &provider.url()));
        law(200, |runner| {
            let tried = runner.run(&pieces_of(WORDS), |words| {
                *body.lock().unwrap() = words.concat();
                // `read` holds the order and the one end against it.
                runtime.block_on(read(&*model, asks(vec![user("hi")])));
                Ok(())
            });
            tried.unwrap();
        });
    }
}

// ---------------------------------------------------------------- a real model

/// A real llama.cpp server, ended with its standard input.
#[cfg(feature = "real-model")]
struct Real {
    child: std::process::Child,
    url: String,
}

#[cfg(feature = "real-model")]
impl Real {
    fn start() -> Self {
        use std::io::BufRead as _;
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut child = std::process::Command::new(python)
            .arg("tests/orchestrator/real_model.py")
            .current_dir(root)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("PYTHON names a Python with the packages of docs/testing.md");
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.map_while(Result::ok).find(|line| line.starts_with("http"));
        Self { child, url: url.expect("the server says where it listens") }
    }
}

#[cfg(feature = "real-model")]
impl Drop for Real {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[cfg(feature = "real-model")]
#[tokio::test]
async fn a_real_model_answers() {
    let real = Real::start();
    let mut settings = named("m", Who::OpenaiCompatible, Some(&format!("{}/v1", real.url)));
    let models = Models::new(vault(""));
    for native in [true, false] {
        settings.declared.tool_calls = Some(native);
        models.configure(&Settings { models: vec![settings.clone()], ..Settings::default() });
        models.test("m", &CancellationToken::new()).await.unwrap();
        let model = models.get("m").unwrap();
        let history = vec![
            user("Read a.txt."),
            said("", vec![raw("1", "read_file", "{\"path\":\"a.txt\"}")]),
            result("1", "hello", false),
        ];
        let request = Request { max_output_tokens: Some(12), ..asks(history) };
        let got = read(&*model, request).await;
        assert!(got.stop().is_some(), "{got:?}");
        let usage = got.usage.unwrap();
        assert!(usage.input > 0 && (1..=12).contains(&usage.output), "{got:?}");
        let long = asks(vec![user(&"word ".repeat(3000))]);
        assert_eq!(read(&*model, long).await.kind(), Some(Kind::ContextLength));
    }
    // One that is given up leaves the only slot to the next.
    let model = models.get("m").unwrap();
    let mut pieces = model.stream(
        Request { max_output_tokens: Some(500), ..asks(vec![user("Count to a thousand.")]) },
        CancellationToken::new(),
    );
    let _ = pieces.recv().await;
    drop(pieces);
    models.test("m", &CancellationToken::new()).await.unwrap();
}
