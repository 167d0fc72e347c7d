//! Leaves secrets out of a command: text in, text out, nothing asked from the machine.
//!
//! What is known by its look: tokens with a known beginning, passwords in URLs, values of names that
//! say so (`NAME_TOKEN=`, `--password`, `"apiKey":`), `Authorization` headers, private keys in PEM,
//! passwords of a few programs' short options. A secret becomes one plain word, so that the command
//! still reads as a command. It is a net with holes: what looks like nothing is kept. Long, because it is a
//! table of shapes.

/// What stands in place of a secret: one word of plain letters.
pub const MARK: &str = "REDACTED";

/// The text with secrets left out; none where it has none.
pub fn redact(text: &str) -> Option<String> {
    let mut found = Vec::new();
    private_keys(text, &mut found);
    tokens(text, &mut found);
    urls(text, &mut found);
    named(text, &mut found);
    schemes(text, &mut found);
    short_options(text, &mut found);
    if found.is_empty() {
        return None;
    }
    found.sort_unstable();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end) in found {
        if start >= done {
            out.push_str(text.get(done..start).unwrap_or_default());
            out.push_str(MARK);
        }
        done = done.max(end);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}

/// Bytes from and to, half-open, on borders of characters.
type Found = Vec<(usize, usize)>;

/// Beginnings of tokens and the least length of what follows (documents of the issuers).
const PREFIXES: &[(&str, usize)] = &[
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("glrt-", 16),
    ("sk-", 20),
    ("sk_live_", 12),
    ("sk_test_", 12),
    ("rk_live_", 12),
    ("rk_test_", 12),
    ("whsec_", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xoxe-", 10),
    ("xapp-", 10),
    ("AIza", 30),
    ("ya29.", 20),
    ("GOCSPX-", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 20),
    ("dop_v1_", 30),
    ("SG.", 30),
    ("shpat_", 20),
    ("AGE-SECRET-KEY-", 20),
    ("glsa_", 20),
    ("tskey-", 16),
    ("ATATT", 30),
    ("lin_api_", 20),
    ("dckr_pat_", 16),
    ("hvs.", 20),
    ("AKIA", 16),
    ("ASIA", 16),
];

const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The end of the run of bytes that fit, from `start`.
fn run(text: &str, start: usize, fits: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    start + rest.iter().position(|byte| !fits(*byte)).unwrap_or(rest.len())
}

fn byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

/// Tokens known by how they begin, and JSON web tokens (RFC 7519).
fn tokens(text: &str, found: &mut Found) {
    let mut at = 0;
    while at < text.len() {
        let end = run(text, at, is_token_byte);
        if end == at {
            at += 1;
            continue;
        }
        if let Some(word) = text.get(at..end) {
            let known = PREFIXES.iter().any(|(prefix, least)| {
                word.strip_prefix(prefix).is_some_and(|r| r.len() >= *least)
            });
            let web = word.starts_with("eyJ")
                && word.len() > 30
                && word.bytes().filter(|byte| *byte == b'.').count() == 2;
            if known || web {
                found.push((at, end));
            }
        }
        at = end;
    }
}

/// Passwords in the authority of a URL (RFC 3986 section 3.2.1), and a long user without one.
fn urls(text: &str, found: &mut Found) {
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let end = run(text, start, |byte| {
            !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'?' | b'#' | b'\'' | b'"' | b'`')
        });
        let Some(user) = text.get(start..end).and_then(|part| part.rfind('@')) else { continue };
        let user_end = start + user;
        let Some(part) = text.get(start..user_end) else { continue };
        match part.find(':') {
            Some(colon) => push_value(text, start + colon + 1, user_end, found),
            None if part.len() >= 20 => push_value(text, start, user_end, found),
            None => {}
        }
    }
}

/// Adds a value unless it is empty or only stands for one (`$TOKEN`, `<token>`, `***`).
fn push_value(text: &str, start: usize, end: usize, found: &mut Found) {
    let Some(value) = text.get(start..end) else { return };
    let stands_for = value.starts_with(['$', '`', '<', '%', '{']);
    if !stands_for && value.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
        found.push((start, end));
    }
}

/// Whether the value of such a name is a secret.
fn is_secret_name(name: &str) -> bool {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut small = false;
    for character in name.chars() {
        let border =
            !character.is_ascii_alphanumeric() || (small && character.is_ascii_uppercase());
        if border && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        small = character.is_ascii_lowercase();
        if character.is_ascii_alphanumeric() {
            word.push(character.to_ascii_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    let last = words.last().map(String::as_str).unwrap_or_default();
    // A path, a file, a name or a number about a secret is none.
    if matches!(last, "file" | "path" | "dir" | "id" | "name" | "url" | "stdin" | "length" | "type")
        || words.iter().any(|word| word == "public")
    {
        return false;
    }
    let says_so = |word: &String| {
        matches!(
            word.as_str(),
            "token"
                | "secret"
                | "password"
                | "passwd"
                | "passphrase"
                | "pass"
                | "pwd"
                | "apikey"
                | "credential"
                | "credentials"
                | "authtoken"
                | "accesskey"
                | "secretkey"
                | "privatekey"
                | "pgpassword"
        )
    };
    let directory = matches!(words.as_slice(), [one] if one == "pwd" || one == "oldpwd");
    (words.iter().any(says_so) && !directory)
        || (last == "key"
            && words.iter().any(|word| {
                matches!(
                    word.as_str(),
                    "api"
                        | "access"
                        | "private"
                        | "secret"
                        | "openai"
                        | "anthropic"
                        | "auth"
                        | "encryption"
                        | "signing"
                        | "master"
                        | "account"
                )
            }))
        || (last == "auth" && words.len() > 1)
}

/// Values of names that say that they are secret: `NAME=value`, `--name value`, `name: value`,
/// `"name": "value"`.
fn named(text: &str, found: &mut Found) {
    let mut at = 0;
    while at < text.len() {
        let end = run(text, at, is_name_byte);
        if end == at {
            at += 1;
            continue;
        }
        if let Some(name) = text.get(at..end)
            && is_secret_name(name)
            && let Some(start) = value_start(text, name, end)
        {
            let (start, value_end) = value(text, start);
            push_value(text, start, value_end, found);
            // A value in quotes that only stands for one may hold others (`"$(X_TOKEN=... run)"`).
            let quoted =
                matches!(start.checked_sub(1).and_then(|at| byte(text, at)), Some(b'"' | b'\''));
            let taken = found.last() == Some(&(start, value_end));
            at = if taken || !quoted { value_end.max(end) } else { end };
            continue;
        }
        at = end;
    }
}

/// Where the value of a name that ends at `end` begins.
fn value_start(text: &str, name: &str, end: usize) -> Option<usize> {
    let blank = |at: usize| run(text, at, |byte| byte == b' ' || byte == b'\t');
    // A name in quotes has its colon behind the quote.
    let behind = match byte(text, end) {
        Some(b'\\') if matches!(byte(text, end + 1), Some(b'"')) => end + 2,
        Some(b'"' | b'\'') => end + 1,
        _ => end,
    };
    match byte(text, behind) {
        Some(b'=') => Some(behind + 1),
        Some(b':') if byte(text, behind + 1) != Some(b'/') => Some(blank(behind + 1)),
        Some(b' ' | b'\t')
            if (name.starts_with("--") || name.starts_with("aws_")) && behind == end =>
        {
            let start = blank(end);
            (byte(text, start) != Some(b'-')).then_some(start)
        }
        _ => None,
    }
}

/// The value that begins at `start`, quotes around it left out: from and to.
fn value(text: &str, start: usize) -> (usize, usize) {
    let start = if byte(text, start) == Some(b'\\') { start + 1 } else { start };
    match byte(text, start) {
        Some(quote @ (b'"' | b'\'')) => {
            (start + 1, run(text, start + 1, |byte| byte != quote && byte != b'\\'))
        }
        _ => (
            start,
            run(text, start, |byte| {
                !byte.is_ascii_whitespace()
                    && !matches!(
                        byte,
                        b'"' | b'\''
                            | b';'
                            | b'&'
                            | b'|'
                            | b')'
                            | b'('
                            | b'<'
                            | b'>'
                            | b','
                            | b'}'
                            | b'`'
                            | b'\\'
                    )
            }),
        ),
    }
}

/// Credentials behind the scheme of a header (RFC 9110 section 11.6.2).
fn schemes(text: &str, found: &mut Found) {
    let lower = text.to_ascii_lowercase();
    for scheme in ["bearer ", "basic ", "authorization: token "] {
        for (at, _) in lower.match_indices(scheme) {
            let before = at.checked_sub(1).and_then(|at| byte(text, at));
            if before.is_some_and(|byte| is_token_byte(byte) && byte != b'.') {
                continue;
            }
            let header = lower
                .get(..at)
                .is_some_and(|head| head.trim_end().ends_with(':') || scheme.starts_with("auth"));
            let start = run(text, at + scheme.len(), |byte| byte == b' ');
            let end = run(text, start, |byte| {
                is_token_byte(byte) || matches!(byte, b'+' | b'/' | b'=' | b'~' | b':')
            });
            // Without a header before it only what is long is no ordinary word.
            if (header && end > start) || end - start >= 20 {
                push_value(text, start, end, found);
            }
        }
    }
}

/// Short options of programs whose value is a password: `curl -u user:pass`, `sshpass -p`, ...
fn short_options(text: &str, found: &mut Found) {
    let mut program = "";
    let mut option = "";
    let mut at = 0;
    while at < text.len() {
        let end = run(text, at, |byte| {
            !byte.is_ascii_whitespace() && !matches!(byte, b';' | b'|' | b'&' | b'(' | b')')
        });
        if end == at {
            // A line, a list or a pipeline begins anew; a blank does not.
            if !matches!(byte(text, at), Some(b' ' | b'\t')) {
                (program, option) = ("", "");
            }
            at += 1;
            continue;
        }
        let Some(word) = text.get(at..end) else { return };
        let name = word.rsplit('/').next().unwrap_or(word);
        if matches!(
            name,
            "curl"
                | "sshpass"
                | "mysql"
                | "mysqldump"
                | "mysqladmin"
                | "mariadb"
                | "redis-cli"
                | "docker"
                | "podman"
                | "http"
                | "https"
                | "xh"
                | "wget"
                | "ldapsearch"
        ) {
            program = name;
        } else if takes_password(program, option) {
            let (start, value_end) = value(text, at);
            password(text, program, start, value_end.min(end), found);
        } else if let ("sshpass" | "mysql" | "mysqldump" | "mysqladmin" | "mariadb", Some(rest)) =
            (program, word.strip_prefix("-p"))
            && !rest.is_empty()
        {
            let (start, value_end) = value(text, at + 2);
            push_value(text, start, value_end.min(end), found);
        } else if let ("curl", Some(rest)) = (program, word.strip_prefix("-u"))
            && !rest.is_empty()
        {
            let (start, value_end) = value(text, at + 2);
            password(text, program, start, value_end.min(end), found);
        }
        option = word;
        at = end;
    }
}

fn takes_password(program: &str, option: &str) -> bool {
    matches!(
        (program, option),
        ("curl", "-u" | "--user" | "-U" | "--proxy-user")
            | ("sshpass" | "docker" | "podman", "-p")
            | ("redis-cli" | "http" | "https" | "xh", "-a")
            | ("http" | "https" | "xh", "--auth")
            | ("ldapsearch", "-w")
    )
}

/// A password, or the part of `user:password` behind the colon.
fn password(text: &str, program: &str, start: usize, end: usize, found: &mut Found) {
    let colon = text.get(start..end).and_then(|part| part.find(':'));
    match (program, colon) {
        ("curl" | "http" | "https" | "xh", None) => {}
        ("curl" | "http" | "https" | "xh", Some(colon)) => {
            push_value(text, start + colon + 1, end, found);
        }
        // A published port is no password.
        ("docker" | "podman", _)
            if text.get(start..end).is_some_and(|part| {
                part.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-'))
            }) => {}
        _ => push_value(text, start, end, found),
    }
}

/// Private keys in PEM (RFC 7468), to the end of the text where the end line is missing.
fn private_keys(text: &str, found: &mut Found) {
    const END: &str = "PRIVATE KEY-----";
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("-----BEGIN ")) {
        let start = from + at;
        let Some(label) = text.get(start..).and_then(|rest| rest.find(END)) else { return };
        let body = start + label + END.len();
        let first_line = text.get(start + 11..start + label).unwrap_or_default();
        if first_line.contains("-----") {
            from = start + 11;
            continue;
        }
        let end = text
            .get(body..)
            .and_then(|rest| rest.find(END))
            .map_or(text.len(), |at| body + at + END.len());
        found.push((start, end));
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_and_the_rest_is_kept() {
        let table = [
            ("curl https://bob:hunter2@example.com/x", "curl https://bob:REDACTED@example.com/x"),
            ("git clone https://$USER:$TOKEN@example.com/x", ""),
            ("API_TOKEN=abc123 ./run", "API_TOKEN=REDACTED ./run"),
            ("export DB_PASSWORD='a b c'; ls", "export DB_PASSWORD='REDACTED'; ls"),
            ("x --password hunter2 y", "x --password REDACTED y"),
            ("x --password=hunter2 y", "x --password=REDACTED y"),
            ("x --token \"$TOKEN\"", ""),
            ("x --password-file a", ""),
            (
                "curl -H 'Authorization: Bearer abc.def' u",
                "curl -H 'Authorization: Bearer REDACTED' u",
            ),
            ("curl -H \"X-Api-Key: abcd\" u", "curl -H \"X-Api-Key: REDACTED\" u"),
            ("curl -u bob:hunter2 u", "curl -u bob:REDACTED u"),
            ("curl -d '{\"apiKey\": \"abc\"}' u", "curl -d '{\"apiKey\": \"REDACTED\"}' u"),
            ("mysql -uroot -phunter2 db", "mysql -uroot -pREDACTED db"),
            ("docker run -p 8080:80 x", ""),
            (
                "aws configure set aws_secret_access_key wJalr",
                "aws configure set aws_secret_access_key REDACTED",
            ),
            ("echo AKIAIOSFODNN7EXAMPLE", "echo REDACTED"),
            ("echo ghp_0123456789abcdefghij0123456789", "echo REDACTED"),
            ("sort --key 2 a; ls; PWD=/x OLDPWD=/y", ""),
            ("cd $PWD && git log --format='%H %s'", ""),
            ("python3 x.py --max-tokens 5", ""),
            ("bearer of news", ""),
        ];
        for (text, want) in table {
            assert_eq!(redact(text).unwrap_or_default(), want, "{text}");
        }
        let key = "echo '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----' > k";
        assert_eq!(redact(key).unwrap(), "echo 'REDACTED' > k");
    }

    #[test]
    fn odd_texts_do_no_harm() {
        for text in ["", "é=", "tokén=é", "://", "a://é@", "TOKEN=", "--password ", "-----BEGIN "]
        {
            let _ = redact(text);
        }
    }
}
