//! What the reader makes of a text: the commands in it, its gaps, and that no byte is lost.

use proptest::prelude::*;
use serde::Deserialize;
use shellgate::model::context::Limits;
use shellgate::model::script::{
    Assignment, AssignmentValue, Command, CommandKind, Condition, Operation, Part,
    RedirectionTarget, Script, Subscript, SubstitutionForm, Word,
};
use shellgate::model::span::Span;
use shellgate::parse::parse;
use shellgate::print::print;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    command: String,
    #[serde(default)]
    words: Option<Vec<Vec<String>>>,
    #[serde(default)]
    gap: bool,
}

fn cases() -> Vec<(String, Case)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/syntax");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let file: File =
            toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        cases.extend(file.case.into_iter().map(|case| (name.clone(), case)));
    }
    cases
}

#[test]
fn the_words_are_those_bash_would_use() {
    let mut failures = Vec::new();
    for (file, case) in cases() {
        let parsed = parse(&case.command, &Limits::default());
        let words = words_of(&case.command, &parsed.script);
        if let Some(expected) = &case.words
            && *expected != words
        {
            failures
                .push(format!("{file}: {:?}\n  want {expected:?}\n  have {words:?}", case.command));
        }
        if case.gap == parsed.gaps.is_empty() {
            failures.push(format!("{file}: {:?}\n  gaps {:?}", case.command, parsed.gaps));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn printing_gives_the_same_script() {
    let mut failures = Vec::new();
    for (_, case) in cases() {
        if let Err(failure) = round_trip(&case.command) {
            failures.push(failure);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_byte_is_read_once() {
    let mut failures = Vec::new();
    for (_, case) in cases() {
        if let Err(failure) = accounts_for_all(&case.command) {
            failures.push(failure);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn hostile_shapes_cost_little() {
    let size = 1 << 17;
    let shapes = [
        "$(",
        "(",
        "((",
        "$((",
        "${",
        "`",
        "\"",
        "\"$(",
        "<(",
        "{ ",
        "if ",
        "case x in a) ",
        "! ",
        "a|",
        "a&",
        "a=(",
        "a[",
        "<<E ",
        "$(cat <<E\n",
        "'\n",
        "{1..9}",
        "\\\n",
        "[[ ",
        "[[ ( ",
        "f() ",
        "coproc ",
        "echo $(\n",
        "((a) )\n",
        "a=([x ",
        ";",
        "fi;",
        "\u{a0}",
        "*(",
        "${x:-",
        "\"${x:-",
        "function f ",
        "cat <<E\n$(cat <<F\nE\n",
        "$[",
        "for x in ",
        "=(",
        "if a; then ",
    ];
    let reader = std::thread::Builder::new().stack_size(2 << 20);
    let run = move || {
        for shape in shapes {
            let text = shape.repeat(size / shape.len());
            let parsed = parse(&text, &Limits::default());
            assert!(parsed.gaps.len() <= 256, "{shape:?}");
        }
    };
    reader.spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_fault_hides_nothing_behind_it() {
    let table = [
        "echo (\nrm -rf /",
        "echo 'a\nrm -rf /",
        "fi; rm -rf /",
        "if true; then\nrm -rf /",
        "echo $(echo (); rm -rf /",
        "a && ; rm -rf /",
        "rm -rf / ; echo (",
        "( rm -rf / ; echo ( )",
        "case x in a) rm -rf /",
        "f() {\necho (\nrm -rf /\n}",
        "echo ${x\nrm -rf /",
        "cat =(rm -rf /)",
        "sleep 9 &| rm -rf /",
    ];
    for text in table {
        let parsed = parse(text, &Limits::default());
        let words = words_of(text, &parsed.script);
        assert!(!parsed.gaps.is_empty(), "{text:?}");
        let wanted = ["rm", "-rf", "/"];
        assert!(words.iter().any(|words| words[..] == wanted), "{text:?}: {words:?}");
    }
}

/// Pieces that mean something to the shell, to be put together at random.
fn pieces() -> impl Strategy<Value = String> {
    let tokens = [
        "a",
        "echo",
        "rm -rf x",
        " ",
        " ",
        "\n",
        ";",
        "&",
        "&&",
        "||",
        "|",
        "|&",
        "(",
        ")",
        "{ ",
        " }",
        "$(",
        "`",
        "\"",
        "'",
        "$'",
        "$\"",
        "\\",
        "\\\n",
        "#",
        "<<E",
        "<<-'E'",
        "\nE\n",
        "\tE\n",
        ">",
        "<",
        ">>",
        "2>",
        ">&",
        "&>",
        "<<<",
        "<(",
        ">(",
        "${",
        "}",
        ":-",
        "##",
        "[@]",
        "$((",
        "))",
        "((",
        "[[ ",
        " ]]",
        "==",
        "=~",
        "if ",
        "then ",
        "else ",
        "fi",
        "for x in ",
        "do ",
        "done",
        "while ",
        "case x in ",
        ";;",
        "esac",
        "x=",
        "a=(",
        "[0]",
        "+=",
        "*",
        "?",
        "@(",
        "!",
        "! ",
        "time ",
        "coproc ",
        "function f ",
        "f()",
        "{fd}>",
        "$x",
        "$",
        "$[",
        "]",
        "é",
        "\u{a0}",
        "\r",
        "~",
        "declare ",
        "in ",
        "select x ",
        "${!x}",
        "${x/a/b}",
        "${x:1:2}",
    ];
    prop::collection::vec(prop::sample::select(tokens.to_vec()), 0..24).prop_map(|v| v.concat())
}

/// A line of the corpus with a piece put in, taken out or doubled.
fn mutated() -> impl Strategy<Value = String> {
    let lines: Vec<String> = cases().into_iter().map(|(_, case)| case.command).collect();
    (
        prop::sample::select(lines),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        pieces(),
        0..4u8,
    )
        .prop_map(|(line, from, to, piece, kind)| {
            let places: Vec<usize> =
                line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
            let (a, b) = (places[from.index(places.len())], places[to.index(places.len())]);
            let (a, b) = (a.min(b), a.max(b));
            let (start, behind) = line.split_at(a);
            let (middle, end) = behind.split_at(b - a);
            match kind {
                0 => format!("{start}{piece}{behind}"),
                1 => format!("{start}{end}"),
                2 => format!("{start}{middle}{middle}{end}"),
                _ => line,
            }
        })
}

proptest! {
    #![proptest_config(crate::tries(256))]

    #[test]
    fn reading_is_total(text in any::<String>()) {
        let _ = parse(&text, &Limits::default());
    }

    #[test]
    fn pieces_are_read_and_printed(text in pieces()) {
        round_trip(&text).map_err(TestCaseError::fail)?;
        accounts_for_all(&text).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn mutated_lines_are_read_and_printed(text in mutated()) {
        round_trip(&text).map_err(TestCaseError::fail)?;
        accounts_for_all(&text).map_err(TestCaseError::fail)?;
    }
}

fn round_trip(text: &str) -> Result<(), String> {
    let parsed = parse(text, &Limits::default());
    if !parsed.gaps.is_empty() {
        return Ok(());
    }
    let printed = print(&parsed.script);
    let again = parse(&printed, &Limits::default());
    let (first, second) = (shape(&parsed.script), shape(&again.script));
    if again.gaps.is_empty() && first == second {
        return Ok(());
    }
    Err(format!("{text:?}\n  printed {printed:?}\n  gaps {:?}\n  {first}\n  {second}", again.gaps))
}

/// A script without its spans.
fn shape(script: &Script) -> String {
    let mut shape = String::new();
    let debug = format!("{script:?}");
    let mut rest = debug.as_str();
    while let Some((before, span)) = rest.split_once("Span { start: ") {
        shape.push_str(before);
        rest = span.split_once('}').map_or("", |(_, rest)| rest);
    }
    shape.push_str(rest);
    shape
}

/// Checks of a text without gaps that the parts of a word touch and fill it, that only blanks stand
/// between the words of a simple command, and that outside of commands, comments and here-documents
/// there are only separators.
fn accounts_for_all(text: &str) -> Result<(), String> {
    let parsed = parse(text, &Limits::default());
    if !parsed.gaps.is_empty() {
        return Ok(());
    }
    let mut walk = Walk { text: text.to_owned(), ..Walk::default() };
    walk.script(&parsed.script);
    let mut seen = vec![false; text.len()];
    let items = parsed.script.items.iter().map(|item| item.span);
    for span in items.chain(parsed.comments.iter().copied()).chain(walk.documents) {
        seen[span.start..span.end].fill(true);
    }
    let left: String = text.char_indices().filter(|(at, _)| !seen[*at]).map(|(_, c)| c).collect();
    if !left.chars().all(|c| " \t\n;&\\".contains(c)) {
        walk.faults.push(format!("{left:?} is in no part"));
    }
    if walk.faults.is_empty() { Ok(()) } else { Err(format!("{text:?}: {:?}", walk.faults)) }
}

/// The words of the simple commands, in source order.
fn words_of(text: &str, script: &Script) -> Vec<Vec<String>> {
    let mut walk = Walk { text: text.to_owned(), ..Walk::default() };
    walk.script(script);
    walk.commands.sort_by_key(|(at, _)| *at);
    walk.commands.into_iter().map(|(_, words)| words).collect()
}

#[derive(Default)]
struct Walk {
    text: String,
    commands: Vec<(usize, Vec<String>)>,
    documents: Vec<Span>,
    faults: Vec<String>,
    /// Inside text whose bytes are not those of the source in a row.
    loose: bool,
}

impl Walk {
    fn script(&mut self, script: &Script) {
        for item in &script.items {
            let rest = item.list.rest.iter().map(|(_, pipeline)| pipeline);
            for pipeline in std::iter::once(&item.list.first).chain(rest) {
                for stage in &pipeline.stages {
                    self.command(&stage.command);
                }
            }
        }
    }

    fn command(&mut self, command: &Command) {
        match &command.kind {
            CommandKind::Simple(simple) => {
                if !simple.words.is_empty() {
                    let words = simple.words.iter().map(|word| self.source(word.span)).collect();
                    self.commands.push((command.span.start, words));
                }
                let mut spans: Vec<Span> = simple.assignments.iter().map(|a| a.span).collect();
                spans.extend(simple.words.iter().map(|word| word.span));
                spans.extend(command.redirections.iter().map(|redirection| redirection.span));
                spans.sort_unstable();
                self.row(command.span, &spans, " \t");
                simple.assignments.iter().for_each(|assignment| self.assignment(assignment));
                self.words(&simple.words);
            }
            CommandKind::Subshell(body) | CommandKind::Group(body) => self.script(body),
            CommandKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.script(condition);
                    self.script(body);
                }
                if let Some(body) = otherwise {
                    self.script(body);
                }
            }
            CommandKind::Loop { condition, body, .. } => {
                self.script(condition);
                self.script(body);
            }
            CommandKind::For { words, body, .. } => {
                self.words(words.as_deref().unwrap_or_default());
                self.script(body);
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                self.words(expressions.as_slice());
                self.script(body);
            }
            CommandKind::Case { subject, arms } => {
                self.word(subject);
                for arm in arms {
                    self.words(&arm.patterns);
                    self.script(&arm.body);
                }
            }
            CommandKind::Function { body, .. } => self.command(body),
            CommandKind::Coprocess { body, .. } => self.command(body),
            CommandKind::Arithmetic(word) => self.word(word),
            CommandKind::Conditional(condition) => self.condition(condition),
        }
        for redirection in &command.redirections {
            match &redirection.target {
                RedirectionTarget::Word(word) => self.word(word),
                RedirectionTarget::HereDocument(document) => {
                    let end = document.body.span.end;
                    let rest = self.text.get(end..).unwrap_or_default();
                    let line = rest.find('\n').map_or(rest.len(), |at| at + 1);
                    self.documents.push(Span::new(document.body.span.start, end + line));
                    let loose = std::mem::replace(&mut self.loose, true);
                    self.parts(&document.body.parts);
                    self.loose = loose;
                }
            }
        }
    }

    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Word(word) | Condition::Unary(_, word) => self.word(word),
            Condition::Binary(left, _, right) => {
                self.word(left);
                self.word(right);
            }
            Condition::Not(inner) => self.condition(inner),
            Condition::And(left, right) | Condition::Or(left, right) => {
                self.condition(left);
                self.condition(right);
            }
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        assignment.subscript.iter().for_each(|word| self.word(word));
        match &assignment.value {
            AssignmentValue::Scalar(word) => self.word(word),
            AssignmentValue::Array(elements) => {
                for element in elements {
                    element.subscript.iter().for_each(|word| self.word(word));
                    self.word(&element.value);
                }
            }
        }
    }

    fn words(&mut self, words: &[Word]) {
        for word in words {
            self.word(word);
        }
    }

    fn word(&mut self, word: &Word) {
        let spans: Vec<Span> = word.parts.iter().map(Part::span).collect();
        self.row(word.span, &spans, "");
        self.parts(&word.parts);
    }

    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Literal(..)
                | Part::Escaped(..)
                | Part::SingleQuoted(..)
                | Part::AnsiQuoted(..) => {}
                Part::DoubleQuoted(inner, _) | Part::LocaleQuoted(inner, _) => self.parts(inner),
                Part::Parameter(parameter, _) => {
                    if let Some(Subscript::Index(word)) = &parameter.subscript {
                        self.word(word);
                    }
                    self.operation(&parameter.operation);
                }
                Part::CommandSubstitution(inner, span)
                    if inner.form == SubstitutionForm::Backquote =>
                {
                    self.backquoted(&inner.script, *span);
                }
                Part::CommandSubstitution(inner, _) => self.script(&inner.script),
                Part::ProcessSubstitution(inner, _) => self.script(&inner.script),
                Part::Arithmetic(word, _) => self.word(word),
                Part::ArrayAssignment(assignment, _) => self.assignment(assignment),
            }
        }
    }

    /// The spans inside backquotes count in the text without its backslashes.
    fn backquoted(&mut self, script: &Script, span: Span) {
        let source = span.of(&self.text);
        let inner = source.strip_prefix('`').and_then(|s| s.strip_suffix('`')).unwrap_or_default();
        let mut text = " ".repeat(span.start + 1);
        let mut rest = inner.chars().peekable();
        while let Some(c) = rest.next() {
            match rest.peek() {
                Some(next @ ('\\' | '`' | '$')) if c == '\\' => {
                    text.push(*next);
                    rest.next();
                }
                _ => text.push(c),
            }
        }
        let outer = std::mem::replace(&mut self.text, text);
        let loose = std::mem::replace(&mut self.loose, true);
        self.script(script);
        self.text = outer;
        self.loose = loose;
    }

    fn operation(&mut self, operation: &Operation) {
        match operation {
            Operation::Default { word, .. }
            | Operation::Assign { word, .. }
            | Operation::Error { word, .. }
            | Operation::Alternative { word, .. }
            | Operation::RemovePrefix { pattern: word, .. }
            | Operation::RemoveSuffix { pattern: word, .. }
            | Operation::Case { pattern: word, .. } => self.word(word),
            Operation::Replace { pattern, replacement, .. } => {
                self.word(pattern);
                self.word(replacement);
            }
            Operation::Substring { offset, length } => {
                self.word(offset);
                if let Some(word) = length {
                    self.word(word);
                }
            }
            _ => {}
        }
    }

    /// Checks that spans follow each other and fill a whole, but for some characters between them.
    fn row(&mut self, whole: Span, spans: &[Span], between: &str) {
        if self.loose {
            return;
        }
        let mut at = whole.start;
        for span in spans.iter().copied().chain([Span::new(whole.end, whole.end)]) {
            let gap = self.text.get(at..span.start).map(|gap| gap.replace("\\\n", ""));
            // A backslash at the very end is dropped.
            let last = span.start == self.text.len();
            let gap = gap.map(|gap| if last { gap.trim_end_matches('\\').to_owned() } else { gap });
            match gap {
                Some(gap) if gap.chars().all(|c| between.contains(c)) => {}
                _ => self.faults.push(format!("between {at} and {}", span.start)),
            }
            at = span.end;
        }
    }

    fn source(&self, span: Span) -> String {
        span.of(&self.text).replace("\\\n", "")
    }
}
