//! A second opinion on what the words of each command are: the parser of another shell.
//!
//! Where both it and we read a text, the words of all commands outside substitutions must be the same.
//! Its own faults stand in `tests/brush.toml` with a reason each; an entry whose example agrees has
//! had its day and fails.

use std::panic::catch_unwind;

use brush_parser::ast::{
    AndOr, Command as Theirs, CommandPrefixOrSuffixItem as TheirItem, CompoundCommand,
    CompoundList, FunctionBody, SimpleCommand as TheirSimple,
};
use brush_parser::{Parser, ParserOptions};
use regex::Regex;
use serde::Deserialize;
use shellgate::model::context::Limits;
use shellgate::model::script::{Command, CommandKind, Part, Script, Word};
use shellgate::parse::parse;
use suite::campaign::{Structure, corpus, structures};
use suite::generate::candidate;

/// How many generated texts are compared; `BRUSH_COUNT` gives another number.
const COUNT: u64 = 3_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    fault: Vec<Fault>,
}

/// A fault of the other parser.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    /// A name.
    name: String,
    /// What it reads otherwise than bash.
    reason: String,
    /// What a text has that shows the fault.
    shows: String,
    /// A text that shows it.
    example: String,
}

/// What came of one text.
#[derive(PartialEq)]
enum Outcome {
    /// We have a gap.
    Gap,
    /// It does not read the text.
    Unread,
    /// Both have the same words.
    Same,
    /// They differ; ours and theirs.
    Differs(Vec<String>, Vec<String>),
}

fn compare(text: &str) -> Outcome {
    let parsed = parse(text, &Limits::default());
    if !parsed.gaps.is_empty() {
        return Outcome::Gap;
    }
    let source = text.to_owned();
    // It panics on some texts, which says as little as an error.
    let program = catch_unwind(move || {
        let options = ParserOptions::default();
        Parser::new(source.as_bytes(), &options).parse_program().ok()
    });
    let Ok(Some(program)) = program else { return Outcome::Unread };
    let mut ours = Ours { text, out: Vec::new() };
    ours.script(&parsed.script);
    let mut theirs = Vec::new();
    for list in &program.complete_commands {
        their_list(list, &mut theirs);
    }
    if ours.out == theirs { Outcome::Same } else { Outcome::Differs(ours.out, theirs) }
}

/// A word as it is written, without continued lines. It puts what stands inside an expansion together
/// from pieces, so blanks do not count where there is one.
fn plain(word: &str) -> String {
    let word = word.replace("\\\n", "");
    if ["$(", "${", "`"].iter().any(|mark| word.contains(mark)) {
        word.chars().filter(|own| !own.is_whitespace()).collect()
    } else {
        word
    }
}

struct Ours<'t> {
    text: &'t str,
    out: Vec<String>,
}

impl Ours<'_> {
    fn written(&self, word: &Word) -> String {
        plain(self.text.get(word.span.start..word.span.end).unwrap_or_default())
    }

    fn script(&mut self, script: &Script) {
        for item in &script.items {
            let list = &item.list;
            for pipeline in std::iter::once(&list.first).chain(list.rest.iter().map(|(_, own)| own))
            {
                for stage in &pipeline.stages {
                    self.command(&stage.command);
                }
            }
        }
    }

    fn command(&mut self, command: &Command) {
        match &command.kind {
            CommandKind::Simple(simple) => {
                let mut words = Vec::new();
                let mut inner = Vec::new();
                for word in &simple.words {
                    match word.parts.as_slice() {
                        [Part::ArrayAssignment(own, _)] => words.push(format!("{}=", own.name)),
                        [Part::ProcessSubstitution(own, _)] => {
                            words.push("<()".to_owned());
                            inner.push(&own.script);
                        }
                        _ => words.push(self.written(word)),
                    }
                }
                if !words.is_empty() {
                    self.out.push(words.join(" "));
                }
                for script in inner {
                    self.script(script);
                }
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
            CommandKind::For { name, words, body, .. } => {
                let mut line = vec!["for".to_owned(), name.clone()];
                line.extend(words.iter().flatten().map(|word| self.written(word)));
                self.out.push(line.join(" "));
                self.script(body);
            }
            CommandKind::ArithmeticFor { body, .. } => self.script(body),
            CommandKind::Case { subject, arms } => {
                self.out.push(format!("case {}", self.written(subject)));
                for arm in arms {
                    let patterns: Vec<String> =
                        arm.patterns.iter().map(|word| self.written(word)).collect();
                    self.out.push(patterns.join("|"));
                    self.script(&arm.body);
                }
            }
            CommandKind::Function { name, body } => {
                self.out.push(format!("function {name}"));
                self.command(body);
            }
            CommandKind::Coprocess { body, .. } => self.command(body),
            CommandKind::Arithmetic(_) | CommandKind::Conditional(_) => {}
        }
    }
}

fn their_list(list: &CompoundList, out: &mut Vec<String>) {
    for item in &list.0 {
        their_pipeline(&item.0.first.seq, out);
        for next in &item.0.additional {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
            their_pipeline(&pipeline.seq, out);
        }
    }
}

fn their_pipeline(commands: &[Theirs], out: &mut Vec<String>) {
    for command in commands {
        their_command(command, out);
    }
}

fn their_command(command: &Theirs, out: &mut Vec<String>) {
    match command {
        Theirs::Simple(simple) => their_simple(simple, out),
        Theirs::Compound(compound, _) => their_compound(compound, out),
        Theirs::Function(function) => {
            out.push(format!("function {}", function.fname.value));
            let FunctionBody(body, _) = &function.body;
            their_compound(body, out);
        }
        Theirs::ExtendedTest(..) => {}
    }
}

fn their_simple(simple: &TheirSimple, out: &mut Vec<String>) {
    let mut words = Vec::new();
    let mut inner = Vec::new();
    words.extend(simple.word_or_name.iter().map(|word| plain(&word.value)));
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            TheirItem::Word(word) => words.push(plain(&word.value)),
            TheirItem::AssignmentWord(_, word) => {
                let text = plain(&word.value);
                let array = text.find("=(").filter(|at| {
                    text.chars().take(*at).all(|own| own.is_ascii_alphanumeric() || own == '_')
                });
                words.push(array.map_or(text.clone(), |at| text[..=at].to_owned()));
            }
            TheirItem::ProcessSubstitution(_, shell) => {
                words.push("<()".to_owned());
                inner.push(&shell.list);
            }
            TheirItem::IoRedirect(_) => {}
        }
    }
    if !words.is_empty() {
        out.push(words.join(" "));
    }
    for list in inner {
        their_list(list, out);
    }
}

fn their_compound(command: &CompoundCommand, out: &mut Vec<String>) {
    match command {
        CompoundCommand::Arithmetic(_) => {}
        CompoundCommand::ArithmeticForClause(own) => their_list(&own.body.list, out),
        CompoundCommand::BraceGroup(own) => their_list(&own.list, out),
        CompoundCommand::Subshell(own) => their_list(&own.list, out),
        CompoundCommand::ForClause(own) => {
            let mut line = vec!["for".to_owned(), own.variable_name.clone()];
            line.extend(own.values.iter().flatten().map(|word| plain(&word.value)));
            out.push(line.join(" "));
            their_list(&own.body.list, out);
        }
        CompoundCommand::CaseClause(own) => {
            out.push(format!("case {}", plain(&own.value.value)));
            for case in &own.cases {
                let patterns: Vec<String> =
                    case.patterns.iter().map(|word| plain(&word.value)).collect();
                out.push(patterns.join("|"));
                if let Some(body) = &case.cmd {
                    their_list(body, out);
                }
            }
        }
        CompoundCommand::IfClause(own) => {
            their_list(&own.condition, out);
            their_list(&own.then, out);
            for other in own.elses.iter().flatten() {
                if let Some(list) = &other.condition {
                    their_list(list, out);
                }
                their_list(&other.body, out);
            }
        }
        CompoundCommand::WhileClause(own) | CompoundCommand::UntilClause(own) => {
            their_list(&own.0, out);
            their_list(&own.1.list, out);
        }
        CompoundCommand::Coprocess(own) => their_command(&own.body, out),
    }
}

fn faults() -> Vec<(Fault, Regex)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/brush.toml");
    let file: File = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    file.fault
        .into_iter()
        .map(|fault| {
            let shows = Regex::new(&fault.shows).unwrap();
            assert!(!fault.reason.is_empty(), "{} has no reason", fault.name);
            (fault, shows)
        })
        .collect()
}

/// Compares all texts; gives how many were compared.
fn hold(texts: &[String]) -> usize {
    let faults = faults();
    let mut failures = Vec::new();
    let (mut same, mut unread, mut gaps, mut known) = (0, 0, 0, 0);
    for text in texts {
        match compare(text) {
            Outcome::Same => same += 1,
            Outcome::Unread => unread += 1,
            Outcome::Gap => gaps += 1,
            Outcome::Differs(ours, theirs) => {
                if faults.iter().any(|(_, shows)| shows.is_match(text)) {
                    known += 1;
                } else {
                    failures.push(format!("{text:?}\n  ours   {ours:?}\n  theirs {theirs:?}"));
                }
            }
        }
    }
    println!(
        "the same words: {same}, known faults of theirs: {known}, unread by them: {unread}, gaps: {gaps}"
    );
    assert!(failures.is_empty(), "{} differ\n{}", failures.len(), failures.join("\n"));
    same
}

#[test]
fn another_parser_has_the_same_words_in_the_corpus() {
    let lines = corpus();
    assert!(hold(&lines) * 10 > lines.len() * 8);
}

#[test]
fn another_parser_has_the_same_words_in_generated_texts() {
    let lines = corpus();
    let count = std::env::var("BRUSH_COUNT").ok().and_then(|value| value.parse().ok());
    let count = count.unwrap_or(COUNT);
    let texts: Vec<String> =
        (0..count).map(|number| candidate(2026, number, &lines).text).collect();
    assert!(hold(&texts) > 1_000);
}

#[test]
fn the_faults_are_theirs() {
    let Some(sandbox) = crate::bash::sandbox() else { return };
    let examples: Vec<String> = faults().into_iter().map(|(fault, _)| fault.example).collect();
    let outcomes = structures(sandbox, &examples).unwrap();
    for (example, outcome) in examples.iter().zip(outcomes) {
        assert!(
            outcome == Structure::Same,
            "bash reads {example:?} otherwise than we: {outcome:?}"
        );
    }
}

#[test]
fn its_faults_are_still_there() {
    for (fault, shows) in faults() {
        assert!(shows.is_match(&fault.example), "{} does not show in its example", fault.name);
        let differs = matches!(compare(&fault.example), Outcome::Differs(..));
        assert!(differs, "{} is no fault any more", fault.name);
    }
}
