//! Words against the fields they become. Cases live in `corpus/words`.
//!
//! A case has `words`, read as the operands of one command, and `expect`, each field as
//! `Text::display` shows it: `…` stands for what is not known, a pattern for itself. `many` lists the
//! fields that may become several. In the state, names with capitals that nothing sets are unknown
//! and others unset; `parts` gives values known in part, `?X` being the unknown value of `X`.

use std::collections::BTreeMap;

use serde::Deserialize;
use shellgate::expand::{Environ, fields, pathname};
use shellgate::model::context::Limits;
use shellgate::model::script::{
    CommandKind, LimitKind, Part, ProcessSubstitution, Substitution, Word,
};
use shellgate::model::span::{SourceId, Span};
use shellgate::model::value::{Arity, Piece, Text, Unknown, Value};
use shellgate::parse::parse;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    words: String,
    expect: Vec<String>,
    #[serde(default)]
    many: Vec<usize>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    #[serde(default)]
    parts: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    arrays: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    maps: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(default)]
    positional: Vec<String>,
    #[serde(default)]
    open: bool,
    #[serde(default)]
    unset: Vec<String>,
    #[serde(default)]
    unknown: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    options_off: Vec<String>,
    fields: Option<usize>,
    #[serde(default)]
    substitutions: usize,
    #[serde(default)]
    evaluations: usize,
    #[serde(default)]
    prompts: usize,
    #[serde(default)]
    limits: usize,
    /// Whether bash gives these very fields; false where something is not known.
    #[serde(default)]
    #[expect(dead_code, reason = "read by the comparison with bash")]
    judge: Option<bool>,
}

#[derive(Default)]
struct State {
    values: BTreeMap<String, Value>,
    positional: Vec<Text>,
    open: bool,
    options: Vec<String>,
    fields: usize,
    substitutions: usize,
    evaluations: usize,
    prompts: usize,
    limits: usize,
}

impl State {
    fn new(case: &Case) -> Self {
        let mut values = BTreeMap::new();
        for (name, text) in &case.parameters {
            values.insert(name.clone(), Value::literal(text.as_str()));
        }
        for (name, pieces) in &case.parts {
            let text = pieces.iter().map(|piece| match piece.strip_prefix('?') {
                Some(name) => Piece::Unknown(Unknown::Parameter(name.into())),
                None => Piece::Literal(piece.as_str().into()),
            });
            values.insert(name.clone(), Value::Scalar(text.collect()));
        }
        for (name, items) in &case.arrays {
            let elements = (0..).zip(items.iter().map(|item| Text::literal(item.as_str())));
            let elements = elements.collect();
            values.insert(name.clone(), Value::Indexed { elements, open: false });
        }
        for (name, items) in &case.maps {
            let elements = items
                .iter()
                .map(|(key, item)| (key.clone(), Text::literal(item.as_str())))
                .collect();
            values.insert(name.clone(), Value::Associative { elements, open: false });
        }
        for name in &case.unset {
            values.insert(name.clone(), Value::Unset);
        }
        for name in &case.unknown {
            let text = Text::unknown(Unknown::Parameter(format!("{name}_FROM_OUTSIDE").into()));
            values.insert(name.clone(), Value::Scalar(text));
        }
        let mut options = case.options.clone();
        options.push("braceexpand".into());
        options.retain(|option| !case.options_off.contains(option));
        Self {
            values,
            positional: case.positional.iter().map(|item| Text::literal(item.as_str())).collect(),
            open: case.open,
            options,
            fields: case.fields.unwrap_or(4096),
            ..Self::default()
        }
    }
}

impl Environ for State {
    fn source(&self) -> SourceId {
        SourceId::COMMAND
    }

    fn parameter(&self, name: &str) -> Value {
        if let Some(value) = self.values.get(name) {
            return value.clone();
        }
        if let Some(place) = name.parse::<usize>().ok().and_then(|place| place.checked_sub(1)) {
            return match self.positional.get(place) {
                Some(text) => Value::Scalar(text.clone()),
                None if self.open => Value::Unknown(Unknown::Parameter(name.into())),
                None => Value::Unset,
            };
        }
        if name.starts_with(|char: char| char.is_ascii_lowercase()) {
            Value::Unset
        } else {
            Value::Unknown(Unknown::Parameter(name.into()))
        }
    }

    fn positional(&self) -> (Vec<Text>, bool) {
        (self.positional.clone(), self.open)
    }

    fn names(&self, _prefix: &str) -> Option<Vec<String>> {
        None
    }

    fn assign(&mut self, name: &str, subscript: Option<&Text>, value: Text) {
        let index = subscript.and_then(Text::exact).and_then(|text| text.parse().ok());
        match (self.values.get_mut(name), index) {
            (Some(Value::Indexed { elements, .. }), index) => {
                elements.insert(index.unwrap_or(0), value);
            }
            _ => {
                self.values.insert(name.into(), Value::Scalar(value));
            }
        }
    }

    fn substitute(&mut self, _substitution: &Substitution, _span: Span) -> Text {
        self.substitutions += 1;
        Text::unknown(Unknown::Output)
    }

    fn process(&mut self, _process: &ProcessSubstitution, _span: Span) -> Text {
        self.substitutions += 1;
        Text::unknown(Unknown::ProcessPath)
    }

    fn prompt(&mut self, _text: &Text, _span: Span) -> Text {
        self.prompts += 1;
        Text::unknown(Unknown::Output)
    }

    fn evaluate(&mut self, _known: Option<&str>, _cause: Unknown, _span: Span) {
        self.evaluations += 1;
    }

    fn home(&self, user: Option<&str>) -> Text {
        match user {
            None => Text::literal("/home/dev"),
            Some(_) => Text::unknown(Unknown::NotModelled("the home of another user")),
        }
    }

    fn option(&self, name: &str) -> bool {
        self.options.iter().any(|option| option == name)
    }

    fn limit(&mut self, _kind: LimitKind, _span: Span) {
        self.limits += 1;
    }

    fn limits(&self) -> (usize, usize) {
        (self.fields, Limits::default().value_bytes)
    }
}

fn operands(words: &str) -> Result<Vec<Word>, String> {
    let parsed = parse(&format!(": {words}"), &Limits::default());
    if !parsed.gaps.is_empty() {
        return Err(format!("{words}: {:?}\n", parsed.gaps));
    }
    let stages = parsed.script.items.into_iter().next().map(|item| item.list.first.stages);
    match stages.and_then(|stages| stages.into_iter().next()).map(|stage| stage.command.kind) {
        Some(CommandKind::Simple(simple)) => Ok(simple.words.into_iter().skip(1).collect()),
        other => Err(format!("{words} is no simple command: {other:?}\n")),
    }
}

fn check(case: &Case) -> Result<(), String> {
    let mut state = State::new(case);
    let found: Vec<_> =
        operands(&case.words)?.iter().flat_map(|word| fields(word, &mut state)).collect();
    let texts: Vec<String> = found.iter().map(|field| field.text.display()).collect();
    let many: Vec<usize> = (0..)
        .zip(&found)
        .filter(|(_, field)| field.arity == Arity::Many)
        .map(|(at, _)| at)
        .collect();
    let counts = [state.substitutions, state.evaluations, state.prompts, state.limits];
    let wanted = [case.substitutions, case.evaluations, case.prompts, case.limits];
    if texts == case.expect && many == case.many && counts == wanted {
        return Ok(());
    }
    Err(format!(
        "{}: {}\n  want {:?} many {:?} counts {wanted:?}\n  have {texts:?} many {many:?} counts {counts:?}\n",
        case.name, case.words, case.expect, case.many
    ))
}

#[test]
fn words_become_the_fields_bash_gives() {
    let only = std::env::var("CASE").unwrap_or_default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/words");
    let mut failures = String::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let file: File =
            toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for case in file.case.iter().filter(|case| case.name.contains(&only)) {
            count += 1;
            if let Err(failure) = check(case) {
                failures.push_str(&failure);
            }
        }
    }
    assert!(count > 0, "no case is named like `{only}`");
    assert!(failures.is_empty(), "\n{failures}");
}

/// A word of one unquoted text, as large as the gate reads at all.
fn unquoted(text: String) -> Word {
    let span = Span::new(0, text.len());
    Word { parts: [Part::Literal(text.into(), span)].into(), span }
}

#[test]
fn hostile_words_end() {
    let size = 1 << 20;
    let repeated = |unit: &str| unit.repeat(size / unit.len());
    for unit in
        ["{", "{a,", "{1..9}", "{a,b}", "{,}", "[", "[[:", "*", "~:", "@(", "!(", "{..", "x=~:"]
    {
        let case: Case =
            toml::from_str("name = 'hostile'\nwords = ''\nexpect = []\noptions = ['extglob']")
                .unwrap();
        let mut state = State::new(&case);
        let found = fields(&unquoted(repeated(unit)), &mut state);
        assert!(!found.is_empty(), "{unit}");
        let size: usize = found.iter().map(|field| field.text.display().len()).sum();
        assert!(size < 1 << 24, "{unit} gives {size} bytes");
    }
}

#[test]
fn hostile_patterns_end() {
    for (unit, subject) in
        [("*a", "a"), ("?*", "a"), ("[!b]*", "a"), ("+(a|aa)", "a"), ("!(a)", "a")]
    {
        let pattern = pathname::Pattern::parse(&unit.repeat(2000));
        let subject = Text::literal(subject.repeat(1 << 16) + "b");
        pathname::matches(&pattern, &subject);
    }
}
