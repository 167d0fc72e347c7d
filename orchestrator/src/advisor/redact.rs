//! What must not be told: secrets in commands always, names in paths where the person wants that.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// Names that say nothing about a project, in lower case.
const COMMON: &[&str] = &[
    ".github",
    "__tests__",
    "api",
    "app",
    "apps",
    "assets",
    "auth",
    "billing",
    "bin",
    "build",
    "client",
    "cmd",
    "common",
    "components",
    "config",
    "core",
    "db",
    "deploy",
    "docs",
    "e2e",
    "fixtures",
    "infra",
    "internal",
    "lib",
    "migrations",
    "models",
    "packages",
    "payments",
    "pkg",
    "public",
    "scripts",
    "server",
    "services",
    "shared",
    "spec",
    "src",
    "styles",
    "test",
    "tests",
    "types",
    "utils",
    "web",
    "workflows",
];

/// Branches whose names say nothing about a project.
const COMMON_BRANCHES: &[&str] =
    &["main", "master", "production", "prod", "release", "develop", "HEAD"];

/// What stands for a secret: one word that no shell reads anything into.
const CONCEALED: &str = "REDACTED";

/// Replaces names in paths by keyed hashes.
#[derive(Clone)]
pub struct Names {
    salt: String,
}

impl Names {
    /// Hashes keyed by `salt`.
    pub fn new(salt: String) -> Self {
        Self { salt }
    }

    /// A path, its names replaced; empty and `.` segments, well-known names and the extension stay.
    pub fn path(&self, path: &str) -> String {
        let last = path.split('/').count().saturating_sub(1);
        path.split('/')
            .enumerate()
            .map(|(index, segment)| self.segment(segment, index == last))
            .collect::<Vec<_>>()
            .join("/")
    }

    /// A command; names joined by slashes are paths.
    pub fn command(&self, command: &str) -> String {
        let mut out = String::with_capacity(command.len());
        let mut run = String::new();
        for character in command.chars() {
            if is_name(character) || character == '/' {
                run.push(character);
            } else {
                self.run(&mut run, &mut out);
                out.push(character);
            }
        }
        self.run(&mut run, &mut out);
        out
    }

    /// A branch; well-known ones stay.
    pub fn branch(&self, branch: &str) -> String {
        if COMMON_BRANCHES.contains(&branch) {
            return branch.to_owned();
        }
        self.path(branch)
    }

    /// Names and slashes without anything else between them. Two slashes in a row part two paths.
    fn run(&self, run: &mut String, out: &mut String) {
        let mut group: Vec<&str> = Vec::new();
        let flush = |group: &mut Vec<&str>, out: &mut String| {
            if group.len() > 1 {
                out.push_str(&self.path(&group.join("/")));
            } else {
                out.extend(group.iter().copied());
            }
            group.clear();
        };
        for (index, segment) in run.split('/').enumerate() {
            if segment.is_empty() || (index > 0 && group.is_empty()) {
                flush(&mut group, out);
                if index > 0 {
                    out.push('/');
                }
            }
            if !segment.is_empty() {
                group.push(segment);
            }
        }
        flush(&mut group, out);
        run.clear();
    }

    fn segment(&self, segment: &str, is_last: bool) -> String {
        if segment.is_empty()
            || segment == "."
            || COMMON.iter().any(|own| own.eq_ignore_ascii_case(segment))
        {
            return segment.to_owned();
        }
        let (name, extension) = match segment.rsplit_once('.') {
            Some((name, end))
                if is_last
                    && !name.is_empty()
                    && (1..=8).contains(&end.len())
                    && end.chars().all(|character| character.is_ascii_alphanumeric()) =>
            {
                (name, Some(end))
            }
            _ => (segment, None),
        };
        let mut out = format!("h_{}", self.hash(name));
        if let Some(extension) = extension {
            out.push('.');
            out.push_str(extension);
        }
        out
    }

    /// The first 10 hex digits of the keyed hash.
    fn hash(&self, name: &str) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.salt.as_bytes()) else {
            // INVARIANT (any key): HMAC takes keys of every length, so this is never reached; if it
            // were, a name would be hidden all the same.
            return "0000000000".into();
        };
        mac.update(name.as_bytes());
        hex::encode(mac.finalize().into_bytes()).chars().take(10).collect()
    }
}

const fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '@' | '-')
}

/// A command without the secrets its text shows: passwords in URLs, values of settings, options and
/// headers whose name says what they hold, and tokens of known forms.
pub fn secrets(command: &str) -> String {
    let command = url_passwords(command);
    let command = named_values(&command);
    let command = pairs(&command);
    tokens(&command)
}

/// `-u user:password` and `--user user:password`, and what `sshpass -p` is given.
fn pairs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = "";
    let mut is_sshpass = false;
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let blank = piece.strip_prefix(word).unwrap_or_default();
        let bare = word.trim_matches(['\'', '"']);
        is_sshpass |= bare == "sshpass";
        let is_user = matches!(before, "-u" | "--user" | "--proxy-user" | "-U")
            && bare.split_once(':').is_some_and(|(_, password)| !password.is_empty());
        let is_password = is_sshpass && before == "-p";
        let attached = is_sshpass && bare.len() > 2 && bare.starts_with("-p");
        if (is_user || is_password) && !bare.is_empty() && !bare.starts_with('$') {
            out.push_str(CONCEALED);
        } else if attached {
            out.push_str("-p");
            out.push_str(CONCEALED);
        } else {
            out.push_str(word);
        }
        out.push_str(blank);
        before = word;
    }
    out
}

/// `scheme://user:password@host`
fn url_passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let end = after
            .find(|c: char| {
                c.is_whitespace()
                    || matches!(
                        c,
                        '/' | '?'
                            | '#'
                            | '\''
                            | '"'
                            | '`'
                            | '\\'
                            | '<'
                            | '>'
                            | '|'
                            | ';'
                            | '&'
                            | '('
                            | ')'
                    )
            })
            .unwrap_or(after.len());
        let (authority, behind) = after.split_at_checked(end).unwrap_or((after, ""));
        match authority.rsplit_once('@') {
            Some((user, host)) if !user.is_empty() && !user.starts_with('$') => {
                out.push_str(CONCEALED);
                out.push('@');
                out.push_str(host);
            }
            _ => out.push_str(authority),
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Parts of names, in lower case, that say that the value is secret.
const TELLING: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "access-key",
    "accesskey",
    "private_key",
    "private-key",
    "credential",
    "authorization",
    "auth_key",
    "client-key-data",
    "pgpass",
    "mysql_pwd",
    "session_key",
    "cookie",
];

/// Words behind a telling name that are no secret themselves.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "digest", "negotiate", "apikey"];

/// `NAME=value`, `NAME: value`, `--name value`, `"name":"value"` where the name tells.
fn named_values(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if character.is_ascii_alphanumeric() || matches!(character, '_' | '-') {
            word.push(character);
            out.push(character);
            continue;
        }
        let is_name = tells(&word);
        let is_option = word.starts_with('-');
        word.clear();
        out.push(character);
        if !is_name {
            continue;
        }
        // What stands between a name and its value: closing quotes, one sign, blanks, opening quotes.
        let mut signs = usize::from(matches!(character, '=' | ':'));
        let quotes = |c: char| matches!(c, '"' | '\'' | '\\');
        if !(signs > 0 || quotes(character) || (is_option && character == ' ')) {
            continue;
        }
        while let Some(next) = rest.peek().copied() {
            let is_sign = matches!(next, '=' | ':') && signs == 0;
            if !(is_sign || quotes(next) || (next == ' ' && (signs > 0 || is_option))) {
                break;
            }
            signs += usize::from(is_sign);
            out.push(next);
            rest.next();
        }
        if signs == 0 && !is_option {
            continue;
        }
        loop {
            let mut value = String::new();
            while let Some(next) = rest.peek().copied() {
                if next.is_whitespace()
                    || matches!(
                        next,
                        '"' | '\'' | '`' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | ',' | '}'
                    )
                {
                    break;
                }
                value.push(next);
                rest.next();
            }
            if SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(&value))
                && rest.peek() == Some(&' ')
            {
                out.push_str(&value);
                out.push(' ');
                rest.next();
                continue;
            }
            let is_kept = value.is_empty()
                || value.starts_with('$')
                || (is_option && value.starts_with('-'))
                || value == CONCEALED;
            out.push_str(if is_kept { &value } else { CONCEALED });
            break;
        }
    }
    out
}

fn tells(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    !word.is_empty() && TELLING.iter().any(|part| word.contains(part))
}

/// Beginnings of tokens, and how many characters a token has at least.
const FORMS: &[(&str, usize)] = &[
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xoxs-", 16),
    ("xapp-", 16),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("npm_", 20),
    ("pypi-", 20),
    ("hf_", 20),
    ("eyJ", 30),
    ("dop_v1_", 20),
    ("shpat_", 20),
    ("SG.", 30),
    ("AGE-SECRET-KEY-", 20),
];

/// Tokens of known forms, and what follows `Bearer` or `Basic`.
fn tokens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let mut before = String::new();
    let end = |word: &mut String, before: &mut String, out: &mut String| {
        let follows = before.eq_ignore_ascii_case("bearer")
            || (before.eq_ignore_ascii_case("basic") && word.len() >= 12);
        let is_token =
            FORMS.iter().any(|(start, least)| word.starts_with(start) && word.len() >= *least)
                || (follows && word.len() >= 6 && word != CONCEALED);
        out.push_str(if is_token { CONCEALED } else { word });
        if !word.is_empty() {
            std::mem::swap(before, word);
        }
        word.clear();
    };
    for character in text.chars() {
        if character.is_ascii_alphanumeric()
            || matches!(character, '_' | '-' | '.' | '+' | '/' | '=' | '~')
        {
            // A setting's name and its value are two words, and so are the parts of a path.
            if character == '=' && !word.is_empty() && !word.ends_with('=') {
                let value_follows = word.len() < 40 && !word.contains(['.', '+', '/']);
                if value_follows {
                    end(&mut word, &mut before, &mut out);
                    out.push(character);
                    continue;
                }
            }
            word.push(character);
        } else {
            end(&mut word, &mut before, &mut out);
            if !matches!(character, ' ' | '"' | '\'' | ':') {
                before.clear();
            }
            out.push(character);
        }
    }
    end(&mut word, &mut before, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::new("0123456789abcdef".into())
    }

    #[test]
    fn paths_keep_common_names_and_extensions() {
        let names = names();
        let hash = |name: &str| format!("h_{}", names.hash(name));
        for (path, wanted) in [
            ("src/ledger/sum.rs", format!("src/{}/{}.rs", hash("ledger"), hash("sum"))),
            ("SRC/x", format!("SRC/{}", hash("x"))),
            ("./a//b/", format!("./{}//{}/", hash("a"), hash("b"))),
            (".env", hash(".env")),
            ("a.longextension", hash("a.longextension")),
            ("x.test.ts", format!("{}.ts", hash("x.test"))),
            ("a.rs/b", format!("{}/{}", hash("a.rs"), hash("b"))),
            ("test", "test".into()),
            ("", String::new()),
        ] {
            assert_eq!(names.path(path), wanted, "{path}");
        }
        assert_ne!(Names::new("another salt, longer".into()).path("x"), names.path("x"));
        // printf %s ledger | openssl dgst -sha256 -hmac 0123456789abcdef
        assert_eq!(names.hash("ledger").len(), 10);
    }

    #[test]
    fn commands_are_rewritten_where_names_are_joined_by_slashes() {
        let names = names();
        let hash = |name: &str| format!("h_{}", names.hash(name));
        for (command, wanted) in [
            ("cat a/b.rs x", format!("cat {}/{}.rs x", hash("a"), hash("b"))),
            ("ls -la", "ls -la".into()),
            ("cat /etc/passwd", format!("cat /{}/{}", hash("etc"), hash("passwd"))),
            ("a//b/c", format!("a//{}/{}", hash("b"), hash("c"))),
            ("x / y", "x / y".into()),
            ("cat 'a/b'|wc", format!("cat '{}/{}'|wc", hash("a"), hash("b"))),
            ("cd src/", "cd src/".into()),
        ] {
            assert_eq!(names.command(command), wanted, "{command}");
        }
    }

    #[test]
    fn branches_keep_well_known_names() {
        assert_eq!(names().branch("main"), "main");
        assert!(!names().branch("feature/acme").contains("acme"));
    }

    #[test]
    fn secrets_do_not_show() {
        for (command, wanted) in [
            ("curl https://me:hunter2@host/x", "curl https://REDACTED@host/x"),
            ("curl https://host/x@y", "curl https://host/x@y"),
            ("git clone https://$T@host/x", "git clone https://$T@host/x"),
            ("API_TOKEN=abc make", "API_TOKEN=REDACTED make"),
            ("export DB_PASSWORD='abc def'", "export DB_PASSWORD='REDACTED def'"),
            ("x --password=abc y", "x --password=REDACTED y"),
            ("x --password abc y", "x --password REDACTED y"),
            ("x --token --flag", "x --token --flag"),
            ("x --token \"$T\"", "x --token \"$T\""),
            (
                "curl -H 'Authorization: Bearer abcdef123' u",
                "curl -H 'Authorization: Bearer REDACTED' u",
            ),
            ("curl -H 'X-Api-Key: abc' u", "curl -H 'X-Api-Key: REDACTED' u"),
            ("curl -d '{\"password\":\"abc\"}' u", "curl -d '{\"password\":\"REDACTED\"}' u"),
            ("echo ghp_0123456789abcdef0123456789", "echo REDACTED"),
            ("echo sk-ant-0123456789abcdef0123456789", "echo REDACTED"),
            ("echo Bearer abcdef0123", "echo Bearer REDACTED"),
            ("curl -u me:pw https://x.example", "curl -u REDACTED https://x.example"),
            ("curl --user 'me:pw' u", "curl --user REDACTED u"),
            ("docker run -u 1000 x", "docker run -u 1000 x"),
            ("sshpass -p pw ssh h", "sshpass -p REDACTED ssh h"),
            ("sshpass -ppw ssh h", "sshpass -pREDACTED ssh h"),
            ("grep token src/a.rs", "grep token src/a.rs"),
            ("cat secret.txt", "cat secret.txt"),
            ("ls secrets/", "ls secrets/"),
            ("git commit -m 'add token check'", "git commit -m 'add token check'"),
            ("cargo test --test token_bucket", "cargo test --test token_bucket"),
        ] {
            assert_eq!(secrets(command), wanted, "{command}");
        }
    }

    #[test]
    fn concealing_twice_changes_nothing() {
        for command in [
            "A_TOKEN=x curl https://a:b@c/d -H 'Authorization: Basic YWJjOmRlZg=='",
            "é=密 ://@ :// @",
        ] {
            let once = secrets(command);
            assert_eq!(secrets(&once), once);
        }
    }
}
