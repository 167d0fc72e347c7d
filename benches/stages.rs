//! What each stage costs over the agent corpus, beside a bare parse of the same texts.

use std::fmt::Write as _;
use std::hint::black_box;

use benches::{Bare, compare, tell};
use shellgate::Gate;
use shellgate::derive::derive;
use shellgate::derive::path::Known;
use shellgate::expand::{Environ, fields};
use shellgate::interpret::run_script;
use shellgate::judge::index::Index;
use shellgate::judge::{Scene, decide, hits};
use shellgate::load::builtin::data;
use shellgate::model::context::{Context, Limits};
use shellgate::model::script::{
    Command, CommandKind, LimitKind, ProcessSubstitution, Script, Substitution, Word,
};
use shellgate::model::span::{SourceId, Span};
use shellgate::model::value::{Text, Unknown, Value};
use shellgate::model::walk::{self, Visit};
use shellgate::parse::parse;
use shellgate::resolve::{Surroundings, resolve};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lines = benches::slice("benign/", "agent_")?;
    let (catalog, judgement) = data().ok_or("the built-in data cannot be read")?;
    let known = Known::new(&judgement.knowledge);
    let index = Index::new(&judgement.rules);
    let (context, limits) = (Context::default(), Limits::default());
    let parsed: Vec<_> = lines.iter().map(|line| parse(line, &limits)).collect();
    let traces: Vec<_> = lines
        .iter()
        .zip(&parsed)
        .map(|(line, parsed)| run_script(line, parsed, &context, &catalog, &limits))
        .collect();
    let facts: Vec<_> =
        traces.iter().map(|trace| derive(trace, &catalog, &context, &known)).collect();

    let mut bare = Bare::new()?;
    let mut table =
        String::from("| stage | µs a command | times the bare parse |\n|---|---:|---:|\n");
    let mut stage = |name: &str, run: &mut dyn FnMut()| {
        let pair = compare(15, run, || {
            for line in &lines {
                black_box(bare.parse(line));
            }
        });
        let each = pair.ours.as_secs_f64() * 1e6 / lines.len().max(1) as f64;
        writeln!(table, "| {name} | {each:.1} | {:.2} |", pair.ratio())
    };
    stage("parse and lower, one reading", &mut || {
        for line in &lines {
            drop(black_box(parse(line, &limits)));
        }
    })?;
    let commands: Vec<_> = parsed.iter().map(|parsed| Commands::of(&parsed.script)).collect();
    stage("expand", &mut || {
        let mut outside = Outside;
        for word in commands.iter().flat_map(|commands| &commands.0) {
            drop(black_box(fields(word, &mut outside)));
        }
    })?;
    stage("resolve", &mut || {
        for run in traces.iter().flat_map(|trace| &trace.invocations) {
            let surroundings = Surroundings { environment: &run.environment, input: &run.input };
            drop(black_box(resolve(&run.argv, &surroundings, &catalog)));
        }
    })?;
    stage("interpret, with expand and resolve", &mut || {
        for (line, parsed) in lines.iter().zip(&parsed) {
            drop(black_box(run_script(line, parsed, &context, &catalog, &limits)));
        }
    })?;
    stage("derive", &mut || {
        for trace in &traces {
            drop(black_box(derive(trace, &catalog, &context, &known)));
        }
    })?;
    stage("judge", &mut || {
        for (trace, facts) in traces.iter().zip(&facts) {
            let scene = Scene { trace, facts, catalog: &catalog, context: &context };
            let hits = hits(&judgement.rules, &index, &scene);
            drop(black_box(decide(&judgement.rules, &judgement.labels, &hits, &scene)));
        }
    })?;
    stage("all, by the gate", &mut || {
        for line in &lines {
            drop(black_box(Gate::builtin().classify(line, &context)));
        }
    })?;
    Ok(tell("stage times", &table)?)
}

/// The words of the simple commands of a script.
struct Commands(Vec<Word>);

impl Commands {
    fn of(script: &Script) -> Self {
        let mut commands = Self(Vec::new());
        commands.script(script);
        commands
    }
}

impl Visit for Commands {
    fn command(&mut self, command: &Command) {
        if let CommandKind::Simple(simple) = &command.kind {
            self.0.extend(simple.words.iter().cloned());
        }
        walk::command(self, command);
    }
}

/// A shell of which nothing is known, so that expansion alone is measured.
struct Outside;

impl Environ for Outside {
    fn source(&self) -> SourceId {
        SourceId::COMMAND
    }

    fn parameter(&self, name: &str) -> Value {
        Value::Unknown(Unknown::Parameter(name.into()))
    }

    fn positional(&self) -> (Vec<Text>, bool) {
        (Vec::new(), true)
    }

    fn names(&self, _prefix: &str) -> Option<Vec<String>> {
        None
    }

    fn assign(&mut self, _name: &str, _subscript: Option<&Text>, _value: Text) {}

    fn substitute(&mut self, _substitution: &Substitution, _span: Span) -> Text {
        Text::unknown(Unknown::Output)
    }

    fn process(&mut self, _process: &ProcessSubstitution, _span: Span) -> Text {
        Text::unknown(Unknown::ProcessPath)
    }

    fn prompt(&mut self, _text: &Text, _span: Span) -> Text {
        Text::unknown(Unknown::Output)
    }

    fn evaluate(&mut self, _known: Option<&str>, _cause: Unknown, _span: Span) {}

    fn home(&self, _user: Option<&str>) -> Text {
        Text::literal("/home/dev")
    }

    fn option(&self, name: &str) -> bool {
        name == "braceexpand"
    }

    fn limit(&mut self, _kind: LimitKind, _span: Span) {}

    fn limits(&self) -> (usize, usize) {
        let limits = Limits::default();
        (limits.fields, limits.value_bytes)
    }
}
