//! What a call does, by its tool and arguments: the command behind it, and the paths it names.

use serde_json::{Map, Value};

use super::analysis::Shape;
use super::secret::normal;
use crate::advisor::state::Action;
use crate::task::call::{ToolCall, ToolName};
use crate::task::project::Project;

/// What a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deed {
    /// The kind, as far as the text tells it.
    pub(super) action: Action,
    /// The command as engines are told.
    pub(super) command: Option<String>,
    /// The command as it is analysed; the same unless the tool builds it from arguments.
    pub(super) analysed: Option<String>,
    /// Every path in the arguments, in order, without repetition; as given but for `\`, a leading
    /// `./` and slashes at the end.
    pub(super) paths: Vec<String>,
    /// Distinct files of an edit.
    pub(super) edit_files: Option<u64>,
    /// Whether the tool by itself changes nothing.
    pub(super) reads_only: bool,
    /// Whether it is a command that the tool does not know, so that nothing says that it may run.
    pub(super) is_unknown: bool,
    /// The project's own text, where the command is the project's and not the model's.
    pub(super) own: Option<String>,
    /// Whether the repository's branch matters.
    pub(super) wants_branch: bool,
    /// A glob that chooses files.
    pub(super) glob: Option<String>,
}

impl Deed {
    /// What `call` does in `project`.
    pub(super) fn of(call: &ToolCall, project: &Project) -> Self {
        let mut deed = Self {
            action: Action::Other,
            command: None,
            analysed: None,
            paths: touched(&call.args),
            edit_files: None,
            reads_only: false,
            is_unknown: false,
            own: None,
            wants_branch: false,
            glob: None,
        };
        match call.tool {
            ToolName::ReadFile | ToolName::ListFiles => deed.reads_only = true,
            ToolName::Search => {
                deed.reads_only = true;
                deed.glob = text(&call.args, "glob");
            }
            ToolName::GitRead => deed.reads_git(&call.args),
            ToolName::ProposeEdit => {
                deed.action = Action::ApplyEdit;
                deed.edit_files = u64::try_from(deed.paths.len()).ok();
                deed.wants_branch = true;
            }
            ToolName::Shell => {
                deed.command = text(&call.args, "command");
                deed.analysed.clone_from(&deed.command);
                deed.wants_branch = true;
                deed.action = Action::RunCommand;
                deed.own = deed.command.as_deref().and_then(|text| own_text(project, text));
            }
            ToolName::RunTests => deed.runs_own(Action::RunTests, project.test_command.as_ref()),
            ToolName::Lint => deed.runs_own(Action::Lint, project.lint_command.as_ref()),
        }
        deed
    }

    fn runs_own(&mut self, action: Action, command: Option<&String>) {
        self.action = action;
        self.command = command.cloned();
        self.analysed = command.cloned();
        self.reads_only = command.is_none();
        self.own = command.map(|text| text.trim().to_owned());
    }

    fn reads_git(&mut self, args: &Map<String, Value>) {
        self.reads_only = true;
        let command = text(args, "command").unwrap_or_default();
        if command.is_empty() || !command.chars().all(|own| own.is_ascii_lowercase()) {
            self.is_unknown = true;
            return;
        }
        self.action = Action::RunCommand;
        self.command = Some(format!("git {command}"));
        let mut line = format!("git {command}");
        if matches!(command.as_str(), "diff" | "show") {
            line.push_str(" --no-ext-diff --no-textconv");
        }
        if args.get("staged").and_then(Value::as_bool) == Some(true) {
            line.push_str(" --cached");
        }
        if let Some(reference) = text(args, "ref") {
            line.push(' ');
            line.push_str(&quoted(&reference));
            if let Some(path) = path_of_revision(&reference) {
                let path = normal_path(path);
                if !self.paths.contains(&path) {
                    self.paths.push(path);
                }
            }
        }
        if let Some(path) = text(args, "path") {
            line.push_str(" -- ");
            line.push_str(&quoted(&path));
        }
        self.analysed = Some(line);
    }

    /// The kind, once the command is analysed. What starts with a push or an installation is one, and
    /// so is what has one anywhere; a commit is one only by itself.
    pub(super) fn settle_kind(&mut self, shape: Shape) {
        if self.action != Action::RunCommand {
            return;
        }
        let words: Vec<&str> = self
            .command
            .as_deref()
            .map(|text| text.split_whitespace().take(3).collect())
            .unwrap_or_default();
        let starts = |first: &str, second: &[&str]| {
            words.first() == Some(&first) && words.get(1).is_some_and(|own| second.contains(own))
        };
        let installs =
            ["npm", "pnpm", "bun"].iter().any(|own| starts(own, &["i", "install", "add"]))
                || words.first() == Some(&"yarn")
                || ["pip", "pip3"].iter().any(|own| starts(own, &["install"]))
                || starts("cargo", &["add"])
                || starts("go", &["get"]);
        self.action = if shape.pushes || starts("git", &["push"]) {
            Action::GitPush
        } else if shape.installs || installs {
            Action::InstallDependency
        } else if shape.only_commits && starts("git", &["commit"]) {
            Action::GitCommit
        } else {
            Action::RunCommand
        };
    }
}

/// The project's own text that a command is.
fn own_text(project: &Project, command: &str) -> Option<String> {
    let folded = fold(command);
    [&project.test_command, &project.lint_command]
        .into_iter()
        .flatten()
        .find(|own| fold(own) == folded)
        .map(|own| own.trim().to_owned())
}

/// A command without the blanks that mean nothing: those at its ends, and between words all but one.
/// Line breaks mean something, and so does every blank of a text with quotes.
fn fold(text: &str) -> String {
    let text = text.trim();
    if text.contains(['\'', '"', '\\', '\n', '\r', '#']) {
        return text.to_owned();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text(args: &Map<String, Value>, key: &str) -> Option<String> {
    args.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Every string in `path`, `paths[]` and `files[].path`.
fn touched(args: &Map<String, Value>) -> Vec<String> {
    let list = |key: &str| args.get(key).and_then(Value::as_array).into_iter().flatten();
    let own = args.get("path").and_then(Value::as_str);
    let several = list("paths").filter_map(Value::as_str);
    let files = list("files").filter_map(|file| file.get("path").and_then(Value::as_str));
    let mut paths = Vec::new();
    for path in own.into_iter().chain(several).chain(files) {
        let path = normal_path(path);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn normal_path(path: &str) -> String {
    let text = path.replace('\\', "/");
    // A root stays one.
    let trimmed = normal(&text);
    if trimmed.is_empty() {
        return if text.starts_with('/') { "/".into() } else { ".".into() };
    }
    // `normal` folds letters; only its length is wanted where that changed none.
    let start = text.len() - text.trim_start_matches("./").len();
    let end = text.trim_end_matches('/').len();
    text.get(start..end.max(start)).filter(|own| !own.is_empty()).unwrap_or(".").to_owned()
}

/// The path in `revision:path`, `:path` or `:0:path`; none for `:/text`, which searches messages.
fn path_of_revision(reference: &str) -> Option<&str> {
    let (before, path) = reference.split_once(':')?;
    if before.is_empty() && path.starts_with('/') {
        return None;
    }
    let path = match path.split_once(':') {
        Some((stage, rest)) if before.is_empty() && matches!(stage, "0" | "1" | "2" | "3") => rest,
        _ => path,
    };
    (!path.is_empty()).then_some(path)
}

/// One word to a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: ToolName, args: Value) -> ToolCall {
        ToolCall { id: "c".into(), tool, args: serde_json::from_value(args).unwrap() }
    }

    #[test]
    fn revisions_name_paths() {
        for (reference, path) in [
            ("HEAD:.env", Some(".env")),
            ("HEAD", None),
            (":0:a/.env", Some("a/.env")),
            (":a", Some("a")),
            (":/fix", None),
            ("HEAD:", None),
            ("a:1:b", Some("1:b")),
        ] {
            assert_eq!(path_of_revision(reference), path, "{reference}");
        }
    }

    #[test]
    fn every_path_of_the_arguments_counts_once() {
        let args = serde_json::json!({
            "path": "./a/", "paths": ["a", "b\\c", 7], "files": [{"path": "D"}, {"path": "D"}, {}]
        });
        let deed = Deed::of(&call(ToolName::ProposeEdit, args), &Project::default());
        assert_eq!(deed.paths, ["a", "b/c", "D"]);
        assert_eq!(deed.edit_files, Some(3));
        for (given, wanted) in [
            ("", "."),
            ("./", "."),
            ("/", "/"),
            ("//", "/"),
            ("./../x", "../x"),
            (".//x", "/x"),
            ("İ/", "İ"),
        ] {
            assert_eq!(normal_path(given), wanted, "{given}");
        }
    }

    #[test]
    fn kinds_of_commands() {
        let shape = Shape::default();
        let commits = Shape { only_commits: true, ..shape };
        for (command, shape, action) in [
            ("ls", shape, Action::RunCommand),
            ("git push origin x", shape, Action::GitPush),
            ("git -C x push", Shape { pushes: true, ..shape }, Action::GitPush),
            ("git commit -m x", commits, Action::GitCommit),
            ("git commit -m x && make", shape, Action::RunCommand),
            ("npm i x", shape, Action::InstallDependency),
            ("pnpm add x", shape, Action::InstallDependency),
            ("bun install", shape, Action::InstallDependency),
            ("npm test", shape, Action::RunCommand),
            ("yarn", shape, Action::InstallDependency),
            ("yarn test", shape, Action::InstallDependency),
            ("pip install x", shape, Action::InstallDependency),
            ("pip3 install x", shape, Action::InstallDependency),
            ("pip list", shape, Action::RunCommand),
            ("cargo add x", shape, Action::InstallDependency),
            ("go get x", shape, Action::InstallDependency),
            ("go vet", shape, Action::RunCommand),
        ] {
            let call = call(ToolName::Shell, serde_json::json!({"command": command}));
            let mut deed = Deed::of(&call, &Project::default());
            deed.settle_kind(shape);
            assert_eq!(deed.action, action, "{command}");
        }
    }

    #[test]
    fn tools_have_their_commands() {
        let project = Project {
            test_command: Some("npm  test".into()),
            lint_command: None,
            ..Project::default()
        };
        let of = |tool, args| Deed::of(&call(tool, args), &project);
        let tests = of(ToolName::RunTests, serde_json::json!({}));
        assert_eq!(
            (tests.action, tests.command.as_deref(), tests.own.as_deref()),
            (Action::RunTests, Some("npm  test"), Some("npm  test"))
        );
        let lint = of(ToolName::Lint, serde_json::json!({}));
        assert_eq!((lint.action, lint.command, lint.reads_only), (Action::Lint, None, true));
        assert!(of(ToolName::Shell, serde_json::json!({"command": " npm test "})).own.is_some());
        for other in ["npm test x", "npm\ntest", "npm test #"] {
            let deed = of(ToolName::Shell, serde_json::json!({ "command": other }));
            assert!(deed.own.is_none(), "{other}");
        }
        let git = of(
            ToolName::GitRead,
            serde_json::json!({"command": "show", "ref": "HEAD:it's", "path": "x"}),
        );
        assert_eq!(git.command.as_deref(), Some("git show"));
        assert_eq!(
            git.analysed.as_deref(),
            Some(r"git show --no-ext-diff --no-textconv 'HEAD:it'\''s' -- 'x'")
        );
        assert_eq!(git.paths, ["x", "it's"]);
        assert_eq!(
            of(ToolName::GitRead, serde_json::json!({"command": "-x"})).action,
            Action::Other
        );
    }
}
