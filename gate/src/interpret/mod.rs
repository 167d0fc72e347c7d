//! What a text would run: every branch counts as run, doubt is about values only.
//!
//! Takes a text and its context; gives the script and a [`Trace`]. May import: model, parse,
//! expand, resolve. Never: judges, touches the machine, or recurses without counting a step and a
//! level of depth.

mod bomb;
mod builtin;
mod carry;
mod environ;
mod flow;
mod foreign;
mod producer;
mod recursion;
mod simple;
mod state;
mod variable;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::expand::Mode;
use crate::model::context::{Context, Limits, Shell};
use crate::model::script::{
    AndOr, AndOrList, CaseEnd, Command, CommandKind, Condition, Gap, GapCause, Item, LimitKind,
    Parsed, Part, Pipeline, Script, Word,
};
use crate::model::span::{Site, SourceId, Span};
use crate::model::trace::{Source, Trace};
use crate::model::utility::{CarryScope, Catalog};
use crate::model::value::{Arity, Field, List, Str, Text, Unknown, Value};
use crate::parse::{Dialect, parse_in};
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

/// Functions that wait for being called; the body of a further one is followed at once.
const WAITING: usize = 64;

/// Passes of a counting loop that are followed one by one.
const COUNTED_PASSES: usize = 64;

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

/// A function where it is defined. Its body counts even if it is never called, and then with any
/// arguments.
#[derive(Clone, Debug)]
struct Defined {
    function: Rc<state::Function>,
    name: String,
    state: State,
    frame: Frame,
    calls: Vec<String>,
    site: Site,
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
        self.escaped = Some(match self.escaped.take() {
            Some(other) => other.join(&state),
            None => state,
        });
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
                        joined = Some(match joined.take() {
                            Some(other) => other.join(&state),
                            None => state,
                        });
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

    fn branches(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) -> Outcome {
        self.step(self.state.variables.len() / 64, Span::default());
        let mut joined: Option<State> = None;
        let mut leaves = true;
        let mut add = |runner: &Self, outcome: &Outcome| {
            if outcome.leaves {
                return;
            }
            leaves = false;
            joined = Some(match joined.take() {
                Some(other) => other.join(&runner.state),
                None => runner.state.clone(),
            });
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
    fn repeat(
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
                ends = Some(match ends.take() {
                    Some(other) => other.join(&end),
                    None => end,
                });
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
    fn each(
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
                seen = Some(match seen.take() {
                    Some(other) => other.join(&state),
                    None => state,
                });
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
    fn condition(&mut self, condition: &Condition) {
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
    fn nested_subshells(&mut self, expression: &Word) {
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

    /// Defines a function. Its body is followed where it is called, or at the end where it never is.
    fn define(&mut self, name: &str, body: &Arc<Command>) {
        let function = Rc::new(state::Function {
            body: Arc::clone(body),
            source: self.source,
            exported: self.state.option("allexport"),
            called: state::Called::default(),
        });
        Rc::make_mut(&mut self.state.functions).insert(name.to_owned(), vec![Rc::clone(&function)]);
        self.state.settled(&state::Definition::Function(name.to_owned()));
        let defined = Defined {
            function,
            name: name.to_owned(),
            state: self.state.clone(),
            frame: self.frame.clone(),
            calls: self.calls.clone(),
            site: self.site(body.span),
        };
        if self.defined.len() >= WAITING {
            self.defined.retain(|own| !own.function.called.is_noted());
        }
        if self.defined.len() < WAITING {
            self.defined.push(defined);
        } else {
            // Each that waits keeps the state it was made in.
            self.follow_body(defined);
        }
    }

    /// Follows functions that nothing in this text calls, the last one first, as it may call others.
    fn uncalled(&mut self) {
        while let Some(defined) = self.defined.pop() {
            if !defined.function.called.is_noted() {
                self.follow_body(defined);
            }
            if self.exhausted {
                break;
            }
        }
    }

    /// Follows the body of a function from where it was made, with any arguments.
    fn follow_body(&mut self, defined: Defined) {
        let Defined { function, name, state, frame, calls, site } = defined;
        self.again = true;
        let waiting = self.pending.len();
        let outer = (
            std::mem::replace(&mut self.state, state),
            std::mem::replace(&mut self.frame, frame),
            std::mem::replace(&mut self.calls, calls),
            std::mem::replace(&mut self.source, function.source),
        );
        let entered = std::mem::take(&mut self.entered);
        self.state.files = Rc::clone(&outer.0.files);
        self.deeper(site.span, |runner| {
            runner.isolated(|runner| {
                runner.state.positional = Rc::new((Vec::new(), true));
                runner.state.descriptors.clear();
                runner.state.hidden.push(BTreeMap::new());
                runner.calls.push(name);
                let outcome = runner.command(&function.body);
                runner.settle(&outcome);
            });
        });
        self.flush(waiting, None);
        let files = Rc::clone(&self.state.files);
        (self.state, self.frame, self.calls, self.source) = outer;
        self.entered = entered;
        self.state.files = files;
    }

    /// Calls a function of this text.
    fn call(&mut self, name: &str, arguments: &[Field], span: Span) -> Outcome {
        let Some(bodies) = self.state.functions.get(name).cloned() else {
            return Outcome::default();
        };
        let site = self.site(span);
        let inside = self.calls.iter().any(|call| call == name);
        if !inside && self.is_bomb(name) && !self.trace.bombs.contains(&site) {
            self.trace.bombs.push(site);
        }
        let Some((positional, open)) =
            self.enter_function(name, carry::positional(arguments), span)
        else {
            self.emit(1, &Text::unknown(Unknown::Output));
            return Outcome::default();
        };
        let outer = self.escaped.take();
        let before = self.state.clone();
        let mut joined: Option<State> = None;
        let mut status = None;
        self.again = true;
        for function in &bodies {
            function.called.note();
            self.state = before.clone();
            self.state.positional = Rc::new((positional.clone(), open));
            self.state.hidden.push(BTreeMap::new());
            self.calls.push(name.to_owned());
            let source = std::mem::replace(&mut self.source, function.source);
            let outcome = self.command(&function.body);
            self.settle(&outcome);
            if bodies.len() == 1 && !outcome.leaves {
                status = outcome.status;
            }
            self.source = source;
            self.calls.pop();
            if let Some(escaped) = self.escaped.take() {
                self.join(&escaped);
            }
            self.leave_function(&before);
            let state = self.state.clone();
            joined = Some(match joined.take() {
                Some(other) => other.join(&state),
                None => state,
            });
        }
        if let Some(joined) = joined {
            self.state = joined;
        }
        self.end_function();
        self.escaped = outer;
        Outcome { status, ..Outcome::default() }
    }

    /// Local variables end, positional parameters come back.
    fn leave_function(&mut self, before: &State) {
        if let Some(hidden) = self.state.hidden.pop()
            && !hidden.is_empty()
        {
            let variables = self.state.variables_mut();
            for (name, old) in hidden {
                match old {
                    Some(variable) => {
                        variables.insert(Str::from(name), variable);
                    }
                    None => {
                        variables.remove(name.as_str());
                    }
                }
            }
        }
        self.state.positional = Rc::clone(&before.positional);
        self.state.hidden.truncate(before.hidden.len());
    }

    /// Whether a function keeps starting two or more copies of itself.
    fn is_bomb(&mut self, name: &str) -> bool {
        let functions = &self.state.functions;
        if !matches!(&self.counted, Some((counted, _)) if Rc::ptr_eq(counted, functions)) {
            self.counted = None;
        }
        let (functions, known) =
            self.counted.get_or_insert_with(|| (Rc::clone(functions), BTreeMap::new()));
        if let Some(known) = known.get(name) {
            return *known;
        }
        let bodies = functions.get(name).map_or(&[][..], Vec::as_slice);
        let is_bomb = bodies.iter().any(|function| {
            let mut count = bomb::Count::new(name, functions);
            count.command(&function.body, false, 1, 0);
            count.is_bomb()
        });
        known.insert(name.to_owned(), is_bomb);
        is_bomb
    }
}
