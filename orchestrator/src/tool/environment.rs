//! What children see of this process's environment.

use std::ffi::{OsStr, OsString};

use crate::guard::Surroundings;

/// Variables that build services set.
const BUILD_SERVICES: [&str; 8] = [
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "BUILDKITE",
    "CIRCLECI",
    "TRAVIS",
    "JENKINS_URL",
    "TEAMCITY_VERSION",
    "TF_BUILD",
];

/// Variables of sessions on another machine than the person's.
const REMOTE: [&str; 6] = [
    "SSH_CONNECTION",
    "SSH_CLIENT",
    "CODESPACES",
    "GITPOD_WORKSPACE_ID",
    "REMOTE_CONTAINERS",
    "VSCODE_REMOTE_AUTHORITY",
];

/// Where this process runs, by what its environment says.
pub(super) fn surroundings(environment: &[(OsString, OsString)]) -> Surroundings {
    let value = |name: &str| {
        let found = environment.iter().find(|(own, _)| own == name)?;
        Some(found.1.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
    };
    let is_told = |names: &[&str]| names.iter().any(|name| value(name).is_some());
    let is_on = value("CI").is_some_and(|value| !matches!(value.as_str(), "0" | "false" | "no"));
    if is_on || is_told(&BUILD_SERVICES) {
        Surroundings::Ci
    } else if is_told(&REMOTE) {
        Surroundings::Remote
    } else {
        Surroundings::Local
    }
}

/// Parts of names of variables that hold secrets.
const SECRET_NAMES: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// Variables that lead into the editor or to an agent that signs or unlocks for the person.
const OTHER_NAMES: [&str; 8] = [
    "ELECTRON_RUN_AS_NODE",
    "VSCODE_GIT_IPC_HANDLE",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "GNOME_KEYRING_CONTROL",
];

/// Beginnings of such names.
const PREFIXES: [&str; 2] = ["VSCODE_IPC_HOOK", "VSCODE_GIT_ASKPASS"];

/// Ends of names of agents' sockets.
const SUFFIXES: [&str; 3] = ["AUTH_SOCK", "AGENT_SOCK", "AGENT_SOCKET"];

/// Beginnings of values that are tokens, whatever their variable is called.
const TOKENS: [&str; 13] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "npm_",
    "-----BEGIN ",
];

/// The environment without what holds a secret or leads to one.
pub(super) fn filter(environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    environment.iter().filter(|(name, value)| is_harmless(name, value)).cloned().collect()
}

fn is_harmless(name: &OsStr, value: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    let value = value.to_string_lossy();
    let is_secret_name = SECRET_NAMES.iter().any(|part| name.contains(part))
        || OTHER_NAMES.contains(&name.as_str())
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    let is_secret_value =
        TOKENS.iter().any(|token| value.starts_with(token)) || has_url_password(&value);
    !is_secret_name && !is_secret_value
}

/// Whether a URL with a password stands anywhere in the value: `scheme://user:password@host`.
fn has_url_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority =
            rest.split(['/', '?', '#', ' ', '\n', '"', '\'']).next().unwrap_or_default();
        authority
            .rsplit_once('@')
            .and_then(|(user, _)| user.split_once(':'))
            .is_some_and(|(_, password)| !password.is_empty())
            // A password may hold a slash that was not escaped; then the `@` comes later.
            || (authority.contains(':')
                && rest.split([' ', '\n']).next().is_some_and(|word| {
                    word.split_once('@').is_some_and(|(before, _)| {
                        before.split_once(':').is_some_and(|(_, after)| {
                            !after.is_empty()
                                && !after.chars().next().is_some_and(|char| char.is_ascii_digit())
                        })
                    })
                }))
    })
}

#[cfg(test)]
mod tests {
    use super::{filter, surroundings};
    use crate::guard::Surroundings;
    use std::ffi::OsString;

    #[test]
    fn a_process_knows_where_it_runs() {
        let of = |pairs: &[(&str, &str)]| {
            let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
            surroundings(&pairs.iter().map(pair).collect::<Vec<_>>())
        };
        assert_eq!(
            of(&[("HOME", "/home/dev"), ("CI", "false"), ("TRAVIS", "")]),
            Surroundings::Local
        );
        assert_eq!(of(&[("CI", "true"), ("SSH_CONNECTION", "a")]), Surroundings::Ci);
        assert_eq!(of(&[("GITLAB_CI", "1")]), Surroundings::Ci);
        assert_eq!(of(&[("SSH_CONNECTION", "10.0.0.1 5 10.0.0.2 22")]), Surroundings::Remote);
    }

    #[test]
    fn what_holds_a_secret_is_left_out() {
        let kept = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/home/dev"),
            ("LANG", "C.UTF-8"),
            ("HTTP_PROXY", "http://proxy:3128"),
            ("SOURCE", "https://example.org:8443/a@b"),
            ("REMOTE", "git@example.org:a/b.git"),
            ("URL", "ssh://git@example.org/a"),
            ("VSCODE_PID", "7"),
            ("SKETCH", "task-7"),
        ];
        let dropped = [
            ("API_KEY", "x"),
            ("my_token", "x"),
            ("Secret", "x"),
            ("PGPASSWORD", "x"),
            ("DB_PASSWD", "x"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/x"),
            ("MONKEY", "x"),
            ("ELECTRON_RUN_AS_NODE", "1"),
            ("VSCODE_IPC_HOOK", "/x"),
            ("VSCODE_IPC_HOOK_CLI", "/x"),
            ("VSCODE_GIT_IPC_HANDLE", "/x"),
            ("VSCODE_GIT_ASKPASS_MAIN", "/x"),
            ("GIT_ASKPASS", "/x"),
            ("SSH_AUTH_SOCK", "/x"),
            ("GPG_AGENT_INFO", "/x"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x"),
            ("DATABASE_URL", "postgres://dev:hunter2@db/app"),
            ("A", "see https://u:p@host/x for more"),
            ("B", "amqp://u:p/q@host"),
            ("C", "redis://:hunter2@cache:6379/0"),
            ("D", "ghp_abcdefghijkl"),
            ("E", "-----BEGIN PRIVATE KEY-----"),
        ];
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        let all: Vec<_> = kept.iter().chain(&dropped).map(pair).collect();
        assert_eq!(filter(&all), kept.iter().map(pair).collect::<Vec<_>>());
    }
}
