//! Assignments: what a variable is given, and what follows from it.

use smallvec::smallvec;

use super::flow::{scalar, text_bytes};
use super::simple::is_name;
use super::variable::{Variable, is_from_network, is_number};
use super::{Runner, environ};
use crate::expand::Mode;
use crate::model::context::Shell;
use crate::model::fact::CodePlace;
use crate::model::script::{Assignment, AssignmentValue, Word};
use crate::model::span::{Site, Span};
use crate::model::trace::Setting;
use crate::model::utility::Language;
use crate::model::value::{Arity, Piece, Str, Text, Unknown, Value};

/// Pieces and bytes of a text that costs no step to assign.
const PLAIN_PIECES: usize = 64;
const PLAIN_BYTES: usize = 255;

/// Elements of an array whose copying costs a step.
const STEP_ELEMENTS: usize = 16;

/// Variables of the shell whose values it evaluates, as those that are declared with `-i` (bash,
/// "Shell Variables"; seen with bash 5.2).
const INTEGERS: &[&str] =
    &["BASHPID", "EPOCHSECONDS", "HISTCMD", "LINENO", "OPTIND", "RANDOM", "SECONDS", "SRANDOM"];

/// An assignment whose words have been expanded.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    pub(super) name: Str,
    subscript: Option<Text>,
    append: bool,
    pub(super) value: Value,
    site: Site,
}

fn is_integer(name: &str) -> bool {
    INTEGERS.contains(&name)
}

impl Runner<'_> {
    /// Expands the words of an assignment.
    pub(super) fn prepare(&mut self, assignment: &Assignment) -> Ready {
        self.prepare_as(assignment, false)
    }

    pub(super) fn prepare_as(&mut self, assignment: &Assignment, associative: bool) -> Ready {
        let associative = associative || self.is_associative(&assignment.name);
        let site = self.site(assignment.span);
        let subscript = assignment.subscript.as_ref().map(|word| self.subscript(word, associative));
        let value = match &assignment.value {
            AssignmentValue::Scalar(word) => Value::Scalar(self.word_text(word, Mode::Assignment)),
            AssignmentValue::Array(elements) => {
                let mut keyed = std::collections::BTreeMap::new();
                let mut indexed = std::collections::BTreeMap::new();
                let mut open = false;
                let mut next = 0i64;
                if assignment.append
                    && let Value::Indexed { elements, open: more } =
                        self.state.variable(&assignment.name).map_or(Value::Unset, Variable::value)
                {
                    next = elements.keys().next_back().map_or(0, |last| last + 1);
                    indexed = elements;
                    open = more;
                }
                for element in elements {
                    match &element.subscript {
                        Some(word) => {
                            let key = self.subscript(word, associative);
                            let text = self.word_text(&element.value, Mode::Assignment);
                            match key.exact() {
                                Some(key) if associative => {
                                    keyed.insert(key.to_owned(), text);
                                }
                                Some(key) => match key.parse() {
                                    Ok(number) => {
                                        indexed.insert(number, text);
                                        next = number.saturating_add(1);
                                    }
                                    Err(_) => open = true,
                                },
                                None => open = true,
                            }
                        }
                        None => {
                            for field in self.word_fields(&element.value) {
                                if indexed.len() >= self.limits.fields {
                                    open = true;
                                    break;
                                }
                                open |= field.arity == Arity::Many;
                                indexed.insert(next, super::carry::first_of(&field));
                                next = next.saturating_add(1);
                            }
                        }
                    }
                }
                self.step((indexed.len() + keyed.len()) / STEP_ELEMENTS, assignment.span);
                if associative {
                    Value::Associative { elements: keyed, open }
                } else {
                    Value::Indexed { elements: indexed, open }
                }
            }
        };
        // An array value that starts from the old elements replaces them.
        let append = assignment.append && !matches!(value, Value::Indexed { .. });
        Ready { name: assignment.name.clone(), subscript, append, value, site }
    }

    pub(super) fn is_associative(&self, name: &str) -> bool {
        self.state.variable(name).is_some_and(|variable| {
            variable.values.iter().any(|value| matches!(value, Value::Associative { .. }))
        })
    }

    fn subscript(&mut self, word: &Word, associative: bool) -> Text {
        if associative {
            return self.word_text(word, Mode::Conditional);
        }
        match self.arithmetic(word) {
            Some(number) => Text::literal(number.to_string()),
            None => Text::unknown(Unknown::Arithmetic),
        }
    }

    /// Stores what [`Self::prepare`] has made.
    pub(super) fn store(&mut self, ready: Ready) {
        let Ready { name, subscript, append, value, site } = ready;
        match value {
            Value::Scalar(text) => {
                self.assign_text(&name, subscript.as_ref(), text, append, site);
            }
            value => self.assign_value(&name, value, site),
        }
    }

    /// The name an assignment to `name` reaches (namerefs).
    pub(super) fn target_of(&self, name: &str) -> String {
        // zsh ties `path` to `PATH`.
        if self.state.shell == Shell::Zsh && name == "path" {
            return "PATH".to_owned();
        }
        let mut name = name.to_owned();
        for _ in 0..8 {
            let next = match self.state.variable(&name) {
                Some(variable) if variable.nameref => {
                    scalar(&variable.value()).exact().unwrap_or_default().to_owned()
                }
                _ => break,
            };
            if next.is_empty() || next == name {
                break;
            }
            name = next;
        }
        name
    }

    /// Assigns an array or an unknown value.
    pub(super) fn assign_value(&mut self, name: &str, value: Value, site: Site) {
        let name = self.target_of(name);
        let exports = self.state.option("allexport");
        let integer = is_integer(&name) || self.state.variable(&name).is_some_and(|v| v.integer);
        let value = if integer { self.numbers(value, site.span) } else { value };
        let variable = self.state.variable_mut(&name);
        variable.values = smallvec![value];
        variable.assigned = true;
        variable.exported |= exports;
        self.noticed(&name, site);
    }

    /// What an integer variable takes of a value: each text is evaluated.
    fn numbers(&mut self, value: Value, span: Span) -> Value {
        let mut number = |text: &Text| match self.number_operand(text, span) {
            Some(number) => Text::literal(number.to_string()),
            None => Text::unknown(Unknown::Arithmetic),
        };
        match value {
            Value::Unset => Value::Unset,
            Value::Scalar(text) => Value::Scalar(number(&text)),
            Value::Indexed { mut elements, open } => {
                if open {
                    number(&Text::unknown(Unknown::Joined));
                }
                for text in elements.values_mut() {
                    *text = number(text);
                }
                Value::Indexed { elements, open }
            }
            Value::Associative { mut elements, open } => {
                if open {
                    number(&Text::unknown(Unknown::Joined));
                }
                for text in elements.values_mut() {
                    *text = number(text);
                }
                Value::Associative { elements, open }
            }
            Value::Unknown(cause) => Value::Scalar(number(&Text::unknown(cause))),
        }
    }

    /// Assigns to the element that a name reference stands for.
    fn assign_element(&mut self, target: &str, text: Text, append: bool, site: Site) {
        self.name_operand(&Text::literal(target), site.span);
        let Some((name, key)) = target.split_once('[') else { return };
        if self.state.variable(name).is_some_and(|variable| variable.nameref) {
            self.value_code(
                Text::unknown(Unknown::NotModelled("a reference to an element")),
                site.span,
            );
            return;
        }
        let key = Text::literal(key.trim_end_matches(']'));
        self.assign_text(name, Some(&key), text, append, site);
    }

    /// Whether a variable has no attribute, is no array, and means nothing to the shell or to programs, so
    /// that an assignment just gives it a value.
    fn is_plain(&self, name: &str) -> bool {
        let known = self.state.variable(name);
        known.is_none_or(|own| {
            let attributes = own.integer || own.upper || own.lower || own.readonly;
            let strings = own
                .values
                .iter()
                .all(|value| !matches!(value, Value::Indexed { .. } | Value::Associative { .. }));
            !attributes && !own.nameref && !own.exported && strings
        }) && is_name(name)
            && !is_integer(name)
            && !matches!(name, "PS4" | "PROMPT_COMMAND" | "path")
            && !self.is_listed_variable(name)
            && !self.state.option("allexport")
    }

    /// Assigns a string, or an element of an array.
    pub(super) fn assign_text(
        &mut self,
        name: &str,
        subscript: Option<&Text>,
        text: Text,
        append: bool,
        site: Site,
    ) {
        if subscript.is_none() && !append && self.is_plain(name) {
            let fits = text.pieces().len() <= PLAIN_PIECES && text_bytes(&text) <= PLAIN_BYTES;
            if fits {
                self.state.put_inner(name, Variable::new(Value::Scalar(text)));
                return;
            }
        }
        let name = self.target_of(name);
        if subscript.is_none() && name.contains('[') {
            self.assign_element(&name, text, append, site);
            return;
        }
        let (integer, upper, lower, readonly) = match self.state.variable(&name) {
            Some(v) => (v.integer, v.upper, v.lower, v.readonly),
            None => (false, false, false, false),
        };
        let integer = integer || is_integer(&name);
        let mut text = text;
        if integer {
            text = match self.number_operand(&text, site.span) {
                // The shell counts on, or gives other numbers.
                Some(number) if name == "OPTIND" || !is_integer(&name) => {
                    Text::literal(number.to_string())
                }
                _ => Text::unknown(Unknown::Arithmetic),
            };
        }
        if upper || lower {
            text = text
                .pieces()
                .iter()
                .map(|piece| match piece {
                    Piece::Literal(literal) if upper => Piece::Literal(literal.to_uppercase()),
                    Piece::Literal(literal) => Piece::Literal(literal.to_lowercase()),
                    other => other.clone(),
                })
                .collect();
        }
        let limit = self.limits.value_bytes;
        let bytes = text_bytes(&text);
        if !self.step(bytes / 256, site.span) || bytes > limit || text.pieces().len() > 64 {
            text = Text::unknown(if is_from_network(&text) {
                Unknown::Network
            } else {
                Unknown::Limit
            });
        }
        let exports = self.state.option("allexport");
        let old = self.state.variable(&name).map(Variable::value);
        let add = |old: Text, text: &Text| {
            if integer {
                match (number(&old), number(text)) {
                    (Some(a), Some(b)) => Text::literal(a.saturating_add(b).to_string()),
                    _ => Text::unknown(Unknown::Arithmetic),
                }
            } else {
                let mut whole = old;
                super::flow::append(&mut whole, text, limit);
                whole
            }
        };
        let value = match (subscript, old) {
            (None, Some(Value::Indexed { mut elements, open })) => {
                let first = elements.entry(0).or_default();
                *first = if append { add(std::mem::take(first), &text) } else { text };
                Value::Indexed { elements, open }
            }
            (None, Some(old)) if append => Value::Scalar(add(scalar(&old), &text)),
            (None, None) if append => {
                Value::Scalar(add(Text::unknown(Unknown::Parameter(name.clone().into())), &text))
            }
            (None, _) => Value::Scalar(text),
            (Some(key), Some(Value::Associative { mut elements, mut open })) => {
                if let Some(key) = key.exact() {
                    let slot = elements.entry(key.to_owned()).or_default();
                    *slot = if append { add(std::mem::take(slot), &text) } else { text };
                } else {
                    // Any element may be the one that changes.
                    elements.clear();
                    open = true;
                }
                Value::Associative { elements, open }
            }
            (Some(key), old) => {
                let (mut elements, mut open) = match old {
                    Some(Value::Indexed { elements, open }) => (elements, open),
                    Some(Value::Scalar(text)) => ([(0, text)].into(), false),
                    Some(Value::Unknown(_)) => (std::collections::BTreeMap::new(), true),
                    _ => (std::collections::BTreeMap::new(), false),
                };
                match number(key) {
                    Some(index) if elements.len() < self.limits.fields => {
                        let slot = elements.entry(index).or_default();
                        *slot = if append { add(std::mem::take(slot), &text) } else { text };
                    }
                    Some(_) => open = true,
                    None => {
                        elements.clear();
                        open = true;
                    }
                }
                Value::Indexed { elements, open }
            }
        };
        let variable = self.state.variable_mut(&name);
        if readonly {
            // bash refuses; what follows may still run with the old value.
            if !variable.values.contains(&value) {
                variable.values.push(value);
            }
        } else {
            variable.values = smallvec![value];
        }
        variable.assigned = true;
        variable.exported |= exports;
        self.noticed(&name, site);
    }

    /// Exports a variable.
    pub(super) fn export(&mut self, name: &str, site: Site) {
        self.state.variable_mut(name).exported = true;
        self.noticed(name, site);
    }

    /// Whether programs run or load what the variable says. Such a variable is usually in the
    /// environment already, so that a plain assignment reaches programs too.
    pub(super) fn is_listed_variable(&self, name: &str) -> bool {
        self.catalog.is_telling_variable(name)
    }

    /// What follows from a new value of a variable.
    fn noticed(&mut self, name: &str, site: Site) {
        let Some(variable) = self.state.variable(name) else { return };
        let listed = self.is_listed_variable(name);
        let value = scalar(&variable.value());
        if variable.assigned && (variable.exported || listed) {
            let setting = Setting {
                name: name.into(),
                value: value.clone(),
                from: self.trace.invocations.len(),
                site,
            };
            let mut recent = self.trace.settings.iter().rev().take(environ::RECENT);
            if !recent.any(|known| *known == setting) {
                self.trace.settings.push(setting);
            }
        }
        match name {
            "PS4" if self.state.option("xtrace") => self.trace_prompt(site),
            "PROMPT_COMMAND" => {
                let texts: Vec<Text> = match variable.value() {
                    Value::Indexed { elements, .. } => elements.into_values().collect(),
                    _ => vec![value],
                };
                for text in texts {
                    self.later_text(&text, site);
                }
            }
            _ => {}
        }
    }

    /// Expands `PS4` as every traced command does.
    pub(super) fn trace_prompt(&mut self, site: Site) {
        use crate::expand::Environ;
        if self.prompting {
            return;
        }
        let Some(variable) = self.state.variable("PS4") else { return };
        let value = scalar(&variable.value());
        if value.exact().is_none_or(|text| text.contains(['$', '`'])) {
            let carrier = self.frame.carrier;
            self.code(Language::Shell, CodePlace::Variable, &value, carrier, site);
        }
        self.prompting = true;
        let _ = self.prompt(&value, site.span);
        self.prompting = false;
    }
}

fn number(text: &Text) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    if !is_number(text) {
        return None;
    }
    text.exact()?.parse().ok()
}
