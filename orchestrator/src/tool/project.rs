//! What a project says about itself: its settings, and the commands its files give away.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Workspace;
use super::workspace::FileError;
use crate::task::project::Project;

/// Where the settings lie in the first root.
const FILE: &str = ".desiide/project.json";
/// Most bytes of a file that is looked at.
const MAX_BYTES: u64 = 1024 * 1024;
/// Most code points of a command.
const MAX_COMMAND: usize = 1000;
/// What npm writes into a new package.
const NPM_PLACEHOLDER: &str = "no test specified";

/// The settings in `.desiide/project.json` of the first root, missing commands detected, and warnings.
/// Settings that cannot be read or are wrong in any part are ignored as a whole.
pub fn read(workspace: &Workspace) -> (Project, Vec<String>) {
    let mut warnings = Vec::new();
    let first = First(workspace);
    let mut project = match first.text(FILE) {
        Ok(None) => Project::default(),
        Ok(Some(text)) => parse(&text).unwrap_or_else(|cause| {
            warnings.push(format!("{FILE} is ignored: {cause}"));
            Project::default()
        }),
        Err(cause) => {
            warnings.push(format!("{FILE} is ignored: {cause}"));
            Project::default()
        }
    };
    if project.test_command.is_none() {
        project.test_command = first.detect(|one| one.test);
    }
    if project.lint_command.is_none() {
        project.lint_command = first.detect(|one| one.lint);
    }
    (project, warnings)
}

/// Programs that run scripts of a package.
const MANAGERS: [&str; 6] = ["npm", "pnpm", "yarn", "bun", "npm-run-all", "corepack"];
/// Short names of npm's own.
const SHORT: [(&str, &str); 3] = [("t", "test"), ("tst", "test"), ("it", "test")];

/// The scripts of `package.json` that a command runs, with those before and after them and those they
/// name, as one JSON object; none where it runs none. What they say decides what runs, whatever the
/// command's own text.
pub fn scripts(workspace: &Workspace, command: &str) -> Option<String> {
    if !words(command).any(|word| MANAGERS.contains(&word)) {
        return None;
    }
    let text = First(workspace).text("package.json").ok()??;
    let package: Value = serde_json::from_str(&text).ok()?;
    let all: BTreeMap<&str, &str> = package
        .get("scripts")?
        .as_object()?
        .iter()
        .filter_map(|(name, body)| Some((name.as_str(), body.as_str()?)))
        .collect();
    let mut reached: BTreeMap<&str, &str> = BTreeMap::new();
    let mut texts = vec![command];
    while let Some(text) = texts.pop() {
        // `run-p "build:*"` names scripts by a pattern.
        let names_all = text.contains('*');
        let short = |word: &str| SHORT.iter().any(|(short, _)| *short == word);
        for (name, body) in &all {
            let base = name.strip_prefix("pre").or_else(|| name.strip_prefix("post"));
            let is_named = |name: &str| {
                words(text).any(|word| word == name || (name == "test" && short(word)))
            };
            let runs = names_all || is_named(name) || base.is_some_and(is_named);
            if runs && reached.insert(name, body).is_none() {
                texts.push(body);
            }
        }
    }
    (!reached.is_empty()).then(|| serde_json::to_string(&reached).unwrap_or_default())
}

/// Words that may be names of programs or scripts.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part =
        |own: char| own.is_alphanumeric() || matches!(own, '_' | '-' | ':' | '.' | '/' | '@');
    text.split(move |own| !is_part(own)).filter(|word| !word.is_empty())
}

fn parse(text: &str) -> Result<Project, String> {
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("it is not JSON: {error}"))?;
    let Value::Object(settings) = value else { return Err("it is not a JSON object".to_owned()) };
    Ok(Project {
        test_command: command(&settings, "testCommand")?,
        lint_command: command(&settings, "lintCommand")?,
        sensitive_globs: globs(&settings, "sensitiveGlobs")?,
        ignore_globs: globs(&settings, "ignoreGlobs")?,
    })
}

fn command(settings: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match settings.get(name) {
        None => Ok(None),
        Some(Value::String(text)) if (1..=MAX_COMMAND).contains(&text.chars().count()) => {
            Ok(Some(text.clone()))
        }
        Some(_) => Err(format!("`{name}` must be a string of 1 to {MAX_COMMAND} characters")),
    }
}

fn globs(settings: &Map<String, Value>, name: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{name}` must be an array of strings that are not empty");
    match settings.get(name) {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| {
                item.as_str().filter(|text| !text.is_empty()).map(str::to_owned).ok_or_else(wrong)
            })
            .collect(),
        Some(_) => Err(wrong()),
    }
}

/// Finds a command in one ecosystem.
type Find = fn(&First<'_>) -> Option<String>;

/// How an ecosystem gives its commands away.
struct Ecosystem {
    test: Find,
    lint: Find,
}

/// In the order they are asked.
const ECOSYSTEMS: [Ecosystem; 4] = [
    Ecosystem {
        test: |first| first.node_script("test").map(|manager| format!("{manager} test")),
        lint: |first| first.node_script("lint").map(|manager| format!("{manager} run lint")),
    },
    Ecosystem {
        test: |first| first.is_python().then(|| "pytest".to_owned()),
        lint: |first| first.uses_ruff().then(|| "ruff check .".to_owned()),
    },
    Ecosystem {
        test: |first| first.has("go.mod").then(|| "go test ./...".to_owned()),
        lint: |first| first.has("go.mod").then(|| "go vet ./...".to_owned()),
    },
    Ecosystem {
        test: |first| first.has("Cargo.toml").then(|| "cargo test".to_owned()),
        lint: |first| first.has("Cargo.toml").then(|| "cargo clippy --all-targets".to_owned()),
    },
];

/// The first root.
struct First<'a>(&'a Workspace);

impl First<'_> {
    /// A file's text; none where it is missing in the first root.
    fn text(&self, path: &str) -> Result<Option<String>, String> {
        let at = self.0.resolve(path).map_err(|error| error.to_string())?;
        if at.root != 0 || !at.exists {
            return Ok(None);
        }
        match self.0.read(&at, MAX_BYTES) {
            Ok(bytes) => {
                String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8".to_owned())
            }
            Err(FileError::Missing) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    fn has(&self, path: &str) -> bool {
        self.0.resolve(path).is_ok_and(|at| at.root == 0 && at.exists)
    }

    fn detect(&self, pick: fn(&Ecosystem) -> Find) -> Option<String> {
        ECOSYSTEMS.iter().find_map(|ecosystem| pick(ecosystem)(self))
    }

    /// The package manager, where the package has that script.
    fn node_script(&self, name: &str) -> Option<&'static str> {
        let text = self.text("package.json").ok()??;
        let package: Value = serde_json::from_str(&text).ok()?;
        let script = package.get("scripts")?.get(name)?.as_str()?;
        if script.trim().is_empty() || (name == "test" && script.contains(NPM_PLACEHOLDER)) {
            return None;
        }
        let managers = [
            ("pnpm-lock.yaml", "pnpm"),
            ("yarn.lock", "yarn"),
            ("bun.lockb", "bun"),
            ("bun.lock", "bun"),
        ];
        Some(
            managers
                .into_iter()
                .find(|(file, _)| self.has(file))
                .map_or("npm", |(_, manager)| manager),
        )
    }

    fn is_python(&self) -> bool {
        let markers =
            ["pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", "conftest.py", "setup.py"];
        markers.iter().any(|file| self.has(file))
    }

    fn uses_ruff(&self) -> bool {
        let is_ruff = |line: &str| {
            let line = line.trim();
            line.starts_with("[tool.ruff]") || line.starts_with("[tool.ruff.")
        };
        let in_project = self
            .text("pyproject.toml")
            .ok()
            .flatten()
            .is_some_and(|text| text.lines().any(is_ruff));
        in_project || self.has("ruff.toml") || self.has(".ruff.toml")
    }
}
