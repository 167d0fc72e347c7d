//! States: what an engine is told. Metadata only, built field by field, so that content cannot get in.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::pack::{self, Pack};
use crate::task::edit::FileMeta;
use crate::task::input::{Preference, TaskKind};

/// Files a state lists at most.
const MOST_FILES: usize = 50;
/// UTF-16 units of a command in a state, the mark of a cut included.
const LONGEST_COMMAND: usize = 500;
/// UTF-16 units of a branch in a state.
const LONGEST_BRANCH: usize = 256;

/// A state of some pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Of `workflow_select@1`.
    Workflow(WorkflowState),
    /// Of `risk_gate@1`.
    Risk(RiskState),
    /// Of `cost_route@1`.
    Cost(CostState),
}

impl State {
    /// Its pack.
    pub const fn pack(&self) -> Pack {
        match self {
            Self::Workflow(_) => Pack::WorkflowSelect,
            Self::Risk(_) => Pack::RiskGate,
            Self::Cost(_) => Pack::CostRoute,
        }
    }

    /// As an object, `pack` first.
    pub fn to_map(&self) -> Map<String, Value> {
        let value = match self {
            Self::Workflow(state) => serde_json::to_value(state),
            Self::Risk(state) => serde_json::to_value(state),
            Self::Cost(state) => serde_json::to_value(state),
        };
        let mut map = Map::new();
        map.insert("pack".into(), self.pack().name().into());
        if let Ok(Value::Object(fields)) = value {
            map.extend(fields);
        }
        map
    }

    /// Reads an object strictly: no unknown key, no null for an absent value, all bounds.
    ///
    /// # Errors
    ///
    /// What is wrong, in words; an unknown pack too.
    pub fn from_map(map: &Map<String, Value>) -> Result<Self, String> {
        let name = map.get("pack").and_then(Value::as_str).ok_or("the state names no pack")?;
        let pack = Pack::from_name(name).ok_or_else(|| format!("unknown pack `{name}`"))?;
        let mut fields = map.clone();
        fields.remove("pack");
        let fields = Value::Object(fields);
        let invalid = |error: serde_json::Error| format!("invalid state of `{name}`: {error}");
        let state = match pack {
            Pack::WorkflowSelect => {
                Self::Workflow(serde_json::from_value(fields).map_err(invalid)?)
            }
            Pack::RiskGate => Self::Risk(serde_json::from_value(fields).map_err(invalid)?),
            Pack::CostRoute => Self::Cost(serde_json::from_value(fields).map_err(invalid)?),
        };
        state.check()?;
        Ok(state)
    }

    /// Checks all bounds; no state leaves without.
    ///
    /// # Errors
    ///
    /// What is out of bounds.
    pub fn check(&self) -> Result<(), String> {
        let no = |what: &str| Err(format!("invalid state of `{}`: {what}", self.pack().name()));
        match self {
            Self::Workflow(state) => {
                if state.files_touched.len() > MOST_FILES {
                    return no("more than 50 files");
                }
                if state.files_touched.iter().any(|file| !is_workspace_path(&file.path)) {
                    return no("a path is not workspace-relative");
                }
                if state.files_touched.iter().any(|file| !(1..=64).contains(&count(&file.language)))
                {
                    return no("a language has no or more than 64 characters");
                }
                if state
                    .available_models
                    .iter()
                    .any(|model| !(1..=128).contains(&count(&model.id)) || model.context_tokens < 1)
                {
                    return no("a model's id or context window is out of bounds");
                }
            }
            Self::Risk(state) => {
                if state.files_touched.len() > MOST_FILES {
                    return no("more than 50 files");
                }
                if state.files_touched.iter().any(|file| !is_workspace_path(&file.path)) {
                    return no("a path is not workspace-relative");
                }
                if state.command.as_deref().is_some_and(|text| count(text) > LONGEST_COMMAND) {
                    return no("the command is longer than 500 characters");
                }
                if state.context.branch.as_deref().is_some_and(|text| count(text) > LONGEST_BRANCH)
                {
                    return no("the branch is longer than 256 characters");
                }
            }
            Self::Cost(_) => {}
        }
        Ok(())
    }
}

fn count(text: &str) -> usize {
    text.chars().count()
}

/// Whether a text has the form of a workspace-relative path on the wire.
pub fn is_workspace_path(path: &str) -> bool {
    let mut start = path.chars();
    let drive = start.next().is_some_and(|first| first.is_ascii_alphabetic())
        && start.next() == Some(':')
        && matches!(start.next(), Some('/' | '\\'));
    (1..=4096).contains(&count(path))
        && !path.starts_with('/')
        && !drive
        && path.split(['/', '\\']).all(|segment| segment != "..")
}

/// An absent key is none; null is an error.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// The key must be there; null is none.
fn required<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from)
}

/// State of `workflow_select@1` without its pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkflowState {
    /// The kind of work.
    #[serde(with = "kind")]
    pub task_type: TaskKind,
    /// At most 50, sensitive ones first, then the larger, then by path.
    pub files_touched: Vec<StateFile>,
    /// Files left out.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub truncated_count: Option<u64>,
    /// Lines.
    pub estimated_diff_size: u64,
    /// How the last run ended.
    pub last_run_status: RunStatus,
    /// What the person would rather have.
    #[serde(with = "preference")]
    pub user_preference: Preference,
    /// Configured models.
    pub available_models: Vec<StateModel>,
}

/// A file of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateFile {
    /// Relative to a workspace root.
    pub path: String,
    /// Lines.
    pub size_lines: u64,
    /// The editor's language id.
    pub language: String,
    /// Holds secrets, or lies in a high-risk area.
    pub sensitive: bool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// There was none.
    #[default]
    None,
    /// Well.
    Success,
    /// Badly.
    Failed,
    /// By a person.
    Cancelled,
}

/// A model of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StateModel {
    /// The configured id.
    pub id: String,
    /// Its context window, at least 1.
    pub context_tokens: u64,
    /// Milliseconds; 0 when not known.
    pub latency_ms: u64,
    /// What it costs.
    pub cost_tier: CostTier,
    /// Where it runs; without it a free model counts as local.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub locality: Option<StateLocality>,
}

impl StateModel {
    /// Whether it counts as local.
    pub fn is_local(&self) -> bool {
        self.locality.map_or(self.cost_tier == CostTier::Free, |own| own == StateLocality::Local)
    }
}

/// What a model costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CostTier {
    /// Nothing.
    Free,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// Where a model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateLocality {
    /// On this machine.
    Local,
    /// Anywhere else.
    Cloud,
}

/// State of `risk_gate@1` without its pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RiskState {
    /// What is done.
    pub action_type: Action,
    /// Redacted, then cut.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Distinct files of an edit.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub edit_file_count: Option<u64>,
    /// Where it is done.
    pub context: RiskContext,
    /// At most 50, sensitive ones first, then by path.
    pub files_touched: Vec<RiskFile>,
    /// Files left out.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub truncated_count: Option<u64>,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Any command.
    RunCommand,
    /// The project's tests.
    RunTests,
    /// The project's linter.
    Lint,
    /// Edits of files.
    ApplyEdit,
    /// A commit.
    GitCommit,
    /// A push.
    GitPush,
    /// Something is installed.
    InstallDependency,
    /// A file is removed.
    DeleteFile,
    /// Anything else.
    Other,
}

/// Where a call would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RiskContext {
    /// The current branch.
    #[serde(deserialize_with = "required")]
    pub branch: Option<String>,
    /// Surroundings.
    pub env: Surroundings,
    /// Whether migrations wait to be run.
    pub has_pending_migrations: bool,
}

/// Where the process runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Surroundings {
    /// A person's machine.
    #[default]
    Local,
    /// A build service.
    Ci,
    /// Another machine.
    Remote,
    /// Not known.
    Unknown,
}

/// A file a call touches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RiskFile {
    /// Relative to a workspace root.
    pub path: String,
    /// Whether its name says that it holds secrets.
    pub sensitive: bool,
}

/// State of `cost_route@1` without its pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CostState {
    /// The kind of work.
    #[serde(with = "kind")]
    pub task_type: TaskKind,
    /// Files the task is about.
    pub files_touched_count: u64,
    /// Lines of the whole project.
    pub project_size_lines: u64,
    /// What the person would rather have.
    #[serde(with = "preference")]
    pub user_cost_bias: Preference,
    /// Failures in the last runs.
    pub recent_failures: u64,
}

/// What a state of a call is built from; nothing cut or redacted yet.
#[derive(Clone, Debug)]
pub struct RiskInput {
    /// What is done.
    pub action: Action,
    /// The whole command.
    pub command: Option<String>,
    /// Distinct files of an edit.
    pub edit_file_count: Option<u64>,
    /// Where it is done, the branch whole.
    pub context: RiskContext,
    /// All files, any order; what is no workspace path is left out.
    pub files: Vec<RiskFile>,
}

/// A state of a call, and whether the engine sees less than there is.
#[derive(Clone, Debug)]
pub struct RiskBuilt {
    /// The state.
    pub state: RiskState,
    /// Whether the command was cut or redacted.
    pub shortened: bool,
}

/// Builds a state of a call. `path`, `command` and `branch` rewrite what must not be told.
pub fn risk(
    input: RiskInput,
    path: &dyn Fn(&str) -> String,
    command: &dyn Fn(&str) -> String,
    branch: &dyn Fn(&str) -> String,
) -> RiskBuilt {
    let mut shortened = false;
    let told = input.command.map(|whole| {
        let redacted = command(&whole);
        let cut = cut_command(&redacted);
        shortened = cut != whole;
        cut
    });
    let mut files: Vec<RiskFile> = input
        .files
        .into_iter()
        .map(|file| RiskFile { path: path(&file.path), sensitive: file.sensitive })
        .filter(|file| is_workspace_path(&file.path))
        .collect();
    files.sort_by(|left, right| {
        right.sensitive.cmp(&left.sensitive).then_with(|| left.path.cmp(&right.path))
    });
    let dropped = truncate(&mut files);
    let state = RiskState {
        action_type: input.action,
        command: told,
        edit_file_count: input.edit_file_count,
        context: RiskContext {
            branch: input.context.branch.map(|name| cut_units(&branch(&name), LONGEST_BRANCH)),
            ..input.context
        },
        files_touched: files,
        truncated_count: dropped,
    };
    RiskBuilt { state, shortened }
}

/// Sorts and cuts files for a workflow state.
pub fn files(files: &[FileMeta], path: &dyn Fn(&str) -> String) -> (Vec<StateFile>, Option<u64>) {
    let mut sorted: Vec<&FileMeta> = files.iter().collect();
    sorted.sort_by(|left, right| {
        right
            .sensitive
            .cmp(&left.sensitive)
            .then_with(|| right.size_lines.cmp(&left.size_lines))
            .then_with(|| left.path.cmp(&right.path))
    });
    let mut told: Vec<StateFile> = sorted
        .into_iter()
        .map(|file| StateFile {
            path: path(&file.path),
            size_lines: file.size_lines,
            language: if file.language.is_empty() {
                "plaintext".into()
            } else {
                file.language.chars().take(64).collect()
            },
            sensitive: file.sensitive,
        })
        .filter(|file| is_workspace_path(&file.path))
        .collect();
    let dropped = truncate(&mut told);
    (told, dropped)
}

fn truncate<T>(files: &mut Vec<T>) -> Option<u64> {
    let dropped = files.len().saturating_sub(MOST_FILES);
    files.truncate(MOST_FILES);
    u64::try_from(dropped).ok().filter(|dropped| *dropped > 0)
}

/// At most 500 UTF-16 units; a longer text keeps 499 and gets `…`.
fn cut_command(text: &str) -> String {
    if text.encode_utf16().count() <= LONGEST_COMMAND {
        return text.to_owned();
    }
    let mut cut = cut_units(text, LONGEST_COMMAND - 1);
    cut.push('…');
    cut
}

/// The longest start of at most `most` UTF-16 units.
fn cut_units(text: &str, most: usize) -> String {
    let mut used = 0;
    text.chars()
        .take_while(|character| {
            used += character.len_utf16();
            used <= most
        })
        .collect()
}

mod kind {
    use super::{Deserialize, Deserializer, Serializer, TaskKind, pack};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over like this")]
    pub(super) fn serialize<S: Serializer>(kind: &TaskKind, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(pack::kind_word(*kind))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TaskKind, D::Error> {
        let word = String::deserialize(from)?;
        pack::kind_of(&word)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown kind `{word}`")))
    }
}

mod preference {
    use super::{Deserialize, Deserializer, Preference, Serializer, pack};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over like this")]
    pub(super) fn serialize<S: Serializer>(own: &Preference, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(pack::preference_word(*own))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Preference, D::Error> {
        let word = String::deserialize(from)?;
        pack::preference_of(&word)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown preference `{word}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(command: Option<&str>, files: Vec<RiskFile>) -> RiskInput {
        RiskInput {
            action: Action::RunCommand,
            command: command.map(str::to_owned),
            edit_file_count: None,
            context: RiskContext {
                branch: Some("b".repeat(300)),
                env: Surroundings::Local,
                has_pending_migrations: false,
            },
            files,
        }
    }

    fn build(input: RiskInput) -> RiskBuilt {
        let same = |text: &str| text.to_owned();
        risk(input, &same, &same, &same)
    }

    #[test]
    fn a_command_is_cut_by_utf16_units() {
        let exact = build(input(Some(&"x".repeat(500)), Vec::new()));
        assert!(!exact.shortened);
        let long = build(input(Some(&"x".repeat(501)), Vec::new()));
        assert!(long.shortened);
        let command = long.state.command.unwrap();
        assert_eq!((command.chars().count(), command.ends_with("x…")), (500, true));
        // 251 characters of two units each: 249 of them and the mark stay.
        let wide = build(input(Some(&"😀".repeat(251)), Vec::new())).state.command.unwrap();
        assert_eq!(wide.encode_utf16().count(), 499);
    }

    #[test]
    fn files_come_sensitive_first_and_at_most_fifty() {
        let mut files: Vec<RiskFile> =
            (0..60).map(|n| RiskFile { path: format!("f{n:02}"), sensitive: false }).collect();
        files.push(RiskFile { path: "z.env".into(), sensitive: true });
        files.push(RiskFile { path: "../out".into(), sensitive: false });
        let state = build(input(None, files)).state;
        assert_eq!(state.files_touched.first().unwrap().path, "z.env");
        assert_eq!((state.files_touched.len(), state.truncated_count), (50, Some(11)));
        assert_eq!(state.context.branch.as_ref().unwrap().len(), 256);
        State::Risk(state).check().unwrap();
    }

    #[test]
    fn states_go_through_their_map_and_strict_reading_refuses_the_rest() {
        let state = State::Risk(build(input(Some("ls"), Vec::new())).state);
        let map = state.to_map();
        assert_eq!(map.keys().next().unwrap(), "pack");
        assert_eq!(State::from_map(&map).unwrap(), state);
        for (key, value) in [
            ("content", serde_json::json!("secret")),
            ("command", Value::Null),
            ("truncatedCount", serde_json::json!(-1)),
            ("pack", serde_json::json!("risk_gate@2")),
            ("filesTouched", serde_json::json!([{"path": "/etc/x", "sensitive": true}])),
            ("filesTouched", serde_json::json!([{"path": "x", "sensitive": true, "content": ""}])),
            ("context", serde_json::json!({"env": "local", "hasPendingMigrations": false})),
            ("actionType", serde_json::json!("RunCommand")),
        ] {
            let mut other = map.clone();
            other.insert(key.into(), value.clone());
            assert!(State::from_map(&other).is_err(), "{key} {value}");
        }
    }

    #[test]
    fn workspace_paths_have_the_form_of_the_wire() {
        for (path, is) in [
            ("a", true),
            ("a/b", true),
            (".", true),
            ("c:x", true),
            ("", false),
            ("/a", false),
            ("c:/x", false),
            ("c:\\x", false),
            ("a/../b", false),
            ("a\\..\\b", false),
            ("a..b", true),
        ] {
            assert_eq!(is_workspace_path(path), is, "{path}");
        }
    }
}
