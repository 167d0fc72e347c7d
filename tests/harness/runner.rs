//! Holds cases against the gate. The one place of the corpus tests that touches the API.

use shellgate::Gate;
use shellgate::model::context::{Context, Preset};
use shellgate::model::verdict::{Decision, Verdict};

use crate::case::{Case, Outcome};

/// Labels of the gate that no preset relaxes.
const NEVER_RELAXED: &[&str] = &[
    "inline_code",
    "privileged",
    "irreversible",
    "high_risk_area",
    "sensitive_file",
    "background_process",
    "unparsable_command",
];

/// How an answer is wrong, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// It would run, though a person should be asked or it should be refused.
    Unasked,
    /// It asks where it should refuse.
    Milder,
    /// It refuses where it should not.
    Refused,
    /// It asks where it should not.
    Stopped,
    /// A reason is missing, or one is there that should not.
    Labels,
}

/// One thing that is wrong with an answer.
#[derive(Clone, Debug)]
pub struct Failure {
    /// How.
    pub wrong: Wrong,
    /// What was expected and what came.
    pub what: String,
}

/// What is wrong with the answers to a case, the worst first; empty when it is right.
pub fn check(gate: &Gate, case: &Case) -> Vec<Failure> {
    let mut failures = Vec::new();
    if let Some(outcome) = case.outcome {
        let verdict = classify(gate, case, &case.command, Preset::Protocol);
        check_outcome(case, outcome, &verdict, &mut failures);
        if let Some(twin) = &case.same_as {
            let plain = classify(gate, case, twin, Preset::Protocol);
            check_twin(&verdict, &plain, &mut failures);
        }
    }
    if let (Some(mildest), Some(strictest)) = (case.expect.first(), case.expect.last()) {
        let verdict = classify(gate, case, &case.command, case.preset);
        check_decision(case, *mildest, *strictest, &verdict, &mut failures);
        if let Some(twin) = &case.same_as {
            let plain = classify(gate, case, twin, case.preset);
            check_twin(&verdict, &plain, &mut failures);
        }
    }
    failures.sort_by_key(|failure| failure.wrong);
    failures
}

/// How an outcome is wrong, where it is not one of those that are right.
pub fn compare(expected: Outcome, tolerated: &[Outcome], got: Outcome) -> Option<Wrong> {
    if got == expected || tolerated.contains(&got) {
        None
    } else if got < expected {
        Some(if got == Outcome::Auto { Wrong::Unasked } else { Wrong::Milder })
    } else {
        Some(if got == Outcome::Block { Wrong::Refused } else { Wrong::Stopped })
    }
}

/// The answer to `command` in the context of the corpus.
pub fn answer(gate: &Gate, command: &str, branch: Option<&str>, preset: Preset) -> Verdict {
    let mut context = Context { preset, ..Context::default() };
    if let Some(branch) = branch {
        context.branch = Some(branch.to_owned());
    }
    gate.classify(command, &context)
}

fn classify(gate: &Gate, case: &Case, command: &str, preset: Preset) -> Verdict {
    let mut context = Context { preset, shell: case.shell, ..Context::default() };
    if let Some(branch) = &case.branch {
        context.branch = Some(branch.clone());
    }
    gate.classify(command, &context)
}

fn check_outcome(case: &Case, expected: Outcome, verdict: &Verdict, failures: &mut Vec<Failure>) {
    let got = Outcome::of(verdict.decision);
    let mut fail = |wrong, text: String| {
        let what = format!("protocol: {text}, got {} {:?}", got.name(), verdict.labels);
        failures.push(Failure { wrong, what });
    };
    if let Some(wrong) = compare(expected, &case.tolerates, got) {
        fail(wrong, format!("expected {} {:?}", expected.name(), case.labels));
    } else if got != expected {
        // A tolerated outcome has reasons of its own.
    } else if expected == Outcome::Auto && verdict.labels != ["read_only_allow"] {
        fail(Wrong::Labels, "expected read_only_allow alone".to_owned());
    } else if let Some(label) = case.labels.iter().find(|label| !verdict.labels.contains(label)) {
        fail(Wrong::Labels, format!("expected the label {label}"));
    }
}

fn check_decision(
    case: &Case,
    mildest: Decision,
    strictest: Decision,
    verdict: &Verdict,
    failures: &mut Vec<Failure>,
) {
    let got = verdict.decision;
    let mut fail = |wrong, text: String| {
        let preset = case.preset.name();
        let what = format!("{preset}: {text}, got {} {:?}", got.name(), verdict.labels);
        failures.push(Failure { wrong, what });
    };
    let range = || {
        let names: Vec<&str> = case.expect.iter().map(|decision| decision.name()).collect();
        format!("expected {}", names.join(" or "))
    };
    if got < mildest {
        let runs = got == Decision::Allow || (got == Decision::Pass && mildest >= Decision::Ask);
        fail(if runs { Wrong::Unasked } else { Wrong::Milder }, range());
    } else if got > strictest {
        fail(if got == Decision::Deny { Wrong::Refused } else { Wrong::Stopped }, range());
    } else if case.expect == [got]
        && let Some(label) = case
            .labels
            .iter()
            .filter(|label| is_due(label, got))
            .find(|label| !verdict.labels.contains(label))
    {
        fail(Wrong::Labels, format!("expected the label {label}"));
    }
}

/// Whether a label must be there under every preset when the decision is `decision`.
fn is_due(label: &str, decision: Decision) -> bool {
    match decision {
        Decision::Deny => label.starts_with("deny_list:"),
        Decision::Ask => NEVER_RELAXED.contains(&label),
        Decision::Pass | Decision::Allow => false,
    }
}

fn check_twin(verdict: &Verdict, plain: &Verdict, failures: &mut Vec<Failure>) {
    if verdict.decision < plain.decision {
        let (got, twin) = (verdict.decision.name(), plain.decision.name());
        failures.push(Failure {
            wrong: Wrong::Milder,
            what: format!("milder than its twin: {got} against {twin} {:?}", plain.labels),
        });
    } else if verdict.decision == plain.decision
        && let Some(label) = plain.labels.iter().find(|label| !verdict.labels.contains(label))
    {
        failures.push(Failure {
            wrong: Wrong::Labels,
            what: format!("its twin has the label {label}, it has {:?}", verdict.labels),
        });
    }
}
