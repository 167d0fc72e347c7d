//! `shellgate hook AGENT`: one payload on standard input, one reply.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use shellgate::Gate;
use shellgate::model::context::Context;
use shellgate::model::verdict::{Decision, Reason, Verdict};

use crate::command::{Failure, Place, PresetName};
use crate::hook::{self, Act, Advice, Agent, Call, Event, Reply, text};
use crate::store::grants::{self, Request};
use crate::store::record::Record;
use crate::store::{Folders, installed, log, time};
use crate::{machine, policy, protect};

/// Arguments of `hook`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The agent whose payload it is.
    #[arg(value_name = "AGENT", value_parser = names())]
    agent: String,
    /// Approve what is known to be harmless, so that the agent does not ask about it.
    #[arg(long)]
    approve: bool,
}

/// The names of all agents, as the values an argument may have.
pub fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(hook::AGENTS.iter().map(|agent| agent.name))
}

/// The most bytes of a payload.
const PAYLOAD_BYTES: u64 = 16 << 20;

/// How long a call may be judged; what `install` writes makes agents wait at least a minute.
const DEADLINE: Duration = Duration::from_secs(20);

/// Bytes of the stack of the clock.
const CLOCK_BYTES: usize = 256 << 10;

/// Reads, judges, replies; the exit status is the reply's.
///
/// # Errors
/// When the reply cannot be written: then the status is one that blocks.
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let Some(agent) = hook::find(&arguments.agent) else {
        return Err(Failure::Usage(format!("unknown agent `{}`", arguments.agent)));
    };
    // What goes wrong is told in the reply; a trace on standard error would be taken for it.
    std::panic::set_hook(Box::new(|_| {}));
    give(&reply(agent, arguments.approve))
}

fn give(reply: &Reply) -> Result<u8, Failure> {
    let mut err = io::stderr().lock();
    let mut out = io::stdout().lock();
    let written = err
        .write_all(reply.stderr.as_bytes())
        .and_then(|()| out.write_all(reply.stdout.as_bytes()))
        .and_then(|()| out.flush());
    match written {
        Ok(()) => Ok(reply.status),
        Err(error) => Err(Failure::Usage(format!("cannot write the reply: {error}"))),
    }
}

/// The reply. A fault inside asks, and so does a judge that is late: then a clock in a thread of its own has
/// replied. (The judge stays in the first thread, whose memory costs least to get; the limits of depth hold
/// its stack far below what a first thread has.)
fn reply(agent: &'static Agent, approve: bool) -> Reply {
    let mut input = Vec::new();
    let read = io::stdin().lock().take(PAYLOAD_BYTES + 1).read_to_end(&mut input);
    let fault = |what: &str| hook::fault(agent, Event::Main, what);
    match read {
        Err(error) => return fault(&format!("cannot read the payload: {error}")),
        Ok(count) if count as u64 > PAYLOAD_BYTES => return fault("the payload is too large"),
        Ok(_) => {}
    }
    // The wait for the payload is the agent's time.
    let started = Instant::now();
    let replied = Arc::new(AtomicBool::new(false));
    let clock = Arc::clone(&replied);
    let wait = move || {
        std::thread::sleep(DEADLINE);
        if !clock.swap(true, Ordering::SeqCst) {
            let late = hook::fault(agent, Event::Main, "the judge took too long");
            let status = give(&late).unwrap_or_else(|failure| failure.status());
            std::process::exit(i32::from(status));
        }
    };
    if let Err(error) = std::thread::Builder::new().stack_size(CLOCK_BYTES).spawn(wait) {
        return fault(&format!("cannot start the clock: {error}"));
    }
    let judged = std::panic::catch_unwind(AssertUnwindSafe(|| {
        hook::answer(agent, &input, approve, &mut |call| judge(agent, call, started))
    }));
    if replied.swap(true, Ordering::SeqCst) {
        // The clock is replying and then ends the process.
        loop {
            std::thread::park();
        }
    }
    judged.unwrap_or_else(|_| fault("the judge failed"))
}

/// Everything a call is judged by.
struct Bench {
    gate: Cow<'static, Gate>,
    context: Context,
    /// Why a policy is left out; empty where none is.
    broken: String,
}

fn judge(agent: &Agent, call: &Call, started: Instant) -> Result<Advice, String> {
    let folders = Folders::of_environment().ok_or("HOME is not set to an absolute path")?;
    let Bench { gate, context, broken } = bench(call, &folders)?;
    let (mut verdict, worst) = verdict(&gate, &context, call);
    if !broken.is_empty() {
        floor(
            &mut verdict,
            "broken_policy",
            &broken,
            "Repair the file, then run `shellgate doctor`.",
        );
    }
    let mut record = record(agent, call, &context, &verdict, worst);
    let canary = verdict.reasons.iter().any(|reason| reason.rule == protect::CANARY);
    let advice = if verdict.decision < Decision::Ask {
        text::advice(call, &verdict, text::Ways::Asked)
    } else {
        let subject = call.subject();
        let rules: BTreeSet<String> = verdict
            .reasons
            .iter()
            .filter(|reason| reason.decision >= Decision::Ask)
            .map(|reason| reason.rule.clone())
            .collect();
        let rules: Vec<String> = rules.into_iter().collect();
        let request = Request {
            command: &subject,
            cwd: &context.cwd,
            rules: &rules,
            denied: verdict.decision == Decision::Deny,
        };
        let file = grants::file(&folders);
        let now = time::now() / 1000;
        let event = if call.event == Event::Main { "main" } else { "other" };
        // A book that cannot be read grants nothing.
        if !canary && grants::use_up(&file, &request, event, now).unwrap_or(false) {
            record.answer = Some("granted".into());
            verdict = Verdict::default();
            text::advice(call, &verdict, text::Ways::Asked)
        } else if canary {
            text::advice(call, &verdict, text::Ways::None)
        } else if verdict.decision == Decision::Ask && agent.asks.contains(&call.event) {
            text::advice(call, &verdict, text::Ways::Asked)
        } else {
            if verdict.decision == Decision::Ask {
                record.answer = Some("deny".into());
            }
            let code = grants::note(&file, &request, agent.name, now).ok();
            let ways = code.as_deref().map_or(text::Ways::None, text::Ways::Code);
            text::advice(call, &verdict, ways)
        }
    };
    if !canary {
        record.micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        // A log that cannot be written stops no work; `doctor` tells of it.
        let _ = log::append(&record);
    }
    // The process ends with this call; giving the memory back would be a good part of its time.
    std::mem::forget(gate);
    Ok(advice)
}

/// A directory that nothing lies in: the workspace of a call from a place that cannot be one.
const NOWHERE: &str = "/nonexistent/shellgate-has-no-workspace";

/// Variables by which agents name the root of the project.
const ROOTS: &[&str] = &[
    "CLAUDE_PROJECT_DIR",
    "GEMINI_PROJECT_DIR",
    "FACTORY_PROJECT_DIR",
    "QWEN_PROJECT_DIR",
    "CRUSH_PROJECT_DIR",
];

fn bench(call: &Call, folders: &Folders) -> Result<Bench, String> {
    let mut place = Place {
        cwd: call.cwd.clone(),
        workspaces: call.workspaces.clone(),
        home: None,
        branch: None,
        policy: None,
        preset: PresetName::Hook,
        shell: None,
    };
    if place.workspaces.is_empty() {
        place.workspaces.extend(
            ROOTS
                .iter()
                .find_map(|name| std::env::var(name).ok())
                .filter(|root| root.starts_with('/')),
        );
    }
    let given = !place.workspaces.is_empty();
    let mut context = machine::context(&place).map_err(|failure| failure.to_string())?;
    let home = context.home.trim_end_matches('/').to_owned();
    context.workspaces.retain(|root| {
        may_be_workspace(root, &home) || (given && root.trim_end_matches('/') == home)
    });
    if context.workspaces.is_empty() {
        context.workspaces.push(NOWHERE.into());
    }
    // A book of installs that cannot be read leaves the other files protected.
    let written = installed::read(&installed::file(folders));
    let mut broken = written.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let own = protect::policy(
        folders,
        &written.unwrap_or_default(),
        protect::program().as_deref(),
        &context,
    )
    .map_err(|error| error.to_string())?;
    match policy::gate_with(&place, context.clone(), vec![own.clone()]) {
        Ok((gate, context)) => Ok(Bench { gate, context, broken }),
        Err(failure) => {
            broken = failure.to_string();
            let gate = Gate::new(&[own]).map_err(|error| error.to_string())?;
            Ok(Bench { gate: Cow::Owned(gate), context, broken })
        }
    }
}

/// Whether a directory can be a workspace: not the root, not a home or what homes lie in, not a place
/// of the system. (A home is one where the agent says so.)
fn may_be_workspace(root: &str, home: &str) -> bool {
    const SYSTEM: &[&str] = &[
        "bin",
        "boot",
        "dev",
        "etc",
        "lib",
        "lib64",
        "opt",
        "proc",
        "root",
        "run",
        "sbin",
        "sys",
        "usr",
        "var",
        "Library",
        "System",
        "Applications",
    ];
    let home = home.trim_end_matches('/');
    if root.starts_with(&format!("{home}/")) {
        return true;
    }
    let first = root.split('/').find(|part| !part.is_empty());
    let above_home = home == root || home.starts_with(&format!("{}/", root.trim_end_matches('/')));
    !above_home && first.is_some_and(|first| !SYSTEM.contains(&first))
}

/// The verdict on all acts, and the act that is to blame: the last of the worst.
pub fn verdict<'a>(gate: &Gate, context: &Context, call: &'a Call) -> (Verdict, Option<&'a Act>) {
    let mut all = Verdict { decision: Decision::Allow, ..Verdict::default() };
    let mut worst = None;
    for act in &call.acts {
        let mut own = match act {
            Act::Command(text) | Act::Foreign(text) => gate.classify(text, context),
            Act::File { path, kind } => gate.classify_path(path, *kind, context),
        };
        if matches!(act, Act::Foreign(_)) {
            floor(
                &mut own,
                "other_shell",
                "It goes to a shell that shellgate does not read.",
                "Use a shell of the POSIX family.",
            );
        }
        if own.decision >= all.decision {
            all.decision = own.decision;
            worst = Some(act);
        }
        for label in own.labels {
            if !all.labels.contains(&label) {
                all.labels.push(label);
            }
        }
        for reason in own.reasons {
            let known = |old: &Reason| (&old.label, &old.rule) == (&reason.label, &reason.rule);
            if !all.reasons.iter().any(known) {
                all.reasons.push(reason);
            }
        }
    }
    all.reasons.sort_by_key(|reason| std::cmp::Reverse(reason.decision));
    if all.decision > Decision::Allow {
        all.labels.retain(|label| label != "read_only_allow");
    }
    (all, worst)
}

/// Makes a verdict at least an ask, with a reason.
fn floor(verdict: &mut Verdict, rule: &str, why: &str, instead: &str) {
    verdict.decision = verdict.decision.max(Decision::Ask);
    verdict.labels.retain(|label| label != "read_only_allow");
    let label = "unparsable_command";
    if !verdict.labels.iter().any(|own| own == label) {
        verdict.labels.push(label.into());
    }
    verdict.reasons.push(Reason {
        label: label.into(),
        rule: rule.into(),
        decision: Decision::Ask,
        why: why.into(),
        instead: instead.into(),
        span: shellgate::model::span::Span::default(),
    });
}

fn record(
    agent: &Agent,
    call: &Call,
    context: &Context,
    verdict: &Verdict,
    worst: Option<&Act>,
) -> Record {
    let (command, effect) = match worst {
        Some(Act::File { path, kind }) => (path.as_str(), Some(kind.name().to_owned())),
        Some(Act::Command(text) | Act::Foreign(text)) => (text.as_str(), None),
        None => ("", None),
    };
    Record {
        effect,
        session: call.session.clone(),
        ..Record::new(agent.name, command, context, verdict)
    }
}
