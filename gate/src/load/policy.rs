//! A person's or a project's policy (`policy.toml`); `docs/policy.md` has the format.
//!
//! A person's own file may relax what is no deny rule. A project's file may only tighten: what it
//! tries beyond that is left out and told as a warning.

use serde::Deserialize;

use crate::load::error::LoadError;
use crate::load::labels::decision;
use crate::load::rules::{RuleEntry, add, check};
use crate::model::rule::{AllowEntry, Labels, Rule, RuleSet};
use crate::model::verdict::Decision;

/// Whose policy it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The person's own; it may relax floors.
    User,
    /// A file inside a workspace; it may only tighten.
    Project,
}

/// A checked policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The file it comes from.
    pub file: String,
    /// Whose it is.
    pub level: Level,
    /// Further workspace roots: absolute, or below the home with a leading `~/`. The caller puts
    /// them into the context.
    pub workspaces: Vec<String>,
    /// Further globs of protected branches.
    pub protected_branches: Vec<String>,
    /// Further globs of sensitive names.
    pub sensitive: Vec<String>,
    /// Command lines that are taken for readers, compared with blanks folded.
    pub trusted_commands: Vec<String>,
    /// Invocations that are taken for readers.
    pub allow: Vec<AllowEntry>,
    /// Decisions for floors, by label.
    pub labels: Vec<(String, Decision)>,
    /// Further rules.
    pub rules: Vec<Rule>,
    /// Further utilities, as the text of a file of utilities; empty for none.
    pub utilities: String,
    /// What was left out, one sentence each, with the file.
    pub warnings: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    #[serde(default)]
    workspaces: Vec<String>,
    #[serde(default)]
    protected_branches: Vec<String>,
    #[serde(default)]
    sensitive: Vec<String>,
    #[serde(default)]
    trusted_commands: Vec<String>,
    #[serde(default)]
    allow: Vec<AllowTable>,
    #[serde(default)]
    labels: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    rule: Vec<RuleEntry>,
    #[serde(default)]
    utility: Vec<toml::Table>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowTable {
    utility: String,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    more: bool,
}

impl Policy {
    /// Reads the text of a policy file.
    ///
    /// # Errors
    ///
    /// The first mistake that is found, with its file and entry.
    pub fn read(file: &str, text: &str, level: Level) -> Result<Self, LoadError> {
        let format = |cause: toml::de::Error| LoadError::Format {
            file: file.to_owned(),
            cause: cause.to_string(),
        };
        Self::of_entry(file, toml::from_str(text).map_err(format)?, level)
    }

    /// As [`read`](Self::read), from a table that has the form of such a file.
    ///
    /// # Errors
    ///
    /// The first mistake that is found, with `file` and the entry.
    pub fn of_table(file: &str, table: toml::Table, level: Level) -> Result<Self, LoadError> {
        let format = |cause: toml::de::Error| LoadError::Format {
            file: file.to_owned(),
            cause: cause.to_string(),
        };
        Self::of_entry(file, table.try_into().map_err(format)?, level)
    }

    fn of_entry(file: &str, entry: FileEntry, level: Level) -> Result<Self, LoadError> {
        let mut policy = Self {
            file: file.to_owned(),
            level,
            workspaces: entry.workspaces,
            protected_branches: entry.protected_branches,
            sensitive: entry.sensitive,
            trusted_commands: entry.trusted_commands,
            allow: entry
                .allow
                .into_iter()
                .map(|table| AllowEntry {
                    utility: table.utility,
                    arguments: table.arguments,
                    more: table.more,
                })
                .collect(),
            labels: Vec::new(),
            rules: Vec::new(),
            utilities: String::new(),
            warnings: Vec::new(),
        };
        policy.check(file)?;
        for (label, name) in &entry.labels {
            policy.labels.push((label.clone(), decision(file, "labels", label, name)?));
        }
        for rule in entry.rule {
            policy.rules.push(check(file, rule)?);
        }
        if !entry.utility.is_empty() {
            let mut table = toml::Table::new();
            let list = entry.utility.into_iter().map(toml::Value::Table).collect();
            table.insert("utility".into(), toml::Value::Array(list));
            policy.utilities = toml::to_string(&table).map_err(|cause| LoadError::Format {
                file: file.to_owned(),
                cause: cause.to_string(),
            })?;
        }
        if level == Level::Project {
            policy.tighten();
        }
        Ok(policy)
    }

    /// Adds its rules; a rule only ever adds a label.
    pub(crate) fn add_rules(&self, rules: &mut RuleSet, labels: &Labels) -> Result<(), LoadError> {
        for rule in &self.rules {
            add(&self.file, rule.clone(), rules, labels)?;
        }
        Ok(())
    }

    /// Sets decisions of floors; what relaxes a deny rule, or anything in a project's policy, is
    /// left out with a warning.
    pub(crate) fn set_labels(
        &self,
        labels: &mut Labels,
        warnings: &mut Vec<String>,
    ) -> Result<(), LoadError> {
        for (name, decision) in &self.labels {
            let Some(spec) = labels.specs.iter_mut().find(|spec| spec.name == *name) else {
                return Err(LoadError::Value {
                    file: self.file.clone(),
                    entry: "labels".into(),
                    key: name.clone(),
                    cause: "there is no label of that name: see rules/labels.toml".into(),
                });
            };
            let relaxes = *decision < spec.yes;
            let why = if spec.yes == Decision::Deny && relaxes {
                "no policy may relax a deny rule"
            } else if self.level == Level::Project && relaxes {
                "a project's policy may only tighten; put it into your own policy"
            } else {
                spec.yes = *decision;
                spec.maybe = *decision;
                continue;
            };
            warnings.push(format!("{}: `labels.{name}` is left out: {why}", self.file));
        }
        Ok(())
    }

    fn check(&self, file: &str) -> Result<(), LoadError> {
        let value = |key: &str, cause: String| LoadError::Value {
            file: file.to_owned(),
            entry: "policy".into(),
            key: key.into(),
            cause,
        };
        for path in &self.workspaces {
            if !path.starts_with('/') && !path.starts_with("~/") {
                return Err(value(
                    "workspaces",
                    format!("`{path}` is not absolute: begin it with `/` or `~/`"),
                ));
            }
        }
        for (key, list) in [
            ("protected_branches", &self.protected_branches),
            ("sensitive", &self.sensitive),
            ("trusted_commands", &self.trusted_commands),
        ] {
            if list.iter().any(|entry| entry.trim().is_empty()) {
                return Err(value(key, "it holds an empty text: remove it".into()));
            }
        }
        if let Some(glob) =
            self.sensitive.iter().find(|glob| glob.chars().all(|c| "*?/".contains(c)))
        {
            return Err(value(
                "sensitive",
                format!("`{glob}` would match every name: be narrower"),
            ));
        }
        if self.allow.iter().any(|entry| entry.utility.trim().is_empty()) {
            return Err(value("allow", "`utility` is empty: name the program".into()));
        }
        Ok(())
    }

    /// Leaves out what would relax.
    fn tighten(&mut self) {
        let file = self.file.clone();
        let mut warn = |key: &str| {
            self.warnings.push(format!(
                "{file}: `{key}` is left out: a project's policy may only tighten; put it into your \
                 own policy"
            ));
        };
        if !self.workspaces.is_empty() {
            warn("workspaces");
            self.workspaces.clear();
        }
        if !self.trusted_commands.is_empty() {
            warn("trusted_commands");
            self.trusted_commands.clear();
        }
        if !self.allow.is_empty() {
            warn("allow");
            self.allow.clear();
        }
        if !self.utilities.is_empty() {
            warn("utility");
            self.utilities.clear();
        }
    }
}
