//! What kind of file a path and a first line name.

use std::collections::BTreeMap;

use shellgate::model::context::Context;

use crate::scan::script::names_shell;
use crate::scan::{Extracted, allow_list, container, github, gitlab, just, make, npm, script};

/// A kind of file that holds commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A shell script.
    Script,
    /// A workflow or composite action of GitHub.
    Workflow,
    /// A pipeline of GitLab.
    Pipeline,
    /// A Makefile.
    Makefile,
    /// A justfile.
    Justfile,
    /// A Dockerfile.
    Container,
    /// `package.json`.
    Package,
    /// Settings of an agent.
    AllowList,
}

/// Names of shell scripts without an ending.
const SCRIPT_NAMES: &[&str] = &[
    ".envrc",
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".zshrc",
    ".zprofile",
    ".zshenv",
];

/// Settings of agents, by their last components.
const SETTINGS: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".gemini/settings.json",
    ".qwen/settings.json",
    ".cursor/cli.json",
    ".cursor/cli-config.json",
    ".factory/settings.json",
    ".vscode/settings.json",
    "opencode.json",
    "opencode.jsonc",
    "crush.json",
    ".crush.json",
];

impl Kind {
    /// The kind that a path names, with `/` between components. None where its first line decides
    /// or it is of no kind.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let lower = name.to_ascii_lowercase();
        let ends = |tail: &str| {
            path.strip_suffix(tail).is_some_and(|head| head.is_empty() || head.ends_with('/'))
        };
        let (head, ending) = lower.rsplit_once('.').unwrap_or((&lower, ""));
        let yaml = matches!(ending, "yml" | "yaml");
        let folder = path.strip_suffix(name).unwrap_or_default();
        if SETTINGS.iter().any(|tail| ends(tail))
            || (folder.ends_with(".kiro/agents/") && ending == "json")
        {
            return Some(Self::AllowList);
        }
        if yaml && (folder == ".github/workflows/" || folder.ends_with("/.github/workflows/")) {
            return Some(Self::Workflow);
        }
        if matches!(name, "action.yml" | "action.yaml") {
            return Some(Self::Workflow);
        }
        if yaml && head.ends_with(".gitlab-ci") {
            return Some(Self::Pipeline);
        }
        if matches!(lower.as_str(), "makefile" | "gnumakefile" | "makefile.am") || ending == "mk" {
            return Some(Self::Makefile);
        }
        if matches!(lower.as_str(), "justfile" | ".justfile") || ending == "just" {
            return Some(Self::Justfile);
        }
        let stem = lower.split('.').next().unwrap_or_default();
        if matches!(stem, "dockerfile" | "containerfile") && ending != "dockerignore"
            || matches!(ending, "dockerfile" | "containerfile")
        {
            return Some(Self::Container);
        }
        if name == "package.json" {
            return Some(Self::Package);
        }
        let script = ["sh", "bash", "dash", "ksh", "zsh"].contains(&ending);
        (script || SCRIPT_NAMES.contains(&name)).then_some(Self::Script)
    }

    /// The kind that a path or, failing that, the first line of the file names.
    pub fn of(path: &str, text: &str) -> Option<Self> {
        Self::of_path(path).or_else(|| (names_shell(text) == Some(true)).then_some(Self::Script))
    }

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Script => "shell script",
            Self::Workflow => "GitHub workflow",
            Self::Pipeline => "GitLab pipeline",
            Self::Makefile => "Makefile",
            Self::Justfile => "justfile",
            Self::Container => "Dockerfile",
            Self::Package => "package.json",
            Self::AllowList => "agent settings",
        }
    }

    /// The commands in a file of this kind.
    pub fn extract(self, text: &str) -> Extracted {
        match self {
            Self::Script => script::extract(text).into(),
            Self::Workflow => github::extract(text),
            Self::Pipeline => gitlab::extract(text),
            Self::Makefile => make::extract(text).into(),
            Self::Justfile => just::extract(text).into(),
            Self::Container => container::extract(text).into(),
            Self::Package => npm::extract(text),
            Self::AllowList => allow_list::extract(text),
        }
    }

    /// The place commands of this kind run in: what their runner is known to put into the
    /// environment.
    pub fn context(self, base: &Context) -> Context {
        let mut context = base.clone();
        let known: &[(&str, &str)] = match self {
            // Files and directories that the runner makes for each job (GitHub Actions,
            // "Store information in variables").
            Self::Workflow => &[
                ("GITHUB_OUTPUT", "/tmp/runner/output"),
                ("GITHUB_STEP_SUMMARY", "/tmp/runner/summary"),
                ("GITHUB_STATE", "/tmp/runner/state"),
                ("GITHUB_ENV", "/tmp/runner/env"),
                ("GITHUB_PATH", "/tmp/runner/path"),
                ("RUNNER_TEMP", "/tmp/runner/temp"),
            ],
            _ => &[],
        };
        context.parameters = known
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>();
        let root = match self {
            Self::Workflow => Some("GITHUB_WORKSPACE"),
            Self::Pipeline => Some("CI_PROJECT_DIR"),
            _ => None,
        };
        if let Some(name) = root {
            context.parameters.insert(name.to_owned(), context.cwd.clone());
        }
        context
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_kinds() {
        let table = [
            ("a/b.sh", Some(Kind::Script)),
            (".github/workflows/ci.yml", Some(Kind::Workflow)),
            ("x/.github/workflows/ci.yaml", Some(Kind::Workflow)),
            (".github/dependabot.yml", None),
            ("action.yml", Some(Kind::Workflow)),
            (".gitlab-ci.yml", Some(Kind::Pipeline)),
            ("ci/deploy.gitlab-ci.yml", Some(Kind::Pipeline)),
            ("Makefile", Some(Kind::Makefile)),
            ("x/rules.mk", Some(Kind::Makefile)),
            ("justfile", Some(Kind::Justfile)),
            ("Dockerfile.dev", Some(Kind::Container)),
            ("web.Dockerfile", Some(Kind::Container)),
            (".dockerignore", None),
            ("Dockerfile.dockerignore", None),
            ("package.json", Some(Kind::Package)),
            (".claude/settings.local.json", Some(Kind::AllowList)),
            ("x.claude/settings.json", None),
            ("README.md", None),
            ("sh", None),
        ];
        for (path, kind) in table {
            assert_eq!(Kind::of_path(path), kind, "{path}");
        }
        assert_eq!(Kind::of("bin/run", "#!/bin/sh\n"), Some(Kind::Script));
    }
}
