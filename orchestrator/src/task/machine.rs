//! The life of one task as a pure state machine: what happened goes in, what is to be done comes out.
//!
//! The driver feeds an input and carries out the acts in their order: it tells events, adds notes to
//! the model's history, and begins the one piece of work, whose end is the next input. An input that
//! does not belong to the present state changes nothing, so a late answer is harmless. This file is
//! longer than others because each transition stands here once.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Timestamp;
use super::budget::Spent;
use super::call::{FailureKind, RawCall, ToolCall, ToolFailure, ToolName, ToolResult};
use super::decision::DecisionRecord;
use super::edit::{Critique, EditProposal, FileEdit, FileMeta};
use super::event::{Event, EventBody};
use super::failure::{Failure, Reason};
use super::input::{TaskInput, Workflow};
use super::repeat::{self, Repeats};
use super::state::{TaskState, TaskSummary, Usage};

/// Ids are 1 to this many characters long.
const ID_LENGTH: usize = 128;

/// When an input came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// What the calendar says.
    pub at: Timestamp,
    /// Milliseconds on a clock that never goes back.
    pub elapsed: u64,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// A slot is free.
    Slot,
    /// A workflow was chosen.
    Workflow(Workflow),
    /// A configured model is used from now on.
    Model(String),
    /// Decisions outside a call were recorded.
    Decided(Vec<DecisionRecord>),
    /// Planning succeeded.
    Ready,
    /// A piece of the model's text.
    Text(String),
    /// A piece of the model's visible reasoning.
    Reasoning(String),
    /// A turn reported its usage.
    Usage {
        /// The configured model's id.
        model: String,
        /// Of that turn.
        usage: Usage,
    },
    /// The turn is given up; the same history is asked again.
    Again,
    /// The turn ended with these calls, in the model's order.
    Said(Vec<RawCall>),
    /// Arguments fit their schema, or why they do not.
    Arguments(Result<(), String>),
    /// The guard ruled.
    Judged {
        /// Records that say why, already stored.
        records: Vec<DecisionRecord>,
        /// What may happen.
        judgement: Judgement,
    },
    /// The person agreed.
    Approved,
    /// The person declined.
    Rejected(Option<String>),
    /// The edits passed validation.
    Proposed {
        /// Normalised.
        files: Vec<FileEdit>,
        /// Facts of the files.
        metas: Vec<FileMeta>,
        /// A second model's view.
        critique: Option<Critique>,
    },
    /// The tool ended, or the review did. Call id and duration are filled in here.
    Ran(ToolResult),
    /// Time went by. What a tool had printed may come along.
    Tick(Option<ToolResult>),
    /// A person or the end of the process stops the task. What a tool had printed may come along.
    Cancel(Option<ToolResult>),
    /// The task cannot go on. What a tool had printed may come along.
    Fail(Failure, Option<ToolResult>),
}

/// What may happen to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It runs unasked.
    Run,
    /// A person is asked.
    Ask {
        /// Labels.
        reasons: Vec<String>,
        /// Paths it touches.
        paths: Vec<String>,
    },
    /// It does not run.
    Refuse {
        /// Labels.
        reasons: Vec<String>,
        /// Sentences for the model: why not, and what instead; may be empty.
        why: Vec<String>,
    },
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Act {
    /// Store and tell an event; the summary is the task after it.
    Tell(Box<Event>, Arc<TaskSummary>),
    /// Add to the model's history.
    Note(Note),
    /// Begin this work. At most one, and the last act.
    Do(Work),
}

/// Something for the model's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The model's turn ended with these calls, ids made good.
    Said(Vec<RawCall>),
    /// What came of a call.
    Result {
        /// Its id.
        call: String,
        /// The tool's name as the model wrote it.
        name: String,
        /// What the model is told.
        text: String,
        /// None for a call that did what was asked.
        failure: Option<FailureKind>,
        /// Whether it was a whole call of an allowed tool.
        is_whole: bool,
    },
    /// Checks failed; a new attempt begins.
    Unmet(Vec<(ToolName, String)>),
}

/// What the driver works on until it has an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Prepare model and context; ends with `Ready`.
    Plan,
    /// Ask the model; ends with `Said`.
    Turn,
    /// Hold the arguments against the schema; ends with `Arguments`.
    Arguments(ToolCall),
    /// Ask the guard; ends with `Judged`.
    Judge(ToolCall),
    /// Ask the person; ends with `Approved` or `Rejected`.
    Ask {
        /// What the answer must name.
        approval: String,
    },
    /// Run what was judged last; ends with `Ran` or `Proposed`.
    Run,
    /// Wait for the review; ends with `Ran`.
    Review(EditProposal),
}

/// A call that was started and has not finished.
#[derive(Clone, Debug)]
struct Open {
    call: ToolCall,
    since: u64,
    is_check: bool,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Arguments,
    Gate,
    Person,
    Tool,
    Review,
}

/// One task.
pub struct Machine {
    summary: Arc<TaskSummary>,
    allowed: Vec<ToolName>,
    wanted: Vec<ToolName>,
    spent: Spent,
    repeats: Repeats,
    ids: HashSet<String>,
    fresh: Box<dyn FnMut() -> String + Send>,
    seq: u64,
    latest: Timestamp,
    message: Option<String>,
    todo: VecDeque<RawCall>,
    open: Option<Open>,
    checks: VecDeque<ToolName>,
    unmet: Vec<(ToolName, String)>,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("summary", &self.summary)
            .field("seq", &self.seq)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl Machine {
    /// A task that was just created, and the acts that tell of it. `fresh` gives unique ids.
    pub fn new(
        id: String,
        input: &TaskInput,
        now: Moment,
        fresh: Box<dyn FnMut() -> String + Send>,
    ) -> (Self, Vec<Act>) {
        let summary = TaskSummary {
            id,
            kind: input.kind,
            instruction: input.instruction.clone(),
            state: TaskState::Queued,
            workflow: input.workflow_override,
            models: Vec::new(),
            iteration: 0,
            usage: Usage::default(),
            created: now.at,
            updated: now.at,
            failure_reason: None,
        };
        let wanted = [
            (ToolName::RunTests, input.success.tests_pass),
            (ToolName::Lint, input.success.lint_clean),
        ];
        let mut machine = Self {
            summary: Arc::new(summary),
            allowed: ToolName::ALL
                .into_iter()
                .filter(|tool| input.allowed_tools.contains(tool))
                .collect(),
            wanted: wanted
                .into_iter()
                .filter(|(_, is_wanted)| *is_wanted)
                .map(|(tool, _)| tool)
                .collect(),
            spent: Spent::new(input.budget),
            repeats: Repeats::default(),
            ids: HashSet::new(),
            fresh,
            seq: 0,
            latest: now.at,
            message: None,
            todo: VecDeque::new(),
            open: None,
            checks: VecDeque::new(),
            unmet: Vec::new(),
        };
        let mut acts = Vec::new();
        machine.tell(
            now,
            EventBody::StateChanged { from: None, to: TaskState::Queued, reason: None },
            &mut acts,
        );
        (machine, acts)
    }

    /// Where the task stands.
    pub fn summary(&self) -> &Arc<TaskSummary> {
        &self.summary
    }

    /// Whether nothing can follow.
    pub fn is_over(&self) -> bool {
        self.summary.state.is_terminal()
    }

    /// Milliseconds it may go on working from `elapsed` on; none while the clock stands still.
    pub fn left(&self, elapsed: u64) -> Option<u64> {
        self.spent.clock.left(elapsed)
    }

    /// Allowed tools in the order they are offered.
    pub fn allowed(&self) -> &[ToolName] {
        &self.allowed
    }

    /// Checks that must pass, in the order they run.
    pub fn wanted(&self) -> &[ToolName] {
        &self.wanted
    }

    /// Something happened.
    pub fn step(&mut self, now: Moment, input: Input) -> Vec<Act> {
        let mut acts = Vec::new();
        if !self.is_over() {
            self.take(now, input, &mut acts);
        }
        acts
    }

    fn take(&mut self, now: Moment, input: Input, acts: &mut Vec<Act>) {
        let state = self.summary.state;
        let is_turn = self.message.is_some();
        let stage = self.open.as_ref().map(|open| open.stage);
        match input {
            Input::Slot if state == TaskState::Queued => {
                self.enter(now, TaskState::Planning, acts);
                acts.push(Act::Do(Work::Plan));
            }
            Input::Workflow(workflow) => self.edit(|summary| summary.workflow = Some(workflow)),
            Input::Model(id) => self.edit(|summary| {
                if !summary.models.contains(&id) {
                    summary.models.push(id);
                }
            }),
            Input::Decided(records) => self.decided(now, records, acts),
            Input::Ready if state == TaskState::Planning => {
                self.edit(|summary| summary.iteration = 1);
                self.enter(now, TaskState::Running, acts);
                self.turn(acts);
            }
            Input::Text(delta) if is_turn && !delta.is_empty() => {
                let message = self.message.clone().unwrap_or_default();
                self.tell(now, EventBody::TextDelta { message, delta }, acts);
            }
            Input::Reasoning(delta) if is_turn && !delta.is_empty() => {
                let message = self.message.clone().unwrap_or_default();
                self.tell(now, EventBody::ReasoningDelta { message, delta }, acts);
            }
            Input::Usage { model, usage } => self.used(now, model, usage, acts),
            Input::Again if is_turn => self.turn(acts),
            Input::Said(calls) if is_turn => self.said(now, calls, acts),
            Input::Arguments(Ok(())) if stage == Some(Stage::Arguments) => self.judge(acts),
            Input::Arguments(Err(why)) if stage == Some(Stage::Arguments) => {
                self.refuse(now, FailureKind::InvalidArgs, why, Vec::new(), acts);
            }
            Input::Judged { records, judgement } if stage == Some(Stage::Gate) => {
                self.judged(now, records, judgement, acts);
            }
            Input::Approved if stage == Some(Stage::Person) => {
                self.resume(now, acts);
                self.at(Stage::Tool);
                acts.push(Act::Do(Work::Run));
            }
            Input::Rejected(why) if stage == Some(Stage::Person) => {
                self.resume(now, acts);
                self.rejected(now, why, acts);
            }
            Input::Proposed { files, metas, critique } if stage == Some(Stage::Tool) => {
                self.proposed(now, files, metas, critique, acts);
            }
            Input::Ran(result) if matches!(stage, Some(Stage::Tool | Stage::Review)) => {
                self.resume(now, acts);
                self.ran(now, result, acts);
            }
            Input::Tick(ran) if self.left(now.elapsed) == Some(0) => {
                self.fail(now, out_of_time(), ran, acts);
            }
            Input::Cancel(ran) => {
                self.close(now, "the task was cancelled", ran, acts);
                self.enter(now, TaskState::Cancelled, acts);
            }
            Input::Fail(failure, ran) => self.fail(now, failure, ran, acts),
            Input::Slot
            | Input::Ready
            | Input::Text(_)
            | Input::Reasoning(_)
            | Input::Again
            | Input::Said(_)
            | Input::Arguments(_)
            | Input::Judged { .. }
            | Input::Approved
            | Input::Rejected(_)
            | Input::Proposed { .. }
            | Input::Ran(_)
            | Input::Tick(_) => {}
        }
    }

    fn used(&mut self, now: Moment, model: String, usage: Usage, acts: &mut Vec<Act>) {
        self.edit(|summary| {
            let sum = &mut summary.usage;
            sum.input_tokens = sum.input_tokens.saturating_add(usage.input_tokens);
            sum.output_tokens = sum.output_tokens.saturating_add(usage.output_tokens);
            if let Some(cost) = usage.cost_usd {
                sum.cost_usd = Some(sum.cost_usd.unwrap_or(0.0) + cost);
            }
        });
        self.tell(now, EventBody::Usage { model, usage }, acts);
        if !self.spent.tokens(usage.input_tokens, usage.output_tokens) {
            let failure = Failure::new(
                Reason::Tokens,
                "the turns took more tokens than the budget allows; raise maxTokens or ask for less",
            );
            self.fail(now, failure, None, acts);
        }
    }

    fn turn(&mut self, acts: &mut Vec<Act>) {
        self.message = Some((self.fresh)());
        acts.push(Act::Do(Work::Turn));
    }

    fn said(&mut self, now: Moment, calls: Vec<RawCall>, acts: &mut Vec<Act>) {
        self.message = None;
        let calls: Vec<_> =
            calls.into_iter().map(|call| RawCall { id: self.unique(call.id), ..call }).collect();
        acts.push(Act::Note(Note::Said(calls.clone())));
        if calls.is_empty() {
            self.verify(now, acts);
        } else {
            self.todo = calls.into();
            self.next(now, acts);
        }
    }

    /// The id itself where it is well formed and new in this task, else a fresh one.
    fn unique(&mut self, id: String) -> String {
        let is_good = !id.is_empty()
            && id.chars().take(ID_LENGTH + 1).count() <= ID_LENGTH
            && !id.chars().any(char::is_control)
            && !self.ids.contains(&id);
        let id = if is_good { id } else { (self.fresh)() };
        self.ids.insert(id.clone());
        id
    }

    /// Takes up the model's calls until one needs work.
    fn next(&mut self, now: Moment, acts: &mut Vec<Act>) {
        while let Some(raw) = self.todo.pop_front() {
            if !self.spent.call() {
                let failure = Failure::new(
                    Reason::ToolCalls,
                    "the model made more calls than the budget allows; raise maxToolCalls or ask for less",
                );
                return self.fail(now, failure, None, acts);
            }
            let args = arguments(&raw.args);
            if self.repeats.call(repeat::key(&raw.name, &args)) {
                let why = "not run: the same calls come again and again without anything new";
                self.malformed(now, &raw, FailureKind::Failed, why.to_owned(), &[], acts);
                let failure = Failure::new(
                    Reason::Loop,
                    format!(
                        "the model repeats itself: `{}` with the same arguments",
                        brief(&raw.name)
                    ),
                );
                return self.fail(now, failure, None, acts);
            }
            let (kind, why, reasons) = match self.known(&raw, args) {
                Ok(call) => {
                    self.start(now, call, false, Stage::Arguments, acts);
                    return;
                }
                Err(refusal) => refusal,
            };
            self.malformed(now, &raw, kind, why, reasons, acts);
        }
        self.turn(acts);
    }

    fn known(
        &self,
        raw: &RawCall,
        args: Result<Value, String>,
    ) -> Result<ToolCall, (FailureKind, String, &'static [&'static str])> {
        let Ok(args) = args else {
            let why = "the arguments are no JSON; send one JSON object".to_owned();
            return Err((FailureKind::InvalidArgs, why, &[]));
        };
        let Some(tool) = ToolName::from_name(&raw.name) else {
            let why = format!("no tool `{}`; the tools are {}", brief(&raw.name), self.offered());
            return Err((FailureKind::InvalidArgs, why, &[]));
        };
        if !self.allowed.contains(&tool) {
            let why = format!(
                "`{}` is not allowed in this task; the tools are {}",
                tool.name(),
                self.offered()
            );
            return Err((FailureKind::Blocked, why, &["tool_not_allowed"]));
        }
        let Value::Object(args) = args else {
            let why = "the arguments are no JSON object".to_owned();
            return Err((FailureKind::InvalidArgs, why, &[]));
        };
        Ok(ToolCall { id: raw.id.clone(), tool, args })
    }

    fn offered(&self) -> String {
        self.allowed.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(", ")
    }

    /// Finishes a call of the model that never started.
    fn malformed(
        &mut self,
        now: Moment,
        raw: &RawCall,
        kind: FailureKind,
        message: String,
        reasons: &[&str],
        acts: &mut Vec<Act>,
    ) {
        let reasons = reasons.iter().map(|&reason| reason.to_owned()).collect();
        let mut result = failed(kind, message, reasons);
        result.call.clone_from(&raw.id);
        self.repeats.told(&result.output);
        let note = note(&result, &raw.name, false);
        self.tell(now, EventBody::ToolCallFinished { result }, acts);
        acts.push(Act::Note(note));
    }

    fn start(
        &mut self,
        now: Moment,
        call: ToolCall,
        is_check: bool,
        stage: Stage,
        acts: &mut Vec<Act>,
    ) {
        self.tell(now, EventBody::ToolCallStarted { call: call.clone() }, acts);
        self.open = Some(Open { call: call.clone(), since: now.elapsed, is_check, stage });
        acts.push(Act::Do(if stage == Stage::Arguments {
            Work::Arguments(call)
        } else {
            Work::Judge(call)
        }));
    }

    fn judge(&mut self, acts: &mut Vec<Act>) {
        if let Some(open) = &mut self.open {
            open.stage = Stage::Gate;
            acts.push(Act::Do(Work::Judge(open.call.clone())));
        }
    }

    fn judged(
        &mut self,
        now: Moment,
        records: Vec<DecisionRecord>,
        judgement: Judgement,
        acts: &mut Vec<Act>,
    ) {
        let Some(call) = self.open.as_ref().map(|open| open.call.clone()) else { return };
        let decision = records.first().map(|record| record.id.clone());
        self.decided(now, records, acts);
        match judgement {
            Judgement::Refuse { reasons, why } => {
                let mut text =
                    format!("`{}` was refused: {}", call.tool.name(), reasons.join(", "));
                for sentence in why {
                    text.push('\n');
                    text.push_str(&sentence);
                }
                self.refuse(now, FailureKind::Blocked, text, reasons, acts);
            }
            // Edits are reviewed in any case, so nobody is asked twice.
            Judgement::Ask { reasons, paths } if call.tool != ToolName::ProposeEdit => {
                let approval = (self.fresh)();
                self.at(Stage::Person);
                self.enter(now, TaskState::AwaitingApproval, acts);
                let body = EventBody::ApprovalRequired {
                    approval: approval.clone(),
                    call,
                    reasons,
                    decision,
                    paths,
                };
                self.tell(now, body, acts);
                acts.push(Act::Do(Work::Ask { approval }));
            }
            Judgement::Run | Judgement::Ask { .. } => {
                self.at(Stage::Tool);
                acts.push(Act::Do(Work::Run));
            }
        }
    }

    fn rejected(&mut self, now: Moment, why: Option<String>, acts: &mut Vec<Act>) {
        let Some(tool) = self.open.as_ref().map(|open| open.call.tool) else { return };
        let mut message = format!("the user declined `{}`", tool.name());
        match why.filter(|why| !why.trim().is_empty()) {
            Some(why) => {
                message.push_str(": ");
                message.push_str(&why);
            }
            None => message.push_str(" and gave no reason"),
        }
        self.refuse(now, FailureKind::Rejected, message, vec!["user_rejected".to_owned()], acts);
    }

    fn proposed(
        &mut self,
        now: Moment,
        files: Vec<FileEdit>,
        metas: Vec<FileMeta>,
        critique: Option<Critique>,
        acts: &mut Vec<Act>,
    ) {
        if files.is_empty() {
            let why = "the proposal holds no file".to_owned();
            return self.ran(now, failed(FailureKind::Failed, why, Vec::new()), acts);
        }
        let proposal = EditProposal { id: (self.fresh)(), files, critique };
        self.at(Stage::Review);
        self.enter(now, TaskState::AwaitingApproval, acts);
        self.tell(now, EventBody::EditProposed { proposal: proposal.clone(), files: metas }, acts);
        acts.push(Act::Do(Work::Review(proposal)));
    }

    /// Finishes the open call as one that did not run, and goes on.
    fn refuse(
        &mut self,
        now: Moment,
        kind: FailureKind,
        message: String,
        reasons: Vec<String>,
        acts: &mut Vec<Act>,
    ) {
        let is_check = self.open.as_ref().is_some_and(|open| open.is_check);
        let Some((_, result)) = self.finish(now, failed(kind, message, reasons), acts) else {
            return;
        };
        match kind {
            FailureKind::Rejected if is_check => {
                let failure = Failure::new(Reason::VerificationRejected, result.output);
                self.fail(now, failure, None, acts);
            }
            FailureKind::Blocked if is_check => {
                let failure = Failure::new(Reason::VerificationBlocked, result.output);
                self.fail(now, failure, None, acts);
            }
            _ => self.next(now, acts),
        }
    }

    /// Finishes the open call with what came of it, and goes on.
    fn ran(&mut self, now: Moment, result: ToolResult, acts: &mut Vec<Act>) {
        let Some((open, result)) = self.finish(now, result, acts) else { return };
        if !open.is_check {
            return self.next(now, acts);
        }
        if let Some(failure) = result.failure {
            let text = if result.output.is_empty() { failure.message } else { result.output };
            self.unmet.push((open.call.tool, text));
        }
        self.check(now, acts);
    }

    /// Tells the end of the open call; the model's history gets it too, unless it was a check.
    fn finish(
        &mut self,
        now: Moment,
        result: ToolResult,
        acts: &mut Vec<Act>,
    ) -> Option<(Open, ToolResult)> {
        let open = self.open.take()?;
        let result = ToolResult {
            call: open.call.id.clone(),
            duration_ms: now.elapsed.saturating_sub(open.since),
            ..result
        };
        self.tell(now, EventBody::ToolCallFinished { result: result.clone() }, acts);
        if !open.is_check {
            self.repeats.told(&result.output);
            acts.push(Act::Note(note(&result, open.call.tool.name(), true)));
        }
        Some((open, result))
    }

    /// The model has ended its attempt.
    fn verify(&mut self, now: Moment, acts: &mut Vec<Act>) {
        if self.wanted.is_empty() {
            return self.enter(now, TaskState::Done, acts);
        }
        self.enter(now, TaskState::Verifying, acts);
        self.checks = self.wanted.iter().copied().collect();
        self.unmet.clear();
        self.check(now, acts);
    }

    /// The next check, or what follows from all of them.
    fn check(&mut self, now: Moment, acts: &mut Vec<Act>) {
        if let Some(tool) = self.checks.pop_front() {
            let id = (self.fresh)();
            self.ids.insert(id.clone());
            let call = ToolCall { id, tool, args: Map::new() };
            return self.start(now, call, true, Stage::Gate, acts);
        }
        let unmet = std::mem::take(&mut self.unmet);
        if unmet.is_empty() {
            return self.enter(now, TaskState::Done, acts);
        }
        if !self.spent.may_try_again(self.summary.iteration) {
            let names = unmet.iter().map(|(tool, _)| tool.name()).collect::<Vec<_>>().join(", ");
            let failure = Failure::new(
                Reason::Iterations,
                format!("after {} attempts still failing: {names}", self.summary.iteration),
            );
            return self.fail(now, failure, None, acts);
        }
        self.edit(|summary| summary.iteration = summary.iteration.saturating_add(1));
        acts.push(Act::Note(Note::Unmet(unmet)));
        self.enter(now, TaskState::Running, acts);
        self.turn(acts);
    }

    fn decided(&mut self, now: Moment, records: Vec<DecisionRecord>, acts: &mut Vec<Act>) {
        for decision in records {
            self.tell(now, EventBody::DecisionMade { decision }, acts);
        }
    }

    /// Back from the person to what the task was doing.
    fn resume(&mut self, now: Moment, acts: &mut Vec<Act>) {
        if self.summary.state == TaskState::AwaitingApproval {
            let is_check = self.open.as_ref().is_some_and(|open| open.is_check);
            let back = if is_check { TaskState::Verifying } else { TaskState::Running };
            self.enter(now, back, acts);
        }
    }

    fn fail(
        &mut self,
        now: Moment,
        failure: Failure,
        ran: Option<ToolResult>,
        acts: &mut Vec<Act>,
    ) {
        // Work that was asked for in this step must not begin.
        acts.retain(|act| !matches!(act, Act::Do(_)));
        self.close(now, &format!("the task ended: {}", failure.reason.text()), ran, acts);
        let body = EventBody::Error {
            kind: failure.reason.kind().to_owned(),
            message: failure.message,
            retryable: failure.reason.is_retryable(),
            retry_after_ms: failure.retry_after_ms,
        };
        self.tell(now, body, acts);
        let reason = failure.reason.text();
        self.edit(|summary| summary.failure_reason = Some(reason));
        self.enter(now, TaskState::Failed, acts);
    }

    /// Finishes the call in progress as cancelled.
    fn close(&mut self, now: Moment, why: &str, ran: Option<ToolResult>, acts: &mut Vec<Act>) {
        let ended = failed(FailureKind::Cancelled, why.to_owned(), Vec::new());
        let result = match ran {
            Some(ran) if !ran.output.is_empty() => ToolResult { failure: ended.failure, ..ran },
            _ => ended,
        };
        self.finish(now, result, acts);
        self.message = None;
        self.todo.clear();
        self.checks.clear();
    }

    fn at(&mut self, stage: Stage) {
        if let Some(open) = &mut self.open {
            open.stage = stage;
        }
    }

    fn enter(&mut self, now: Moment, to: TaskState, acts: &mut Vec<Act>) {
        let from = self.summary.state;
        if from == to {
            return;
        }
        match to {
            TaskState::Planning | TaskState::Running | TaskState::Verifying => {
                self.spent.clock.resume(now.elapsed);
            }
            TaskState::Queued
            | TaskState::AwaitingApproval
            | TaskState::Done
            | TaskState::Failed
            | TaskState::Cancelled => self.spent.clock.pause(now.elapsed),
        }
        let at = self.latest.max(now.at);
        self.edit(|summary| {
            summary.state = to;
            summary.updated = at;
        });
        let reason = self.summary.failure_reason.clone();
        self.tell(now, EventBody::StateChanged { from: Some(from), to, reason }, acts);
    }

    fn edit(&mut self, change: impl FnOnce(&mut TaskSummary)) {
        change(Arc::make_mut(&mut self.summary));
    }

    fn tell(&mut self, now: Moment, body: EventBody, acts: &mut Vec<Act>) {
        self.latest = self.latest.max(now.at);
        let event = Event { task: self.summary.id.clone(), seq: self.seq, at: self.latest, body };
        self.seq = self.seq.saturating_add(1);
        acts.push(Act::Tell(Box::new(event), Arc::clone(&self.summary)));
    }
}

/// A result of a call that did not run; the model reads the message as its output.
pub fn failed(kind: FailureKind, message: String, reasons: Vec<String>) -> ToolResult {
    ToolResult {
        call: String::new(),
        output: message.clone(),
        truncated: false,
        exit_code: None,
        duration_ms: 0,
        failure: Some(ToolFailure { kind, message, reasons }),
    }
}

fn note(result: &ToolResult, name: &str, is_whole: bool) -> Note {
    let failure = result.failure.as_ref();
    let text = match failure {
        Some(failure) if result.output.is_empty() => failure.message.clone(),
        _ => result.output.clone(),
    };
    Note::Result {
        call: result.call.clone(),
        name: name.to_owned(),
        text,
        failure: failure.map(|failure| failure.kind),
        is_whole,
    }
}

fn out_of_time() -> Failure {
    Failure::new(
        Reason::WallClock,
        "the task worked longer than the budget allows; raise wallClockMs or ask for less",
    )
}

/// The JSON of a call's arguments, or their text as it is. No text means no arguments.
fn arguments(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(text).map_err(|_| text.to_owned())
}

/// A name a model made up, short enough for a message.
fn brief(name: &str) -> String {
    name.chars().filter(|character| !character.is_control()).take(64).collect()
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
