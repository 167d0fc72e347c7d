//! The names of the variables that words use.

use smallvec::SmallVec;

use super::bomb;
use crate::model::script::{
    Assignment, AssignmentValue, Operation, Part, Script, SimpleCommand, Subscript, Word,
};

/// Collects the names of the variables that words use.
#[derive(Default)]
pub(super) struct Names<'a> {
    pub(super) used: SmallVec<[&'a str; 8]>,
    /// Those of them whose being set decides what a word becomes (`${x:-word}`), a few.
    pub(super) tested: SmallVec<[&'a str; 4]>,
    work: usize,
}

impl<'a> Names<'a> {
    pub(super) fn simple(&mut self, simple: &'a SimpleCommand, depth: usize) {
        if depth > 0 && simple.words.first().and_then(bomb::plain).is_some_and(|name| name == "pwd")
        {
            self.used.push("PWD");
        }
        for word in &simple.words {
            self.word(word, depth);
        }
        for assignment in &simple.assignments {
            self.assignment(assignment, depth);
        }
    }

    fn assignment(&mut self, assignment: &'a Assignment, depth: usize) {
        if assignment.append {
            self.used.push(&assignment.name);
        }
        if let Some(word) = &assignment.subscript {
            self.word(word, depth);
        }
        match &assignment.value {
            AssignmentValue::Scalar(word) => self.word(word, depth),
            AssignmentValue::Array(elements) => {
                for element in elements {
                    self.word(&element.value, depth);
                    if let Some(word) = &element.subscript {
                        self.word(word, depth);
                    }
                }
            }
        }
    }

    pub(super) fn word(&mut self, word: &'a Word, depth: usize) {
        if let Some(Part::Literal(text, _)) = word.parts.first()
            && text.as_bytes().contains(&b'~')
        {
            for (tilde, name) in [("~+", "PWD"), ("~-", "OLDPWD")] {
                if text.contains(tilde) {
                    self.used.push(name);
                }
            }
        }
        for part in &word.parts {
            self.part(part, depth);
        }
    }

    fn part(&mut self, part: &'a Part, depth: usize) {
        self.work += 1;
        if depth > 16 || self.work > 10_000 {
            return;
        }
        let depth = depth + 1;
        match part {
            Part::DoubleQuoted(parts, _) | Part::LocaleQuoted(parts, _) => {
                for part in parts {
                    self.part(part, depth);
                }
            }
            Part::Parameter(parameter, _) => {
                self.used.push(&parameter.name);
                if let Some(Subscript::Index(word)) = &parameter.subscript {
                    self.word(word, depth);
                }
                match &parameter.operation {
                    Operation::Default { word, .. }
                    | Operation::Assign { word, .. }
                    | Operation::Error { word, .. }
                    | Operation::Alternative { word, .. } => {
                        let plain = !parameter.indirect && parameter.subscript.is_none();
                        let name = parameter.name.as_str();
                        if plain
                            && !word.parts.is_empty()
                            && self.tested.len() < 3
                            && !self.tested.contains(&name)
                        {
                            self.tested.push(name);
                        }
                        self.word(word, depth);
                    }
                    Operation::RemovePrefix { pattern, .. }
                    | Operation::RemoveSuffix { pattern, .. } => self.word(pattern, depth),
                    Operation::Replace { pattern, replacement, .. } => {
                        self.word(pattern, depth);
                        self.word(replacement, depth);
                    }
                    Operation::Substring { offset, length } => {
                        self.word(offset, depth);
                        if let Some(word) = length {
                            self.word(word, depth);
                        }
                    }
                    _ => {}
                }
            }
            Part::CommandSubstitution(substitution, _) => {
                self.script(&substitution.script, depth);
            }
            Part::ProcessSubstitution(process, _) => self.script(&process.script, depth),
            Part::Arithmetic(word, _) => self.word(word, depth),
            Part::ArrayAssignment(assignment, _) => self.assignment(assignment, depth),
            Part::Literal(..)
            | Part::Escaped(..)
            | Part::SingleQuoted(..)
            | Part::AnsiQuoted(..) => {}
        }
    }

    fn script(&mut self, script: &'a Script, depth: usize) {
        for item in &script.items {
            let pipelines =
                std::iter::once(&item.list.first).chain(item.list.rest.iter().map(|(_, p)| p));
            for stage in pipelines.flat_map(|pipeline| &pipeline.stages) {
                if let crate::model::script::CommandKind::Simple(simple) = &stage.command.kind {
                    self.simple(simple, depth);
                }
            }
        }
    }
}
