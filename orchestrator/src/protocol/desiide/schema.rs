//! The JSON Schema of the wire, derived from the types. It is published as `docs/protocol.schema.json`
//! and is what every message is checked against.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::check::Payload;
use super::types::{
    Ack, CancelRequestParams, DecisionsListParams, DecisionsListResult, DecisionsReplayParams,
    DecisionsReplayResult, DesiideConfig, EditsReportParams, Empty, HealthPingResult,
    InitializeParams, InitializeResult, JevPreviewParams, JevPreviewResult, JevTestResult, LOG,
    LogNotification, Method, ModelsListParams, ModelsListResult, ModelsTestParams,
    ModelsTestResult, PROTOCOL_VERSION, ProjectConfig, SECRETS_GET, SecretsGetParams,
    SecretsGetResult, SemVer, TASK_EVENT, TaskApproveParams, TaskCancelParams, TaskCancelResult,
    TaskCreateResult, TaskEvent, TaskInput, TaskListResult, TaskRejectParams,
};

/// The largest integer both sides can hold.
pub const MAX_INTEGER: i64 = (1 << 53) - 1;

/// Codes of the errors that are answered.
pub const ERROR_CODES: [i64; 9] =
    [-32700, -32600, -32601, -32602, -32603, OTHER_VERSION, -32002, -32004, -32005];

/// The code of the one error that has data.
const OTHER_VERSION: i64 = -32001;

/// The whole schema: `$defs`, and which of them each message uses.
pub fn document() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut methods = Map::new();
    for method in Method::ALL {
        let (params, result) = both(&mut generator, method);
        methods.insert(method.name().to_owned(), json!({ "params": params, "result": result }));
    }
    let reverse = json!({
        SECRETS_GET: {
            "params": reference::<SecretsGetParams>(&mut generator),
            "result": reference::<SecretsGetResult>(&mut generator),
        }
    });
    let notifications = json!({
        TASK_EVENT: reference::<TaskEvent>(&mut generator),
        LOG: reference::<LogNotification>(&mut generator),
        CANCEL: reference::<CancelRequestParams>(&mut generator),
    });
    let files = json!({ ".desiide/project.json": reference::<ProjectConfig>(&mut generator) });
    let error = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["code", "message"],
        "properties": {
            "code": { "enum": ERROR_CODES },
            "message": { "type": "string", "minLength": 1 },
            "data": {
                "type": "object",
                "additionalProperties": false,
                "required": ["serverVersion"],
                "properties": { "serverVersion": reference::<SemVer>(&mut generator) },
            },
        },
        "if": { "properties": { "code": { "const": OTHER_VERSION } } },
        "then": { "required": ["data"] },
        "else": { "properties": { "data": false } },
    });
    let definitions = definitions(generator);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Desiide protocol",
        "version": PROTOCOL_VERSION,
        "methods": methods,
        "reverseMethods": reverse,
        "notifications": notifications,
        "error": error,
        "files": files,
        "$defs": definitions,
    })
}

/// The schema of one payload alone, as `root` with its `$defs`; much quicker to make than the whole.
pub fn part(payload: Payload) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let root = match payload {
        Payload::Params(method) => both(&mut generator, method).0,
        Payload::Result(method) => both(&mut generator, method).1,
        Payload::TaskEvent => reference::<TaskEvent>(&mut generator),
        Payload::Log => reference::<LogNotification>(&mut generator),
        Payload::Secret => reference::<SecretsGetResult>(&mut generator),
    };
    json!({ "root": root, "$defs": definitions(generator) })
}

/// All that was referred to, in the order of names.
fn definitions(mut generator: SchemaGenerator) -> Value {
    let mut definitions = generator.take_definitions(true);
    definitions.values_mut().for_each(tidy);
    definitions.sort_keys();
    Value::Object(definitions)
}

/// The notification that takes back a request.
pub const CANCEL: &str = "$/cancelRequest";

fn reference<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// Params and result of a method; the one table of them.
fn both(generator: &mut SchemaGenerator, method: Method) -> (Value, Value) {
    fn pair<P: JsonSchema, R: JsonSchema>(generator: &mut SchemaGenerator) -> (Value, Value) {
        (reference::<P>(generator), reference::<R>(generator))
    }
    match method {
        Method::Initialize => pair::<InitializeParams, InitializeResult>(generator),
        Method::HealthPing => pair::<Empty, HealthPingResult>(generator),
        Method::ConfigUpdate => pair::<DesiideConfig, Ack>(generator),
        Method::TaskCreate => pair::<TaskInput, TaskCreateResult>(generator),
        Method::TaskCancel => pair::<TaskCancelParams, TaskCancelResult>(generator),
        Method::TaskList => pair::<Empty, TaskListResult>(generator),
        Method::TaskApprove => pair::<TaskApproveParams, Ack>(generator),
        Method::TaskReject => pair::<TaskRejectParams, Ack>(generator),
        Method::EditsReport => pair::<EditsReportParams, Ack>(generator),
        Method::ModelsList => pair::<ModelsListParams, ModelsListResult>(generator),
        Method::ModelsTest => pair::<ModelsTestParams, ModelsTestResult>(generator),
        Method::JevTest => pair::<Empty, JevTestResult>(generator),
        Method::JevPreview => pair::<JevPreviewParams, JevPreviewResult>(generator),
        Method::DecisionsList => pair::<DecisionsListParams, DecisionsListResult>(generator),
        Method::DecisionsReplay => pair::<DecisionsReplayParams, DecisionsReplayResult>(generator),
    }
}

/// Says what the derived schema means in this protocol: what may be absent may not be null, integers are
/// those that both sides hold, words are an `enum`.
fn tidy(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    fold_words(object);
    bound_integer(object);
    let required: Vec<String> = object
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_default();
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            if !required.contains(name) {
                drop_null(property);
            }
            tidy(property);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(key) {
            tidy(inner);
        }
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(Value::Array(variants)) = object.get_mut(key) {
            variants.iter_mut().for_each(tidy);
        }
    }
}

/// `oneOf` of described words becomes `enum`.
fn fold_words(object: &mut Map<String, Value>) {
    let words: Option<Vec<Value>> =
        object.get("oneOf").and_then(Value::as_array).and_then(|variants| {
            variants
                .iter()
                .map(|variant| {
                    let is_text = variant.get("type").and_then(Value::as_str) == Some("string");
                    variant.get("const").filter(|_| is_text).cloned()
                })
                .collect()
        });
    if let Some(words) = words {
        object.remove("oneOf");
        object.insert("type".to_owned(), Value::from("string"));
        object.insert("enum".to_owned(), Value::Array(words));
    }
}

fn bound_integer(object: &mut Map<String, Value>) {
    match object.get("type").and_then(Value::as_str) {
        Some("integer") => {
            object.remove("format");
            object.entry("minimum").or_insert_with(|| Value::from(-MAX_INTEGER));
            object.entry("maximum").or_insert_with(|| Value::from(MAX_INTEGER));
        }
        Some("number") => {
            object.remove("format");
        }
        _ => {}
    }
}

/// Takes null out of what a property may be.
fn drop_null(property: &mut Value) {
    let Value::Object(object) = property else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name.as_str() != Some("null"));
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    let is_null = |variant: &Value| variant.get("type").and_then(Value::as_str) == Some("null");
    let Some(Value::Array(variants)) = object.get_mut("anyOf") else {
        return;
    };
    variants.retain(|variant| !is_null(variant));
    if let [Value::Object(only)] = variants.as_mut_slice() {
        let only = std::mem::take(only);
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
}
