//! The examples stated in `rules/utilities`: how arguments are read, how lines are decided.

use shellgate::Gate;
use shellgate::load::{Example, Stated, builtin, utilities};
use shellgate::model::span::Site;
use shellgate::model::trace::Stream;
use shellgate::model::value::Field;
use shellgate::resolve::{Surroundings, resolve};
use suite::runner::answer;

#[test]
fn every_stated_reading_holds() {
    let (catalog, examples) = utilities(builtin::utilities()).unwrap_or_else(|e| panic!("{e}"));
    let mut failures = Vec::new();
    for example in &examples {
        let Stated::Reads { options, operands } = &example.stated else { continue };
        let Some(fields) = words(&example.line) else {
            failures.push(format!("{}: a quote is not closed", place(example)));
            continue;
        };
        let surroundings = Surroundings { environment: &[], input: &Stream::Inherited };
        let reading = resolve(&fields, &surroundings, &catalog).reading;
        let got_options: Vec<&str> = reading.options.iter().map(|o| o.name.as_str()).collect();
        let got_operands: Vec<String> = reading.operands.iter().map(|o| o.text.display()).collect();
        if got_options != *options || got_operands != *operands {
            failures.push(format!(
                "{}: read {got_options:?} {got_operands:?}, stated {options:?} {operands:?}",
                place(example)
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_stated_answer_holds() {
    let (_, examples) = utilities(builtin::utilities()).unwrap_or_else(|e| panic!("{e}"));
    let gate = Gate::builtin();
    let mut failures = Vec::new();
    for example in &examples {
        let Stated::Answers { is, labels, preset } = &example.stated else { continue };
        let verdict = answer(gate, &example.line, None, preset.unwrap_or_default());
        let missing = labels.iter().any(|label| !verdict.labels.contains(label));
        if verdict.decision != *is || missing {
            failures.push(format!(
                "{}: {} {:?}, stated {} {labels:?}",
                place(example),
                verdict.decision.name(),
                verdict.labels,
                is.name()
            ));
        }
    }
    assert!(failures.is_empty(), "{} are wrong:\n{}", failures.len(), failures.join("\n"));
}

fn place(example: &Example) -> String {
    format!("{}: {}: `{}`", example.file, example.entry, example.line)
}

/// A line of plain words, some in quotes, as fields.
fn words(line: &str) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ') => fields.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    fields.extend(word);
    let literal = |word| Field::literal(word, Site::default());
    quote.is_none().then(|| fields.into_iter().map(literal).collect())
}
