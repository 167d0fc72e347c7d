//! Requests over HTTP: time limits, retries, size limits, and what went wrong in a person's words.

use std::error::Error as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use futures::stream::BoxStream;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::time::timeout;
use url::{Host, Url};

use super::redact::Redactor;
use super::{ModelError, ModelErrorKind};

/// What a request may take up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until the headers of an answer are there.
    pub headers: Duration,
    /// The same for a model on this machine, which may have to be loaded first.
    pub headers_local: Duration,
    /// Until the headers of an answer to a probe or a discovery are there.
    pub headers_probe: Duration,
    /// From the headers to the first bytes of the body.
    pub first_chunk: Duration,
    /// Between two pieces of the body.
    pub between_chunks: Duration,
    /// For what may still follow the end of an answer.
    pub after_end: Duration,
    /// The wait before the first retry; it doubles with each further one.
    pub first_delay: Duration,
    /// The longest such wait.
    pub longest_delay: Duration,
    /// The longest wait a server may ask for.
    pub longest_retry_after: Duration,
    /// Bytes of one streamed answer.
    pub stream_bytes: usize,
    /// Bytes of one event or line of it.
    pub event_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            headers: Duration::from_secs(10),
            headers_local: Duration::from_secs(120),
            headers_probe: Duration::from_secs(2),
            first_chunk: Duration::from_secs(60),
            between_chunks: Duration::from_secs(30),
            after_end: Duration::from_secs(5),
            first_delay: Duration::from_millis(500),
            longest_delay: Duration::from_secs(8),
            longest_retry_after: Duration::from_secs(60),
            stream_bytes: 64 << 20,
            event_bytes: 8 << 20,
        }
    }
}

/// Characters of an error's body that are used.
const ERROR_CHARS: usize = 2000;
/// Bytes of an error's body that are read.
const ERROR_BYTES: usize = 64 << 10;
/// Redirects within one host that are followed.
const REDIRECTS: usize = 3;

/// A request.
pub(super) struct Ask {
    /// Posted as JSON; none for a GET.
    pub(super) body: Option<Value>,
    /// Where to.
    pub(super) url: Url,
    /// Headers without secrets.
    pub(super) headers: Vec<(&'static str, &'static str)>,
    /// The secret, and the header and prefix it is sent with.
    pub(super) key: Option<Key>,
    /// How often it is sent again.
    pub(super) retries: u32,
    /// Until the headers of the answer are there.
    pub(super) header_limit: Duration,
}

/// A secret and how it is sent.
#[derive(Clone)]
pub(super) struct Key {
    /// The header's name in lower case.
    pub(super) header: &'static str,
    /// What stands before the value.
    pub(super) prefix: &'static str,
    /// The secret.
    pub(super) value: String,
}

/// A request that was not answered well.
pub(super) struct Failure {
    /// What it means.
    pub(super) error: ModelError,
    /// The body as JSON; null when it was none.
    pub(super) body: Value,
}

impl Failure {
    fn new(error: ModelError) -> Box<Self> {
        Box::new(Self { error, body: Value::Null })
    }
}

/// Sends requests. One pair of connection pools: one for this machine, which asks no proxy and no name
/// server, one for everything else.
pub(super) struct Http {
    limits: Limits,
    redactor: Redactor,
    loopback: OnceLock<Option<reqwest::Client>>,
    remote: OnceLock<Option<reqwest::Client>>,
}

impl Http {
    pub(super) const fn new(limits: Limits, redactor: Redactor) -> Self {
        Self { limits, redactor, loopback: OnceLock::new(), remote: OnceLock::new() }
    }

    pub(super) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// An error whose text has no secrets in it.
    pub(super) fn error(&self, kind: ModelErrorKind, text: &str, key: Option<&Key>) -> ModelError {
        let text = self.redactor.redact_and(text, key.map(|key| key.value.as_str()));
        ModelError::new(kind, clip(&text))
    }

    fn client(&self, url: &Url) -> Option<&reqwest::Client> {
        let build = |builder: reqwest::ClientBuilder| {
            builder
                .user_agent(concat!("shellgate-orchestrator/", env!("CARGO_PKG_VERSION")))
                .redirect(Policy::custom(|attempt| {
                    let stays = attempt.previous().len() <= REDIRECTS
                        && attempt
                            .previous()
                            .first()
                            .is_some_and(|first| is_same_server(first, attempt.url()));
                    if stays { attempt.follow() } else { attempt.stop() }
                }))
                .build()
                .ok()
        };
        let client = if is_loopback(url) {
            self.loopback.get_or_init(|| {
                let builder = reqwest::Client::builder();
                build(builder.no_proxy().dns_resolver(std::sync::Arc::new(Loopback)))
            })
        } else {
            self.remote.get_or_init(|| build(reqwest::Client::builder()))
        };
        client.as_ref()
    }

    /// Sends a request until it is answered well or there is no point in it. Nothing is sent again once
    /// a body was begun, after a time-out, or when the server asks to wait for too long.
    pub(super) async fn send(&self, ask: &Ask) -> Result<Reply, Box<Failure>> {
        let mut tried = 0;
        loop {
            let (failure, is_passing) = match self.try_once(ask).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => failed,
            };
            let asked = failure.error.retry_after_ms.map(Duration::from_millis);
            let is_too_long = asked.is_some_and(|wait| wait > self.limits.longest_retry_after);
            if !is_passing || is_too_long || tried >= ask.retries {
                return Err(failure);
            }
            let wait = asked.unwrap_or_else(|| self.delay(tried));
            tokio::time::sleep(wait).await;
            tried += 1;
        }
    }

    /// The wait before retry `n`, from 0; half of it is random.
    fn delay(&self, n: u32) -> Duration {
        let whole = self
            .limits
            .first_delay
            .saturating_mul(2_u32.saturating_pow(n))
            .min(self.limits.longest_delay);
        let [random, ..] = uuid::Uuid::new_v4().into_bytes();
        whole.mul_f64(0.5 + f64::from(random) / 510.0)
    }

    /// Sends it once; with a failure, whether it may pass.
    async fn try_once(&self, ask: &Ask) -> Result<Reply, (Box<Failure>, bool)> {
        let key = ask.key.as_ref();
        let place = place(&ask.url);
        let fail = |kind, text: &str, passes| (Failure::new(self.error(kind, text, key)), passes);
        let bad = |text: &str| fail(ModelErrorKind::BadRequest, text, false);
        let client = self.client(&ask.url).ok_or_else(|| bad("no HTTP client could be made"))?;
        let headers = headers(ask).map_err(|error| (Failure::new(error), false))?;
        let method = if ask.body.is_some() { Method::POST } else { Method::GET };
        let mut request = client.request(method, ask.url.clone()).headers(headers);
        if let Some(body) = &ask.body {
            request = request.json(body);
        }
        let answered = timeout(ask.header_limit, request.send()).await.map_err(|_| {
            let seconds = ask.header_limit.as_secs_f32();
            let text = format!("{place} did not answer within {seconds} seconds");
            fail(ModelErrorKind::Timeout, &text, false)
        })?;
        let response = answered.map_err(|error| {
            if error.is_builder() {
                return bad(&format!("the request to {place} cannot be built: {}", chain(error)));
            }
            let text = format!("{place} cannot be reached: {}", chain(error));
            fail(ModelErrorKind::Network, &text, true)
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(Reply::new(response, self.limits, place, self.redactor.clone()));
        }
        let passes = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(retry_after);
        if status.is_redirection() && response.headers().contains_key(LOCATION) {
            let text = format!(
                "{place} answers with HTTP {status} and points elsewhere; other hosts are not asked",
                status = status.as_u16()
            );
            let mut failed = fail(ModelErrorKind::BadRequest, &text, false);
            failed.0.error.status = Some(status.as_u16());
            return Err(failed);
        }
        let body = error_body(response, self.limits.between_chunks).await;
        let json = serde_json::from_str::<Value>(&body).unwrap_or_default();
        let said = said(&json).map_or_else(|| clip(body.trim()), |said| clip(&said));
        let kind = kind_of(status.as_u16(), &said);
        let text = match said.as_str() {
            "" => format!("{place} answers with HTTP {}", status.as_u16()),
            said => format!("HTTP {}: {said}", status.as_u16()),
        };
        let (mut failure, _) = fail(kind, &text, passes);
        failure.error.status = Some(status.as_u16());
        failure.error.retry_after_ms =
            retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        failure.body = json;
        Err((failure, passes))
    }
}

/// Whether both addresses are one server, or one and its encrypted twin.
fn is_same_server(one: &Url, other: &Url) -> bool {
    let upgrade = one.scheme() == "http" && other.scheme() == "https";
    let ports = (one.port_or_known_default(), other.port_or_known_default());
    one.host() == other.host()
        && ((one.scheme() == other.scheme() && ports.0 == ports.1)
            || (upgrade && ports == (Some(80), Some(443))))
}

/// The headers of a request.
fn headers(ask: &Ask) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &ask.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(key) = &ask.key {
        let value = format!("{}{}", key.prefix, key.value.trim());
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            ModelError::new(
                ModelErrorKind::Auth,
                "the API key holds characters that a header cannot carry",
            )
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(key.header), value);
    }
    Ok(headers)
}

/// Scheme, host and port, for messages.
fn place(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// An error and its causes without repetition and without the address.
fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut parts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(source) = cause {
        let text = source.to_string();
        if parts.last().is_none_or(|last| !last.contains(&text)) {
            parts.push(text);
        }
        cause = source.source();
    }
    parts.join(": ")
}

/// The first characters.
fn clip(text: &str) -> String {
    text.chars().take(ERROR_CHARS).collect()
}

/// The beginning of an error's body; what cannot be read is left out.
async fn error_body(response: reqwest::Response, limit: Duration) -> String {
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while bytes.len() < ERROR_BYTES
        && let Ok(Some(Ok(chunk))) = timeout(limit, stream.next()).await
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(ERROR_BYTES);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What an error's body says, wherever servers put it.
pub(super) fn said(body: &Value) -> Option<String> {
    let error = body.get("error");
    [error.and_then(|error| error.get("message")), error, body.get("message"), body.get("detail")]
        .into_iter()
        .flatten()
        .find_map(Value::as_str)
        .map(str::trim)
        .filter(|said| !said.is_empty())
        .map(str::to_owned)
}

/// Whether a text complains about too much text.
pub(super) fn is_context_length(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    [
        "context length",
        "context_length",
        "context window",
        "context size",
        "maximum context",
        "too many tokens",
        "prompt is too long",
        "reduce the length",
        "num_ctx",
    ]
    .iter()
    .any(|phrase| text.contains(phrase))
}

/// The kind of a status, where the text decides between two.
pub(super) fn kind_of(status: u16, text: &str) -> ModelErrorKind {
    match status {
        401 | 403 => ModelErrorKind::Auth,
        429 => ModelErrorKind::RateLimit,
        408 => ModelErrorKind::Timeout,
        413 => ModelErrorKind::ContextLength,
        400 | 422 if is_context_length(text) => ModelErrorKind::ContextLength,
        400..=499 => ModelErrorKind::BadRequest,
        500.. => ModelErrorKind::Server,
        _ => ModelErrorKind::Unknown,
    }
}

/// The wait a server asks for: seconds or a date (RFC 9110, 10.2.3).
fn retry_after(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = http_date(text)?;
    Some(at.duration_since(SystemTime::now()).unwrap_or_default())
}

/// A date in one of the three forms of RFC 9110, 5.6.7.
fn http_date(text: &str) -> Option<SystemTime> {
    let civil = |format| {
        jiff::civil::DateTime::strptime(format, text)
            .ok()
            .and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC).ok())
    };
    civil("%a, %d %b %Y %H:%M:%S GMT")
        .or_else(|| civil("%A, %d-%b-%y %H:%M:%S GMT"))
        .or_else(|| civil("%a %b %e %H:%M:%S %Y"))
        .map(|date| SystemTime::from(date.timestamp()))
}

/// The body of an answer.
pub(super) struct Reply {
    stream: BoxStream<'static, reqwest::Result<Vec<u8>>>,
    content_type: String,
    limits: Limits,
    place: String,
    redactor: Redactor,
    has_begun: bool,
    read: usize,
}

impl Reply {
    fn new(response: reqwest::Response, limits: Limits, place: String, redactor: Redactor) -> Self {
        let content_type = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_ascii_lowercase();
        Self {
            stream: response.bytes_stream().map(|chunk| chunk.map(Vec::from)).boxed(),
            content_type,
            limits,
            place,
            redactor,
            has_begun: false,
            read: 0,
        }
    }

    /// Whether the server says that this is one JSON text.
    pub(super) fn is_json(&self) -> bool {
        self.content_type.split(';').next().is_some_and(|kind| kind.trim() == "application/json")
    }

    fn fail(&self, kind: ModelErrorKind, text: &str) -> ModelError {
        ModelError::new(kind, self.redactor.redact(text))
    }

    /// The next bytes; none at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, ModelError> {
        let limit =
            if self.has_begun { self.limits.between_chunks } else { self.limits.first_chunk };
        self.chunk_within(limit).await
    }

    /// The next bytes of what may follow an end; none at the end.
    pub(super) async fn rest(&mut self) -> Result<Option<Vec<u8>>, ModelError> {
        self.chunk_within(self.limits.after_end.min(self.limits.between_chunks)).await
    }

    async fn chunk_within(&mut self, limit: Duration) -> Result<Option<Vec<u8>>, ModelError> {
        if !self.has_begun && self.content_type.starts_with("text/html") {
            let text = format!("{} answers with a web page; check the base URL", self.place);
            return Err(self.fail(ModelErrorKind::Server, &text));
        }
        match timeout(limit, self.stream.next()).await {
            Ok(None) => Ok(None),
            Ok(Some(Ok(chunk))) => {
                self.has_begun = true;
                self.read = self.read.saturating_add(chunk.len());
                if self.read > self.limits.stream_bytes {
                    let most = self.limits.stream_bytes;
                    let text = format!("the answer of {} is longer than {most} bytes", self.place);
                    return Err(self.fail(ModelErrorKind::Server, &text));
                }
                Ok(Some(chunk))
            }
            Ok(Some(Err(error))) => {
                let text = format!("the answer of {} broke off: {}", self.place, chain(error));
                Err(self.fail(ModelErrorKind::Network, &text))
            }
            Err(_) => {
                let seconds = limit.as_secs_f32();
                let text = format!("{} sent nothing for {seconds} seconds", self.place);
                Err(self.fail(ModelErrorKind::Timeout, &text))
            }
        }
    }

    /// The whole body as JSON.
    pub(super) async fn json(&mut self) -> Result<Value, ModelError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > self.limits.event_bytes {
                let text = format!("the answer of {} is too long", self.place);
                return Err(self.fail(ModelErrorKind::Server, &text));
            }
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            let text = format!("the answer of {} is no JSON: {error}", self.place);
            self.fail(ModelErrorKind::Server, &text)
        })
    }
}

/// The base address of a model, or the default.
///
/// Only `http` and `https` can be asked.
pub(super) fn base(configured: Option<&str>, default: Option<&str>) -> Result<Url, ModelError> {
    let bad = |text: String| {
        ModelError::new(ModelErrorKind::BadRequest, text)
            .advise("set baseUrl of this model in desiide.models to an http or https address")
    };
    let text = configured
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .or(default)
        .ok_or_else(|| bad("this model needs a base URL".to_owned()))?;
    let url = Url::parse(text).map_err(|error| bad(format!("the base URL is none: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        let scheme = url.scheme();
        return Err(bad(format!("the base URL begins with `{scheme}:`, which cannot be asked")));
    }
    Ok(url)
}

/// The base address with a path behind its own.
pub(super) fn join(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let whole = format!("{}/{path}", base.path().trim_end_matches('/'));
    url.set_path(&whole);
    url.set_fragment(None);
    url
}

/// Whether an address is this machine by its name alone.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|old| old.is_loopback())
        }
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// Finds this machine under every name, so that `localhost` is never anything else.
struct Loopback;

impl Resolve for Loopback {
    fn resolve(&self, _name: Name) -> Resolving {
        let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let found: Addrs =
            Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
        Box::pin(std::future::ready(Ok(found)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_seconds_or_a_date_in_three_forms() {
        let of = |text: &str| retry_after(&HeaderValue::from_str(text).unwrap());
        assert_eq!(of("3"), Some(Duration::from_secs(3)));
        assert_eq!(of("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(of("-1"), None);
        assert_eq!(of("soon"), None);
        for past in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(of(past), Some(Duration::ZERO), "{past}");
            let expected = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
            assert_eq!(http_date(past), Some(expected));
        }
        assert!(of("Fri, 01 Jan 2100 00:00:00 GMT").unwrap() > Duration::from_secs(1 << 30));
    }

    #[test]
    fn statuses_have_kinds() {
        use ModelErrorKind as Kind;
        for (status, text, kind) in [
            (401, "", Kind::Auth),
            (403, "", Kind::Auth),
            (429, "", Kind::RateLimit),
            (408, "", Kind::Timeout),
            (413, "", Kind::ContextLength),
            (400, "This model's maximum context length is 8192 tokens", Kind::ContextLength),
            (422, "Prompt is too long", Kind::ContextLength),
            (400, "no such model", Kind::BadRequest),
            (404, "the context window", Kind::BadRequest),
            (500, "", Kind::Server),
            (529, "", Kind::Server),
        ] {
            assert_eq!(kind_of(status, text), kind, "{status} {text}");
        }
    }

    #[test]
    fn another_port_is_another_server() {
        let same = |one: &str, other: &str| {
            is_same_server(&Url::parse(one).unwrap(), &Url::parse(other).unwrap())
        };
        assert!(same("http://h/a", "http://h:80/b"));
        assert!(same("http://h/a", "https://h/a"));
        for other in ["http://h:81/", "http://i/", "ftp://h/", "https://h:444/"] {
            assert!(!same("http://h/a", other), "{other}");
        }
        assert!(!same("https://h/a", "http://h/a"));
    }

    #[test]
    fn only_http_addresses_are_a_base_and_loopback_is_told_by_name() {
        for text in
            ["file:///etc/passwd", "ftp://h/", "javascript:1", "unix:/run/x", "nonsense", ""]
        {
            assert_eq!(
                base(Some(text), None).unwrap_err().kind,
                ModelErrorKind::BadRequest,
                "{text}"
            );
        }
        for (text, local) in [
            ("http://localhost:1", true),
            ("http://a.LOCALHOST./v1", true),
            ("http://127.8.9.1", true),
            ("http://[::1]:11434/v1", true),
            ("http://0x7f.1/", true),
            ("http://192.168.1.4", false),
            ("http://localhost.evil.example", false),
            ("http://notlocalhost", false),
        ] {
            assert_eq!(is_loopback(&base(Some(text), None).unwrap()), local, "{text}");
        }
        let base = base(Some("https://h.example/openai/?api-version=1#x"), None).unwrap();
        let joined = "https://h.example/openai/chat/completions?api-version=1";
        assert_eq!(join(&base, "chat/completions").as_str(), joined);
    }
}
