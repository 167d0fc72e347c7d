//! What a hostile text costs, counted in allocations and bytes and never in time, so that the
//! answer does not depend on the machine.

use allocation_counter::{AllocationInfo, measure};
use shellgate::Gate;
use shellgate::model::context::{Context, Limits};
use shellgate::model::verdict::Decision;
use suite::shapes::{MAIN, MORE};

/// Bytes that any command may cost, whatever its length: the steps and fields that are followed
/// up to their limits.
const FIXED: u64 = 24 << 20;

fn cost(gate: &Gate, context: &Context, text: &str) -> AllocationInfo {
    measure(|| drop(gate.classify(text, context)))
}

#[test]
fn work_grows_with_the_text() {
    let (gate, context) = (Gate::builtin(), Context::default());
    let mut failures = Vec::new();
    for (name, shape) in MAIN.iter().chain(MORE) {
        let (small, large) = (shape(8 << 10), shape(32 << 10));
        cost(gate, &context, &small);
        let (small, large) = (cost(gate, &context, &small), cost(gate, &context, &large));
        for (what, small, large) in [
            ("allocations", small.count_total, large.count_total),
            ("bytes", small.bytes_total, large.bytes_total),
        ] {
            // Four times the text, and half as much again for lists that grow by doubling.
            if large > 6 * small + 20_000 {
                failures.push(format!("{name}: {small} {what} become {large}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn memory_stays_in_proportion_to_the_text() {
    let (gate, context) = (Gate::builtin(), Context::default());
    let mut failures = Vec::new();
    for (name, shape) in MAIN {
        let text = shape(1 << 20);
        let peak = cost(gate, &context, &text).bytes_max;
        if peak > 40 * text.len() as u64 {
            failures.push(format!("{name}: {:.0} times", peak as f64 / text.len() as f64));
        }
    }
    for (name, shape) in MORE {
        let text = shape(64 << 10);
        let peak = cost(gate, &context, &text).bytes_max;
        if peak > FIXED + 512 * text.len() as u64 {
            failures.push(format!("{name}: {peak} bytes for {}", text.len()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_limit_that_is_reached_asks_and_is_named() {
    let context = Context::default();
    let table = [
        (Limits { bytes: 8, ..Limits::default() }, "echo aaaaaaaaaaaaaaa"),
        (Limits { depth: 4, ..Limits::default() }, "echo $(a $(b $(c $(d $(e)))))"),
        (Limits { steps: 3, ..Limits::default() }, "ls; ls; ls; ls; ls"),
        (Limits { fields: 4, ..Limits::default() }, "echo {1..9}"),
    ];
    for (limits, text) in table {
        let verdict = Gate::builtin().clone().with_limits(limits).classify(text, &context);
        assert!(verdict.decision >= Decision::Ask, "{text}: {verdict:?}");
        assert!(verdict.reasons.iter().any(|one| one.why.contains("limit")), "{text}: {verdict:?}");
    }
}

#[test]
fn a_plain_command_makes_few_allocations() {
    let (gate, context) = (Gate::builtin(), Context::default());
    cost(gate, &context, "ls -la src");
    let count = cost(gate, &context, "ls -la src").count_total;
    assert!(count <= 8, "{count} allocations");
}

#[test]
fn a_session_gives_the_verdicts_of_its_gate() {
    let gate = Gate::builtin();
    let mut session = gate.session();
    for context in [
        Context::default(),
        Context { cwd: "/w".into(), workspaces: vec!["/w".into()], ..Context::default() },
    ] {
        for text in ["ls -la src", "rm -rf /srv/app", "rm -rf /w", "cat <(ls) | sh", "ls"] {
            assert_eq!(session.classify(text, &context), gate.classify(text, &context), "{text}");
        }
    }
}
