//! Laws that hold for every text: total, deterministic, and no disguise makes a verdict milder.

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use shellgate::Gate;
use shellgate::model::context::{Context, Limits, Preset};
use shellgate::model::script::{CommandKind, Part};
use shellgate::model::verdict::{Decision, Verdict};

use suite::case::{Case, cases};

/// Runs a law without files of its own beside the sources.
fn law(count: u32, run: impl Fn(&mut TestRunner)) {
    run(&mut TestRunner::new(crate::tries(count)));
}

fn judge(command: &str) -> Verdict {
    judge_under(command, Preset::Protocol)
}

fn judge_under(command: &str, preset: Preset) -> Verdict {
    let context = Context { preset, ..Context::default() };
    Gate::builtin().classify(command, &context)
}

/// What every verdict has to look like.
fn is_well_formed(command: &str, verdict: &Verdict) -> Result<(), TestCaseError> {
    if verdict.decision >= Decision::Ask {
        prop_assert!(!verdict.reasons.is_empty(), "no reason for {command:?}");
        prop_assert!(!verdict.labels.is_empty(), "no label for {command:?}");
    }
    if verdict.decision == Decision::Allow {
        prop_assert_eq!(&verdict.labels, &["read_only_allow"]);
    }
    let denied = verdict.labels.iter().any(|label| label.starts_with("deny_list:"));
    prop_assert_eq!(denied, verdict.decision == Decision::Deny, "{:?}", command);
    for reason in &verdict.reasons {
        prop_assert!(reason.decision <= verdict.decision);
        prop_assert!(!reason.why.is_empty());
        prop_assert!(reason.span.start <= reason.span.end && reason.span.end <= command.len());
    }
    Ok(())
}

#[test]
fn any_bytes_get_one_answer() {
    law(300, |runner| {
        runner
            .run(&prop::collection::vec(any::<u8>(), 0..300), |bytes| {
                let context = Context::default();
                let verdict = Gate::builtin().classify_bytes(&bytes, &context);
                prop_assert_eq!(&verdict, &Gate::builtin().classify_bytes(&bytes, &context));
                if let Ok(text) = std::str::from_utf8(&bytes) {
                    is_well_formed(text, &verdict)?;
                }
                Ok(())
            })
            .unwrap();
    });
}

#[test]
fn nesting_fits_into_the_stack_of_a_thread() {
    let openers = [
        "$(",
        "(",
        "{ ",
        "if ",
        "while ",
        "case x in x) ",
        "${a:-",
        "$((",
        "\"$(",
        "f() { ",
        "<(",
        "[[ ( ",
        "! ",
        "a=(",
        "for i in $(",
        "if true; then ",
        "until ",
        "coproc { ",
        "((",
        "`",
        "${a[",
        "x=$(",
        "cat <(",
        "echo \"${a:-",
        "time ",
        "{a,",
        "$(cat <<E\n",
        "eval '",
        "sh -c \"",
    ];
    let mut texts: Vec<String> = openers.iter().map(|opener| opener.repeat(3000)).collect();
    texts.extend(openers.iter().map(|opener| format!("{}rm -rf /", opener.repeat(60))));
    texts.push("f() { f; }; f".into());
    texts.push("f() { eval \"$1\"; f \"f $1\"; }; f x".into());
    texts.push("x='eval \"$x\"'; eval \"$x\"".into());
    texts.push("alias a='a a'; shopt -s expand_aliases\na".into());
    let run = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        for text in &texts {
            let decision = judge(text).decision;
            let must_ask = text.contains("rm -rf /");
            assert!(!must_ask || decision >= Decision::Ask, "{text:?} is {}", decision.name());
        }
    });
    run.unwrap().join().unwrap();
}

/// Texts that look like shell: pieces of the grammar in any order.
fn shell_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rm ",
        "-rf ",
        "/ ",
        "ls ",
        "echo ",
        "x",
        "$x",
        "${x",
        "}",
        "$(",
        ")",
        "`",
        "'",
        "\"",
        "\\",
        "\n",
        ";",
        "&",
        "&&",
        "||",
        "|",
        "<",
        ">",
        "<<E\n",
        "E\n",
        "{",
        "(",
        "if ",
        "then ",
        "fi ",
        "for i in ",
        "do ",
        "done ",
        "case ",
        "in ",
        "esac ",
        "[[ ",
        "]] ",
        "((",
        "))",
        "=",
        "a=",
        "*",
        "?",
        "[",
        "]",
        "~",
        "{1..3}",
        "{a,b}",
        "#",
        "!",
        "sh -c ",
        "eval ",
        "sudo ",
        "cd ",
        "\t",
        " ",
        "$'\\x41'",
        "\u{a0}",
        "\r",
        "é",
        "function f ",
        "f() ",
        "time ",
        "coproc ",
        "2>&1 ",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn shell_like_texts_get_one_answer() {
    law(600, |runner| {
        runner
            .run(&shell_like(), |text| {
                let verdict = judge(&text);
                prop_assert_eq!(&verdict, &judge(&text));
                is_well_formed(&text, &verdict)
            })
            .unwrap();
    });
}

/// A case of the corpus with one piece of it removed, doubled or replaced.
fn mutated(cases: Vec<Case>) -> impl Strategy<Value = String> {
    (prop::sample::select(cases), any::<prop::sample::Index>(), shell_like(), 0_usize..12).prop_map(
        |(case, at, piece, length)| {
            let mut chars: Vec<char> = case.command.chars().collect();
            let at = at.index(chars.len() + 1);
            let end = (at + length).min(chars.len());
            chars.splice(at..end, piece.chars().take(12));
            chars.into_iter().collect()
        },
    )
}

#[test]
fn mutated_cases_get_one_answer() {
    let cases = cases().unwrap();
    law(600, |runner| {
        runner
            .run(&mutated(cases.clone()), |text| {
                let verdict = judge(&text);
                prop_assert_eq!(&verdict, &judge(&text));
                is_well_formed(&text, &verdict)
            })
            .unwrap();
    });
}

/// Ways to run the same command from inside something else. `{}` is the command, `{q}` the command
/// in single quotes.
const WRAPPINGS: &[&str] = &[
    "({})",
    "{ {}\n}",
    "if true; then {}\nfi",
    "if false; then :; else {}\nfi",
    "while :; do {}\ndone",
    "for i in 1; do {}\ndone",
    "wrapped() { {}\n}; wrapped",
    "true && {}",
    "false || {}",
    "true; {}",
    "! {}",
    "sh -c {q}",
    "bash -c {q}",
    "eval {q}",
    "sudo bash -c {q}",
    "env -i bash -c {q}",
    "timeout 5 bash -c {q}",
    "nohup nice bash -c {q}",
    "bash <<'OUTER'\n{}\nOUTER",
    "bash <<< {q}",
    "printf '%s' {q} | sh",
    "trap {q} EXIT",
    "case x in x) {}\n;; esac",
    "{} 2>/dev/null",
    "coproc { {}\n}",
    "echo \"$({}\n)\"",
    "cat <({}\n)",
    "wrapped={q}; eval \"$wrapped\"",
];

fn quoted(command: &str) -> String {
    format!("'{}'", command.replace('\'', "'\\''"))
}

/// Whether a text may stand in front of something on the same line and as a list of its own.
fn is_whole(case: &Case) -> bool {
    let text = &case.command;
    let parsed = shellgate::parse::parse(text, &shellgate::model::context::Limits::default());
    parsed.gaps.is_empty()
        && parsed.comments.is_empty()
        && !parsed.script.items.is_empty()
        && !text.contains("<<")
        && !text.contains('\\')
        && !text.contains("alias")
        // `$0`, `$@` and `return` mean something else inside.
        && !["$0", "$@", "$*", "$1", "$#", "$-", "set -", "BASH_", "local", "$_", "caller"]
            .iter()
            .any(|part| text.contains(part))
}

#[test]
fn no_wrapping_makes_a_verdict_milder() {
    let cases: Vec<Case> = cases()
        .unwrap()
        .into_iter()
        .filter(|case| case.branch.is_none() && case.known_gap.is_none() && is_whole(case))
        .collect();
    assert!(cases.len() > 800, "only {} cases are left to wrap", cases.len());
    let mut failures = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let plain = judge(&case.command);
        // Each case meets a few of the wrappings, all of them are met many times.
        for step in 0..3 {
            let Some(wrapping) = WRAPPINGS.get((at * 5 + step * 11) % WRAPPINGS.len()) else {
                continue;
            };
            // A trap that is set while the one for the end runs is not run any more.
            if *wrapping == "trap {q} EXIT" && case.command.contains("EXIT") {
                continue;
            }
            let single = !case.command.contains(['\n', ';', '&', '|', '#'])
                && !case.command.trim_start().starts_with(['!', '{', '(']);
            // What a trap sets for the end of the shell is not run any more.
            if *wrapping == "trap {q} EXIT" && case.command.contains("trap") {
                continue;
            }
            if matches!(*wrapping, "! {}" | "{} 2>/dev/null" | "true && {}" | "false || {}")
                && !single
            {
                continue;
            }
            // A command may hold the marks itself.
            let wrapped = if wrapping.contains("{q}") {
                wrapping.replace("{q}", &quoted(&case.command))
            } else {
                wrapping.replace("{}", &case.command)
            };
            let verdict = judge(&wrapped);
            let milder = verdict.decision < plain.decision;
            let lost = plain
                .labels
                .iter()
                .filter(|label| label.starts_with("deny_list:"))
                .any(|label| !verdict.labels.contains(label));
            if milder || lost {
                failures.push(format!(
                    "{}\n  {:?} is {} {:?}\n  {:?} is {} {:?}",
                    case.title(),
                    case.command,
                    plain.decision.name(),
                    plain.labels,
                    wrapped,
                    verdict.decision.name(),
                    verdict.labels
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{} are milder:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn no_neighbour_makes_a_verdict_milder() {
    let cases: Vec<Case> = cases()
        .unwrap()
        .into_iter()
        .filter(|case| case.branch.is_none() && is_whole(case))
        .collect();
    let neighbours = ["echo done", "ls src", "true", "make test", "grep -rn 'rm -rf /' docs"];
    let mut failures = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let plain = judge(&case.command);
        let Some(neighbour) = neighbours.get(at % neighbours.len()) else { continue };
        for joined in
            [format!("{neighbour}\n{}", case.command), format!("{}\n{neighbour}", case.command)]
        {
            let verdict = judge(&joined);
            if verdict.decision < plain.decision {
                failures.push(format!(
                    "{}: {joined:?} is {}",
                    case.title(),
                    verdict.decision.name()
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{} are milder:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_hook_preset_never_denies_less() {
    let mut failures = Vec::new();
    for case in cases().unwrap() {
        if case.branch.is_some() {
            continue;
        }
        let strict = judge_under(&case.command, Preset::Protocol);
        let relaxed = judge_under(&case.command, Preset::Hook);
        let denied = |verdict: &Verdict| verdict.decision == Decision::Deny;
        // What lies in the workspace may have settings of its own: under hook that is not allowed.
        let allowed = strict.decision.max(Decision::Pass);
        if denied(&strict) != denied(&relaxed) || relaxed.decision > allowed {
            failures.push(format!(
                "{}: {:?} is {} under protocol and {} under hook",
                case.title(),
                case.command,
                strict.decision.name(),
                relaxed.decision.name()
            ));
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

/// Places of whole words in the simple commands of a text that are written without quotes and
/// expansions, and what they say.
fn plain_words(text: &str) -> Vec<(usize, usize, String)> {
    let parsed = shellgate::parse::parse(text, &Limits::default());
    let mut out = Vec::new();
    let lists = parsed.script.items.iter().map(|item| &item.list);
    for list in lists {
        let pipelines =
            std::iter::once(&list.first).chain(list.rest.iter().map(|(_, pipeline)| pipeline));
        for stage in pipelines.flat_map(|pipeline| &pipeline.stages) {
            let CommandKind::Simple(simple) = &stage.command.kind else { continue };
            for word in &simple.words {
                // A word that is an option is no value.
                if let [Part::Literal(own, span)] = word.parts.as_slice()
                    && !own.starts_with('-')
                    && !own.contains(['*', '?', '[', '~', '{', '=', '\\'])
                {
                    out.push((span.start, span.end, own.to_string()));
                }
            }
        }
    }
    out
}

/// Commands for which the law does not hold, and why. What is left out each time is what nearly every
/// use of a value in that place means.
const FORGETFUL: &[&str] = &[
    // `-d "$BODY"` sends a file where the value begins with `@`, `curl "$URL"` reads one where it begins
    // with `file:`.
    "curl ", // A revision names a file of a commit where it holds a colon.
    "git show", "git log",
    // An operand is a package of the module, or a file anywhere.
    "go run",
];

/// A case of the corpus with one of its words as the value of a variable, and that value.
fn with_a_variable(cases: Vec<Case>) -> impl Strategy<Value = (String, String)> {
    (prop::sample::select(cases), any::<prop::sample::Index>(), any::<bool>()).prop_filter_map(
        "it has no plain word",
        |(case, at, quoted)| {
            let words = plain_words(&case.command);
            let (start, end, value) = words.get(at.index(words.len().max(1)))?.clone();
            let place = if quoted { "\"$FORGOTTEN\"" } else { "$FORGOTTEN" };
            let before = case.command.get(..start)?;
            let after = case.command.get(end..)?;
            Some((format!("{before}{place}{after}"), value))
        },
    )
}

#[test]
fn forgetting_a_value_makes_no_verdict_milder_than_ask() {
    let cases: Vec<Case> = cases()
        .unwrap()
        .into_iter()
        .filter(|case| case.branch.is_none() && case.known_gap.is_none())
        .filter(|case| case.shell.is_bash())
        .filter(|case| !FORGETFUL.iter().any(|name| case.command.contains(name)))
        .collect();
    law(2_000, |runner| {
        runner
            .run(&with_a_variable(cases.clone()), |(text, value)| {
                let preset = Preset::Protocol;
                let known = Context {
                    parameters: [("FORGOTTEN".to_owned(), value.clone())].into(),
                    preset,
                    ..Context::default()
                };
                let before = Gate::builtin().classify(&text, &known);
                let after = judge(&text);
                prop_assert!(
                    before.decision < Decision::Ask || after.decision >= Decision::Ask,
                    "{:?} is {} {:?} with {:?} and {} without",
                    text,
                    before.decision.name(),
                    before.labels,
                    value,
                    after.decision.name()
                );
                Ok(())
            })
            .unwrap();
    });
}
