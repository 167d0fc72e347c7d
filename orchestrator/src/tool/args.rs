//! What each tool takes: one table checks calls and writes the JSON Schema a model is shown.

use serde_json::{Map, Value, json};

use crate::task::call::ToolName;

/// The largest integer JSON numbers hold exactly.
const MAX_INTEGER: i64 = (1 << 53) - 1;

/// What a value must be.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Text of so many code points.
    Text(usize, usize),
    /// A name of a revision.
    Revision,
    /// A whole number between two, both included.
    Integer(i64, i64),
    /// Yes or no.
    Boolean,
    /// That very text.
    Literal(&'static str),
    /// So many objects.
    List(usize, usize, &'static [Field]),
}

/// One argument.
#[derive(Clone, Copy, Debug)]
struct Field {
    name: &'static str,
    kind: Kind,
    is_required: bool,
    default: Option<Default>,
    about: &'static str,
}

/// What an absent argument means.
#[derive(Clone, Copy, Debug)]
enum Default {
    Text(&'static str),
    Integer(i64),
    Boolean(bool),
}

const fn required(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, is_required: true, default: None, about }
}

const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, is_required: false, default: None, about }
}

const fn defaulted(name: &'static str, kind: Kind, default: Default, about: &'static str) -> Field {
    Field { name, kind, is_required: false, default: Some(default), about }
}

const PATH: Kind = Kind::Text(1, 4096);
const FOLDER: Field =
    defaulted("path", PATH, Default::Text("."), "Folder or file, relative to the workspace.");
const GIT_PATH: Field =
    optional("path", PATH, "Only this file or folder, relative to the workspace.");

const READ_FILE: &[Field] = &[
    required("path", PATH, "File, relative to the workspace."),
    optional("startLine", Kind::Integer(1, MAX_INTEGER), "First line, from 1."),
    optional("endLine", Kind::Integer(1, MAX_INTEGER), "Last line, included."),
];
const LIST_FILES: &[Field] = &[
    FOLDER,
    defaulted(
        "depth",
        Kind::Integer(1, 10),
        Default::Integer(3),
        "Levels of folders; 1 lists one folder.",
    ),
    defaulted("limit", Kind::Integer(1, 2000), Default::Integer(500), "Most files to list."),
];
const SEARCH: &[Field] = &[
    required("query", Kind::Text(1, 1000), "What to look for in each line."),
    defaulted(
        "regex",
        Kind::Boolean,
        Default::Boolean(false),
        "Whether the query is a regular expression in Rust's syntax.",
    ),
    FOLDER,
    optional("glob", Kind::Text(1, 200), "Only files whose path matches this glob, as `*.rs`."),
    optional(
        "caseSensitive",
        Kind::Boolean,
        "Absent: upper case in the query makes it case-sensitive, lower case alone does not.",
    ),
    defaulted("maxResults", Kind::Integer(1, 500), Default::Integer(100), "Most lines to give."),
];
const EDIT: &[Field] = &[
    required(
        "search",
        Kind::Text(0, 100_000),
        "Text that stands exactly once in the file. Empty inserts at the start, or creates the file.",
    ),
    required("replace", Kind::Text(0, 100_000), "What takes its place."),
];
const FILE: &[Field] = &[
    required("path", PATH, "File, relative to the workspace."),
    required("edits", Kind::List(1, 50, EDIT), "Applied one after the other."),
];
const PROPOSE_EDIT: &[Field] =
    &[required("files", Kind::List(1, 20, FILE), "The files to change.")];
const SHELL: &[Field] = &[
    required("command", Kind::Text(1, 10_000), "The command, for bash."),
    optional(
        "timeoutMs",
        Kind::Integer(1000, 600_000),
        "Milliseconds until it is killed; 120000 when absent.",
    ),
];
const GIT_STATUS: &[Field] =
    &[required("command", Kind::Literal("status"), "The working tree's state.")];
const GIT_DIFF: &[Field] = &[
    required("command", Kind::Literal("diff"), "Changes that are not committed."),
    defaulted("staged", Kind::Boolean, Default::Boolean(false), "Whether to show what is staged."),
    optional("ref", Kind::Revision, "Revision to compare with."),
    GIT_PATH,
];
const GIT_LOG: &[Field] = &[
    required("command", Kind::Literal("log"), "Commits, newest first."),
    defaulted("maxCount", Kind::Integer(1, 100), Default::Integer(20), "Most commits to list."),
    GIT_PATH,
];
const GIT_SHOW: &[Field] = &[
    required("command", Kind::Literal("show"), "One commit, or one file of it as `rev:path`."),
    required("ref", Kind::Revision, "The revision."),
    GIT_PATH,
];

/// The forms of a tool's arguments; more than one only for `git_read`, told apart by `command`.
const fn forms(tool: ToolName) -> &'static [&'static [Field]] {
    match tool {
        ToolName::ReadFile => &[READ_FILE],
        ToolName::ListFiles => &[LIST_FILES],
        ToolName::Search => &[SEARCH],
        ToolName::ProposeEdit => &[PROPOSE_EDIT],
        ToolName::Shell => &[SHELL],
        ToolName::RunTests | ToolName::Lint => &[&[]],
        ToolName::GitRead => &[GIT_STATUS, GIT_DIFF, GIT_LOG, GIT_SHOW],
    }
}

/// The JSON Schema of a tool's arguments.
pub(super) fn schema(tool: ToolName) -> Value {
    match forms(tool) {
        [form] => object_schema(form),
        forms => {
            json!({ "type": "object", "oneOf": forms.iter().map(|form| object_schema(form)).collect::<Vec<_>>() })
        }
    }
}

fn object_schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), field_schema(field))).collect();
    let required: Vec<&str> =
        fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if let Value::Object(schema) = &mut schema {
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        schema.insert("additionalProperties".into(), json!(false));
    }
    schema
}

fn field_schema(field: &Field) -> Value {
    let mut schema = match field.kind {
        Kind::Text(0, most) => json!({ "type": "string", "maxLength": most }),
        Kind::Text(least, most) => {
            json!({ "type": "string", "minLength": least, "maxLength": most })
        }
        Kind::Revision => json!({
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "pattern": "^[A-Za-z0-9._/~^@{}:][A-Za-z0-9._/~^@{}:-]*$",
        }),
        Kind::Integer(least, MAX_INTEGER) => json!({ "type": "integer", "minimum": least }),
        Kind::Integer(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Literal(word) => json!({ "type": "string", "const": word }),
        Kind::List(least, most, fields) => json!({
            "type": "array",
            "minItems": least,
            "maxItems": most,
            "items": object_schema(fields),
        }),
    };
    if let Value::Object(schema) = &mut schema {
        if let Some(default) = field.default {
            let default = match default {
                Default::Text(text) => json!(text),
                Default::Integer(number) => json!(number),
                Default::Boolean(yes) => json!(yes),
            };
            schema.insert("default".into(), default);
        }
        schema.insert("description".into(), json!(field.about));
    }
    schema
}

/// Whether arguments are what a tool takes.
///
/// # Errors
///
/// A text that names every field that is wrong.
pub(super) fn check(tool: ToolName, args: &Map<String, Value>) -> Result<(), String> {
    let fields = match forms(tool) {
        [form] => form,
        forms => {
            let word = args.get("command").and_then(Value::as_str);
            let form = forms.iter().find(|form| {
                form.first().is_some_and(
                    |field| matches!(field.kind, Kind::Literal(name) if Some(name) == word),
                )
            });
            *form.ok_or("`command` must be one of \"status\", \"diff\", \"log\", \"show\"")?
        }
    };
    let mut problems = Vec::new();
    check_object("", fields, args, &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// Most problems that are told at once.
const MAX_PROBLEMS: usize = 20;

fn check_object(
    place: &str,
    fields: &[Field],
    args: &Map<String, Value>,
    problems: &mut Vec<String>,
) {
    for field in fields {
        if problems.len() >= MAX_PROBLEMS {
            return;
        }
        let name = format!("{place}{}", field.name);
        match args.get(field.name) {
            None if field.is_required => problems.push(format!("`{name}` is missing")),
            None => {}
            Some(value) => check_value(&name, field.kind, value, problems),
        }
    }
    for name in args.keys() {
        if problems.len() >= MAX_PROBLEMS {
            return;
        }
        if !fields.iter().any(|field| field.name == name) {
            let shown: String = name.chars().take(60).collect();
            problems.push(format!("`{place}{shown}` is not known"));
        }
    }
}

fn check_value(name: &str, kind: Kind, value: &Value, problems: &mut Vec<String>) {
    let problem = match (kind, value) {
        (Kind::Text(least, most), Value::String(text)) => match text.chars().count() {
            length if length < least => Some("must not be empty".to_owned()),
            length if length > most => Some(format!("must have at most {most} characters")),
            _ => None,
        },
        (Kind::Text(..) | Kind::Revision, _) if !value.is_string() => {
            Some("must be a string".to_owned())
        }
        (Kind::Revision, Value::String(text)) => {
            (!is_revision(text)).then(|| "must be the name of a revision".to_owned())
        }
        (Kind::Integer(least, most), value) => match integer(value) {
            Some(number) if (least..=most).contains(&number) => None,
            _ if most == MAX_INTEGER => Some(format!("must be an integer of at least {least}")),
            _ => Some(format!("must be an integer from {least} to {most}")),
        },
        (Kind::Boolean, value) => (!value.is_boolean()).then(|| "must be true or false".to_owned()),
        (Kind::Literal(word), value) => {
            (value.as_str() != Some(word)).then(|| format!("must be \"{word}\""))
        }
        (Kind::List(least, most, fields), Value::Array(items)) => {
            if (least..=most).contains(&items.len()) {
                for (index, item) in items.iter().enumerate() {
                    if let Value::Object(item) = item {
                        check_object(&format!("{name}[{index}]."), fields, item, problems);
                    } else {
                        problems.push(format!("`{name}[{index}]` must be an object"));
                    }
                }
                None
            } else {
                Some(format!("must have {least} to {most} items"))
            }
        }
        (Kind::List(..), _) => Some("must be an array".to_owned()),
        (Kind::Text(..) | Kind::Revision, _) => None,
    };
    if let Some(problem) = problem {
        problems.push(format!("`{name}` {problem}"));
    }
}

fn is_revision(text: &str) -> bool {
    let is_allowed = |char: char| char.is_ascii_alphanumeric() || "._/~^@{}:-".contains(char);
    !text.is_empty() && text.len() <= 200 && !text.starts_with('-') && text.chars().all(is_allowed)
}

/// A whole number, however it is written.
fn integer(value: &Value) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return (number.unsigned_abs() <= MAX_INTEGER.unsigned_abs()).then_some(number);
    }
    let number = value.as_f64()?;
    let is_whole = number.fract() == 0.0 && number.abs() <= MAX_INTEGER as f64;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a whole number within the range of exact ones"
    )]
    is_whole.then_some(number as i64)
}

/// Arguments that [`check`] found good.
#[derive(Clone, Copy, Debug)]
pub(super) struct Args<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Args<'a> {
    /// A text.
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// The path, `.` when absent.
    pub(super) fn path(self) -> &'a str {
        self.text("path").unwrap_or(".")
    }

    /// A whole number that is not negative.
    pub(super) fn number(self, name: &str) -> Option<usize> {
        self.0.get(name).and_then(integer).and_then(|number| usize::try_from(number).ok())
    }

    /// Yes or no.
    pub(super) fn flag(self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    /// A list of objects; other items are left out.
    pub(super) fn list(self, name: &str) -> impl Iterator<Item = Args<'a>> {
        let items =
            self.0.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(Value::as_object).map(Args)
    }
}

#[cfg(test)]
mod tests {
    use super::{check, schema};
    use crate::task::call::ToolName;
    use serde_json::{Value, json};

    fn said(tool: ToolName, args: Value) -> String {
        let Value::Object(args) = args else { panic!("not an object") };
        check(tool, &args).err().unwrap_or_default()
    }

    #[test]
    fn checks_name_the_fields() {
        use ToolName::{GitRead, Lint, ListFiles, ProposeEdit, ReadFile, Search, Shell};
        let long = "x".repeat(4097);
        let table = [
            (ReadFile, json!({"path": "a"}), ""),
            (
                ReadFile,
                json!({"path": "a", "startLine": 1.0, "endLine": 9_007_199_254_740_991_i64}),
                "",
            ),
            (ReadFile, json!({}), "`path` is missing"),
            (ReadFile, json!({"path": ""}), "`path` must not be empty"),
            (ReadFile, json!({"path": long}), "`path` must have at most 4096 characters"),
            (ReadFile, json!({"path": "ä".repeat(4096)}), ""),
            (ReadFile, json!({"path": null}), "`path` must be a string"),
            (
                ReadFile,
                json!({"path": "a", "startLine": 0, "endLine": 1.5, "b": 1}),
                "`startLine` must be an integer of at least 1; `endLine` must be an integer of at least 1; `b` is not known",
            ),
            (
                ReadFile,
                json!({"path": "a", "startLine": null}),
                "`startLine` must be an integer of at least 1",
            ),
            (
                ReadFile,
                json!({"path": "a", "startLine": 9_007_199_254_740_992_i64}),
                "`startLine` must be an integer of at least 1",
            ),
            (ListFiles, json!({}), ""),
            (ListFiles, json!({"depth": 10, "limit": 2000}), ""),
            (
                ListFiles,
                json!({"depth": 11, "limit": 0}),
                "`depth` must be an integer from 1 to 10; `limit` must be an integer from 1 to 2000",
            ),
            (Search, json!({"query": "x", "caseSensitive": false, "regex": true}), ""),
            (
                Search,
                json!({"query": "x", "caseSensitive": null}),
                "`caseSensitive` must be true or false",
            ),
            (
                Search,
                json!({"query": "x".repeat(1001)}),
                "`query` must have at most 1000 characters",
            ),
            (Shell, json!({"command": "ls", "timeoutMs": 1000}), ""),
            (Shell, json!({"command": "ls", "timeoutMs": 600_000}), ""),
            (
                Shell,
                json!({"command": "ls", "timeoutMs": 999}),
                "`timeoutMs` must be an integer from 1000 to 600000",
            ),
            (
                Shell,
                json!({"command": "ls", "timeoutMs": 600_001}),
                "`timeoutMs` must be an integer from 1000 to 600000",
            ),
            (Lint, json!({}), ""),
            (Lint, json!({"fix": true}), "`fix` is not known"),
            (
                ProposeEdit,
                json!({"files": [{"path": "a", "edits": [{"search": "", "replace": ""}]}]}),
                "",
            ),
            (ProposeEdit, json!({"files": []}), "`files` must have 1 to 20 items"),
            (ProposeEdit, json!({"files": [7]}), "`files[0]` must be an object"),
            (
                ProposeEdit,
                json!({"files": [{"path": "a", "edits": [{"search": "", "with": ""}]}]}),
                "`files[0].edits[0].replace` is missing; `files[0].edits[0].with` is not known",
            ),
            (
                GitRead,
                json!({}),
                "`command` must be one of \"status\", \"diff\", \"log\", \"show\"",
            ),
            (
                GitRead,
                json!({"command": "push"}),
                "`command` must be one of \"status\", \"diff\", \"log\", \"show\"",
            ),
            (GitRead, json!({"command": "status", "path": "a"}), "`path` is not known"),
            (
                GitRead,
                json!({"command": "diff", "ref": "main..x", "staged": true, "path": "a"}),
                "",
            ),
            (
                GitRead,
                json!({"command": "diff", "ref": "--output=x"}),
                "`ref` must be the name of a revision",
            ),
            (
                GitRead,
                json!({"command": "diff", "ref": "a b"}),
                "`ref` must be the name of a revision",
            ),
            (
                GitRead,
                json!({"command": "log", "maxCount": 101}),
                "`maxCount` must be an integer from 1 to 100",
            ),
            (GitRead, json!({"command": "show"}), "`ref` is missing"),
            (GitRead, json!({"command": "show", "ref": "HEAD~2^{commit}:a/b-c_d.e@{1}"}), ""),
        ];
        for (tool, args, expected) in table {
            let shown = args.to_string();
            assert_eq!(said(tool, args), expected, "{} {:.200}", tool.name(), shown);
        }
    }

    #[test]
    fn schemas_are_strict_at_every_depth() {
        fn objects(value: &Value, found: &mut Vec<Value>) {
            match value {
                Value::Object(map) => {
                    if map.contains_key("properties") {
                        found.push(value.clone());
                    }
                    map.values().for_each(|value| objects(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| objects(value, found)),
                _ => {}
            }
        }
        for tool in ToolName::ALL {
            let schema = schema(tool);
            assert!(schema.get("$schema").is_none());
            let mut found = Vec::new();
            objects(&schema, &mut found);
            assert!(
                !found.is_empty() && found.iter().all(|one| one["additionalProperties"] == false)
            );
        }
        assert_eq!(schema(ToolName::GitRead)["oneOf"].as_array().unwrap().len(), 4);
        assert_eq!(schema(ToolName::ListFiles)["properties"]["depth"]["default"], 3);
        assert_eq!(schema(ToolName::ReadFile)["required"], json!(["path"]));
    }
}
