//! Simple commands: words to fields, assignments, what the name means, the invocation.

use std::collections::BTreeSet;

use smallvec::smallvec;

use super::assign::Ready;
use super::flow::{scalar, text_bytes};
use super::state::{Definition, State, Target};
use super::used::Names;
use super::variable::Variable;
use super::{Outcome, Runner, bomb, environ, foreign};
use crate::model::context::is_special_builtin;
use crate::model::script::{Command, GapCause, Part, RedirectionTarget, Script, SimpleCommand};
use crate::model::span::{Site, Span};
use crate::model::trace::{Invocation, Stream};
use crate::model::value::{Arity, Field, Glob, List, Piece, Str, Text, Unknown, Value};
use crate::resolve::{Resolved, Surroundings, resolve};

/// Names a pattern in the place of a command name may stand for that are followed.
const CANDIDATES: usize = 32;

/// Steps that looking for the names a pattern in the place of a command name can match costs.
const NAME_STEPS: usize = 16;

/// Invocations of the same words, the last ones, among which one that does the same is looked for.
const TWINS: usize = 4;

/// A command whose words have been expanded.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    /// The words, the name first.
    pub(super) fields: List<Field>,
    /// Assignments before it.
    pub(super) prefix: List<(Str, Text)>,
    /// Where it stands.
    pub(super) site: Site,
    /// Whether functions of this shell count.
    pub(super) functions: bool,
    /// Whether builtins change this shell.
    pub(super) builtins: bool,
    /// Values that operands of a declaration utility assign, by the index of the field.
    pub(super) arrays: Vec<(usize, Ready)>,
    /// The first access to a file that is for this command.
    pub(super) accesses: usize,
}

impl Runner<'_> {
    /// Runs a simple command, once for each combination of the values its variables may have.
    pub(super) fn simple(&mut self, simple: &SimpleCommand, command: &Command) -> Outcome {
        match self.alias(simple, command) {
            Some(outcome) => outcome,
            None => self.plain(simple, command),
        }
    }

    /// As [`simple`](Self::simple), without aliases.
    fn plain(&mut self, simple: &SimpleCommand, command: &Command) -> Outcome {
        let mut used = Names::default();
        used.simple(simple, 0);
        for redirection in &command.redirections {
            match &redirection.target {
                RedirectionTarget::Word(word) => used.word(word, 0),
                RedirectionTarget::HereDocument(document) => used.word(&document.body, 0),
            }
        }
        let Names { used: mut names, mut tested, .. } = used;
        if names.is_empty() && tested.is_empty() {
            return self.simple_once(simple, command);
        }
        names.retain(|name| self.state.is_forked(name));
        tested.retain(|name| self.may_be_unset(name));
        let owned = |list: &[&str]| list.iter().map(|name| Str::from(*name)).collect();
        let (mut names, tested): (BTreeSet<Str>, BTreeSet<Str>) = (owned(&names), owned(&tested));
        if names.is_empty() && tested.is_empty() {
            return self.simple_once(simple, command);
        }
        for name in &tested {
            self.doubt(name);
        }
        names.extend(tested.iter().cloned());
        let states = self.state.split(&names);
        let stdin = match self.state.descriptor(0) {
            Target::Input(index) => self.inputs.get(index).cloned().map(|text| (index, text)),
            _ => None,
        };
        let mut joined: Option<State> = None;
        let mut failed: Option<State> = None;
        let mut status = None;
        let mut leaves = true;
        let many = states.len() > 1;
        self.again |= many;
        for state in states {
            self.state = state;
            if let Some((index, text)) = &stdin
                && let Some(input) = self.inputs.get_mut(*index)
            {
                input.clone_from(text);
            }
            let outcome = self.simple_once(simple, command);
            status = if many { None } else { outcome.status };
            leaves &= outcome.leaves;
            let after_failure = outcome.failed.map_or_else(|| self.state.clone(), |failed| *failed);
            State::gather(&mut failed, after_failure);
            let state = self.state.clone();
            State::gather(&mut joined, state);
        }
        if let Some(joined) = joined {
            self.state = joined;
        }
        for name in &tested {
            let stand_in = self.hole_text(&Unknown::Parameter(name.clone()));
            for state in std::iter::once(&mut self.state).chain(&mut failed) {
                state.undoubt(name, &stand_in);
            }
        }
        let failed = failed.filter(|failed| *failed != self.state).map(Box::new);
        Outcome { status, failed, leaves }
    }

    /// Whether it is a variable of the environment that nothing is known about.
    fn may_be_unset(&self, name: &str) -> bool {
        is_name(name)
            && match self.state.variable(name) {
                None => !matches!(name, "PWD" | "OLDPWD"),
                Some(variable) => matches!(
                    variable.values.as_slice(),
                    [Value::Unknown(Unknown::Parameter(own))] if own == name
                ),
            }
    }

    /// Gives a variable of the environment two values, unset and set to something.
    fn doubt(&mut self, name: &str) {
        let stand_in = self.hole_text(&Unknown::Parameter(name.into()));
        let variable = self.state.variable_mut(name);
        variable.values = smallvec![Value::Unset, Value::Scalar(stand_in)];
    }

    fn simple_once(&mut self, simple: &SimpleCommand, command: &Command) -> Outcome {
        let waiting = self.pending.len();
        let declares = declaration(simple);
        let mut fields: List<Field> = List::with_capacity(simple.words.len());
        let mut arrays = Vec::new();
        let substitutions = self.trace.substitutions.len();
        for (index, word) in simple.words.iter().enumerate() {
            if let [Part::ArrayAssignment(assignment, span)] = word.parts.as_slice() {
                let site = self.site(*span);
                let associative = simple
                    .words
                    .get(1..index)
                    .into_iter()
                    .flatten()
                    .filter_map(bomb::plain)
                    .any(|word| word.starts_with('-') && word.contains('A'));
                let ready = self.prepare_as(assignment, associative);
                arrays.push((fields.len(), ready));
                fields.push(Field::literal(format!("{}=()", assignment.name), site));
                continue;
            }
            if fields.len() < self.limits.fields
                && let Some(field) = self.plain_field(word)
            {
                fields.push(field);
                continue;
            }
            let more = if declares && index > 0 {
                self.declaration_fields(word)
            } else {
                self.word_fields(word)
            };
            if index == 0 || fields.is_empty() {
                self.decide(substitutions, self.site(word.span));
            }
            let room = self.limits.fields.saturating_sub(fields.len());
            fields.extend(more.into_iter().take(room));
        }
        let saved = self.state.descriptors.clone();
        let accesses = self.trace.accesses.len();
        self.redirect(&command.redirections);
        let site = self.site(command.span);
        let permanent = matches!(fields.as_slice(), [only] if only.exact() == Some("exec"))
            && !self.state.functions.contains_key("exec");
        let outcome = if fields.is_empty() {
            // Each assignment sees the ones before it.
            for assignment in &simple.assignments {
                let ready = self.prepare(assignment);
                self.store(ready);
            }
            self.state.last = Text::empty();
            let ran = self.trace.substitutions.len() > substitutions;
            Outcome { status: (!ran).then_some(true), ..Outcome::default() }
        } else {
            let mut prefix = List::new();
            for assignment in &simple.assignments {
                let ready = self.prepare(assignment);
                prefix.push((ready.name, scalar(&ready.value)));
            }
            if self.state.option("keyword") {
                let name = fields.remove(0);
                let mut kept: List<Field> = [name].into();
                for field in fields {
                    match split_assignment(&field.text) {
                        Some((name, value)) => prefix.push((name, value)),
                        None => kept.push(field),
                    }
                }
                fields = kept;
            }
            let stays = !simple.assignments.is_empty() && self.keeps_assignments(&fields);
            let call =
                Call { fields, prefix, site, functions: true, builtins: true, arrays, accesses };
            let outcome = self.call_fields(&call);
            if stays {
                for (name, value) in &call.prefix {
                    self.assign_text(name, None, value.clone(), false, call.site);
                }
            }
            outcome
        };
        self.attach(accesses, self.trace.invocations.len().saturating_sub(1));
        if !permanent {
            self.state.descriptors.clone_from(&saved);
        }
        if !permanent {
            self.flush(waiting, None);
        }
        let failed = outcome.failed.map(|mut failed| {
            if !permanent {
                failed.descriptors = saved;
            }
            failed
        });
        Outcome { failed, ..outcome }
    }

    /// Whether assignments in front of this command stay when it is done: those of a special builtin do in
    /// POSIX mode and in shells that know no other (POSIX.1-2024 XCU 2.9.1.2, 2.15).
    fn keeps_assignments(&self, fields: &[Field]) -> bool {
        let posix = self.state.option("posix") || self.state.shell.is_posix();
        let name = fields.first().and_then(Field::exact);
        posix && name.is_some_and(is_special_builtin)
    }

    /// Marks substitutions met since `from` within a word whose text names a program or is code.
    pub(super) fn decide(&mut self, from: usize, site: Site) {
        for entry in self.trace.substitutions.iter_mut().skip(from) {
            if entry.site.source == site.source && site.span.contains(entry.site.span) {
                entry.decides = true;
            }
        }
    }

    /// Runs the text of an alias with the rest of the command behind it.
    fn alias(&mut self, simple: &SimpleCommand, command: &Command) -> Option<Outcome> {
        if self.state.aliases.is_empty() {
            return None;
        }
        let first = simple.words.first()?;
        let [Part::Literal(name, _)] = first.parts.as_slice() else { return None };
        let alias = self.state.aliases.get(name.as_str())?.clone();
        let active = self.state.option("expand_aliases") || self.state.option("posix");
        if !active || self.calls.iter().any(|call| call.strip_prefix("alias ") == Some(name)) {
            return None;
        }
        let mut text = self.open(&alias.text)?;
        {
            let source = self.trace.sources.get(self.source.0 as usize)?;
            if alias.site.source == self.source {
                // An alias is in force from the next line on.
                let between = Span::new(alias.site.span.end, first.span.start).of(&source.text);
                if !between.contains('\n') && first.span.start >= alias.site.span.end {
                    return None;
                }
            }
            let assignments = Span::new(command.span.start, first.span.start).of(&source.text);
            text = format!("{assignments}{text}");
            for word in simple.words.iter().skip(1) {
                text.push(' ');
                text.push_str(word.span.of(&source.text));
            }
        }
        let site = self.site(first.span);
        let run = |runner: &mut Self| {
            let saved = runner.state.descriptors.clone();
            let accesses = runner.trace.accesses.len();
            runner.redirect(&command.redirections);
            runner.calls.push(format!("alias {name}"));
            let outcome = runner.source_text(&text, site);
            runner.calls.pop();
            runner.attach(accesses, runner.trace.invocations.len().saturating_sub(1));
            runner.state.descriptors = saved;
            outcome
        };
        let doubtful = &self.state.doubtful;
        if doubtful.contains(&Definition::AnyAlias)
            || doubtful.contains(&Definition::Alias(name.to_string()))
        {
            return Some(self.either(run, |runner| runner.plain(simple, command)));
        }
        Some(run(self))
    }

    /// Runs a command whose words are expanded: a function of this text, a builtin or a program.
    pub(super) fn call_fields(&mut self, call: &Call) -> Outcome {
        let cost: usize = call.fields.iter().map(|field| text_bytes(&field.text)).sum();
        if call.fields.is_empty() || !self.step(1 + cost / 256, call.site.span) {
            return Outcome::default();
        }
        self.deeper(call.site.span, |runner| runner.call_inside(call))
    }

    fn call_inside(&mut self, call: &Call) -> Outcome {
        let Some(first) = call.fields.first() else { return Outcome::default() };
        let name = first.exact();
        if call.functions
            && let Some(name) = name
            && self.state.functions.contains_key(name)
        {
            if !self.state.doubtful.contains(&Definition::Function(name.to_owned())) {
                return self.call_function(name, call);
            }
            // Where it was not defined, the name is that of a program.
            return self
                .either(|runner| runner.call_function(name, call), |runner| runner.program(call));
        }
        if name.is_none() && vanishes(first) {
            // Where the name comes to nothing, the next word is the name.
            let rest: List<Field> = call.fields.iter().skip(1).cloned().collect();
            if rest.first().is_some_and(|field| !field.text.prefix().starts_with('-')) {
                let rest = Call { fields: rest, ..call.clone() };
                let outcome = self.call_fields(&rest);
                self.settle(&outcome);
            }
        }
        self.program(call)
    }

    /// What a program says of its errors, where that is gathered.
    fn complain(&mut self, name: Option<&str>) {
        let quiet =
            name.is_some_and(|name| matches!(name, "echo" | "printf" | ":" | "true" | "cd"));
        if !quiet && matches!(self.state.descriptor(2), Target::Capture(_)) {
            self.emit(2, &Text::unknown(Unknown::Output));
        }
    }

    /// Runs both from the same state and joins what they leave behind.
    fn either(
        &mut self,
        one: impl FnOnce(&mut Self) -> Outcome,
        other: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        let before = self.state.clone();
        self.again = true;
        let first = one(self);
        self.settle(&first);
        let after = std::mem::replace(&mut self.state, before);
        let second = other(self);
        self.settle(&second);
        self.join(&after);
        Outcome { leaves: first.leaves && second.leaves, ..Outcome::default() }
    }

    fn call_function(&mut self, name: &str, call: &Call) -> Outcome {
        let mut saved = Vec::new();
        for (variable, value) in &call.prefix {
            saved.push((variable.clone(), self.state.variables.get(variable.as_str()).cloned()));
            let mut fresh = Variable::new(Value::Scalar(value.clone()));
            fresh.exported = true;
            self.state.put(variable, fresh);
        }
        let arguments: Vec<Field> = call.fields.iter().skip(1).cloned().collect();
        let outcome = self.call(name, &arguments, call.site.span);
        for (variable, value) in saved {
            self.state.restore(&variable, value);
        }
        outcome
    }

    /// The variables that this text puts into the environment of a program.
    pub(super) fn environment(&self, prefix: &List<(Str, Text)>) -> List<(Str, Text)> {
        let variables = &self.state.variables;
        let environment = variables.environment(|| {
            let known = variables.iter().filter(|(name, variable)| {
                variable.assigned && (variable.exported || self.is_listed_variable(name))
            });
            known.map(|(name, variable)| (name.clone(), scalar(&variable.value()))).collect()
        });
        if prefix.is_empty() {
            return environment.clone();
        }
        if environment.is_empty() {
            return prefix.clone();
        }
        let mut environment = environment.clone();
        environment.extend(prefix.iter().cloned());
        environment
    }

    fn program(&mut self, call: &Call) -> Outcome {
        if call.fields.first().is_some_and(|name| name.text.has_glob())
            && !self.step(NAME_STEPS, call.site.span)
        {
            return Outcome::default();
        }
        let environment = self.environment(&call.prefix);
        let input = self.stdin();
        let earlier = self.earlier(call, &environment, &input);
        let resolved = match earlier.and_then(|index| self.trace.invocations.get(index)) {
            Some(own) if !own.carries && own.name.is_some() => Resolved {
                name: own.name.clone(),
                utility: own.utility,
                folded: own.folded,
                reading: own.reading.clone(),
                ..Resolved::default()
            },
            _ => resolve(
                &call.fields,
                &Surroundings { environment: &environment, input: &input },
                self.catalog,
            ),
        };
        for candidate in resolved.candidates.iter().take(CANDIDATES) {
            let mut fields = call.fields.clone();
            if let Some(first) = fields.make_mut().first_mut() {
                first.text = Text::literal(candidate.clone());
                first.arity = Arity::One;
            }
            let outcome = self.call_fields(&Call { fields, functions: false, ..call.clone() });
            self.settle(&outcome);
        }
        let Resolved { name, utility, folded, reading, carried, .. } = resolved;
        if !self.state.shell.is_bash() {
            let said = call.fields.first().and_then(Field::exact);
            let odd = said.and_then(|name| foreign::odd_call(name, &call.fields, self.state.shell));
            if let Some(what) = odd {
                self.gap_at(GapCause::OtherShell(what), call.site);
            }
        }
        let index = self.trace.invocations.len();
        let shadowed = name.as_ref().is_some_and(|name| {
            self.state.rebound.contains(name.as_str())
                || (call.functions && self.state.aliases.contains_key(name.as_str()))
        });
        self.complain(name.as_deref());
        let repeats = earlier.filter(|earlier| self.is_same(*earlier, shadowed)).map(|earlier| {
            self.trace.invocations.get(earlier).and_then(|own| own.repeats).unwrap_or(earlier)
        });
        self.trace.invocations.push(Invocation {
            argv: call.fields.clone(),
            name: name.clone(),
            utility,
            folded,
            reading,
            via: self.frame.via.clone(),
            carrier: self.frame.carrier,
            scope: self.frame.scope,
            site: call.site,
            directories: self.state.directories.clone(),
            environment,
            input: input.clone(),
            shadowed,
            carries: !carried.is_empty(),
            repeats,
        });
        self.attach(call.accesses, index);
        if let Some(last) = call.fields.last() {
            let array = call.arrays.iter().find(|(at, _)| *at + 1 == call.fields.len());
            self.state.last = match array {
                Some((_, ready)) => Text::literal(ready.name.clone()),
                None => last.text.clone(),
            };
        }
        let follows = !carried.is_empty();
        let builtin = if call.builtins && !shadowed {
            name.as_deref().and_then(|name| self.builtin(name, index, call, follows))
        } else {
            None
        };
        let mut outcome = Outcome::default();
        for one in carried {
            let own = self.follow(one, index, call);
            outcome = Outcome { status: None, ..own };
        }
        let is_builtin = builtin.is_some();
        if let Some(builtin) = builtin {
            outcome = builtin;
        }
        if self.run_written(index, call) {
            return outcome;
        }
        self.run_project(index);
        let silent = is_builtin
            && !matches!(name.as_deref(), Some("echo" | "printf"))
            && !self.shows_secrets(index);
        // What nothing in this text takes in need not be known.
        let taken = matches!(self.state.descriptor(1), Target::Capture(_) | Target::File(_));
        let output = if silent || !taken {
            Text::empty()
        } else {
            self.output(index, call, &input, follows)
        };
        self.writes(index, &input);
        self.emit(1, &output);
        outcome
    }

    /// The last invocation of the same words with the same environment and input, where commands run
    /// more than once.
    fn earlier(
        &mut self,
        call: &Call,
        environment: &List<(Str, Text)>,
        input: &Stream,
    ) -> Option<usize> {
        if !self.again {
            return None;
        }
        let same = |own: &Invocation| {
            own.argv == call.fields
                && (own.environment.as_ptr() == environment.as_ptr()
                    || own.environment == *environment)
                && own.input == *input
        };
        // What ran since this was looked at last.
        for (index, own) in self.trace.invocations.iter().enumerate().skip(self.earlier.len()) {
            let before = self.last.insert(own.site, index);
            self.earlier.push(before);
        }
        let mut next = self.last.get(&call.site).copied();
        for _ in 0..TWINS {
            let index = next?;
            if same(self.trace.invocations.get(index)?) {
                return Some(index);
            }
            next = self.earlier.get(index).copied().flatten();
        }
        None
    }

    /// Whether an earlier invocation of the same words runs in the same place, too.
    fn is_same(&self, earlier: usize, shadowed: bool) -> bool {
        let first = |index: Option<usize>| {
            let own = self.trace.invocations.get(index?)?;
            own.repeats.or(index)
        };
        self.trace.invocations.get(earlier).is_some_and(|own| {
            own.shadowed == shadowed
                && own.scope == self.frame.scope
                && own.via == self.frame.via
                && first(own.carrier) == first(self.frame.carrier)
                && own.directories == self.state.directories
        })
    }

    /// Notes that a script starts copies of itself.
    pub(super) fn script_bomb(&mut self, script: &Script, path: &str, site: Site) {
        let mut count = bomb::Count::new(path, &self.state.functions);
        count.script(script, false, 1, 0);
        if count.is_bomb() && !self.trace.bombs.contains(&site) {
            self.trace.bombs.push(site);
        }
    }
}

/// `NAME=VALUE`, where the name is known.
pub(super) fn split_assignment(text: &Text) -> Option<(Str, Text)> {
    let (name, rest) = text.prefix().split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    if !is_name(name) {
        return None;
    }
    let mut value = Text::literal(rest);
    for piece in text.pieces().iter().skip(1) {
        value.push(piece.clone());
    }
    Some((name.into(), value))
}

/// Whether it is the name of a variable.
pub(super) fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a field may come to nothing: an unquoted unknown and nothing else.
fn vanishes(field: &Field) -> bool {
    field.arity == Arity::Many
        && !field.text.is_empty()
        && field.text.pieces().iter().all(|piece| matches!(piece, Piece::Unknown(_)))
}

/// Whether the command is a declaration utility, so that its operands are assignments.
fn declaration(simple: &SimpleCommand) -> bool {
    for word in &simple.words {
        match bomb::plain(word).as_deref() {
            Some("command" | "builtin") => {}
            Some("export" | "declare" | "typeset" | "local" | "readonly") => return true,
            _ => return false,
        }
    }
    false
}

/// Whether a text is nothing but a pattern for any name.
pub(super) fn is_any(text: &Text) -> bool {
    matches!(text.pieces(), [Piece::Glob(Glob::Any)])
}

/// A text made from this one that is not known any more.
pub(super) fn blur(text: &Text) -> Text {
    Text::unknown(environ::taint(text))
}
