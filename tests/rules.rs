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
    let judgement = load::rules(load::builtin::rules()).unwrap();
    for rule in &judgement.rules.rules {
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
fn what_is_built_in_is_what_the_files_say() {
    let (built_in, judgement) = load::builtin::data().unwrap();
    let (catalog, _) = load::utilities(load::builtin::utilities()).unwrap();
    assert!(built_in.iter().eq(catalog.iter()));
    assert!(built_in.names().eq(catalog.names()));
    assert_eq!(built_in.variables(), catalog.variables());
    assert_eq!(built_in.trusted_directories, catalog.trusted_directories);
    assert_eq!(built_in.secret_variables, catalog.secret_variables);
    for (id, utility) in catalog.iter() {
        for name in std::iter::once(&utility.name).chain(&utility.aliases) {
            let found = match utility.parent {
                Some(parent) => built_in.subcommand(parent, name),
                None => built_in.find(name),
            };
            assert_eq!(found, Some(id), "{name}");
        }
    }
    let mut read = load::rules(load::builtin::rules()).unwrap();
    for rule in &mut read.rules.rules {
        (rule.hits, rule.unsure, rule.misses) = Default::default();
    }
    assert_eq!(judgement, read);
}

#[test]
fn a_rule_has_two_hits_and_two_misses() {
    let judgement = load::rules(load::builtin::rules()).unwrap();
    let poor: Vec<&str> = judgement
        .rules
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

#[test]
fn a_policy_of_a_person_relaxes_floors_and_never_a_deny_rule() {
    use shellgate::load::{Level, Policy};
    let text = r#"
        protected_branches = ["release/*"]
        sensitive = ["*.vault", "private/**"]
        trusted_commands = ["cargo  test"]
        [labels]
        background_process = "pass"
        deny_list = "ask"
        [[allow]]
        utility = "sudo"
        arguments = ["ls"]
        [[rule]]
        id = "no_fetch"
        label = "deny_list"
        why = "This machine fetches nothing."
        match = { effect = "receive" }
        [[utility]]
        name = "mytool"
        operands = [{ effects = ["read"] }]
    "#;
    let answer = |level, command: &str| {
        let gate = Gate::new(&[Policy::read("own.toml", text, level).unwrap()]).unwrap();
        let verdict = gate.classify(command, &Context::default());
        (format!("{} {}", verdict.decision.name(), verdict.labels.join(" ")), gate.warnings().len())
    };
    let table = [
        (
            "git push -f origin release/1",
            "deny deny_list:force_push_protected destructive_action irreversible",
        ),
        ("cat a.vault", "ask sensitive_file"),
        ("cat private/x/a", "ask sensitive_file"),
        ("cargo test", "allow read_only_allow"),
        ("setsid ls", "pass "),
        ("sudo ls", "allow read_only_allow"),
        ("sudo cat /etc/hosts", "ask outside_workspace privileged"),
        ("curl https://example.com", "deny deny_list:no_fetch"),
        ("mytool a.txt", "allow read_only_allow"),
        ("rm -rf /", "deny deny_list:rm_rf outside_workspace destructive_action"),
    ];
    for (command, expected) in table {
        assert_eq!(answer(Level::User, command), (expected.to_owned(), 1), "{command}");
    }
    let project = [
        (
            "git push -f origin release/1",
            "deny deny_list:force_push_protected destructive_action irreversible",
        ),
        ("cargo test", "pass "),
        ("setsid ls", "ask background_process"),
        ("sudo ls", "ask privileged"),
        ("curl https://example.com", "deny deny_list:no_fetch"),
        ("mytool a.txt", "pass "),
    ];
    for (command, expected) in project {
        assert_eq!(answer(Level::Project, command), (expected.to_owned(), 5), "{command}");
    }
}

#[test]
fn a_tool_on_one_file_is_judged_by_its_path() {
    use shellgate::model::fact::EffectKind;
    let table = [
        ("src/main.rs", EffectKind::Read, "allow read_only_allow"),
        ("src/main.rs", EffectKind::Write, "pass "),
        (".env", EffectKind::Read, "ask sensitive_file"),
        ("../x", EffectKind::Read, "ask outside_workspace"),
        ("/etc/hosts", EffectKind::Write, "deny deny_list:system_write outside_workspace"),
        ("/home/dev/.bashrc", EffectKind::Append, "deny deny_list:system_write outside_workspace"),
    ];
    for (path, kind, expected) in table {
        let verdict = Gate::builtin().classify_path(path, kind, &Context::default());
        let got = format!("{} {}", verdict.decision.name(), verdict.labels.join(" "));
        assert_eq!(got, expected, "{path}");
    }
}

#[test]
fn reasons_point_into_the_command() {
    let table = [
        ("sudo sh -c 'rm -rf /'", "'rm -rf /'"),
        ("ls; echo 'rm -rf /' | base64 | cat; rm -rf /", "/"),
    ];
    for (command, piece) in table {
        let verdict = Gate::builtin().classify(command, &Context::default());
        let reason = verdict.reasons.first().unwrap();
        assert_eq!(reason.label, "deny_list:rm_rf", "{command}");
        assert_eq!(reason.span.of(command), piece, "{command}");
    }
}
