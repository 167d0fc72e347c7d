//! Scripts against what they run. Cases live in `corpus/traces`.
//!
//! A case has a `script` and what its trace must show: `runs`, every invocation in order, its words
//! joined by one blank as `Text::display` shows them (`…` for what is not known); `has` and `lacks`,
//! invocations that must or must not be among them; `cwd`, the directories of the first invocation of
//! a name; `code`, texts that reach an evaluator; `network`, whether some of that came over the
//! network; `bombs`, `jobs`, `gaps`, how many there are; `environment`, entries of the last
//! invocation; `shadowed`, names of shadowed invocations.

use std::collections::BTreeMap;

use serde::Deserialize;
use shellgate::interpret::run;
use shellgate::model::context::{Context, Limits};
use shellgate::model::trace::Trace;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    script: String,
    runs: Option<Vec<String>>,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    cwd: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    code: Vec<String>,
    network: Option<bool>,
    bombs: Option<usize>,
    jobs: Option<usize>,
    gaps: Option<usize>,
    #[serde(default)]
    environment: Vec<String>,
    #[serde(default)]
    shadowed: Vec<String>,
}

fn follow(script: &str) -> Trace {
    let catalog = shellgate::Gate::builtin().catalog();
    run(script, &Context::default(), catalog, &Limits::default()).1
}

fn check(case: &Case) -> Vec<String> {
    let trace = follow(&case.script);
    let mut faults = Vec::new();
    let lines: Vec<String> = trace
        .invocations
        .iter()
        .map(|invocation| {
            let words: Vec<String> =
                invocation.argv.iter().map(|field| field.text.display()).collect();
            words.join(" ")
        })
        .collect();
    if let Some(runs) = &case.runs
        && *runs != lines
    {
        faults.push(format!("runs {lines:?}, expected {runs:?}"));
    }
    for line in &case.has {
        if !lines.contains(line) {
            faults.push(format!("does not run {line:?}: {lines:?}"));
        }
    }
    for line in &case.lacks {
        if lines.contains(line) {
            faults.push(format!("runs {line:?}"));
        }
    }
    for (name, expected) in &case.cwd {
        let found: Vec<String> = trace
            .invocations
            .iter()
            .find(|invocation| invocation.argv.iter().any(|f| f.exact() == Some(name)))
            .map(|invocation| {
                invocation.directories.iter().map(shellgate::model::value::Text::display).collect()
            })
            .unwrap_or_default();
        if found != *expected {
            faults.push(format!("{name} runs in {found:?}, expected {expected:?}"));
        }
    }
    let codes: Vec<String> = trace.codes.iter().map(|code| code.text.display()).collect();
    for text in &case.code {
        if !codes.contains(text) {
            faults.push(format!("{text:?} is not among the code {codes:?}"));
        }
    }
    if let Some(network) = case.network
        && network != trace.codes.iter().any(shellgate::model::trace::CodeUse::is_from_network)
    {
        faults.push(format!("network code: {}, expected {network}", !network));
    }
    for (what, found, expected) in [
        ("bombs", trace.bombs.len(), case.bombs),
        ("jobs", trace.jobs.len(), case.jobs),
        ("gaps", trace.gaps.len(), case.gaps),
    ] {
        if expected.is_some_and(|expected| expected != found) {
            faults.push(format!("{found} {what}, expected {expected:?}: {:?}", trace.gaps));
        }
    }
    if !case.environment.is_empty() {
        let found: Vec<String> = trace
            .invocations
            .last()
            .map(|last| {
                last.environment.iter().map(|(n, v)| format!("{n}={}", v.display())).collect()
            })
            .unwrap_or_default();
        if found != case.environment {
            faults.push(format!("environment {found:?}, expected {:?}", case.environment));
        }
    }
    let shadowed: Vec<String> = trace
        .invocations
        .iter()
        .filter(|invocation| invocation.shadowed)
        .filter_map(|invocation| invocation.name.as_ref().map(ToString::to_string))
        .collect();
    if shadowed != case.shadowed {
        faults.push(format!("shadowed {shadowed:?}, expected {:?}", case.shadowed));
    }
    faults
}

#[test]
fn scripts_run_what_the_shell_would_run() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/traces");
    let wanted = std::env::var("CASE").unwrap_or_default();
    let mut report = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let file: File =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in file.case.iter().filter(|case| case.name.contains(&wanted)) {
            for fault in check(case) {
                report += &format!("{}: {fault}\n    {}\n", case.name, case.script);
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn every_text_ends_within_the_limits() {
    let deep = |open: &str, close: &str, count: usize| {
        format!("{}ls{}", open.repeat(count), close.repeat(count))
    };
    let texts = [
        deep("( ", " )", 40),
        deep("( ", " )", 500),
        deep("{ ", "; }", 500),
        deep("echo $(", ")", 500),
        deep("if ", "; then :; fi", 300),
        deep("while ", "; do :; done", 40),
        deep("while ", "; do :; done", 300),
        deep("! [[ ", " ]]", 100),
        deep("f() { ", "; }; f", 40),
        deep("case x in x) ", ";; esac", 200),
        "f() { f; }; f".into(),
        "f() { f; f; f; }; f".into(),
        "f() { g; g; }; g() { h; h; }; h() { f; f; }; f".into(),
        "x='eval \"$x\"'; eval \"$x\"".into(),
        "echo 'sh x.sh; sh x.sh' > x.sh; sh x.sh".into(),
        "x=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; for i in {1..4096}; do x=$x$x; echo $x; done"
            .into(),
        "for a in {1..999}; do for b in {1..999}; do for c in {1..999}; do ls; done; done; done"
            .into(),
        "while read a; do while read b; do while read c; do while read d; do ls; done; done; done; done"
            .into(),
        (0..2000).map(|n| format!("if a; then x{n}=1; else x{n}=2; fi; ")).collect(),
        (0..300).map(|n| format!("if a; then x{n}=1; else x{n}=2; fi; echo $x0 $x1 $x2 $x{n}; ")).collect(),
        (0..4000).map(|n| format!("echo {n} && ")).collect::<String>() + "ls",
        (0..2000).map(|n| format!("echo {n} | ")).collect::<String>() + "sh",
        (0..500).map(|n| format!("cd d{n} || ")).collect::<String>() + "ls",
        (0..500).map(|n| format!("cd d{n}; ")).collect::<String>() + "ls",
        (0..300).map(|n| format!("echo x > f{n}; cat f{n} > g; sh g; ")).collect(),
        "until :; do sh -c 'until :; do sh -c \"until :; do ls; done\"; done'; done".into(),
        "alias a='a a'\nshopt -s expand_aliases\na a a".into(),
        "alias a='b b' b='a a'\nshopt -s expand_aliases\na".into(),
        "declare -n a=b b=a; echo $a; a=1".into(),
        "PS4='$(set -x; ls)'; set -x; ls".into(),
        "x='${x@P}'; echo \"${x@P}\"".into(),
    ];
    for text in texts {
        let trace = follow(&text);
        assert!(trace.invocations.len() <= Limits::default().steps);
    }
}
