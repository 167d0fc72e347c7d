//! Changes in a JSON text that leave every other byte as it is: comments, blanks, order, commas that
//! trail. Texts are read as JSON with comments (JSONC), as agents' settings are.
//!
//! Takes texts; gives texts. Does no I/O. Long, because it has a reader of its own: one that remembers
//! where each value stands.

use std::fmt;

use serde_json::Value;

/// Levels of nesting that are read.
const DEPTH: usize = 128;

/// Why a text cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// It is not JSON, even with comments.
    Syntax {
        /// The byte that did not fit.
        at: usize,
    },
    /// What stands at the key is of another type.
    Type {
        /// The key.
        key: String,
        /// The type that is needed.
        wanted: &'static str,
    },
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { at } => write!(f, "not JSON at byte {at}"),
            Self::Type { key, wanted } => write!(f, "`{key}` is not {wanted}"),
        }
    }
}

impl std::error::Error for EditError {}

/// A value and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    start: usize,
    end: usize,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Object(Vec<Member>),
    Array(Vec<Element>),
    Other,
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    key: String,
    start: usize,
    value: Node,
    /// Where its comma stands, if it has one.
    comma: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Element {
    value: Node,
    comma: Option<usize>,
}

/// The text with the value put at the end of the list that the keys lead to; lists and objects that
/// are not there yet are made. An empty text counts as an empty object.
///
/// # Errors
/// When the text is not JSON or something on the way is of another type.
pub fn append(text: &str, keys: &[&str], value: &Value) -> Result<String, EditError> {
    if text.trim().is_empty() {
        return Ok(format!("{}\n", printed(&wrapped(keys, value), "", "  ", "\n")));
    }
    let root = parse(text)?;
    let mut node = &root;
    for (depth, key) in keys.iter().enumerate() {
        let Kind::Object(members) = &node.kind else {
            return Err(wrong_type(keys, depth, "an object"));
        };
        let Some(member) = members.iter().rev().find(|member| member.key == **key) else {
            let rest = keys.get(depth + 1..).unwrap_or_default();
            return Ok(insert(text, node, Some(key), &wrapped(rest, value)));
        };
        node = &member.value;
    }
    match &node.kind {
        Kind::Array(_) => Ok(insert(text, node, None, value)),
        _ => Err(wrong_type(keys, keys.len(), "a list")),
    }
}

/// The text with a member put at the end of its outermost object, unless the key is there.
///
/// # Errors
/// When the text is not JSON or no object.
pub fn set_new(text: &str, key: &str, value: &Value) -> Result<String, EditError> {
    if text.trim().is_empty() {
        let mut object = serde_json::Map::new();
        object.insert(key.into(), value.clone());
        return Ok(format!("{}\n", printed(&Value::Object(object), "", "  ", "\n")));
    }
    let root = parse(text)?;
    match &root.kind {
        Kind::Object(members) if members.iter().any(|member| member.key == key) => Ok(text.into()),
        Kind::Object(_) => Ok(insert(text, &root, Some(key), value)),
        _ => Err(wrong_type(&[], 0, "an object")),
    }
}

/// The elements of the list that the keys lead to, in order; none where there is no such list.
///
/// # Errors
/// When the text is not JSON.
pub fn elements(text: &str, keys: &[&str]) -> Result<Vec<Value>, EditError> {
    let root = parse(text)?;
    let Some(Node { kind: Kind::Array(elements), .. }) = find(&root, keys) else {
        return Ok(Vec::new());
    };
    Ok(elements.iter().map(|element| value(text, &element.value)).collect())
}

/// The value that the keys lead to.
///
/// # Errors
/// When the text is not JSON.
pub fn get(text: &str, keys: &[&str]) -> Result<Option<Value>, EditError> {
    Ok(find(&parse(text)?, keys).map(|node| value(text, node)))
}

/// The text with the element of that index in the list that the keys lead to taken out; with it go
/// its comma and the blanks before it, and lists and objects that are left empty. The text itself
/// where there is no such element.
///
/// # Errors
/// When the text is not JSON.
pub fn remove(text: &str, keys: &[&str], index: usize) -> Result<String, EditError> {
    let root = parse(text)?;
    let Some(node) = find(&root, keys) else { return Ok(text.into()) };
    let Kind::Array(elements) = &node.kind else { return Ok(text.into()) };
    let Some(element) = elements.get(index) else { return Ok(text.into()) };
    if elements.len() > 1 || keys.is_empty() {
        let before = index.checked_sub(1).and_then(|index| elements.get(index));
        return Ok(cut(
            text,
            node,
            element.value.start..element.value.end,
            element.comma,
            before.and_then(|element| element.comma),
        ));
    }
    // The list would be empty: take out the outermost member that holds nothing else.
    let mut depth = keys.len() - 1;
    while depth > 0
        && matches!(find(&root, keys.get(..depth).unwrap_or_default()),
            Some(Node { kind: Kind::Object(members), .. }) if members.len() == 1)
    {
        depth -= 1;
    }
    let Some(holder @ Node { kind: Kind::Object(members), .. }) =
        find(&root, keys.get(..depth).unwrap_or_default())
    else {
        return Ok(text.into());
    };
    let key = keys.get(depth).copied().unwrap_or_default();
    let Some(at) = members.iter().rposition(|member| member.key == key) else {
        return Ok(text.into());
    };
    let Some(member) = members.get(at) else { return Ok(text.into()) };
    let before = at.checked_sub(1).and_then(|at| members.get(at));
    Ok(cut(
        text,
        holder,
        member.start..member.value.end,
        member.comma,
        before.and_then(|member| member.comma),
    ))
}

/// The text with the element of that index in the list replaced.
///
/// # Errors
/// When the text is not JSON.
pub fn replace(text: &str, keys: &[&str], index: usize, new: &Value) -> Result<String, EditError> {
    let root = parse(text)?;
    let Some(Node { kind: Kind::Array(elements), .. }) = find(&root, keys) else {
        return Ok(text.into());
    };
    let Some(element) = elements.get(index) else { return Ok(text.into()) };
    let (indent, unit, end) = layout(text, element.value.start);
    let mut out = String::with_capacity(text.len());
    out.push_str(text.get(..element.value.start).unwrap_or_default());
    out.push_str(&printed(new, &indent, &unit, end));
    out.push_str(text.get(element.value.end..).unwrap_or_default());
    Ok(out)
}

fn wrong_type(keys: &[&str], depth: usize, wanted: &'static str) -> EditError {
    let key = depth.checked_sub(1).and_then(|at| keys.get(at)).copied().unwrap_or("the file");
    EditError::Type { key: key.into(), wanted }
}

/// The value inside a list inside objects of these keys.
fn wrapped(keys: &[&str], value: &Value) -> Value {
    keys.iter().rev().fold(Value::Array(vec![value.clone()]), |inner, key| {
        let mut object = serde_json::Map::new();
        object.insert((*key).into(), inner);
        Value::Object(object)
    })
}

fn find<'a>(root: &'a Node, keys: &[&str]) -> Option<&'a Node> {
    keys.iter().try_fold(root, |node, key| match &node.kind {
        Kind::Object(members) => {
            members.iter().rev().find(|member| member.key == *key).map(|member| &member.value)
        }
        _ => None,
    })
}

/// The value of a node; comments are left out.
fn value(text: &str, node: &Node) -> Value {
    match &node.kind {
        Kind::Object(members) => Value::Object(
            members.iter().map(|own| (own.key.clone(), value(text, &own.value))).collect(),
        ),
        Kind::Array(elements) => {
            Value::Array(elements.iter().map(|own| value(text, &own.value)).collect())
        }
        Kind::Other => serde_json::from_str(text.get(node.start..node.end).unwrap_or_default())
            .unwrap_or(Value::Null),
    }
}

/// The text with a member or an element put at the end of a container.
fn insert(text: &str, node: &Node, key: Option<&str>, value: &Value) -> String {
    let close = node.end.saturating_sub(1);
    let inside = text.get(node.start + 1..close).unwrap_or_default();
    let (first, last_end, last_comma) = match &node.kind {
        Kind::Object(members) => (
            members.first().map(|own| own.start),
            members.last().map(|own| own.value.end),
            members.last().and_then(|own| own.comma),
        ),
        Kind::Array(elements) => (
            elements.first().map(|own| own.value.start),
            elements.last().map(|own| own.value.end),
            elements.last().and_then(|own| own.comma),
        ),
        Kind::Other => (None, None, None),
    };
    let (outer, unit, line_end) = layout(text, node.start);
    let many_lines = inside.contains('\n') || first.is_none();
    // The new one stands behind whatever stands last, a comment included.
    let place = node.start + 1 + inside.trim_end().len();
    let indent = match first {
        Some(first) if inside.contains('\n') => {
            let own = line_blanks(text, first);
            if own.len() > outer.len() || first_on_line(text, first) {
                own
            } else {
                format!("{outer}{unit}")
            }
        }
        _ => format!("{outer}{unit}"),
    };
    let label = key.map(|key| format!("{}: ", Value::String(key.into()))).unwrap_or_default();
    let body = if many_lines {
        format!("{line_end}{indent}{label}{}", printed(value, &indent, &unit, line_end))
    } else {
        format!(" {label}{value}")
    };
    let mut out = String::with_capacity(text.len() + body.len() + 8);
    match (last_end, last_comma) {
        (Some(end), None) => {
            out.push_str(text.get(..end).unwrap_or_default());
            out.push(',');
            out.push_str(text.get(end..place).unwrap_or_default());
            out.push_str(&body);
        }
        (Some(_), Some(_)) => {
            out.push_str(text.get(..place).unwrap_or_default());
            out.push_str(&body);
            out.push(',');
        }
        (None, _) => {
            out.push_str(text.get(..place).unwrap_or_default());
            out.push_str(&body);
        }
    }
    let rest = text.get(place..).unwrap_or_default();
    if many_lines && !text.get(place..close).unwrap_or_default().contains('\n') {
        out.push_str(line_end);
        out.push_str(&outer);
        out.push_str(rest.trim_start_matches([' ', '\t']));
    } else {
        out.push_str(rest);
    }
    out
}

/// The text without a piece of a container, its comma or, for the last, the one before it.
fn cut(
    text: &str,
    holder: &Node,
    piece: std::ops::Range<usize>,
    comma: Option<usize>,
    comma_before: Option<usize>,
) -> String {
    let head = text.get(..piece.start).unwrap_or_default();
    let start = head.trim_end().len();
    let mut end = comma.map_or(piece.end, |comma| comma + 1);
    let mut out = String::with_capacity(text.len());
    match comma_before {
        Some(before) if comma.is_none() => {
            out.push_str(text.get(..before).unwrap_or_default());
            out.push_str(text.get(before + 1..start).unwrap_or_default());
        }
        _ => out.push_str(text.get(..start).unwrap_or_default()),
    }
    if start == holder.start + 1 {
        // It was the first: when nothing else is inside, the brackets close up.
        let close = holder.end.saturating_sub(1);
        let rest = text.get(end..close).unwrap_or_default();
        if rest.trim().is_empty() {
            end = close;
        }
    }
    out.push_str(text.get(end..).unwrap_or_default());
    out
}

/// Blanks at the start of the line of a byte, the blanks that one level adds, the end of a line.
fn layout(text: &str, at: usize) -> (String, String, &'static str) {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let unit = text
        .lines()
        .map(|line| line.chars().take_while(|c| *c == ' ' || *c == '\t').collect::<String>())
        .find(|blanks| !blanks.is_empty())
        .filter(|blanks| blanks.len() <= 8)
        .unwrap_or_else(|| "  ".into());
    (line_blanks(text, at), unit, line_end)
}

fn line_blanks(text: &str, at: usize) -> String {
    let head = text.get(..at).unwrap_or_default();
    let line = head.rfind('\n').map_or(0, |at| at + 1);
    let line = head.get(line..).unwrap_or_default();
    line.chars().take_while(|c| *c == ' ' || *c == '\t').collect()
}

fn first_on_line(text: &str, at: usize) -> bool {
    let head = text.get(..at).unwrap_or_default();
    head.trim_end_matches([' ', '\t']).ends_with('\n')
}

/// A value over several lines, the first without its blanks.
fn printed(value: &Value, indent: &str, unit: &str, line_end: &str) -> String {
    let inner = format!("{indent}{unit}");
    match value {
        Value::Object(object) if !object.is_empty() => {
            let members: Vec<String> = object
                .iter()
                .map(|(key, value)| {
                    format!(
                        "{inner}{}: {}",
                        Value::String(key.clone()),
                        printed(value, &inner, unit, line_end)
                    )
                })
                .collect();
            let members = members.join(&format!(",{line_end}"));
            format!("{{{line_end}{members}{line_end}{indent}}}")
        }
        Value::Array(list) if !list.is_empty() => {
            let elements: Vec<String> = list
                .iter()
                .map(|value| format!("{inner}{}", printed(value, &inner, unit, line_end)))
                .collect();
            let elements = elements.join(&format!(",{line_end}"));
            format!("[{line_end}{elements}{line_end}{indent}]")
        }
        other => other.to_string(),
    }
}

/// The tree of a text.
///
/// # Errors
/// When it is not JSON, even with comments.
pub fn parse(text: &str) -> Result<Node, EditError> {
    let bytes = text.as_bytes();
    let mut reader = Reader { text, bytes, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = 3;
    }
    reader.blanks()?;
    let node = reader.value(0)?;
    reader.blanks()?;
    if reader.at == bytes.len() { Ok(node) } else { Err(reader.wrong()) }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    const fn wrong(&self) -> EditError {
        EditError::Syntax { at: self.at }
    }

    /// Passes over blanks and comments.
    fn blanks(&mut self) -> Result<(), EditError> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => match self.bytes.get(self.at + 1) {
                    Some(b'/') => {
                        while self.peek().is_some_and(|byte| byte != b'\n') {
                            self.at += 1;
                        }
                    }
                    Some(b'*') => {
                        let rest = self.text.get(self.at + 2..).ok_or_else(|| self.wrong())?;
                        let end = rest.find("*/").ok_or_else(|| self.wrong())?;
                        self.at += end + 4;
                    }
                    _ => return Err(self.wrong()),
                },
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, EditError> {
        if depth > DEPTH {
            return Err(self.wrong());
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => {
                self.string()?;
                Kind::Other
            }
            _ => {
                while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
                {
                    self.at += 1;
                }
                let word = self.text.get(start..self.at).unwrap_or_default();
                if serde_json::from_str::<Value>(word).is_err() {
                    self.at = start;
                    return Err(self.wrong());
                }
                Kind::Other
            }
        };
        Ok(Node { start, end: self.at, kind })
    }

    fn string(&mut self) -> Result<String, EditError> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.wrong());
        }
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.wrong()),
                Some(b'\\') => self.at += 2,
                Some(b'"') => break,
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let word = self.text.get(start..self.at).ok_or_else(|| self.wrong())?;
        serde_json::from_str(word).map_err(|_| EditError::Syntax { at: start })
    }

    fn object(&mut self, depth: usize) -> Result<Kind, EditError> {
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        loop {
            self.blanks()?;
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(Kind::Object(members));
            }
            if members.last().is_some_and(|own| own.comma.is_none()) {
                return Err(self.wrong());
            }
            let start = self.at;
            let key = self.string()?;
            self.blanks()?;
            if self.peek() != Some(b':') {
                return Err(self.wrong());
            }
            self.at += 1;
            self.blanks()?;
            let value = self.value(depth + 1)?;
            self.blanks()?;
            let comma = self.comma();
            members.push(Member { key, start, value, comma });
        }
    }

    fn array(&mut self, depth: usize) -> Result<Kind, EditError> {
        self.at += 1;
        let mut elements: Vec<Element> = Vec::new();
        loop {
            self.blanks()?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Kind::Array(elements));
            }
            if elements.last().is_some_and(|own| own.comma.is_none()) {
                return Err(self.wrong());
            }
            let value = self.value(depth + 1)?;
            self.blanks()?;
            let comma = self.comma();
            elements.push(Element { value, comma });
        }
    }

    fn comma(&mut self) -> Option<usize> {
        (self.peek() == Some(b',')).then(|| {
            self.at += 1;
            self.at - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_put_in_and_taken_out_leaves_the_text() {
        let texts = [
            "{}",
            "{\n}\n",
            "{\n  // note\n  \"a\": 1 // one\n}\n",
            "{\r\n\t\"a\": [1,2,],\r\n}\r\n",
            "{\"hooks\":{\"E\":[]}}",
            "{ \"hooks\": { \"E\": [ {\"x\":1} ] } }",
            "{\n    \"hooks\": {\n        \"E\": [\n            {\"x\": 1}, // why\n        ],\n        \"F\": []\n    },\n    \"z\": null\n}",
            "// head\n{\n  \"hooks\": {\"F\": [1]}, /* so */ \"b\"  :  2\n  // last\n}\n",
        ];
        for text in texts {
            let put = append(text, &["hooks", "E"], &json!({"c": "x"})).unwrap();
            let list = elements(&put, &["hooks", "E"]).unwrap();
            assert_eq!(list.last(), Some(&json!({"c": "x"})), "{text}\n{put}");
            let back = remove(&put, &["hooks", "E"], list.len() - 1).unwrap();
            parse(&back).unwrap();
            let plain =
                |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let kept = text.replace("\"hooks\":{\"E\":[]}", "");
            assert_eq!(plain(&back), plain(&kept), "{text}\n{put}\n{back}");
        }
    }

    #[test]
    fn what_is_not_json_is_told() {
        for text in ["{", "{\"a\" 1}", "[1 2]", "nil", "{\"a\":1,,}", "{} x", "/* x", "{\"a\":\"\\"]
        {
            assert!(append(text, &["hooks"], &json!(1)).is_err(), "{text}");
        }
        assert!(append("{\"hooks\": 3}", &["hooks", "E"], &json!(1)).is_err());
        assert!(append("[]", &["hooks"], &json!(1)).is_err());
    }
}
