//! What a text would run: every branch counts as run, doubt is about values only.
//!
//! Takes a text and its context; gives the script and a [`Trace`]. May import: model, parse,
//! expand, resolve. Never: judges, touches the machine, or recurses without counting a step and a
//! level of depth.

mod assign;
mod bomb;
mod builtin;
mod carry;
mod compound;
mod declare;
mod environ;
mod flow;
mod foreign;
mod function;
mod input;
mod output;
mod producer;
mod recursion;
mod simple;
mod state;
mod used;
mod variable;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::expand::Mode;
use crate::model::context::{Context, Limits, Shell};
use crate::model::script::{
    AndOr, AndOrList, CaseEnd, Command, CommandKind, Gap, GapCause, Item, LimitKind, Parsed, Part,
    Pipeline, Script,
};
use crate::model::span::{Site, SourceId, Span};
use crate::model::trace::{Source, Trace};
use crate::model::utility::{CarryScope, Catalog};
use crate::model::value::{List, Str, Text, Unknown, Value};
use crate::parse::{Dialect, parse_in};
use function::Defined;
use state::{State, Target};

/// Parses a command and follows it; the first source of the trace is the command.
pub fn run(text: &str, context: &Context, catalog: &Catalog, limits: &Limits) -> (Parsed, Trace) {
    let parsed = read(text, context, limits);
    let trace = run_script(text, &parsed, context, catalog, limits);
    (parsed, trace)
}

/// Parses a command as the shell of the context reads it.
pub fn read(text: &str, context: &Context, limits: &Limits) -> Parsed {
    parse_in(text, limits, dialect_of(context.shell))
}

/// What the reader has to know about a shell.
fn dialect_of(shell: Shell) -> Dialect {
    Dialect { posix: shell.is_posix(), strict: shell == Shell::Dash, ..Dialect::default() }
}

/// Follows a command that is parsed already.
pub fn run_script(
    text: &str,
    parsed: &Parsed,
    context: &Context,
    catalog: &Catalog,
    limits: &Limits,
) -> Trace {
    run_script_into(Trace::default(), text, parsed, context, catalog, limits)
}

/// As [`run_script`], into an empty trace, whose room is used again.
pub fn run_script_into(
    trace: Trace,
    text: &str,
    parsed: &Parsed,
    context: &Context,
    catalog: &Catalog,
    limits: &Limits,
) -> Trace {
    let mut runner = Runner::new(trace, context, catalog, limits);
    runner.whole(text, parsed);
    let piped = runner.piped();
    if piped.is_empty() {
        return runner.trace;
    }
    // What is written into a named pipe reaches readers that come earlier in the text.
    let mut trace = runner.trace;
    trace.clear();
    let mut runner = Runner::new(trace, context, catalog, limits);
    runner.piped = piped;
    runner.whole(text, parsed);
    runner.trace
}

/// What is known when a command is done. The runner's state is the one after success.
#[derive(Clone, Debug, Default)]
struct Outcome {
    /// Whether it succeeded, where that is known.
    status: Option<bool>,
    /// The state if it failed, where that differs (`cd`).
    failed: Option<Box<State>>,
    /// Whether control never reaches what follows (`exit`, `return`, `break`).
    leaves: bool,
}

impl Outcome {
    fn known(status: bool) -> Self {
        Self { status: Some(status), ..Self::default() }
    }
}

/// Where a command runs, as seen from its carriers.
#[derive(Clone, Debug, Default)]
struct Frame {
    via: List<Str>,
    carrier: Option<usize>,
    scope: CarryScope,
}

/// A text that `trap` keeps.
#[derive(Clone, Debug)]
struct Trap {
    text: Text,
    call: simple::Call,
    index: usize,
    site: Site,
    /// Whether it may run at any moment, not at the end alone.
    any_moment: bool,
    /// The state it has been followed in.
    seen: State,
}

/// The interpreter.
#[expect(clippy::struct_excessive_bools, reason = "each is one fact of the run")]
struct Runner<'a> {
    context: &'a Context,
    catalog: &'a Catalog,
    limits: &'a Limits,
    trace: Trace,
    state: State,
    /// The text the words that are being read count in.
    source: SourceId,
    frame: Frame,
    steps: usize,
    depth: usize,
    /// Whether the limit of steps was noted.
    exhausted: bool,
    /// Unknown pieces that were cut out of carried texts; each stands in them as one character.
    holes: Vec<Unknown>,
    /// Texts that are being gathered from descriptors.
    captures: Vec<Text>,
    /// Whether such a text is followed once more.
    trapping: bool,
    /// Texts that the shell runs when it ends or gets a signal.
    traps: Vec<Trap>,
    /// Those of the captures that may lack something, since a command may have ended in error.
    broken: BTreeSet<usize>,
    /// Texts that are being read by descriptors.
    inputs: Vec<Text>,
    /// Functions that are being called.
    calls: Vec<String>,
    /// Calls of functions that are open.
    entered: Vec<recursion::Entered>,
    /// Words that are being expanded and not split, one inside the other.
    texts: usize,
    /// Scripts of the texts that were read last.
    parsed: Vec<(Str, Dialect, Rc<Parsed>)>,
    /// Whether some command has run more than once, or may be doing so.
    again: bool,
    /// Where commands run more than once: the last invocation of each place, and for each invocation the
    /// one before it at its place.
    last: BTreeMap<Site, usize>,
    earlier: Vec<Option<usize>>,
    /// Functions that are defined and not called yet, with what is known where they are.
    defined: Vec<Defined>,
    /// For these functions: whether one starts copies of itself, as far as it was asked.
    counted: Option<(state::Functions, BTreeMap<String, bool>)>,
    /// States at `break`, `continue` and `return`, joined.
    escaped: Option<State>,
    /// Output process substitutions that wait for their input.
    pending: Vec<environ::Pending>,
    /// The next number of a path for a process substitution.
    next_path: u32,
    /// Named pipes this text has made.
    pipes: BTreeSet<Text>,
    /// What an earlier run has found to be written into them.
    piped: BTreeMap<Text, Vec<Text>>,
    /// The first redirections of the command that a pipe is joined to in zsh, and whether the pipe is its
    /// output.
    joined: Option<(Span, bool)>,
    /// Texts that are evaluated as prompts at the moment, so that none evaluates itself.
    prompting: bool,
}

impl<'a> Runner<'a> {
    fn new(trace: Trace, context: &'a Context, catalog: &'a Catalog, limits: &'a Limits) -> Self {
        Self {
            context,
            catalog,
            limits,
            trace,
            state: State::new(context),
            source: SourceId::COMMAND,
            frame: Frame::default(),
            steps: 0,
            depth: 0,
            exhausted: false,
            holes: Vec::new(),
            captures: Vec::new(),
            trapping: false,
            traps: Vec::new(),
            broken: BTreeSet::new(),
            inputs: Vec::new(),
            calls: Vec::new(),
            entered: Vec::new(),
            texts: 0,
            parsed: Vec::new(),
            again: false,
            last: BTreeMap::new(),
            earlier: Vec::new(),
            defined: Vec::new(),
            counted: None,
            escaped: None,
            pending: Vec::new(),
            next_path: 63,
            pipes: BTreeSet::new(),
            piped: BTreeMap::new(),
            joined: None,
            prompting: false,
        }
    }

    fn whole(&mut self, text: &str, parsed: &Parsed) {
        self.trace.sources.push(Source { text: text.into(), origin: None });
        self.trace.gaps.extend(parsed.gaps.iter().map(|gap| (SourceId::COMMAND, gap.clone())));
        let foreign = foreign::differences(&parsed.script, text, self.state.shell);
        self.trace.gaps.extend(foreign.into_iter().map(|gap| (SourceId::COMMAND, gap)));
        let outcome = self.script(&parsed.script);
        if !self.traps.is_empty() {
            self.settle(&outcome);
            self.end_traps(0);
        }
        self.flush(0, None);
        self.uncalled();
    }

    /// What this text has written into its named pipes.
    fn piped(&self) -> BTreeMap<Text, Vec<Text>> {
        self.pipes
            .iter()
            .filter_map(|key| {
                let contents = self.state.files.get(key)?;
                let written = contents.iter().any(|content| !content.is_empty());
                written.then(|| (key.clone(), contents.clone()))
            })
            .collect()
    }

    fn site(&self, span: Span) -> Site {
        Site::new(self.source, span)
    }

    fn gap(&mut self, cause: GapCause, span: Span) {
        self.gap_at(cause, Site::new(self.source, span));
    }

    fn gap_at(&mut self, cause: GapCause, site: Site) {
        let entry = (site.source, Gap { cause, span: site.span });
        if self.trace.gaps.len() < 1024 && !self.trace.gaps.contains(&entry) {
            self.trace.gaps.push(entry);
        }
    }

    /// Counts work; false when the limit is reached, and then nothing may be run.
    fn step(&mut self, cost: usize, span: Span) -> bool {
        self.steps = self.steps.saturating_add(cost);
        if self.steps <= self.limits.steps {
            return true;
        }
        if !self.exhausted {
            self.exhausted = true;
            self.gap(GapCause::Limit(LimitKind::Steps), span);
        }
        false
    }

    /// Runs `work` one level deeper, or notes that there is no deeper level.
    fn deeper<T: Default>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= self.limits.depth {
            self.gap(GapCause::Limit(LimitKind::Depth), span);
            return T::default();
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    /// Runs `work` in a copy of the state; only what it wrote into files stays.
    fn isolated<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let saved = self.state.clone();
        let escaped = self.escaped.take();
        let traps = self.traps.len();
        let result = work(self);
        self.end_traps(traps);
        let inner = std::mem::replace(&mut self.state, saved);
        self.state.files = inner.files;
        self.escaped = escaped;
        result
    }

    /// Runs the traps from this one on with what is known at the end of their shell, and forgets them.
    fn end_traps(&mut self, from: usize) {
        if self.traps.len() > from {
            self.spring(from, false);
            self.traps.truncate(from);
        }
    }

    /// Follows texts of traps once more where what they use may have changed.
    fn spring(&mut self, from: usize, moment: bool) {
        // What runs in a trap springs none.
        let traps = std::mem::take(&mut self.traps);
        let outer = std::mem::replace(&mut self.trapping, true);
        let mut kept = traps.clone();
        for (trap, slot) in traps.iter().zip(&mut kept).skip(from) {
            if self.exhausted || (moment && !trap.any_moment) || trap.seen.is_like(&self.state) {
                continue;
            }
            slot.seen = self.state.clone();
            let saved = self.state.clone();
            self.again = true;
            self.follow(builtin::trapped(trap.text.clone(), trap.site), trap.index, &trap.call);
            let files = Rc::clone(&self.state.files);
            self.state = saved;
            self.state.files = files;
        }
        self.traps = kept;
        self.trapping = outer;
    }

    /// Joins the state of failure into the current one: what follows runs either way.
    fn settle(&mut self, outcome: &Outcome) {
        if let Some(failed) = &outcome.failed {
            self.join(failed);
        }
    }

    fn join(&mut self, other: &State) {
        self.step(self.state.variables.len() / 128, Span::default());
        // The own state is moved, not copied, so that what only it holds is changed in place.
        let own = std::mem::replace(&mut self.state, other.clone());
        self.state = own.join(other);
    }

    fn escape(&mut self) {
        let state = self.state.clone();
        State::gather(&mut self.escaped, state);
    }

    /// Runs a list of lists; the outcome is that of the last one.
    fn script(&mut self, script: &Script) -> Outcome {
        let mut outcome = Outcome::known(true);
        let mut leaves = false;
        for (index, item) in script.items.iter().enumerate() {
            if self.exhausted {
                break;
            }
            outcome = self.item(item);
            if self.traps.iter().any(|trap| trap.any_moment) {
                self.spring(0, true);
            }
            leaves |= outcome.leaves;
            if index + 1 < script.items.len() {
                self.settle(&outcome);
            }
        }
        outcome.leaves = leaves;
        outcome
    }

    fn item(&mut self, item: &Item) -> Outcome {
        if !item.background {
            return self.list(&item.list);
        }
        let site = self.site(item.span);
        self.trace.jobs.push(site);
        self.isolated(|runner| {
            let outcome = runner.list(&item.list);
            runner.settle(&outcome);
        });
        Outcome::known(true)
    }

    fn list(&mut self, list: &AndOrList) -> Outcome {
        let mut outcome = self.pipeline(&list.first);
        for (operator, pipeline) in &list.rest {
            if self.exhausted {
                break;
            }
            outcome = match operator {
                AndOr::And => self.and(outcome, pipeline),
                AndOr::Or => self.or(outcome, pipeline),
            };
        }
        outcome
    }

    /// `left && right`, where `left` has run.
    fn and(&mut self, left: Outcome, right: &Pipeline) -> Outcome {
        let skipped = match (left.status, left.failed) {
            (Some(true), None) => None,
            (_, Some(failed)) => Some(*failed),
            (_, None) => Some(self.state.clone()),
        };
        let outcome = self.pipeline(right);
        let Some(skipped) = skipped else { return outcome };
        if outcome.leaves {
            self.state = skipped;
            return Outcome { status: Some(false), ..Outcome::default() };
        }
        let failed = match outcome.failed {
            Some(failed) => skipped.join(&failed),
            None => skipped.join(&self.state),
        };
        let status = match (left.status, outcome.status) {
            (Some(true), status) => status,
            (Some(false), _) | (_, Some(false)) => Some(false),
            _ => None,
        };
        Outcome { status, failed: self.differing(failed), leaves: false }
    }

    /// `left || right`, where `left` has run.
    fn or(&mut self, left: Outcome, right: &Pipeline) -> Outcome {
        let success = (left.status != Some(false)).then(|| self.state.clone());
        if let Some(failed) = left.failed {
            self.state = *failed;
        }
        let outcome = self.pipeline(right);
        let Some(success) = success else { return outcome };
        if outcome.leaves && !left.leaves {
            self.state = success;
            return Outcome::known(true);
        }
        let failed = match outcome.failed {
            Some(failed) => *failed,
            None => self.state.clone(),
        };
        self.join(&success);
        let status = match (left.status, outcome.status) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), status) => status,
            _ => None,
        };
        Outcome { status, failed: self.differing(failed), leaves: false }
    }

    fn differing(&self, failed: State) -> Option<Box<State>> {
        (failed != self.state).then(|| Box::new(failed))
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Outcome {
        let mut outcome = match pipeline.stages.as_slice() {
            [] => Outcome::known(true),
            [single] => self.command(&single.command),
            stages => {
                let mut feed: Option<usize> = None;
                let mut outcome = Outcome::default();
                let last = stages.len() - 1;
                for (index, stage) in stages.iter().enumerate() {
                    if self.exhausted {
                        break;
                    }
                    let stays = index == last && self.state.option("lastpipe");
                    let before = self.state.clone();
                    if let Some(input) = feed {
                        self.state.descriptors.insert(0, Target::Input(input));
                    }
                    let mut capture = None;
                    if index < last {
                        let place = self.capture();
                        self.state.descriptors.insert(1, Target::Capture(place));
                        if stage.pipes_error {
                            self.state.descriptors.insert(2, Target::Capture(place));
                        }
                        capture = Some(place);
                    }
                    if self.state.shell == Shell::Zsh {
                        let first = stage.command.redirections.first();
                        self.joined = first.map(|own| (own.span, index < last));
                    }
                    outcome = self.command(&stage.command);
                    self.settle(&outcome);
                    if let Some(place) = capture {
                        let text = self.release(place);
                        feed = Some(self.input(text));
                    }
                    let after = std::mem::replace(&mut self.state, before);
                    if stays {
                        let descriptors = self.state.descriptors.clone();
                        self.state = after;
                        self.state.descriptors = descriptors;
                    } else {
                        self.state.files = after.files;
                    }
                }
                Outcome { status: outcome.status, failed: None, leaves: false }
            }
        };
        if pipeline.negated {
            outcome.status = outcome.status.map(|status| !status);
            if let Some(failed) = outcome.failed.take() {
                let success = std::mem::replace(&mut self.state, *failed);
                outcome.failed = Some(Box::new(success));
            }
        }
        outcome
    }

    /// A compound or simple command with its redirections.
    fn command(&mut self, command: &Command) -> Outcome {
        if !self.step(1, command.span) {
            return Outcome::default();
        }
        self.deeper(command.span, |runner| runner.command_inside(command))
    }

    fn command_inside(&mut self, command: &Command) -> Outcome {
        if let CommandKind::Simple(simple) = &command.kind {
            return self.simple(simple, command);
        }
        if let CommandKind::Function { name, body } = &command.kind {
            self.define(name, body);
            return Outcome::known(true);
        }
        let waiting = self.pending.len();
        let saved = self.state.descriptors.clone();
        let accesses = self.trace.accesses.len();
        self.redirect(&command.redirections);
        let first = self.trace.invocations.len();
        self.attach(accesses, first);
        let outcome = match &command.kind {
            CommandKind::Simple(_) | CommandKind::Function { .. } => Outcome::default(),
            CommandKind::Subshell(script) => self.isolated(|runner| {
                let outcome = runner.script(script);
                Outcome { status: outcome.status, ..Outcome::default() }
            }),
            CommandKind::Group(script) => self.script(script),
            CommandKind::If { arms, otherwise } => self.branches(arms, otherwise.as_ref()),
            CommandKind::Loop { until, condition, body } => {
                self.repeat(*until, |runner| runner.script(condition), None, body)
            }
            CommandKind::For { select, name, words, body } => {
                self.each(*select, name, words.as_deref(), body, command.span)
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                let [start, test, update] = &**expressions;
                self.arithmetic(start);
                self.repeat(
                    false,
                    |runner| {
                        let value = runner.arithmetic(test);
                        Outcome { status: value.map(|value| value != 0), ..Outcome::default() }
                    },
                    Some(update),
                    body,
                )
            }
            CommandKind::Case { subject, arms } => {
                let _ = self.word_text(subject, Mode::CaseSubject);
                let before = self.state.clone();
                let mut joined: Option<State> = None;
                let mut has_default = false;
                let mut falls: Option<State> = None;
                let mut leaves = true;
                for arm in arms {
                    self.state = before.clone();
                    for pattern in &arm.patterns {
                        self.word_pattern(pattern);
                        has_default |= matches!(
                            pattern.parts.as_slice(),
                            [Part::Literal(text, _)] if text == "*"
                        );
                    }
                    if let Some(fallen) = falls.take() {
                        self.join(&fallen);
                    }
                    let outcome = self.script(&arm.body);
                    self.settle(&outcome);
                    if arm.end == CaseEnd::FallThrough {
                        falls = Some(self.state.clone());
                    }
                    if !outcome.leaves {
                        leaves = false;
                        let state = self.state.clone();
                        State::gather(&mut joined, state);
                    }
                }
                self.state = match joined {
                    Some(joined) if has_default => joined,
                    Some(joined) => before.join(&joined),
                    None => before,
                };
                Outcome { leaves: leaves && has_default, ..Outcome::default() }
            }
            CommandKind::Arithmetic(expression) => {
                let value = self.arithmetic(expression);
                if value.is_none() || self.context.shell == Shell::Unknown {
                    self.nested_subshells(expression);
                }
                Outcome { status: value.map(|value| value != 0), ..Outcome::default() }
            }
            CommandKind::Conditional(condition) => {
                self.condition(condition);
                Outcome::default()
            }
            CommandKind::Coprocess { name, body } => {
                let site = self.site(command.span);
                self.trace.jobs.push(site);
                self.isolated(|runner| {
                    let place = runner.capture();
                    runner.state.descriptors.insert(1, Target::Capture(place));
                    let outcome = runner.command(body);
                    runner.settle(&outcome);
                    runner.release(place);
                });
                let end = || Text::unknown(Unknown::Arithmetic);
                let ends =
                    Value::Indexed { elements: [(0, end()), (1, end())].into(), open: false };
                self.state.put(name, variable::Variable::new(ends));
                Outcome::known(true)
            }
        };
        self.restore_descriptors(saved);
        self.flush(waiting, None);
        outcome
    }

    /// Puts the descriptors of an outer command back, in the state of failure too.
    fn restore_descriptors(&mut self, saved: state::Descriptors) {
        self.state.descriptors = saved;
    }
}
