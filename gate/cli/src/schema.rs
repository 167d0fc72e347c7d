//! The JSON Schema of `policy.toml` (draft 2020-12), for editors. The lists of names come from the
//! model, so that they cannot be out of date.

use serde_json::{Value, json};
use shellgate::load::builtin;
use shellgate::model::fact::{CodePlace, EffectKind, Place};
use shellgate::model::utility::{
    CarryForm, CarryScope, Grammar, Input, Language, OperandPlace, Output, Syntax, ValueArity,
    ValueKind, VariableClass,
};

macro_rules! names {
    ($kind:ty) => {
        <$kind>::ALL.iter().map(|one| one.name()).collect::<Vec<&str>>()
    };
}

/// The schema as one object.
pub fn policy() -> Value {
    let labels: Vec<String> = shellgate::load::rules(builtin::rules())
        .map(|judgement| judgement.labels.specs.into_iter().map(|spec| spec.name).collect())
        .unwrap_or_default();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "shellgate policy",
        "description": "A person's own policy may relax what is no deny rule; a project's may only tighten.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "workspaces": list("Further workspace roots: absolute, or below the home with `~/` (user only).",
                &json!({ "type": "string", "pattern": "^(/|~/)" })),
            "protected_branches": texts("Further globs of protected branches."),
            "sensitive": texts("Further globs of sensitive names."),
            "trusted_commands": texts("Commands that are allowed when nothing else is against them (user only)."),
            "allow": list("Invocations that count as readers (user only).", &json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["utility"],
                "properties": {
                    "utility": text("Name of the program."),
                    "arguments": texts("Exactly these first arguments."),
                    "more": flag("Whether further arguments may follow."),
                },
            })),
            "labels": {
                "description": "Decisions for floors; deny labels cannot be relaxed, a project may only tighten.",
                "type": "object",
                "propertyNames": { "enum": labels },
                "additionalProperties": { "enum": ["allow", "pass", "ask", "deny"] },
            },
            "rule": list("Further rules; a rule only ever adds a label.", &rule(&labels)),
            "utility": list("Further utilities (user only).", &json!({ "$ref": "#/$defs/utility" })),
        },
        "$defs": { "condition": condition(), "utility": utility() },
    })
}

fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string", "minLength": 1 })
}

fn flag(description: &str) -> Value {
    json!({ "description": description, "type": "boolean" })
}

fn list(description: &str, items: &Value) -> Value {
    json!({ "description": description, "type": "array", "items": items })
}

fn texts(description: &str) -> Value {
    list(description, &json!({ "type": "string" }))
}

fn choice(description: &str, names: &[&str]) -> Value {
    json!({ "description": description, "enum": names })
}

/// One name or a list of them.
fn some(description: &str, item: &Value) -> Value {
    json!({ "description": description, "anyOf": [item, { "type": "array", "items": item }] })
}

fn rule(labels: &[String]) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "label", "why", "match"],
        "properties": {
            "id": { "description": "Unique among all rules.", "type": "string", "pattern": "^[a-z0-9_]+$" },
            "label": { "description": "The label where it holds.", "enum": labels },
            "maybe": { "description": "The label where it may hold.", "enum": labels },
            "why": text("One sentence: what is wrong."),
            "doubt": { "description": "One sentence: what could not be told.", "type": "string" },
            "instead": { "description": "One sentence: a safer way.", "type": "string" },
            "source": texts("Standards and manuals behind it."),
            "match": { "$ref": "#/$defs/condition" },
            "hits": texts("Commands for which it holds."),
            "unsure": texts("Commands for which it may hold."),
            "misses": texts("Commands for which it does not hold."),
        },
    })
}

fn condition() -> Value {
    let string = json!({ "type": "string" });
    let one_of = |names: Vec<&str>| json!({ "enum": names });
    let nested = json!({ "type": "array", "items": { "$ref": "#/$defs/condition" } });
    json!({
        "description": "All keys of one table must hold; lists of names mean any of them.",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": false,
        "properties": {
            "effect": some("Kinds of effect.", &one_of(names!(EffectKind))),
            "recursive": flag("Whether it reaches everything below its object."),
            "force": flag("Whether it overrides a safeguard."),
            "path": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "place": some("Where the path leads.", &one_of(names!(Place))),
                    "everything": some("It stands for every name directly below.", &one_of(names!(Place))),
                    "sensitive": flag("Its name says that it holds secrets."),
                    "emptied": flag("Without its unknown parts it is the root or a system directory."),
                    "named": flag("It names what it means."),
                    "spelled": flag("Its secrets are told by more than a pattern that any name fits."),
                    "fresh": flag("Letters of it are made up for a new name."),
                    "told": flag("Nothing of it is unknown."),
                    "pattern": flag("It is a pattern."),
                    "glob": some("Its last components.", &string),
                },
            },
            "host": some("Globs of hosts.", &string),
            "branch": {
                "type": "object",
                "additionalProperties": false,
                "required": ["protected"],
                "properties": { "protected": flag("A protected branch of a remote repository.") },
            },
            "code": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "language": some("Its language.", &one_of(names!(Language))),
                    "place": some("Where it stands.", &one_of(names!(CodePlace))),
                    "known": flag("Whether all of it is known."),
                    "plain": flag("All its words only compute and print."),
                    "network": flag("Whether it came over the network."),
                },
            },
            "name": some("Globs of names of some other kind.", &string),
            "unresolved": flag("A program that cannot be told."),
            "utility": some("Names of utilities.", &string),
            "subcommand": some("Sub-commands entered.", &string),
            "option": some("Options given.", &string),
            "source": some("Globs of the end of an operand but the last.", &string),
            "via": some("Wrappers around it.", &string),
            "scope": some("Where it runs.", &one_of(names!(CarryScope))),
            "shadowed": flag("The name may mean a function or alias of the text."),
            "gap": flag("Something was not understood."),
            "substitution": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "readers": flag("It runs only readers."),
                    "known": flag("What it prints is known."),
                    "decides": flag("What it prints decides what runs."),
                },
            },
            "job": flag("Something is left running."),
            "bomb": flag("Something keeps starting copies of itself."),
            "setting": choice("A variable set for what follows.", &names!(VariableClass)),
            "preset": choice("The preset.", &["hook", "protocol"]),
            "all": nested,
            "any": nested,
            "not": { "$ref": "#/$defs/condition" },
        },
    })
}

fn utility() -> Value {
    let effect_names = json!({ "enum": names!(EffectKind) });
    let effects = json!({ "type": "array", "items": effect_names });
    let object = |required: &[&str], properties: Value| {
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": required,
            "properties": properties,
        })
    };
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name"],
        "properties": {
            "name": text("As typed."),
            "aliases": texts("Further names."),
            "source": texts("The manual it was checked against."),
            "syntax": choice("How arguments are read.", &names!(Syntax)),
            "flags": texts("Options without a value that change nothing."),
            "values": texts("Options with a value that is plain text."),
            "attached": texts("Options whose optional value must be attached."),
            "options": list("All other options.", &object(&["names"], json!({
                "names": texts("All spellings of one option."),
                "value": choice("Whether it takes a value.", &names!(ValueArity)),
                "kind": choice("What the value is.", &names!(ValueKind)),
                "effects": effects,
                "language": choice("Of code.", &names!(Language)),
            }))),
            "operands": list("The first one that fits an operand has it.", &object(&[], json!({
                "place": choice("Which operands.", &names!(OperandPlace)),
                "kind": choice("What they are.", &names!(ValueKind)),
                "effects": effects,
                "when": texts("Only with one of these options."),
                "unless": texts("Not with one of these options."),
                "at_least": { "description": "Number of operands.", "type": "integer", "minimum": 0 },
            }))),
            "effects": list("What it does.", &object(&["kind"], json!({
                "kind": effect_names,
                "object": text("`none`, `operands`, `directory`, `url_name` or a path."),
                "when": texts("Only with one of these options."),
                "unless": texts("Not with one of these options."),
                "without_operands": flag("Only without operands."),
                "with_operands": flag("Only with operands."),
                "at_least": { "type": "integer", "minimum": 0 },
                "words": texts("First letters of an operand."),
                "away": flag("Only where the directory in force is no workspace root."),
            }))),
            "carries": list("Commands and scripts inside its arguments.", &object(&[], json!({
                "form": choice("How it is given.", &names!(CarryForm)),
                "skip": { "type": "integer", "minimum": 0 },
                "assignments": flag("Assignments may stand before it."),
                "when": texts("Only with one of these options."),
                "unless": texts("Not with one of these options."),
                "until": texts("Words that end it."),
                "scope": choice("Where it runs.", &names!(CarryScope)),
                "appends": flag("Further words are put behind it."),
                "placeholder": text("A word that is replaced."),
                "placeholder_option": text("The option that names that word."),
                "program_option": text("The option whose value is the program."),
            }))),
            "recursive": texts("Options that reach everything below."),
            "force": texts("Options that override a safeguard."),
            "dry": texts("Options that only show."),
            "inert": texts("Options that, alone, print about itself."),
            "language": choice("Of an interpreter.", &names!(Language)),
            "input": choice("Standard input.", &names!(Input)),
            "output": choice("Standard output.", &names!(Output)),
            "grammar": choice("Arguments with a grammar of their own.", &names!(Grammar)),
            "builtin": flag("A builtin of the shell."),
            "open": flag("Options that are not listed are harmless too."),
            "requires_subcommand": flag("A sub-command that is not listed makes the effects unknown."),
            "code_files": texts("Globs of names of files whose code it runs."),
            "plain_words": texts("Words with which its code can only compute and print."),
            "reads": list("Examples of how a line is read.", &object(&["line"], json!({
                "line": text("The line."),
                "options": texts("Options read."),
                "operands": texts("Operands read."),
            }))),
            "answers": list("Examples of decisions.", &object(&["line", "is"], json!({
                "line": text("The line."),
                "is": choice("The decision.", &["allow", "pass", "ask", "deny"]),
                "labels": texts("Labels it must have."),
                "preset": choice("The preset.", &["hook", "protocol"]),
            }))),
            "subcommand": list("Sub-commands.", &json!({ "$ref": "#/$defs/utility" })),
        },
    })
}
