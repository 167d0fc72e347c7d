//! One decision as it is kept: a line of JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shellgate::model::context::{Context, Preset, Shell};
use shellgate::model::verdict::{Decision, Verdict};

use crate::store::{redact, time};

/// One decision. The command is kept with what looks like a secret left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When, in milliseconds since 1970; on disk RFC 3339 in UTC.
    #[serde(with = "moment")]
    pub time: u64,
    /// Which agent asked, by its name on the command line (`claude`).
    pub agent: String,
    /// The agent's session, where the payload names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the gate decided.
    #[serde(with = "decision")]
    pub decision: Decision,
    /// What the agent was told, where it is another thing: `ask` for a deny that could only ask,
    /// `nothing`, `granted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The labels of the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The rules that spoke, without repetition, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// How many of them, from the front, gave the decision; the others are milder. None in records
    /// of before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<usize>,
    /// The command; for a file tool the path.
    pub command: String,
    /// For a file tool the kind of effect on the path (`read`, `write`); none for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// The current directory it would run in.
    pub cwd: String,
    /// The roots of the workspaces.
    pub workspaces: Vec<String>,
    /// The home directory.
    pub home: String,
    /// The current branch, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether a secret was left out, so that judging it again may differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// The hook's own time in microseconds, 0 where it was not measured.
    #[serde(default)]
    pub micros: u64,
}

impl Record {
    /// The record of a verdict on a command, made now.
    pub fn new(agent: &str, command: &str, context: &Context, verdict: &Verdict) -> Self {
        let mut rules: Vec<String> = Vec::new();
        let mut deciding = 0;
        for reason in &verdict.reasons {
            if !rules.contains(&reason.rule) {
                rules.push(reason.rule.clone());
                deciding += usize::from(reason.decision == verdict.decision);
            }
        }
        Self {
            time: time::now(),
            agent: agent.to_owned(),
            decision: verdict.decision,
            labels: verdict.labels.clone(),
            rules,
            deciding: Some(deciding),
            command: command.to_owned(),
            cwd: context.cwd.clone(),
            workspaces: context.workspaces.clone(),
            home: context.home.clone(),
            branch: context.branch.clone(),
            ..Self::default()
        }
    }

    /// The rules that gave the decision.
    pub fn deciding(&self) -> &[String] {
        let count = self.deciding.unwrap_or(self.rules.len());
        self.rules.get(..count).unwrap_or(&self.rules)
    }

    /// The place it was judged for, with the preset of hooks.
    pub fn context(&self) -> Context {
        Context {
            cwd: self.cwd.clone(),
            workspaces: self.workspaces.clone(),
            home: self.home.clone(),
            branch: self.branch.clone(),
            preset: Preset::Hook,
            parameters: BTreeMap::new(),
            shell: Shell::Unknown,
        }
    }

    /// The record as one line without its end, secrets left out.
    pub fn to_line(&self) -> String {
        let mut kept = self.clone();
        if let Some(command) = redact::redact(&self.command) {
            kept.command = command;
            kept.redacted = true;
        }
        // INVARIANT (json): the type has only texts, numbers and lists of texts, which serialise.
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// The record of a line; none for a line that is torn or no record.
    pub fn from_line(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

mod moment {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::store::time;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(super) fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time::format(*value))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        time::parse(&text).ok_or_else(|| D::Error::custom("not a time"))
    }
}

mod decision {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use shellgate::model::verdict::Decision;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(super) fn serialize<S: Serializer>(
        value: &Decision,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(value.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Decision, D::Error> {
        let text = String::deserialize(deserializer)?;
        Decision::from_name(&text).ok_or_else(|| D::Error::custom("not a decision"))
    }
}
