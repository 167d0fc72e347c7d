//! The real program over real standard input and output.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shellgate_orchestrator::rpc::frame::{FrameLimits, FrameReader, frame};

use super::ledger::Ledger;

/// The program: the one `SHELLGATE_ORCHESTRATOR` names, else the one of this build, built when missing.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| match std::env::var_os("SHELLGATE_ORCHESTRATOR") {
        Some(path) => PathBuf::from(path),
        None => built(&["--bin", "shellgate-orchestrator"]).join("shellgate-orchestrator"),
    })
}

/// An example of the service's package: the one beside the program that `SHELLGATE_ORCHESTRATOR` names, else the one
/// of this build, built when missing.
pub(crate) fn example(name: &str) -> PathBuf {
    let folder = match std::env::var_os("SHELLGATE_ORCHESTRATOR") {
        Some(path) => Path::new(&path).parent().unwrap().to_owned(),
        None => built(&["--example", name]),
    };
    folder.join("examples").join(name)
}

/// Builds a part of the service's package as this suite is built; gives the folder of programs.
fn built(part: &[&str]) -> PathBuf {
    // .../target/<profile>/deps/suite-0123
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().unwrap().parent().unwrap();
    let profile = if folder.ends_with("release") { "release" } else { "dev" };
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "shellgate-orchestrator", "--profile", profile])
        .args(part)
        .current_dir(super::here(""))
        .env("CARGO_TARGET_DIR", folder.parent().unwrap())
        .status()
        .unwrap();
    assert!(status.success(), "the program cannot be built");
    folder.to_owned()
}

/// A running service and the client's view of it.
pub(crate) struct Client {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    incoming: Receiver<(Instant, Value)>,
    next: u64,
    pub(crate) ledger: Ledger,
    /// Every event, with the moment it came.
    pub(crate) events: Vec<(Instant, Value)>,
    answers: HashMap<u64, Value>,
    /// Lines for the person.
    pub(crate) logs: Vec<Value>,
    /// What it answers when it is asked for a secret; without one it leaves the question open.
    pub(crate) secret: Option<&'static str>,
}

impl Client {
    pub(crate) fn spawn(flags: &[&str]) -> Self {
        let mut child = Command::new(program())
            .args(["--log-level", "silent"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, incoming) = channel();
        thread::spawn(move || {
            let mut reader = FrameReader::new(FrameLimits::default());
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                reader.push(&buffer[..count]);
                while let Ok(Some(body)) = reader.next_body() {
                    let value = serde_json::from_slice(&body).unwrap_or(Value::Null);
                    if sender.send((Instant::now(), value)).is_err() {
                        return;
                    }
                }
            }
        });
        Self {
            child,
            stdin,
            incoming,
            next: 0,
            ledger: Ledger::new(),
            events: Vec::new(),
            answers: HashMap::new(),
            logs: Vec::new(),
            secret: None,
        }
    }

    /// Sends a request; gives its id.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.ledger.sent(&message);
        if let Some(stdin) = &mut self.stdin {
            // A service that was killed reads no more; the caller finds out by its answer.
            let _ = stdin.write_all(&frame(message.to_string().as_bytes()));
        }
        self.next
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.raw(&frame(message.to_string().as_bytes()));
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        if let Some(stdin) = &mut self.stdin {
            // A service that is gone is noticed by its silence.
            let _ = stdin.write_all(bytes);
        }
    }

    /// The answer to a request that was sent; waits for it.
    pub(crate) fn answer(&mut self, id: u64) -> Result<Value, String> {
        self.until("an answer", |client| client.answers.contains_key(&id))?;
        self.answers.remove(&id).ok_or_else(|| "no answer".to_owned())
    }

    /// Plays a task to its end; gives its events. `says` answers each question: `approve` or `reject`.
    pub(crate) fn play(
        &mut self,
        task: &Value,
        says: impl Fn(&Value) -> &'static str,
    ) -> Result<Vec<Value>, String> {
        let from = self.events.len();
        let answer = self.ask("task.create", task)?;
        let id = answer["task"]["id"].as_str().unwrap_or_default().to_owned();
        let mut seen = from;
        self.until("the end of the task", |client| {
            while let Some((_, event)) = client.events.get(seen) {
                seen += 1;
                if event["type"] == "approval_required" && event["taskId"] == id.as_str() {
                    let word = says(event);
                    let mut params = json!({ "taskId": id, "approvalId": event["approvalId"] });
                    if word == "approve" {
                        params["scope"] = json!("once");
                    }
                    client.send(&format!("task.{word}"), &params);
                }
            }
            client.ledger.tasks().get(&id).is_some_and(super::ledger::Course::is_over)
        })?;
        let events = self.events.get(from..).unwrap_or_default().iter();
        Ok(events
            .map(|(_, event)| event.clone())
            .filter(|event| event["taskId"] == id.as_str())
            .collect())
    }

    /// Takes in what comes within this time; false at the end of the stream.
    pub(crate) fn take(&mut self, limit: Duration) -> Result<bool, String> {
        match self.incoming.recv_timeout(limit) {
            Ok((at, message)) => {
                self.ledger.received(&message)?;
                if message["method"] == "task.event" {
                    self.events.push((at, message["params"].clone()));
                } else if message["method"] == "log" {
                    self.logs.push(message["params"].clone());
                } else if message["method"] == "secrets.get" {
                    if let Some(secret) = self.secret {
                        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "value": secret } });
                        self.raw(&frame(answer.to_string().as_bytes()));
                    }
                } else if let Some(id) = message["id"].as_u64() {
                    self.answers.insert(id, message);
                }
                Ok(true)
            }
            Err(RecvTimeoutError::Timeout) => Ok(true),
            Err(RecvTimeoutError::Disconnected) => Ok(false),
        }
    }

    /// Takes in what comes until this holds; an error after 20 s or at the end of the stream.
    pub(crate) fn until(
        &mut self,
        what: &str,
        mut holds: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), String> {
        let end = Instant::now() + Duration::from_secs(20);
        while !holds(self) {
            if Instant::now() > end {
                return Err(format!("waited too long for {what}"));
            }
            if !self.take(Duration::from_millis(20))? && !holds(self) {
                return Err(format!("the service ended before {what}"));
            }
        }
        Ok(())
    }

    /// A request and its answer, result or error.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let id = self.send(method, params);
        let answer = self.answer(id).map_err(|error| format!("{method}: {error}"))?;
        match answer.get("error") {
            Some(error) => Err(error.to_string()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Opens a session with a model at that address.
    pub(crate) fn open(&mut self, root: &Path, model: &str) -> Result<(), String> {
        let client = json!({ "name": "campaign", "version": "1" });
        let roots = [root.to_str().unwrap()];
        self.ask(
            "initialize",
            &json!({ "protocolVersion": "1.0.0", "client": client, "workspaceRoots": roots }),
        )?;
        let capabilities = json!({ "streaming": true, "toolCalls": true, "contextTokens": 32000 });
        let model = json!({ "id": "m", "provider": "openai-compatible", "model": "m", "baseUrl": model,
            "capabilities": capabilities });
        self.ask("config.update", &json!({ "models": [model] }))?;
        Ok(())
    }

    /// The client dies: both streams close at once.
    pub(crate) fn die(&mut self) {
        self.stdin = None;
        self.incoming = channel().1;
    }

    /// Standard input ends; the client still reads.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the process; gives its exit status and how long it took.
    pub(crate) fn wait(&mut self) -> Result<(Option<i32>, Duration), String> {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(5) {
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                return Ok((status.code(), begin.elapsed()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Err("the process did not end within 5 s".to_owned())
    }

    /// Open descriptors of the service.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).map_or(0, Iterator::count)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processes whose command line holds this text.
pub(crate) fn processes(text: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.contains(text).then_some(line)
        })
        .collect()
}
