//! Files of utilities (`rules/utilities/*.toml`) to a [`Catalog`]; `docs/rules.md` has the format.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::load::error::LoadError;
use crate::model::context::Preset;
use crate::model::fact::EffectKind;
use crate::model::utility::{
    CarryForm, CarryScope, CarrySpec, Catalog, EffectObject, EffectSpec, Grammar, Input, Language,
    OperandPlace, OperandSpec, OptionIndex, OptionSpec, Output, Syntax, Utility, UtilityId,
    ValueArity, ValueKind, VariableClass, VariableSpec,
};
use crate::model::verdict::Decision;

/// An example stated in a file; the suite runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The file.
    pub file: String,
    /// The entry, named by its words.
    pub entry: String,
    /// The command line.
    pub line: String,
    /// What the file says about it.
    pub stated: Stated,
}

/// What an example says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stated {
    /// How the arguments of the line are read.
    Reads {
        /// First names of the options, in order.
        options: Vec<String>,
        /// Operands, in order.
        operands: Vec<String>,
    },
    /// How the line is decided.
    Answers {
        /// The decision.
        is: Decision,
        /// Labels that must be among those of the verdict.
        labels: Vec<String>,
        /// The preset, where not every one is meant.
        preset: Option<Preset>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    #[serde(default)]
    utility: Vec<UtilityEntry>,
    #[serde(default)]
    variable: Vec<VariableEntry>,
    #[serde(default)]
    trusted_directories: Vec<String>,
    #[serde(default)]
    secret_variables: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariableEntry {
    name: String,
    class: String,
    #[serde(default)]
    programs: Vec<String>,
    #[serde(default)]
    plain: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UtilityEntry {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "said for readers of the file")]
    source: Vec<String>,
    syntax: Option<String>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    attached: Vec<String>,
    #[serde(default)]
    options: Vec<OptionEntry>,
    #[serde(default)]
    operands: Vec<OperandEntry>,
    #[serde(default)]
    effects: Vec<EffectEntry>,
    #[serde(default)]
    carries: Vec<CarryEntry>,
    #[serde(default)]
    recursive: Vec<String>,
    #[serde(default)]
    force: Vec<String>,
    #[serde(default)]
    dry: Vec<String>,
    #[serde(default)]
    inert: Vec<String>,
    language: Option<String>,
    input: Option<String>,
    output: Option<String>,
    grammar: Option<String>,
    #[serde(default)]
    builtin: bool,
    open: Option<bool>,
    #[serde(default)]
    requires_subcommand: bool,
    #[serde(default)]
    code_files: Vec<String>,
    #[serde(default)]
    plain_words: Vec<String>,
    #[serde(default)]
    reads: Vec<ReadsEntry>,
    #[serde(default)]
    answers: Vec<AnswersEntry>,
    #[serde(default)]
    subcommand: Vec<UtilityEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionEntry {
    names: Vec<String>,
    value: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    effects: Vec<String>,
    language: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OperandEntry {
    place: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    effects: Vec<String>,
    #[serde(default)]
    when: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    at_least: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EffectEntry {
    kind: String,
    object: Option<String>,
    #[serde(default)]
    when: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    without_operands: bool,
    #[serde(default)]
    with_operands: bool,
    #[serde(default)]
    at_least: usize,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    away: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CarryEntry {
    form: Option<String>,
    #[serde(default)]
    skip: usize,
    #[serde(default)]
    assignments: bool,
    #[serde(default)]
    when: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    until: Vec<String>,
    scope: Option<String>,
    #[serde(default)]
    appends: bool,
    placeholder: Option<String>,
    placeholder_option: Option<String>,
    program_option: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadsEntry {
    line: String,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    operands: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswersEntry {
    line: String,
    is: String,
    #[serde(default)]
    labels: Vec<String>,
    preset: Option<String>,
}

/// Reads files of utilities, given as name and text. The examples stand in the order of the files.
///
/// # Errors
///
/// The first mistake that is found, with its file and entry.
pub fn utilities(files: &[(&str, &str)]) -> Result<(Catalog, Vec<Example>), LoadError> {
    let mut catalog = Catalog::default();
    let examples = add_utilities(&mut catalog, files)?;
    Ok((catalog, examples))
}

/// As [`utilities`], on top of what a catalog holds.
///
/// # Errors
///
/// The first mistake that is found, with its file and entry.
pub fn add_utilities(
    catalog: &mut Catalog,
    files: &[(&str, &str)],
) -> Result<Vec<Example>, LoadError> {
    let mut examples = Vec::new();
    for (file, text) in files {
        let entry: FileEntry = toml::from_str(text).map_err(|cause| LoadError::Format {
            file: (*file).to_owned(),
            cause: cause.to_string(),
        })?;
        for variable in entry.variable {
            catalog.add_variable(check_variable(file, variable)?);
        }
        catalog.trusted_directories.extend(entry.trusted_directories);
        catalog.secret_variables.extend(entry.secret_variables);
        for utility in entry.utility {
            let at = At { file, entry: utility.name.clone() };
            add(catalog, &mut examples, &at, None, utility)?;
        }
    }
    Ok(examples)
}

/// Where a mistake is.
struct At<'a> {
    file: &'a str,
    entry: String,
}

impl At<'_> {
    fn value(&self, key: &str, cause: impl Into<String>) -> LoadError {
        LoadError::Value {
            file: self.file.to_owned(),
            entry: self.entry.clone(),
            key: key.to_owned(),
            cause: cause.into(),
        }
    }

    fn taken(&self, name: impl Into<String>) -> LoadError {
        LoadError::Taken {
            file: self.file.to_owned(),
            entry: self.entry.clone(),
            name: name.into(),
        }
    }
}

/// The value of that name, of a type with a closed list of names.
macro_rules! choose {
    ($at:expr, $kind:ty, $key:expr, $name:expr) => {
        <$kind>::from_name($name).ok_or_else(|| LoadError::Choice {
            file: $at.file.to_owned(),
            entry: $at.entry.clone(),
            key: $key.to_owned(),
            value: $name.to_owned(),
            allowed: <$kind>::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(" "),
        })
    };
}

/// As `choose`, with the default where nothing is written.
macro_rules! choose_or_default {
    ($at:expr, $kind:ty, $key:expr, $name:expr) => {
        match $name {
            Some(name) => choose!($at, $kind, $key, name.as_str())?,
            None => <$kind>::default(),
        }
    };
}

fn check_variable(file: &str, entry: VariableEntry) -> Result<VariableSpec, LoadError> {
    let at = At { file, entry: entry.name.clone() };
    let stem = entry.name.strip_suffix('*').unwrap_or(&entry.name);
    if stem.is_empty() || stem.contains(['*', '=', ' ']) {
        return Err(at.value("name", "write the name of a variable, with `*` at most at its end"));
    }
    let class = choose!(at, VariableClass, "class", entry.class.as_str())?;
    Ok(VariableSpec { name: entry.name, class, programs: entry.programs, plain: entry.plain })
}

fn add(
    catalog: &mut Catalog,
    examples: &mut Vec<Example>,
    at: &At<'_>,
    parent: Option<UtilityId>,
    mut entry: UtilityEntry,
) -> Result<(), LoadError> {
    if entry.name.trim() != entry.name || entry.name.is_empty() {
        return Err(at.value("name", "write a name without blanks around it"));
    }
    if parent.is_none() && entry.name.contains(' ') {
        return Err(at.value("name", "a name of several words is for a `utility.subcommand` table"));
    }
    let subcommands = std::mem::take(&mut entry.subcommand);
    state(examples, at, &mut entry)?;
    if let Some(parent) = parent {
        for name in std::iter::once(&entry.name).chain(&entry.aliases) {
            if catalog.subcommand(parent, name).is_some() {
                return Err(at.taken(name.clone()));
            }
        }
    }
    let utility = check(catalog, at, parent, entry)?;
    let id = catalog.add(utility).map_err(|name| at.taken(name))?;
    for subcommand in subcommands {
        let below = At { file: at.file, entry: format!("{} {}", at.entry, subcommand.name) };
        add(catalog, examples, &below, Some(id), subcommand)?;
    }
    Ok(())
}

/// Moves the stated examples out of an entry.
fn state(
    examples: &mut Vec<Example>,
    at: &At<'_>,
    entry: &mut UtilityEntry,
) -> Result<(), LoadError> {
    for reads in entry.reads.drain(..) {
        examples.push(Example {
            file: at.file.to_owned(),
            entry: at.entry.clone(),
            line: reads.line,
            stated: Stated::Reads { options: reads.options, operands: reads.operands },
        });
    }
    for answers in entry.answers.drain(..) {
        let is = Decision::from_name(&answers.is).ok_or_else(|| {
            at.value("answers", format!("`{}` is none of allow, pass, ask, deny", answers.is))
        })?;
        let preset = match answers.preset {
            Some(name) => Some(Preset::from_name(&name).ok_or_else(|| {
                at.value("answers", format!("`{name}` is none of the presets hook, protocol"))
            })?),
            None => None,
        };
        examples.push(Example {
            file: at.file.to_owned(),
            entry: at.entry.clone(),
            line: answers.line,
            stated: Stated::Answers { is, labels: answers.labels, preset },
        });
    }
    Ok(())
}

fn check(
    catalog: &Catalog,
    at: &At<'_>,
    parent: Option<UtilityId>,
    entry: UtilityEntry,
) -> Result<Utility, LoadError> {
    let above = parent.and_then(|id| catalog.get(id));
    let syntax = match &entry.syntax {
        Some(name) => choose!(at, Syntax, "syntax", name.as_str())?,
        None => above.map(|utility| utility.syntax).unwrap_or_default(),
    };
    let options = check_options(at, &entry)?;
    let grammar = match &entry.grammar {
        Some(name) => Some(choose!(at, Grammar, "grammar", name.as_str())?),
        None => None,
    };
    let language = match &entry.language {
        Some(name) => Some(choose!(at, Language, "language", name.as_str())?),
        None => None,
    };
    let names = Names { own: &options, catalog, parent, free: grammar.is_some() };
    let mut operands = Vec::new();
    for operand in entry.operands {
        operands.push(OperandSpec {
            place: choose_or_default!(at, OperandPlace, "place", &operand.place),
            kind: match &operand.kind {
                Some(kind) => choose!(at, ValueKind, "kind", kind.as_str())?,
                None => ValueKind::Path,
            },
            effects: kinds(at, "operands", &operand.effects)?,
            when: names.resolve(at, "operands", operand.when)?,
            unless: names.resolve(at, "operands", operand.unless)?,
            at_least: operand.at_least,
        });
    }
    let mut effects = Vec::new();
    for effect in entry.effects {
        effects.push(EffectSpec {
            kind: choose!(at, EffectKind, "effects", effect.kind.as_str())?,
            object: object(at, effect.object.as_deref())?,
            when: names.resolve(at, "effects", effect.when)?,
            unless: names.resolve(at, "effects", effect.unless)?,
            without_operands: effect.without_operands,
            with_operands: effect.with_operands,
            at_least: effect.at_least,
            words: effect.words.iter().map(|word| word.to_lowercase()).collect(),
            away: effect.away,
        });
    }
    let mut carries = Vec::new();
    for carry in entry.carries {
        carries.push(CarrySpec {
            form: choose_or_default!(at, CarryForm, "form", &carry.form),
            skip: carry.skip,
            assignments: carry.assignments,
            when: names.resolve(at, "carries", carry.when)?,
            unless: names.resolve(at, "carries", carry.unless)?,
            until: carry.until,
            scope: choose_or_default!(at, CarryScope, "scope", &carry.scope),
            appends: carry.appends,
            placeholder: carry.placeholder,
            placeholder_option: match carry.placeholder_option {
                Some(name) => names.resolve(at, "placeholder_option", vec![name])?.pop(),
                None => None,
            },
            program_option: match carry.program_option {
                Some(name) => names.resolve(at, "program_option", vec![name])?.pop(),
                None => None,
            },
        });
    }
    Ok(Utility {
        index: OptionIndex::default(),
        recursive: names.resolve(at, "recursive", entry.recursive)?,
        force: names.resolve(at, "force", entry.force)?,
        dry: names.resolve(at, "dry", entry.dry)?,
        name: entry.name,
        aliases: entry.aliases,
        parent,
        subcommands: Vec::new(),
        syntax,
        operands,
        effects,
        carries,
        inert: entry.inert,
        language,
        input: choose_or_default!(at, Input, "input", &entry.input),
        output: choose_or_default!(at, Output, "output", &entry.output),
        grammar,
        builtin: entry.builtin,
        closed: !entry.open.unwrap_or_else(|| above.is_some_and(|utility| !utility.closed)),
        requires_subcommand: entry.requires_subcommand,
        code_files: entry.code_files,
        plain_words: entry.plain_words,
        options,
    })
}

fn check_options(at: &At<'_>, entry: &UtilityEntry) -> Result<Vec<OptionSpec>, LoadError> {
    let mut options = Vec::new();
    let short = |names: &[String], value, options: &mut Vec<OptionSpec>| {
        for name in names {
            let name = name.strip_suffix('?').unwrap_or(name);
            let spec = OptionSpec { names: vec![name.to_owned()], value, ..OptionSpec::default() };
            options.push(spec);
        }
    };
    short(&entry.flags, ValueArity::None, &mut options);
    short(&entry.values, ValueArity::Required, &mut options);
    short(&entry.attached, ValueArity::Optional, &mut options);
    for option in &entry.options {
        let value = choose_or_default!(at, ValueArity, "value", &option.value);
        if value == ValueArity::None && option.kind.is_some() {
            return Err(at.value(
                "options",
                format!("`{}` has a kind but no value: add `value`", option.names.join("`, `")),
            ));
        }
        options.push(OptionSpec {
            names: option.names.clone(),
            value,
            kind: choose_or_default!(at, ValueKind, "kind", &option.kind),
            effects: kinds(at, "options", &option.effects)?,
            language: match &option.language {
                Some(name) => Some(choose!(at, Language, "language", name.as_str())?),
                None => None,
            },
        });
    }
    let mut seen = BTreeSet::new();
    for option in &options {
        if option.names.is_empty() {
            return Err(at.value("options", "an option without a name: list its spellings"));
        }
        for name in &option.names {
            if !name.starts_with(['-', '+', '@', '/']) || name.contains(['=', ' ']) {
                return Err(at.value(
                    "options",
                    format!("`{name}` is no spelling of an option: begin with a dash, without `=`"),
                ));
            }
            if !seen.insert(name.as_str()) {
                return Err(at.taken(name.clone()));
            }
        }
    }
    Ok(options)
}

/// Spellings of options that an entry may name.
struct Names<'a> {
    own: &'a [OptionSpec],
    catalog: &'a Catalog,
    parent: Option<UtilityId>,
    /// Whether a grammar may know further ones.
    free: bool,
}

impl Names<'_> {
    /// The first spelling of each option.
    fn resolve(
        &self,
        at: &At<'_>,
        key: &str,
        names: Vec<String>,
    ) -> Result<Vec<String>, LoadError> {
        names
            .into_iter()
            .map(|name| match self.first_spelling(&name) {
                Some(first) => Ok(first),
                None if self.free => Ok(name),
                None => Err(at.value(
                    key,
                    format!("`{name}` is no option of this entry: list it, or correct it"),
                )),
            })
            .collect()
    }

    fn first_spelling(&self, name: &str) -> Option<String> {
        let find = |options: &[OptionSpec]| {
            options
                .iter()
                .find(|option| option.names.iter().any(|spelling| spelling == name))
                .and_then(|option| option.names.first().cloned())
        };
        if let Some(first) = find(self.own) {
            return Some(first);
        }
        let mut above = self.parent;
        while let Some(utility) = above.and_then(|id| self.catalog.get(id)) {
            if let Some(first) = find(&utility.options) {
                return Some(first);
            }
            above = utility.parent;
        }
        None
    }
}

fn kinds(at: &At<'_>, key: &str, names: &[String]) -> Result<Vec<EffectKind>, LoadError> {
    names.iter().map(|name| choose!(at, EffectKind, key, name.as_str())).collect()
}

fn object(at: &At<'_>, name: Option<&str>) -> Result<EffectObject, LoadError> {
    match name {
        None | Some("none") => Ok(EffectObject::None),
        Some("operands") => Ok(EffectObject::Operands),
        Some("directory") => Ok(EffectObject::Directory),
        Some("url_name") => Ok(EffectObject::UrlName),
        Some(path) if path.starts_with(['/', '~']) => Ok(EffectObject::Path(path.to_owned())),
        Some(other) => Err(at.value(
            "effects",
            format!("`{other}` is no object: use none, operands, directory, url_name or a path"),
        )),
    }
}
