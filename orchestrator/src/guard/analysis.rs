//! What the shell gate makes of a command or a path, in the words of the guard. The one place that
//! asks the library, so that floors, deny rules, readers and the engine's facts agree.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use shellgate::Gate;
use shellgate::load::{Level, Policy};
use shellgate::model::context::{Context, Preset, Shell};
use shellgate::model::fact::{EffectKind, Fact, Object};
use shellgate::model::trace::Invocation;
use shellgate::model::value::{Text, Truth};
use shellgate::model::verdict::{Decision, Verdict};

use super::link::{self, Link, Named};
use super::secret::{self, SecretNames};
use super::words::Words;
use crate::advisor::rules::Facts;
use crate::advisor::state::is_workspace_path;
use crate::task::project::Place;

/// Paths of one command that are told.
const MOST_PATHS: usize = 200;
/// Gates with a project's own names that are kept.
const MOST_GATES: usize = 32;

/// What a command is, as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Something is pushed to another repository.
    pub(super) pushes: bool,
    /// It is commits and nothing else.
    pub(super) only_commits: bool,
    /// Something is installed.
    pub(super) installs: bool,
}

/// What the gate said of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Analysis {
    /// Deny labels.
    pub(super) denied: Vec<String>,
    /// Labels that ask.
    pub(super) floors: Vec<String>,
    /// Whether all of it only reads.
    pub(super) reads_only: bool,
    /// Facts for the rules.
    pub(super) facts: Facts,
    /// Workspace-relative paths it names, without repetition; patterns as written.
    pub(super) paths: Vec<String>,
    /// What it is.
    pub(super) shape: Shape,
    /// Paths below a root whose links are to be looked up.
    pub(super) named: Vec<Named>,
}

/// Where calls run: what the gate is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scene {
    /// Canonical roots, at least one; the first is the current directory.
    pub(super) roots: Vec<String>,
    /// The person's home, empty when not known.
    pub(super) home: String,
    /// The current branch.
    pub(super) branch: Option<String>,
    /// The repository's default branch, protected like `main`.
    pub(super) default_branch: Option<String>,
    /// The project's further globs of secret files.
    pub(super) globs: Vec<String>,
    /// Paths of the command that led elsewhere when it was judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) links: Vec<Link>,
}

impl Scene {
    pub(super) fn of(place: &Place, globs: &[String]) -> Self {
        Self {
            roots: place.roots.clone(),
            home: place.home.clone(),
            branch: None,
            default_branch: None,
            globs: globs.to_vec(),
            links: Vec::new(),
        }
    }

    fn context(&self) -> Context {
        // Without a root everything lies outside: no path is below one that cannot exist.
        let cwd = self.roots.first().cloned().unwrap_or_else(|| "/proc/0/workspace".into());
        Context {
            workspaces: if self.roots.is_empty() { vec![cwd.clone()] } else { self.roots.clone() },
            cwd,
            home: self.home.clone(),
            branch: self.branch.clone(),
            preset: Preset::Protocol,
            // The tool runs every command by bash and nothing else.
            shell: Shell::Bash,
            ..Context::default()
        }
    }
}

/// Gates by what a project and its repository add to the built-in knowledge.
#[derive(Default)]
pub(super) struct Gates {
    kept: Mutex<HashMap<Additions, Arc<Gate>>>,
}

/// Globs of secret files, and a protected branch.
type Additions = (Vec<String>, Option<String>);

impl Gates {
    /// The gate of a scene. What a project says wrongly is left out; the guard's own comparison of
    /// names still counts.
    fn of(&self, scene: &Scene) -> Option<Arc<Gate>> {
        let branch = scene
            .default_branch
            .clone()
            .filter(|branch| !branch.is_empty() && !matches!(branch.as_str(), "main" | "master"));
        if scene.globs.is_empty() && branch.is_none() {
            return None;
        }
        let key = (scene.globs.clone(), branch.clone());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = kept.get(&key) {
            return Some(Arc::clone(gate));
        }
        let sensitive: Vec<String> = scene
            .globs
            .iter()
            .flat_map(|glob| secret::alternatives(glob))
            .map(|glob| glob.trim_start_matches("./").trim_start_matches('/').to_owned())
            .filter(|glob| glob.contains(|own: char| !matches!(own, '*' | '?' | '/' | '.')))
            .collect();
        let policy = Policy {
            file: ".desiide/project.json".into(),
            level: Level::Project,
            workspaces: Vec::new(),
            protected_branches: branch.into_iter().collect(),
            sensitive,
            trusted_commands: Vec::new(),
            allow: Vec::new(),
            labels: Vec::new(),
            rules: Vec::new(),
            utilities: String::new(),
            warnings: Vec::new(),
        };
        let gate = Arc::new(Gate::new(&[policy]).ok()?);
        if kept.len() >= MOST_GATES {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&gate));
        Some(gate)
    }

    /// What the gate makes of a command.
    pub(super) fn command(&self, command: &str, scene: &Scene) -> Analysis {
        let own = self.of(scene);
        let gate = own.as_deref().unwrap_or_else(|| Gate::builtin());
        let told = gate.explain(command, &scene.context());
        let (denied, mut floors) = labels(&told.verdict);
        let mut add = |label: &str| {
            if !floors.iter().any(|own| own == label) {
                floors.push(label.to_owned());
            }
        };
        let secrets = SecretNames::only(&scene.globs);
        let mut paths: Vec<String> = Vec::new();
        let mut named: Vec<Named> = Vec::new();
        for fact in &told.facts {
            link::named(fact, scene, MOST_PATHS, &mut named);
            for path in relative(fact, scene) {
                let looks = matches!(fact.kind, EffectKind::List | EffectKind::Enter);
                if !looks && secrets.is_secret(&path) {
                    add("sensitive_file");
                }
                if !fact.kind.is_passive() && secret::is_control(&path) {
                    add("inline_code");
                }
                if fact.kind != EffectKind::Enter
                    && !is_handed_on(fact)
                    && paths.len() < MOST_PATHS
                    && is_workspace_path(&path)
                    && !paths.contains(&path)
                {
                    paths.push(path);
                }
            }
        }
        let has = |label: &str| floors.iter().any(|own| own == label);
        let effect = |kind: EffectKind| told.facts.iter().any(|fact| fact.kind == kind);
        let facts = Facts {
            read_only: told.verdict.decision == Decision::Allow && floors.is_empty(),
            destructive: !denied.is_empty()
                || has("destructive_action")
                || effect(EffectKind::Destroy)
                || effect(EffectKind::Apply),
            migration: has("high_risk_area") || effect(EffectKind::Migrate),
            risk_area: false,
            external: has("irreversible")
                || effect(EffectKind::Push)
                || effect(EffectKind::DeleteBranch)
                || effect(EffectKind::Publish),
            protected_branch: false,
            sensitive: has("sensitive_file"),
        };
        let runs = &told.trace.invocations;
        let shape = Shape {
            pushes: effect(EffectKind::Push)
                || effect(EffectKind::DeleteBranch)
                || runs.iter().any(|own| is_git(own, "push")),
            only_commits: !runs.is_empty() && runs.iter().all(|own| is_git(own, "commit")),
            installs: effect(EffectKind::Install),
        };
        Analysis { denied, reads_only: facts.read_only, floors, facts, paths, shape, named }
    }

    /// What the gate says of a command in sentences, the worst first.
    pub(super) fn words(&self, command: &str, scene: &Scene) -> Vec<Words> {
        let own = self.of(scene);
        let gate = own.as_deref().unwrap_or_else(|| Gate::builtin());
        let reasons = gate.classify(command, &scene.context()).reasons;
        reasons
            .into_iter()
            .map(|own| Words { label: own.label, why: own.why, instead: own.instead })
            .collect()
    }

    /// Adds what the links of a scene lead to: a way out of the workspace, to a secret file, or to what
    /// runs later, counts as if the command had named it.
    pub(super) fn follow(&self, analysis: &mut Analysis, scene: &Scene, secrets: &SecretNames) {
        for link in &scene.links {
            let real = below_root(&link.real, scene).unwrap_or_else(|| link.real.clone());
            for label in self.path(&real, link.writes, scene, secrets) {
                if !analysis.floors.iter().any(|own| own == label) {
                    analysis.floors.push(label.to_owned());
                }
                analysis.reads_only = false;
                analysis.facts.read_only = false;
                analysis.facts.sensitive |= label == "sensitive_file";
            }
        }
    }

    /// Floors of a tool's own access to a path: `outside_workspace` and `sensitive_file`, and
    /// `inline_code` for a change of what runs later.
    pub(super) fn path(
        &self,
        path: &str,
        writes: bool,
        scene: &Scene,
        secrets: &SecretNames,
    ) -> Vec<&'static str> {
        let own = self.of(scene);
        let gate = own.as_deref().unwrap_or_else(|| Gate::builtin());
        let kind = if writes { EffectKind::Write } else { EffectKind::Read };
        // A tool takes a tilde for a name; what it might stand for elsewhere counts as well.
        let path = match path.strip_prefix("$HOME").or_else(|| path.strip_prefix("${HOME}")) {
            Some(rest) => format!("~{rest}"),
            None => path.to_owned(),
        };
        let verdict = gate.classify_path(&path, kind, &scene.context());
        let (denied, labels) = labels(&verdict);
        let has = |label: &str| labels.iter().any(|own| own == label);
        let mut floors = Vec::new();
        if !denied.is_empty() || has("outside_workspace") || leads_out(&path) {
            floors.push("outside_workspace");
        }
        if has("sensitive_file") || secrets.is_secret(&path) {
            floors.push("sensitive_file");
        }
        if writes && (has("inline_code") || secret::is_control(&path)) {
            floors.push("inline_code");
        }
        floors
    }

    /// Whether a glob spells out names of secret files.
    pub(super) fn names_secrets(&self, glob: &str, scene: &Scene, secrets: &SecretNames) -> bool {
        let glob = glob.trim_start_matches('/');
        if glob.starts_with('!') {
            return false;
        }
        secret::alternatives(glob).iter().any(|glob| {
            let plain = glob.trim_start_matches("**/");
            secrets.is_secret(plain)
                || self
                    .command(&format!("cat -- {}", pattern(plain)), scene)
                    .floors
                    .iter()
                    .any(|label| label == "sensitive_file")
                    && spells(plain)
        })
    }
}

/// Whether the last part of a glob has more than wildcards and an ordinary extension to go by.
fn spells(glob: &str) -> bool {
    let last = glob.rsplit('/').next().unwrap_or(glob);
    last.contains(|own: char| own.is_alphanumeric())
}

/// A glob as a word of shell text: its own signs stay, all others are quoted.
fn pattern(glob: &str) -> String {
    let mut out = String::new();
    for character in glob.chars() {
        if !(character.is_alphanumeric()
            || matches!(character, '*' | '?' | '[' | ']' | '.' | '/' | '_'))
        {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// A path that is no name below the workspace, by its first characters alone.
fn leads_out(path: &str) -> bool {
    path.starts_with('~') || path.split('/').any(|segment| segment == "..")
}

/// Deny labels and floors of a verdict. A label that only a deny rule gives blocks nothing when the
/// decision is milder.
fn labels(verdict: &Verdict) -> (Vec<String>, Vec<String>) {
    let mut denied = Vec::new();
    let mut floors = Vec::new();
    for label in &verdict.labels {
        if label == "read_only_allow" {
        } else if label.starts_with("deny_list") && verdict.decision == Decision::Deny {
            denied.push(label.clone());
        } else {
            floors.push(label.clone());
        }
    }
    if verdict.decision == Decision::Deny && denied.is_empty() {
        // INVARIANT (deny has a rule): the library denies by deny labels alone.
        denied.push("deny_list:gate".into());
    }
    if verdict.decision == Decision::Ask && floors.is_empty() {
        floors.push("unparsable_command".into());
    }
    (denied, floors)
}

fn is_git(own: &Invocation, subcommand: &str) -> bool {
    own.name.as_deref() == Some("git")
        && own.reading.subcommand.first().is_some_and(|name| name == subcommand)
}

/// Whether an object is a word of a search whose finds a command is given (`find . -exec cat {} +`). It may be
/// a start of the search, which its own facts tell, or any other word of it, which is no path.
fn is_handed_on(fact: &Fact) -> bool {
    let Object::Path(path) = &fact.object else { return false };
    path.named == Truth::No && !path.text.has_unknown() && !path.text.has_glob()
}

/// The paths of a fact, below the innermost root that holds them; none for what is not known or
/// lies outside.
fn relative(fact: &Fact, scene: &Scene) -> Vec<String> {
    let Object::Path(path) = &fact.object else { return Vec::new() };
    path.resolved.iter().filter_map(|text| below(text, scene)).collect()
}

fn below(text: &Text, scene: &Scene) -> Option<String> {
    if text.has_unknown() {
        return None;
    }
    below_root(&text.display(), scene)
}

/// An absolute path, below the innermost root that holds it; `.` for a root itself.
fn below_root(whole: &str, scene: &Scene) -> Option<String> {
    scene
        .roots
        .iter()
        .filter_map(|root| {
            let root = root.trim_end_matches('/');
            let rest = whole.strip_prefix(root)?;
            if rest.is_empty() {
                return Some(".".to_owned());
            }
            rest.strip_prefix('/').map(str::to_owned)
        })
        .min_by_key(String::len)
}
