use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::task::decision::{Answer, EngineKind, Noul};
use crate::task::edit::SearchReplace;
use crate::task::input::{Budget, Preference, Success, TaskContext, TaskKind};

fn input(tests: bool, lint: bool, budget: Budget) -> TaskInput {
    TaskInput {
        kind: TaskKind::Other,
        instruction: "look".to_owned(),
        context: TaskContext::default(),
        allowed_tools: vec![ToolName::Shell, ToolName::ReadFile, ToolName::ProposeEdit],
        success: Success { tests_pass: tests, lint_clean: lint, user_approval: true },
        budget,
        preference: Preference::Balance,
        workflow_override: None,
    }
}

/// A machine, all it told, and the work it asked for last.
struct Play {
    machine: Machine,
    elapsed: u64,
    events: Vec<EventBody>,
    notes: Vec<Note>,
    work: Option<Work>,
}

impl Play {
    fn new(input: &TaskInput) -> Self {
        let mut number = 0;
        let fresh = Box::new(move || {
            number += 1;
            format!("fresh-{number}")
        });
        let moment = Moment { at: Timestamp(0), elapsed: 0 };
        let (machine, acts) = Machine::new("task".to_owned(), input, moment, fresh);
        let mut play =
            Self { machine, elapsed: 0, events: Vec::new(), notes: Vec::new(), work: None };
        play.take(acts);
        play
    }

    fn plain() -> Self {
        Self::new(&input(false, false, Budget::default()))
    }

    fn running(input: &TaskInput) -> Self {
        let mut play = Self::new(input);
        play.step(Input::Slot).step(Input::Ready);
        play
    }

    fn step(&mut self, input: Input) -> &mut Self {
        self.elapsed += 1;
        let at = Timestamp(i64::try_from(self.elapsed).unwrap());
        let acts = self.machine.step(Moment { at, elapsed: self.elapsed }, input);
        self.take(acts);
        self
    }

    fn take(&mut self, acts: Vec<Act>) {
        self.work = None;
        for act in acts {
            assert!(self.work.is_none(), "work comes last");
            match act {
                Act::Tell(event, summary) => {
                    assert_eq!(event.seq, self.events.len() as u64);
                    if let EventBody::StateChanged { to, .. } = &event.body {
                        assert_eq!(*to, summary.state);
                    }
                    self.events.push(event.body);
                }
                Act::Note(note) => self.notes.push(note),
                Act::Do(work) => self.work = Some(work),
            }
        }
    }

    fn call(&mut self, name: &str, args: &str) -> &mut Self {
        let id = format!("call-{}", self.events.len());
        self.step(Input::Said(vec![raw(&id, name, args)]))
    }

    /// Takes a whole call up to the moment its tool runs.
    fn cleared(&mut self, name: &str, args: &str) -> &mut Self {
        self.call(name, args).step(Input::Arguments(Ok(()))).step(judged(Judgement::Run))
    }

    fn asked(&mut self) -> &mut Self {
        self.call("shell", "{\"command\":\"x\"}").step(Input::Arguments(Ok(()))).step(judged(ask()))
    }

    fn state(&self) -> TaskState {
        self.machine.summary().state
    }

    fn changes(&self) -> Vec<TaskState> {
        self.events
            .iter()
            .filter_map(|body| match body {
                EventBody::StateChanged { to, .. } => Some(*to),
                _ => None,
            })
            .collect()
    }

    fn finished(&self) -> Vec<&ToolResult> {
        self.events
            .iter()
            .filter_map(|body| match body {
                EventBody::ToolCallFinished { result } => Some(result),
                _ => None,
            })
            .collect()
    }

    fn kinds(&self) -> Vec<Option<FailureKind>> {
        self.finished()
            .iter()
            .map(|result| result.failure.as_ref().map(|failure| failure.kind))
            .collect()
    }

    /// The task failed for that reason, told as the last two events.
    fn failed(&self, reason: &str, kind: &str, is_retryable: bool) {
        assert_eq!(self.state(), TaskState::Failed, "{:?}", self.events);
        assert_eq!(self.machine.summary().failure_reason.as_deref(), Some(reason));
        assert_eq!(self.work, None);
        let [.., EventBody::Error { kind: told, retryable, .. }, last] = &self.events[..] else {
            panic!("{:?}", self.events);
        };
        assert_eq!((told.as_str(), *retryable), (kind, is_retryable));
        assert!(
            matches!(last, EventBody::StateChanged { to: TaskState::Failed, reason: Some(told), .. }
            if told == reason)
        );
    }
}

fn raw(id: &str, name: &str, args: &str) -> RawCall {
    RawCall { id: id.to_owned(), name: name.to_owned(), args: args.to_owned() }
}

fn judged(judgement: Judgement) -> Input {
    Input::Judged { records: Vec::new(), judgement }
}

fn ask() -> Judgement {
    Judgement::Ask { reasons: vec!["r".to_owned()], paths: Vec::new() }
}

fn refuse() -> Judgement {
    Judgement::Refuse {
        reasons: vec!["deny_list:rm_rf".to_owned()],
        why: vec!["It deletes.".to_owned()],
    }
}

fn ok() -> Input {
    Input::Ran(ToolResult {
        failure: None,
        ..failed(FailureKind::Failed, "out".to_owned(), vec![])
    })
}

fn not_ok() -> Input {
    Input::Ran(failed(FailureKind::Failed, "red".to_owned(), vec![]))
}

fn proposed() -> Input {
    let edits = vec![SearchReplace { search: String::new(), replace: "x".to_owned() }];
    let files = vec![FileEdit { path: "a".to_owned(), edits }];
    Input::Proposed { files, metas: Vec::new(), critique: None }
}

fn usage(input_tokens: u64) -> Input {
    let usage = Usage { input_tokens, output_tokens: 0, cost_usd: Some(0.5) };
    Input::Usage { model: "m".to_owned(), usage }
}

fn record() -> DecisionRecord {
    DecisionRecord {
        id: "record".to_owned(),
        task: Some("task".to_owned()),
        pack: "risk_gate@1".to_owned(),
        question: "policy".to_owned(),
        engine: EngineKind::Rules,
        state_hash: String::new(),
        state: Map::new(),
        answer: Answer::Noul { answer: Noul::Unknown, p_yes: 0.5 },
        outcome: None,
        workflow: None,
        reasons: Vec::new(),
        latency_ms: 0,
        at: Timestamp(0),
        basis: None,
    }
}

use TaskState::{AwaitingApproval, Cancelled, Done, Failed, Planning, Queued, Running, Verifying};

#[test]
fn each_transition_of_a_task_without_checks() {
    let mut play = Play::plain();
    assert_eq!(play.work, None);
    assert_eq!(play.step(Input::Slot).work, Some(Work::Plan));
    play.step(Input::Model("m".to_owned())).step(Input::Model("m".to_owned()));
    assert_eq!(play.step(Input::Ready).work, Some(Work::Turn));
    assert_eq!(play.machine.summary().iteration, 1);
    play.asked();
    let Some(Work::Ask { approval }) = play.work.clone() else { panic!() };
    assert!(matches!(play.events.last(), Some(EventBody::ApprovalRequired { approval: told, .. })
        if *told == approval));
    assert_eq!(play.step(Input::Approved).work, Some(Work::Run));
    assert_eq!(play.step(ok()).work, Some(Work::Turn));
    play.cleared("propose_edit", "{}").step(proposed());
    assert!(matches!(play.work, Some(Work::Review(_))));
    assert_eq!(play.step(ok()).work, Some(Work::Turn));
    assert_eq!(play.step(Input::Said(Vec::new())).work, None);
    assert_eq!(
        play.changes(),
        [Queued, Planning, Running, AwaitingApproval, Running, AwaitingApproval, Running, Done]
    );
    assert_eq!(play.machine.summary().models, ["m"]);
    assert_eq!(play.kinds(), [None, None]);
}

#[test]
fn each_transition_of_checks() {
    let mut play = Play::running(&input(true, true, Budget::default()));
    play.step(Input::Said(Vec::new()));
    assert!(matches!(&play.work, Some(Work::Judge(call)) if call.tool == ToolName::RunTests));
    play.step(judged(ask())).step(Input::Approved).step(not_ok());
    assert!(matches!(&play.work, Some(Work::Judge(call)) if call.tool == ToolName::Lint));
    play.step(judged(Judgement::Run)).step(ok());
    assert_eq!(play.work, Some(Work::Turn));
    assert_eq!(play.machine.summary().iteration, 2);
    assert_eq!(play.notes.last(), Some(&Note::Unmet(vec![(ToolName::RunTests, "red".to_owned())])));
    play.step(Input::Said(Vec::new()));
    for _ in 0..2 {
        play.step(judged(Judgement::Run)).step(ok());
    }
    assert_eq!(
        play.changes(),
        [
            Queued,
            Planning,
            Running,
            Verifying,
            AwaitingApproval,
            Verifying,
            Running,
            Verifying,
            Done
        ]
    );
}

#[test]
fn problems_the_model_can_repair_come_back_to_it() {
    let table = [
        ("shell", "{", FailureKind::InvalidArgs, false),
        ("no_such", "{}", FailureKind::InvalidArgs, false),
        ("lint", "{}", FailureKind::Blocked, false),
        ("shell", "[1]", FailureKind::InvalidArgs, false),
        ("shell", "", FailureKind::InvalidArgs, true),
    ];
    for (name, args, kind, is_started) in table {
        let mut play = Play::running(&input(false, false, Budget::default()));
        play.call(name, args);
        let started =
            play.events.iter().any(|body| matches!(body, EventBody::ToolCallStarted { .. }));
        assert_eq!(started, is_started, "{name} {args}");
        if is_started {
            play.step(Input::Arguments(Err("`command` is missing".to_owned())));
        }
        assert_eq!(play.kinds(), [Some(kind)], "{name} {args}");
        assert_eq!(play.work, Some(Work::Turn), "{name} {args}");
        assert!(matches!(&play.notes[..], [Note::Said(_), Note::Result { is_whole, .. }]
            if *is_whole == is_started));
    }
    let mut play = Play::running(&input(false, false, Budget::default()));
    play.call("lint", "");
    assert_eq!(play.finished()[0].failure.as_ref().unwrap().reasons, ["tool_not_allowed"]);
    play.asked().step(Input::Rejected(Some("not here".to_owned())));
    let rejected = play.finished()[1];
    assert!(rejected.output.contains("shell") && rejected.output.contains("not here"));
    assert_eq!(rejected.failure.as_ref().unwrap().reasons, ["user_rejected"]);
    play.call("shell", "{\"command\":\"y\"}").step(Input::Arguments(Ok(()))).step(judged(refuse()));
    assert!(play.finished()[2].output.contains("deny_list:rm_rf"));
    assert_eq!(play.kinds()[2], Some(FailureKind::Blocked));
    assert_eq!(play.state(), Running);
}

#[test]
fn decisions_come_before_the_approval_they_explain() {
    let mut play = Play::running(&input(false, false, Budget::default()));
    play.call("shell", "{}").step(Input::Arguments(Ok(())));
    play.step(Input::Judged { records: vec![record(), record()], judgement: ask() });
    let [
        ..,
        EventBody::ToolCallStarted { .. },
        EventBody::DecisionMade { .. },
        EventBody::DecisionMade { .. },
        EventBody::StateChanged { to: AwaitingApproval, .. },
        EventBody::ApprovalRequired { decision, .. },
    ] = &play.events[..]
    else {
        panic!("{:?}", play.events);
    };
    assert_eq!(decision.as_deref(), Some("record"));
}

#[test]
fn edits_are_reviewed_and_not_asked_about() {
    let mut play = Play::running(&input(false, false, Budget::default()));
    play.call("propose_edit", "{}").step(Input::Arguments(Ok(()))).step(judged(ask()));
    assert_eq!((play.state(), play.work.clone()), (Running, Some(Work::Run)));
    play.step(Input::Proposed { files: Vec::new(), metas: Vec::new(), critique: None });
    assert_eq!(play.kinds(), [Some(FailureKind::Failed)]);
}

#[test]
fn ids_of_calls_are_made_good() {
    let mut play = Play::running(&input(false, false, Budget::default()));
    let long = "x".repeat(129);
    let calls = ["", &long, "a", "a", "b\n", &"ä".repeat(128)];
    play.step(Input::Said(calls.iter().map(|id| raw(id, "?", "{}")).collect()));
    let Some(Note::Said(said)) = play.notes.first() else { panic!() };
    let ids: HashSet<_> = said.iter().map(|call| call.id.clone()).collect();
    assert_eq!(ids.len(), calls.len());
    assert!(ids.iter().all(|id| !id.is_empty() && id.chars().count() <= 128));
    assert!(ids.contains("a") && ids.contains(&"ä".repeat(128)) && !ids.contains("b\n"));
    assert_eq!(play.state(), Failed);
}

#[test]
fn every_failure_is_told_with_its_kind() {
    let small = |max_tool_calls, max_tokens, max_iterations| Budget {
        max_tool_calls,
        max_tokens,
        max_iterations,
        wall_clock_ms: 1_000,
    };
    let running = |checks, budget| Play::running(&input(checks, false, budget));

    let mut play = running(true, small(9, 9, 1));
    play.step(Input::Said(Vec::new())).step(judged(Judgement::Run)).step(not_ok());
    play.failed("budget:maxIterations", "budget:maxIterations", false);

    let mut play = running(false, small(1, 9, 1));
    play.step(Input::Said(vec![raw("a", "shell", "{"), raw("b", "shell", "{}")]));
    play.failed("budget:maxToolCalls", "budget:maxToolCalls", false);
    assert_eq!(play.finished().len(), 1);

    let mut play = running(false, small(9, 9, 1));
    play.step(usage(9));
    assert_eq!(play.state(), Running);
    play.step(usage(1));
    play.failed("budget:maxTokens", "budget:maxTokens", false);
    assert_eq!(play.machine.summary().usage.cost_usd, Some(1.0));

    let mut play = running(false, small(9, 9, 1));
    play.cleared("shell", "{}");
    play.elapsed += 2_000;
    play.step(Input::Tick(None));
    play.failed("budget:wallClockMs", "budget:wallClockMs", false);
    assert_eq!(play.kinds(), [Some(FailureKind::Cancelled)]);

    let mut play = running(false, small(9, 9, 1));
    for args in ["{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}"] {
        play.cleared("shell", args).step(ok());
    }
    play.call("shell", "{ \"a\": 1, \"b\": 2 }");
    play.failed("loop_detected", "loop_detected", false);
    assert_eq!(play.kinds(), [None, None, Some(FailureKind::Failed)]);

    for (judgement, reason) in
        [(ask(), "verification_rejected"), (refuse(), "verification_blocked")]
    {
        let mut play = running(true, small(9, 9, 9));
        play.step(Input::Said(Vec::new())).step(judged(judgement)).step(Input::Rejected(None));
        play.failed(reason, reason, false);
        assert_eq!(play.finished().len(), 1);
    }

    let reasons = [
        (
            Reason::Model { kind: "rate_limit", retryable: true },
            "model_error:rate_limit",
            "rate_limit",
            true,
        ),
        (Reason::Model { kind: "auth", retryable: false }, "model_error:auth", "auth", false),
        (
            Reason::ModelUnavailable { kind: "bad_request" },
            "model_unavailable",
            "bad_request",
            false,
        ),
        (Reason::NoCheckCommand, "no_check_command", "no_check_command", false),
        (Reason::NoWorkspace, "no_workspace", "no_workspace", false),
        (Reason::Internal, "internal_error", "internal_error", false),
    ];
    for (reason, text, kind, is_retryable) in reasons {
        let failure = Failure { retry_after_ms: Some(7), ..Failure::new(reason, "m") };
        for mut play in [Play::plain(), running(false, small(9, 9, 9))] {
            play.step(Input::Fail(failure.clone(), None));
            play.failed(text, kind, is_retryable);
        }
    }
}

#[test]
fn the_clock_stands_still_while_a_person_is_asked() {
    let budget = Budget { wall_clock_ms: 1_000, ..Budget::default() };
    let mut play = Play::running(&input(false, false, budget));
    play.asked();
    assert_eq!(play.machine.left(play.elapsed), None);
    play.elapsed += 100_000;
    play.step(Input::Tick(None)).step(Input::Approved);
    assert_eq!(play.state(), Running);
    assert!(play.machine.left(play.elapsed).unwrap() > 900);
}

#[test]
fn a_cancel_finishes_the_call_in_progress_wherever_it_is() {
    type Way = fn(&mut Play);
    let ways: [(Way, usize); 9] = [
        (|_| {}, 0),
        (
            |play| {
                play.step(Input::Slot);
            },
            0,
        ),
        (
            |play| {
                play.step(Input::Slot).step(Input::Ready);
            },
            0,
        ),
        (
            |play| {
                play.step(Input::Slot).step(Input::Ready).call("shell", "");
            },
            1,
        ),
        (
            |play| {
                play.step(Input::Slot).step(Input::Ready).call("shell", "");
                play.step(Input::Arguments(Ok(())));
            },
            1,
        ),
        (
            |play| {
                play.step(Input::Slot).step(Input::Ready).asked();
            },
            1,
        ),
        (
            |play| {
                play.step(Input::Slot).step(Input::Ready).cleared("shell", "");
            },
            1,
        ),
        (
            |play| {
                play.step(Input::Slot).step(Input::Ready).cleared("propose_edit", "");
                play.step(proposed());
            },
            1,
        ),
        (
            |play| {
                play.step(Input::Slot).step(Input::Ready);
                play.step(Input::Said(vec![raw("a", "shell", ""), raw("b", "shell", "1")]));
            },
            1,
        ),
    ];
    for (nth, (way, calls)) in ways.into_iter().enumerate() {
        let mut play = Play::plain();
        way(&mut play);
        play.step(Input::Cancel(None));
        assert_eq!(play.state(), Cancelled, "{nth}");
        assert_eq!(play.kinds(), vec![Some(FailureKind::Cancelled); calls], "{nth}");
        let last = play.events.last();
        assert!(
            matches!(last, Some(EventBody::StateChanged { to: Cancelled, reason: None, .. })),
            "{nth}"
        );
        assert!(!play.events.iter().any(|body| matches!(body, EventBody::Error { .. })));
    }
}

#[test]
fn what_a_stopped_tool_had_printed_is_kept() {
    let mut play = Play::running(&input(false, false, Budget::default()));
    play.cleared("shell", "{}");
    let Input::Ran(ran) = not_ok() else { panic!() };
    play.step(Input::Cancel(Some(ran)));
    assert_eq!(play.finished()[0].output, "red");
    assert_eq!(play.kinds(), [Some(FailureKind::Cancelled)]);
}

fn any_input() -> impl Strategy<Value = Input> {
    let call = (0..4_usize, 0..3_usize, 0..3_usize).prop_map(|(id, name, args)| {
        raw(
            ["a", "b", "", "c"][id],
            ["shell", "propose_edit", "nonsense"][name],
            ["{}", "{\"x\":1}", "["][args],
        )
    });
    prop_oneof![
        2 => Just(Input::Slot),
        2 => Just(Input::Ready),
        1 => Just(Input::Text("t".to_owned())),
        1 => Just(Input::Reasoning("t".to_owned())),
        1 => Just(Input::Again),
        1 => Just(usage(1)),
        1 => Just(Input::Decided(vec![record()])),
        6 => prop::collection::vec(call, 0..3).prop_map(Input::Said),
        6 => Just(Input::Arguments(Ok(()))),
        1 => Just(Input::Arguments(Err("no".to_owned()))),
        4 => Just(judged(Judgement::Run)),
        4 => Just(judged(ask())),
        1 => Just(judged(refuse())),
        4 => Just(Input::Approved),
        1 => Just(Input::Rejected(None)),
        4 => Just(proposed()),
        4 => Just(ok()),
        2 => Just(not_ok()),
        1 => Just(Input::Tick(None)),
        1 => prop_oneof![
            9 => Just(Input::Text(String::new())),
            1 => Just(Input::Cancel(None)),
            1 => Just(Input::Fail(Failure::internal(), None)),
        ],
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes in whatever order: no gap (`take` looks at each seq), every call that started
    /// finishes once, nothing follows the end, and only transitions of the table happen.
    #[test]
    fn no_order_of_inputs_breaks_a_task(
        inputs in prop::collection::vec(any_input(), 0..120),
        tests in any::<bool>(),
        lint in any::<bool>(),
    ) {
        let budget =
            Budget { max_iterations: 2, max_tool_calls: 12, max_tokens: 20, wall_clock_ms: 80 };
        let mut play = Play::new(&input(tests, lint, budget));
        for input in inputs {
            let was_over = play.machine.is_over();
            let before = play.events.len();
            play.step(input);
            prop_assert!(!was_over || (play.events.len() == before && play.work.is_none()));
        }
        play.step(Input::Cancel(None));
        prop_assert!(play.machine.is_over());
        let mut open = HashSet::new();
        let mut seen = HashSet::new();
        let mut state = None;
        for body in &play.events {
            match body {
                EventBody::ToolCallStarted { call } => {
                    prop_assert!(seen.insert(call.id.clone()));
                    open.insert(call.id.clone());
                }
                EventBody::ToolCallFinished { result } => {
                    let was_open = open.remove(&result.call);
                    prop_assert!(was_open || seen.insert(result.call.clone()));
                }
                EventBody::StateChanged { from, to, .. } => {
                    prop_assert_eq!(*from, state);
                    prop_assert!(is_allowed(*from, *to), "{:?} {:?}", from, to);
                    state = Some(*to);
                }
                _ => {}
            }
        }
        prop_assert!(open.is_empty());
        let is_last = matches!(play.events.last(), Some(EventBody::StateChanged { to, .. }) if to.is_terminal());
        prop_assert!(is_last);
    }
}

/// The table of transitions.
fn is_allowed(from: Option<TaskState>, to: TaskState) -> bool {
    let Some(from) = from else { return to == Queued };
    match (from, to) {
        (Queued, Planning | Cancelled)
        | (Planning, Running)
        | (Running, AwaitingApproval | Verifying | Done)
        | (AwaitingApproval, Running | Verifying)
        | (Verifying, AwaitingApproval | Running | Done) => true,
        (_, Failed | Cancelled) => !from.is_terminal(),
        _ => false,
    }
}

#[test]
fn arguments_may_be_missing_or_broken() {
    assert_eq!(arguments(" "), Ok(json!({})));
    assert_eq!(arguments("{"), Err("{".to_owned()));
}
