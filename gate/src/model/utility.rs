//! What utilities do, as data: options, operands, effects. No judgement.
//!
//! `docs/rules.md` describes the files these are loaded from.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::model::component;
use crate::model::fact::{EffectKind, named};
use crate::model::value::{Piece, Text, Truth, Unknown};

/// A utility, or a sub-command of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Utility {
    /// Its name; for a sub-command the words that name it, joined by a blank (`push`, `remote add`).
    pub name: String,
    /// Other names with the same entry.
    pub aliases: Vec<String>,
    /// The utility it is a sub-command of.
    pub parent: Option<UtilityId>,
    /// Its sub-commands.
    pub subcommands: Vec<UtilityId>,
    /// How its arguments are read.
    pub syntax: Syntax,
    /// Its options; for a sub-command these are added to the parent's.
    pub options: Vec<OptionSpec>,
    /// Its operands.
    pub operands: Vec<OperandSpec>,
    /// What it does whatever its operands are.
    pub effects: Vec<EffectSpec>,
    /// Commands or code in its arguments.
    pub carries: Vec<CarrySpec>,
    /// Names of options that make its effects reach everything below an operand.
    pub recursive: Vec<String>,
    /// Names of options that override a safeguard.
    pub force: Vec<String>,
    /// Names of options with which it only shows what it would do.
    pub dry: Vec<String>,
    /// Arguments with which, alone, it prints something about itself.
    pub inert: Vec<String>,
    /// The language it runs, for an interpreter.
    pub language: Option<Language>,
    /// What it takes from standard input.
    pub input: Input,
    /// What it prints.
    pub output: Output,
    /// A part of its arguments has a grammar of its own.
    pub grammar: Option<Grammar>,
    /// Whether it is built into the shell (the interpreter then models its state).
    pub builtin: bool,
    /// Whether an argument that is in no table makes its effects unknown. True unless an entry says
    /// that further options are harmless.
    pub closed: bool,
    /// Whether a sub-command must be one of the listed ones; an unlisted one is unknown.
    pub requires_subcommand: bool,
    /// Globs of the names of files in the project whose code it runs.
    pub code_files: Vec<String>,
    /// Words of its language with which code can only compute and print.
    pub plain_words: Vec<String>,
    /// Where options stand by their names.
    pub index: OptionIndex,
}

impl Utility {
    /// The first of its options with that name.
    pub fn option(&self, name: &str) -> Option<&OptionSpec> {
        self.positions(name)
            .filter_map(|position| self.options.get(position))
            .find(|option| option.names.iter().any(|own| own == name))
    }

    /// The first of its options whose first name is `name`.
    pub fn option_first_named(&self, name: &str) -> Option<&OptionSpec> {
        self.positions(name)
            .filter_map(|position| self.options.get(position))
            .find(|option| option.names.first().is_some_and(|own| own == name))
    }

    /// Positions of options that may have the name, in order.
    fn positions(&self, name: &str) -> impl Iterator<Item = usize> {
        let (key, index) = (OptionIndex::key(name), self.index.of(&self.options));
        let from = index.partition_point(|(own, _)| *own < key);
        let rest = index.get(from..).unwrap_or_default().iter();
        rest.take_while(move |(own, _)| *own == key).map(|(_, position)| usize::from(*position))
    }
}

/// Positions of a utility's options, sorted by the beginning and the length of each name. It is made
/// when an option is first looked for, behind which the options do not change any more.
#[derive(Clone, Debug, Default)]
pub struct OptionIndex(OnceLock<Box<[(u64, u16)]>>);

impl OptionIndex {
    fn of(&self, options: &[OptionSpec]) -> &[(u64, u16)] {
        self.0.get_or_init(|| {
            let mut list: Vec<(u64, u16)> = (0u16..)
                .zip(options.iter().take(usize::from(u16::MAX)))
                .flat_map(|(at, option)| option.names.iter().map(move |own| (Self::key(own), at)))
                .collect();
            list.sort_unstable();
            list.dedup();
            list.into_boxed_slice()
        })
    }

    fn key(name: &str) -> u64 {
        let begin = name.bytes().take(7).fold(0, |key, byte| (key << 8) | u64::from(byte));
        (begin << 8) | (name.len() as u64 & 0xff)
    }
}

/// An index says nothing that the options do not say.
impl PartialEq for OptionIndex {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OptionIndex {}

/// An index into a [`Catalog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtilityId(pub u32);

named! {
    /// How arguments are read.
    #[derive(Default)]
    Syntax {
        /// `getopt_long` with permutation: clusters, unambiguous long prefixes, `--`.
        #[default]
        Gnu = "gnu",
        /// As `gnu`, but options end at the first operand.
        Posix = "posix",
        /// Clusters and permutation, long options spelled out.
        Exact = "exact",
        /// As `exact`, but options end at the first operand.
        ExactStop = "exact_stop",
        /// Long options with one dash, no clusters, permutation; `-x=v` and `-x v`.
        SingleDash = "single_dash",
        /// As `single_dash`, but options end at the first operand.
        SingleDashStop = "single_dash_stop",
        /// All words are operands.
        Words = "words",
    }
}

/// An option.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionSpec {
    /// Spellings with their dashes; the first is the name rules use.
    pub names: Vec<String>,
    /// Whether it takes a value.
    pub value: ValueArity,
    /// What the value is.
    pub kind: ValueKind,
    /// What is done to the value (a path, a host) or, without one, by the option alone.
    pub effects: Vec<EffectKind>,
    /// The language of a value that is code, where it is not the utility's own.
    pub language: Option<Language>,
}

named! {
    /// Whether an option takes a value.
    #[derive(Default)]
    ValueArity {
        /// It takes none.
        #[default]
        None = "none",
        /// Attached or in the next word.
        Required = "required",
        /// Only attached.
        Optional = "optional",
        /// Two words.
        Two = "two",
    }
}

named! {
    /// What a word is to a utility.
    #[derive(Default)]
    ValueKind {
        /// Text that is never opened or run: a number, a format, a pattern, a message.
        #[default]
        Text = "text",
        /// A path.
        Path = "path",
        /// A directory, which is entered for what follows (`-C`) when its effect is `enter`.
        Directory = "directory",
        /// A path where it looks like one (a slash, a dot and letters at the end, a tilde);
        /// otherwise text.
        Auto = "auto",
        /// A pattern of the names of files that are looked into; one that begins with `!` names none.
        NamePattern = "name_pattern",
        /// A path when it starts with `@` (the rest is the path), otherwise text.
        AtPath = "at_path",
        /// `NAME=VALUE` or `NAME=@PATH` (curl -F): a path behind `=@` or `=<`.
        FormPath = "form_path",
        /// A URL or host; `file:` URLs are paths.
        Host = "host",
        /// A path or, behind `|` or `!`, shell text that is run.
        PipePath = "pipe_path",
        /// `[user@]host:path` is remote, anything else is a path.
        RemotePath = "remote_path",
        /// The name or path of a program that is run, without arguments or with (split at blanks).
        Program = "program",
        /// Shell text.
        Shell = "shell",
        /// Code in the utility's language.
        Code = "code",
        /// A file of code or settings that is loaded.
        Script = "script",
        /// `NAME=VALUE` put into the environment of what runs.
        Assignment = "assignment",
        /// A revision, ref or branch; never a path.
        Revision = "revision",
        /// A user, group, process, service, package or other name.
        Name = "name",
        /// Words of the utility's own command, up to the end.
        Command = "command",
    }
}

/// Operands: which of them, what they are, what is done to them. The first spec that claims an
/// operand has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperandSpec {
    /// Which operands.
    pub place: OperandPlace,
    /// What they are.
    pub kind: ValueKind,
    /// What is done to each.
    pub effects: Vec<EffectKind>,
    /// Holds only if one of these options is given.
    pub when: Vec<String>,
    /// Holds only if none of these options is given.
    pub unless: Vec<String>,
    /// Holds only if there are at least this many operands.
    pub at_least: usize,
}

named! {
    /// Which operands.
    #[derive(Default)]
    OperandPlace {
        /// Every one that no other spec claims.
        #[default]
        All = "all",
        /// The first.
        First = "first",
        /// The second.
        Second = "second",
        /// The third.
        Third = "third",
        /// The last, if it is not the only one.
        Last = "last",
    }
}

/// An effect that does not come from one operand or option value alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectSpec {
    /// What is done.
    pub kind: EffectKind,
    /// To what.
    pub object: EffectObject,
    /// Happens only if one of these options is given.
    pub when: Vec<String>,
    /// Happens only if none of these options is given.
    pub unless: Vec<String>,
    /// Happens only if there is no operand.
    pub without_operands: bool,
    /// Happens only if there is an operand.
    pub with_operands: bool,
    /// Only with so many operands, or with an option that has effects of its own.
    pub at_least: usize,
    /// Happens only if some operand, in any case of letters, begins with one of these words.
    pub words: Vec<String>,
    /// Happens only where the directory in force is no workspace root.
    pub away: bool,
}

/// The object of an [`EffectSpec`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EffectObject {
    /// None.
    #[default]
    None,
    /// Each operand.
    Operands,
    /// The directory in force.
    Directory,
    /// A fixed path (`~/.npmrc`, `/etc/fstab`); `~` is the home.
    Path(String),
    /// A name in the directory in force made from the last part of each URL operand.
    UrlName,
}

/// A command or code in the arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarrySpec {
    /// How it is given.
    pub form: CarryForm,
    /// Operands to skip before it.
    pub skip: usize,
    /// Whether `NAME=VALUE` words may stand before it.
    pub assignments: bool,
    /// Carried only if one of these options is given.
    pub when: Vec<String>,
    /// Carried only if none of these options is given.
    pub unless: Vec<String>,
    /// Words that end it (`;`, `+`, `:::`).
    pub until: Vec<String>,
    /// Where it runs.
    pub scope: CarryScope,
    /// Whether words that are not known here are added (xargs, parallel, find).
    pub appends: bool,
    /// A placeholder that those words replace instead (`{}`), where the default one differs or is on.
    pub placeholder: Option<String>,
    /// The option that sets the placeholder (`-I`).
    pub placeholder_option: Option<String>,
    /// The option whose value is the program, the words being its arguments
    /// (`start-stop-daemon --exec`); without it nothing is carried.
    pub program_option: Option<String>,
}

named! {
    /// How a carried command is given.
    #[derive(Default)]
    CarryForm {
        /// Words of a command.
        #[default]
        Command = "command",
        /// Words joined by a blank and read as shell text.
        Shell = "shell",
        /// One word is shell text, several are a command.
        Either = "either",
        /// The first word is the name of a utility built into this program.
        Applet = "applet",
        /// Standard input is shell text.
        Input = "input",
        /// Each operand is a script of its own.
        Scripts = "scripts",
    }
}

named! {
    /// Where a carried command runs.
    #[derive(Default)]
    CarryScope {
        /// Here.
        #[default]
        Local = "local",
        /// Below another root directory.
        OtherRoot = "other_root",
        /// In a container or virtual machine.
        Container = "container",
        /// On another machine.
        Remote = "remote",
    }
}

named! {
    /// Languages of code.
    Language {
        /// Shell command language.
        Shell = "shell",
        /// awk
        Awk = "awk",
        /// sed
        Sed = "sed",
        /// Python
        Python = "python",
        /// Perl
        Perl = "perl",
        /// Ruby
        Ruby = "ruby",
        /// JavaScript and TypeScript
        JavaScript = "javascript",
        /// PHP
        Php = "php",
        /// Lua
        Lua = "lua",
        /// Tcl
        Tcl = "tcl",
        /// PowerShell
        PowerShell = "powershell",
        /// SQL and the meta commands of its clients
        Sql = "sql",
        /// AppleScript
        AppleScript = "applescript",
        /// Commands of vi and its kin
        Vi = "vi",
        /// Emacs Lisp
        Lisp = "lisp",
        /// make
        Make = "make",
        /// Filters of jq and its kin, which cannot run anything
        Filter = "filter",
        /// Commands of ed
        Ed = "ed",
        /// Commands of a debugger
        Debugger = "debugger",
        /// Commands of dc
        Dc = "dc",
        /// Another language
        Other = "other",
    }
}

named! {
    /// What a utility takes from standard input.
    #[derive(Default)]
    Input {
        /// Data, when no file operand is given (the default).
        #[default]
        Data = "data",
        /// Nothing.
        None = "none",
        /// Code in its language, when no code option and no script operand is given.
        Code = "code",
        /// Words for the command it carries.
        Words = "words",
        /// Data even with operands.
        Always = "always",
    }
}

named! {
    /// What a utility prints.
    #[derive(Default)]
    Output {
        /// Something that is not known (the default).
        #[default]
        Unknown = "unknown",
        /// Made from what it reads, standard input or file operands: a filter.
        Input = "input",
        /// What came over the network.
        Network = "network",
        /// Variables of the environment or other secrets.
        Secret = "secret",
        /// Nothing.
        None = "none",
    }
}

named! {
    /// Arguments with a grammar of their own, each read by a mechanism of that name.
    Grammar {
        /// sed scripts.
        Sed = "sed",
        /// awk programs.
        Awk = "awk",
        /// find's start points and expression.
        Find = "find",
        /// `NAME=VALUE` operands of dd.
        Dd = "dd",
        /// tar's old-style first word and its modes.
        Tar = "tar",
        /// `test`, `[`.
        Test = "test",
        /// git's global options, aliases and configuration.
        Git = "git",
        /// Refspecs of `git push`.
        GitPush = "git_push",
        /// Operands of chmod, chown, chgrp.
        Mode = "mode",
        /// make's operands and `NAME=VALUE`.
        Make = "make",
        /// GNU parallel.
        Parallel = "parallel",
        /// Commands of vi and its kin in options.
        Vi = "vi",
        /// SQL text in options and operands.
        Sql = "sql",
        /// env's split string and assignments.
        Env = "env",
        /// ssh's options behind the host.
        Ssh = "ssh",
        /// Mounts and options of container runners.
        Docker = "docker",
        /// rsync and scp peers.
        Rsync = "rsync",
        /// Shells: options, `-c`, `-s`, `+o`.
        Shell = "shell",
        /// Verbs of cloud command lines (aws, gcloud, az, ...): what the last verb says.
        Cloud = "cloud",
        /// Addresses of socat: files and commands.
        Socat = "socat",
        /// curl and wget: outputs, uploads.
        Transfer = "transfer",
        /// Literal shell calls in one-liners of other languages.
        OneLiner = "one_liner",
        /// jq and yq filters.
        Filter = "filter",
        /// Jobs of at and crontab.
        Schedule = "schedule",
    }
}

/// The bit of the second byte of a name; none for a shorter one.
fn second_bit(name: &str) -> Option<u64> {
    name.as_bytes().get(1).map(|byte| 1 << (byte & 63))
}

/// Utilities that are made when they are first asked for: those built in.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// Their number; their indices count from zero.
    pub count: usize,
    /// All names one after the other, and what a [`NameSpan`] counts in.
    pub names: &'static str,
    /// Names and aliases of those without a parent, sorted, with their indices.
    pub top: &'static [(NameSpan, u32)],
    /// Positions in `top`, counted from one, each at the [`slot`] of its name or, where that is
    /// taken, behind it; zero where none is. A power of two of them, more than there are names.
    pub slots: &'static [u16],
    /// What variables in the environment mean; made when it is first asked for.
    pub variables: fn() -> Vec<VariableSpec>,
    /// See [`Catalog::telling`].
    pub telling: &'static [u64],
    /// Index of the parent, name or alias, and index of every other, sorted.
    pub below: &'static [(u32, NameSpan, u32)],
    /// Makes the one at an index.
    pub make: fn(usize) -> Option<Utility>,
}

/// The first byte of a name in the text of all names, and its length in bytes. (A slice of texts would hold
/// an address each, which a program has to correct, page by page, each time it starts.)
pub type NameSpan = (u32, u16);

impl Store {
    fn name(&self, (start, length): NameSpan) -> &'static str {
        let start = start as usize;
        self.names.get(start..start + usize::from(length)).unwrap_or_default()
    }
}

/// What variables in the environment mean.
#[derive(Clone, Debug, Default)]
struct Variables {
    specs: Vec<VariableSpec>,
    /// Positions in `specs` of whole names, sorted by name.
    whole: Vec<u32>,
    /// Positions of those that stand for several names.
    starts: Vec<u32>,
}

impl Variables {
    fn new(specs: Vec<VariableSpec>) -> Self {
        let mut variables = Self { specs, ..Self::default() };
        for (index, spec) in (0_u32..).zip(&variables.specs) {
            let several = spec.name.ends_with('*');
            if several { &mut variables.starts } else { &mut variables.whole }.push(index);
        }
        let mut whole = std::mem::take(&mut variables.whole);
        whole.sort_by(|a, b| variables.name(*a).cmp(variables.name(*b)));
        Self { whole, ..variables }
    }

    fn push(&mut self, spec: VariableSpec) {
        let index = u32::try_from(self.specs.len()).unwrap_or(u32::MAX);
        if spec.name.ends_with('*') {
            self.starts.push(index);
        } else {
            let at = self.whole.partition_point(|own| self.name(*own) <= spec.name.as_str());
            self.whole.insert(at, index);
        }
        self.specs.push(spec);
    }

    fn name(&self, index: u32) -> &str {
        self.specs.get(index as usize).map_or("", |spec| spec.name.as_str())
    }

    /// What is said about a variable, with the position in the list.
    fn of(&self, name: &str) -> impl Iterator<Item = (u32, &VariableSpec)> {
        let from = self.whole.partition_point(|own| self.name(*own) < name);
        let whole = self.whole.get(from..).unwrap_or_default().iter().copied();
        let whole = whole.take_while(move |own| self.name(*own) == name);
        let starts = self.starts.iter().copied().filter(move |own| {
            self.name(*own).strip_suffix('*').is_some_and(|stem| name.starts_with(stem))
        });
        whole.chain(starts).filter_map(|index| Some((index, self.specs.get(index as usize)?)))
    }
}

/// Where a name is looked for first among a power of two of slots.
pub fn slot(name: &str, slots: usize) -> usize {
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 15)) as usize & slots.wrapping_sub(1)
}

/// Everything that is known about utilities.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    store: Option<&'static Store>,
    /// Those of the store, as far as they were asked for.
    stored: Box<[OnceLock<Option<Box<Utility>>>]>,
    /// Those that were added.
    added: Vec<Utility>,
    names: BTreeMap<String, UtilityId>,
    variables: OnceLock<Variables>,
    telling: Vec<u64>,
    /// Directories whose programs are what their names say.
    pub trusted_directories: Vec<String>,
    /// Globs of the names of variables that hold secrets.
    pub secret_variables: Vec<String>,
}

/// A variable of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableSpec {
    /// Its name; a `*` at the end stands for any rest.
    pub name: String,
    /// What its value is.
    pub class: VariableClass,
    /// Programs it matters to, empty for every program.
    pub programs: Vec<String>,
    /// Globs that every word of a value fits which neither loads nor runs anything new; `relative`
    /// stands for directories below the current one.
    pub plain: Vec<String>,
}

impl VariableSpec {
    /// Whether this value neither loads nor runs anything but the project's own files.
    pub fn is_plain(&self, value: &Text) -> bool {
        let Some(value) = value.exact() else { return false };
        if self.plain.is_empty() {
            return false;
        }
        if self.plain.iter().any(|glob| glob == "relative") {
            return value.split(':').all(|path| {
                !path.is_empty()
                    && !path.starts_with(['/', '~'])
                    && !path.split('/').any(|part| part == "..")
            });
        }
        value.split_whitespace().all(|word| {
            let word = Text::literal(word);
            self.plain.iter().any(|glob| component::matches(&word, glob) == Truth::Yes)
        })
    }
}

named! {
    /// What the value of a variable is.
    VariableClass {
        /// It cannot make a program do anything.
        Harmless = "harmless",
        /// It makes a program load or run something.
        Code = "code",
        /// Its value is shell text that a program runs.
        Shell = "shell",
        /// Its value names a file that a program writes.
        File = "file",
    }
}

impl Catalog {
    /// A catalog of what a store holds.
    pub fn stored(store: &'static Store) -> Self {
        let stored = (0..store.count).map(|_| OnceLock::new()).collect();
        let telling = store.telling.to_vec();
        Self { store: Some(store), stored, telling, ..Self::default() }
    }

    /// Adds a utility and gives its index; names and aliases of utilities without a parent can then
    /// be looked up, and a name that is there already is not replaced: the return value is `Err`
    /// with that name. A parent must have been added before, to the same catalog.
    pub fn add(&mut self, utility: Utility) -> Result<UtilityId, String> {
        let index = self.stored.len() + self.added.len();
        let id = UtilityId(u32::try_from(index).unwrap_or(u32::MAX));
        if utility.parent.is_none() {
            for name in std::iter::once(&utility.name).chain(&utility.aliases) {
                if self.find(name).is_some() {
                    return Err(name.clone());
                }
                self.names.insert(name.clone(), id);
            }
        }
        if let Some(parent) = utility.parent
            && let Some(index) = (parent.0 as usize).checked_sub(self.stored.len())
            && let Some(parent) = self.added.get_mut(index)
        {
            parent.subcommands.push(id);
        }
        self.added.push(utility);
        Ok(id)
    }

    /// The utility at an index.
    pub fn get(&self, id: UtilityId) -> Option<&Utility> {
        let index = id.0 as usize;
        if let Some(index) = index.checked_sub(self.stored.len()) {
            self.added.get(index)
        } else {
            let make = self.store?.make;
            self.stored.get(index)?.get_or_init(|| make(index).map(Box::new)).as_deref()
        }
    }

    /// The utility of that exact name or alias.
    pub fn find(&self, name: &str) -> Option<UtilityId> {
        if let Some(id) = self.names.get(name) {
            return Some(*id);
        }
        let store = self.store?;
        let Store { top, slots, .. } = store;
        let mut at = slot(name, slots.len());
        loop {
            let position = usize::from(*slots.get(at)?).checked_sub(1)?;
            let (own, id) = top.get(position)?;
            if store.name(*own) == name {
                return Some(UtilityId(*id));
            }
            at = (at + 1) & (slots.len() - 1);
        }
    }

    /// The sub-command of `parent` with that name or alias (words joined by one blank).
    pub fn subcommand(&self, parent: UtilityId, name: &str) -> Option<UtilityId> {
        if (parent.0 as usize) < self.stored.len() {
            let store = self.store?;
            let below = store.below;
            let at = below
                .binary_search_by(|(above, own, _)| {
                    above.cmp(&parent.0).then_with(|| store.name(*own).cmp(name))
                })
                .ok()?;
            return below.get(at).map(|(_, _, id)| UtilityId(*id));
        }
        self.get(parent)?.subcommands.iter().copied().find(|id| {
            self.get(*id)
                .is_some_and(|sub| sub.name == name || sub.aliases.iter().any(|a| a == name))
        })
    }

    /// The utility at the top of a chain of sub-commands.
    pub fn root(&self, id: UtilityId) -> Option<&Utility> {
        let mut utility = self.get(id)?;
        while let Some(parent) = utility.parent.and_then(|parent| self.get(parent)) {
            utility = parent;
        }
        Some(utility)
    }

    /// Adds what a variable in the environment of a program means.
    pub fn add_variable(&mut self, spec: VariableSpec) {
        self.telling.resize(256, 0);
        let begin = spec.name.strip_suffix('*').unwrap_or(&spec.name);
        let first = begin.bytes().next().map(usize::from);
        for (at, seconds) in self.telling.iter_mut().enumerate() {
            if spec.class != VariableClass::Harmless && first.is_none_or(|own| own == at) {
                *seconds |= second_bit(begin).unwrap_or(u64::MAX);
            }
        }
        self.table();
        if let Some(table) = self.variables.get_mut() {
            table.push(spec);
        }
    }

    /// For each first byte of a name, one bit for each second one, by its low bits, that names of
    /// variables which are not harmless begin with.
    pub fn telling(&self) -> &[u64] {
        &self.telling
    }

    /// What variables in the environment of a program mean, in the order they were added.
    pub fn variables(&self) -> &[VariableSpec] {
        &self.table().specs
    }

    fn table(&self) -> &Variables {
        self.variables.get_or_init(|| {
            Variables::new(self.store.map_or_else(Vec::new, |store| (store.variables)()))
        })
    }

    /// What is said about a variable, with the position in the list.
    fn specs_of(&self, name: &str) -> impl Iterator<Item = (u32, &VariableSpec)> {
        self.table().of(name)
    }

    /// What the value of a variable is to a program (any one, for an empty name), where the tables
    /// know the variable. An entry of the whole name counts before one that ends in `*`, then the one
    /// that is not harmless.
    pub fn variable_class(&self, name: &str, program: &str) -> Option<VariableClass> {
        self.specs_of(name)
            .filter(|(_, spec)| {
                spec.programs.is_empty() || spec.programs.iter().any(|own| own == program)
            })
            .max_by_key(|(index, spec)| {
                (!spec.name.ends_with('*'), spec.class != VariableClass::Harmless, *index)
            })
            .map(|(_, spec)| spec.class)
    }

    /// Whether this value of a variable loads and runs nothing new, whatever program reads it.
    pub fn is_plain_value(&self, name: &str, value: &Text) -> bool {
        let whole = self.specs_of(name).any(|(_, spec)| spec.name == name);
        let mut specs = self
            .specs_of(name)
            .filter(|(_, spec)| spec.class != VariableClass::Harmless)
            .filter(|(_, spec)| !whole || spec.name == name)
            .peekable();
        specs.peek().is_some() && specs.all(|(_, spec)| spec.is_plain(value))
    }

    /// Whether a variable of that name holds a secret.
    pub fn is_secret_variable(&self, name: &str) -> bool {
        let upper = Text::literal(name.to_ascii_uppercase());
        self.secret_variables.iter().any(|glob| component::matches(&upper, glob) == Truth::Yes)
    }

    /// Names of the secrets in a text, each once: of variables, or `environment`.
    pub fn secrets_in<'t>(&self, text: &'t Text) -> Vec<&'t str> {
        let mut names = Vec::new();
        for piece in text.pieces() {
            let name = match piece {
                Piece::Unknown(Unknown::Secret) => "environment",
                Piece::Unknown(Unknown::Parameter(name)) if self.is_secret_variable(name) => name,
                _ => continue,
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether some program runs or loads what the variable says.
    pub fn is_telling_variable(&self, name: &str) -> bool {
        let first = name.bytes().next().map_or(0, usize::from);
        let seconds = self.telling.get(first).copied().unwrap_or_default();
        if seconds & second_bit(name).unwrap_or(u64::MAX) == 0 {
            return false;
        }
        self.specs_of(name).any(|(_, spec)| spec.class != VariableClass::Harmless)
    }

    /// All utilities and sub-commands in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (UtilityId, &Utility)> {
        (0u32..)
            .map(UtilityId)
            .take(self.stored.len() + self.added.len())
            .filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Names and aliases of utilities (no sub-commands), sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let stored = self
            .store
            .into_iter()
            .flat_map(|store| store.top.iter().map(|(name, _)| store.name(*name)));
        let mut names: Vec<&str> = stored.chain(self.names.keys().map(String::as_str)).collect();
        if !self.names.is_empty() {
            names.sort_unstable();
        }
        names.into_iter()
    }
}
