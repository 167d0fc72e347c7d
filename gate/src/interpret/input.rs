//! Builtins that put a line of input, or of arguments, into variables.

use std::collections::BTreeMap;

use super::builtin::{Arguments, number, script};
use super::environ::taint;
use super::flow::{append, scalar};
use super::simple::{Call, is_name};
use super::{Outcome, Runner};
use crate::model::fact::CodePlace;
use crate::model::span::Site;
use crate::model::value::{Field, Piece, Text, Unknown, Value};

impl Runner<'_> {
    pub(super) fn read(&mut self, call: &Call) -> Outcome {
        let arguments = Arguments::read(&call.fields, "adinNptu");
        let descriptor = arguments
            .value('u')
            .and_then(|text| text.exact().and_then(|text| text.parse().ok()))
            .unwrap_or(0);
        let delimiter = match arguments.value('d') {
            Some(text) => text.exact().and_then(|text| text.chars().next()).unwrap_or('\0'),
            None => '\n',
        };
        let limited = arguments.has('n') || arguments.has('N');
        let (mut line, known, status) = match self.take_line(descriptor, delimiter) {
            Some((line, known)) => (line, known, known.then_some(true)),
            None => (Text::empty(), true, Some(false)),
        };
        if limited {
            line = Text::unknown(taint_of_input(&line));
        }
        let raw = arguments.has('r');
        if !raw && line.prefix().contains('\\') {
            line = line
                .pieces()
                .iter()
                .map(|piece| match piece {
                    Piece::Literal(literal) => Piece::Literal(unescape(literal).into()),
                    other => other.clone(),
                })
                .collect();
        }
        let separators = call
            .prefix
            .iter()
            .rev()
            .find(|(name, _)| name == "IFS")
            .map(|(_, value)| value.clone())
            .or_else(|| match self.state.variable("IFS")?.value() {
                Value::Unset => None,
                value => Some(scalar(&value)),
            })
            .unwrap_or_else(|| Text::literal(" \t\n"));
        let separators = separators.exact().map(str::to_owned);
        if let Some(array) = arguments.value('a') {
            let name = self.array_name(&array, &line, call.site);
            let (elements, open) = match (line.exact(), &separators) {
                (Some(line), Some(separators)) => {
                    let parts = split(line, separators, usize::MAX);
                    let elements = (0i64..).zip(parts.into_iter().map(Text::literal)).collect();
                    (elements, false)
                }
                _ => ([(0, Text::unknown(taint_of_input(&line)))].into(), true),
            };
            if let Some(name) = name {
                self.assign_value(name, Value::Indexed { elements, open }, call.site);
            }
            return Outcome { status, ..Outcome::default() };
        }
        let mut names: Vec<Text> =
            arguments.operands.iter().map(|(_, field)| field.text.clone()).collect();
        if names.is_empty() {
            names.push(Text::literal("REPLY"));
        }
        let values: Vec<Text> = match (line.exact(), &separators) {
            (Some(line), Some(separators)) if known => {
                let mut parts = split(line, separators, names.len())
                    .into_iter()
                    .map(Text::literal)
                    .collect::<Vec<_>>();
                parts.resize(names.len(), Text::empty());
                parts
            }
            _ if names.len() == 1 && !line.is_empty() => vec![line.clone()],
            _ => vec![Text::unknown(taint_of_input(&line)); names.len()],
        };
        for (name, value) in names.iter().zip(values) {
            self.assign_operand(name, value, call.site);
        }
        // Where there was no line, the variables are empty and it fails.
        let failed = (!known).then(|| {
            let mut failed = self.state.clone();
            for name in names.iter().filter_map(Text::exact).filter(|name| is_name(name)) {
                let nothing = Value::Scalar(Text::empty());
                let values = &mut failed.variable_mut(name).values;
                if !values.contains(&nothing) {
                    values.push(nothing);
                }
            }
            Box::new(failed)
        });
        Outcome { status, failed, ..Outcome::default() }
    }

    pub(super) fn mapfile(&mut self, call: &Call, follows: bool) {
        let arguments = Arguments::read(&call.fields, "dnOsuCc");
        if let Some(mut code) = arguments.value('C').filter(|_| !follows) {
            // The index and the line follow as words.
            code.push_str(" ");
            code.push(Piece::Unknown(Unknown::Input));
            let carried = script(code, CodePlace::Option, call.site);
            self.follow_here(carried, call);
        }
        let operand = arguments.operands.first().map(|(_, field)| *field);
        let array = operand.map_or_else(|| Text::literal("MAPFILE"), |own| own.text.clone());
        let lines = self.stdin().text().cloned().unwrap_or_else(|| Text::unknown(Unknown::Input));
        let name = self.array_name(&array, &lines, call.site);
        let keeps = !arguments.has('t');
        let descriptor = arguments
            .value('u')
            .and_then(|text| text.exact().and_then(|text| text.parse().ok()))
            .unwrap_or(0);
        let mut elements = BTreeMap::new();
        let mut open = false;
        let mut next = 0i64;
        while let Some((mut line, known)) = self.take_line(descriptor, '\n') {
            if elements.len() >= self.limits.fields {
                open = true;
                break;
            }
            if !known {
                open = true;
                let named = line.pieces().iter().all(|piece| match piece {
                    Piece::Unknown(cause) => cause.is_below(),
                    _ => true,
                });
                let line = if named { line } else { Text::unknown(taint_of_input(&line)) };
                elements.insert(next, line);
                break;
            }
            if keeps {
                line.push_str("\n");
            }
            elements.insert(next, line);
            next = next.saturating_add(1);
        }
        if let Some(name) = name {
            self.assign_value(name, Value::Indexed { elements, open }, call.site);
        }
    }

    /// The name of the array that gets these lines. Where it is not known, any array may get them, and one of
    /// integers evaluates them.
    fn array_name<'t>(&mut self, array: &'t Text, lines: &Text, site: Site) -> Option<&'t str> {
        let name = array.exact();
        if name.is_none() {
            self.name_operand(array, site.span);
            self.value_code(lines.clone(), site.span);
        }
        name
    }

    /// `printf -v NAME FORMAT ...`
    pub(super) fn printf(&mut self, call: &Call) {
        let Some(option) = call.fields.get(1) else { return };
        let Some(rest) = option.exact().and_then(|text| text.strip_prefix("-v")) else { return };
        let (name, skip) = if rest.is_empty() {
            (call.fields.get(2).map(|field| field.text.clone()), 3)
        } else {
            (Some(Text::literal(rest)), 2)
        };
        let Some(name) = name else { return };
        let mut fields: Vec<Field> = call.fields.iter().take(1).cloned().collect();
        fields.extend(call.fields.iter().skip(skip).cloned());
        let value = self
            .produced("printf", &fields, &crate::model::trace::Stream::Inherited)
            .unwrap_or_else(|| {
                let mut all = Text::empty();
                for field in &fields {
                    append(&mut all, &field.text, self.limits.value_bytes);
                }
                Text::unknown(taint(&all))
            });
        self.assign_operand(&name, value, call.site);
    }

    pub(super) fn getopts(&mut self, call: &Call) {
        if let Some(name) = call.fields.get(2) {
            let cause = Unknown::Parameter(name.exact().unwrap_or_default().into());
            self.assign_operand(&name.text, Text::unknown(cause), call.site);
        }
        let argument = Text::unknown(Unknown::Parameter("OPTARG".into()));
        self.assign_text("OPTARG", None, argument, false, call.site);
        self.assign_text("OPTIND", None, number(), false, call.site);
    }
}

/// Why what was read is unknown.
fn taint_of_input(line: &Text) -> Unknown {
    match taint(line) {
        Unknown::Network => Unknown::Network,
        _ => Unknown::Input,
    }
}

/// Removes the backslashes that `read` without `-r` removes.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\\' {
            out.extend(characters.next());
        } else {
            out.push(character);
        }
    }
    out
}

/// Splits a line as `read` does: at most `count` parts, the last one holds the rest.
fn split(line: &str, separators: &str, count: usize) -> Vec<String> {
    let blank = |c: char| separators.contains(c) && matches!(c, ' ' | '\t' | '\n');
    let mut parts = Vec::new();
    let mut rest = line.trim_start_matches(blank).trim_end_matches(blank);
    while !rest.is_empty() {
        if parts.len() + 1 >= count {
            parts.push(rest.to_owned());
            break;
        }
        if let Some(at) = rest.find(|c| separators.contains(c)) {
            parts.push(rest.get(..at).unwrap_or_default().to_owned());
            let behind = rest.get(at..).unwrap_or_default().trim_start_matches(blank);
            let mut characters = behind.chars();
            rest = match characters.next() {
                Some(c) if separators.contains(c) => characters.as_str().trim_start_matches(blank),
                _ => behind,
            };
        } else {
            parts.push(rest.to_owned());
            break;
        }
    }
    parts
}
