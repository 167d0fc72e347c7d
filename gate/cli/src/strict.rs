//! JSON in which no object names a key twice.
//!
//! Takes bytes, gives a value or why not. RFC 8259 (4) leaves open which of two members of one name
//! counts, and readers differ: what we judged need not be what the sender runs. Such a text is
//! refused.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The value of a JSON text.
///
/// # Errors
/// When it is not JSON, something follows it, or an object names a key twice.
pub fn value(bytes: &[u8]) -> serde_json::Result<Value> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Once.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Reads a value whose objects, at any depth, name each key once.
#[derive(Clone, Copy, Debug)]
struct Once;

impl<'de> DeserializeSeed<'de> for Once {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!(
                    "the key {key:?} stands twice in one object"
                )));
            }
            object.insert(key, members.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_serde_json_makes_of_it() {
        for text in [
            "null",
            "true",
            "-3",
            "18446744073709551615",
            "1.5e3",
            "\"a\\u00e9\"",
            "[]",
            "[1,[2],{}]",
            "{}",
            "{\"b\":{\"a\":1},\"a\":[null]}",
            " {\"a\":{\"a\":1}} ",
        ] {
            let plain: Value = serde_json::from_str(text).unwrap();
            assert_eq!(value(text.as_bytes()).unwrap(), plain, "{text}");
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_at_any_depth() {
        for text in
            ["{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}", "[{\"x\":{\"a\":1,\"b\":2,\"a\":3}}]"]
        {
            let error = value(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("twice"), "{text}: {error}");
        }
        for text in ["", "{", "{} {}", "[1,]", "\"\\ud800\"", "1e999"] {
            assert!(value(text.as_bytes()).is_err(), "{text}");
        }
        assert!(value("[".repeat(100_000).as_bytes()).is_err());
    }
}
