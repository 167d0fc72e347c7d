//! Holds every message of a session against the committed schema and against what the protocol promises
//! of a task's events.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::schema;

/// The committed schema, read once.
static SCHEMA: LazyLock<Value> = LazyLock::new(schema);

/// A validator for each part of it that was needed, shared by all sessions: making one takes longer than
/// a whole session does.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// So many tasks may be at work at a time.
const SLOTS: usize = 2;

/// What has been seen of one session.
pub(crate) struct Ledger {
    /// Method of each request that was sent, by id.
    sent: HashMap<String, String>,
    tasks: HashMap<String, Course>,
    /// Types of events that were seen.
    pub(crate) events: Vec<String>,
    /// Methods that were answered with a result.
    pub(crate) answered: Vec<String>,
}

/// What has been seen of one task.
#[derive(Default)]
pub(crate) struct Course {
    /// Events so far.
    pub(crate) count: u64,
    open_calls: Vec<String>,
    finished_calls: Vec<String>,
    /// The state it is in.
    pub(crate) state: String,
    /// Why it failed.
    pub(crate) reason: Option<String>,
}

impl Course {
    /// Whether it holds a slot.
    fn is_at_work(&self) -> bool {
        !self.is_over() && !matches!(self.state.as_str(), "" | "queued")
    }

    /// Whether nothing may follow.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state.as_str(), "done" | "failed" | "cancelled")
    }
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self {
            sent: HashMap::new(),
            tasks: HashMap::new(),
            events: Vec::new(),
            answered: Vec::new(),
        }
    }

    /// A message is about to be sent to the server.
    pub(crate) fn sent(&mut self, message: &Value) {
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            self.sent.insert(id.to_string(), method.to_owned());
        }
    }

    /// A message came from the server. Gives what is wrong with it.
    pub(crate) fn received(&mut self, message: &Value) -> Result<(), String> {
        if message["jsonrpc"] != "2.0" {
            return Err(format!("no version: {message}"));
        }
        let Some(method) = message["method"].as_str() else {
            return self.response(message);
        };
        let (section, pointer) = match method {
            "secrets.get" => ("reverseMethods", "/params"),
            _ => ("notifications", ""),
        };
        let schema = SCHEMA[section][method].pointer(pointer);
        let schema = schema.ok_or_else(|| format!("unknown method {method}"))?;
        holds(schema, &message["params"])?;
        if method == "task.event" {
            self.event(&message["params"])?;
        }
        Ok(())
    }

    fn response(&mut self, message: &Value) -> Result<(), String> {
        if let Some(error) = message.get("error") {
            return holds(&SCHEMA["error"], error);
        }
        let Some(method) = self.sent.get(&message["id"].to_string()).cloned() else {
            return Err(format!("an answer to nothing: {message}"));
        };
        holds(&SCHEMA["methods"][&method]["result"], &message["result"])?;
        if !self.answered.contains(&method) {
            self.answered.push(method);
        }
        Ok(())
    }

    fn event(&mut self, event: &Value) -> Result<(), String> {
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        let course =
            self.tasks.entry(event["taskId"].as_str().unwrap_or_default().to_owned()).or_default();
        if event["seq"] != course.count {
            return Err(format!("expected seq {}: {event}", course.count));
        }
        course.count += 1;
        if course.is_over() {
            return Err(format!("an event after the end: {event}"));
        }
        match kind.as_str() {
            "state_changed" => {
                let from = event["from"].as_str().unwrap_or_default();
                if from != course.state {
                    return Err(format!("the task was {}: {event}", course.state));
                }
                event["to"].as_str().unwrap_or_default().clone_into(&mut course.state);
                course.reason = event["reason"].as_str().map(str::to_owned);
                if course.is_over() && !course.open_calls.is_empty() {
                    return Err(format!("calls {:?} never finished", course.open_calls));
                }
                let at_work = self.tasks.values().filter(|task| task.is_at_work()).count();
                if at_work > SLOTS {
                    return Err(format!("{at_work} tasks are at work: {event}"));
                }
            }
            "tool_call_started" => {
                let id = event["call"]["id"].as_str().unwrap_or_default().to_owned();
                if course.open_calls.contains(&id) || course.finished_calls.contains(&id) {
                    return Err(format!("a call's id comes twice: {event}"));
                }
                course.open_calls.push(id);
            }
            "tool_call_finished" => {
                let id = event["result"]["callId"].as_str().unwrap_or_default().to_owned();
                if course.finished_calls.contains(&id) {
                    return Err(format!("a call finished twice: {event}"));
                }
                course.open_calls.retain(|open| *open != id);
                course.finished_calls.push(id);
            }
            _ => {}
        }
        if !self.events.contains(&kind) {
            self.events.push(kind);
        }
        Ok(())
    }

    /// Tasks by id.
    pub(crate) fn tasks(&self) -> &HashMap<String, Course> {
        &self.tasks
    }
}

/// Holds a value against a part of the schema.
pub(crate) fn holds(schema: &Value, value: &Value) -> Result<(), String> {
    let validator = validator(schema)?;
    validator.validate(value).map_err(|error| format!("{error} in {value}"))
}

fn validator(schema: &Value) -> Result<Arc<Validator>, String> {
    let key = schema.to_string();
    let mut kept = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(validator) = kept.get(&key) {
        return Ok(Arc::clone(validator));
    }
    let mut whole = Map::new();
    whole.insert("$defs".to_owned(), SCHEMA["$defs"].clone());
    whole.insert("allOf".to_owned(), json!([schema]));
    let validator = jsonschema::options()
        .should_validate_formats(false)
        .build(&Value::Object(whole))
        .map_err(|error| error.to_string())?;
    let validator = Arc::new(validator);
    kept.insert(key, Arc::clone(&validator));
    Ok(validator)
}
