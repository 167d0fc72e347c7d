//! What we mind: rules over effects, the labels they give, and what is known about places.

use crate::model::context::Preset;
use crate::model::fact::{CodePlace, EffectKind, Place};
use crate::model::span::Site;
use crate::model::utility::{CarryScope, Language, VariableClass};
use crate::model::value::Truth;
use crate::model::verdict::Decision;

/// A rule: a condition, and what to say where it holds or may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id, unique among all rules.
    pub id: String,
    /// The label where it holds, with its detail where it has one (`deny_list:rm_rf`).
    pub label: String,
    /// The label where it may hold; without one a Maybe says nothing.
    pub maybe: Option<String>,
    /// One sentence: what is wrong.
    pub why: String,
    /// One sentence: what could not be told, for a Maybe; empty where `why` serves.
    pub doubt: String,
    /// One sentence: a safer way; may be empty.
    pub instead: String,
    /// Standards and manuals behind it.
    pub source: Vec<String>,
    /// When it holds.
    pub condition: Condition,
    /// Commands for which it holds.
    pub hits: Vec<String>,
    /// Commands for which it may hold.
    pub unsure: Vec<String>,
    /// Commands for which it does not hold.
    pub misses: Vec<String>,
}

/// A condition on one subject: an effect with the invocation behind it, an invocation, a gap, a
/// substitution, a job, a bomb or a setting. A condition on another kind of subject does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All hold; true for none.
    All(Vec<Condition>),
    /// One holds; false for none.
    Any(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// The effect is one of these kinds.
    Effect(Vec<EffectKind>),
    /// The effect reaches everything below its object.
    Recursive,
    /// The effect overrides a safeguard.
    Force,
    /// The effect is about such a path.
    Path(PathCondition),
    /// The effect is about a host that matches one of these globs.
    Host(Vec<String>),
    /// The effect is about a remote branch that is protected.
    ProtectedBranch,
    /// The effect runs such code.
    Code(CodeCondition),
    /// The effect is about a name that matches one of these globs.
    Name(Vec<String>),
    /// The effect runs a program that is not known.
    Unresolved,
    /// The invocation is of one of these utilities.
    Utility(Vec<String>),
    /// The invocation entered one of these sub-commands (words joined by a blank).
    Subcommand(Vec<String>),
    /// One of these options was given.
    Option(Vec<String>),
    /// The end of an operand but the last matches one of these globs.
    Source(Vec<String>),
    /// The invocation is inside one of these wrappers or carriers.
    Via(Vec<String>),
    /// The invocation runs in one of these scopes.
    Scope(Vec<CarryScope>),
    /// The name of the invocation may mean a function or alias of the text.
    Shadowed,
    /// Something was not understood.
    Gap,
    /// A live substitution of this kind.
    Substitution(SubstitutionCondition),
    /// Something is left running.
    Job,
    /// A function keeps starting copies of itself.
    Bomb,
    /// A variable of such a class is set for what follows.
    Setting(VariableClass),
    /// The preset is this one.
    Preset(Preset),
}

/// A condition on a path; all parts must hold, an empty part does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathCondition {
    /// It leads to one of these places.
    pub place: Vec<Place>,
    /// It stands for every name directly below one of these places.
    pub everything: Vec<Place>,
    /// Whether its name says that it holds secrets.
    pub sensitive: Option<bool>,
    /// Whether, its unknown parts left out, it is the root, a pattern directly below it or a
    /// system directory by name.
    pub emptied: Option<bool>,
    /// Whether it names what it means: no unknown part, no pattern directly in a root directory.
    pub named: Option<bool>,
    /// Whether it is taken for one that holds secrets by more than a pattern that any name fits.
    pub spelled: Option<bool>,
    /// Whether letters of it are made up for a new name (`mktemp`).
    pub fresh: Option<bool>,
    /// Whether nothing in it is unknown; a pattern is known.
    pub told: Option<bool>,
    /// Whether it is a pattern.
    pub pattern: Option<bool>,
    /// One of its last components matches one of these globs.
    pub glob: Vec<String>,
}

/// A condition on code; all parts must hold, an empty part does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeCondition {
    /// It is in one of these languages.
    pub language: Vec<Language>,
    /// It stands in one of these places.
    pub place: Vec<CodePlace>,
    /// Whether all of it is known.
    pub known: Option<bool>,
    /// Whether all its words are among those that its language needs to compute and print.
    pub plain: Option<bool>,
    /// Whether some of it came over the network.
    pub network: Option<bool>,
}

/// A condition on a live substitution; all parts must hold, an absent part does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubstitutionCondition {
    /// Whether all its commands are known readers.
    pub readers: Option<bool>,
    /// Whether what it prints is known exactly.
    pub known: Option<bool>,
    /// Whether what it prints is used as the name of a program or as code.
    pub decides: Option<bool>,
}

/// A label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSpec {
    /// Its name on the wire, up to the colon.
    pub name: String,
    /// Whether the id of the rule follows behind a colon.
    pub detail: bool,
    /// What it means, for a person.
    pub meaning: String,
    /// The decision where a rule with this label holds.
    pub yes: Decision,
    /// The decision where one may hold.
    pub maybe: Decision,
}

/// The closed list of labels, in the order verdicts have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The labels; names are unique.
    pub specs: Vec<LabelSpec>,
}

impl Labels {
    /// The label of that name, a detail behind a colon left out.
    pub fn find(&self, label: &str) -> Option<&LabelSpec> {
        self.position(label).and_then(|index| self.specs.get(index))
    }

    /// Its index in the list.
    pub fn position(&self, label: &str) -> Option<usize> {
        let name = label.split_once(':').map_or(label, |(name, _)| name);
        self.specs.iter().position(|spec| spec.name == name)
    }
}

/// All rules, in the order of their files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// The rules; ids are unique.
    pub rules: Vec<Rule>,
    /// Invocations that a person has said are harmless.
    pub allowed: Vec<AllowEntry>,
}

/// An invocation that a person has said is harmless: it is taken for a reader and its floors are
/// left out; a deny rule still counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowEntry {
    /// The utility's name.
    pub utility: String,
    /// Its first arguments, each exactly; all arguments must be known.
    pub arguments: Vec<String>,
    /// Whether further arguments may follow.
    pub more: bool,
}

/// A rule that holds or may hold for something in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The rule, as an index into the rule set.
    pub rule: usize,
    /// Maybe or Yes, never No.
    pub truth: Truth,
    /// The effect, as an index into the facts.
    pub fact: Option<usize>,
    /// The invocation, as an index into the trace.
    pub invocation: Option<usize>,
    /// Where it shows.
    pub site: Site,
}

/// What is known about places and names, apart from any one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// Absolute directories that are protected with all that is below.
    pub system: Vec<String>,
    /// Absolute directories for temporary files.
    pub temporary: Vec<String>,
    /// Absolute directories whose direct children are homes.
    pub home_parents: Vec<String>,
    /// Globs of start-up, credential and settings files and directories, relative to a home.
    pub home_settings: Vec<String>,
    /// Globs of devices that nothing can be lost in.
    pub harmless_devices: Vec<String>,
    /// Whole names that hold secrets.
    pub sensitive_names: Vec<String>,
    /// Endings of names that hold secrets.
    pub sensitive_endings: Vec<String>,
    /// Globs of names that hold secrets which a pattern must spell out to be taken for one.
    pub sensitive_globs: Vec<String>,
    /// Endings of paths (several components) that hold secrets.
    pub sensitive_paths: Vec<String>,
    /// Directories that hold secrets with all that is below.
    pub sensitive_directories: Vec<String>,
    /// Endings of names that never hold secrets.
    pub harmless_endings: Vec<String>,
    /// Names of what tools regenerate.
    pub generated: Vec<String>,
    /// Endings of names of what tools regenerate.
    pub generated_endings: Vec<String>,
    /// Globs of absolute paths that hold no secret and that any program may read.
    pub public: Vec<String>,
    /// Globs of files inside a workspace that run something later, relative to its root.
    pub control: Vec<String>,
    /// Globs of protected branches.
    pub protected_branches: Vec<String>,
}

impl Knowledge {
    /// Adds globs of names that hold secrets: whole names, `*.ending`, paths of several components,
    /// and `name/**` for a directory with all that is below.
    pub fn add_sensitive(&mut self, globs: &[String]) {
        for glob in globs {
            let glob = glob.trim_start_matches("**/").trim_start_matches("./");
            if let Some(directory) = glob.strip_suffix("/**").filter(|name| !name.contains('/')) {
                self.sensitive_directories.push(directory.to_owned());
            } else if glob.contains('/') {
                self.sensitive_paths.push(glob.trim_end_matches("/**").to_owned());
            } else if let Some(ending) =
                glob.strip_prefix('*').filter(|end| !end.contains(['*', '?']))
            {
                self.sensitive_endings.push(ending.to_owned());
            } else if glob.contains(['*', '?']) {
                self.sensitive_globs.push(glob.to_owned());
            } else {
                self.sensitive_names.push(glob.to_owned());
            }
        }
    }
}
