//! Compound commands: branches, loops, conditions.

use super::state::{State, Target};
use super::{Outcome, Runner, flow};
use crate::expand::Mode;
use crate::model::script::{Condition, GapCause, LimitKind, Script, Word};
use crate::model::span::Span;
use crate::model::value::{Arity, Field, Text, Unknown};

/// Passes of a counting loop that are followed one by one.
const COUNTED_PASSES: usize = 64;

impl Runner<'_> {
    pub(super) fn branches(
        &mut self,
        arms: &[(Script, Script)],
        otherwise: Option<&Script>,
    ) -> Outcome {
        self.step(self.state.variables.len() / 64, Span::default());
        let mut joined: Option<State> = None;
        let mut leaves = true;
        let mut add = |runner: &Self, outcome: &Outcome| {
            if outcome.leaves {
                return;
            }
            leaves = false;
            State::gather(&mut joined, runner.state.clone());
        };
        for (condition, body) in arms {
            let outcome = self.script(condition);
            let failed = outcome.failed.map_or_else(|| self.state.clone(), |failed| *failed);
            let outcome = self.script(body);
            self.settle(&outcome);
            add(self, &outcome);
            self.state = failed;
        }
        match otherwise {
            Some(body) => {
                let outcome = self.script(body);
                self.settle(&outcome);
                add(self, &outcome);
            }
            None => add(self, &Outcome::default()),
        }
        if let Some(joined) = joined {
            self.state = joined;
        }
        Outcome { leaves, ..Outcome::default() }
    }

    /// `while`, `until` and the arithmetic `for`.
    pub(super) fn repeat(
        &mut self,
        until: bool,
        mut condition: impl FnMut(&mut Self) -> Outcome,
        update: Option<&Word>,
        body: &Script,
    ) -> Outcome {
        let outer = self.escaped.take();
        let mut ends: Option<State> = None;
        let mut doubtful = 0;
        let mut passes = 0usize;
        loop {
            let before = self.state.clone();
            let left = self.unread();
            let mut outcome = condition(self);
            if until {
                outcome.status = outcome.status.map(|status| !status);
                if let Some(failed) = outcome.failed.take() {
                    let success = std::mem::replace(&mut self.state, *failed);
                    outcome.failed = Some(Box::new(success));
                }
            }
            let consumed = self.unread() < left;
            let end = outcome.failed.map_or_else(|| self.state.clone(), |failed| *failed);
            // A list that reads a known text to its end is followed line by line, and a counting
            // loop pass by pass; any other list is taken to go either way.
            let counts = consumed || (update.is_some() && passes < COUNTED_PASSES);
            let counted = counts && outcome.status == Some(true);
            if outcome.status != Some(true) || !counted {
                State::gather(&mut ends, end);
            }
            if outcome.status == Some(false) && passes > 0 {
                break;
            }
            let outcome_of_body = self.script(body);
            self.settle(&outcome_of_body);
            if let Some(update) = update {
                self.arithmetic(update);
            }
            passes += 1;
            self.again = true;
            if self.exhausted || outcome.status == Some(false) {
                break;
            }
            if !counted {
                doubtful += 1;
                self.join(&before);
                if doubtful >= 2 || self.state == before {
                    break;
                }
                self.state.widen_from(&before);
            }
        }
        if let Some(ends) = ends {
            self.join(&ends);
        }
        if let Some(escaped) = self.escaped.take() {
            self.join(&escaped);
        }
        self.escaped = outer;
        Outcome::default()
    }

    /// Bytes and pieces that standard input still holds, where it is known.
    fn unread(&self) -> usize {
        match self.state.descriptor(0) {
            Target::Input(index) => self.inputs.get(index).map_or(0, |text| {
                text.pieces().len() + text.pieces().iter().map(flow::piece_bytes).sum::<usize>()
            }),
            _ => 0,
        }
    }

    /// `for` and `select` over words.
    pub(super) fn each(
        &mut self,
        select: bool,
        name: &str,
        words: Option<&[Word]>,
        body: &Script,
        span: Span,
    ) -> Outcome {
        let fields: Vec<Field> = if let Some(words) = words {
            let mut fields = Vec::new();
            for word in words {
                let room = self.limits.fields.saturating_sub(fields.len());
                let more = self.word_fields(word);
                if more.len() > room {
                    self.gap(GapCause::Limit(LimitKind::Fields), span);
                }
                fields.extend(more.into_iter().take(room));
            }
            fields
        } else {
            let site = self.site(span);
            let (texts, open) = (*self.state.positional).clone();
            let mut fields: Vec<Field> =
                texts.into_iter().map(|text| Field { text, site, ..Field::default() }).collect();
            if open {
                let text = Text::unknown(Unknown::Parameter("@".into()));
                fields.push(Field { text, arity: Arity::Many, site, quoted: false });
            }
            fields
        };
        let outer = self.escaped.take();
        if fields.is_empty() {
            // Nothing would run; the body counts all the same.
            self.isolated(|runner| {
                let outcome = runner.script(body);
                runner.settle(&outcome);
            });
        }
        let mut seen: Option<State> = None;
        let certain = !select && fields.iter().any(|field| field.arity == Arity::One);
        if !certain {
            seen = Some(self.state.clone());
        }
        for field in &fields {
            if self.exhausted {
                break;
            }
            self.assign_text(name, None, field.text.clone(), false, field.site);
            let outcome = self.script(body);
            self.settle(&outcome);
            self.again = true;
            if select || self.escaped.is_some() || field.arity == Arity::Many {
                let state = self.state.clone();
                State::gather(&mut seen, state);
            }
            if field.arity == Arity::Many && fields.len() == 1 && !self.exhausted {
                // A second pass sees what the first one left behind.
                let outcome = self.script(body);
                self.settle(&outcome);
            }
        }
        if let Some(seen) = seen {
            self.join(&seen);
        }
        if let Some(escaped) = self.escaped.take() {
            self.join(&escaped);
        }
        self.escaped = outer;
        Outcome::default()
    }

    /// `[[ ... ]]`: words are expanded, and some operators evaluate them once more.
    pub(super) fn condition(&mut self, condition: &Condition) {
        if !self.step(1, Span::default()) {
            return;
        }
        match condition {
            Condition::Word(word) => {
                let _ = self.word_text(word, Mode::Conditional);
            }
            Condition::Unary(operator, word) => {
                let text = self.word_text(word, Mode::Conditional);
                if operator == "-v" {
                    self.name_operand(&text, word.span);
                }
            }
            Condition::Binary(left, operator, right) => {
                let first = self.word_text(left, Mode::Conditional);
                if matches!(operator.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") {
                    let second = self.word_text(right, Mode::Conditional);
                    self.number_operand(&first, left.span);
                    self.number_operand(&second, right.span);
                } else {
                    self.word_pattern(right);
                }
            }
            Condition::Not(inner) => {
                self.deeper(Span::default(), |runner| runner.condition(inner));
            }
            Condition::And(left, right) | Condition::Or(left, right) => {
                self.deeper(Span::default(), |runner| {
                    runner.condition(left);
                    runner.condition(right);
                });
            }
        }
    }

    /// `((` that is no expression is two subshells to other shells, and to bash where the brackets
    /// do not close together: a text that begins with the name of a program is followed too.
    pub(super) fn nested_subshells(&mut self, expression: &Word) {
        let Some(source) = self.trace.sources.get(self.source.0 as usize) else { return };
        let text = expression.span.of(&source.text).trim_start_matches(['(', ' ', '\t']);
        let text = text.trim_end_matches([')', ' ', '\t']);
        let names_program = text
            .split_once([' ', '\t'])
            .is_some_and(|(first, _)| self.catalog.find(first).is_some());
        if names_program {
            let text = text.to_owned();
            let site = self.site(expression.span);
            self.isolated(|runner| {
                let outcome = runner.source_text(&text, site);
                runner.settle(&outcome);
            });
        }
    }
}
