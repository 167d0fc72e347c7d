//! What the shell knows at one point of a script: variables, functions, aliases, directories,
//! descriptors, and files this text has written. Where branches meet, states are joined.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::variable::{ALTERNATIVES, Variable, Variables, widen_texts};
use crate::model::context::{Context, Shell};
use crate::model::script::Command;
use crate::model::span::{Site, SourceId};
use crate::model::value::{List, Piece, Str, Text, Unknown, Value};

/// A function of this text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) body: Arc<Command>,
    pub(super) source: SourceId,
    pub(super) exported: bool,
    pub(super) called: Called,
}

/// Whether a function has been called, a copy of it included. Two functions are no different for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Called(Rc<Cell<bool>>);

impl Called {
    pub(super) fn note(&self) {
        self.0.set(true);
    }

    pub(super) fn is_noted(&self) -> bool {
        self.0.get()
    }
}

impl PartialEq for Called {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Called {}

/// Functions by name; several bodies where branches met.
pub(super) type Functions = Rc<BTreeMap<String, Vec<Rc<Function>>>>;

/// What is connected to descriptors, sorted by their numbers; copies share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Descriptors(List<(u32, Target)>);

impl Descriptors {
    pub(super) fn get(&self, number: u32) -> Option<&Target> {
        self.0.iter().find(|(own, _)| *own == number).map(|(_, target)| target)
    }

    pub(super) fn contains_key(&self, number: u32) -> bool {
        self.get(number).is_some()
    }

    pub(super) fn insert(&mut self, number: u32, target: Target) {
        let at = self.0.partition_point(|(own, _)| *own < number);
        if self.0.get(at).is_some_and(|(own, _)| *own == number) {
            if let Some(slot) = self.0.make_mut().get_mut(at) {
                slot.1 = target;
            }
        } else {
            self.0.insert(at, (number, target));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(u32, Target)> {
        self.0.iter()
    }

    pub(super) fn clear(&mut self) {
        self.0 = List::new();
    }
}

/// An alias and the place behind which it is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alias {
    pub(super) text: Text,
    pub(super) site: Site,
}

/// A name that this text has given a meaning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Definition {
    /// A function.
    Function(String),
    /// An alias.
    Alias(String),
    /// Aliases at all: whether they are read.
    AnyAlias,
}

/// What a descriptor is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// What the command was started with.
    Inherited,
    /// A place where output is gathered, an index.
    Capture(usize),
    /// A file open for writing, by its key.
    File(Text),
    /// A text that is read, an index.
    Input(usize),
    /// Nothing.
    Closed,
}

/// The variables that were hidden by `local`, by name; `None` where there was none.
type Hidden = BTreeMap<String, Option<Rc<Variable>>>;

/// Options of `set -o` and `shopt` that change what a text does here.
const OPTIONS: [&str; 17] = [
    "allexport",
    "braceexpand",
    "cdable_vars",
    "dotglob",
    "expand_aliases",
    "extglob",
    "globstar",
    "keyword",
    "lastpipe",
    "localvar_inherit",
    "localvar_unset",
    "nocaseglob",
    "nocasematch",
    "noglob",
    "nounset",
    "posix",
    "xtrace",
];

/// The options that are on, one bit each; those that change nothing here are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options(u32);

impl Options {
    fn bit(name: &str) -> u32 {
        OPTIONS.iter().position(|own| *own == name).map_or(0, |at| 1 << at)
    }

    fn is_on(self, name: &str) -> bool {
        self.0 & Self::bit(name) != 0
    }

    fn set(&mut self, name: &str, on: bool) {
        let bit = Self::bit(name);
        self.0 = if on { self.0 | bit } else { self.0 & !bit };
    }
}

/// A state of the shell. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) variables: Rc<Variables>,
    /// `$1` and on, and whether more may follow.
    pub(super) positional: Rc<(Vec<Text>, bool)>,
    /// `$0`
    pub(super) name: Text,
    /// `$_`
    pub(super) last: Text,
    pub(super) functions: Functions,
    pub(super) aliases: Rc<BTreeMap<String, Alias>>,
    /// Functions and aliases that may not be there: something else may have its name.
    pub(super) doubtful: Rc<BTreeSet<Definition>>,
    pub(super) options: Options,
    /// Directories it may be in, at least one.
    pub(super) directories: List<Text>,
    pub(super) previous: List<Text>,
    /// `pushd`'s stack, the top last.
    pub(super) stack: List<List<Text>>,
    pub(super) descriptors: Descriptors,
    /// Content that this text has put into files, by path; alternatives, at least one.
    pub(super) files: Rc<BTreeMap<Text, Vec<Text>>>,
    /// Names that `hash -p`, `enable` and their like gave another meaning.
    pub(super) rebound: Rc<BTreeSet<String>>,
    /// One for each function call that is open.
    pub(super) hidden: List<Hidden>,
    /// The shell that reads and runs this.
    pub(super) shell: Shell,
}

thread_local! {
    static START: RefCell<Option<(Context, State)>> = const { RefCell::new(None) };
}

impl State {
    /// The state at the start of a command; the last one is kept, since the next command mostly
    /// runs in the same context.
    pub(super) fn new(context: &Context) -> Self {
        START.with(|start| {
            let Ok(mut start) = start.try_borrow_mut() else { return Self::fresh(context) };
            if let Some((known, state)) = start.as_ref()
                && known == context
            {
                return state.clone();
            }
            let state = Self::fresh(context);
            *start = Some((context.clone(), state.clone()));
            state
        })
    }

    fn fresh(context: &Context) -> Self {
        let mut variables = Variables::default();
        let mut known = |name: &str, value: &str, exported: bool| {
            let mut variable = Variable::new(Value::literal(value));
            variable.exported = exported;
            variable.assigned = false;
            variables.insert(Str::from(name), Rc::new(variable));
        };
        known("HOME", &context.home, true);
        if let Some(user) = context.home.rsplit('/').next().filter(|user| !user.is_empty()) {
            known("USER", user, true);
            known("LOGNAME", user, true);
        }
        for (name, value) in &context.parameters {
            known(name, value, true);
        }
        known("IFS", " \t\n", false);
        known("OPTIND", "1", false);
        let mut options = Options::default();
        options.set("braceexpand", true);
        let mut state = Self {
            variables: Rc::new(variables),
            positional: Rc::new((Vec::new(), true)),
            name: Text::unknown(Unknown::Parameter("0".into())),
            last: Text::unknown(Unknown::Parameter("_".into())),
            functions: Rc::default(),
            aliases: Rc::default(),
            doubtful: Rc::default(),
            options,
            directories: [Text::literal(context.cwd.as_str())].into(),
            previous: [Text::unknown(Unknown::Parameter("OLDPWD".into()))].into(),
            stack: List::new(),
            descriptors: Descriptors::default(),
            files: Rc::default(),
            rebound: Rc::default(),
            hidden: List::new(),
            shell: Shell::Unknown,
        };
        state.enter_shell(context.shell);
        state
    }

    /// Makes it the state of this shell, which has just begun.
    pub(super) fn enter_shell(&mut self, shell: Shell) {
        self.shell = shell;
        if shell.is_posix() {
            self.set_option("braceexpand", false);
        }
        if !shell.is_bash() {
            self.set_option("expand_aliases", true);
        }
    }

    /// The state of a new shell that this one starts: what is exported, files, directories,
    /// descriptors.
    pub(super) fn child(&self, positional: (Vec<Text>, bool), name: Text) -> Self {
        let mut variables = Variables::default();
        for (name, variable) in self.variables.iter() {
            if variable.exported || &**name == "OPTIND" {
                variables.insert(name.clone(), Rc::clone(variable));
            }
        }
        let mut ifs = Variable::new(Value::literal(" \t\n"));
        ifs.assigned = false;
        variables.insert("IFS".into(), Rc::new(ifs));
        let functions = self
            .functions
            .iter()
            .filter(|(_, bodies)| bodies.iter().any(|function| function.exported))
            .map(|(name, bodies)| (name.clone(), bodies.clone()))
            .collect();
        let mut options = Options::default();
        options.set("braceexpand", true);
        Self {
            variables: Rc::new(variables),
            positional: Rc::new(positional),
            name,
            last: Text::unknown(Unknown::Parameter("_".into())),
            functions: Rc::new(functions),
            aliases: Rc::default(),
            options,
            stack: List::new(),
            rebound: Rc::default(),
            hidden: List::new(),
            ..self.clone()
        }
    }

    /// The variable, where this text or the context says something about it.
    pub(super) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name).map(Rc::as_ref)
    }

    /// Puts a variable.
    pub(super) fn put(&mut self, name: &str, variable: Variable) {
        self.variables_mut().insert(Str::from(name), Rc::new(variable));
    }

    /// Puts variables that no program finds in its environment, neither before nor now.
    pub(super) fn put_inner(&mut self, name: &str, variable: Variable) {
        Rc::make_mut(&mut self.variables).insert(Str::from(name), Rc::new(variable));
    }

    /// Adds one more state in which control may arrive somewhere.
    pub(super) fn gather(arriving: &mut Option<Self>, state: Self) {
        *arriving = Some(match arriving.take() {
            Some(other) => other.join(&state),
            None => state,
        });
    }

    /// Puts a variable back as it was, `None` for one that was not there.
    pub(super) fn restore(&mut self, name: &str, old: Option<Rc<Variable>>) {
        let variables = self.variables_mut();
        match old {
            Some(variable) => variables.insert(name.into(), variable),
            None => variables.remove(name),
        }
    }

    /// The variables for a change.
    pub(super) fn variables_mut(&mut self) -> &mut Variables {
        let variables = Rc::make_mut(&mut self.variables);
        variables.changed();
        variables
    }

    /// The variable for a change, made where it is missing.
    pub(super) fn variable_mut(&mut self, name: &str) -> &mut Variable {
        let slot = self.variables_mut().slot(name, || {
            let mut fresh = Variable::new(Value::Unknown(Unknown::Parameter(name.into())));
            fresh.assigned = false;
            fresh
        });
        Rc::make_mut(slot)
    }

    /// Takes back that a variable of the environment was looked at as unset and as set to
    /// `stand_in`: what an assignment gave it meanwhile stays.
    pub(super) fn undoubt(&mut self, name: &str, stand_in: &Text) {
        let Some(variable) = self.variable(name) else { return };
        let doubted = |value: &Value| match value {
            Value::Unset => true,
            Value::Scalar(text) => text == stand_in,
            _ => false,
        };
        let mut values: SmallVec<[Value; 1]> =
            variable.values.iter().filter(|value| !doubted(value)).cloned().collect();
        if values.is_empty() && !variable.exported && !variable.assigned {
            self.variables_mut().remove(name);
            return;
        }
        values.push(Value::Unknown(Unknown::Parameter(name.into())));
        self.variable_mut(name).values = values;
    }

    /// Whether an option of `set -o` or `shopt` is on.
    pub(super) fn option(&self, name: &str) -> bool {
        self.options.is_on(name)
    }

    /// Turns an option on or off.
    pub(super) fn set_option(&mut self, name: &str, on: bool) {
        self.options.set(name, on);
        if name == "expand_aliases" {
            self.settled(&Definition::AnyAlias);
        }
    }

    /// Notes the content of a file.
    pub(super) fn write_file(&mut self, key: Text, contents: Vec<Text>) {
        Rc::make_mut(&mut self.files).insert(key, contents);
    }

    /// Notes that aliases may be read or not.
    pub(super) fn doubt_aliases(&mut self) {
        self.set_option("expand_aliases", true);
        Rc::make_mut(&mut self.doubtful).insert(Definition::AnyAlias);
    }

    /// Whether a text means the same in both, the last word of the last command left out.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.variables == other.variables
            && self.positional == other.positional
            && self.functions == other.functions
            && self.aliases == other.aliases
            && self.doubtful == other.doubtful
            && self.options == other.options
            && self.directories == other.directories
    }

    /// Notes that a name surely has the meaning that it was given.
    pub(super) fn settled(&mut self, definition: &Definition) {
        if self.doubtful.contains(definition) {
            Rc::make_mut(&mut self.doubtful).remove(definition);
        }
    }

    /// What is connected to a descriptor.
    pub(super) fn descriptor(&self, number: u32) -> Target {
        self.descriptors.get(number).cloned().unwrap_or(Target::Inherited)
    }

    /// Splits the state so that each of these variables has one value, at most
    /// [`ALTERNATIVES`] states; variables past that are widened.
    pub(super) fn split(&self, names: &BTreeSet<Str>) -> Vec<Self> {
        let mut states = vec![self.clone()];
        for name in names {
            let Some(variable) = self.variable(name) else { continue };
            if variable.values.len() < 2 {
                continue;
            }
            if states.len() * variable.values.len() > ALTERNATIVES {
                let mut single = variable.clone();
                single.values = smallvec![variable.value()];
                for state in &mut states {
                    state.put(name, single.clone());
                }
                continue;
            }
            let mut next = Vec::new();
            for state in &states {
                for value in &variable.values {
                    let mut single = variable.clone();
                    single.values = smallvec![value.clone()];
                    let mut split = state.clone();
                    split.put(name, single);
                    next.push(split);
                }
            }
            states = next;
        }
        for (name, places) in [("PWD", &self.directories), ("OLDPWD", &self.previous)] {
            if !names.contains(name)
                || !self.is_forked(name)
                || states.len() * places.len() > ALTERNATIVES
            {
                continue;
            }
            let mut next = Vec::new();
            for state in &states {
                for place in places {
                    let mut split = state.clone();
                    let one: List<Text> = [place.clone()].into();
                    if name == "PWD" {
                        split.directories = one;
                    } else {
                        split.previous = one;
                    }
                    next.push(split);
                }
            }
            states = next;
        }
        states
    }

    /// Whether a variable has several values here; those of the shell's own directory variables are
    /// the directories it may be in.
    pub(super) fn is_forked(&self, name: &str) -> bool {
        match (self.variable(name), name) {
            (Some(variable), _) => variable.values.len() > 1,
            (None, "PWD") => self.directories.len() > 1,
            (None, "OLDPWD") => self.previous.len() > 1,
            (None, _) => false,
        }
    }

    /// The state after two ways have met.
    #[must_use]
    pub(super) fn join(mut self, other: &Self) -> Self {
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            for (name, variable) in self.variables.changes_of_join(&other.variables) {
                self.put(&name, variable);
            }
        }
        if self.positional != other.positional {
            let (mine, theirs) = (&self.positional.0, &other.positional.0);
            let joined = if mine.len() == theirs.len() {
                let texts = mine.iter().zip(theirs).map(|(a, b)| widen_texts(&[a, b])).collect();
                (texts, self.positional.1 || other.positional.1)
            } else {
                (Vec::new(), true)
            };
            self.positional = Rc::new(joined);
        }
        if self.name != other.name {
            self.name = widen_texts(&[&self.name, &other.name]);
        }
        if self.last != other.last {
            self.last = widen_texts(&[&self.last, &other.last]);
        }
        if self.functions != other.functions {
            for name in one_sided(&self.functions, &other.functions) {
                Rc::make_mut(&mut self.doubtful).insert(Definition::Function(name));
            }
            let functions = Rc::make_mut(&mut self.functions);
            for (name, bodies) in other.functions.iter() {
                let mine = functions.entry(name.clone()).or_default();
                for body in bodies {
                    if !mine.contains(body) && mine.len() < ALTERNATIVES {
                        mine.push(Rc::clone(body));
                    }
                }
            }
        }
        if self.aliases != other.aliases {
            for name in one_sided(&self.aliases, &other.aliases) {
                Rc::make_mut(&mut self.doubtful).insert(Definition::Alias(name));
            }
            let aliases = Rc::make_mut(&mut self.aliases);
            for (name, alias) in other.aliases.iter() {
                let mine = aliases.entry(name.clone()).or_insert_with(|| alias.clone());
                if mine.text != alias.text {
                    mine.text = Text::unknown(Unknown::Joined);
                }
            }
        }
        if self.option("expand_aliases") != other.option("expand_aliases") {
            Rc::make_mut(&mut self.doubtful).insert(Definition::AnyAlias);
        }
        if self.doubtful != other.doubtful {
            Rc::make_mut(&mut self.doubtful).extend(other.doubtful.iter().cloned());
        }
        if self.options != other.options {
            // A pattern stands for itself too, so that the one without the option is the wider one.
            let noglob = self.option("noglob") && other.option("noglob");
            self.options.0 |= other.options.0;
            self.options.set("noglob", noglob);
        }
        if self.files != other.files {
            let files = Rc::make_mut(&mut self.files);
            for (path, contents) in other.files.iter() {
                let mine = files.entry(path.clone()).or_default();
                for content in contents {
                    if !mine.contains(content) && mine.len() < ALTERNATIVES {
                        mine.push(content.clone());
                    }
                }
            }
        }
        if self.rebound != other.rebound {
            Rc::make_mut(&mut self.rebound).extend(other.rebound.iter().cloned());
        }
        join_directories(&mut self.directories, &other.directories);
        join_directories(&mut self.previous, &other.previous);
        if self.stack != other.stack {
            self.stack.clear();
        }
        if self.descriptors != other.descriptors {
            for (number, target) in other.descriptors.iter() {
                if !self.descriptors.contains_key(*number) {
                    self.descriptors.insert(*number, target.clone());
                }
            }
        }
        self
    }

    /// Makes every variable unknown whose values differ from those it had in `before`: what holds
    /// after any number of passes of a loop.
    pub(super) fn widen_from(&mut self, before: &Self) {
        if Rc::ptr_eq(&self.variables, &before.variables) {
            return;
        }
        for (name, variable) in self.variables.changes_of_widening(&before.variables) {
            self.put(&name, variable);
        }
    }
}

/// The names that only one of the two has.
fn one_sided<V>(mine: &BTreeMap<String, V>, theirs: &BTreeMap<String, V>) -> Vec<String> {
    let only = |a: &BTreeMap<String, V>, b: &BTreeMap<String, V>| -> Vec<String> {
        a.keys().filter(|name| !b.contains_key(*name)).cloned().collect()
    };
    [only(mine, theirs), only(theirs, mine)].concat()
}

fn join_directories(mine: &mut List<Text>, theirs: &[Text]) {
    for directory in theirs {
        if !mine.contains(directory) {
            mine.push(directory.clone());
        }
    }
    if mine.len() > ALTERNATIVES {
        *mine = [Text::unknown(Unknown::Joined)].into();
    }
}

/// `path` as it counts from `directory`, lexically normalised where both are known.
pub(super) fn join_path(directory: &Text, path: &Text) -> Text {
    let floats = matches!(path.pieces().first(), Some(Piece::Unknown(cause)) if !cause.is_below());
    if path.prefix().starts_with('/') || floats {
        return normalize(path);
    }
    if path.is_empty() {
        return directory.clone();
    }
    let mut whole = directory.clone();
    whole.push_str("/");
    whole.extend(path);
    normalize(&whole)
}

/// Whether an absolute path has no component that goes.
fn is_normal(path: &str) -> bool {
    let mut components = path.split('/');
    components.next() == Some("")
        && path.len() > 1
        && components.all(|component| !matches!(component, "" | "." | ".."))
}

/// Removes `.`, empty and `..` components of a path without unknown pieces; other paths stay.
fn normalize(path: &Text) -> Text {
    if path.exact().is_some_and(is_normal) {
        return path.clone();
    }
    if path.has_unknown() || !path.prefix().starts_with('/') {
        return trim_current(path);
    }
    let mut components: Vec<Text> = Vec::new();
    let mut current = Text::empty();
    let mut close = |current: &mut Text| {
        match current.exact() {
            Some("" | ".") => {}
            Some("..") => {
                components.pop();
            }
            _ => components.push(current.clone()),
        }
        *current = Text::empty();
    };
    for piece in path.pieces() {
        if let Piece::Literal(literal) = piece {
            for (index, part) in literal.split('/').enumerate() {
                if index > 0 {
                    close(&mut current);
                }
                current.push_str(part);
            }
        } else {
            current.push(piece.clone());
        }
    }
    close(&mut current);
    let mut out = Text::empty();
    for component in &components {
        out.push_str("/");
        out.extend(component);
    }
    if out.is_empty() { Text::literal("/") } else { out }
}

/// Drops `./` behind a slash in the known parts, so that `$d/./x` and `$d/x` are one path.
fn trim_current(path: &Text) -> Text {
    let current = |piece: &Piece| matches!(piece, Piece::Literal(text) if text.contains("/./"));
    if !path.pieces().iter().any(current) {
        return path.clone();
    }
    path.pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Literal(literal) if literal.contains("/./") => {
                Piece::Literal(literal.replace("/./", "/"))
            }
            other => other.clone(),
        })
        .collect()
}
