//! Checks a value against the schema of its type and puts it into its plain form: unknown fields of
//! tolerant objects dropped, texts trimmed where the type says so, integers written as integers.

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::schema::{MAX_INTEGER, part};
use super::types::Method;

/// Problems that are told one by one; further ones are counted.
const TOLD: usize = 20;

/// Characters of an unknown field's name that are told.
const NAME_LENGTH: usize = 100;

/// What is wrong with a value. Holds names and bounds, never a value, since a value may be a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    lines: Vec<String>,
    more: usize,
}

impl Problems {
    fn add(&mut self, path: &Path<'_>, what: impl fmt::Display) {
        if self.lines.len() < TOLD {
            let path = path.to_string();
            let path = if path.is_empty() { "params".to_owned() } else { path };
            self.lines.push(format!("{path}: {what}"));
        } else {
            self.more += 1;
        }
    }

    const fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// A single problem that no schema tells.
    pub fn of(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()], more: 0 }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))?;
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Which type a message's payload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Params of a request.
    Params(Method),
    /// Its result.
    Result(Method),
    /// A task's event.
    TaskEvent,
    /// A line for the person.
    Log,
    /// Result of `secrets.get`.
    Secret,
}

/// Checks a payload and puts it into its plain form.
///
/// # Errors
///
/// All that is wrong with it.
pub fn check(payload: Payload, value: &mut Value) -> Result<(), Problems> {
    let shapes = Shapes::of(payload);
    let mut problems = Problems::default();
    shapes.visit(&shapes.root, value, &Path::Root, &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Where a value stands.
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// What a value may look like.
#[derive(Debug)]
enum Shape {
    Any,
    Named(String),
    Literal(Value),
    Word(Vec<String>),
    Text(TextShape),
    Integer { least: i64, most: i64 },
    Number { least: Option<f64>, most: Option<f64> },
    Boolean,
    List { item: Box<Shape>, least: usize, most: usize },
    Record(Box<Shape>),
    Object(ObjectShape),
    Union { tag: String, variants: Vec<(String, ObjectShape)> },
    OrNull(Box<Shape>),
}

#[derive(Debug, Default)]
struct TextShape {
    least: usize,
    most: Option<usize>,
    pattern: Option<Pattern>,
    format: Option<Format>,
    trim: bool,
}

/// A pattern that is compiled at its first use, so that no start waits for it.
#[derive(Debug)]
struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn matches(&self, text: &str) -> bool {
        // INVARIANT (patterns compile): a test compiles each.
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.text).ok());
        compiled.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }
}

#[derive(Clone, Copy, Debug)]
enum Format {
    DateTime,
    WorkspacePath,
    Url,
}

#[derive(Debug, Default)]
struct ObjectShape {
    fields: Vec<FieldShape>,
    is_strict: bool,
}

#[derive(Debug)]
struct FieldShape {
    name: String,
    is_required: bool,
    shape: Shape,
}

/// The shapes of one payload, built from its schema once.
#[derive(Debug)]
struct Shapes {
    root: Shape,
    named: HashMap<String, Shape>,
}

/// Methods have params and results; three payloads stand beside them.
const PAYLOADS: usize = 2 * Method::ALL.len() + 3;

impl Payload {
    /// Its place among all payloads.
    const fn place(self) -> usize {
        match self {
            Self::Params(method) => method as usize,
            Self::Result(method) => Method::ALL.len() + method as usize,
            Self::TaskEvent => PAYLOADS - 3,
            Self::Log => PAYLOADS - 2,
            Self::Secret => PAYLOADS - 1,
        }
    }
}

impl Shapes {
    fn of(payload: Payload) -> &'static Self {
        static SHAPES: [OnceLock<Shapes>; PAYLOADS] = [const { OnceLock::new() }; PAYLOADS];
        // INVARIANT (every payload has a place): `place` is below `PAYLOADS`; a test walks all of them.
        static NOTHING: OnceLock<Shapes> = OnceLock::new();
        SHAPES.get(payload.place()).unwrap_or(&NOTHING).get_or_init(|| Self::build(&part(payload)))
    }

    fn build(part: &Value) -> Self {
        let named = entries(part.get("$defs"));
        let named = named.map(|(name, schema)| (name.clone(), shape(schema))).collect();
        Self { root: part.get("root").map_or(Shape::Any, shape), named }
    }

    /// The recursion follows types, none of which contains itself, so it is as deep as they are.
    fn visit(&self, shape: &Shape, value: &mut Value, path: &Path<'_>, problems: &mut Problems) {
        match shape {
            Shape::Any => {}
            Shape::Named(name) => {
                if let Some(shape) = self.named.get(name) {
                    self.visit(shape, value, path, problems);
                }
            }
            Shape::Literal(expected) => {
                if value != expected {
                    problems.add(path, format_args!("must be {expected}"));
                }
            }
            Shape::Word(words) => {
                if !value.as_str().is_some_and(|text| words.iter().any(|word| word == text)) {
                    problems.add(path, format_args!("must be one of {}", words.join(", ")));
                }
            }
            Shape::Text(text) => text.visit(value, path, problems),
            Shape::Integer { least, most } => visit_integer(*least, *most, value, path, problems),
            Shape::Number { least, most } => {
                let number = value.as_f64().filter(|number| number.is_finite());
                let Some(number) = number else {
                    return problems
                        .add(path, format_args!("must be a number, not {}", kind(value)));
                };
                if least.is_some_and(|least| number < least)
                    || most.is_some_and(|most| number > most)
                {
                    problems.add(path, format_args!("must be a number{}", within(*least, *most)));
                }
            }
            Shape::Boolean => {
                if !value.is_boolean() {
                    problems.add(path, format_args!("must be true or false, not {}", kind(value)));
                }
            }
            Shape::List { item, least, most } => {
                let Value::Array(items) = value else {
                    return problems
                        .add(path, format_args!("must be an array, not {}", kind(value)));
                };
                if items.len() < *least || items.len() > *most {
                    let most = (*most != usize::MAX).then_some(*most);
                    let within = within(Some(*least), most);
                    problems.add(path, format_args!("must have a number of items{within}"));
                }
                for (index, value) in items.iter_mut().enumerate() {
                    self.visit(item, value, &Path::Item(path, index), problems);
                }
            }
            Shape::Record(shape) => {
                let Value::Object(object) = value else {
                    return problems
                        .add(path, format_args!("must be an object, not {}", kind(value)));
                };
                for (name, value) in object.iter_mut() {
                    let name: String = name.chars().take(NAME_LENGTH).collect();
                    self.visit(shape, value, &Path::Field(path, &name), problems);
                }
            }
            Shape::Object(shape) => {
                let Value::Object(object) = value else {
                    return problems
                        .add(path, format_args!("must be an object, not {}", kind(value)));
                };
                self.visit_object(shape, object, None, path, problems);
            }
            Shape::Union { tag, variants } => {
                let Value::Object(object) = value else {
                    return problems
                        .add(path, format_args!("must be an object, not {}", kind(value)));
                };
                let word = object.get(tag).and_then(Value::as_str);
                let variant = variants.iter().find(|(name, _)| Some(name.as_str()) == word);
                if let Some((_, shape)) = variant {
                    self.visit_object(shape, object, Some(tag), path, problems);
                } else {
                    let words: Vec<&str> = variants.iter().map(|(name, _)| name.as_str()).collect();
                    let path = Path::Field(path, tag);
                    problems.add(&path, format_args!("must be one of {}", words.join(", ")));
                }
            }
            Shape::OrNull(shape) => {
                if !value.is_null() {
                    self.visit(shape, value, path, problems);
                }
            }
        }
    }

    fn visit_object(
        &self,
        shape: &ObjectShape,
        object: &mut Map<String, Value>,
        tag: Option<&str>,
        path: &Path<'_>,
        problems: &mut Problems,
    ) {
        let is_known =
            |name: &str| tag == Some(name) || shape.fields.iter().any(|field| field.name == name);
        if shape.is_strict {
            for name in object.keys().filter(|name| !is_known(name)) {
                let name: String = name.chars().take(NAME_LENGTH).collect();
                problems.add(path, format_args!("unknown field `{name}`"));
            }
        } else {
            object.retain(|name, _| is_known(name));
        }
        for field in &shape.fields {
            let path = Path::Field(path, &field.name);
            match object.get_mut(&field.name) {
                Some(value) => self.visit(&field.shape, value, &path, problems),
                None if field.is_required => problems.add(&path, "is missing"),
                None => {}
            }
        }
    }
}

impl TextShape {
    fn visit(&self, value: &mut Value, path: &Path<'_>, problems: &mut Problems) {
        let Value::String(text) = value else {
            return problems.add(path, format_args!("must be a string, not {}", kind(value)));
        };
        if self.trim {
            let trimmed = text.trim_matches(is_space);
            if trimmed.len() != text.len() {
                *text = trimmed.to_owned();
            }
        }
        let length = text.chars().count();
        if length < self.least || self.most.is_some_and(|most| length > most) {
            let within = within(Some(self.least), self.most);
            problems.add(path, format_args!("must have a number of characters{within}"));
        } else if let Some(pattern) = self.pattern.as_ref().filter(|pattern| !pattern.matches(text))
        {
            problems.add(path, format_args!("must match {}", pattern.text));
        } else if let Some(why) = self.format.and_then(|format| format.refuses(text)) {
            problems.add(path, why);
        }
    }
}

impl Format {
    /// Why a text is none of this format.
    fn refuses(self, text: &str) -> Option<&'static str> {
        match self {
            Self::DateTime => (!is_date_time(text)).then_some("must be an ISO 8601 date and time"),
            Self::WorkspacePath => {
                let bytes = text.as_bytes();
                let has_drive = bytes.first().is_some_and(u8::is_ascii_alphabetic)
                    && bytes.get(1) == Some(&b':')
                    && matches!(bytes.get(2), Some(b'/' | b'\\'));
                if text.starts_with('/') || has_drive {
                    Some("must be relative to a workspace root")
                } else if text.split(['/', '\\']).any(|segment| segment == "..") {
                    Some("must not contain `..`")
                } else {
                    None
                }
            }
            Self::Url => url::Url::parse(text).is_err().then_some("must be a URL"),
        }
    }
}

/// Whether the wire takes this text as a path.
pub fn is_workspace_path(text: &str) -> bool {
    (1..=4096).contains(&text.chars().count()) && Format::WorkspacePath.refuses(text).is_none()
}

/// White space as the reference trims it: Unicode's and the byte order mark.
fn is_space(character: char) -> bool {
    // U+0085 is white space to Unicode and none to the reference's language.
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}

/// Whether a text is a real moment: `YYYY-MM-DDTHH:MM:SS[.fraction](Z or ±HH:MM)`.
fn is_date_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_once('T') else {
        return false;
    };
    let digits = |text: &str, count: usize| {
        text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let number = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    if !digits(year, 4) || !digits(month, 2) || !digits(day, 2) {
        return false;
    }
    let is_leap = {
        let year = number(year);
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let days = match number(month) {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    if !(1..=days).contains(&number(day)) {
        return false;
    }
    let clock = |text: &str, parts: usize, first: u32| {
        let fields: Vec<&str> = text.split(':').collect();
        fields.len() == parts
            && fields.iter().all(|field| digits(field, 2))
            && fields.first().is_some_and(|hour| number(hour) < first)
            && fields.iter().skip(1).all(|field| number(field) < 60)
    };
    let (time, zone_is_good) = if let Some(time) = rest.strip_suffix('Z') {
        (time, true)
    } else if let Some((time, zone)) = rest.split_once(['+', '-']) {
        (time, clock(zone, 2, 24))
    } else {
        return false;
    };
    let (time, fraction_is_good) = match time.split_once('.') {
        Some((time, fraction)) => {
            (time, !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit()))
        }
        None => (time, true),
    };
    zone_is_good && fraction_is_good && clock(time, 3, 24)
}

fn visit_integer(
    least: i64,
    most: i64,
    value: &mut Value,
    path: &Path<'_>,
    problems: &mut Problems,
) {
    let whole = match value.as_i64() {
        Some(whole) => Some(whole),
        None => value.as_f64().and_then(whole_number),
    };
    match whole {
        Some(whole) if (least..=most).contains(&whole) => {
            if !value.is_i64() && !value.is_u64() {
                *value = Value::from(whole);
            }
        }
        _ if value.is_number() => {
            let most = (most != MAX_INTEGER).then_some(most);
            let least = (least != -MAX_INTEGER).then_some(least);
            problems.add(path, format_args!("must be an integer{}", within(least, most)));
        }
        _ => problems.add(path, format_args!("must be an integer, not {}", kind(value))),
    }
}

/// The integer that a number without a fraction is.
fn whole_number(number: f64) -> Option<i64> {
    let limit = MAX_INTEGER as f64;
    if number.fract() != 0.0 || !(-limit..=limit).contains(&number) {
        return None;
    }
    format!("{number:.0}").parse().ok()
}

/// Bounds in words.
fn within<T: fmt::Display>(least: Option<T>, most: Option<T>) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match (least, most) {
        (Some(least), Some(most)) => write!(text, " from {least} to {most}"),
        (Some(least), None) => write!(text, " of at least {least}"),
        (None, Some(most)) => write!(text, " of at most {most}"),
        (None, None) => Ok(()),
    };
    text
}

/// What a value is, in words.
const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

// ---- from the schema ----

fn entries(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn size(schema: &Value, key: &str) -> Option<usize> {
    schema.get(key).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok())
}

/// The shape a schema describes. Only what the derived schema contains is understood; a test holds the
/// schema against that list.
fn shape(schema: &Value) -> Shape {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return Shape::Named(name.trim_start_matches("#/$defs/").to_owned());
    }
    if let Some(variants) = schema.get("anyOf").and_then(Value::as_array) {
        let is_null =
            |variant: &&Value| variant.get("type").and_then(Value::as_str) == Some("null");
        let inner = variants.iter().find(|variant| !is_null(variant)).map_or(Shape::Any, shape);
        return Shape::OrNull(Box::new(inner));
    }
    if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
        return union(schema, variants);
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        return Shape::Word(words);
    }
    if let Some(literal) = schema.get("const") {
        return Shape::Literal(literal.clone());
    }
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    match schema.get("type") {
        Some(Value::Array(types)) => {
            // A nullable plain type.
            let mut inner = schema.clone();
            let named = types.iter().find(|name| name.as_str() != Some("null")).cloned();
            if let (Value::Object(inner), Some(named)) = (&mut inner, named) {
                inner.insert("type".to_owned(), named);
            }
            Shape::OrNull(Box::new(shape(&inner)))
        }
        Some(Value::String(name)) => match name.as_str() {
            "string" => Shape::Text(text(schema)),
            "integer" => {
                let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
                Shape::Integer {
                    least: bound("minimum").unwrap_or(-MAX_INTEGER),
                    most: bound("maximum").unwrap_or(MAX_INTEGER),
                }
            }
            "number" => Shape::Number { least: number("minimum"), most: number("maximum") },
            "boolean" => Shape::Boolean,
            "array" => Shape::List {
                item: Box::new(schema.get("items").map_or(Shape::Any, shape)),
                least: size(schema, "minItems").unwrap_or(0),
                most: size(schema, "maxItems").unwrap_or(usize::MAX),
            },
            "object" => match (schema.get("properties"), schema.get("additionalProperties")) {
                (None, Some(Value::Bool(true)) | None) if schema.get("required").is_none() => {
                    Shape::Record(Box::new(Shape::Any))
                }
                (None, Some(inner @ Value::Object(_))) => Shape::Record(Box::new(shape(inner))),
                _ => Shape::Object(object(schema)),
            },
            _ => Shape::Any,
        },
        _ => Shape::Any,
    }
}

fn text(schema: &Value) -> TextShape {
    TextShape {
        least: size(schema, "minLength").unwrap_or(0),
        most: size(schema, "maxLength"),
        pattern: schema
            .get("pattern")
            .and_then(Value::as_str)
            .map(|text| Pattern { text: text.to_owned(), compiled: OnceLock::new() }),
        format: schema.get("format").and_then(Value::as_str).and_then(|name| match name {
            "date-time" => Some(Format::DateTime),
            "workspace-path" => Some(Format::WorkspacePath),
            "uri" => Some(Format::Url),
            _ => None,
        }),
        trim: schema.get("x-trim").and_then(Value::as_bool).unwrap_or(false),
    }
}

fn object(schema: &Value) -> ObjectShape {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    ObjectShape {
        fields: entries(schema.get("properties"))
            .map(|(name, schema)| FieldShape {
                name: name.clone(),
                is_required: required.contains(&name.as_str()),
                shape: shape(schema),
            })
            .collect(),
        is_strict: schema.get("additionalProperties").and_then(Value::as_bool) == Some(false),
    }
}

/// A union by a literal field; fields beside the variants belong to each of them.
fn union(schema: &Value, variants: &[Value]) -> Shape {
    let mut tag = String::new();
    let mut out = Vec::new();
    for variant in variants {
        let literal = entries(variant.get("properties")).find_map(|(name, property)| {
            let word = property.get("const").and_then(Value::as_str)?;
            Some((name.clone(), word.to_owned()))
        });
        let Some((name, word)) = literal else {
            continue;
        };
        let mut shape = object(variant);
        shape.fields.retain(|field| field.name != name);
        shape.fields.extend(object(schema).fields);
        tag = name;
        out.push((word, shape));
    }
    Shape::Union { tag, variants: out }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_payload_has_a_shape_and_every_pattern_compiles() {
        fn walk(value: &Value, shapes: &Shapes) {
            if let Some(pattern) = value.get("pattern").and_then(Value::as_str) {
                Regex::new(pattern).unwrap();
            }
            if let Some(name) = value.get("$ref").and_then(Value::as_str) {
                assert!(shapes.named.contains_key(name.trim_start_matches("#/$defs/")), "{name}");
            }
            match value {
                Value::Array(items) => items.iter().for_each(|item| walk(item, shapes)),
                Value::Object(object) => object.values().for_each(|item| walk(item, shapes)),
                _ => {}
            }
        }
        let methods = Method::ALL.into_iter();
        let payloads: Vec<Payload> = methods
            .flat_map(|method| [Payload::Params(method), Payload::Result(method)])
            .chain([Payload::TaskEvent, Payload::Log, Payload::Secret])
            .collect();
        let mut places: Vec<usize> = payloads.iter().map(|payload| payload.place()).collect();
        places.sort_unstable();
        assert_eq!(places, (0..PAYLOADS).collect::<Vec<_>>());
        for payload in payloads {
            let shapes = Shapes::of(payload);
            assert!(!matches!(shapes.root, Shape::Any), "{payload:?}");
            walk(&part(payload), shapes);
        }
    }

    #[test]
    fn problems_name_the_field_and_never_the_value() {
        let cases = [
            (Method::TaskCreate, json!({}), "kind: is missing\ninstruction: is missing"),
            (
                Method::TaskCreate,
                json!({"kind": "explain", "instruction": " \u{feff} ", "id": "x"}),
                "params: unknown field `id`\n\
                 instruction: must have a number of characters from 1 to 20000",
            ),
            (
                Method::TaskCreate,
                json!({"kind": "explain", "instruction": "x", "context": {"refs": [
                    {"type": "file", "path": "a/../b"}, {"type": "file", "path": "C:\\x", "y": 1},
                    {"type": "web"}
                ]}, "budget": {"maxTokens": 0.5, "maxToolCalls": null}, "preference": null}),
                "context.refs[0].path: must not contain `..`\n\
                 context.refs[1]: unknown field `y`\n\
                 context.refs[1].path: must be relative to a workspace root\n\
                 context.refs[2].type: must be one of file, folder, selection, diff\n\
                 budget.maxToolCalls: must be an integer, not null\n\
                 budget.maxTokens: must be an integer of at least 1\n\
                 preference: must be one of cheap, balance, quality",
            ),
            (
                Method::ConfigUpdate,
                json!({"models": [{"id": "m", "provider": "ollama", "model": "q", "apiKey": "sk-1",
                    "capabilities": {"new": 1}}]}),
                "models[0].apiKey: must match ^secret:[A-Za-z0-9._-]{1,128}$",
            ),
            (Method::HealthPing, json!({"x": 1}), "params: unknown field `x`"),
            (
                Method::DecisionsList,
                json!({"limit": 501}),
                "limit: must be an integer from 1 to 500",
            ),
            (Method::EditsReport, json!([]), "params: must be an object, not an array"),
        ];
        for (method, mut value, expected) in cases {
            let problems = check(Payload::Params(method), &mut value).unwrap_err();
            assert_eq!(problems.to_string(), expected);
        }
    }

    #[test]
    fn plain_forms() {
        let mut value = json!({"kind": "explain", "instruction": "\u{a0}x\u{200b} ",
            "budget": {"maxTokens": 3.0}});
        check(Payload::Params(Method::TaskCreate), &mut value).unwrap();
        assert_eq!(
            value,
            json!({"kind": "explain", "instruction": "x\u{200b}", "budget": {"maxTokens": 3}})
        );
        let mut value = json!({"ok": true, "uptimeMs": 1, "more": 2});
        check(Payload::Result(Method::HealthPing), &mut value).unwrap();
        assert_eq!(value, json!({"ok": true, "uptimeMs": 1}));
    }

    #[test]
    fn moments() {
        for good in ["2024-02-29T00:00:00Z", "2025-01-31T23:59:59.123456789+02:00"] {
            assert!(is_date_time(good), "{good}");
        }
        for bad in [
            "2023-02-29T00:00:00Z",
            "2025-01-31t00:00:00Z",
            "2025-01-31T00:00Z",
            "2025-01-31T00:00:00",
            "2025-01-31T24:00:00Z",
            "2025-01-31T00:00:00Z\n",
        ] {
            assert!(!is_date_time(bad), "{bad}");
        }
    }
}
