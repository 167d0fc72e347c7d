//! `demo WORKSPACE INSTRUCTION`: one task in the terminal, without an editor.
//!
//! It plays the editor's part: tells what happens, asks the person, shows edits and writes them on
//! agreement. The tasks themselves run in this process, judged and recorded as ever. It is a composition
//! root like `main` and may use every room.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};
use tokio::sync::mpsc;

use crate::advisor::Advisor;
use crate::advisor::pack::workflow_word;
use crate::drive::{Runtime, Scope, Services};
use crate::guard::{Guard, Words};
use crate::host::memory::Memory;
use crate::host::place;
use crate::host::records::DecisionLog;
use crate::host::store::Store;
use crate::model::scripted::{Cast, Script, Scripted};
use crate::model::{ModelSource, Models};
use crate::protocol::desiide::check::Payload;
use crate::protocol::desiide::convert::decode;
use crate::protocol::desiide::types::{DesiideConfig, Method};
use crate::task::call::{ToolCall, ToolName};
use crate::task::decision::{Answer, DecisionRecord, Outcome};
use crate::task::edit::{ApplyStatus, EditProposal, FileEdit, FileReport};
use crate::task::event::{Event, EventBody};
use crate::task::input::{Budget, Preference, Success, TaskContext, TaskInput, TaskKind};
use crate::task::port::{Journal, PortError, Secrets, Trust};
use crate::task::project::{Place, Project};
use crate::task::settings::Settings;
use crate::task::state::TaskState;
use crate::tool::{ToolOptions, Workspace, project};

const USAGE: &str = "\
Usage: shellgate-orchestrator demo WORKSPACE INSTRUCTION [OPTIONS]

Runs one task in this terminal: you are asked, edits are shown and written when you agree. Without a model
of yours a script plays its part.

What the lines mean:
  * running           the task is in another state
  > shell {...}       the model calls a tool
    gate: ...         what was decided about the call, and why
  ? shell {...}       you are asked; a word other than y, t or n is a reason the model is told
  < ok after 3 ms     the call ended; behind | what it printed
  ! ...               the task fails

Options:
  --scripted FILE   a script plays the model; without --config a built-in one does
  --config FILE     models and roles, as the params of `config.update`; a secret `secret:my-key` is read
                    from the environment variable MY_KEY
  --allow TOOLS     further tools the model may use: shell,run_tests,lint
  --yes             agree to everything the gate would ask you
  --help            print this
";

/// How much of a call's output is shown.
const SHOWN_LINES: usize = 12;

struct Options {
    workspace: PathBuf,
    instruction: String,
    scripted: Option<PathBuf>,
    config: Option<PathBuf>,
    tools: Vec<ToolName>,
    agrees: bool,
}

/// Plays one task; the exit code is 0 when it was done, 1 when it was not, 2 for wrong arguments.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    if arguments.iter().any(|own| own == "--help" || own == "-h") {
        print(USAGE);
        return ExitCode::SUCCESS;
    }
    let options = match Options::read(arguments) {
        Ok(options) => options,
        Err(why) => {
            complain(&format!("{why}\n\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&format!("no runtime: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(play(options));
    // A read of the terminal that nobody waits for any more must not keep the process.
    runtime.shutdown_background();
    match result {
        Ok(TaskState::Done) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            complain(&why);
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn read(arguments: Vec<OsString>) -> Result<Self, String> {
        let mut plain = Vec::new();
        let mut options = Self {
            workspace: PathBuf::new(),
            instruction: String::new(),
            scripted: None,
            config: None,
            tools: vec![
                ToolName::ReadFile,
                ToolName::ListFiles,
                ToolName::Search,
                ToolName::ProposeEdit,
                ToolName::GitRead,
            ],
            agrees: false,
        };
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let mut value =
                |name: &str| rest.next().ok_or_else(|| format!("`{name}` needs a value"));
            match argument.to_str() {
                Some("--yes") => options.agrees = true,
                Some("--scripted") => options.scripted = Some(value("--scripted")?.into()),
                Some("--config") => options.config = Some(value("--config")?.into()),
                Some("--allow") => {
                    for name in value("--allow")?.to_string_lossy().split(',') {
                        let tool = ToolName::from_name(name.trim())
                            .ok_or_else(|| format!("no tool `{name}`"))?;
                        options.tools.push(tool);
                    }
                }
                Some(other) if other.starts_with("--") => return Err(format!("unknown `{other}`")),
                _ => plain.push(argument),
            }
        }
        let [workspace, instruction] = plain.as_slice() else {
            return Err("a workspace and an instruction are needed".to_owned());
        };
        options.workspace = fs::canonicalize(workspace)
            .map_err(|error| format!("`{}`: {error}", workspace.to_string_lossy()))?;
        instruction.to_string_lossy().trim().clone_into(&mut options.instruction);
        if options.instruction.is_empty() {
            return Err("the instruction is empty".to_owned());
        }
        Ok(options)
    }

    fn input(&self) -> TaskInput {
        TaskInput {
            kind: TaskKind::Other,
            instruction: self.instruction.clone(),
            context: TaskContext::default(),
            allowed_tools: self.tools.clone(),
            success: Success::default(),
            budget: Budget::default(),
            preference: Preference::Balance,
            workflow_override: None,
        }
    }
}

/// Secrets in the environment.
struct FromEnvironment;

#[async_trait]
impl Secrets for FromEnvironment {
    async fn get(&self, reference: &str) -> Result<Option<String>, PortError> {
        let name = reference.strip_prefix("secret:").unwrap_or(reference);
        let name: String = name
            .chars()
            .map(|own| if own.is_ascii_alphanumeric() { own.to_ascii_uppercase() } else { '_' })
            .collect();
        Ok(std::env::var(name).ok())
    }
}

async fn play(options: Options) -> Result<TaskState, String> {
    let (told, mut events) = mpsc::unbounded_channel();
    let (runtime, guard) = compose(&options, told)?;
    let workspace = Workspace::open(std::slice::from_ref(&options.workspace))
        .map_err(|error| error.to_string())?;
    if options.config.is_none() && options.scripted.is_none() {
        print(
            "No model is configured: a built-in script plays its part. `demo --help` explains the lines.\n",
        );
    }
    let task = runtime.create(options.input()).await.map_err(|error| error.to_string())?;
    let mut desk = Desk {
        runtime: runtime.clone(),
        guard,
        place: workspace.place().clone(),
        project: project::read(&workspace).0,
        calls: HashMap::new(),
        last: None,
        workspace: options.workspace.clone(),
        agrees: options.agrees,
        answers: BufReader::new(tokio::io::stdin()).lines(),
        is_in_text: false,
    };
    let mut end = None;
    while end.is_none() {
        tokio::select! {
            event = events.recv() => match event {
                Some(event) => end = desk.take(event).await,
                None => break,
            },
            signal = tokio::signal::ctrl_c() => {
                signal.map_err(|error| error.to_string())?;
                // The task may have ended by itself in the same moment.
                let _ = runtime.cancel(&task.id);
            }
        }
    }
    runtime.shutdown(Duration::from_secs(3)).await;
    Ok(end.unwrap_or(TaskState::Failed))
}

fn compose(
    options: &Options,
    told: mpsc::UnboundedSender<Event>,
) -> Result<(Runtime, Arc<Guard>), String> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("`{}`: {error}", path.display()))
    };
    let own = Arc::new(Models::new(Arc::new(FromEnvironment)));
    let advisor = Advisor::new(&uuid::Uuid::new_v4().to_string());
    let mut settings = Settings::default();
    let models: Arc<dyn ModelSource> = match (&options.scripted, &options.config) {
        (None, Some(path)) => {
            let config = serde_json::from_str(&read(path)?)
                .map_err(|error| format!("`{}`: {error}", path.display()))?;
            let config: DesiideConfig = decode(Some(config), Payload::Params(Method::ConfigUpdate))
                .map_err(|problems| problems.to_string())?;
            settings = config.into();
            own.configure(&settings);
            own.clone()
        }
        (scripted, _) => {
            let text = match scripted {
                Some(path) => read(path)?,
                None => include_str!("../examples/demo.json").to_owned(),
            };
            let script = Script::parse(&text).map_err(|error| error.to_string())?;
            Arc::new(Cast::one(Arc::new(Scripted::new("scripted", script))))
        }
    };
    advisor.configure(&settings, own.secrets());
    let root = options.workspace.clone();
    let (journal, trust): (Arc<dyn Journal>, Arc<dyn Trust>) =
        match place::make(&root, &place::STATE)
            .map_err(|error| PortError(error.to_string()))
            .and_then(|directory| Store::open(&directory))
        {
            Ok(store) => {
                let store = Arc::new(store);
                (store.clone(), store)
            }
            Err(error) => {
                complain(&format!("nothing of this task is kept: {error}"));
                let memory = Arc::new(Memory::default());
                (memory.clone(), memory)
            }
        };
    let warn = |line: String| complain(&line);
    let advisor = Arc::new(advisor);
    let home = std::env::var("HOME").unwrap_or_default();
    let guard = Arc::new(Guard::new(Arc::clone(&advisor), trust, home));
    let services = Services {
        models,
        guard: Arc::clone(&guard),
        advisor,
        records: Arc::new(DecisionLog::new(Some(root.clone()), warn, warn)),
        journal,
        roots: vec![root],
        tools: ToolOptions::of_this_process(),
        tells_reasoning: true,
        note: Arc::new(complain),
    };
    let runtime = Runtime::start(services, told);
    for warning in runtime.configure(&settings) {
        complain(&warning);
    }
    Ok((runtime, guard))
}

/// Where the person sits.
struct Desk {
    runtime: Runtime,
    guard: Arc<Guard>,
    place: Place,
    project: Project,
    /// Calls that were begun, by their ids.
    calls: HashMap<String, ToolCall>,
    /// The call that was begun last.
    last: Option<String>,
    workspace: PathBuf,
    agrees: bool,
    answers: Lines<BufReader<Stdin>>,
    /// Whether the last thing told was a piece of text, without an end of line.
    is_in_text: bool,
}

impl Desk {
    /// Tells an event and answers it where an answer is needed. Gives the state the task ended in.
    async fn take(&mut self, event: Event) -> Option<TaskState> {
        let task = event.task;
        match event.body {
            EventBody::TextDelta { delta, .. } => self.piece(&printable(&delta)),
            EventBody::ReasoningDelta { delta, .. } => {
                self.piece(&format!("\u{1b}[2m{}\u{1b}[0m", printable(&delta)));
            }
            EventBody::StateChanged { to, reason, .. } => {
                let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                self.line(&format!("* {}{why}", word(to)));
                return to.is_terminal().then_some(to);
            }
            EventBody::ToolCallStarted { call } => {
                self.line(&format!("> {}", shown(&call)));
                self.last = Some(call.id.clone());
                self.calls.insert(call.id.clone(), call);
            }
            EventBody::ToolCallFinished { result } => {
                if self.calls.remove(&result.call).is_none() {
                    self.line("> a call that cannot begin");
                }
                let end = match &result.failure {
                    None => "ok".to_owned(),
                    Some(failure) if failure.message == result.output => "failed".to_owned(),
                    Some(failure) => format!("failed: {}", failure.message),
                };
                self.line(&format!("< {end} after {} ms", result.duration_ms));
                self.indented(&result.output);
                let mut labels = result.failure.iter().flat_map(|failure| &failure.reasons);
                if labels.any(|label| label == "tool_not_allowed") {
                    self.line("    --allow shell,run_tests,lint gives the model more tools");
                }
            }
            EventBody::DecisionMade { decision } => self.decided(&decision),
            EventBody::ApprovalRequired { approval, call, paths, .. } => {
                self.line(&format!("? {}", shown(&call)));
                if !paths.is_empty() {
                    self.line(&format!("  it touches {}", paths.join(", ")));
                }
                let answer =
                    self.ask("  run it? [y]es, [t]hroughout the task, [N]o or a reason").await;
                let answered = match answer.as_str() {
                    "y" | "yes" => self.runtime.approve(&task, &approval, Scope::Once),
                    "t" => self.runtime.approve(&task, &approval, Scope::Task),
                    "" | "n" | "no" => self.runtime.reject(&task, &approval, None),
                    why => self.runtime.reject(&task, &approval, Some(why.to_owned())),
                };
                if let Err(error) = answered {
                    self.line(&format!("  {error}"));
                }
            }
            EventBody::EditProposed { proposal, .. } => self.review(&task, proposal).await,
            EventBody::Usage { model, usage } => {
                let cost = usage.cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
                self.line(&format!(
                    "  {model}: {} tokens in, {} out{cost}",
                    usage.input_tokens, usage.output_tokens
                ));
            }
            EventBody::Error { kind, message, .. } => self.line(&format!("! {kind}: {message}")),
        }
        None
    }

    /// Tells a decision once, with its labels in words: of the three questions about a call the first one
    /// has them all.
    fn decided(&mut self, decision: &DecisionRecord) {
        if let Some(outcome) = decision.outcome {
            if matches!(decision.question.as_str(), "reversible" | "high_risk_area") {
                return;
            }
            let call = self.last.as_ref().and_then(|id| self.calls.get(id));
            let is_edit = call.is_some_and(|call| call.tool == ToolName::ProposeEdit);
            let word = match outcome {
                // Nothing is written before the person has seen it.
                Outcome::Auto | Outcome::Confirm if is_edit => "you review it",
                Outcome::Auto => "it runs unasked",
                Outcome::Confirm => "you are asked",
                Outcome::Block => "it is refused",
            };
            let words = call
                .map(|call| self.guard.words(call, &decision.reasons, &self.place, &self.project));
            self.line(&format!("  gate: {word}{}", bracketed(&decision.reasons)));
            for Words { label, why, instead } in words.unwrap_or_default() {
                self.line(&format!("    {label}: {why}"));
                if !instead.is_empty() {
                    self.line(&format!("      instead: {instead}"));
                }
            }
        } else {
            // The workflow that was chosen stands in all three records; one line of it is enough.
            let chosen = match (decision.question.as_str(), decision.workflow) {
                ("cheap_success", Some(workflow)) => {
                    format!("; it works as {}", workflow_word(workflow))
                }
                ("cheap_success", None) => "; no workflow is possible".to_owned(),
                _ => String::new(),
            };
            self.line(&format!(
                "  advisor: {} {}{chosen}{}",
                decision.question.replace('_', " "),
                said(&decision.answer),
                bracketed(&decision.reasons),
            ));
        }
    }

    async fn review(&mut self, task: &str, proposal: EditProposal) {
        if let Some(critique) = &proposal.critique {
            self.line(&format!(
                "  a reviewer says {:?}: {}",
                critique.verdict,
                critique.issues.join("; ")
            ));
        }
        let mut reports = Vec::new();
        for file in &proposal.files {
            self.line(&format!("? edit {}", file.path));
            for edit in &file.edits {
                for (mark, text) in [('-', &edit.search), ('+', &edit.replace)] {
                    for line in text.lines() {
                        self.line(&format!("  {mark} {line}"));
                    }
                }
                self.line("  ~");
            }
            let answer = self.ask("  write it? [y]es, [N]o or a reason").await;
            let (status, reason) = match answer.as_str() {
                "y" | "yes" | "t" => (apply(&self.workspace, file), None),
                "" | "n" | "no" => (ApplyStatus::Rejected, None),
                why => (ApplyStatus::Rejected, Some(why.chars().take(2_000).collect())),
            };
            self.line(&format!("  {}", format!("{status:?}").to_lowercase()));
            reports.push(FileReport { path: file.path.clone(), status, reason });
        }
        if let Err(error) = self.runtime.report(task, &proposal.id, reports) {
            self.line(&format!("  {error}"));
        }
    }

    /// The person's answer; nothing once the input has ended.
    async fn ask(&mut self, question: &str) -> String {
        if self.agrees {
            self.line(&format!("{question}: yes"));
            return "y".to_owned();
        }
        print(&format!("{question}: "));
        let answer = self.answers.next_line().await.ok().flatten().unwrap_or_default();
        answer.trim().to_owned()
    }

    fn piece(&mut self, text: &str) {
        print(text);
        self.is_in_text = !text.ends_with('\n');
    }

    fn line(&mut self, text: &str) {
        let gap = if std::mem::take(&mut self.is_in_text) { "\n" } else { "" };
        print(&format!("{gap}{}\n", printable(text)));
    }

    fn indented(&mut self, text: &str) {
        let mut lines = text.lines();
        for line in lines.by_ref().take(SHOWN_LINES) {
            self.line(&format!("  | {line}"));
        }
        let more = lines.count();
        if more > 0 {
            self.line(&format!("  | ... {more} more lines"));
        }
    }
}

/// Writes a file's edits as an editor would: all of them, or none.
fn apply(workspace: &Path, file: &FileEdit) -> ApplyStatus {
    let path = workspace.join(&file.path);
    let is_new = !path.exists();
    let Ok(text) = (if is_new { Ok(String::new()) } else { fs::read_to_string(&path) }) else {
        return ApplyStatus::Stale;
    };
    let Some(text) = edited(text, file) else { return ApplyStatus::Stale };
    let write = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
            // A link that leads out of the workspace is not followed.
            if !fs::canonicalize(folder)?.starts_with(workspace) {
                return Err(io::Error::other("leads out of the workspace"));
            }
        }
        if path.is_symlink() && !fs::canonicalize(&path)?.starts_with(workspace) {
            return Err(io::Error::other("leads out of the workspace"));
        }
        fs::write(&path, text)
    };
    match write() {
        Ok(()) => ApplyStatus::Applied,
        Err(error) => {
            complain(&format!("`{}`: {error}", file.path));
            ApplyStatus::Stale
        }
    }
}

/// The text after all edits; none when one of them does not match exactly once.
fn edited(mut text: String, file: &FileEdit) -> Option<String> {
    for edit in &file.edits {
        if edit.search.is_empty() {
            text.insert_str(0, &edit.replace);
        } else if text.matches(&edit.search).count() == 1 {
            text = text.replacen(&edit.search, &edit.replace, 1);
        } else {
            return None;
        }
    }
    Some(text)
}

fn shown(call: &ToolCall) -> String {
    let args = serde_json::Value::Object(call.args.clone()).to_string();
    let args: String = args.chars().take(400).collect();
    format!("{} {args}", call.tool.name())
}

/// Labels behind a line; nothing for none.
fn bracketed(labels: &[String]) -> String {
    if labels.is_empty() { String::new() } else { format!(" [{}]", labels.join(", ")) }
}

/// An engine's answer, briefly.
fn said(answer: &Answer) -> String {
    match answer {
        Answer::Score { score, .. } => format!("{score} of 4"),
        Answer::Noul { answer, p_yes } => format!("{answer:?} ({p_yes:.2})").to_lowercase(),
        Answer::Choice { selected, .. } => selected.clone(),
    }
}

const fn word(state: TaskState) -> &'static str {
    match state {
        TaskState::Queued => "queued",
        TaskState::Planning => "planning",
        TaskState::Running => "running",
        TaskState::AwaitingApproval => "waiting for you",
        TaskState::Verifying => "verifying",
        TaskState::Done => "done",
        TaskState::Failed => "failed",
        TaskState::Cancelled => "cancelled",
    }
}

/// Without what could make a terminal do something.
fn printable(text: &str) -> String {
    text.chars()
        .map(|own| if own.is_control() && own != '\n' && own != '\t' { '\u{fffd}' } else { own })
        .collect()
}

fn print(text: &str) {
    let mut out = io::stdout().lock();
    // A reader that went away ends nothing here: the task goes on to its end.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn complain(text: &str) {
    // Where nobody hears, there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "demo: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::edit::SearchReplace;

    #[test]
    fn edits_are_made_in_order_or_not_at_all() {
        let edit = |search: &str, replace: &str| SearchReplace {
            search: search.to_owned(),
            replace: replace.to_owned(),
        };
        let all = |edits: Vec<SearchReplace>| {
            edited("a b a".to_owned(), &FileEdit { path: "x".to_owned(), edits })
        };
        assert_eq!(all(vec![edit("b", "c"), edit("", "> ")]).as_deref(), Some("> a c a"));
        assert_eq!(all(vec![edit("b", "c"), edit("a", "x")]), None);
        assert_eq!(all(vec![edit("z", "c")]), None);
    }

    #[test]
    fn the_built_in_script_can_be_read() {
        assert!(Script::parse(include_str!("../examples/demo.json")).is_ok());
    }

    #[test]
    fn a_terminal_is_told_no_commands() {
        assert_eq!(printable("a\u{1b}[2J\n"), "a\u{fffd}[2J\n");
    }
}
