//! A plain text is read without the tree as a witness. That is right only as long as the tree would
//! have nothing to say about it: on every line of the corpus and on generated ones.

use proptest::prelude::*;
use shellgate::model::context::Limits;
use shellgate::model::script::{Gap, GapCause};
use shellgate::parse::{disagreements, is_plain, parse};
use suite::campaign::corpus;
use suite::case::cases;
use suite::generate::candidate;

/// Whether the text is plain and, if so, what the tree says about it.
fn said(text: &str) -> Option<usize> {
    let limits = Limits { tree_bytes: usize::MAX, ..Limits::default() };
    let parsed = parse(text, &limits);
    let plain = parsed.gaps.is_empty() && is_plain(text, &parsed.script);
    plain.then(|| disagreements(text, &parsed.script, &limits).len())
}

#[test]
fn the_tree_has_nothing_to_say_about_plain_lines_of_the_corpus() {
    let cases = cases().unwrap_or_else(|error| panic!("{error}"));
    let mut plain = 0;
    for case in &cases {
        if let Some(count) = said(&case.command) {
            plain += 1;
            assert_eq!(count, 0, "{}: {}", case.title(), case.command);
        }
    }
    assert!(plain * 5 > cases.len() * 3, "only {plain} of {} lines are plain", cases.len());
}

/// A text that is not plain has lines that are, about which the tree is not asked either.
#[test]
fn plain_lines_of_other_texts_hide_nothing() {
    let cases = cases().unwrap_or_else(|error| panic!("{error}"));
    let limits = Limits::default();
    for case in &cases {
        let parsed = parse(&case.command, &limits);
        let disagrees = |gap: &&Gap| matches!(gap.cause, GapCause::TreeDisagrees(_));
        if parsed.gaps.iter().all(|gap| disagrees(&gap)) {
            let all = disagreements(&case.command, &parsed.script, &limits);
            assert_eq!(parsed.gaps, all, "{}: {}", case.title(), case.command);
        }
    }
}

#[test]
fn the_tree_has_nothing_to_say_about_plain_lines_of_the_campaign() {
    let corpus = corpus();
    for number in 0..4000 {
        let text = candidate(11, number, &corpus).text;
        assert_eq!(said(&text).unwrap_or_default(), 0, "{text:?}");
    }
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z][a-z0-9_./-]{0,6}",
        2 => "--?[a-z]{1,5}(=[a-z.,:]{0,4})?",
        1 => "'[ -&(-~]{0,8}'",
        1 => "\"[ %-\\[\\]-_a-~]{0,8}\"",
        1 => "\"([a-z ]{0,3}|\\$[a-z]{1,2}|\\$\\{[a-z]\\}|\\\\[n.$\"|]){0,4}\"",
        1 => "[a-z/=]{0,2}\\$(\\{[a-zA-Z_]{1,3}\\}|[a-zA-Z_]{1,3}|\\?)[a-z/.:-]{0,3}",
        1 => "[a-z*?~+@%^,:=\\[\\]-]{1,5}",
        1 => "(if|then|do|done|for|in|case|time|function|select|coproc|fi|else)",
        1 => "[A-Z]{1,3}=[a-z]{0,3}",
    ]
}

fn redirection() -> impl Strategy<Value = String> {
    prop_oneof![
        "2>&1",
        "[12]?>{1,2} ?[a-z/]{1,6}",
        "< ?[a-z]{1,4}",
        "&>>? ?[a-z]{1,4}",
        ">\\|[a-z]"
    ]
}

fn command() -> impl Strategy<Value = String> {
    let part = prop_oneof![6 => word(), 1 => redirection()];
    prop::collection::vec(part, 1..6).prop_map(|words| words.join(" "))
}

fn line() -> impl Strategy<Value = String> {
    let joint = prop_oneof![" && ", " \\|\\| ", "; ?", " \\| ", "\\|", " & ", "\n", " \\|& "];
    prop::collection::vec((command(), joint), 1..5)
        .prop_map(|parts| parts.into_iter().flat_map(|(text, joint)| [text, joint]).collect())
}

/// Compound commands around lines: what the scanner knows, in every layout that it knows.
fn compound(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let name = "[a-z]{1,3}";
    let gap = prop_oneof![Just("; "), Just("\n"), Just(" # x y\n")];
    let body = (inner.clone(), gap.clone()).prop_map(|(line, gap)| {
        // What ends a line itself needs no separator.
        let line = line.trim_end_matches([' ', ';', '&', '|', '\n']).to_owned();
        if line.is_empty() { format!(":{gap}") } else { format!("{line}{gap}") }
    });
    let body = body.boxed();
    let list = (word(), word()).prop_map(|(a, b)| format!("{a} {b}")).boxed();
    let pattern = "(\\()?[a-z*?]{1,3}(\\|-[a-z])?";
    let test = prop_oneof![
        "-[fdnz] \"?\\$[a-z]{1,2}\"?",
        "\\$[a-z] == [a-z*.]{1,4}",
        "\"\\$[a-z]\" != '[a-z ]{0,3}' && ! -e [a-z]",
        "\\$[a-z] =~ \\^[a-z]+\\$",
    ];
    let sum = "[a-z]( [+*<-] [0-9a-z]{1,2}){0,2}";
    prop_oneof![
        (body.clone(), body.clone()).prop_map(|(a, b)| format!("if {a}then {b}fi")),
        (body.clone(), body.clone(), body.clone())
            .prop_map(|(a, b, c)| format!("if {a}then {b}else {c}fi")),
        (name, list.clone(), body.clone())
            .prop_map(|(name, list, body)| format!("for {name} in {list}; do {body}done")),
        (body.clone(), body.clone(), "( >[a-z]| < [a-z]| < <\\(ls [a-z]\\))?")
            .prop_map(|(a, b, end)| format!("while {a}do {b}done{end}")),
        (word(), pattern, body.clone(), gap).prop_map(|(word, pattern, body, gap)| {
            let gap = if gap == "; " { " " } else { gap };
            format!("case {word} in{gap}{pattern}) {body};;{gap}*) ;; esac").replace("; ;;", " ;;")
        }),
        (name, body.clone()).prop_map(|(name, body)| format!("{name}() {{ {body}}}")),
        body.clone().prop_map(|body| format!("{{ {body}}}")),
        inner
            .clone()
            .prop_map(|line| format!("({})", line.trim_end_matches([' ', '|', '&', ';', '\n']))),
        inner.clone().prop_map(|line| {
            format!("a=$({}) ls", line.trim_end_matches([' ', '|', '&', ';', '\n']))
        }),
        inner.prop_map(|line| {
            format!("echo \"x $({})\"", line.trim_end_matches([' ', '|', '&', ';', '\n']))
        }),
        test.prop_map(|test| format!("[[ {test} ]]")),
        sum.prop_map(|sum| format!("(( {sum} )) && b=$(( {sum} ))")),
        ("<<-?", "[A-Z]{1,2}", "([a-z ]{0,6}(\\$[a-z]|\\$\\(ls [a-z]\\)|\\{a,b\\})?\n){0,3}")
            .prop_map(|(operator, end, body)| format!("cat {operator}{end} | sort\n{body}{end}\n")),
        ("[A-Z]{1,2}", "([ -~]{0,9}\n){0,3}")
            .prop_map(|(end, body)| format!("cat <<'{end}' >x\n{body}{end}\n")),
        ("[a-z]{1,2}", list)
            .prop_map(|(name, list)| format!("{name}=({list}); ls \"${{{name}[@]}}\"")),
        ("[a-z]", "(:?[-+=?]|##?|%%?|//?|:)", "[a-z*.]{1,3}")
            .prop_map(|(name, operator, word)| format!("ls ${{{name}{operator}{word}}}")),
    ]
    .boxed()
}

proptest! {
    #![proptest_config(crate::tries(2000))]

    #[test]
    fn the_tree_has_nothing_to_say_about_plain_compound_commands(
        text in compound(prop_oneof![3 => line(), 1 => compound(line().boxed())].boxed())
    ) {
        prop_assert!(said(&text).unwrap_or_default() == 0, "{text:?}");
    }

    #[test]
    fn the_tree_has_nothing_to_say_about_plain_generated_lines(text in line()) {
        prop_assert!(said(&text).unwrap_or_default() == 0, "{text:?}");
    }
}
