//! Shells: options in clusters with `-` and `+`, the text behind `-c`, a script, standard input
//! (Bash manual 6.1; POSIX.1-2024 XCU sh).

use crate::model::fact::CodePlace;
use crate::model::trace::{Carried, Doubt, OptionUse, Reading};
use crate::model::utility::{CarryScope, Language, OptionSpec, ValueArity};
use crate::model::value::{Field, Truth};
use crate::resolve::carry::script_file;
use crate::resolve::grammar::Scene;

/// Replaces what the tables read: in a shell, values of `o` and `O` stand behind the whole cluster
/// and the text of `-c` is the first operand.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    let mut shell = Shell { scene, reading: Reading::default(), at: 0, may_be_code: false };
    carried.clear();
    while let Some(field) = scene.fields.get(shell.at) {
        if !shell.option(field, carried) {
            break;
        }
    }
    let rest: Vec<Field> = scene.fields.iter().skip(shell.at).cloned().collect();
    let may_be_code = shell.may_be_code;
    let mut result = shell.reading;
    let given = |name: &str| result.option(name).is_some();
    let checks = given("-n") && !given("+n") && !given("-i");
    let (code, input) = (given("-c"), given("-s"));
    if !checks {
        result.options.retain(|option| option.name != "-n");
    }
    let mut words = rest.into_iter();
    if code {
        let text = words.next();
        result.operands = words.collect();
        match text {
            Some(text) if !checks => carried.push(code_text(&text, result.operands.clone())),
            Some(_) => {}
            None => result.doubts.push(Doubt::Value("-c".into(), scene.site)),
        }
    } else {
        result.operands = words.collect();
        match result.operands.split_first() {
            _ if checks => {}
            Some((path, parameters)) if !input => {
                if may_be_code {
                    carried.push(code_text(path, parameters.to_vec()));
                }
                script_file(path, Language::Shell, parameters.to_vec(), false, carried);
            }
            _ => carried.push(Carried::Input {
                language: Language::Shell,
                parameters: result.operands.clone(),
                scope: CarryScope::Local,
                site: scene.site,
            }),
        }
    }
    *reading = result;
}

/// The text behind `-c`, with the parameters of its shell.
fn code_text(text: &Field, parameters: Vec<Field>) -> Carried {
    Carried::Script {
        text: text.text.clone(),
        parameters,
        place: CodePlace::Option,
        scope: CarryScope::Local,
        directory: None,
        same_shell: false,
        site: text.site,
    }
}

struct Shell<'a> {
    scene: &'a Scene<'a>,
    reading: Reading,
    at: usize,
    /// Whether a word of options has letters that are not known, of which `c` may be one.
    may_be_code: bool,
}

impl<'a> Shell<'a> {
    /// Reads one word that may be an option; false where options have ended before it.
    fn option(&mut self, field: &Field, carried: &mut Vec<Carried>) -> bool {
        let prefix = field.text.prefix();
        if prefix.is_empty() && !field.text.is_empty() {
            self.reading.doubts.push(Doubt::Word(field.site));
            return false;
        }
        if !prefix.starts_with(['-', '+']) || field.exact() == Some("+") {
            return false;
        }
        self.at += 1;
        if matches!(field.exact(), Some("-" | "--")) {
            // The operands begin behind it.
            return false;
        }
        let long = match prefix.strip_prefix("--") {
            Some(_) => prefix.to_owned(),
            None => format!("-{prefix}"),
        };
        let (long, attached) = match long.split_once('=') {
            Some((name, _)) => (name.to_owned(), prefix.find('=')),
            None => (long, None),
        };
        if long.len() > 3
            && let Some(spec) = self.find(&long)
        {
            let value = match spec.value {
                ValueArity::None => None,
                _ => match attached {
                    Some(at) => Some(crate::resolve::read::part(field, at + 1)),
                    None => self.next(),
                },
            };
            if let (Some(value), "script") = (&value, spec.kind.name()) {
                carried.push(Carried::File {
                    path: value.clone(),
                    language: Language::Shell,
                    parameters: Vec::new(),
                    same_shell: false,
                });
            }
            let name = spec.names.first().cloned().unwrap_or_default();
            self.record(&name, value, field);
            return true;
        }
        if prefix.starts_with("--") {
            self.reading.doubts.push(Doubt::Option(prefix.into(), field.site));
            return true;
        }
        self.cluster(field);
        true
    }

    fn cluster(&mut self, field: &Field) {
        let prefix = field.text.prefix();
        let sign = prefix.chars().next().unwrap_or('-');
        let mut waiting = Vec::new();
        for letter in prefix.chars().skip(1) {
            let name = format!("{sign}{letter}");
            let minus = format!("-{letter}");
            match self.find(&name).or_else(|| self.find(&minus)) {
                Some(spec) if spec.value == ValueArity::None || letter == 'c' => {
                    self.record(&name, None, field);
                }
                Some(_) => waiting.push(name),
                None => self.reading.doubts.push(Doubt::Option(name.into(), field.site)),
            }
        }
        if !field.text.is_exact() {
            self.reading.doubts.push(Doubt::Word(field.site));
            self.may_be_code = true;
        }
        for name in waiting {
            let value = self.next();
            self.record(&name, value, field);
        }
    }

    fn find(&self, name: &str) -> Option<&'a OptionSpec> {
        self.scene.utility.options.iter().find(|option| option.names.iter().any(|own| own == name))
    }

    fn next(&mut self) -> Option<Field> {
        let value = self.scene.fields.get(self.at).cloned();
        if value.is_some() {
            self.at += 1;
        }
        value
    }

    fn record(&mut self, name: &str, value: Option<Field>, field: &Field) {
        self.reading.options.push(OptionUse {
            name: name.into(),
            spelled: name.into(),
            value,
            site: field.site,
            certain: Truth::Yes,
            depth: usize::MAX,
        });
    }
}
