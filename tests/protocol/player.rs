//! Plays a session: one step per line of JSON.
//!
//! - `{"send": M}` sends a message, `{"raw": T}` bytes as they stand, `{"repeat": N, "raw": T}` N times.
//! - `{"expect": P}` waits for a message that matches P and was not matched before: objects match when
//!   they hold what P holds, everything else when it is equal. A text `$name` matches anything the first
//!   time and the same again later, and is put in place in what is sent.
//! - `{"never": P}` holds when nothing that came so far matches.
//! - `{"write": [PATH, TEXT]}` writes a file of the workspace, `{"read": [PATH, TEXT]}` compares one.
//! - `{"close": true}` ends the stream, `{"ended": "clean"}` waits for the end of the service.
//!
//! Lines that begin with `#` are for people. `$ROOT` is the workspace.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use shellgate_orchestrator::rpc::frame::{FrameLimits, FrameReader, frame};
use shellgate_orchestrator::server::Ending;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ledger::Ledger;

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The client's side of one session.
pub(crate) struct Player {
    pub(crate) stream: Option<DuplexStream>,
    pub(crate) service: Option<JoinHandle<Ending>>,
    pub(crate) root: PathBuf,
    reader: FrameReader,
    came: Vec<(Value, bool)>,
    bound: HashMap<String, Value>,
    pub(crate) ledger: Ledger,
}

impl Player {
    pub(crate) fn new(stream: DuplexStream, service: JoinHandle<Ending>, root: PathBuf) -> Self {
        let bound = HashMap::from([("$ROOT".to_owned(), Value::from(root.to_str().unwrap()))]);
        Self {
            stream: Some(stream),
            service: Some(service),
            root,
            reader: FrameReader::new(FrameLimits::default()),
            came: Vec::new(),
            bound,
            ledger: Ledger::new(),
        }
    }

    /// Plays all steps.
    pub(crate) async fn play(&mut self, steps: &str) -> Result<(), String> {
        for (number, line) in steps.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let step: Value = serde_json::from_str(line)
                .map_err(|error| format!("line {}: {error}", number + 1))?;
            self.step(&step)
                .await
                .map_err(|error| format!("line {}: {error}\n  {line}", number + 1))?;
        }
        Ok(())
    }

    pub(crate) async fn step(&mut self, step: &Value) -> Result<(), String> {
        if let Some(message) = step.get("send") {
            let message = self.filled(message);
            self.ledger.sent(&message);
            let bytes = frame(message.to_string().as_bytes());
            return self.write(&bytes).await;
        }
        if let Some(raw) = step.get("raw").and_then(Value::as_str) {
            let times = step["repeat"].as_u64().unwrap_or(1);
            for _ in 0..times {
                self.write(raw.as_bytes()).await?;
            }
            return Ok(());
        }
        if let Some(pattern) = step.get("expect") {
            return timeout(PATIENCE, self.expect(pattern)).await.unwrap_or_else(|_| {
                let open: Vec<String> = self
                    .came
                    .iter()
                    .filter(|(_, used)| !used)
                    .map(|(value, _)| value.to_string())
                    .collect();
                Err(format!("nothing like it came; not matched so far:\n  {}", open.join("\n  ")))
            });
        }
        if let Some(pattern) = step.get("never") {
            let mut bound = self.bound.clone();
            return match self.came.iter().find(|(value, _)| matches(pattern, value, &mut bound)) {
                Some((value, _)) => Err(format!("it came: {value}")),
                None => Ok(()),
            };
        }
        if let Some(file) = step.get("write") {
            let (path, text) = self.file(file)?;
            return std::fs::write(path, text).map_err(|error| error.to_string());
        }
        if let Some(file) = step.get("read") {
            let (path, text) = self.file(file)?;
            let found = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
            return if found == text { Ok(()) } else { Err(format!("the file holds {found:?}")) };
        }
        if step.get("close").is_some() {
            self.stream = None;
            return Ok(());
        }
        if let Some(word) = step.get("ended").and_then(Value::as_str) {
            let service = self.service.take().ok_or("the end was waited for twice")?;
            // What still comes must be read, or the service waits for its reader.
            let drain = async { while self.read().await.is_ok_and(|goes_on| goes_on) {} };
            let (ending, ()) = timeout(PATIENCE, async { tokio::join!(service, drain) })
                .await
                .map_err(|late| format!("the service did not end: {late}"))?;
            let ending = ending.map_err(|error| error.to_string())?;
            let expected = if word == "clean" { Ending::Clean } else { Ending::Broken };
            return if ending == expected { Ok(()) } else { Err(format!("it ended {ending:?}")) };
        }
        Err("no such step".to_owned())
    }

    fn file(&self, file: &Value) -> Result<(PathBuf, String), String> {
        let path = file[0].as_str().ok_or("a file has a path and a text")?;
        Ok((self.root.join(path), file[1].as_str().unwrap_or_default().to_owned()))
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        // The service may stop reading once a stream is out of step.
        if let Some(stream) = &mut self.stream {
            let _ = timeout(PATIENCE, stream.write_all(bytes)).await;
        }
        Ok(())
    }

    async fn expect(&mut self, pattern: &Value) -> Result<(), String> {
        let mut from = 0;
        loop {
            for index in from..self.came.len() {
                let (value, used) = &self.came[index];
                let mut bound = self.bound.clone();
                if !used && matches(pattern, value, &mut bound) {
                    self.bound = bound;
                    self.came[index].1 = true;
                    return Ok(());
                }
            }
            from = self.came.len();
            if !self.read().await? {
                return Err("the service ended the connection".to_owned());
            }
        }
    }

    /// Reads what comes next; false at the end.
    pub(crate) async fn read(&mut self) -> Result<bool, String> {
        let Some(stream) = &mut self.stream else {
            return Ok(false);
        };
        let mut buffer = vec![0; 64 * 1024];
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        self.reader.push(&buffer[..count]);
        while let Some(body) = self.reader.next_body().map_err(|error| error.to_string())? {
            let value: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
            self.ledger.received(&value)?;
            self.came.push((value, false));
        }
        Ok(count > 0)
    }

    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.bound.get(text).cloned().unwrap_or_else(|| value.clone()),
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(object) => {
                object.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect()
            }
            _ => value.clone(),
        }
    }
}

fn matches(pattern: &Value, value: &Value, bound: &mut HashMap<String, Value>) -> bool {
    match (pattern, value) {
        (Value::String(name), _) if name.starts_with('$') => match bound.get(name) {
            Some(known) => known == value,
            None => bound.insert(name.clone(), value.clone()).is_none(),
        },
        (Value::String(text), Value::String(found)) if text.starts_with('~') => {
            found.contains(&text[1..])
        }
        (Value::Object(pattern), Value::Object(object)) => pattern.iter().all(|(name, pattern)| {
            object.get(name).is_some_and(|value| matches(pattern, value, bound))
        }),
        (Value::Array(pattern), Value::Array(items)) => {
            pattern.len() == items.len()
                && pattern.iter().zip(items).all(|(pattern, item)| matches(pattern, item, bound))
        }
        _ => pattern == value,
    }
}
