//! The words for the model and for the person.

use shellgate::model::verdict::{Decision, Reason, Verdict};

use crate::hook::{Act, Advice, Call};

/// The most characters of a command that are shown.
const SHOWN: usize = 160;

/// How a person can let a call through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways<'a> {
    /// The agent asks the person itself.
    Asked,
    /// The agent refuses; this code allows it once.
    Code(&'a str),
    /// The agent refuses, and no code could be kept.
    None,
}

/// The advice for a verdict on a call.
pub fn advice(call: &Call, verdict: &Verdict, ways: Ways<'_>) -> Advice {
    let approvable = call.is_shell();
    let decision = verdict.decision;
    if decision < Decision::Ask {
        let model = match (decision, verdict.reasons.first()) {
            (Decision::Allow, Some(own)) => format!("shellgate: {}", own.why),
            (Decision::Allow, None) => {
                "shellgate: every command in it only reads what it may read.".into()
            }
            _ => "shellgate: nothing is against it.".into(),
        };
        return Advice { decision, person: model.clone(), model, approvable };
    }
    let first = verdict.reasons.first();
    let what = what(call, decision);
    let body = first
        .map_or_else(|| "No reason was recorded, so a person should look at it.".to_owned(), body);
    let more = verdict.reasons.len().saturating_sub(1);
    let more = match more {
        0 => String::new(),
        1 => " One more reason was found.".to_owned(),
        _ => format!(" {more} more reasons were found."),
    };
    let shared = format!("{what} {body}{more}");
    let model = match (decision, ways) {
        (Decision::Deny, _) => {
            format!("{shared} Do not try another spelling; tell the person what is needed and why.")
        }
        (_, Ways::Asked) => shared.clone(),
        (_, _) => format!(
            "{shared} A person can let it through: `shellgate allow` in a terminal lists what was \
             stopped."
        ),
    };
    let person = format!("{shared}{}", lines(call, decision, ways));
    Advice { decision, model, person, approvable }
}

/// The advice where shellgate itself failed: ask a person.
pub fn fault(what: &str) -> Advice {
    let text = format!(
        "shellgate could not judge this call, so a person must look at it: {}. Run `shellgate doctor` \
         in a terminal to see what is wrong. (fault)",
        shown(what)
    );
    Advice { decision: Decision::Ask, model: text.clone(), person: text, approvable: false }
}

fn what(call: &Call, decision: Decision) -> String {
    let verb = if decision == Decision::Deny { "refuses" } else { "wants a person to agree to" };
    match call.acts.first() {
        Some(Act::File { path, kind }) => {
            format!("shellgate {verb} this {} of `{}`.", noun(kind.name()), shown(path))
        }
        _ => format!("shellgate {verb} this command: `{}`.", shown(&call.subject())),
    }
}

fn noun(kind: &str) -> &str {
    if kind == "write" { "change" } else { kind }
}

fn body(reason: &Reason) -> String {
    let rule =
        if reason.label.contains(':') || reason.label == reason.rule || reason.rule.is_empty() {
            reason.label.clone()
        } else {
            format!("{}, {}", reason.label, reason.rule)
        };
    if reason.instead.is_empty() {
        format!("{} (rule {rule})", reason.why)
    } else {
        format!("{} Instead: {} (rule {rule})", reason.why, reason.instead)
    }
}

/// The ready commands, each on its line.
fn lines(call: &Call, decision: Decision, ways: Ways<'_>) -> String {
    let mut out = String::new();
    if let Ways::Code(code) = ways {
        out.push_str("\nAllow it once:  shellgate allow --once ");
        out.push_str(code);
    }
    let text = call.subject();
    if decision == Decision::Ask && call.is_shell() && text.len() <= SHOWN && !text.contains('\n') {
        let word = quoted(&text);
        out.push_str("\nAlways here:    shellgate allow --here ");
        out.push_str(&word);
        out.push_str("\nAlways:         shellgate allow --always ");
        out.push_str(&word);
    }
    out
}

/// A text as one word of a shell.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// A text on one line, cut, without characters that could hide others.
pub fn shown(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(SHOWN)
        .map(|c| match c {
            '\n' | '\t' | '\r' => ' ',
            '`' => '\'',
            c if c.is_control() => '\u{fffd}',
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}' => '\u{fffd}',
            c => c,
        })
        .collect();
    if text.chars().nth(SHOWN).is_some() {
        out.push('…');
    }
    out
}
