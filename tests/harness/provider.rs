//! A provider of models that answers what a test says, byte by byte, and tells what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `GET` or `POST`.
    pub method: String,
    /// Path with the query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null when it was no JSON.
    pub body: Value,
    /// How many requests came before.
    pub number: usize,
}

impl Seen {
    /// The value of a header; empty without one.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// One step of an answer. After the last one the connection is closed.
#[derive(Clone, Debug)]
pub enum Act {
    /// Bytes, headers included.
    Send(Vec<u8>),
    /// Nothing for a while.
    Wait(Duration),
    /// Nothing until the other side closes.
    Stall,
}

/// What an answer is made from.
type Script = dyn Fn(&Seen) -> Vec<Act> + Send + Sync;

/// A provider that listens on a port of this machine until it is dropped.
pub struct Provider {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Box<Script>,
    seen: Mutex<Vec<Seen>>,
    abandoned: AtomicUsize,
    is_over: AtomicBool,
}

impl Provider {
    /// Listens; each request is answered by `script`.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(
        script: impl Fn(&Seen) -> Vec<Act> + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Box::new(script),
            seen: Mutex::default(),
            abandoned: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        });
        let server = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if server.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let server = Arc::clone(&server);
                if let Ok(stream) = stream {
                    std::thread::spawn(move || server.serve(&stream));
                }
            }
        });
        Ok(Self { address, shared })
    }

    /// Its address without a path: `http://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many stalled answers the other side gave up.
    pub fn abandoned(&self) -> usize {
        self.shared.abandoned.load(Ordering::Relaxed)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) {
        let Some(seen) = self.read(stream) else { return };
        for act in (self.script)(&seen) {
            let mut stream = stream;
            match act {
                Act::Send(bytes) => {
                    if stream.write_all(&bytes).is_err() {
                        return;
                    }
                }
                Act::Wait(time) => std::thread::sleep(time),
                Act::Stall => {
                    let mut rest = [0];
                    let _ = stream.read(&mut rest);
                    self.abandoned.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    fn read(&self, stream: &TcpStream) -> Option<Seen> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = Seen { method, path, headers, body, number: all.len() };
        all.push(seen.clone());
        Some(seen)
    }
}

/// The head of an answer whose body comes in chunks.
pub fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut text =
        format!("HTTP/1.1 {status} Status\r\nconnection: close\r\ntransfer-encoding: chunked\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// Bytes as one chunk each.
pub fn chunks<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        bytes.extend(piece);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// The end of a body in chunks. A body that ends without it was cut.
pub const END: &[u8] = b"0\r\n\r\n";

/// A whole answer.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<Act> {
    let mut bytes = head(status, headers);
    bytes.extend(chunks([body.as_bytes()]));
    bytes.extend(END);
    vec![Act::Send(bytes)]
}

/// A whole answer of JSON.
pub fn json(status: u16, body: &Value) -> Vec<Act> {
    answer(status, &[("content-type", "application/json")], &body.to_string())
}

/// A whole stream.
pub fn stream(body: &str) -> Vec<Act> {
    answer(200, &[("content-type", "text/event-stream")], body)
}

/// A whole stream whose chunks end at these places.
pub fn stream_cut(body: &[u8], places: &[usize]) -> Vec<Act> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for place in places.iter().copied().chain([body.len()]) {
        pieces.push(body.get(from..place).unwrap_or_default());
        from = place;
    }
    let mut bytes = head(200, &[("content-type", "text/event-stream")]);
    bytes.extend(chunks(pieces));
    bytes.extend(END);
    vec![Act::Send(bytes)]
}

/// A stream that breaks off behind `body`.
pub fn broken(body: &str) -> Vec<Act> {
    let mut bytes = head(200, &[("content-type", "text/event-stream")]);
    bytes.extend(chunks([body.as_bytes()]));
    vec![Act::Send(bytes)]
}

/// A stream that says nothing more behind `body` and stays open.
pub fn stalled(body: &str) -> Vec<Act> {
    let mut acts = broken(body);
    acts.push(Act::Stall);
    acts
}
