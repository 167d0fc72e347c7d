//! Whether a function or script keeps starting copies of itself (a structural test).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::state::Function;
use crate::model::script::{Command, CommandKind, Part, Script, SimpleCommand, Word};
use crate::model::value::Str;

/// Counts the copies a body starts.
pub(super) struct Count<'a> {
    name: &'a str,
    functions: &'a BTreeMap<String, Vec<Rc<Function>>>,
    /// Functions whose bodies were counted already.
    visited: BTreeSet<Str>,
    copies: usize,
    /// Whether some copy runs beside others: in a pipeline, in the background or in a loop.
    beside: bool,
    work: usize,
}

const DEPTH: usize = 32;
const WORK: usize = 10_000;

impl<'a> Count<'a> {
    /// Counts calls of the function `name`; for a script, words that name the script itself.
    pub(super) fn new(name: &'a str, functions: &'a BTreeMap<String, Vec<Rc<Function>>>) -> Self {
        let visited = BTreeSet::from([Str::from(name)]);
        Self { name, functions, visited, copies: 0, beside: false, work: 0 }
    }

    /// Whether two or more copies are started, side by side.
    pub(super) fn is_bomb(&self) -> bool {
        self.copies >= 2 && self.beside
    }

    /// Counts in a list.
    pub(super) fn script(&mut self, script: &Script, beside: bool, weight: usize, depth: usize) {
        for item in &script.items {
            let beside = beside || item.background;
            let pipelines =
                std::iter::once(&item.list.first).chain(item.list.rest.iter().map(|(_, p)| p));
            for pipeline in pipelines {
                let beside = beside || pipeline.stages.len() > 1;
                for stage in &pipeline.stages {
                    self.command(&stage.command, beside, weight, depth);
                }
            }
        }
    }

    /// Counts in a command.
    pub(super) fn command(&mut self, command: &Command, beside: bool, weight: usize, depth: usize) {
        self.work += 1;
        if depth > DEPTH || self.work > WORK {
            return;
        }
        let depth = depth + 1;
        match &command.kind {
            CommandKind::Simple(simple) => self.simple(simple, beside, weight, depth),
            CommandKind::Subshell(script) | CommandKind::Group(script) => {
                self.script(script, beside, weight, depth);
            }
            CommandKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.script(condition, beside, weight, depth);
                    self.script(body, beside, weight, depth);
                }
                if let Some(body) = otherwise {
                    self.script(body, beside, weight, depth);
                }
            }
            CommandKind::Loop { condition, body, .. } => {
                self.script(condition, beside, 2, depth);
                self.script(body, beside, 2, depth);
            }
            CommandKind::For { body, .. } | CommandKind::ArithmeticFor { body, .. } => {
                self.script(body, beside, 2, depth);
            }
            CommandKind::Case { arms, .. } => {
                for arm in arms {
                    self.script(&arm.body, beside, weight, depth);
                }
            }
            CommandKind::Coprocess { body, .. } => self.command(body, true, weight, depth),
            CommandKind::Function { .. }
            | CommandKind::Arithmetic(_)
            | CommandKind::Conditional(_) => {}
        }
    }

    fn simple(&mut self, simple: &SimpleCommand, beside: bool, weight: usize, depth: usize) {
        for (index, word) in simple.words.iter().enumerate().take(4) {
            if self.names_itself(word, index) {
                self.copies += weight;
                self.beside |= beside;
                return;
            }
        }
        let Some(name) = simple.words.first().and_then(plain) else { return };
        if !self.functions.contains_key(name.as_str()) || !self.visited.insert(name.clone()) {
            return;
        }
        let functions = self.functions;
        for function in functions.get(name.as_str()).into_iter().flatten() {
            self.command(&function.body, beside, weight, depth);
        }
    }

    /// Whether a word names what is counted: the function in command position, or the script in
    /// one of the first words (`$0`, `sh "$0"`).
    fn names_itself(&self, word: &Word, index: usize) -> bool {
        if plain(word).is_some_and(|text| text == self.name) {
            return index == 0 || self.name.contains('/');
        }
        let own = |part: &Part| matches!(part, Part::Parameter(p, _) if p.name == "0");
        !self.functions.contains_key(self.name)
            && match word.parts.as_slice() {
                [Part::DoubleQuoted(parts, _)] => parts.iter().any(own),
                parts => parts.iter().any(own),
            }
    }
}

/// The characters of a word without expansions.
pub(super) fn plain(word: &Word) -> Option<Str> {
    if let [Part::Literal(text, _)] = word.parts.as_slice() {
        return Some(text.clone());
    }
    let mut out = Str::new();
    for part in &word.parts {
        match part {
            Part::Literal(text, _)
            | Part::Escaped(text, _)
            | Part::SingleQuoted(text, _)
            | Part::AnsiQuoted(text, _) => out.push_str(text),
            Part::DoubleQuoted(parts, _) => {
                for part in parts {
                    match part {
                        Part::Literal(text, _) | Part::Escaped(text, _) => out.push_str(text),
                        _ => return None,
                    }
                }
            }
            _ => return None,
        }
    }
    Some(out)
}
