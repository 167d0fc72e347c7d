//! What a script would run: invocations with all that is known about their surroundings.

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::script::Gap;
use crate::model::span::{Site, SourceId};
use crate::model::utility::{CarryScope, Language, UtilityId};
use crate::model::value::{Field, List, Str, Text, Truth, Unknown};

/// What a script would run. Every branch counts as run.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The texts; the index is the [`SourceId`].
    pub sources: Vec<Source>,
    /// Programs and builtins in the order they are met, carried ones behind their carriers.
    pub invocations: Vec<Invocation>,
    /// Files the shell itself opens.
    pub accesses: Vec<Access>,
    /// Live substitutions in the order they are met.
    pub substitutions: Vec<SubstitutionUse>,
    /// Code that reaches an interpreter or evaluator.
    pub codes: Vec<CodeUse>,
    /// Jobs that outlive the command (`&`, `coproc`).
    pub jobs: Vec<Site>,
    /// Functions that keep starting two or more copies of themselves.
    pub bombs: Vec<Site>,
    /// Variables whose new value changes how later programs of this shell behave (`export`,
    /// assignments to exported names, `PS4` with tracing).
    pub settings: Vec<Setting>,
    /// What was not understood, each with the text it counts in.
    pub gaps: Vec<(SourceId, Gap)>,
}

impl Trace {
    /// Empties every list. Room for a few items is kept for the next command.
    pub fn clear(&mut self) {
        fn empty<T>(list: &mut Vec<T>) {
            list.clear();
            list.shrink_to(ROOM);
        }
        empty(&mut self.sources);
        empty(&mut self.invocations);
        empty(&mut self.accesses);
        empty(&mut self.substitutions);
        empty(&mut self.codes);
        empty(&mut self.jobs);
        empty(&mut self.bombs);
        empty(&mut self.settings);
        empty(&mut self.gaps);
    }
}

/// Items a list that is used again has room for.
pub const ROOM: usize = 256;

/// A text and where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The text.
    pub text: Str,
    /// The word that carries it; none for the command itself.
    pub origin: Option<Site>,
}

/// A program or builtin that is run.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// Its words, the name first, at least one.
    pub argv: List<Field>,
    /// The name it is looked up by: the last part of a path in a trusted directory, or the word
    /// itself. None where the name is not known.
    pub name: Option<Str>,
    /// Its entry, or that of its sub-command.
    pub utility: Option<UtilityId>,
    /// Whether the name was found only by folding the case of its letters (`RM`), which counts for
    /// rules and never for readers.
    pub folded: bool,
    /// Its arguments as the utility reads them.
    pub reading: Reading,
    /// Names of the wrappers and carriers it is inside, outermost first.
    pub via: List<Str>,
    /// The invocation that carries it, as an index into the trace.
    pub carrier: Option<usize>,
    /// Where it runs.
    pub scope: CarryScope,
    /// Its words in the source.
    pub site: Site,
    /// The directories it may run in, absolute where known, at least one.
    pub directories: List<Text>,
    /// Variables that this text puts into its environment, prefix assignments last.
    pub environment: List<(Str, Text)>,
    /// What it finds on standard input; unknown where it is inherited.
    pub input: Stream,
    /// Whether a function or alias of this text has its name, so that the name says nothing.
    pub shadowed: bool,
    /// Whether it carries commands or code, which are followed.
    pub carries: bool,
    /// The first invocation that it repeats in all of the above (a pass of a loop, a call of a
    /// function), as an index into the trace. Its effects are those of that one and told there, but
    /// where they depend on what ran before.
    pub repeats: Option<usize>,
}

/// What stands on standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stream {
    /// That of the surrounding program.
    #[default]
    Inherited,
    /// This text, from a pipe, a here-document or a file.
    Text(Text),
}

impl Stream {
    /// The text, where it is fed by this command.
    pub const fn text(&self) -> Option<&Text> {
        match self {
            Self::Inherited => None,
            Self::Text(text) => Some(text),
        }
    }
}

/// Arguments as the utility reads them.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Names of the sub-commands that were entered.
    pub subcommand: Vec<Str>,
    /// Options in order.
    pub options: Vec<OptionUse>,
    /// Operands in order.
    pub operands: Vec<Field>,
    /// Effects that the utility's own grammar shows (`w` of sed, `-delete` of find, `of=` of dd).
    pub deeds: Vec<Deed>,
    /// What the tables do not know.
    pub doubts: Vec<Doubt>,
    /// Whether the only argument is one that prints something about the utility itself.
    pub inert: bool,
    /// Whether the operands' effects are given by `deeds` alone.
    pub complete: bool,
}

impl Reading {
    /// The last use of the option with this name (its first spelling in the table).
    pub fn option(&self, name: &str) -> Option<&OptionUse> {
        self.options.iter().rev().find(|option| option.name == name)
    }

    /// Whether one of these options was given; maybe where one of them only may have been.
    pub fn has_any(&self, names: &[String]) -> Truth {
        let mut truth = Truth::No;
        for option in &self.options {
            if names.iter().any(|name| *name == option.name || option.spelled == *name) {
                truth = truth.or(option.certain);
            }
        }
        truth
    }
}

/// An option that was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionUse {
    /// The first spelling in the table.
    pub name: Str,
    /// The spelling that was resolved (`--recursive` for `--recurs`; `-R` within `-fR`).
    pub spelled: Str,
    /// Its value.
    pub value: Option<Field>,
    /// Where it stands.
    pub site: Site,
    /// Whether it is really there: maybe where a word of unknown text may be an option.
    pub certain: Truth,
    /// How many sub-commands were entered where it stands: tables of those behind it do not count.
    pub depth: usize,
}

/// An effect found by a grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// What is done.
    pub kind: EffectKind,
    /// To what.
    pub object: DeedObject,
    /// Whether it reaches everything below.
    pub recursive: Truth,
    /// Whether a safeguard is overridden.
    pub force: Truth,
    /// Whether it happens at all.
    pub certain: Truth,
    /// Where it shows.
    pub site: Site,
    /// The names that it reaches below its path; empty where it is any name.
    pub names: Vec<Text>,
}

/// What a [`Deed`] is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeedObject {
    /// Nothing that can be named.
    #[default]
    None,
    /// A path.
    Path(Text),
    /// A host.
    Host(Text),
    /// A remote branch; `HEAD` and the empty text are the current one, `*` is every one.
    Branch(Text),
    /// Another name.
    Name(Text),
}

/// Something in the arguments that the tables do not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// An option that is in no table.
    Option(Str, Site),
    /// A prefix of several long options.
    Ambiguous(Str, Site),
    /// A word of unknown text that may be an option.
    Word(Site),
    /// A sub-command that is in no table.
    Subcommand(Str, Site),
    /// The value of an option is missing.
    Value(Str, Site),
}

/// A command or code in the arguments of an invocation; the interpreter follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Words of a command.
    Command {
        /// Its words.
        words: Vec<Field>,
        /// Assignments for its environment.
        assignments: Vec<(Str, Text)>,
        /// Where it runs.
        scope: CarryScope,
        /// The directory it runs in, where that changes.
        directory: Option<Text>,
        /// Whether its standard input is that of the carrier.
        takes_input: bool,
        /// Whether a name of a function or builtin of this shell counts (`command`, `builtin`,
        /// `exec`, `env` skip functions).
        skips_functions: bool,
    },
    /// Shell text.
    Script {
        /// The text.
        text: Text,
        /// `$0`, `$1`, ... of it.
        parameters: Vec<Field>,
        /// Where it stands.
        place: CodePlace,
        /// Where it runs.
        scope: CarryScope,
        /// The directory it runs in, where that changes.
        directory: Option<Text>,
        /// Whether it runs in this shell (`eval`, `.`, `trap`), not in a new one.
        same_shell: bool,
        /// The word.
        site: Site,
    },
    /// Code in another language, or shell code that is not known.
    Program {
        /// In which language.
        language: Language,
        /// The code.
        text: Text,
        /// Where it stands.
        place: CodePlace,
        /// The word.
        site: Site,
    },
    /// A file that is run as a script.
    File {
        /// Its path.
        path: Field,
        /// In which language.
        language: Language,
        /// `$1`, ... of it.
        parameters: Vec<Field>,
        /// Whether it runs in this shell (`.`, `source`).
        same_shell: bool,
    },
    /// Standard input is code.
    Input {
        /// In which language.
        language: Language,
        /// `$1`, ... of it.
        parameters: Vec<Field>,
        /// Where it runs.
        scope: CarryScope,
        /// The carrier's words.
        site: Site,
    },
}

/// A file that the shell opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// `read`, `write`, `append` or, for `<>`, `write`.
    pub kind: EffectKind,
    /// The path as expanded.
    pub target: Field,
    /// The directories it may count from, at least one.
    pub directories: List<Text>,
    /// The invocation it is for.
    pub invocation: Option<usize>,
    /// The redirection in the source.
    pub site: Site,
}

/// A live substitution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubstitutionUse {
    /// Where it stands.
    pub site: Site,
    /// Whether it is a process substitution.
    pub process: bool,
    /// What it prints, where that is known exactly.
    pub known: bool,
    /// Its invocations: from the first index up to the second.
    pub invocations: (usize, usize),
    /// Whether what it prints is used as the name of a program or as code.
    pub decides: bool,
}

/// Code that reaches an interpreter or evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeUse {
    /// In which language.
    pub language: Language,
    /// Where it stands.
    pub place: CodePlace,
    /// The code.
    pub text: Text,
    /// The invocation it reaches.
    pub invocation: Option<usize>,
    /// The word.
    pub site: Site,
}

impl CodeUse {
    /// Whether some of it came over the network.
    pub fn is_from_network(&self) -> bool {
        self.text
            .pieces()
            .iter()
            .any(|piece| matches!(piece, crate::model::value::Piece::Unknown(Unknown::Network)))
    }
}

/// A variable of the environment that is set for what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: Str,
    /// Its value.
    pub value: Text,
    /// The invocations it is in force for begin at this index.
    pub from: usize,
    /// Where it is set.
    pub site: Site,
}
