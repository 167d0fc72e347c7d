//! `fields.json` holds the facts of the protocol as its specification lists them: each type, field, whether
//! it is required, its default and its bounds. The types must say the same, and the document must name all.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use shellgate_orchestrator::protocol::desiide::schema::document;
use shellgate_orchestrator::protocol::desiide::types::Method;
use shellgate_orchestrator::task::call::ToolName;
use shellgate_orchestrator::tool::{ToolOptions, Toolbox, Workspace};

use super::play::Folder;
use super::{here, hold};

/// Fields this server adds, each optional and in a result, as the protocol allows.
const ADDED: [(&str, &str); 2] =
    [("decisions.replay.result", "asRecorded"), ("decisions.replay.result", "changes")];

/// Types of the specification that never cross the wire and are held elsewhere.
fn is_of_a_tool(name: &str) -> bool {
    name.contains(".args") || name.starts_with("propose_edit.") || name == "GitRef"
}

/// The facts by the names of types.
pub(super) fn facts() -> Map<String, Value> {
    let text = std::fs::read_to_string(here("tests/protocol/fields.json")).unwrap();
    let mut facts: Map<String, Value> = serde_json::from_str(&text).unwrap();
    facts.remove("$about").expect("the file says how it was made");
    facts
}

/// Types that the specification lists.
const LISTED: usize = 139;

/// The types in the words of `fields.json`.
struct Described {
    definitions: Map<String, Value>,
    known: Vec<String>,
}

impl Described {
    fn new(known: Vec<String>) -> Self {
        let document = document();
        Self { definitions: document["$defs"].as_object().unwrap().clone(), known }
    }

    /// The type of that name, as `fields.json` would tell it.
    fn describe(&self, name: &str) -> Option<Value> {
        let document = document();
        if let Some((method, side)) = name.rsplit_once('.')
            && (side == "params" || side == "result")
        {
            let entry = document["methods"]
                .get(method)
                .or_else(|| document["reverseMethods"].get(method))?;
            let named = entry[side]["$ref"].as_str()?.trim_start_matches("#/$defs/");
            if named == name {
                return Some(self.object(&self.definitions[name], None));
            }
            if named == "Empty" {
                return self.describe("Empty");
            }
            return Some(json!({ "same": named }));
        }
        // Variants of unions have names of their own.
        let (union, word) = match name {
            "WorkflowSelectState" => ("JevPackState", "workflow_select@1"),
            "RiskGateState" => ("JevPackState", "risk_gate@1"),
            "CostRouteState" => ("JevPackState", "cost_route@1"),
            // A task as policy sees it never crosses the wire: the input of its creation under its id.
            "Task" => {
                let mut task = self.describe("TaskInput")?;
                task["fields"]["id"] = json!({ "type": "Id", "required": true });
                return Some(task);
            }
            "LogNotification" => return Some(self.object(&self.definitions[name], None)),
            _ => match name.split_once('.') {
                Some(("event", word)) => ("TaskEvent", word),
                Some((union @ ("ContextRef" | "JevResult"), word)) => (union, word),
                _ => {
                    let schema = self.definitions.get(name)?;
                    return Some(self.definition(schema));
                }
            },
        };
        let schema = &self.definitions[union];
        let variant = schema["oneOf"].as_array().unwrap().iter().find(|variant| {
            variant["properties"].as_object().unwrap().values().any(|field| field["const"] == word)
        })?;
        Some(self.object(variant, Some(schema)))
    }

    fn definition(&self, schema: &Value) -> Value {
        if let Some(words) = schema.get("enum") {
            return json!({ "values": words });
        }
        if schema.get("oneOf").is_some() {
            let tags = variants(schema);
            let by = &tags[0].0;
            let words: Vec<&String> = tags.iter().map(|(_, word)| word).collect();
            return json!({ "union": words, "by": by });
        }
        if schema["type"] == "object" && schema.get("properties").is_some() || is_empty(schema) {
            return self.object(schema, None);
        }
        let mut out = self.field(schema, None);
        out.remove("required");
        Value::Object(out)
    }

    fn object(&self, schema: &Value, around: Option<&Value>) -> Value {
        let mut fields = Map::new();
        for schema in [Some(schema), around].into_iter().flatten() {
            let required: Vec<&str> = schema["required"]
                .as_array()
                .map(|names| names.iter().map(|name| name.as_str().unwrap()).collect())
                .unwrap_or_default();
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let is_required = required.contains(&name.as_str());
                fields.insert(name.clone(), Value::Object(self.field(field, Some(is_required))));
            }
        }
        let unknown = if schema["additionalProperties"] == false { "reject" } else { "strip" };
        json!({ "unknown": unknown, "fields": fields })
    }

    fn field(&self, schema: &Value, required: Option<bool>) -> Map<String, Value> {
        let mut out = Map::new();
        let (word, mut extra) = self.word(schema);
        out.insert("type".to_owned(), Value::from(word));
        out.extend(required.map(|required| ("required".to_owned(), Value::from(required))));
        out.extend(schema.get("default").map(|default| ("default".to_owned(), default.clone())));
        out.append(&mut extra);
        out
    }

    /// The type in a word, and its bounds.
    fn word(&self, schema: &Value) -> (String, Map<String, Value>) {
        let mut bounds = Map::new();
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.trim_start_matches("#/$defs/");
            if self.known.iter().any(|known| known == name) {
                return (name.to_owned(), bounds);
            }
            if let Some(whole) = name.strip_prefix("Partial") {
                return (format!("partial {whole}"), bounds);
            }
            return self.word(&self.definitions[name]);
        }
        if let Some(either) = schema["anyOf"].as_array() {
            let (word, bounds) = self.word(&either[0]);
            return (format!("{word} or null"), bounds);
        }
        if let Some(words) = schema["enum"].as_array() {
            if let [only] = words.as_slice() {
                return (format!("literal {only}"), bounds);
            }
            bounds.insert("values".to_owned(), Value::Array(words.clone()));
            return ("enum".to_owned(), bounds);
        }
        if let Some(literal) = schema.get("const") {
            return (format!("literal {literal}"), bounds);
        }
        let words = [
            ("minLength", "minLength"),
            ("maxLength", "maxLength"),
            ("minItems", "minItems"),
            ("maxItems", "maxItems"),
            ("minimum", "min"),
            ("maximum", "max"),
            ("pattern", "pattern"),
            ("format", "format"),
            ("x-trim", "trim"),
        ];
        for (theirs, ours) in words {
            if let Some(bound) = schema.get(theirs) {
                let is_integer_limit =
                    bound.as_i64().is_some_and(|bound| bound.abs() == (1 << 53) - 1);
                if !is_integer_limit {
                    bounds.insert(ours.to_owned(), bound.clone());
                }
            }
        }
        let word = match schema["type"].as_str() {
            Some("array") => {
                let (item, inner) = self.word(&schema["items"]);
                if let Some(least) = inner.get("minLength") {
                    bounds.insert("eachMinLength".to_owned(), least.clone());
                }
                format!("array<{item}>")
            }
            Some("object") => match schema.get("additionalProperties") {
                Some(inner @ Value::Object(_)) => format!("record<string, {}>", self.word(inner).0),
                _ => "record<string, any>".to_owned(),
            },
            Some(word) => word.to_owned(),
            None => "any".to_owned(),
        };
        (word, bounds)
    }
}

fn is_empty(schema: &Value) -> bool {
    schema["type"] == "object" && schema["additionalProperties"] == false
}

/// Variants of a union in order: the field that tells them apart, and its word.
fn variants(schema: &Value) -> Vec<(String, String)> {
    let variants = schema["oneOf"].as_array().unwrap();
    let read = |variant: &Value| {
        variant["properties"]
            .as_object()
            .unwrap()
            .iter()
            .find_map(|(name, field)| Some((name.clone(), field["const"].as_str()?.to_owned())))
    };
    variants.iter().map(|variant| read(variant).unwrap()).collect()
}

/// Facts and types in one form: defaults spelled out, order of fields and of words kept apart.
fn plain(value: &Value, name: &str) -> Value {
    let mut value = value.clone();
    if let Some(fields) = value.get_mut("fields").and_then(Value::as_object_mut) {
        for (type_name, field) in ADDED {
            if type_name == name {
                fields.remove(field);
            }
        }
        for field in fields.values_mut() {
            // An object that defaults to empty has nested defaults; both spell it differently.
            if field["default"].is_object() {
                field["default"] = json!({});
            }
        }
        fields.sort_keys();
        fields.values_mut().for_each(sort);
    }
    sort(&mut value);
    value
}

fn sort(value: &mut Value) {
    if let Some(object) = value.as_object_mut() {
        for name in ["min", "max"] {
            if let Some(bound) = object.get(name).and_then(Value::as_f64) {
                object.insert(name.to_owned(), Value::from(bound));
            }
        }
        object.sort_keys();
    }
}

#[test]
fn types_say_what_the_protocol_says() {
    let facts = facts();
    assert_eq!(facts.len(), LISTED);
    let described = Described::new(facts.keys().cloned().collect());
    let mut wrong = Vec::new();
    for (name, fact) in &facts {
        if is_of_a_tool(name) {
            continue;
        }
        let fact = plain(&spelled(fact), name);
        let ours = described.describe(name).map(|ours| plain(&ours, name));
        if ours.as_ref() != Some(&fact) {
            wrong.push(format!(
                "{name}\n  protocol {fact}\n  types    {}",
                ours.unwrap_or_default()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names of variants become the words that tell them apart.
fn spelled(fact: &Value) -> Value {
    let mut fact = fact.clone();
    if let Some(names) = fact.get_mut("union").and_then(Value::as_array_mut) {
        let is_events = names.iter().any(|name| name == "event.error");
        for name in names.iter_mut() {
            let text = name.as_str().unwrap();
            let word = match text {
                "WorkflowSelectState" => "workflow_select@1",
                "RiskGateState" => "risk_gate@1",
                "CostRouteState" => "cost_route@1",
                _ => text.rsplit_once('.').unwrap().1,
            };
            *name = Value::from(word);
        }
        if is_events {
            // The later event is part of the union here and only sent where it was asked for.
            names.push(Value::from("reasoning_delta"));
        }
    }
    fact
}

#[test]
fn every_method_and_event_of_the_protocol_is_there_and_no_other() {
    let facts = facts();
    let methods: Vec<&str> = facts.keys().filter_map(|name| name.strip_suffix(".params")).collect();
    for method in &methods {
        assert!(*method == "secrets.get" || Method::from_name(method).is_some(), "{method}");
        assert!(facts.contains_key(&format!("{method}.result")), "{method}");
    }
    assert_eq!(methods.len(), Method::ALL.len() + 1);
}

#[test]
fn the_schema_is_the_one_the_types_give() {
    let text = serde_json::to_string_pretty(&document()).unwrap() + "\n";
    hold("docs/protocol.schema.json", &text);
}

#[test]
fn the_schema_is_a_schema() {
    let schema = super::schema();
    jsonschema::meta::validate(&schema).expect("a JSON Schema");
}

#[test]
fn tools_take_what_the_protocol_says() {
    let folder = Folder::new("facts");
    let workspace = Arc::new(Workspace::open(std::slice::from_ref(&folder.0)).unwrap());
    let toolbox = Toolbox::new(workspace, Arc::default(), &ToolOptions::of_this_process());
    let specs = toolbox.specs(&ToolName::ALL);
    let schema = |name: &str| {
        let (tool, rest) = name.split_once('.')?;
        let whole = &specs.iter().find(|spec| spec.name == tool)?.parameters;
        match rest.split('.').collect::<Vec<_>>().as_slice() {
            ["args"] => Some(whole.clone()),
            ["file"] => Some(whole["properties"]["files"]["items"].clone()),
            ["edit"] => {
                let file = &whole["properties"]["files"]["items"];
                Some(file["properties"]["edits"]["items"].clone())
            }
            ["args", word] => {
                let forms = whole["oneOf"].as_array()?;
                forms.iter().find(|form| form["properties"]["command"]["const"] == *word).cloned()
            }
            _ => None,
        }
    };
    let described = Described::new(Vec::new());
    let mut wrong = Vec::new();
    let facts = facts();
    for (name, fact) in facts.iter().filter(|(name, _)| is_of_a_tool(name) && *name != "GitRef") {
        let ours = schema(name).unwrap_or_else(|| panic!("{name} is missing"));
        if fact.get("union").is_some() {
            assert_eq!(
                ours["oneOf"].as_array().unwrap().len(),
                fact["union"].as_array().unwrap().len()
            );
            continue;
        }
        let mut fact = fact.clone();
        for field in fact["fields"].as_object_mut().unwrap().values_mut() {
            // Nested objects and the revision have names of their own there, and stand in place here.
            if let Some(absent) = field.as_object_mut().unwrap().remove("whenAbsent") {
                let text = ours["properties"].to_string();
                assert!(text.contains(&format!("{absent} when absent")), "{name}: {text}");
            }
            if field["type"] == "GitRef" {
                let required = field["required"].clone();
                *field = facts["GitRef"].clone();
                field["required"] = required;
            } else if field["type"].as_str().unwrap().starts_with("array<propose_edit.") {
                field["type"] = json!("array<record<string, any>>");
            }
        }
        let ours = described.object(&ours, None);
        if plain(&ours, name) != plain(&fact, name) {
            wrong.push(format!("{name}\n  protocol {fact}\n  tool     {ours}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
