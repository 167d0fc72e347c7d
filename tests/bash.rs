//! bash is the judge: what the gate says runs and is written is what runs and is written, and what we
//! print is what we read. Needs bubblewrap and strace; without them it fails and says why. dash, zsh and
//! busybox are judges of the same texts where they are declared as the shell.

use std::sync::OnceLock;

use shellgate::Gate;
use shellgate::model::context::Shell;
use suite::bash::{Sandbox, say};
use suite::campaign::{Plan, Structure, corpus, frozen, run, structures};
use suite::plainly::plainly;

/// The place to run candidates in; none where a person left it out.
#[expect(clippy::panic, reason = "without the sandbox the tests must fail and say why")]
pub(crate) fn sandbox() -> Option<&'static Sandbox> {
    static SANDBOX: OnceLock<Option<Sandbox>> = OnceLock::new();
    SANDBOX
        .get_or_init(|| {
            if std::env::var_os("SHELLGATE_NO_SANDBOX").is_some_and(|value| value == "1") {
                say("LEFT OUT: bash as the judge (SHELLGATE_NO_SANDBOX=1)");
                return None;
            }
            match Sandbox::open() {
                Ok(sandbox) => Some(sandbox),
                Err(error) => panic!(
                    "{error}\n  install bubblewrap and strace, or set SHELLGATE_NO_SANDBOX=1 to \
                     leave out what only bash can judge"
                ),
            }
        })
        .as_ref()
}

#[test]
fn a_slice_of_the_campaign_breaks_no_law() {
    let Some(sandbox) = sandbox() else { return };
    slice(sandbox, Shell::Unknown, 3_000);
}

/// Another shell as the judge; left out only where a person said so.
fn other(shell: Shell, package: &str) {
    let Some(sandbox) = sandbox() else { return };
    if !sandbox.has(shell) && std::env::var_os("SHELLGATE_NO_SHELLS").is_some_and(|own| own == "1")
    {
        say(&format!("LEFT OUT: {} as the judge (SHELLGATE_NO_SHELLS=1)", shell.name()));
        return;
    }
    assert!(
        sandbox.has(shell),
        "{} is not here: install {package}, or set SHELLGATE_NO_SHELLS=1 to leave out what only it \
         can judge",
        shell.name()
    );
    slice(sandbox, shell, 500);
}

#[test]
fn dash_runs_what_is_said_of_it() {
    other(Shell::Dash, "dash");
}

#[test]
fn zsh_runs_what_is_said_of_it() {
    other(Shell::Zsh, "zsh");
}

#[test]
fn ash_of_busybox_runs_what_is_said_of_it() {
    other(Shell::Ash, "busybox");
}

/// The same candidates every time: no change of the corpus changes them.
fn slice(sandbox: &Sandbox, shell: Shell, count: u64) {
    let plan = Plan {
        shell,
        seed: 2026,
        count,
        corpus: frozen(),
        shrink: false,
        class: None,
        first: false,
        aloud: false,
    };
    let report = run(sandbox, Gate::builtin(), &plan).unwrap();
    say(&report.lines().join("\n"));
    let finds: Vec<String> = report
        .finds
        .iter()
        .map(|find| format!("{} {}\n  {:?}", find.number, find.violation, find.candidate.text))
        .collect();
    assert!(finds.is_empty(), "{} broken laws\n{}", finds.len(), finds.join("\n"));
    assert_eq!(report.judged as u64, count);
    // Candidates that start nothing would prove nothing.
    let started = report.started as u64;
    assert!(started > count / 2, "{started} programs started");
}

#[test]
fn every_line_of_the_corpus_is_printed_as_bash_reads_it() {
    let Some(sandbox) = sandbox() else { return };
    let lines = corpus();
    let outcomes = structures(sandbox, &lines).unwrap();
    let failures: Vec<String> = lines
        .iter()
        .zip(&outcomes)
        .filter_map(|(line, outcome)| match outcome {
            Structure::Differs(about) => Some(format!("{line:?}\n  {about}")),
            _ => None,
        })
        .collect();
    assert!(failures.is_empty(), "{} lines differ\n{}", failures.len(), failures.join("\n"));
    assert!(outcomes.iter().filter(|outcome| **outcome == Structure::Same).count() > 500);
}

#[test]
fn what_bash_prints_as_it_is_written_is_compared_command_by_command() {
    let text = "a \"`b \\\"x\\\" \\`c\\``\"; cat <<E\n$(d `e`) $f\nE";
    let plain = "a \"$( b \"x\" $( c\n)\n)\"; cat <<E\n$(:) $f\nE\n: $(d $( e\n))";
    assert_eq!(plainly(text), plain);
}
