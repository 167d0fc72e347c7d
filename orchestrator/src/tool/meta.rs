//! Facts of a file without its content: its language, its length, and whether it needs care.

use std::io::Read as _;

use super::Workspace;
use super::workspace::Resolved;
use crate::guard::secret::SecretNames;
use crate::task::edit::FileMeta;

/// Bytes after which lines are no longer counted.
const COUNTED: u64 = 64 * 1024 * 1024;

/// The facts of a file; a path that leads nowhere has 0 lines. `globs` are the project's further secret
/// names.
pub fn of(workspace: &Workspace, globs: &[String], path: &str) -> FileMeta {
    let at = workspace.resolve(path).ok();
    let size_lines = at.as_ref().map_or(0, |at| lines(workspace, at));
    let shown = at.as_ref().map_or(path, |at| at.shown.as_str());
    let is_linked = at.as_ref().is_some_and(|at| {
        let real = at.real.to_string_lossy();
        real != shown && is_sensitive(globs, &real)
    });
    FileMeta {
        path: shown.to_owned(),
        size_lines,
        language: language(shown).to_owned(),
        sensitive: is_linked || is_sensitive(globs, shown),
    }
}

/// Whether a path names a secret file or lies in a high-risk area. What others run by themselves counts as
/// one.
pub fn is_sensitive(globs: &[String], path: &str) -> bool {
    SecretNames::new(globs).is_secret(path) || is_high_risk(path) || runs_elsewhere(path).is_some()
}

fn lines(workspace: &Workspace, at: &Resolved) -> u64 {
    let Ok(file) = workspace.open_file(at) else { return 0 };
    let mut file = file.take(COUNTED);
    let mut buffer = vec![0; 64 * 1024];
    let (mut count, mut last) = (0_u64, b'\n');
    loop {
        let length = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        for byte in buffer.iter().take(length) {
            count += u64::from(*byte == b'\n');
            last = *byte;
        }
    }
    count + u64::from(last != b'\n')
}

fn is_high_risk(path: &str) -> bool {
    let path = path.to_lowercase();
    let segments: Vec<&str> = path.split('/').collect();
    let Some((name, folders)) = segments.split_last() else { return false };
    let is_risky_folder = folders.iter().any(|folder| {
        matches!(*folder, "auth" | "billing" | "migrations" | "secrets")
            || folder.starts_with("payment")
            || folder.contains(".env")
    });
    let ends = [".tf", ".tfvars", ".hcl", ".dockerfile"];
    let is_compose = name.starts_with("docker-compose")
        && [".yml", ".yaml"].iter().any(|end| name.ends_with(end));
    is_risky_folder
        || name.contains(".env")
        || ends.iter().any(|end| name.ends_with(end))
        || *name == "dockerfile"
        || name.starts_with("dockerfile.")
        || is_compose
        || matches!(*name, "jenkinsfile" | ".gitlab-ci.yml")
        || path.starts_with(".github/workflows/")
}

/// What a file is that runs outside of any task, by an editor, a hook or a build service.
pub(super) fn runs_elsewhere(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase();
    let segments: Vec<&str> = path.split('/').collect();
    let (name, folders) = segments.split_last()?;
    let has = |wanted: &str| folders.contains(&wanted);
    if has(".husky")
        || has(".githooks")
        || has("hooks") && has(".config")
        || matches!(*name, ".pre-commit-config.yaml" | "lefthook.yml" | ".lefthook.yml" | ".envrc")
    {
        return Some("a hook");
    }
    if has(".vscode")
        || has(".idea")
        || has(".zed")
        || has(".devcontainer")
        || has(".desiide")
        || *name == ".devcontainer.json"
    {
        return Some("settings that an editor or its agent may run");
    }
    let ci = [".github", ".gitlab", ".circleci", ".buildkite", ".woodpecker", ".forgejo", ".gitea"];
    if ci.iter().any(|folder| has(folder))
        || matches!(
            *name,
            ".gitlab-ci.yml"
                | "jenkinsfile"
                | ".travis.yml"
                | "azure-pipelines.yml"
                | "bitbucket-pipelines.yml"
                | "appveyor.yml"
                | ".drone.yml"
                | "cloudbuild.yaml"
        )
    {
        return Some("part of a build service's set-up");
    }
    None
}

/// The editor's language id of a file name.
pub fn language(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let by_name = match name.as_str() {
        "dockerfile" | "containerfile" => Some("dockerfile"),
        "makefile" | "gnumakefile" => Some("makefile"),
        "jenkinsfile" => Some("groovy"),
        "gemfile" | "rakefile" | "podfile" | "vagrantfile" | "guardfile" | "brewfile" => {
            Some("ruby")
        }
        "cmakelists.txt" => Some("cmake"),
        "go.mod" => Some("go.mod"),
        "go.sum" => Some("go.sum"),
        ".gitignore" | ".dockerignore" | ".npmignore" | ".ignore" => Some("ignore"),
        ".bashrc" | ".bash_profile" | ".profile" | ".zshrc" | ".zprofile" | ".envrc" => {
            Some("shellscript")
        }
        ".babelrc" | ".eslintrc" | "tsconfig.json" | "jsconfig.json" => Some("jsonc"),
        ".editorconfig" | ".gitconfig" | ".npmrc" => Some("ini"),
        "cargo.lock" | "poetry.lock" | "uv.lock" => Some("toml"),
        ".env" => Some("dotenv"),
        name if name.starts_with(".env.") => Some("dotenv"),
        name if name.starts_with("dockerfile.") => Some("dockerfile"),
        _ => None,
    };
    by_name.unwrap_or_else(|| match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => by_extension(extension),
        _ => "plaintext",
    })
}

fn by_extension(extension: &str) -> &'static str {
    match extension {
        "rs" => "rust",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "py" | "pyi" => "python",
        "go" => "go",
        "java" => "java",
        "kt" | "kts" => "kotlin",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" => "cpp",
        "cs" => "csharp",
        "fs" | "fsx" => "fsharp",
        "vb" => "vb",
        "rb" => "ruby",
        "php" => "php",
        "swift" => "swift",
        "m" => "objective-c",
        "mm" => "objective-cpp",
        "scala" | "sc" => "scala",
        "clj" | "cljs" | "cljc" | "edn" => "clojure",
        "ex" | "exs" => "elixir",
        "erl" | "hrl" => "erlang",
        "hs" => "haskell",
        "ml" | "mli" => "ocaml",
        "lua" => "lua",
        "pl" | "pm" => "perl",
        "r" => "r",
        "jl" => "julia",
        "dart" => "dart",
        "zig" => "zig",
        "nim" => "nim",
        "groovy" | "gradle" => "groovy",
        "sh" | "bash" | "zsh" | "ksh" => "shellscript",
        "fish" => "fish",
        "ps1" | "psm1" | "psd1" => "powershell",
        "bat" | "cmd" => "bat",
        "sql" => "sql",
        "md" | "markdown" => "markdown",
        "mdx" => "mdx",
        "rst" => "restructuredtext",
        "tex" => "latex",
        "html" | "htm" => "html",
        "xml" | "xsd" | "xsl" | "svg" | "plist" => "xml",
        "css" => "css",
        "scss" => "scss",
        "sass" => "sass",
        "less" => "less",
        "vue" => "vue",
        "svelte" => "svelte",
        "astro" => "astro",
        "yaml" | "yml" => "yaml",
        "toml" => "toml",
        "json" => "json",
        "jsonc" | "json5" => "jsonc",
        "jsonl" | "ndjson" => "jsonl",
        "ini" | "cfg" | "conf" => "ini",
        "properties" => "properties",
        "tf" | "tfvars" => "terraform",
        "hcl" => "hcl",
        "proto" => "proto3",
        "graphql" | "gql" => "graphql",
        "prisma" => "prisma",
        "dockerfile" => "dockerfile",
        "mk" | "mak" => "makefile",
        "cmake" => "cmake",
        "diff" | "patch" => "diff",
        "env" => "dotenv",
        _ => "plaintext",
    }
}

#[cfg(test)]
mod tests {
    use super::{is_high_risk, language, runs_elsewhere};

    #[test]
    fn languages_follow_name_then_extension() {
        let table = [
            ("a/Dockerfile", "dockerfile"),
            ("Containerfile", "dockerfile"),
            ("Makefile", "makefile"),
            ("Jenkinsfile", "groovy"),
            ("Gemfile", "ruby"),
            ("Vagrantfile", "ruby"),
            (".env", "dotenv"),
            ("a/.env.local", "dotenv"),
            ("src/main.RS", "rust"),
            ("a.mts", "typescript"),
            ("a.tsx", "typescriptreact"),
            ("a.cjs", "javascript"),
            ("a.pyi", "python"),
            ("a.h", "c"),
            ("a.hh", "cpp"),
            ("a.zsh", "shellscript"),
            ("a.yml", "yaml"),
            ("a.tfvars", "terraform"),
            ("LICENSE", "plaintext"),
            (".rs", "plaintext"),
            ("a.b/c", "plaintext"),
            ("", "plaintext"),
        ];
        for (path, expected) in table {
            assert_eq!(language(path), expected, "{path}");
        }
    }

    #[test]
    fn areas_of_high_risk_are_known() {
        for path in [
            "src/auth/login.ts",
            "billing/x",
            "a/payments/b.rs",
            "payment-api/x",
            "config/prod.env.js",
            "db/migrations/1.sql",
            "secrets/a",
            "main.tf",
            "a/b.tfvars",
            "c.hcl",
            "Dockerfile",
            "a/Dockerfile.dev",
            "x.dockerfile",
            "docker-compose.yml",
            "docker-compose.prod.yaml",
            "Jenkinsfile",
            ".gitlab-ci.yml",
            ".github/workflows/ci.yml",
        ] {
            assert!(is_high_risk(path), "{path}");
        }
        for path in [
            "src/author/x",
            "auth",
            "a/payment.ts",
            "environment.ts",
            "docker-compose.md",
            "src/main.rs",
        ] {
            assert!(!is_high_risk(path), "{path}");
        }
    }

    #[test]
    fn what_others_run_is_known() {
        for path in [
            ".husky/pre-commit",
            ".githooks/x",
            ".vscode/tasks.json",
            ".desiide/project.json",
            ".circleci/config.yml",
        ] {
            assert!(runs_elsewhere(path).is_some(), "{path}");
        }
        for path in ["hooks/useThing.ts", "src/vscode/x", "a.rs", "github/x"] {
            assert!(runs_elsewhere(path).is_none(), "{path}");
        }
    }
}
