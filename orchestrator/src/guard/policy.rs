//! The order of evaluation, as pure functions: what is known of a call, the settings and an engine's
//! answers in; an outcome with its labels out.

use serde::{Deserialize, Serialize};

use super::threshold::Thresholds;
use crate::advisor::Reply;
use crate::task::decision::{Answer, EngineKind, Noul, Outcome};

/// How strict the guard is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Settings {
    /// Every side effect asks.
    pub(super) strict: bool,
    /// How sure an engine must be.
    pub(super) thresholds: Thresholds,
}

/// What is known of a call before an engine is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Case {
    /// Whether the tool by itself changes nothing.
    pub(super) reads_only: bool,
    /// Labels of the paths in the arguments, without repetition.
    pub(super) path_floors: Vec<String>,
    /// Distinct files of an edit.
    pub(super) edit_files: Option<u64>,
    /// What the gate said of the command.
    pub(super) command: Option<CommandCase>,
    /// Whether the engine sees less of the command than there is.
    pub(super) shortened: bool,
}

/// What the gate said of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CommandCase {
    /// Deny labels.
    pub(super) denied: Vec<String>,
    /// Labels that ask.
    pub(super) floors: Vec<String>,
    /// Whether all of it only reads.
    pub(super) reads_only: bool,
    /// For the project's own commands: whether the person agreed to exactly this text.
    pub(super) agreed: Option<bool>,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) outcome: Outcome,
    /// Labels without repetition.
    pub(super) reasons: Vec<String>,
}

/// What the steps before the engine come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Policy alone decides.
    Decided(Decided),
    /// The engine is asked; these labels stand whatever it says.
    Ask(Vec<String>),
}

fn decided(outcome: Outcome, reasons: Vec<String>) -> Decided {
    let mut unique: Vec<String> = Vec::with_capacity(reasons.len());
    for reason in reasons {
        if !unique.contains(&reason) {
            unique.push(reason);
        }
    }
    Decided { outcome, reasons: unique }
}

/// Steps 1 to 5.
pub(super) fn before(case: &Case, settings: &Settings) -> Before {
    let mut floors = case.path_floors.clone();
    // Counts of files are small; the comparison is exact.
    if case.edit_files.is_some_and(|count| count as f64 > settings.thresholds.max_auto_edit_files) {
        floors.push("multi_file_edit".into());
    }
    let mut reads_only = case.reads_only;
    if let Some(command) = &case.command {
        if !command.denied.is_empty() {
            return Before::Decided(decided(Outcome::Block, command.denied.clone()));
        }
        floors.extend(command.floors.iter().cloned());
        reads_only = command.reads_only || command.agreed == Some(true);
        if command.agreed == Some(false) && !command.reads_only {
            // Nobody agreed yet to what the project wants to have run.
            floors.push("not_safe_now".into());
        }
    }
    if reads_only && floors.is_empty() && (!settings.strict || case.reads_only) {
        return Before::Decided(decided(Outcome::Auto, vec!["read_only_allow".into()]));
    }
    if case.reads_only {
        return Before::Decided(decided(Outcome::Confirm, floors));
    }
    if settings.strict {
        floors.push("policy_override:strict_mode".into());
        return Before::Decided(decided(Outcome::Confirm, floors));
    }
    if case.shortened {
        floors.push("unparsable_command".into());
    }
    Before::Ask(floors)
}

/// Steps 6 to 8, from the answers to `safe_now`, `reversible` and `high_risk_area`. A probability
/// counts only with the word that goes with it.
pub(super) fn after(floors: &[String], settings: &Settings, replies: &[Reply; 3]) -> Decided {
    let limits = &settings.thresholds;
    let [safe, reversible, risky] = replies;
    let is_safe = yes(safe) >= limits.auto_safe_now_min && says(safe, Noul::Yes);
    let is_reversible =
        yes(reversible) >= limits.auto_reversible_min && says(reversible, Noul::Yes);
    let is_harmless = yes(risky) < limits.auto_high_risk_max && says(risky, Noul::No);
    let fell_back = replies.iter().any(|reply| reply.fallback.is_some());
    let is_blocked = yes(safe) < limits.block_safe_now_below;
    let mut reasons: Vec<String> = Vec::new();
    if is_blocked {
        reasons.push("not_safe_now".into());
        if !is_reversible {
            reasons.push("irreversible".into());
        }
        reasons.extend(floors.iter().cloned());
        return decided(Outcome::Block, reasons);
    }
    for (holds, label) in [
        (is_safe, "not_safe_now"),
        (is_reversible, "irreversible"),
        (is_harmless, "high_risk_area"),
    ] {
        if !holds {
            reasons.push(label.into());
        }
    }
    if fell_back {
        reasons.push("jev_unavailable".into());
    }
    reasons.extend(floors.iter().cloned());
    let is_auto = is_safe && is_reversible && is_harmless && !fell_back && floors.is_empty();
    if replies.iter().any(|reply| reply.engine == EngineKind::Jev) {
        reasons.push(if is_auto { "jev_confident" } else { "jev_uncertain" }.into());
    }
    decided(if is_auto { Outcome::Auto } else { Outcome::Confirm }, reasons)
}

fn yes(reply: &Reply) -> f64 {
    match reply.answer {
        Answer::Noul { p_yes, .. } => p_yes,
        _ => 0.5,
    }
}

fn says(reply: &Reply, word: Noul) -> bool {
    matches!(reply.answer, Answer::Noul { answer, .. } if answer == word)
}

/// How policy's own decision is recorded as an answer.
pub(super) const fn as_answer(outcome: Outcome) -> Answer {
    let (answer, p_yes) = match outcome {
        Outcome::Auto => (Noul::Yes, 1.0),
        Outcome::Confirm => (Noul::Unknown, 0.5),
        Outcome::Block => (Noul::No, 0.0),
    };
    Answer::Noul { answer, p_yes }
}
