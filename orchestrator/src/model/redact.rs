//! Secrets taken out of messages, addresses and log lines.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use regex::{Captures, Regex};

/// What stands where a secret stood.
pub const REDACTED: &str = "[redacted]";

/// Values shorter than this are too common to be searched for.
const MIN_VALUE_CHARS: usize = 6;

/// Takes out known secret values and what looks like a secret. Clones share the known values.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    known: Arc<RwLock<Vec<String>>>,
}

impl Redactor {
    /// Remembers a value and the forms it takes inside an address or a JSON string. Values of less
    /// than six characters are not searched for.
    pub fn learn(&self, value: &str) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for form in forms(value) {
            if !known.contains(&form) {
                known.push(form);
            }
        }
        known.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    /// Forgets all values; patterns stay.
    pub fn forget(&self) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The text without secrets.
    pub fn redact(&self, text: &str) -> String {
        self.redact_and(text, None)
    }

    /// The text without secrets and without this value, known or not.
    pub fn redact_and(&self, text: &str, value: Option<&str>) -> String {
        let mut text = text.to_owned();
        for form in value.map(forms).unwrap_or_default() {
            text = text.replace(&form, REDACTED);
        }
        for form in self.known.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if text.contains(form.as_str()) {
                text = text.replace(form.as_str(), REDACTED);
            }
        }
        patterns(&text)
    }
}

/// The value as such, percent-encoded and inside a JSON string, longest first.
fn forms(value: &str) -> Vec<String> {
    if value.chars().count() < MIN_VALUE_CHARS {
        return Vec::new();
    }
    let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let quoted = serde_json::Value::from(value).to_string();
    let quoted = quoted.trim_start_matches('"').trim_end_matches('"').to_owned();
    let mut forms = vec![value.to_owned(), encoded.replace('+', "%20"), encoded, quoted];
    forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    forms.dedup();
    forms
}

/// Parameters and headers first: what follows a name is replaced whole.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"(?P<keep>(?i:https?|wss?)://)[^/\s@?#]+@",
        r"(?P<keep>(?i)[?&;](?:api_key|access_token|token|key)=)[^&\s#'<>`\x22\\]+",
        r"(?P<keep>(?i)\b(?:x-api-key|api[_-]?key|(?:proxy-)?authorization)\\?[\x22'`]?\s*[:=]\s*\\?[\x22'`]?(?:(?:bearer|basic)\s+)?)[^\s,;'}\]<>`\x22\\]+",
        r"(?P<keep>(?i)\b(?:bearer|basic)\s+\\?[\x22'`]?)(?P<token>[A-Za-z0-9._~+/=:-]+)",
        r"\bsk-[A-Za-z0-9_-]{4,}",
    ]
    .iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// The text without what looks like a secret.
fn patterns(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    for pattern in PATTERNS.iter() {
        let replaced = pattern.replace_all(&text, |found: &Captures<'_>| {
            let whole = found.get(0).map_or("", |part| part.as_str());
            let keep = found.name("keep").map_or("", |part| part.as_str());
            let is_word = found.name("token").is_some_and(|token| is_word(token.as_str()));
            match whole.ends_with('@') {
                _ if is_word => whole.to_owned(),
                true => format!("{keep}{REDACTED}@"),
                false => format!("{keep}{REDACTED}"),
            }
        });
        if let Cow::Owned(replaced) = replaced {
            text = Cow::Owned(replaced);
        }
    }
    text.into_owned()
}

/// Whether what follows "bearer" or "basic" is prose, as in "basic authentication is off".
fn is_word(token: &str) -> bool {
    let token = token.trim_end_matches(['.', ':']);
    token.len() <= 14 && token.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_leave_and_prose_stays() {
        assert_eq!(PATTERNS.len(), 5);
        let redactor = Redactor::default();
        redactor.learn("hunter2+\"x");
        redactor.learn("short");
        for (text, expected) in [
            ("key hunter2+\"x is wrong", "key [redacted] is wrong"),
            (r#"{"k":"hunter2+\"x"}"#, r#"{"k":"[redacted]"}"#),
            ("u=hunter2%2B%22x&a", "u=[redacted]&a"),
            ("short stays", "short stays"),
            ("Authorization: Bearer abc.DEF-1", "Authorization: Bearer [redacted]"),
            ("sent Bearer eyJhbGciOi.x.y twice", "sent Bearer [redacted] twice"),
            ("Missing bearer or basic authentication", "Missing bearer or basic authentication"),
            ("GET http://h/x?key=1234&b=2", "GET http://h/x?key=[redacted]&b=2"),
            ("GET http://h/?a=1&access_token=zz", "GET http://h/?a=1&access_token=[redacted]"),
            (r#"{"x-api-key": "abcd", "n": 1}"#, r#"{"x-api-key": "[redacted]", "n": 1}"#),
            ("api_key=abcd, other", "api_key=[redacted], other"),
            (
                "Incorrect API key provided: sk-proj-12_34.",
                "Incorrect API key provided: [redacted].",
            ),
            ("a task-related word", "a task-related word"),
            ("http://me:pass@h/v1", "http://[redacted]@h/v1"),
            ("monkey=1 and tokens=5", "monkey=1 and tokens=5"),
        ] {
            assert_eq!(redactor.redact(text), expected);
        }
        redactor.forget();
        assert_eq!(redactor.redact("hunter2+\"x"), "hunter2+\"x");
        assert_eq!(redactor.redact_and("a hunter2+\"x", Some("hunter2+\"x")), "a [redacted]");
    }
}
