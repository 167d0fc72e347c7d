//! Whether a model goes round in circles.

use std::collections::VecDeque;

use serde_json::{Map, Value};

/// So many equal calls in a row are a loop.
const EQUAL: usize = 3;
/// Longest circle of different calls that is noticed.
const LONGEST: usize = 3;
/// So many rounds of a circle of different calls are a loop.
const ROUNDS: usize = 6;

/// The latest calls of a task.
///
/// A loop is the same call three times in a row. It is also a circle of two or three different calls
/// gone round six times without one of them ever telling anything new; a circle whose results change
/// (a build that gets further, a file that grows) is work. Calls that vary a little each time are left
/// to the budgets.
#[derive(Clone, Debug, Default)]
pub struct Repeats {
    seen: VecDeque<(String, Option<String>)>,
}

impl Repeats {
    /// A call was taken up. True when it closes a loop and must not run.
    pub fn call(&mut self, key: String) -> bool {
        if self.seen.len() == LONGEST * ROUNDS {
            self.seen.pop_front();
        }
        self.seen.push_back((key, None));
        self.is_equal() || (2..=LONGEST).any(|length| self.is_circle(length))
    }

    /// What the latest call told.
    pub fn told(&mut self, output: &str) {
        if let Some((_, told)) = self.seen.back_mut() {
            *told = Some(output.to_owned());
        }
    }

    fn is_equal(&self) -> bool {
        let mut latest = self.seen.iter().rev().take(EQUAL).map(|(key, _)| key);
        let Some(first) = latest.next() else { return false };
        self.seen.len() >= EQUAL && latest.all(|key| key == first)
    }

    fn is_circle(&self, length: usize) -> bool {
        let newest: Vec<_> = self.seen.iter().rev().take(length * ROUNDS).collect();
        newest.len() == length * ROUNDS
            && newest.iter().zip(newest.iter().skip(length)).all(|((key, told), (old, before))| {
                // The newest call has told nothing yet.
                key == old && (told.is_none() || told == before)
            })
    }
}

/// What makes two calls equal: the tool's name and its arguments, whatever the order of keys;
/// the raw text of arguments that are no JSON.
pub fn key(name: &str, args: &Result<Value, String>) -> String {
    let mut key = format!("{name}\n");
    match args {
        Ok(value) => canonical(value, &mut key),
        Err(raw) => key.push_str(raw),
    }
    key
}

/// JSON without white space, keys sorted. Nothing deeper than the parser's limit gets here.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (nth, item) in items.iter().enumerate() {
                if nth > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (nth, (name, item)) in sorted(fields).into_iter().enumerate() {
                if nth > 0 {
                    out.push(',');
                }
                canonical(&Value::String(name.clone()), out);
                out.push(':');
                canonical(item, out);
            }
            out.push('}');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

fn sorted(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut sorted: Vec<_> = fields.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    sorted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn three_equal_calls_in_a_row_are_a_loop() {
        let mut repeats = Repeats::default();
        let looped: Vec<_> =
            ["a", "a", "b", "a", "a", "a"].map(|call| repeats.call(call.to_owned())).into();
        assert_eq!(looped, [false, false, false, false, false, true]);
    }

    #[test]
    fn a_circle_is_a_loop_only_while_nothing_new_is_told() {
        for circle in [&["a", "b"][..], &["a", "b", "c"]] {
            let mut same = Repeats::default();
            let mut news = Repeats::default();
            for nth in 0..circle.len() * ROUNDS {
                let call = circle[nth % circle.len()];
                let last = nth + 1 == circle.len() * ROUNDS;
                assert_eq!(same.call(call.to_owned()), last, "{circle:?} {nth}");
                same.told("the same");
                assert!(!news.call(call.to_owned()), "{circle:?} {nth}");
                news.told(&nth.to_string());
            }
        }
    }

    #[test]
    fn the_order_of_keys_is_no_difference_and_types_are() {
        let key = |args: Value| super::key("shell", &Ok(args));
        assert_eq!(
            key(json!({"a": [1, {"x": 1, "y": 2}], "b": 2})),
            key(json!({"b": 2, "a": [1, {"y": 2, "x": 1}]}))
        );
        assert_ne!(key(json!({"a": [1, 2]})), key(json!({"a": [2, 1]})));
        assert_ne!(key(json!({"a": 1})), key(json!({"a": "1"})));
        assert_ne!(super::key("lint", &Ok(json!({}))), key(json!({})));
        assert_ne!(super::key("shell", &Err("{".to_owned())), key(json!({})));
    }
}
