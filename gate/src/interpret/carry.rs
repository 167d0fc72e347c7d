//! What an invocation carries: commands, scripts, files, code on standard input; and what it
//! writes into files that are read again.

use std::rc::Rc;

use super::flow::scalar;
use super::producer::produce;
use super::simple::{Call, blur};
use super::state::{State, Target, join_path};
use super::variable::{Variable, is_from_network};
use super::{Frame, Outcome, Runner};
use crate::model::context::Shell;
use crate::model::fact::{CodePlace, EffectKind};
use crate::model::script::{GapCause, LimitKind, Parsed};
use crate::model::span::{Site, SourceId, Span};
use crate::model::trace::{Carried, CodeUse, DeedObject, Invocation, Reading, Source, Stream};
use crate::model::utility::{CarryScope, Language, Output, Utility};
use crate::model::value::{Arity, Field, List, Piece, Text, Unknown, Value};
use crate::parse::parse_in;

/// Shells that read aliases in scripts.
const ALIAS_SHELLS: &[&str] = &["sh", "dash", "ash", "busybox", "ksh", "mksh", "zsh", "yash"];

/// Builtins that run their operands as a command of this shell.
const TRANSPARENT: &[&str] = &["command", "builtin"];

/// Texts, the last ones, among which one that was carried before is looked for.
const TEXTS: usize = 64;

/// Scripts of texts that are kept, and bytes their texts have at most.
const PARSED: usize = 4;
const PARSED_BYTES: usize = 16 << 10;

impl Runner<'_> {
    /// Follows one thing that an invocation carries.
    pub(super) fn follow(&mut self, carried: Carried, index: usize, call: &Call) -> Outcome {
        let span = call.site.span;
        if !self.step(1, span) {
            return Outcome::default();
        }
        let name =
            self.trace
                .invocations
                .get(index)
                .and_then(|invocation| {
                    invocation.name.clone().or_else(|| {
                        invocation.argv.first().map(|field| field.text.display().into())
                    })
                })
                .unwrap_or_default();
        let mut via = self.frame.via.clone();
        via.push(name.clone());
        let inner = Frame { via, carrier: Some(index), scope: self.frame.scope };
        let outer = std::mem::replace(&mut self.frame, inner);
        let outcome = self.deeper(span, |runner| runner.follow_inside(carried, &name, index, call));
        self.frame = outer;
        outcome
    }

    fn follow_inside(
        &mut self,
        carried: Carried,
        name: &str,
        index: usize,
        call: &Call,
    ) -> Outcome {
        match carried {
            Carried::Command { words, assignments, scope, directory, takes_input, .. } => {
                let transparent = call.builtins && TRANSPARENT.contains(&name);
                let tainted = self.stdin().text().is_some_and(is_from_network);
                let fields: List<Field> =
                    if tainted { words.into_iter().map(spoil).collect() } else { words.into() };
                // env fills in variables by itself (`-S '${NAME}'`).
                let fields = if name == "env" {
                    fields.into_iter().map(|field| self.filled(field)).collect()
                } else {
                    fields
                };
                let mut prefix = call.prefix.clone();
                prefix.extend(assignments);
                let site = fields
                    .iter()
                    .map(|field| field.site)
                    .filter(|site| site.source == call.site.source)
                    .reduce(|a, b| Site::new(a.source, a.span.to(b.span)))
                    .unwrap_or(call.site);
                let inner = Call {
                    fields,
                    prefix,
                    site,
                    functions: false,
                    builtins: transparent,
                    arrays: if transparent { shift_arrays(call) } else { Vec::new() },
                    accesses: self.trace.accesses.len(),
                };
                let connected = scope == CarryScope::Local && self.is_network(index);
                let work = |runner: &mut Self| {
                    runner.enter(scope, directory.as_ref());
                    if connected {
                        runner.connect();
                    } else if !takes_input {
                        runner.state.descriptors.insert(0, Target::Inherited);
                    }
                    runner.call_fields(&inner)
                };
                if transparent {
                    let saved = self.state.descriptors.clone();
                    let outcome = work(self);
                    self.state.descriptors = saved;
                    outcome
                } else {
                    self.isolated(work);
                    Outcome::default()
                }
            }
            Carried::Script { text, parameters, place, scope, directory, same_shell, site } => {
                let text = if name == "bind" { binding(text) } else { text };
                self.code(Language::Shell, place, &text, Some(index), site);
                let Some(known) = self.open(&text) else {
                    self.emit(1, &blur(&text));
                    return Outcome::default();
                };
                if name == "trap" && self.trapping {
                    return self.source_text(&known, site);
                }
                if name == "trap" {
                    let before = self.state.clone();
                    let waiting = self.pending.len();
                    let outcome = self.source_text(&known, site);
                    self.settle(&outcome);
                    self.flush(waiting, None);
                    let after = std::mem::replace(&mut self.state, before);
                    self.keep_trap(text, site, index, call, &after);
                    return Outcome::known(true);
                }
                if matches!(name, "mapfile" | "readarray" | "complete" | "compgen" | "bind") {
                    self.isolated(|runner| {
                        let outcome = runner.source_text(&known, site);
                        runner.settle(&outcome);
                    });
                    return Outcome::known(true);
                }
                if same_shell {
                    return self.source_text(&known, site);
                }
                let connected = scope == CarryScope::Local && self.is_network(index);
                self.isolated(|runner| {
                    runner.enter(scope, directory.as_ref());
                    if connected {
                        runner.connect();
                    }
                    runner.shell_text(&known, &parameters, name, call, site);
                });
                Outcome::default()
            }
            Carried::Program { language, text, place, site } => {
                self.code(language, place, &text, Some(index), site);
                Outcome::default()
            }
            Carried::File { path, language, parameters, same_shell } => {
                self.file(&path, language, &parameters, same_shell, name, index, call)
            }
            Carried::Input { language, parameters, scope, site } => {
                // A shell on its own reads what its caller has on standard input.
                let text = match self.stdin() {
                    Stream::Text(text) => text,
                    Stream::Inherited => Text::unknown(Unknown::Input),
                };
                self.code(language, CodePlace::Input, &text, Some(index), site);
                self.drain();
                if language != Language::Shell {
                    return Outcome::default();
                }
                let Some(known) = self.open(&text) else {
                    self.emit(1, &blur(&text));
                    return Outcome::default();
                };
                let mut all = vec![Field::literal(name, site)];
                all.extend(parameters);
                self.isolated(|runner| {
                    runner.enter(scope, None);
                    runner.shell_text(&known, &all, name, call, site);
                });
                Outcome::default()
            }
        }
    }

    /// A word in which variables with one value stand as that value.
    fn filled(&mut self, mut field: Field) -> Field {
        let value = |name: &str| {
            let value = super::flow::scalar(&self.state.variable(name)?.value());
            value.is_exact().then_some(value)
        };
        let mut text = Text::empty();
        for piece in field.text.pieces() {
            match piece {
                Piece::Unknown(Unknown::Parameter(name)) => match value(name) {
                    Some(value) => text.extend(&value),
                    None => text.push(piece.clone()),
                },
                other => text.push(other.clone()),
            }
        }
        field.text = self.close(&text);
        field
    }

    /// A program that a connection starts reads the connection.
    fn connect(&mut self) {
        let input = self.input(Text::unknown(Unknown::Network));
        self.state.descriptors.insert(0, Target::Input(input));
    }

    /// Whether what an invocation passes on comes over the network.
    fn is_network(&self, index: usize) -> bool {
        self.trace
            .invocations
            .get(index)
            .and_then(|invocation| invocation.utility)
            .and_then(|id| self.catalog.get(id))
            .is_some_and(|utility| {
                let connects = |kinds: &[EffectKind]| kinds.contains(&EffectKind::Connect);
                utility.output == Output::Network
                    || utility.effects.iter().any(|effect| effect.kind == EffectKind::Connect)
                    || utility.operands.iter().any(|operand| connects(&operand.effects))
            })
    }

    /// The scope and directory of what is carried.
    fn enter(&mut self, scope: CarryScope, directory: Option<&Text>) {
        if scope != CarryScope::Local {
            if scope == CarryScope::Remote {
                let elsewhere = Text::unknown(Unknown::NotModelled("another machine"));
                self.state.directories = [elsewhere].into();
            }
            self.frame.scope = scope;
        }
        if let Some(directory) = directory {
            let mut next: List<Text> = List::new();
            for old in &self.state.directories {
                let joined = join_path(old, directory);
                if !next.contains(&joined) {
                    next.push(joined);
                }
            }
            self.state.directories = next;
        }
    }

    /// A file that is run or sourced.
    #[expect(clippy::too_many_arguments, reason = "the parts of Carried::File and its carrier")]
    fn file(
        &mut self,
        path: &Field,
        language: Language,
        parameters: &[Field],
        same_shell: bool,
        name: &str,
        index: usize,
        call: &Call,
    ) -> Outcome {
        let contents = self.written(&path.text);
        let mut outcome = Outcome::default();
        for content in contents {
            self.code(language, CodePlace::File, &content, Some(index), path.site);
            if language != Language::Shell {
                continue;
            }
            let Some(known) = self.open(&content) else {
                self.emit(1, &blur(&content));
                continue;
            };
            let label = format!("file {}", path.text.display());
            if self.calls.iter().filter(|entry| **entry == label).count() >= 2 {
                continue;
            }
            self.calls.push(label);
            if same_shell {
                let saved = Rc::clone(&self.state.positional);
                if !parameters.is_empty() {
                    self.state.positional = Rc::new(positional(parameters));
                }
                outcome = self.source_text(&known, path.site);
                if let Some(escaped) = self.escaped.take() {
                    self.join(&escaped);
                }
                outcome.leaves = false;
                self.state.positional = saved;
            } else {
                let mut all = vec![path.clone()];
                all.extend(parameters.iter().cloned());
                self.isolated(|runner| {
                    runner.shell_text(&known, &all, name, call, path.site);
                });
            }
            self.calls.pop();
        }
        outcome
    }

    /// Whether the program is a file that this text has written; then it is run.
    pub(super) fn run_written(&mut self, index: usize, call: &Call) -> bool {
        if self.state.files.is_empty() {
            return false;
        }
        let Some(first) = call.fields.first() else { return false };
        let path = first.clone();
        let is_path = path.text.pieces().iter().any(|piece| match piece {
            Piece::Literal(literal) => literal.contains('/'),
            Piece::Unknown(_) => true,
            Piece::Glob(_) => false,
        });
        if !is_path {
            return false;
        }
        let contents = self.written(&path.text);
        if contents.is_empty() {
            return false;
        }
        let language = contents.first().map_or(Language::Shell, interpreter_of);
        let parameters: Vec<Field> = call.fields.iter().skip(1).cloned().collect();
        let label = path.text.display();
        let mut via = self.frame.via.clone();
        via.push(label.as_str().into());
        let inner = Frame { via, carrier: Some(index), scope: self.frame.scope };
        let outer = std::mem::replace(&mut self.frame, inner);
        self.deeper(call.site.span, |runner| {
            runner.file(&path, language, &parameters, false, &label, index, call)
        });
        self.frame = outer;
        true
    }

    /// Notes code that reaches an interpreter, and the substitutions that made it.
    pub(super) fn code(
        &mut self,
        language: Language,
        place: CodePlace,
        text: &Text,
        invocation: Option<usize>,
        site: Site,
    ) {
        self.decide(0, site);
        self.trace.codes.push(CodeUse { language, place, text: text.clone(), invocation, site });
    }

    /// Runs text in this shell (`eval`, `.`).
    pub(super) fn source_text(&mut self, text: &str, site: Site) -> Outcome {
        if !self.step(1 + text.len() / 64, site.span) {
            return Outcome::default();
        }
        if self.trace.sources.len() >= self.limits.steps {
            self.gap(GapCause::Limit(LimitKind::Steps), site.span);
            return Outcome::default();
        }
        let parsed = self.parsed(text);
        let source = self.same_source(text, site).unwrap_or_else(|| {
            let source = self.add_source(text, site);
            self.trace.gaps.extend(parsed.gaps.iter().map(|gap| (source, gap.clone())));
            let foreign = super::foreign::differences(&parsed.script, text, self.state.shell);
            self.trace.gaps.extend(foreign.into_iter().map(|gap| (source, gap)));
            source
        });
        let outer = std::mem::replace(&mut self.source, source);
        let outcome = self.deeper(Span::new(0, text.len()), |runner| runner.script(&parsed.script));
        self.source = outer;
        outcome
    }

    /// The text that the same word has carried before, where nothing tells the two apart: an alias is in
    /// force from a place of its text on.
    fn same_source(&self, text: &str, site: Site) -> Option<SourceId> {
        if !self.again || !self.state.aliases.is_empty() || !self.state.shell.is_bash() {
            return None;
        }
        let from = self.trace.sources.len().saturating_sub(TEXTS);
        let recent = self.trace.sources.get(from..)?;
        let same = |own: &Source| own.origin == Some(site) && own.text == text;
        let index = from + recent.iter().rposition(same)?;
        u32::try_from(index).ok().map(SourceId)
    }

    /// The script of a text. The last few are kept, as a text is often read more than once.
    fn parsed(&mut self, text: &str) -> Rc<Parsed> {
        let dialect = self.dialect();
        if let Some((.., parsed)) =
            self.parsed.iter().find(|(own, kept, _)| *kept == dialect && own == text)
        {
            return Rc::clone(parsed);
        }
        let parsed = Rc::new(parse_in(text, self.limits, dialect));
        if text.len() <= PARSED_BYTES {
            if self.parsed.len() >= PARSED {
                self.parsed.clear();
            }
            self.parsed.push((text.into(), dialect, Rc::clone(&parsed)));
        }
        parsed
    }

    /// Runs text later, in a copy of this shell, for a variable that holds commands.
    pub(super) fn later_text(&mut self, text: &Text, site: Site) {
        self.code(Language::Shell, CodePlace::Variable, text, None, site);
        if let Some(known) = self.open(text) {
            self.isolated(|runner| {
                let outcome = runner.source_text(&known, site);
                runner.settle(&outcome);
            });
        }
    }

    /// The shell that a carrier of this name is, so far as one is declared: `sh` is the declared shell
    /// where that is one that is called `sh`.
    fn inner_shell(&self, name: &str) -> Shell {
        let declared = self.context.shell;
        if declared == Shell::Unknown {
            return declared;
        }
        match name.rsplit('/').next().unwrap_or(name) {
            "dash" => Shell::Dash,
            "zsh" => Shell::Zsh,
            "ash" | "busybox" => Shell::Ash,
            "sh" if declared.is_posix() => declared,
            _ => Shell::Bash,
        }
    }

    /// Runs text in a new shell. The caller has made a copy of the state.
    fn shell_text(
        &mut self,
        text: &str,
        parameters: &[Field],
        shell: &str,
        call: &Call,
        site: Site,
    ) {
        let (mut texts, mut open) = positional(parameters);
        let name = if texts.is_empty() {
            if open { Text::unknown(Unknown::Parameter("0".into())) } else { Text::from(shell) }
        } else {
            texts.remove(0)
        };
        if parameters.first().is_some_and(|field| field.arity == Arity::Many) {
            open = true;
        }
        let path = name.display();
        let mut child: State = self.state.child((texts, open), name);
        let environment = match self.frame.carrier.and_then(|i| self.trace.invocations.get(i)) {
            Some(Invocation { environment, .. }) => environment.clone(),
            None => call.prefix.clone(),
        };
        for (variable, value) in &environment {
            let mut fresh = Variable::new(Value::Scalar(value.clone()));
            fresh.exported = true;
            child.put(variable, fresh);
        }
        child.enter_shell(self.inner_shell(shell));
        if ALIAS_SHELLS.contains(&shell) {
            child.set_option("expand_aliases", true);
        }
        self.state = child;
        self.calls.push("shell".into());
        for start in ["BASH_ENV", "ENV"] {
            let Some(path) = self.state.variable(start).map(|v| scalar(&v.value())) else {
                continue;
            };
            for content in self.written(&path) {
                self.code(Language::Shell, CodePlace::Variable, &content, self.frame.carrier, site);
                if let Some(known) = self.open(&content) {
                    self.source_text(&known, site);
                }
            }
        }
        if self.state.variable("PS4").is_some_and(|v| {
            v.exported && scalar(&v.value()).exact().is_none_or(|t| t.contains(['$', '`']))
        }) {
            self.trace_prompt(site);
        }
        let parsed = self.parsed(text);
        self.script_bomb(&parsed.script, &path, site);
        let outcome = self.source_text(text, site);
        self.settle(&outcome);
        self.calls.pop();
    }

    /// What a text producer prints, where all it needs is known.
    pub(super) fn produced(
        &mut self,
        name: &str,
        fields: &[Field],
        input: &Stream,
    ) -> Option<Text> {
        let files = |path: &str| {
            let contents = self.written(&Text::literal(path));
            (!contents.is_empty())
                .then(|| super::variable::widen_texts(&contents.iter().collect::<Vec<_>>()))
        };
        let limit = self.limits.value_bytes;
        // Other shells decode escapes whether they are told to or not.
        let name = if name == "echo" && !self.state.shell.is_bash() { "echo -e" } else { name };
        if let Some(text) = produce(name, fields, input.text(), &files, limit) {
            return Some(text);
        }
        let arguments = fields.get(1..).unwrap_or_default();
        let has_options = arguments.iter().any(|field| {
            let prefix = field.text.prefix();
            prefix.len() > 1 && prefix.starts_with('-')
        });
        let feed = || match input {
            Stream::Text(text) => text.clone(),
            Stream::Inherited => Text::unknown(Unknown::Input),
        };
        match name {
            "tee" => Some(feed()),
            // Known files among others that are not known.
            "cat" if !has_options && !arguments.is_empty() => {
                let mut whole = Text::empty();
                for operand in arguments {
                    let text = if operand.text.exact() == Some("-") {
                        feed()
                    } else {
                        self.read_path(&operand.text)
                    };
                    super::flow::append(&mut whole, &text, limit);
                }
                Some(whole)
            }
            "cat" if !has_options => Some(feed()),
            _ => None,
        }
    }

    /// Remembers what an invocation writes into files.
    pub(super) fn writes(&mut self, index: usize, input: &Stream) {
        let Some(invocation) = self.trace.invocations.get_mut(index) else { return };
        if invocation.scope != CarryScope::Local && invocation.scope != CarryScope::OtherRoot {
            return;
        }
        let Some(name) = invocation.name.clone() else { return };
        let utility = invocation.utility.and_then(|id| self.catalog.get(id));
        let reading = std::mem::take(&mut invocation.reading);
        self.writes_of(&name, utility, &reading, input);
        if let Some(invocation) = self.trace.invocations.get_mut(index) {
            invocation.reading = reading;
        }
    }

    fn writes_of(
        &mut self,
        name: &str,
        utility: Option<&Utility>,
        reading: &Reading,
        input: &Stream,
    ) {
        let network = utility.is_some_and(|utility| utility.output == Output::Network);
        let feed = input.text().cloned().unwrap_or_else(|| Text::unknown(Unknown::Input));
        match name {
            "tee" => {
                let adds = reading.options.iter().any(|option| option.name.contains('a'));
                for operand in &reading.operands {
                    self.write_path(&operand.text, &feed, adds);
                }
                return;
            }
            "mkfifo" => {
                for operand in &reading.operands {
                    for key in self.keys(&operand.text) {
                        let contents = self.piped.get(&key).cloned();
                        self.pipes.insert(key.clone());
                        self.state.write_file(key, contents.unwrap_or_else(|| vec![Text::empty()]));
                    }
                }
                return;
            }
            "cp" | "mv" | "ln" | "install" | "rsync" | "scp" => {
                self.copies(&reading.operands, name);
                return;
            }
            _ => {}
        }
        let mut paths: Vec<Text> = Vec::new();
        for deed in &reading.deeds {
            if let DeedObject::Path(path) = &deed.object
                && matches!(
                    deed.kind,
                    EffectKind::Write | EffectKind::Put | EffectKind::Append | EffectKind::Create
                )
            {
                paths.push(path.clone());
            }
        }
        if let Some(utility) = utility {
            for option in &reading.options {
                let Some(value) = &option.value else { continue };
                let writes = utility.options.iter().any(|spec| {
                    spec.names.first().is_some_and(|own| *own == option.name)
                        && spec
                            .effects
                            .iter()
                            .any(|effect| matches!(effect, EffectKind::Write | EffectKind::Append))
                });
                if writes {
                    paths.push(value.text.clone());
                }
            }
        }
        if network {
            for operand in &reading.operands {
                if let Some(name) = url_name(&operand.text) {
                    paths.push(name);
                }
            }
        }
        if paths.is_empty() {
            return;
        }
        let content = if network || is_from_network(&feed) {
            Text::unknown(Unknown::Network)
        } else {
            let read = reading.deeds.iter().find_map(|deed| match (&deed.kind, &deed.object) {
                (EffectKind::Read, DeedObject::Path(path)) => Some(self.read_path(path)),
                _ => None,
            });
            match read {
                Some(text) => text,
                None if name == "dd" => feed.clone(),
                None => Text::unknown(Unknown::Output),
            }
        };
        // Where it is not known what is written, only files that matter are remembered.
        let matters = !matches!(content.first_unknown(), Some(Unknown::Output));
        for path in paths {
            if matters || self.has_written(&path) {
                self.write_path(&path, &content, false);
            }
        }
    }

    /// `cp`, `mv`, `ln`, `install`: the content of the sources is at the target too.
    fn copies(&mut self, operands: &[Field], name: &str) {
        let Some((target, sources)) = operands.split_last() else { return };
        for source in sources {
            let contents = self.written(&source.text);
            let content = match contents.as_slice() {
                [] if name == "scp" || name == "rsync" => {
                    if source.text.prefix().contains(':') {
                        Text::unknown(Unknown::Network)
                    } else {
                        continue;
                    }
                }
                [] => {
                    if self.has_written(&target.text) {
                        self.write_path(&target.text, &Text::unknown(Unknown::Input), false);
                    }
                    continue;
                }
                [one] => one.clone(),
                many => super::variable::widen_texts(&many.iter().collect::<Vec<_>>()),
            };
            self.write_path(&target.text, &content, false);
            if let Some(base) = base_name(&source.text) {
                let mut inside = target.text.clone();
                inside.push_str("/");
                inside.push_str(&base);
                self.write_path(&inside, &content, false);
            }
        }
    }
}

/// Positional parameters from the fields of a command. The places of those behind a field that may
/// be several are not known, so that the list ends with it and is open.
pub(super) fn positional(parameters: &[Field]) -> (Vec<Text>, bool) {
    let mut texts = Vec::new();
    for field in parameters {
        let first = first_of(field);
        // What came over the network is not forgotten, and a pattern without a match is itself; anything
        // else that may be several may be none.
        if field.arity == Arity::One || field.text.has_glob() || is_from_network(&first) {
            texts.push(first);
        }
        if field.arity == Arity::Many {
            return (texts, true);
        }
    }
    (texts, false)
}

/// The first argument of those a field becomes: what stands behind an unknown part may be in a
/// later one.
pub(super) fn first_of(field: &Field) -> Text {
    match field.text.first_unknown() {
        Some(cause) if field.arity == Arity::Many => Text::unknown(cause.clone()),
        _ => field.text.clone(),
    }
}

/// Operands of a declaration utility behind `command` or `builtin`.
fn shift_arrays(call: &Call) -> Vec<(usize, super::assign::Ready)> {
    call.arrays.iter().map(|(index, ready)| (index.saturating_sub(1), ready.clone())).collect()
}

/// The command of a key binding `KEYS: COMMAND`.
fn binding(text: Text) -> Text {
    match text.exact().and_then(|exact| exact.split_once(':')) {
        Some((_, command)) => Text::literal(command.trim()),
        None => text,
    }
}

/// Words that another program takes from the network.
fn spoil(mut field: Field) -> Field {
    field.text = field
        .text
        .pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Unknown(Unknown::Item | Unknown::Input) => Piece::Unknown(Unknown::Network),
            other => other.clone(),
        })
        .collect();
    field
}

/// The language of a file by its first line; without a `#!` it is the shell's.
fn interpreter_of(content: &Text) -> Language {
    let Some(line) = content.prefix().lines().next().and_then(|line| line.strip_prefix("#!"))
    else {
        return Language::Shell;
    };
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let mut program = words.next().unwrap_or_default();
    if program == "env" {
        program = words.find(|word| !word.starts_with('-')).unwrap_or_default();
    }
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match stem {
        "sh" | "bash" | "dash" | "ash" | "ksh" | "mksh" | "zsh" | "yash" | "fish" => {
            Language::Shell
        }
        "node" | "nodejs" | "deno" | "bun" => Language::JavaScript,
        "gawk" | "mawk" => Language::Awk,
        other => Language::from_name(other).unwrap_or(Language::Other),
    }
}

/// The last part of a path, where it is known.
fn base_name(path: &Text) -> Option<String> {
    match path.pieces().last() {
        Some(Piece::Literal(literal)) => {
            let base = literal.trim_end_matches('/').rsplit('/').next()?;
            (!base.is_empty()).then(|| base.to_owned())
        }
        _ => None,
    }
}

/// The file name a downloader derives from a URL.
fn url_name(url: &Text) -> Option<Text> {
    let exact = url.exact()?;
    let rest = exact.split_once("://").map_or(exact, |(_, rest)| rest);
    let (_, path) = rest.split_once('/')?;
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let base = path.rsplit('/').next().filter(|base| !base.is_empty())?;
    Some(Text::literal(base))
}
