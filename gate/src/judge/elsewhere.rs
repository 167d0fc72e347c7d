//! What other shells would do with a text, where it is not known that bash will run it.
//!
//! A text that no shell reads otherwise than bash is looked at once. One with a construct that hides
//! commands from bash and not from dash or zsh (`$'\''`, `[[ a > b ]]`, a pipe beside a file) is judged as
//! that shell reads it, too.

use crate::model::context::Shell;
use crate::model::verdict::{Decision, Reason, Verdict};

/// The label of what another shell would do.
const LABEL: &str = "unparsable_command";

/// Labels that make nothing worse elsewhere: a command that goes on in the background harms nobody where
/// it is harmless itself, and what is not understood there is no deed.
const MILD: [&str; 2] = ["background_process", LABEL];

/// The other shells that may do something else with a text than bash; a look at its bytes that may say
/// one too many.
pub fn shells(command: &str) -> &'static [Shell] {
    match (reads_otherwise(command), runs_otherwise(command)) {
        (false, false) => &[],
        (true, false) => &[Shell::Dash],
        (false, true) => &[Shell::Zsh],
        (true, true) => &[Shell::Dash, Shell::Zsh],
    }
}

/// Whether dash may find other commands in it.
fn reads_otherwise(text: &str) -> bool {
    let tests = text.contains("[[") && text.contains(['<', '>', '&', '|']);
    let quotes = text.contains("$'") && text.contains("\\'");
    tests || quotes || text.contains("&>") || text.contains("((") || echoes_escapes(text)
}

/// Whether zsh may give other values to its commands.
fn runs_otherwise(text: &str) -> bool {
    let bytes = text.as_bytes();
    let pipe = bytes.iter().position(|byte| *byte == b'|');
    let shares = pipe.is_some()
        && bytes.iter().enumerate().any(|(at, byte)| {
            let before = at.checked_sub(1).and_then(|at| bytes.get(at));
            match byte {
                b'>' => {
                    bytes.get(at + 1) != Some(&b'&') && !matches!(before, Some(b'2' | b'-' | b'='))
                }
                b'<' => pipe.is_some_and(|pipe| pipe < at),
                _ => false,
            }
        });
    let elements = text.contains("=(") && text.contains('[');
    let whole = text.contains('$') && text.contains("-c");
    let tied = ["path=", "functions[", "aliases["].iter().any(|name| text.contains(name));
    shares || elements || whole || tied || echoes_escapes(text)
}

/// Whether `echo` may print something else without an option.
fn echoes_escapes(text: &str) -> bool {
    text.contains("echo") && text.contains('\\')
}

/// Takes in what another shell would do.
pub fn join(verdict: &mut Verdict, there: Verdict, shell: Shell) {
    if there.decision == Decision::Deny {
        let reasons = there.reasons.into_iter().filter(|own| own.decision == Decision::Deny);
        verdict.reasons.extend(reasons.map(|own| Reason {
            label: LABEL.into(),
            decision: Decision::Ask,
            why: format!("{} reads this otherwise than bash. {}", shell.name(), own.why),
            ..own
        }));
        verdict.labels = vec![LABEL.into()];
        verdict.decision = Decision::Ask;
    } else if verdict.decision == Decision::Allow
        && there.labels.iter().any(|own| !MILD.contains(&own.as_str()))
        && there.decision == Decision::Ask
    {
        *verdict = Verdict::default();
    }
}
