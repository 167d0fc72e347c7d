//! One text for one JSON value: keys sorted by UTF-16 code unit, no white space, numbers and strings
//! as ECMAScript writes them (RFC 8785).

use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

/// The canonical text.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out);
    out
}

/// Lower-case hex SHA-256 of the canonical text of an object.
pub fn hash(object: &Map<String, Value>) -> String {
    let mut out = String::new();
    write_object(object, &mut out);
    hex::encode(Sha256::digest(out.as_bytes()))
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(string) => write_string(string, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(object) => write_object(object, out),
    }
}

fn write_object(object: &Map<String, Value>, out: &mut String) {
    let mut members: Vec<(&String, &Value)> = object.iter().collect();
    members.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
    out.push('{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(key, out);
        out.push(':');
        write_value(value, out);
    }
    out.push('}');
}

fn write_string(string: &str, out: &mut String) {
    out.push('"');
    for character in string.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                out.push_str("\\u00");
                out.push_str(&hex::encode([u8::try_from(control).unwrap_or_default()]));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// The largest magnitude up to which every integer is a number of its own in ECMAScript.
const LARGEST: u64 = 1 << 53;

fn number_text(number: &Number) -> String {
    if let Some(whole) = number.as_i64().filter(|whole| whole.unsigned_abs() <= LARGEST) {
        return whole.to_string();
    }
    number.as_f64().map_or_else(|| "null".to_owned(), float_text)
}

/// ECMA-262, `Number::toString` with radix 10. Not finite numbers are `null`, as in `JSON.stringify`.
fn float_text(value: f64) -> String {
    if !value.is_finite() {
        return "null".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest.as_str(), "0"));
    let digits: Vec<char> = mantissa.chars().filter(char::is_ascii_digit).collect();
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let point = exponent.parse::<i32>().unwrap_or(0).saturating_add(1);
    let mut out = String::new();
    if value < 0.0 {
        out.push('-');
    }
    let zeros = |out: &mut String, count: i32| (0..count).for_each(|_| out.push('0'));
    if point > 21 || point <= -6 {
        let mut rest = digits.iter();
        out.extend(rest.next());
        if count > 1 {
            out.push('.');
            out.extend(rest);
        }
        let shown = point - 1;
        out.push('e');
        out.push(if shown < 0 { '-' } else { '+' });
        out.push_str(&shown.abs().to_string());
    } else if point <= 0 {
        out.push_str("0.");
        zeros(&mut out, -point);
        out.extend(&digits);
    } else {
        for (index, digit) in (0_i32..).zip(&digits) {
            if index == point {
                out.push('.');
            }
            out.push(*digit);
        }
        zeros(&mut out, point - count);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_ecmascript_writes_them() {
        for (given, wanted) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1", "1"),
            ("1.0", "1"),
            ("-5", "-5"),
            ("0.1", "0.1"),
            ("0.05", "0.05"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("1.5e-10", "1.5e-10"),
            ("1e21", "1e+21"),
            ("1.25e22", "1.25e+22"),
            ("9007199254740993", "9007199254740992"),
            ("18446744073709551615", "18446744073709552000"),
            ("4.50", "4.5"),
            ("1E2", "100"),
        ] {
            let value: Value = serde_json::from_str(given).unwrap();
            assert_eq!(text(&value), wanted, "{given}");
        }
        for (given, wanted) in [
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (333_333_333.333_333_3, "333333333.3333333"),
            (-1.5e-7, "-1.5e-7"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(float_text(given), wanted, "{given}");
        }
    }

    #[test]
    fn keys_are_sorted_by_code_unit_and_strings_keep_their_form() {
        let value = serde_json::json!({
            "b": [1, {"z": null, "a": true}],
            "\u{1F600}": 1,
            "\u{FB33}": 2,
            "a": "\u{7f}\"\\\u{8}\u{1}\n\u{20ac}/"
        });
        assert_eq!(
            text(&value),
            "{\"a\":\"\u{7f}\\\"\\\\\\b\\u0001\\n\u{20ac}/\",\"b\":[1,{\"a\":true,\"z\":null}],\
             \"\u{1F600}\":1,\"\u{FB33}\":2}"
        );
    }

    #[test]
    fn the_hash_does_not_depend_on_the_order_of_keys() {
        let one: Map<String, Value> =
            serde_json::from_str(r#"{"a":1,"b":{"d":2.0,"c":3}}"#).unwrap();
        let two: Map<String, Value> =
            serde_json::from_str(r#"{"b":{"c":3,"d":2},"a":1.0}"#).unwrap();
        assert_eq!(hash(&one), hash(&two));
        // printf '%s' '{"a":1}' | sha256sum
        let plain: Map<String, Value> = serde_json::from_str(r#"{"a":1}"#).unwrap();
        assert_eq!(
            hash(&plain),
            "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
        );
    }
}
