//! Files of rules, labels and places (`rules/*.toml`); `docs/rules.md` has the format.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::load::error::LoadError;
use crate::load::labels::{LabelEntry, PlacesEntry, add_labels, add_places};
use crate::model::context::Preset;
use crate::model::fact::{CodePlace, EffectKind, Place};
use crate::model::rule::{
    CodeCondition, Condition, Knowledge, Labels, PathCondition, Rule, RuleSet,
    SubstitutionCondition,
};
use crate::model::utility::{CarryScope, Language, VariableClass};

/// What the files under `rules/` say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The rules.
    pub rules: RuleSet,
    /// The labels they may give.
    pub labels: Labels,
    /// What is known about places and names.
    pub knowledge: Knowledge,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    #[serde(default)]
    label: Vec<LabelEntry>,
    #[serde(default)]
    rule: Vec<RuleEntry>,
    places: Option<PlacesEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleEntry {
    id: String,
    label: String,
    maybe: Option<String>,
    why: String,
    #[serde(default)]
    doubt: String,
    #[serde(default)]
    instead: String,
    #[serde(default)]
    source: Vec<String>,
    #[serde(rename = "match")]
    condition: ConditionEntry,
    #[serde(default)]
    hits: Vec<String>,
    #[serde(default)]
    unsure: Vec<String>,
    #[serde(default)]
    misses: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

impl Names {
    fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ConditionEntry {
    effect: Option<Names>,
    recursive: Option<bool>,
    force: Option<bool>,
    path: Option<PathEntry>,
    host: Option<Names>,
    branch: Option<BranchEntry>,
    code: Option<CodeEntry>,
    name: Option<Names>,
    unresolved: Option<bool>,
    utility: Option<Names>,
    subcommand: Option<Names>,
    option: Option<Names>,
    source: Option<Names>,
    via: Option<Names>,
    scope: Option<Names>,
    shadowed: Option<bool>,
    gap: Option<bool>,
    substitution: Option<SubstitutionEntry>,
    job: Option<bool>,
    bomb: Option<bool>,
    setting: Option<String>,
    preset: Option<String>,
    all: Option<Vec<ConditionEntry>>,
    any: Option<Vec<ConditionEntry>>,
    not: Option<Box<ConditionEntry>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PathEntry {
    place: Option<Names>,
    everything: Option<Names>,
    sensitive: Option<bool>,
    emptied: Option<bool>,
    named: Option<bool>,
    spelled: Option<bool>,
    fresh: Option<bool>,
    told: Option<bool>,
    pattern: Option<bool>,
    glob: Option<Names>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BranchEntry {
    protected: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CodeEntry {
    language: Option<Names>,
    place: Option<Names>,
    known: Option<bool>,
    plain: Option<bool>,
    network: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SubstitutionEntry {
    readers: Option<bool>,
    known: Option<bool>,
    decides: Option<bool>,
}

/// Reads files of rules, labels and places, given as name and text.
///
/// # Errors
///
/// The first mistake that is found, with its file and entry.
pub fn rules(files: &[(&str, &str)]) -> Result<Judgement, LoadError> {
    let mut out = Judgement::default();
    let mut entries = Vec::new();
    for (file, text) in files {
        let entry: FileEntry = toml::from_str(text).map_err(|cause| LoadError::Format {
            file: (*file).to_owned(),
            cause: cause.to_string(),
        })?;
        add_labels(file, entry.label, &mut out.labels)?;
        if let Some(places) = entry.places {
            add_places(file, places, &mut out.knowledge)?;
        }
        entries.extend(entry.rule.into_iter().map(|rule| (*file, rule)));
    }
    for (file, entry) in entries {
        let rule = check(file, entry)?;
        add(file, rule, &mut out.rules, &out.labels)?;
    }
    Ok(out)
}

/// Adds a rule whose id is free and whose labels are declared.
pub(super) fn add(
    file: &str,
    mut rule: Rule,
    rules: &mut RuleSet,
    labels: &Labels,
) -> Result<(), LoadError> {
    if rules.rules.iter().any(|other| other.id == rule.id) {
        return Err(LoadError::Taken { file: file.into(), entry: rule.id.clone(), name: rule.id });
    }
    for (key, label) in [("label", Some(&rule.label)), ("maybe", rule.maybe.as_ref())] {
        if let Some(label) = label
            && labels.find(label).is_none()
        {
            return Err(LoadError::Choice {
                file: file.into(),
                entry: rule.id.clone(),
                key: key.into(),
                value: label.clone(),
                allowed: labels
                    .specs
                    .iter()
                    .map(|spec| spec.name.as_str())
                    .collect::<Vec<_>>()
                    .join(" "),
            });
        }
    }
    if labels.find(&rule.label).is_some_and(|spec| spec.detail) {
        let detail = rule.label.split_once(':').map_or(rule.id.as_str(), |(_, detail)| detail);
        let name = rule.label.split(':').next().unwrap_or_default();
        rule.label = format!("{name}:{detail}");
    }
    rules.rules.push(rule);
    Ok(())
}

/// A checked rule; its labels are not looked at.
pub(super) fn check(file: &str, entry: RuleEntry) -> Result<Rule, LoadError> {
    let at = At { file, entry: &entry.id };
    let spelled = !entry.id.is_empty()
        && entry.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !spelled {
        return Err(at.value("id", "use small letters, digits and `_` only"));
    }
    if entry.why.trim().is_empty() {
        return Err(at.value("why", "say in one sentence what is wrong"));
    }
    let examples: Vec<&String> =
        entry.hits.iter().chain(&entry.unsure).chain(&entry.misses).collect();
    let distinct: BTreeSet<&&String> = examples.iter().collect();
    if distinct.len() != examples.len() {
        return Err(at.value("hits", "an example stands twice: keep one"));
    }
    let condition = at.condition(&entry.condition)?;
    if condition == Condition::All(Vec::new()) {
        return Err(at.value("match", "it is empty and would hold for everything: name an effect"));
    }
    Ok(Rule {
        label: entry.label,
        maybe: entry.maybe,
        why: entry.why,
        doubt: entry.doubt,
        instead: entry.instead,
        source: entry.source,
        condition,
        hits: entry.hits,
        unsure: entry.unsure,
        misses: entry.misses,
        id: entry.id,
    })
}

/// Where a mistake is.
struct At<'a> {
    file: &'a str,
    entry: &'a str,
}

/// The values of those names, of a type with a closed list of names.
macro_rules! choose {
    ($at:expr, $kind:ty, $key:expr, $names:expr) => {{
        let mut out = Vec::new();
        for name in $names {
            out.push(<$kind>::from_name(name).ok_or_else(|| LoadError::Choice {
                file: $at.file.to_owned(),
                entry: $at.entry.to_owned(),
                key: $key.to_owned(),
                value: name.to_owned(),
                allowed: <$kind>::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(" "),
            })?);
        }
        out
    }};
}

impl At<'_> {
    fn value(&self, key: &str, cause: impl Into<String>) -> LoadError {
        LoadError::Value {
            file: self.file.to_owned(),
            entry: self.entry.to_owned(),
            key: key.to_owned(),
            cause: cause.into(),
        }
    }

    fn condition(&self, entry: &ConditionEntry) -> Result<Condition, LoadError> {
        let mut parts = Vec::new();
        let flag =
            |parts: &mut Vec<Condition>, value: Option<bool>, condition: Condition| match value {
                Some(true) => parts.push(condition),
                Some(false) => parts.push(Condition::Not(Box::new(condition))),
                None => {}
            };
        if let Some(names) = &entry.effect {
            parts.push(Condition::Effect(choose!(self, EffectKind, "effect", names.all())));
        }
        flag(&mut parts, entry.recursive, Condition::Recursive);
        flag(&mut parts, entry.force, Condition::Force);
        if let Some(path) = &entry.path {
            parts.push(self.path(path)?);
        }
        if let Some(names) = &entry.host {
            parts.push(Condition::Host(names.all().to_vec()));
        }
        if let Some(branch) = &entry.branch {
            flag(&mut parts, Some(branch.protected), Condition::ProtectedBranch);
        }
        if let Some(code) = &entry.code {
            let names = |names: &Option<Names>| -> Vec<String> {
                names.as_ref().map(|names| names.all().to_vec()).unwrap_or_default()
            };
            parts.push(Condition::Code(CodeCondition {
                language: choose!(self, Language, "language", &names(&code.language)),
                place: choose!(self, CodePlace, "place", &names(&code.place)),
                known: code.known,
                plain: code.plain,
                network: code.network,
            }));
        }
        if let Some(names) = &entry.name {
            parts.push(Condition::Name(names.all().to_vec()));
        }
        flag(&mut parts, entry.unresolved, Condition::Unresolved);
        if let Some(names) = &entry.utility {
            parts.push(Condition::Utility(names.all().to_vec()));
        }
        if let Some(names) = &entry.subcommand {
            parts.push(Condition::Subcommand(names.all().to_vec()));
        }
        if let Some(names) = &entry.option {
            parts.push(Condition::Option(names.all().to_vec()));
        }
        if let Some(globs) = &entry.source {
            parts.push(Condition::Source(globs.all().to_vec()));
        }
        if let Some(names) = &entry.via {
            parts.push(Condition::Via(names.all().to_vec()));
        }
        if let Some(names) = &entry.scope {
            parts.push(Condition::Scope(choose!(self, CarryScope, "scope", names.all())));
        }
        flag(&mut parts, entry.shadowed, Condition::Shadowed);
        flag(&mut parts, entry.gap, Condition::Gap);
        if let Some(substitution) = &entry.substitution {
            parts.push(Condition::Substitution(SubstitutionCondition {
                readers: substitution.readers,
                known: substitution.known,
                decides: substitution.decides,
            }));
        }
        flag(&mut parts, entry.job, Condition::Job);
        flag(&mut parts, entry.bomb, Condition::Bomb);
        if let Some(class) = &entry.setting {
            let class = std::slice::from_ref(class);
            for class in choose!(self, VariableClass, "setting", class) {
                parts.push(Condition::Setting(class));
            }
        }
        if let Some(preset) = &entry.preset {
            let preset = Preset::from_name(preset).ok_or_else(|| LoadError::Choice {
                file: self.file.to_owned(),
                entry: self.entry.to_owned(),
                key: "preset".into(),
                value: preset.clone(),
                allowed: "hook protocol".into(),
            })?;
            parts.push(Condition::Preset(preset));
        }
        if let Some(all) = &entry.all {
            parts.push(Condition::All(self.conditions(all)?));
        }
        if let Some(any) = &entry.any {
            parts.push(Condition::Any(self.conditions(any)?));
        }
        if let Some(not) = &entry.not {
            parts.push(Condition::Not(Box::new(self.condition(not)?)));
        }
        let single = if parts.len() == 1 { parts.pop() } else { None };
        Ok(single.unwrap_or(Condition::All(parts)))
    }

    fn conditions(&self, entries: &[ConditionEntry]) -> Result<Vec<Condition>, LoadError> {
        entries.iter().map(|entry| self.condition(entry)).collect()
    }

    fn path(&self, entry: &PathEntry) -> Result<Condition, LoadError> {
        let names = |names: &Option<Names>| -> Vec<String> {
            names.as_ref().map(|names| names.all().to_vec()).unwrap_or_default()
        };
        Ok(Condition::Path(PathCondition {
            place: choose!(self, Place, "place", &names(&entry.place)),
            everything: choose!(self, Place, "everything", &names(&entry.everything)),
            sensitive: entry.sensitive,
            emptied: entry.emptied,
            named: entry.named,
            spelled: entry.spelled,
            fresh: entry.fresh,
            told: entry.told,
            pattern: entry.pattern,
            glob: names(&entry.glob),
        }))
    }
}
