//! Labels (`rules/labels.toml`) and places (`rules/places.toml`).

use serde::Deserialize;

use crate::load::error::LoadError;
use crate::model::rule::{Knowledge, LabelSpec, Labels};
use crate::model::verdict::Decision;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LabelEntry {
    name: String,
    #[serde(default)]
    detail: bool,
    meaning: String,
    yes: String,
    maybe: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PlacesEntry {
    system: Vec<String>,
    temporary: Vec<String>,
    home_parents: Vec<String>,
    home_settings: Vec<String>,
    harmless_devices: Vec<String>,
    sensitive_names: Vec<String>,
    sensitive_endings: Vec<String>,
    sensitive_globs: Vec<String>,
    sensitive_paths: Vec<String>,
    sensitive_directories: Vec<String>,
    harmless_endings: Vec<String>,
    generated: Vec<String>,
    generated_endings: Vec<String>,
    public: Vec<String>,
    control: Vec<String>,
    protected_branches: Vec<String>,
}

/// Adds checked labels to a list.
pub(super) fn add_labels(
    file: &str,
    entries: Vec<LabelEntry>,
    labels: &mut Labels,
) -> Result<(), LoadError> {
    for entry in entries {
        if labels.find(&entry.name).is_some() {
            return Err(LoadError::Taken {
                file: file.into(),
                entry: entry.name.clone(),
                name: entry.name,
            });
        }
        let yes = decision(file, &entry.name, "yes", &entry.yes)?;
        let maybe = decision(file, &entry.name, "maybe", &entry.maybe)?;
        labels.specs.push(LabelSpec {
            name: entry.name,
            detail: entry.detail,
            meaning: entry.meaning,
            yes,
            maybe,
        });
    }
    Ok(())
}

/// A decision by its name.
pub(super) fn decision(
    file: &str,
    entry: &str,
    key: &str,
    name: &str,
) -> Result<Decision, LoadError> {
    Decision::from_name(name).ok_or_else(|| LoadError::Choice {
        file: file.into(),
        entry: entry.into(),
        key: key.into(),
        value: name.into(),
        allowed: "allow pass ask deny".into(),
    })
}

/// Adds what a file says about places.
pub(super) fn add_places(
    file: &str,
    entry: PlacesEntry,
    knowledge: &mut Knowledge,
) -> Result<(), LoadError> {
    for (key, list) in [
        ("system", &entry.system),
        ("temporary", &entry.temporary),
        ("home_parents", &entry.home_parents),
        ("harmless_devices", &entry.harmless_devices),
        ("public", &entry.public),
    ] {
        if let Some(path) = list.iter().find(|path| !path.starts_with('/')) {
            return Err(LoadError::Value {
                file: file.into(),
                entry: "places".into(),
                key: key.into(),
                cause: format!("`{path}` is not absolute: begin it with `/`"),
            });
        }
    }
    knowledge.system.extend(entry.system);
    knowledge.temporary.extend(entry.temporary);
    knowledge.home_parents.extend(entry.home_parents);
    knowledge.home_settings.extend(entry.home_settings);
    knowledge.harmless_devices.extend(entry.harmless_devices);
    knowledge.sensitive_names.extend(entry.sensitive_names);
    knowledge.sensitive_endings.extend(entry.sensitive_endings);
    knowledge.sensitive_globs.extend(entry.sensitive_globs);
    knowledge.sensitive_paths.extend(entry.sensitive_paths);
    knowledge.sensitive_directories.extend(entry.sensitive_directories);
    knowledge.harmless_endings.extend(entry.harmless_endings);
    knowledge.generated.extend(entry.generated);
    knowledge.generated_endings.extend(entry.generated_endings);
    let public = entry.public.iter().map(|path| path.trim_start_matches('/').to_owned());
    knowledge.public.extend(public);
    knowledge.control.extend(entry.control);
    knowledge.protected_branches.extend(entry.protected_branches);
    Ok(())
}
