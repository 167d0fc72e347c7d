//! The JSON-RPC 2.0 envelope.

use std::fmt;

use serde_json::{Map, Number, Value};

/// The id of a request: text or any number, echoed as it came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// A number, fractions included.
    Number(Number),
    /// A text.
    Text(String),
}

impl Id {
    /// The id of that JSON value; none for what cannot be one.
    pub fn from_json(value: Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self::Number(number)),
            Value::String(text) => Some(Self::Text(text)),
            _ => None,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_json())
    }
}

/// The `error` of a response.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorObject {
    /// The code.
    pub code: i64,
    /// The text.
    pub message: String,
    /// Further data.
    pub data: Option<Value>,
}

/// A message, either way.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Wants an answer.
    Request {
        /// Its id.
        id: Id,
        /// The method.
        method: String,
        /// The params; none when absent.
        params: Option<Value>,
    },
    /// Wants none.
    Notification {
        /// The method.
        method: String,
        /// The params; none when absent.
        params: Option<Value>,
    },
    /// An answer.
    Response {
        /// The id of the request; none for an answer to what could not be read.
        id: Option<Id>,
        /// What came of it.
        result: Result<Value, ErrorObject>,
    },
}

/// Why a body is no message. The answer goes to `id`, or to `null`.
#[derive(Clone, Debug, PartialEq)]
pub enum Malformed {
    /// The body is not JSON.
    NotJson(String),
    /// The body is JSON and yet no request, notification or response.
    NoMessage {
        /// The id, where one can be told.
        id: Option<Id>,
        /// What is wrong.
        why: &'static str,
    },
}

impl Message {
    /// Reads a body. The `jsonrpc` member is not looked at.
    ///
    /// # Errors
    ///
    /// When it is no message.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        let value = match serde_json::from_slice(body) {
            Ok(value) => value,
            Err(error) => with_whole_characters(body)
                .and_then(|body| serde_json::from_slice(&body).ok())
                .ok_or_else(|| Malformed::NotJson(error.to_string()))?,
        };
        let Value::Object(mut object) = value else {
            return Err(Malformed::NoMessage { id: None, why: "a message must be a JSON object" });
        };
        let id = object.remove("id");
        let params = object.remove("params");
        match object.remove("method") {
            Some(Value::String(method)) => match id {
                None => Ok(Self::Notification { method, params }),
                Some(id) => match Id::from_json(id) {
                    Some(id) => Ok(Self::Request { id, method, params }),
                    None => Err(Malformed::NoMessage {
                        id: None,
                        why: "`id` must be a string or a number",
                    }),
                },
            },
            Some(_) => Err(Malformed::NoMessage {
                id: id.and_then(Id::from_json),
                why: "`method` must be a string",
            }),
            None => Self::read_response(id, &mut object),
        }
    }

    fn read_response(
        id: Option<Value>,
        object: &mut Map<String, Value>,
    ) -> Result<Self, Malformed> {
        let error = object.remove("error").filter(|error| !error.is_null());
        let result = match (error, object.remove("result")) {
            (Some(error), _) => Err(ErrorObject {
                code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
                message: error
                    .get("message")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                data: error.get("data").cloned(),
            }),
            (None, Some(result)) => Ok(result),
            (None, None) => {
                return Err(Malformed::NoMessage {
                    id: id.and_then(Id::from_json),
                    why: "`method` is missing",
                });
            }
        };
        Ok(Self::Response { id: id.and_then(Id::from_json), result })
    }

    /// The body of this message.
    pub fn write(&self) -> Vec<u8> {
        let mut object = Map::new();
        object.insert("jsonrpc".to_owned(), Value::from("2.0"));
        match self {
            Self::Request { id, method, params } => {
                object.insert("id".to_owned(), id.to_json());
                object.insert("method".to_owned(), Value::from(method.as_str()));
                object.extend(params.clone().map(|params| ("params".to_owned(), params)));
            }
            Self::Notification { method, params } => {
                object.insert("method".to_owned(), Value::from(method.as_str()));
                object.extend(params.clone().map(|params| ("params".to_owned(), params)));
            }
            Self::Response { id, result } => {
                object.insert("id".to_owned(), id.as_ref().map_or(Value::Null, Id::to_json));
                match result {
                    Ok(result) => {
                        object.insert("result".to_owned(), result.clone());
                    }
                    Err(error) => {
                        let mut entry = Map::new();
                        entry.insert("code".to_owned(), Value::from(error.code));
                        entry.insert("message".to_owned(), Value::from(error.message.as_str()));
                        entry.extend(error.data.clone().map(|data| ("data".to_owned(), data)));
                        object.insert("error".to_owned(), Value::Object(entry));
                    }
                }
            }
        }
        Value::Object(object).to_string().into_bytes()
    }
}

/// The body with each escape of half a character, as `\ud83d` alone, turned into the replacement
/// character; none when there is no such escape. Editors cut texts between the halves.
fn with_whole_characters(body: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(body.len());
    let mut changed = false;
    let mut at = 0;
    while let Some(&byte) = body.get(at) {
        if byte != b'\\' {
            out.push(byte);
            at += 1;
            continue;
        }
        let Some(unit) = escaped_unit(body, at) else {
            out.extend(body.iter().skip(at).take(2));
            at += 2;
            continue;
        };
        let pair = matches!(unit, 0xD800..=0xDBFF)
            && matches!(escaped_unit(body, at + 6), Some(0xDC00..=0xDFFF));
        let length = if pair { 12 } else { 6 };
        if matches!(unit, 0xD800..=0xDFFF) && !pair {
            out.extend_from_slice(b"\\ufffd");
            changed = true;
        } else {
            out.extend(body.iter().skip(at).take(length));
        }
        at += length;
    }
    changed.then_some(out)
}

/// The code unit that a `\uXXXX` at `at` stands for.
fn escaped_unit(body: &[u8], at: usize) -> Option<u16> {
    let digits = body.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_told_apart() {
        let cases = [
            ("{", "json"),
            ("", "json"),
            ("[]", "null"),
            ("3", "null"),
            (r#"{"id":null,"method":"m"}"#, "null"),
            (r#"{"id":true,"method":"m"}"#, "null"),
            (r#"{"id":7,"method":1}"#, "7"),
            (r#"{"id":"a"}"#, "\"a\""),
            ("{}", "null"),
        ];
        for (body, expected) in cases {
            let got = match Message::read(body.as_bytes()) {
                Err(Malformed::NotJson(_)) => "json".to_owned(),
                Err(Malformed::NoMessage { id, .. }) => {
                    id.map_or("null".to_owned(), |id| id.to_string())
                }
                Ok(message) => format!("{message:?}"),
            };
            assert_eq!(got, expected, "{body}");
        }
    }

    #[test]
    fn ids_come_back_as_they_were() {
        for id in ["1", "1.5", "-3", "1e3", "\"x\"", "\"\"", "18446744073709551615"] {
            let body = format!(r#"{{"id":{id},"method":"m"}}"#);
            let Ok(Message::Request { id: read, .. }) = Message::read(body.as_bytes()) else {
                panic!("{body}");
            };
            let back = Message::Response { id: Some(read), result: Ok(Value::Null) }.write();
            let back: Value = serde_json::from_slice(&back).unwrap();
            assert_eq!(back["id"], serde_json::from_str::<Value>(id).unwrap());
        }
    }

    #[test]
    fn half_characters_are_replaced() {
        let body = br#"{"method":"\ud83d\ude00 \ud83d \\ud83d \ude00"}"#;
        let Ok(Message::Notification { method, .. }) = Message::read(body) else {
            panic!("unread");
        };
        assert_eq!(method, "\u{1f600} \u{fffd} \\ud83d \u{fffd}");
    }
}
