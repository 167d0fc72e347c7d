//! Which names say that a file holds secrets, and which that it runs something later.

/// The built-in globs.
const BUILT_IN: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".npmrc",
    ".pypirc",
    ".netrc",
    ".git-credentials",
    ".htpasswd",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "kubeconfig",
    "credentials",
    "credentials.*",
    "*secret*",
    "*credential*",
    "service-account*.json",
    "**/.ssh/**",
    "**/.aws/**",
    "**/.gnupg/**",
    "**/.kube/**",
    "**/.docker/config.json",
    "**/secrets/**",
];

/// Endings of names that never hold secrets, whatever the globs say.
const HARMLESS: &[&str] = &[".example", ".sample", ".template", ".dist", ".default", ".defaults"];

/// Files and directories of a workspace, at any depth, that run something later or steer an agent.
const CONTROL: &[&str] = &[
    ".git",
    ".gitmodules",
    ".githooks",
    ".husky",
    ".lefthook.yml",
    "lefthook.yml",
    ".pre-commit-config.yaml",
    ".envrc",
    ".desiide",
    ".shellgate",
    ".github/workflows",
    ".github/actions",
    ".gitlab-ci.yml",
    ".gitlab/ci",
    ".circleci",
    ".buildkite",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".woodpecker",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "jenkinsfile",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".vscode/launch.json",
    ".vscode/mcp.json",
    ".devcontainer",
    ".idea",
    ".claude",
    ".codex",
    ".cursor",
    ".cursorrules",
    ".gemini",
    ".opencode",
    ".continue",
    ".windsurf",
    ".roo",
    ".kiro",
    ".mcp.json",
    ".aider.conf.yml",
];

/// Names of secret files: the built-in ones and a project's own. Tools leave such files out of what
/// they find.
#[derive(Clone, Debug, Default)]
pub struct SecretNames {
    globs: Vec<Glob>,
}

impl SecretNames {
    /// The built-in names and a project's further globs.
    pub fn new(own: &[String]) -> Self {
        let sources = BUILT_IN.iter().copied().chain(own.iter().map(String::as_str));
        Self::of(sources)
    }

    /// The names a project adds, without the built-in ones.
    pub(super) fn only(own: &[String]) -> Self {
        Self::of(own.iter().map(String::as_str))
    }

    fn of<'a>(sources: impl Iterator<Item = &'a str>) -> Self {
        let globs =
            sources.flat_map(alternatives).filter_map(|source| Glob::new(&source)).collect();
        Self { globs }
    }

    /// Whether a workspace-relative path names a secret file, or something below a secret directory.
    pub fn is_secret(&self, path: &str) -> bool {
        let path = normal(path);
        let last = path.rsplit('/').next().unwrap_or_default();
        if path.is_empty() || path == "." || HARMLESS.iter().any(|end| last.ends_with(end)) {
            return false;
        }
        let components: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        self.globs.iter().any(|glob| glob.covers(&components))
    }
}

/// Whether a workspace-relative path is, or is below, something that runs later or steers an agent.
pub fn is_control(path: &str) -> bool {
    let path = normal(path);
    let components: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    CONTROL.iter().any(|own| {
        let own: Vec<&str> = own.split('/').collect();
        components.windows(own.len()).any(|window| window == own)
    })
}

/// Lower case, slashes only, no `./` at the start and no slash at the end.
pub(super) fn normal(path: &str) -> String {
    let mut text = path.replace('\\', "/").to_lowercase();
    while let Some(rest) = text.strip_prefix("./") {
        text = rest.to_owned();
    }
    text.truncate(text.trim_end_matches('/').len());
    text
}

/// A glob without its `{a,b}`; at most 64 texts.
pub(super) fn alternatives(glob: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut rest = glob;
    while let Some((before, behind)) = rest.split_once('{') {
        let Some((inner, after)) = behind.split_once('}') else { break };
        let words: Vec<&str> = inner.split(',').collect();
        if out.len().saturating_mul(words.len()) > 64 {
            break;
        }
        out = out
            .iter()
            .flat_map(|start| words.iter().map(move |word| format!("{start}{before}{word}")))
            .collect();
        rest = after;
    }
    out.iter().map(|start| format!("{start}{rest}")).collect()
}

/// A glob, prepared.
#[derive(Clone, Debug)]
struct Glob {
    tokens: Vec<Token>,
    /// Whether it is about single names, at any depth; others are compared from the root.
    is_name: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// This character.
    One(char),
    /// Any one character but a slash.
    AnyOne,
    /// Characters without a slash.
    Some,
    /// Any characters.
    All,
    /// Nothing, or directories with their slash.
    Directories,
}

impl Glob {
    /// None for an empty one.
    fn new(source: &str) -> Option<Self> {
        let lower = source.replace('\\', "/").to_lowercase();
        let text = lower.trim_start_matches("./").trim_start_matches('/');
        let text = text.trim_end_matches('/');
        let is_anchored = text.contains('/') && !text.starts_with("**/");
        // What is below a directory is covered with the directory itself.
        let text = text.strip_suffix("/**").unwrap_or(text);
        if text.is_empty() {
            return None;
        }
        let is_name = !text.contains('/') && !is_anchored;
        let mut tokens = Vec::new();
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            tokens.push(match character {
                '*' if rest.next_if_eq(&'*').is_some() => {
                    while rest.next_if_eq(&'*').is_some() {}
                    let begins = matches!(tokens.last(), None | Some(Token::One('/')));
                    if begins && rest.next_if_eq(&'/').is_some() {
                        Token::Directories
                    } else {
                        Token::All
                    }
                }
                '*' => Token::Some,
                '?' => Token::AnyOne,
                other => Token::One(other),
            });
        }
        Some(Self { tokens, is_name })
    }

    /// Whether the path or one of its directories matches.
    fn covers(&self, components: &[&str]) -> bool {
        if self.is_name {
            return components.iter().any(|name| self.matches(name));
        }
        let mut path = String::new();
        components.iter().any(|name| {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(name);
            self.matches(&path)
        })
    }

    /// Which tokens are due after each character, all ways at once: time is characters times tokens.
    fn matches(&self, text: &str) -> bool {
        let mut due = vec![false; self.tokens.len() + 1];
        self.reach(&mut due, 0);
        for (position, character) in text.chars().enumerate() {
            let mut next = vec![false; due.len()];
            for (index, token) in self.tokens.iter().enumerate() {
                if !due.get(index).copied().unwrap_or_default() {
                    continue;
                }
                match token {
                    Token::One(own) if *own == character => self.reach(&mut next, index + 1),
                    Token::AnyOne if character != '/' => self.reach(&mut next, index + 1),
                    Token::Some if character != '/' => self.reach(&mut next, index),
                    Token::All => self.reach(&mut next, index),
                    Token::Directories => {
                        // Inside a name: it goes on until a slash ends the directory.
                        if let Some(slot) = next.get_mut(index) {
                            *slot = true;
                        }
                        if character == '/' && position > 0 {
                            self.reach(&mut next, index + 1);
                        }
                    }
                    Token::One(_) | Token::AnyOne | Token::Some => {}
                }
            }
            if !next.contains(&true) {
                return false;
            }
            due = next;
        }
        due.last().copied().unwrap_or_default()
    }

    /// The token at `index` is due at the start of what follows, and so are those behind it as long
    /// as they may stand for nothing.
    fn reach(&self, due: &mut [bool], mut index: usize) {
        loop {
            if let Some(slot) = due.get_mut(index) {
                *slot = true;
            }
            match self.tokens.get(index) {
                Some(Token::Some | Token::All | Token::Directories) => index += 1,
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_read_as_the_table_says() {
        for (glob, path, is) in [
            ("*.pem", "a/b.PEM", true),
            ("*.pem", "a.pem/b", true),
            ("*.pem", "a.pemx", false),
            ("vault/*.sec", "vault/a.sec", true),
            ("vault/*.sec", "x/vault/a.sec", false),
            ("/vault/*.sec", "vault/a.sec", true),
            ("./vault/*.sec", "vault/a.sec", true),
            ("vault/*.sec", "vault/x/a.sec", false),
            ("**/vault/*.sec", "x/y/vault/a.sec", true),
            ("**/vault/*.sec", "vault/a.sec", true),
            ("**/vault/*.sec", "xvault/a.sec", false),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("a/**/b", "a/xb", false),
            ("a/**", "a", true),
            ("a/**", "x/a/y", false),
            ("**/a/**", "x/a/y", true),
            ("a/**", "a/x/y", true),
            ("a**z", "a/b/z", false),
            ("q/a**z", "q/a/b/z", true),
            ("*.{sec,hid}", "x.hid", true),
            ("*.{sec,hid}", "x.{sec,hid}", false),
            ("f?o", "fxo", true),
            ("f?o", "f/o", false),
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
            ("a+b", "a+b", true),
            ("", "a", false),
        ] {
            let names = SecretNames::only(&[glob.to_owned()]);
            assert_eq!(names.is_secret(path), is, "{glob} {path}");
        }
    }

    #[test]
    fn built_in_names() {
        let names = SecretNames::new(&[]);
        for path in [
            ".env",
            "a/.ENV.local",
            "prod.env",
            ".envrc",
            "x.pem",
            "x.key",
            "id_rsa.pub",
            ".npmrc",
            "terraform.tfstate.backup",
            "credentials",
            "credentials.json",
            "my_secrets.txt",
            "service-account-7.json",
            "a/.ssh/config",
            ".ssh",
            "x/.aws/y",
            ".docker/config.json",
            "secrets/a",
            ".\\secrets\\a",
            "./.env/",
            "a.env/b",
        ] {
            assert!(names.is_secret(path), "{path}");
        }
        for path in [
            "",
            ".",
            "./",
            "src/main.rs",
            ".env.example",
            "a/secret.template",
            "secrets/x.SAMPLE",
            "keys.rs",
            "docker/config.json",
            "environment.ts",
            "monkey",
        ] {
            assert!(!names.is_secret(path), "{path}");
        }
    }

    #[test]
    fn a_long_pattern_on_a_long_path_takes_no_time() {
        let names = SecretNames::only(&["*a".repeat(100)]);
        assert!(!names.is_secret(&"a".repeat(4000).replace("aaaa", "aab/")));
    }

    #[test]
    fn files_that_run_later_are_known_at_any_depth() {
        for path in [
            ".desiide/project.json",
            "sub/.git/hooks/x",
            ".GitHub/workflows/ci.yml",
            ".claude/settings.json",
            "a/.husky/pre-commit",
            "Jenkinsfile",
            ".vscode/tasks.json",
            "./.mcp.json",
        ] {
            assert!(is_control(path), "{path}");
        }
        for path in [
            "src/git/hooks.rs",
            ".github/README.md",
            ".gitignore",
            ".vscode/extensions.json",
            "hooks/a",
        ] {
            assert!(!is_control(path), "{path}");
        }
    }
}
