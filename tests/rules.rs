//! Every rule file loads, and every example in it holds in the fixed context.

use std::collections::BTreeSet;

use shellgate::Gate;
use shellgate::load;
use shellgate::model::context::{Context, Preset};
use shellgate::model::value::Truth;

/// The most certain thing a rule says about a command.
fn said(rule: &str, command: &str, context: &Context) -> Truth {
    Gate::builtin()
        .explain(command, context)
        .looks
        .iter()
        .filter(|look| look.rule == rule)
        .map(|look| look.truth)
        .max()
        .unwrap_or_default()
}

#[test]
fn every_example_of_a_rule_holds() {
    let wanted = std::env::var("CASE").unwrap_or_default();
    let context = Context { preset: Preset::Hook, ..Context::default() };
    let mut failures = Vec::new();
    for rule in &Gate::builtin().rules().rules {
        let lists =
            [(&rule.hits, Truth::Yes), (&rule.unsure, Truth::Maybe), (&rule.misses, Truth::No)];
        for (examples, truth) in lists {
            for command in examples.iter().filter(|command| command.contains(&wanted)) {
                let got = said(&rule.id, command, &context);
                if got != truth {
                    failures.push(format!("{}: {command:?} is {got:?}, not {truth:?}", rule.id));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn built_in_files_load_and_every_label_is_used() {
    let judgement = load::rules(load::builtin::rules()).unwrap();
    load::utilities(load::builtin::utilities()).unwrap();
    assert!(Gate::builtin().warnings().is_empty(), "{:?}", Gate::builtin().warnings());
    let mut used: BTreeSet<&str> = judgement
        .rules
        .rules
        .iter()
        .flat_map(|rule| std::iter::once(rule.label.as_str()).chain(rule.maybe.as_deref()))
        .map(|label| label.split(':').next().unwrap_or_default())
        .collect();
    // What no rule says: the answer for readers.
    used.insert("read_only_allow");
    let declared: BTreeSet<&str> =
        judgement.labels.specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(used, declared);
}

#[test]
fn a_rule_has_two_hits_and_two_misses() {
    let poor: Vec<&str> = Gate::builtin()
        .rules()
        .rules
        .iter()
        .filter(|rule| rule.hits.len() < 2 || rule.misses.len() < 2)
        .map(|rule| rule.id.as_str())
        .collect();
    assert!(poor.is_empty(), "{poor:?}");
}

#[test]
fn mistakes_in_a_rule_name_file_and_key() {
    let label = "label = [{ name = \"a\", meaning = \"m\", yes = \"ask\", maybe = \"ask\" }]\n";
    let rule = |body: &str| format!("{label}[[rule]]\nid = \"x\"\nwhy = \"w\"\n{body}\n");
    let table = [
        (rule("label = \"b\"\nmatch = { effect = \"read\" }"), "`b` is no value of `label`"),
        (rule("label = \"a\"\nmatch = { effect = \"reed\" }"), "`reed` is no value of `effect`"),
        (rule("label = \"a\"\nmatch = { efect = \"read\" }"), "unknown field `efect`"),
        (rule("label = \"a\"\nmatch = {}"), "key `match`"),
        (rule("label = \"a\"\nmatch = { preset = \"x\" }"), "use one of hook protocol"),
    ];
    for (text, expected) in table {
        let error = load::rules(&[("own.toml", &text)]).unwrap_err().to_string();
        assert!(error.starts_with("own.toml: ") && error.contains(expected), "{error}");
    }
}
