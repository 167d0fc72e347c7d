//! Whole tasks with scripted models, the real guard and the real tools, on a folder of their own.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use TaskState::{Cancelled, Queued, Running};

use super::*;
use crate::model::scripted::{Cast, Script, Scripted};
use crate::model::{ChatModel, Message, ModelError, ModelErrorKind, Piece, Price, Request};
use crate::task::call::{FailureKind, ToolName, ToolResult};
use crate::task::decision::DecisionRecord;
use crate::task::edit::{ApplyStatus, CritiqueVerdict, EditProposal};
use crate::task::event::EventBody;
use crate::task::input::{
    Budget, ContextRef, Preference, Success, TaskContext, TaskKind, Workflow,
};
use crate::task::port::{RecordQuery, Trust};
use crate::task::settings::{Capabilities, Locality, ModelSettings, Role};
use crate::task::state::TaskState;

type Case = (TaskInput, Value, &'static str, &'static str, bool);
type Wait = fn(&EventBody) -> bool;

/// Keeps all it is given, until it is told to fail.
#[derive(Default)]
struct Ledger {
    kept: Mutex<HashMap<String, Vec<u64>>>,
    appends: AtomicUsize,
    fails_from: Option<usize>,
}

impl Journal for Ledger {
    fn create(&self, summary: &TaskSummary, _: &TaskInput) -> Result<(), PortError> {
        self.kept.lock().unwrap().insert(summary.id.clone(), Vec::new());
        Ok(())
    }

    fn append(&self, event: &Event, summary: &TaskSummary) -> Result<(), PortError> {
        assert_eq!(event.task, summary.id);
        let nth = self.appends.fetch_add(1, Ordering::SeqCst);
        if self.fails_from.is_some_and(|from| nth >= from) {
            return Err(PortError("the disk is full".to_owned()));
        }
        self.kept.lock().unwrap().get_mut(&event.task).unwrap().push(event.seq);
        Ok(())
    }

    fn ended(&self, _: usize) -> Result<Vec<TaskSummary>, PortError> {
        Ok(Vec::new())
    }
}

struct Nothing;

#[async_trait]
impl Records for Nothing {
    async fn append(&self, _: &DecisionRecord) {}

    async fn list(&self, _: &RecordQuery) -> (Vec<DecisionRecord>, bool) {
        (Vec::new(), false)
    }

    async fn find(&self, _: &str) -> Option<DecisionRecord> {
        None
    }
}

impl Trust for Nothing {
    fn is_trusted(&self, _: &str, _: &str) -> bool {
        false
    }

    fn remember(&self, _: &str, _: &str) {}
}

struct Rig {
    runtime: Runtime,
    events: mpsc::UnboundedReceiver<Event>,
    journal: Arc<Ledger>,
    folder: PathBuf,
    told: Vec<Event>,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Rig {
    fn new(cast: Cast) -> Self {
        Self::with(cast, Ledger::default(), |_| {})
    }

    fn with(cast: Cast, journal: Ledger, change: impl FnOnce(&mut Services)) -> Self {
        let folder = std::env::temp_dir().join(format!("shellgate-drive-{}", Uuid::new_v4()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.txt"), "one\ntwo\n").unwrap();
        let journal = Arc::new(journal);
        let advisor = Arc::new(Advisor::new("0123456789abcdef"));
        let mut services = Services {
            models: Arc::new(cast),
            guard: Arc::new(Guard::new(Arc::clone(&advisor), Arc::new(Nothing), String::new())),
            advisor,
            records: Arc::new(Nothing),
            journal: journal.clone(),
            roots: vec![folder.clone()],
            tools: ToolOptions::of_this_process(),
            tells_reasoning: true,
            note: Arc::new(|_| {}),
        };
        change(&mut services);
        let (told, events) = mpsc::unbounded_channel();
        Self { runtime: Runtime::start(services, told), events, journal, folder, told: Vec::new() }
    }

    async fn create(&self, input: TaskInput) -> String {
        let summary = self.runtime.create(input).await.unwrap();
        assert_eq!(summary.state, TaskState::Queued);
        assert_eq!(summary.iteration, 0);
        summary.id
    }

    /// The next event of whatever task.
    async fn next(&mut self) -> Event {
        let event = tokio::time::timeout(Duration::from_secs(60), self.events.recv()).await;
        let event = event.expect("an event in time").unwrap();
        self.told.push(event.clone());
        event
    }

    /// The first event of which `wanted` makes something.
    async fn until<T>(&mut self, wanted: impl Fn(&EventBody) -> Option<T>) -> T {
        loop {
            if let Some(found) = wanted(&self.next().await.body) {
                return found;
            }
        }
    }

    async fn approval(&mut self) -> String {
        self.until(|body| match body {
            EventBody::ApprovalRequired { approval, .. } => Some(approval.clone()),
            _ => None,
        })
        .await
    }

    async fn proposal(&mut self) -> EditProposal {
        self.until(|body| match body {
            EventBody::EditProposed { proposal, .. } => Some(proposal.clone()),
            _ => None,
        })
        .await
    }

    async fn finished(&mut self) -> ToolResult {
        self.until(|body| match body {
            EventBody::ToolCallFinished { result } => Some(result.clone()),
            _ => None,
        })
        .await
    }

    async fn ended(&mut self) -> TaskSummary {
        self.until(|body| match body {
            EventBody::StateChanged { to, .. } if to.is_terminal() => Some(()),
            _ => None,
        })
        .await;
        let task = self.told.last().unwrap().task.clone();
        // The summary is of the state that was told, whether the slot is free already or not.
        let list = self.runtime.list();
        list.into_iter().find(|summary| summary.id == task).unwrap()
    }

    /// Creates a task, declines whatever is asked, and gives its end with all bodies.
    async fn play(&mut self, input: TaskInput) -> (TaskSummary, Vec<EventBody>) {
        let id = self.create(input).await;
        loop {
            let event = self.next().await;
            match event.body {
                EventBody::ApprovalRequired { approval, .. } => {
                    self.runtime.reject(&id, &approval, None).unwrap();
                }
                EventBody::StateChanged { to, .. } if to.is_terminal() => break,
                _ => {}
            }
        }
        sound(&self.told);
        let list = self.runtime.list();
        let summary = list.into_iter().find(|summary| summary.id == id).unwrap();
        let bodies = self.told.iter().filter(|event| event.task == id);
        (summary, bodies.map(|event| event.body.clone()).collect())
    }
}

/// No gap, every started call finished once, nothing after the end, errors before it.
fn sound(events: &[Event]) {
    let mut tasks: HashMap<&str, Vec<&EventBody>> = HashMap::new();
    for event in events {
        let told = tasks.entry(&event.task).or_default();
        assert_eq!(event.seq, told.len() as u64, "{event:?}");
        told.push(&event.body);
    }
    for (task, bodies) in tasks {
        let mut open = HashSet::new();
        for (nth, body) in bodies.iter().enumerate() {
            match body {
                EventBody::ToolCallStarted { call } => assert!(open.insert(&call.id)),
                EventBody::ToolCallFinished { result } => {
                    open.remove(&result.call);
                }
                EventBody::StateChanged { to, .. } if to.is_terminal() => {
                    assert_eq!(nth + 1, bodies.len(), "{task}: {bodies:?}");
                    assert!(open.is_empty(), "{task}: {bodies:?}");
                    let has_error = nth > 0 && matches!(bodies[nth - 1], EventBody::Error { .. });
                    assert_eq!(has_error, *to == TaskState::Failed, "{task}: {bodies:?}");
                }
                _ => {}
            }
        }
    }
}

fn input() -> TaskInput {
    TaskInput {
        kind: TaskKind::Explain,
        instruction: "look".to_owned(),
        context: TaskContext::default(),
        allowed_tools: ToolName::ALL.to_vec(),
        success: Success::default(),
        budget: Budget::default(),
        preference: Preference::Balance,
        workflow_override: None,
    }
}

fn scripted(turns: Value) -> Scripted {
    named("m", turns)
}

#[expect(clippy::needless_pass_by_value, reason = "scripts are written where they are used")]
fn named(id: &str, turns: Value) -> Scripted {
    Scripted::new(id, Script::parse(&json!({"turns": turns}).to_string()).unwrap())
}

fn one(turns: Value) -> Cast {
    Cast::one(Arc::new(scripted(turns)))
}

fn calls(calls: &[(&str, Value)]) -> Value {
    let calls: Vec<_> =
        calls.iter().map(|(name, args)| json!({"name": name, "args": args})).collect();
    json!({"calls": calls})
}

fn shell(command: &str) -> (&'static str, Value) {
    ("shell", json!({"command": command}))
}

fn edit(paths: &[&str]) -> (&'static str, Value) {
    let edits = json!([{"search": "", "replace": "new\n"}]);
    let files: Vec<_> = paths.iter().map(|path| json!({"path": path, "edits": edits})).collect();
    ("propose_edit", json!({"files": files}))
}

fn project(rig: &Rig, test_command: &str) {
    let folder = rig.folder.join(".desiide");
    fs::create_dir_all(&folder).unwrap();
    let text = json!({"testCommand": test_command}).to_string();
    fs::write(folder.join("project.json"), text).unwrap();
}

fn report(path: &str, status: ApplyStatus) -> FileReport {
    FileReport { path: path.to_owned(), status, reason: None }
}

fn error_of(bodies: &[EventBody]) -> (String, bool, Option<u64>) {
    match &bodies[bodies.len() - 2] {
        EventBody::Error { kind, retryable, retry_after_ms, .. } => {
            (kind.clone(), *retryable, *retry_after_ms)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_task_reads_and_ends() {
    let turns = json!([
        {"reasoning": "hm", "text": ["I ", "look."],
         "calls": [{"name": "read_file", "args": {"path": "a.txt"}}],
         "usage": {"input": 10, "output": 5}},
        {"text": "Done.", "usage": {"input": 20, "output": 5}}
    ]);
    let mut rig = Rig::new(one(turns));
    let (summary, bodies) = rig.play(input()).await;
    assert_eq!(summary.state, TaskState::Done);
    assert_eq!(summary.models, ["m"]);
    assert_eq!((summary.usage.input_tokens, summary.usage.output_tokens), (30, 10));
    let text: String = bodies
        .iter()
        .filter_map(|body| match body {
            EventBody::TextDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "I look.Done.");
    let read = bodies.iter().find_map(|body| match body {
        EventBody::ToolCallFinished { result } => Some(result),
        _ => None,
    });
    assert!(read.unwrap().output.contains("two"), "{read:?}");
    let kept = rig.journal.kept.lock().unwrap()[&summary.id].clone();
    assert_eq!(kept, (0..bodies.len() as u64).collect::<Vec<_>>());
    assert_eq!(rig.runtime.cancel(&summary.id), Ok(false));
    assert_eq!(rig.runtime.cancel("none"), Err(NoSuchTask));
}

#[tokio::test]
async fn every_reason_to_fail_is_told() {
    let read = |path: &str| calls(&[("read_file", json!({"path": path}))]);
    let budget = |budget: &Value| {
        let mut own = Budget::default();
        let set = |name: &str, field: &mut u64| {
            *field = budget.get(name).and_then(Value::as_u64).unwrap_or(*field);
        };
        set("calls", &mut own.max_tool_calls);
        set("tokens", &mut own.max_tokens);
        set("time", &mut own.wall_clock_ms);
        set("iterations", &mut own.max_iterations);
        TaskInput { budget: own, ..input() }
    };
    let checked = |own: TaskInput| TaskInput {
        success: Success { tests_pass: true, ..Success::default() },
        ..own
    };
    let error =
        |kind: &str| json!([{"text": "a", "error": {"kind": kind, "retry_after_ms": 1500}}]);
    let cases: Vec<Case> = vec![
        (input(), error("server"), "model_error:server", "server", true),
        (input(), error("rate_limit"), "model_error:rate_limit", "rate_limit", true),
        (input(), error("network"), "model_error:network", "network", true),
        (input(), error("timeout"), "model_error:timeout", "timeout", true),
        (input(), error("auth"), "model_error:auth", "auth", false),
        (input(), error("context_length"), "model_error:context_length", "context_length", false),
        (input(), error("bad_request"), "model_error:bad_request", "bad_request", false),
        (input(), error("unknown"), "model_error:unknown", "unknown", false),
        (
            budget(&json!({"calls": 1})),
            json!([read("a.txt"), read("b.txt")]),
            "budget:maxToolCalls",
            "budget:maxToolCalls",
            false,
        ),
        (
            budget(&json!({"tokens": 9})),
            json!([{"calls": [{"name": "read_file"}], "usage": {"input": 5, "output": 5}}]),
            "budget:maxTokens",
            "budget:maxTokens",
            false,
        ),
        (
            budget(&json!({"time": 300})),
            json!([{"text": "a", "hang": true}]),
            "budget:wallClockMs",
            "budget:wallClockMs",
            false,
        ),
        (
            input(),
            json!([read("a.txt"), read("a.txt"), read("a.txt")]),
            "loop_detected",
            "loop_detected",
            false,
        ),
        (checked(input()), json!([]), "no_check_command", "no_check_command", false),
    ];
    for (own, turns, reason, kind, is_retryable) in cases {
        let mut rig = Rig::new(one(turns));
        let (summary, bodies) = rig.play(own).await;
        assert_eq!(summary.failure_reason.as_deref(), Some(reason));
        let wait = reason.starts_with("model_error").then_some(1500);
        assert_eq!(error_of(&bodies), (kind.to_owned(), is_retryable, wait), "{reason}");
        assert_eq!(summary.models, ["m"], "{reason}");
    }
    for (command, reason) in [
        ("touch made; exit 3", "verification_rejected"),
        ("git push --force origin main", "verification_blocked"),
    ] {
        let mut rig = Rig::new(one(json!([])));
        project(&rig, command);
        let (summary, bodies) = rig.play(checked(input())).await;
        assert_eq!(summary.failure_reason.as_deref(), Some(reason));
        assert_eq!(error_of(&bodies).0, reason);
    }
    let mut rig = Rig::new(Cast::default());
    let (summary, bodies) = rig.play(input()).await;
    assert_eq!(summary.failure_reason.as_deref(), Some("model_unavailable"));
    assert_eq!(error_of(&bodies), ("bad_request".to_owned(), false, None));
    for roots in [vec![], vec![PathBuf::from("relative")], vec![PathBuf::from("/no/such/folder")]] {
        let mut rig =
            Rig::with(one(json!([])), Ledger::default(), |services| services.roots = roots);
        let (summary, _) = rig.play(input()).await;
        assert_eq!(summary.failure_reason.as_deref(), Some("no_workspace"));
    }
}

#[tokio::test]
async fn a_full_disk_fails_the_task_wherever_it_strikes_and_nothing_else() {
    let turns = json!([
        {"text": "a", "calls": [{"name": "read_file", "args": {"path": "a.txt"}}]},
        {"text": "b"}
    ]);
    for from in 0..8 {
        let ledger = Ledger { fails_from: Some(from), ..Ledger::default() };
        let mut rig = Rig::with(one(turns.clone()), ledger, |_| {});
        for _ in 0..2 {
            let (summary, bodies) = rig.play(input()).await;
            assert_eq!(summary.failure_reason.as_deref(), Some("internal_error"), "{from}");
            assert_eq!(error_of(&bodies).0, "internal_error");
        }
    }
}

/// A model whose client has a fault.
struct Faulty(Scripted);

#[async_trait]
impl ChatModel for Faulty {
    fn settings(&self) -> &ModelSettings {
        self.0.settings()
    }

    fn locality(&self) -> Locality {
        self.0.locality()
    }

    fn price(&self) -> Option<Price> {
        None
    }

    async fn capabilities(&self, _: &CancellationToken) -> Result<Capabilities, ModelError> {
        Err(ModelError::new(ModelErrorKind::Network, "nobody answers"))
    }

    fn stream(&self, _: Request, _: CancellationToken) -> mpsc::Receiver<Piece> {
        panic!("a fault that a test wants")
    }
}

#[tokio::test]
async fn a_fault_of_ours_fails_its_task_and_no_other() {
    let mut rig = Rig::new(Cast::one(Arc::new(Faulty(scripted(json!([]))))));
    for _ in 0..3 {
        let (summary, bodies) = rig.play(input()).await;
        assert_eq!(summary.failure_reason.as_deref(), Some("internal_error"));
        assert_eq!(error_of(&bodies).0, "internal_error");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_a_model_error() {
    struct Mute(Scripted);

    #[async_trait]
    impl ChatModel for Mute {
        fn settings(&self) -> &ModelSettings {
            self.0.settings()
        }

        fn locality(&self) -> Locality {
            self.0.locality()
        }

        fn price(&self) -> Option<Price> {
            None
        }

        async fn capabilities(
            &self,
            cancel: &CancellationToken,
        ) -> Result<Capabilities, ModelError> {
            self.0.capabilities(cancel).await
        }

        fn stream(&self, _: Request, _: CancellationToken) -> mpsc::Receiver<Piece> {
            mpsc::channel(1).1
        }
    }

    let mut rig = Rig::new(Cast::one(Arc::new(Mute(scripted(json!([]))))));
    let (summary, _) = rig.play(input()).await;
    assert_eq!(summary.failure_reason.as_deref(), Some("model_error:unknown"));
}

#[tokio::test]
async fn context_holds_what_was_attached_and_no_secret() {
    let turns = json!([{"text": "done"}]);
    let seen = Arc::new(Mutex::new(String::new()));
    let model = Listening(scripted(turns), Arc::clone(&seen));
    let mut rig = Rig::new(Cast::one(Arc::new(model)));
    fs::write(rig.folder.join(".env"), "KEY=very-secret-value\n").unwrap();
    fs::write(rig.folder.join("Cargo.lock"), "locked\n").unwrap();
    fs::create_dir(rig.folder.join("src")).unwrap();
    fs::write(rig.folder.join("src/b.txt"), "inside the folder\n").unwrap();
    let at = |line| crate::task::input::Position { line, character: 0 };
    let file = |path: &str| ContextRef::File { path: path.to_owned() };
    let refs = vec![
        file("a.txt"),
        file(".env"),
        file("Cargo.lock"),
        file("missing.txt"),
        ContextRef::Folder { path: "src".to_owned() },
        ContextRef::Selection {
            path: "a.txt".to_owned(),
            range: crate::task::input::Range { start: at(1), end: at(1) },
        },
    ];
    let context = TaskContext { refs, ..TaskContext::default() };
    let (summary, _) = rig.play(TaskInput { context, ..input() }).await;
    assert_eq!(summary.state, TaskState::Done);
    let seen = seen.lock().unwrap().clone();
    for part in ["look", "two", "inside the folder", "Selection in a.txt", "Left out"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    for name in [".env (protected)", "Cargo.lock (lockfile)", "missing.txt (cannot be shown)"] {
        assert!(seen.contains(name), "{name}: {seen}");
    }
    assert!(!seen.contains("very-secret-value") && !seen.contains("locked\n"), "{seen}");
}

/// Keeps the first message it is sent.
struct Listening(Scripted, Arc<Mutex<String>>);

#[async_trait]
impl ChatModel for Listening {
    fn settings(&self) -> &ModelSettings {
        self.0.settings()
    }

    fn locality(&self) -> Locality {
        self.0.locality()
    }

    fn price(&self) -> Option<Price> {
        None
    }

    async fn capabilities(&self, cancel: &CancellationToken) -> Result<Capabilities, ModelError> {
        self.0.capabilities(cancel).await
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> mpsc::Receiver<Piece> {
        if let Some(Message::User { text }) = request.messages.first() {
            self.1.lock().unwrap().clone_from(text);
        }
        self.0.stream(request, cancel)
    }
}

#[tokio::test]
async fn checks_that_fail_come_back_until_the_attempts_are_used_up() {
    let mut rig = Rig::new(one(json!([{"text": "a"}, {"text": "b"}])));
    project(&rig, "touch made; exit 3");
    let own = TaskInput {
        success: Success { tests_pass: true, ..Success::default() },
        budget: Budget { max_iterations: 2, ..Budget::default() },
        ..input()
    };
    let id = rig.create(own).await;
    for nth in 0..2 {
        // Agreed to once, the project's own command is trusted, unless nothing keeps the trust.
        let approval = rig.approval().await;
        rig.runtime.approve(&id, &approval, Scope::Once).unwrap();
        let result = rig.finished().await;
        assert_eq!(result.exit_code, Some(3), "{nth}: {result:?}");
    }
    let summary = rig.ended().await;
    assert_eq!(summary.failure_reason.as_deref(), Some("budget:maxIterations"));
    assert_eq!(summary.iteration, 2);
    sound(&rig.told);
}

#[tokio::test]
async fn hole_gate_and_tools_that_read_the_project_at_different_times() {
    let mut rig = Rig::new(one(json!([
        calls(&[("run_tests", json!({})), ("run_tests", json!({}))]), {"text": "done"}
    ])));
    project(&rig, "echo judged; touch made");
    let id = rig.create(input()).await;
    for _ in 0..2 {
        let approval = rig.approval().await;
        // Between the question and the run, and between two calls, the file says something else.
        project(&rig, "touch run-unjudged");
        rig.runtime.approve(&id, &approval, Scope::Once).unwrap();
        let result = rig.finished().await;
        assert!(result.failure.is_none() && result.output.contains("judged"), "{result:?}");
    }
    assert_eq!(rig.ended().await.state, TaskState::Done);
    assert!(!rig.folder.join("run-unjudged").exists());
}

#[tokio::test]
async fn a_workspace_that_vanishes_fails_the_calls_and_not_their_arguments() {
    let turns = json!([
        calls(&[shell("touch made")]),
        calls(&[
            ("read_file", json!({"path": "a.txt"})),
            ("list_files", json!({})),
            ("search", json!({"query": "one"})),
        ]),
        {"text": "it is gone"}
    ]);
    let mut rig = Rig::new(one(turns));
    let id = rig.create(input()).await;
    let approval = rig.approval().await;
    fs::remove_dir_all(&rig.folder).unwrap();
    rig.runtime.approve(&id, &approval, Scope::Once).unwrap();
    for _ in 0..4 {
        let result = rig.finished().await;
        let failure = result.failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Failed, "{failure:?}");
        assert!(failure.message.contains("is gone"), "{failure:?}");
    }
    assert_eq!(rig.ended().await.state, TaskState::Done);
    sound(&rig.told);
}

#[tokio::test]
async fn an_approval_runs_once_or_for_the_task() {
    let touch = || shell("touch made");
    let turns = json!([
        calls(&[touch()]), calls(&[shell("true")]), calls(&[touch()]), calls(&[shell("true")]),
        calls(&[touch()]), {"text": "done"}
    ]);
    let mut rig = Rig::new(one(turns));
    let id = rig.create(input()).await;
    let mut asked = Vec::new();
    loop {
        let event = rig.next().await;
        match event.body {
            EventBody::ApprovalRequired { approval, call, .. } => {
                let command = call.args["command"].as_str().unwrap().to_owned();
                let earlier = asked.iter().filter(|own| **own == command).count();
                let scope = if earlier == 0 { Scope::Once } else { Scope::Task };
                assert_eq!(rig.runtime.approve(&id, "other", scope), Err(AnswerError::NoApproval));
                rig.runtime.approve(&id, &approval, scope).unwrap();
                assert_eq!(
                    rig.runtime.approve(&id, &approval, scope),
                    Err(AnswerError::NoApproval)
                );
                asked.push(command);
            }
            EventBody::StateChanged { to, .. } if to.is_terminal() => break,
            _ => {}
        }
    }
    // Asked twice, remembered the third time.
    assert_eq!(asked.iter().filter(|own| *own == "touch made").count(), 2, "{asked:?}");
    assert!(rig.folder.join("made").exists());
    assert_eq!(rig.runtime.approve("none", "x", Scope::Once), Err(AnswerError::NoTask));
    sound(&rig.told);
}

#[tokio::test]
async fn a_declined_call_comes_back_with_the_reason() {
    let turns = json!([calls(&[shell("touch made")]), {"text": "well"}]);
    let mut rig = Rig::new(one(turns));
    let id = rig.create(input()).await;
    let approval = rig.approval().await;
    rig.runtime.reject(&id, &approval, Some("not now".to_owned())).unwrap();
    let result = rig.finished().await;
    let failure = result.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Rejected);
    assert_eq!(failure.reasons, ["user_rejected"]);
    assert!(failure.message.contains("not now") && failure.message.contains("shell"));
    assert_eq!(rig.ended().await.state, TaskState::Done);
    assert!(!rig.folder.join("made").exists());
}

#[tokio::test]
async fn edits_are_reported_in_parts() {
    let turns = json!([calls(&[edit(&["x.txt", "./y.txt"])]), {"text": "well"}]);
    let mut rig = Rig::new(one(turns));
    let id = rig.create(input()).await;
    let proposal = rig.proposal().await;
    let paths: Vec<_> = proposal.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["x.txt", "y.txt"]);
    let tell = |files| rig.runtime.report(&id, &proposal.id, files);
    assert_eq!(
        tell(vec![report("x.txt", ApplyStatus::Applied), report("./y.txt", ApplyStatus::Applied)]),
        Err(AnswerError::ForeignPath("./y.txt".to_owned()))
    );
    assert_eq!(tell(vec![report("x.txt", ApplyStatus::Rejected)]), Ok(()));
    assert_eq!(tell(vec![report("x.txt", ApplyStatus::Applied)]), Ok(()));
    assert_eq!(
        rig.runtime.report(&id, "other", vec![report("y.txt", ApplyStatus::Applied)]),
        Err(AnswerError::NoApproval)
    );
    assert_eq!(tell(vec![report("y.txt", ApplyStatus::Stale)]), Ok(()));
    assert_eq!(tell(vec![report("y.txt", ApplyStatus::Applied)]), Err(AnswerError::NoApproval));
    let result = rig.finished().await;
    assert_eq!(result.failure.unwrap().kind, FailureKind::Failed);
    assert!(result.output.starts_with("x.txt: applied\ny.txt: stale"), "{}", result.output);
    assert_eq!(rig.ended().await.state, TaskState::Done);
    sound(&rig.told);
}

#[tokio::test]
async fn a_task_can_be_cancelled_wherever_it_is() {
    let is_planning: Wait =
        |body| matches!(body, EventBody::StateChanged { to: TaskState::Planning, .. });
    let is_text: Wait = |body| matches!(body, EventBody::TextDelta { .. });
    let is_started: Wait = |body| matches!(body, EventBody::ToolCallStarted { .. });
    let is_asked: Wait = |body| matches!(body, EventBody::ApprovalRequired { .. });
    let is_proposed: Wait = |body| matches!(body, EventBody::EditProposed { .. });
    let is_verifying: Wait =
        |body| matches!(body, EventBody::StateChanged { to: TaskState::Verifying, .. });
    let asks = json!([calls(&[shell("touch made"), shell("touch more")])]);
    let cases = [
        (json!([]), is_planning),
        (json!([{"text": "a", "hang": true}]), is_text),
        (asks.clone(), is_started),
        (asks, is_asked),
        (json!([calls(&[edit(&["x.txt"])])]), is_proposed),
        (json!([{"text": "a"}]), is_verifying),
    ];
    for (nth, (turns, wait)) in cases.into_iter().enumerate() {
        let mut rig = Rig::new(one(turns));
        project(&rig, "touch made; exit 3");
        let success = Success { tests_pass: true, ..Success::default() };
        let id = rig.create(TaskInput { success, ..input() }).await;
        rig.until(|body| wait(body).then_some(())).await;
        assert_eq!(rig.runtime.cancel(&id), Ok(true), "{nth}");
        let summary = rig.ended().await;
        assert_eq!(summary.state, TaskState::Cancelled, "{nth}");
        assert_eq!(summary.failure_reason, None);
        sound(&rig.told);
        assert!(!rig.folder.join("more").exists(), "{nth}");
    }
}

#[tokio::test]
async fn a_running_command_is_stopped_and_told_so() {
    let turns = json!([calls(&[shell("echo begun; sleep 60; touch made")])]);
    let mut rig = Rig::new(one(turns));
    let id = rig.create(input()).await;
    let approval = rig.approval().await;
    rig.runtime.approve(&id, &approval, Scope::Once).unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    rig.runtime.cancel(&id).unwrap();
    let result = rig.finished().await;
    assert_eq!(result.failure.unwrap().kind, FailureKind::Cancelled);
    assert_eq!(rig.ended().await.state, TaskState::Cancelled);
    sound(&rig.told);
}

#[tokio::test]
async fn the_time_a_person_takes_does_not_count() {
    let turns = json!([calls(&[shell("touch made")]), {"text": "a", "hang": true}]);
    let mut rig = Rig::new(one(turns));
    let budget = Budget { wall_clock_ms: 4_000, ..Budget::default() };
    let id = rig.create(TaskInput { budget, ..input() }).await;
    let approval = rig.approval().await;
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    rig.runtime.approve(&id, &approval, Scope::Once).unwrap();
    assert_eq!(rig.finished().await.failure, None);
    let summary = rig.ended().await;
    assert_eq!(summary.failure_reason.as_deref(), Some("budget:wallClockMs"));
    sound(&rig.told);
}

#[tokio::test]
async fn a_third_task_waits_for_a_slot_and_may_be_cancelled_before() {
    let mut rig = Rig::new(one(json!([{"text": "a", "hang": true}])));
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(rig.create(input()).await);
    }
    for _ in 0..2 {
        rig.until(|body| matches!(body, EventBody::TextDelta { .. }).then_some(())).await;
    }
    let states = |rig: &Rig| rig.runtime.list().iter().map(|own| own.state).collect::<Vec<_>>();
    assert_eq!(states(&rig), [Running, Running, Queued, Queued]);
    rig.runtime.cancel(&ids[2]).unwrap();
    assert_eq!(states(&rig), [Running, Running, Cancelled, Queued]);
    assert_eq!(rig.runtime.cancel(&ids[2]), Ok(false));
    rig.runtime.cancel(&ids[0]).unwrap();
    rig.until(|body| matches!(body, EventBody::TextDelta { .. }).then_some(())).await;
    assert_eq!(states(&rig), [Cancelled, Running, Cancelled, Running]);
    rig.runtime.shutdown(Duration::from_secs(5)).await;
    assert!(rig.runtime.list().iter().all(|own| own.state == Cancelled));
    assert!(rig.runtime.create(input()).await.is_err());
    while let Ok(event) = rig.events.try_recv() {
        rig.told.push(event);
    }
    sound(&rig.told);
}

#[tokio::test]
async fn the_strong_model_takes_over_once_when_the_cheap_draft_fails() {
    let drafts = [
        json!([calls(&[("propose_edit", json!("{broken"))])]),
        json!([calls(&[(
            "propose_edit",
            json!({"files": [{"path": "a.txt",
            "edits": [{"search": "nowhere", "replace": "x"}]}]})
        )])]),
        json!([{"error": {"kind": "server", "message": "gone"}}]),
        json!([{"text": "I believe it is done."}]),
    ];
    for (nth, turns) in drafts.into_iter().enumerate() {
        let repaired = json!({"text": "Repaired.", "delay_ms": 500});
        let strong = json!([repaired.clone(), repaired.clone(), repaired]);
        let cheap = Arc::new(named("cheap", turns));
        let strong = Arc::new(named("strong", strong).at(Locality::Cloud));
        let cast = Cast::one(cheap).with(Role::Strong, strong);
        let mut rig = Rig::new(cast);
        let own = TaskInput { workflow_override: Some(Workflow::LocalCloudCascade), ..input() };
        let own = if nth == 3 {
            project(&rig, "test -e made");
            TaskInput { success: Success { tests_pass: true, ..Success::default() }, ..own }
        } else {
            own
        };
        rig.create(own).await;
        if nth == 3 {
            rig.finished().await;
            fs::write(rig.folder.join("made"), "").unwrap();
        }
        let summary = rig.ended().await;
        assert_eq!(summary.state, TaskState::Done, "{nth}: {summary:?}");
        assert_eq!(summary.workflow, Some(Workflow::LocalCloudCascade));
        assert_eq!(summary.models, ["cheap", "strong"], "{nth}");
        sound(&rig.told);
    }
}

#[tokio::test]
async fn a_reviewer_asks_for_one_revision_and_is_heard_with_the_next_draft() {
    let worker = json!([
        calls(&[edit(&["x.txt"])]), calls(&[edit(&["y.txt"])]), {"text": "done"}
    ]);
    let verdict = |verdict: &str| {
        let text = json!({"verdict": verdict, "issues": ["too short"]}).to_string();
        json!([{"text": text, "usage": {"input": 7, "output": 1}}])
    };
    let worker = Arc::new(named("worker", worker).at(Locality::Cloud));
    let reviewer = Arc::new(named("reviewer", verdict("revise")).at(Locality::Cloud));
    let mut rig = Rig::new(Cast::one(worker).with(Role::Reviewer, reviewer));
    let own = TaskInput { workflow_override: Some(Workflow::CloudWithCritique), ..input() };
    let id = rig.create(own).await;
    let first = rig.finished().await;
    assert!(first.output.contains("too short"), "{first:?}");
    let proposal = rig.proposal().await;
    assert_eq!(proposal.files[0].path, "y.txt");
    let critique = proposal.critique.unwrap();
    assert_eq!(critique.verdict, CritiqueVerdict::Revise);
    assert_eq!(critique.model.as_deref(), Some("reviewer"));
    let reports = vec![report("y.txt", ApplyStatus::Applied)];
    rig.runtime.report(&id, &proposal.id, reports).unwrap();
    let summary = rig.ended().await;
    assert_eq!(summary.state, TaskState::Done);
    assert_eq!(summary.models, ["worker", "reviewer"]);
    assert_eq!(summary.usage.input_tokens, 14);
    sound(&rig.told);
}

#[tokio::test]
async fn routes_choose_model_and_workflow() {
    let cast = || {
        let cheap = Arc::new(named("cheap", json!([])));
        let strong = Arc::new(named("strong", json!([])).at(Locality::Cloud));
        Cast::one(cheap).with(Role::Strong, strong)
    };
    let cases = [
        (TaskKind::Explain, Preference::Balance, Workflow::LocalCloudCascade, "cheap"),
        (TaskKind::Explain, Preference::Cheap, Workflow::LocalSingle, "cheap"),
        (TaskKind::Explain, Preference::Quality, Workflow::CloudWithCritique, "strong"),
    ];
    for (kind, preference, workflow, model) in cases {
        let mut rig = Rig::new(cast());
        let (summary, bodies) = rig.play(TaskInput { kind, preference, ..input() }).await;
        assert_eq!(summary.workflow, Some(workflow));
        assert_eq!(summary.models, [model]);
        let decided = bodies
            .iter()
            .filter(|body| {
                matches!(body, EventBody::DecisionMade { decision }
                if decision.workflow == Some(workflow))
            })
            .count();
        assert_eq!(decided, 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_knows_the_last_run_and_the_project() {
    let mut rig = Rig::new(one(json!([calls(&[
        ("no_such_tool", json!({})),
        ("no_such_tool", json!({"more": 1}))
    ])])));
    let budget = Budget { max_tool_calls: 1, ..Budget::default() };
    let mut seen = Vec::new();
    for _ in 0..3 {
        let (summary, bodies) = rig.play(TaskInput { budget, ..input() }).await;
        assert_eq!(summary.state, TaskState::Failed);
        let state = |question: &str| {
            bodies.iter().find_map(|body| match body {
                EventBody::DecisionMade { decision } if decision.question == question => {
                    Some(decision.state.clone())
                }
                _ => None,
            })
        };
        let (workflow, cost) = (state("workflow").unwrap(), state("cheap_success").unwrap());
        seen.push((workflow["lastRunStatus"].clone(), cost["recentFailures"].clone()));
        assert_eq!(cost["projectSizeLines"], json!(2));
    }
    let seen = serde_json::to_value(&seen).unwrap();
    assert_eq!(seen, json!([["none", 0], ["failed", 1], ["failed", 2]]));
}

#[tokio::test]
async fn the_oldest_ended_tasks_are_forgotten() {
    let mut rig = Rig::new(one(json!([])));
    let mut ids = Vec::new();
    for _ in 0..KEPT + 3 {
        ids.push(rig.play(input()).await.0.id);
        rig.told.clear();
    }
    // The last one may still hold its slot.
    rig.runtime.shutdown(Duration::from_secs(5)).await;
    let listed: Vec<_> = rig.runtime.list().into_iter().map(|own| own.id).collect();
    assert_eq!(listed, ids[3..]);
    assert_eq!(rig.runtime.cancel(&ids[0]), Err(NoSuchTask));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_tasks_with_random_answers_and_cancels_all_end() {
    const TASKS: usize = 200;
    let turns = json!([
        {"text": ["a", "b"], "calls": [
            {"id": "x", "name": "read_file", "args": {"path": "a.txt"}},
            {"id": "x", "name": "read_file", "args": {"path": "../../etc/passwd"}},
            {"id": "", "name": "nonsense"}], "usage": {"input": 1, "output": 1}},
        calls(&[("read_file", json!({"path": ".env"})), edit(&["x.txt", "y.txt"])]),
        calls(&[("read_file", json!({"path": ".env"})), ("list_files", json!({}))]),
        {"text": "done", "delay_ms": 2}
    ]);
    let mut rig = Rig::new(one(turns));
    fs::write(rig.folder.join(".env"), "A=1\n").unwrap();
    let mut seed = 7_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut ids = Vec::new();
    for _ in 0..TASKS {
        ids.push(rig.create(input()).await);
    }
    let mut ended = HashMap::new();
    while ended.len() < TASKS {
        let event = rig.next().await;
        let task = event.task.clone();
        if random(60) == 0 {
            let _ = rig.runtime.cancel(&ids[random(TASKS)]);
        }
        match event.body {
            EventBody::ApprovalRequired { approval, .. } => {
                let _ = match random(4) {
                    0 => rig.runtime.reject(&task, &approval, Some("no".to_owned())),
                    1 => rig.runtime.approve(&task, &approval, Scope::Task),
                    2 => {
                        let _ = rig.runtime.cancel(&task);
                        rig.runtime.approve(&task, &approval, Scope::Once)
                    }
                    _ => rig.runtime.approve(&task, &approval, Scope::Once),
                };
            }
            EventBody::EditProposed { proposal, .. } => {
                for file in proposal.files {
                    let status = [ApplyStatus::Applied, ApplyStatus::Rejected, ApplyStatus::Stale]
                        [random(3)];
                    let _ =
                        rig.runtime.report(&task, &proposal.id, vec![report(&file.path, status)]);
                }
            }
            EventBody::StateChanged { to, .. } if to.is_terminal() => {
                assert!(ended.insert(task, to).is_none());
            }
            _ => {}
        }
    }
    sound(&rig.told);
    let count = |state| ended.values().filter(|own| **own == state).count();
    assert_eq!(count(TaskState::Done) + count(TaskState::Cancelled), TASKS);
    assert!(count(TaskState::Done) > 20 && count(TaskState::Cancelled) > 5, "{ended:?}");
    rig.runtime.shutdown(Duration::from_secs(5)).await;
    assert!(rig.events.try_recv().is_err(), "nothing follows the end");
    assert_eq!(rig.runtime.list().len(), KEPT);
}
