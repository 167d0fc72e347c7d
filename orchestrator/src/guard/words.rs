//! What the labels of a decision say to a person, in sentences.

use super::Guard;
use super::action::Deed;
use super::analysis::Scene;
use crate::task::call::ToolCall;
use crate::task::project::{Place, Project};

/// A label in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The label.
    pub label: String,
    /// One sentence: what stands against the call, or what could not be told. Empty for a label that is
    /// not known.
    pub why: String,
    /// One sentence: a safer way; may be empty.
    pub instead: String,
}

impl Guard {
    /// The labels of a decision about a call in words, in their order. What the gate says about this very
    /// command comes before what a label means in general.
    pub fn words(
        &self,
        call: &ToolCall,
        labels: &[String],
        place: &Place,
        project: &Project,
    ) -> Vec<Words> {
        let deed = Deed::of(call, project);
        let scene = Scene::of(place, &project.sensitive_globs);
        let told = deed.analysed.map(|command| self.gates.words(&command, &scene));
        in_words(labels, &told.unwrap_or_default())
    }
}

/// Labels in words, with what the gate told where it told something.
pub(super) fn in_words(labels: &[String], told: &[Words]) -> Vec<Words> {
    let of = |label: &String| {
        told.iter().find(|own| own.label == *label).cloned().unwrap_or_else(|| general(label))
    };
    labels.iter().map(of).collect()
}

fn general(label: &str) -> Words {
    let (why, instead) = meaning(label);
    Words { label: label.to_owned(), why: why.to_owned(), instead: instead.to_owned() }
}

/// What a label means, and what may be done.
fn meaning(label: &str) -> (&'static str, &'static str) {
    let (name, detail) = label.split_once(':').unwrap_or((label, ""));
    match (name, detail) {
        ("deny_list", _) => ("It is refused outright.", ""),
        ("read_only_allow", _) => ("It only reads what it may read.", ""),
        ("sensitive_file", _) => ("It touches a file that may hold secrets.", ""),
        ("multi_file_edit", _) => ("It changes more files than may change unasked.", ""),
        ("destructive_action", _) => ("It removes or overwrites what may be needed.", ""),
        ("high_risk_area", _) => (
            "It may touch logins, money, migrations or a deployment: nothing says that it does not.",
            "",
        ),
        ("irreversible", _) => ("Nothing says that it can be taken back.", ""),
        ("not_safe_now", _) => (
            "Nothing says that it is harmless.",
            "A command that is known to only read runs unasked; a project's own command asks once for each text.",
        ),
        ("jev_confident" | "jev_uncertain", _) => {
            ("It is what the second opinion makes of it.", "")
        }
        ("jev_unavailable", _) => ("The service for second opinions gave no usable answer.", ""),
        ("outside_workspace", _) => {
            ("A path leads out of the workspace, by its name or by a link.", "")
        }
        ("command_substitution", _) => ("What one command prints becomes part of another.", ""),
        ("privileged", _) => ("It runs with other rights.", ""),
        ("background_process", _) => ("It leaves something running.", ""),
        ("unparsable_command", _) => ("It could not be understood completely.", ""),
        ("inline_code", _) => ("It runs or changes code that nobody has looked at.", ""),
        ("tool_not_allowed", _) => {
            ("The task may not use this tool.", "Allow the tool for the task.")
        }
        ("gate_error", _) => ("It could not be judged.", ""),
        ("approved_for_task", _) => ("You agreed to it for the whole task.", ""),
        ("user_rejected", _) => ("You declined it.", ""),
        ("policy_override", "strict_mode") => ("Strict mode asks before every side effect.", ""),
        ("policy_override", "user_choice") => ("You chose the workflow.", ""),
        ("policy_override", "cheap_success") => ("A cheap model is likely to manage it.", ""),
        ("policy_override", "complexity_floor") => ("The work is complex.", ""),
        ("policy_override", "sensitive_floor") => ("A file of the task is sensitive.", ""),
        ("policy_override" | "option_unavailable", _) => {
            ("The models for another workflow are not configured.", "")
        }
        ("no_models_configured", _) => ("No model is configured.", "Configure a model."),
        _ => ("", ""),
    }
}
