//! Fuzz targets as plain functions from bytes, and a small mutator for machines without libFuzzer.
//!
//! A target fails by panicking. What it checks beyond that stands at its function. Inputs that once
//! failed are kept in `regressions/<target>/` and replayed by `cargo test`.

use serde_json::{Value, json};
use shellgate::Gate;
use shellgate::load::{Level, Policy};
use shellgate::model::context::{Context, Limits, Preset};
use shellgate::model::script::{Gap, GapCause};
use shellgate::model::verdict::Decision;
use shellgate_orchestrator::protocol::desiide::types::Method;
use shellgate_orchestrator::rpc::frame::{FrameLimits, FrameReader, frame};
use shellgate_orchestrator::rpc::message::{ErrorObject, Message};
use shellgate_orchestrator::server::dispatch;

pub mod mutate;

/// A target: it panics on an input that it does not hold for.
pub type Target = fn(&[u8]);

/// The targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("parse", parse),
    ("witness", witness),
    ("expand", expand),
    ("classify", classify),
    ("load", load),
    ("rpc", rpc),
];

/// Limits that keep one input cheap.
fn limits() -> Limits {
    Limits { bytes: 1 << 16, steps: 2_000, ..Limits::default() }
}

/// Reading is total and deterministic, and what is read without a gap prints to a text that is read
/// as the same text again.
///
/// # Panics
/// When one of these does not hold.
pub fn parse(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let limits = limits();
    let parsed = shellgate::parse::parse(&text, &limits);
    assert_eq!(parsed, shellgate::parse::parse(&text, &limits), "two readings differ");
    for gap in &parsed.gaps {
        assert!(gap.span.end <= text.len(), "a gap lies outside of the text: {gap:?}");
    }
    if parsed.gaps.is_empty() {
        let printed = shellgate::print::print(&parsed.script);
        let again = shellgate::parse::parse(&printed, &limits);
        if again.gaps.is_empty() {
            assert_eq!(
                shellgate::print::print(&again.script),
                printed,
                "printing is not stable for {text:?}"
            );
        }
    }
}

/// Where the scanner stands for the tree as a witness, the tree would have said nothing.
///
/// # Panics
/// When the tree sees a command or a substitution that the reading lacks, in a line about which it is not
/// asked.
pub fn witness(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let limits = limits();
    let parsed = shellgate::parse::parse(&text, &limits);
    let of_tree = |gap: &Gap| matches!(gap.cause, GapCause::TreeDisagrees(_));
    if parsed.gaps.iter().all(of_tree) {
        let all = shellgate::parse::disagreements(&text, &parsed.script, &limits);
        assert_eq!(parsed.gaps, all, "the tree was not asked about a line of {text:?}");
    }
}

/// Following a script is total and deterministic, and everything it names lies in its texts.
///
/// # Panics
/// When one of these does not hold.
pub fn expand(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let gate = Gate::builtin();
    let run = || shellgate::interpret::run(&text, &Context::default(), gate.catalog(), &limits());
    let (_, trace) = run();
    assert_eq!(trace.invocations.len(), run().1.invocations.len(), "two runs differ");
    for own in &trace.invocations {
        assert!(!own.argv.is_empty(), "an invocation without a word");
        assert!((own.site.source.0 as usize) < trace.sources.len(), "a site in no text");
    }
}

/// Judging is total and deterministic; asking and denying have a reason; spans lie in the command.
///
/// # Panics
/// When one of these does not hold.
pub fn classify(data: &[u8]) {
    let gate = Gate::builtin();
    for preset in [Preset::Hook, Preset::Protocol] {
        let context = Context { preset, ..Context::default() };
        let verdict = gate.classify_bytes(data, &context);
        assert_eq!(verdict, gate.classify_bytes(data, &context), "two verdicts differ");
        if verdict.decision >= Decision::Ask {
            assert!(!verdict.reasons.is_empty(), "no reason for {}", verdict.decision.name());
        }
        if let Ok(text) = std::str::from_utf8(data) {
            for reason in &verdict.reasons {
                assert!(reason.span.end <= text.len(), "{reason:?} lies outside of the text");
            }
        }
    }
}

/// A policy is read or refused with a message, never anything else.
///
/// # Panics
/// When the message is empty.
pub fn load(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for level in [Level::User, Level::Project] {
        match Policy::read("policy.toml", &text, level) {
            Ok(policy) => {
                if let Err(error) = Gate::new(&[policy]) {
                    assert!(!error.to_string().is_empty());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// A stream of frames is cut the same however its bytes arrive, a body comes back out of its frame, and
/// whatever a body holds is a request whose params were checked, or is refused with a message.
///
/// # Panics
/// When one of these does not hold.
pub fn rpc(data: &[u8]) {
    let bodies = |step: usize| {
        let mut reader = FrameReader::new(FrameLimits { header: 256, body: 1 << 16 });
        let mut bodies = Vec::new();
        for piece in data.chunks(step.max(1)) {
            reader.push(piece);
            loop {
                match reader.next_body() {
                    Ok(Some(body)) => bodies.push(body),
                    Ok(None) => break,
                    Err(_) => return (bodies, true),
                }
            }
        }
        (bodies, false)
    };
    assert_eq!(bodies(data.len()), bodies(3), "cut otherwise");
    let mut reader = FrameReader::new(FrameLimits::default());
    reader.push(&frame(data));
    assert_eq!(reader.next_body(), Ok(Some(data.to_vec())), "another body");
    if let Ok(message) = Message::read(data) {
        assert!(Message::read(&message.write()).is_ok(), "what we write is unreadable");
    }
    let text = String::from_utf8_lossy(data);
    let own = serde_json::from_str(&text).unwrap_or(Value::Null);
    let task =
        json!({ "kind": "explain", "instruction": text, "context": { "openEditors": [text] } });
    let model =
        json!({ "models": [{ "id": text, "provider": "ollama", "model": "m", "baseUrl": text }] });
    for params in [own, task, model] {
        for method in Method::ALL {
            if let Err(fault) = dispatch::read(method.name(), Some(params.clone()), true) {
                let error = ErrorObject::from(fault);
                assert!(error.message.contains(method.name()), "a fault that names no method");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_that_once_failed_hold() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
        for (name, target) in TARGETS {
            let Ok(listing) = std::fs::read_dir(folder.join(name)) else { continue };
            for entry in listing {
                target(&std::fs::read(entry.unwrap().path()).unwrap());
            }
        }
    }

    #[test]
    fn a_short_run_of_every_target_holds() {
        let seeds = mutate::seeds().unwrap();
        for (name, target) in TARGETS {
            let mut source = mutate::Mutator::new(7, &seeds);
            for _ in 0..if *name == "load" { 20 } else { 150 } {
                target(&source.next_input());
            }
        }
    }
}
