//! Simple commands: words to fields, assignments, what the name means, the invocation.

use std::collections::BTreeSet;

use smallvec::{SmallVec, smallvec};

use super::flow::{scalar, text_bytes};
use super::state::{Definition, State, Target};
use super::variable::{Variable, is_from_network, is_number};
use super::{Outcome, Runner, bomb, environ, foreign};
use crate::expand::Mode;
use crate::model::component;
use crate::model::context::Shell;
use crate::model::fact::{CodePlace, EffectKind};
use crate::model::script::{
    Assignment, AssignmentValue, Command, GapCause, Operation, Part, RedirectionTarget, Script,
    SimpleCommand, Subscript, Word,
};
use crate::model::span::{Site, Span};
use crate::model::trace::{CodeUse, Invocation, Reading, Setting, Stream};
use crate::model::utility::{Language, Output, Utility};
use crate::model::value::{Arity, Field, Glob, List, Piece, Str, Text, Truth, Unknown, Value};
use crate::resolve::{Resolved, Surroundings, names, resolve};

/// Names a pattern in the place of a command name may stand for that are followed.
const CANDIDATES: usize = 32;

/// Steps that looking for the names a pattern in the place of a command name can match costs.
const NAME_STEPS: usize = 16;

/// Pieces and bytes of a text that costs no step to assign.
const PLAIN_PIECES: usize = 64;
const PLAIN_BYTES: usize = 255;

/// So many files are looked at one by one rather than looked up.
const FEW_FILES: usize = 8;

/// Invocations of the same words, the last ones, among which one that does the same is looked for.
const TWINS: usize = 4;

/// Elements of an array whose copying costs a step.
const STEP_ELEMENTS: usize = 16;

/// An assignment whose words have been expanded.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    name: Str,
    subscript: Option<Text>,
    append: bool,
    value: Value,
    site: Site,
}

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

/// Variables of the shell whose values it evaluates, as those that are declared with `-i` (bash,
/// "Shell Variables"; seen with bash 5.2).
const INTEGERS: &[&str] =
    &["BASHPID", "EPOCHSECONDS", "HISTCMD", "LINENO", "OPTIND", "RANDOM", "SECONDS", "SRANDOM"];

fn is_integer(name: &str) -> bool {
    INTEGERS.contains(&name)
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
            failed = Some(match failed.take() {
                Some(other) => other.join(&after_failure),
                None => after_failure,
            });
            let state = self.state.clone();
            joined = Some(match joined.take() {
                Some(other) => other.join(&state),
                None => state,
            });
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
            let call =
                Call { fields, prefix, site, functions: true, builtins: true, arrays, accesses };
            self.call_fields(&call)
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
            let variables = self.state.variables_mut();
            match value {
                Some(value) => variables.insert(variable, value),
                None => variables.remove(variable.as_str()),
            }
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

    /// What an invocation prints by itself.
    fn output(&mut self, index: usize, call: &Call, input: &Stream, follows: bool) -> Text {
        let Some(invocation) = self.trace.invocations.get(index) else { return Text::empty() };
        let utility = invocation.utility.and_then(|id| self.catalog.get(id));
        let kind = utility.map_or(Output::Unknown, |utility| {
            let asks = utility.output == Output::Unknown && receives(utility, &invocation.reading);
            if asks { Output::Network } else { utility.output }
        });
        let is_known = utility.is_some();
        let name = invocation.name.clone().unwrap_or_default();
        if name == "pwd" {
            let mut text = self.state.directories.first().cloned().unwrap_or_default();
            if self.state.directories.len() > 1 {
                text = super::variable::widen_texts(
                    &self.state.directories.iter().collect::<Vec<_>>(),
                );
            }
            text.push_str("\n");
            return text;
        }
        // An expression that cannot be evaluated ends the shell that expands it before it prints.
        let may_fail = call
            .fields
            .iter()
            .any(|field| field.text.pieces().contains(&Piece::Unknown(Unknown::Arithmetic)));
        if may_fail {
            return Text::unknown(Unknown::Output);
        }
        let told = self
            .trace
            .invocations
            .get(index)
            .filter(|own| !own.shadowed)
            .and_then(|own| names::printed(&name, &own.argv, &own.reading, input.text()));
        let told = told.or_else(|| self.top_level(call));
        if let Some(text) = told.or_else(|| self.produced(&name, &call.fields, input)) {
            return text;
        }
        if follows && kind != Output::Network {
            return Text::empty();
        }
        let tainted = input.text().is_some_and(is_from_network) || self.reads_network(call);
        let secret = input.text().is_some_and(|text| !self.catalog.secrets_in(text).is_empty());
        match kind {
            Output::None => Text::empty(),
            Output::Network => Text::unknown(Unknown::Network),
            Output::Secret => Text::unknown(Unknown::Secret),
            Output::Input if tainted => Text::unknown(Unknown::Network),
            Output::Input if secret => Text::unknown(Unknown::Secret),
            Output::Unknown if tainted && !is_known => Text::unknown(Unknown::Network),
            Output::Input | Output::Unknown => Text::unknown(Unknown::Output),
        }
    }

    /// Notes files of the project that came over the network and whose code a program runs by their
    /// name alone (`Makefile`, `package.json`).
    fn run_project(&mut self, index: usize) {
        if self.state.files.is_empty() {
            return;
        }
        let Some(invocation) = self.trace.invocations.get(index) else { return };
        let Some(id) = invocation.utility.filter(|_| !invocation.reading.inert) else { return };
        let Some(root) = self.catalog.root(id) else { return };
        let runs = self.catalog.get(id).is_some_and(|utility| {
            utility.effects.iter().any(|effect| {
                use EffectKind::{Build, Container, Install, Publish};
                matches!(effect.kind, Build | Install | Container | Publish)
            })
        });
        if root.code_files.is_empty() || !runs {
            return;
        }
        let named = |key: &Text| {
            let name = key.exact().and_then(|key| key.rsplit('/').next()).unwrap_or_default();
            root.code_files
                .iter()
                .any(|glob| component::matches(&Text::literal(name), glob) == Truth::Yes)
        };
        let text = self
            .state
            .files
            .iter()
            .filter(|(key, _)| named(key))
            .flat_map(|(_, contents)| contents)
            .find(|content| is_from_network(content))
            .cloned();
        if let Some(text) = text {
            let code = CodeUse {
                language: Language::Other,
                place: CodePlace::File,
                text,
                invocation: Some(index),
                site: invocation.site,
            };
            self.trace.codes.push(code);
        }
    }

    /// What `git rev-parse --show-toplevel` prints in a workspace root that is a repository: where it
    /// lies, or nothing.
    fn top_level(&self, call: &Call) -> Option<Text> {
        let words = ["git", "rev-parse", "--show-toplevel"];
        let asks = call.fields.len() == words.len()
            && call.fields.iter().zip(words).all(|(field, word)| field.exact() == Some(word));
        let [directory] = self.state.directories.as_slice() else { return None };
        let directory = directory.exact().filter(|_| asks && self.context.branch.is_some())?;
        let root = self.context.workspaces.iter().any(|root| root == directory);
        root.then(|| Text::unknown(Unknown::Plain).concat(&Text::literal("\n")))
    }

    /// Whether a builtin prints the variables of the shell.
    fn shows_secrets(&self, index: usize) -> bool {
        let Some(own) = self.trace.invocations.get(index) else { return false };
        let utility = own.utility.and_then(|id| self.catalog.get(id));
        let lists = own.argv.len() == 1 || own.reading.options.iter().any(|used| used.name == "-p");
        lists
            && own.reading.operands.is_empty()
            && utility.is_some_and(|utility| utility.output == Output::Secret)
    }

    /// Whether an operand is a file that this text has filled from the network.
    fn reads_network(&self, call: &Call) -> bool {
        let files = &self.state.files;
        let few = files.len() <= FEW_FILES;
        if few && !files.values().flatten().any(is_from_network) {
            return false;
        }
        call.fields
            .iter()
            .skip(1)
            .any(|field| self.written(&field.text).iter().any(is_from_network))
    }

    /// Expands the words of an assignment.
    pub(super) fn prepare(&mut self, assignment: &Assignment) -> Ready {
        self.prepare_as(assignment, false)
    }

    fn prepare_as(&mut self, assignment: &Assignment, associative: bool) -> Ready {
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
                match key.exact() {
                    Some(key) => {
                        let slot = elements.entry(key.to_owned()).or_default();
                        *slot = if append { add(std::mem::take(slot), &text) } else { text };
                    }
                    None => open = true,
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
                    _ => open = true,
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

    /// Notes that a script starts copies of itself.
    pub(super) fn script_bomb(&mut self, script: &Script, path: &str, site: Site) {
        let mut count = bomb::Count::new(path, &self.state.functions);
        count.script(script, false, 1, 0);
        if count.is_bomb() && !self.trace.bombs.contains(&site) {
            self.trace.bombs.push(site);
        }
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

/// Collects the names of the variables that words use.
#[derive(Default)]
struct Names<'a> {
    used: SmallVec<[&'a str; 8]>,
    /// Those of them whose being set decides what a word becomes (`${x:-word}`), a few.
    tested: SmallVec<[&'a str; 4]>,
    work: usize,
}

impl<'a> Names<'a> {
    fn simple(&mut self, simple: &'a SimpleCommand, depth: usize) {
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

    fn word(&mut self, word: &'a Word, depth: usize) {
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

/// Whether a text is nothing but a pattern for any name.
pub(super) fn is_any(text: &Text) -> bool {
    matches!(text.pieces(), [Piece::Glob(Glob::Any)])
}

/// A text made from this one that is not known any more.
pub(super) fn blur(text: &Text) -> Text {
    Text::unknown(environ::taint(text))
}

/// Whether a utility gets what it prints from another machine: it, or a part of its arguments, has
/// the effect `receive`.
fn receives(utility: &Utility, reading: &Reading) -> bool {
    let is_receive = |kind: &EffectKind| *kind == EffectKind::Receive;
    utility.effects.iter().any(|effect| is_receive(&effect.kind))
        || utility.operands.iter().flat_map(|operand| &operand.effects).any(is_receive)
        || reading.deeds.iter().any(|deed| is_receive(&deed.kind))
}
