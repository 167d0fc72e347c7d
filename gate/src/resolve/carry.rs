//! Commands and code in arguments, input and environment, as the tables say.

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::span::Site;
use crate::model::trace::{Carried, Doubt, OptionUse, Reading, Stream};
use crate::model::utility::{
    CarryForm, CarryScope, CarrySpec, Catalog, Grammar, Input, Language, OperandPlace, OperandSpec,
    OptionSpec, Utility, ValueKind, VariableClass, VariableSpec,
};
use crate::model::value::{Arity, Field, Piece, Str, Text, Truth, Unknown};
use smallvec::SmallVec;

use crate::resolve::grammar::Scene;
use crate::resolve::{Surroundings, items};

/// The most commands that input words are dealt out to one by one.
const BATCHES: usize = 64;

/// The most places where a command may begin behind an option that is in no table.
const GUESSES: usize = 8;

/// Adds what the arguments and the input of `scene.utility` hold.
pub(super) fn arguments(
    scene: &Scene<'_>,
    reading: &Reading,
    tail: &[Field],
    carried: &mut Vec<Carried>,
) {
    let carrier = Carrier {
        scene,
        reading,
        site: scene.site,
        assignments: assignments(scene, reading),
        directory: directory(scene, reading),
    };
    carrier.options(carried);
    // What an option begins is dealt with as the entry says for that option, else run as it is.
    let takes_tail = |spec: &&CarrySpec| {
        !spec.when.is_empty() && holds(reading, &spec.when, &spec.unless) && !tail.is_empty()
    };
    if !tail.is_empty() && !scene.utility.carries.iter().any(|spec| takes_tail(&spec)) {
        carrier.command(tail.to_vec(), CarryScope::Local, carried);
    }
    let by_grammar = scene.utility.grammar.is_some_and(|grammar| grammar != Grammar::OneLiner);
    if !by_grammar {
        carrier.operands(carried);
        if let Some(language) = scene.utility.language {
            carrier.interpreter(language, carried);
        }
    }
    let mut found = Vec::new();
    for spec in &scene.utility.carries {
        // Standard input is for a shell only where no command was given.
        let idle = spec.form == CarryForm::Input && !found.is_empty();
        if !idle && holds(reading, &spec.when, &spec.unless) {
            let words = if takes_tail(&spec) {
                tail.to_vec()
            } else {
                reading.operands.iter().skip(spec.skip).cloned().collect()
            };
            carrier.carry(spec, words, &mut found);
        }
    }
    carried.append(&mut found);
}

/// Adds what variables of the environment make the program run or load.
pub(super) fn variables(
    name: Option<&str>,
    builtin: bool,
    surroundings: &Surroundings<'_>,
    catalog: &Catalog,
    site: Site,
    carried: &mut Vec<Carried>,
) {
    for (index, (variable, value)) in surroundings.environment.iter().enumerate() {
        let again = surroundings.environment.iter().skip(index + 1).any(|(own, _)| own == variable);
        if again {
            continue;
        }
        let Some(class) = class(catalog, variable, name, builtin) else { continue };
        match class {
            VariableClass::Harmless | VariableClass::File => {}
            VariableClass::Shell if catalog.is_plain_value(variable, value) => {}
            VariableClass::Shell => carried.push(Carried::Script {
                text: value.clone(),
                parameters: Vec::new(),
                place: CodePlace::Variable,
                scope: CarryScope::Local,
                directory: None,
                same_shell: false,
                site,
            }),
            VariableClass::Code if catalog.is_plain_value(variable, value) => {}
            VariableClass::Code => carried.push(Carried::Program {
                language: Language::Other,
                text: value.clone(),
                place: CodePlace::Variable,
                site,
            }),
        }
    }
}

/// What a variable is to a program: an entry of the whole name decides before one that ends in `*`,
/// one that lists the program before one for every program.
fn class(
    catalog: &Catalog,
    variable: &str,
    program: Option<&str>,
    builtin: bool,
) -> Option<VariableClass> {
    let fits = |spec: &VariableSpec| match spec.name.strip_suffix('*') {
        Some(stem) => variable.starts_with(stem),
        None => spec.name == variable,
    };
    let listed = |spec: &VariableSpec| {
        program.is_some_and(|program| spec.programs.iter().any(|own| own == program))
    };
    catalog
        .variables()
        .iter()
        .filter(|spec| fits(spec))
        .filter(|spec| listed(spec) || (spec.programs.is_empty() && !builtin))
        .max_by_key(|spec| (!spec.name.ends_with('*'), listed(spec), spec.name.len()))
        .map(|spec| spec.class)
}

/// Whether a script is named by its address on the network.
fn is_remote(path: &Field) -> bool {
    let begin = path.text.prefix().to_ascii_lowercase();
    ["http://", "https://", "ftp://"].iter().any(|scheme| begin.starts_with(scheme))
}

/// What a script of that address holds.
fn fetched(path: &Field) -> Field {
    let mut field = path.clone();
    field.text = Text::unknown(Unknown::Network);
    field
}

/// Whether a condition on options may hold.
fn holds(reading: &Reading, when: &[String], unless: &[String]) -> bool {
    (when.is_empty() || reading.has_any(when).is_possible())
        && (unless.is_empty() || reading.has_any(unless) != Truth::Yes)
}

/// The table's entry of an option that was used.
pub(super) fn spec<'a>(scene: &Scene<'a>, option: &OptionUse) -> Option<&'a OptionSpec> {
    let mut chain: SmallVec<[&Utility; 4]> = SmallVec::new();
    let mut next = Some(scene.id);
    while let Some(entry) = next.and_then(|id| scene.catalog.get(id)) {
        chain.push(entry);
        next = entry.parent;
    }
    let behind = chain.len().saturating_sub(option.depth.saturating_add(1));
    chain.into_iter().skip(behind).find_map(|entry| entry.option_first_named(&option.name))
}

fn has_effect(spec: &OptionSpec, kind: EffectKind) -> bool {
    spec.effects.contains(&kind)
}

/// The value of the last option or operand that changes the directory.
fn directory(scene: &Scene<'_>, reading: &Reading) -> Option<Text> {
    let mut found = None;
    for option in &reading.options {
        let Some(spec) = spec(scene, option) else { continue };
        if has_effect(spec, EffectKind::Enter)
            && let Some(value) = &option.value
        {
            found = Some(value.text.clone());
        }
    }
    for (index, operand) in reading.operands.iter().enumerate() {
        if operand_spec(scene.utility, reading, index).is_some_and(|spec| {
            spec.kind == ValueKind::Directory && spec.effects.contains(&EffectKind::Enter)
        }) {
            found = Some(operand.text.clone());
        }
    }
    found
}

/// What options of the kind `assignment` put into the environment.
fn assignments(scene: &Scene<'_>, reading: &Reading) -> Vec<(Str, Text)> {
    let mut found = Vec::new();
    for option in &reading.options {
        if let Some(spec) = spec(scene, option)
            && spec.kind == ValueKind::Assignment
            && let Some(assignment) = option.value.as_ref().and_then(assignment)
        {
            found.push(assignment);
        }
    }
    found
}

/// `NAME=VALUE` taken apart; none where the known beginning has no equals sign behind a name.
pub(super) fn assignment(field: &Field) -> Option<(Str, Text)> {
    let prefix = field.text.prefix();
    let at = prefix.find('=')?;
    let name = prefix.get(..at)?;
    if name.is_empty() {
        return None;
    }
    Some((name.into(), super::read::part(field, at + 1).text))
}

/// Adds a script that an interpreter is given. A path of an open descriptor is no file: what stands
/// behind it is code on an input.
pub(super) fn script_file(
    path: &Field,
    language: Language,
    parameters: Vec<Field>,
    same_shell: bool,
    carried: &mut Vec<Carried>,
) {
    let site = path.site;
    if matches!(path.exact(), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")) {
        let scope = CarryScope::Local;
        carried.push(Carried::Input { language, parameters, scope, site });
        return;
    }
    let open = path.text.prefix();
    let open = open.starts_with("/dev/fd/") || open.starts_with("/proc/self/fd/");
    if open && language != Language::Shell {
        let text = Text::unknown(Unknown::Input);
        carried.push(Carried::Program { language, text, place: CodePlace::Input, site });
    }
    carried.push(Carried::File { path: path.clone(), language, parameters, same_shell });
}

/// Words joined by a blank, as a shell text.
pub(super) fn join(words: &[Field]) -> Text {
    let mut text = Text::empty();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.push_str(" ");
        }
        text.extend(&word.text);
    }
    text
}

/// The spec that claims an operand.
pub(super) fn operand_spec<'a>(
    utility: &'a Utility,
    reading: &Reading,
    index: usize,
) -> Option<&'a OperandSpec> {
    let count = reading.operands.len();
    utility.operands.iter().find(|spec| {
        let placed = match spec.place {
            OperandPlace::All => true,
            OperandPlace::First => index == 0,
            OperandPlace::Second => index == 1,
            OperandPlace::Third => index == 2,
            OperandPlace::Last => count > 1 && index + 1 == count,
        };
        placed && count >= spec.at_least && holds(reading, &spec.when, &spec.unless)
    })
}

struct Carrier<'a> {
    scene: &'a Scene<'a>,
    reading: &'a Reading,
    site: Site,
    assignments: Vec<(Str, Text)>,
    directory: Option<Text>,
}

impl Carrier<'_> {
    /// What options hold.
    fn options(&self, carried: &mut Vec<Carried>) {
        let grammar = self.scene.utility.grammar;
        for option in &self.reading.options {
            let Some(value) = &option.value else { continue };
            let Some(spec) = spec(self.scene, option) else { continue };
            let language = spec.language.or(self.scene.utility.language);
            match spec.kind {
                ValueKind::Code if grammar.is_none_or(|g| g == Grammar::OneLiner) => {
                    self.code(value, language, CodePlace::Option, carried);
                }
                ValueKind::Shell if has_effect(spec, EffectKind::State) => {
                    self.expanded(value, carried);
                }
                ValueKind::Shell => {
                    self.code(value, Some(Language::Shell), CodePlace::Option, carried);
                }
                ValueKind::Program => {
                    self.code(value, Some(Language::Shell), CodePlace::Helper, carried);
                }
                ValueKind::PipePath => self.piped(value, CodePlace::Option, carried),
                ValueKind::Script if value.exact() == Some("-") => carried.push(Carried::Input {
                    language: language.unwrap_or(Language::Other),
                    parameters: Vec::new(),
                    scope: CarryScope::Local,
                    site: value.site,
                }),
                ValueKind::Script if is_remote(value) => {
                    self.code(&fetched(value), language, CodePlace::File, carried);
                }
                ValueKind::Script => carried.push(Carried::File {
                    path: value.clone(),
                    language: language.unwrap_or(Language::Other),
                    parameters: Vec::new(),
                    same_shell: false,
                }),
                _ => {}
            }
        }
    }

    /// Shell text behind the sign that says so where a path may stand.
    fn piped(&self, value: &Field, place: CodePlace, carried: &mut Vec<Carried>) {
        if !value.text.prefix().starts_with(['|', '!']) {
            return;
        }
        let mut rest = value.clone();
        let mut pieces = value.text.pieces().iter();
        rest.text = Text::empty();
        if let Some(Piece::Literal(first)) = pieces.next() {
            rest.text.push_str(first.get(1..).unwrap_or_default());
        }
        pieces.for_each(|piece| rest.text.push(piece.clone()));
        self.code(&rest, Some(Language::Shell), place, carried);
    }

    /// Text that the shell expands without running it: only substitutions in it are code.
    fn expanded(&self, value: &Field, carried: &mut Vec<Carried>) {
        let live = value.text.pieces().iter().any(|piece| match piece {
            Piece::Literal(literal) => literal.contains(['$', '`']),
            _ => true,
        });
        if live {
            let mut text = Text::literal(": \"");
            for piece in value.text.pieces() {
                match piece {
                    Piece::Literal(literal) => text.push_str(&literal.replace("\"", "\\\"")),
                    other => text.push(other.clone()),
                }
            }
            text.push_str("\"");
            self.script(text, CodePlace::Option, CarryScope::Local, value.site, carried);
        }
    }

    fn code(
        &self,
        value: &Field,
        language: Option<Language>,
        place: CodePlace,
        carried: &mut Vec<Carried>,
    ) {
        let text = value.text.clone();
        match language.unwrap_or(Language::Other) {
            Language::Shell => self.script(text, place, CarryScope::Local, value.site, carried),
            language => carried.push(Carried::Program { language, text, place, site: value.site }),
        }
    }

    fn script(
        &self,
        text: Text,
        place: CodePlace,
        scope: CarryScope,
        site: Site,
        carried: &mut Vec<Carried>,
    ) {
        carried.push(Carried::Script {
            text,
            parameters: Vec::new(),
            place,
            scope,
            directory: self.directory.clone(),
            same_shell: self.scene.utility.builtin,
            site,
        });
    }

    /// What operands hold by their kind.
    fn operands(&self, carried: &mut Vec<Carried>) {
        let utility = self.scene.utility;
        for (index, operand) in self.reading.operands.iter().enumerate() {
            let Some(spec) = operand_spec(utility, self.reading, index) else { continue };
            match spec.kind {
                ValueKind::Shell if matches!(operand.exact(), Some("-" | "")) => {}
                ValueKind::Shell => {
                    self.code(operand, Some(Language::Shell), CodePlace::Operand, carried);
                }
                ValueKind::Program => {
                    self.code(operand, Some(Language::Shell), CodePlace::Helper, carried);
                }
                ValueKind::PipePath => self.piped(operand, CodePlace::Operand, carried),
                ValueKind::Code => {
                    self.code(operand, utility.language, CodePlace::Operand, carried);
                }
                ValueKind::Script if operand.exact() != Some("-") => {
                    self.script_operand(index, operand, carried);
                }
                ValueKind::Command => {
                    let words = self.reading.operands.iter().skip(index).cloned().collect();
                    self.command(words, CarryScope::Local, carried);
                    return;
                }
                _ => {}
            }
        }
    }

    /// A script among the operands. A script of a name that is known here is also read as that
    /// utility (`python3 manage.py migrate`, `ruby bin/rails db:drop`).
    fn script_operand(&self, index: usize, path: &Field, carried: &mut Vec<Carried>) {
        let utility = self.scene.utility;
        let language = utility.language.unwrap_or(Language::Other);
        let parameters: Vec<Field> =
            self.reading.operands.iter().skip(index + 1).cloned().collect();
        let base = path.exact().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        if language != Language::Shell && self.scene.catalog.find(base).is_some() {
            let mut words = vec![Field::literal(base, path.site)];
            words.extend(parameters.iter().cloned());
            carried.push(self.one(words, CarryScope::Local));
        }
        if is_remote(path) {
            self.code(&fetched(path), Some(language), CodePlace::File, carried);
            return;
        }
        script_file(path, language, parameters, utility.builtin, carried);
    }

    /// An interpreter's script operand or standard input, unless an option gives the code.
    fn interpreter(&self, language: Language, carried: &mut Vec<Carried>) {
        let utility = self.scene.utility;
        let given = self.reading.options.iter().any(|option| {
            spec(self.scene, option).is_some_and(|spec| {
                matches!(spec.kind, ValueKind::Code | ValueKind::Command)
                    || (spec.kind == ValueKind::Script && has_effect(spec, EffectKind::Execute))
                    // It runs what the project has, or tells about itself.
                    || has_effect(spec, EffectKind::Build)
                    || has_effect(spec, EffectKind::State)
            })
        });
        if given {
            return;
        }
        let first = self.reading.operands.first();
        let rest = || self.reading.operands.iter().skip(1).cloned().collect();
        let first_spec = first.and_then(|_| operand_spec(utility, self.reading, 0));
        match first {
            Some(first) if first.exact() != Some("-") => {
                if first_spec.is_none() {
                    self.script_operand(0, first, carried);
                    return;
                }
                if first_spec.is_some_and(|spec| {
                    matches!(spec.kind, ValueKind::Script | ValueKind::Code | ValueKind::Shell)
                }) {
                    return;
                }
            }
            _ => {}
        }
        // Beside an operand, code is read from an input that is given, not from a terminal.
        let fed = self.scene.surroundings.input.text().is_some();
        if utility.input == Input::Code && (fed || first_spec.is_none()) {
            carried.push(Carried::Input {
                language,
                parameters: rest(),
                scope: CarryScope::Local,
                site: self.site,
            });
        }
    }

    fn carry(&self, spec: &CarrySpec, mut words: Vec<Field>, carried: &mut Vec<Carried>) {
        let mut own = self.assignments.clone();
        if spec.assignments {
            while let Some(found) = words.first().and_then(assignment) {
                own.push(found);
                words.remove(0);
            }
        }
        if let Some(end) = words
            .iter()
            .position(|word| word.exact().is_some_and(|word| spec.until.iter().any(|u| u == word)))
        {
            words.truncate(end);
        }
        if let Some(name) = &spec.program_option {
            let program = self.reading.option(name).and_then(|option| option.value.clone());
            let Some(program) = program else { return };
            words.insert(0, program);
        }
        let carrier = Carrier {
            scene: self.scene,
            reading: self.reading,
            site: self.site,
            assignments: own,
            directory: self.directory.clone(),
        };
        match spec.form {
            CarryForm::Command | CarryForm::Applet => {
                // Without a command, words of the input go to `echo` (POSIX.1-2024 XCU xargs).
                if words.is_empty() && spec.appends && self.scene.utility.input == Input::Words {
                    words.push(Field::literal("echo", self.site));
                }
                if spec.appends {
                    carrier.dealt(spec, words, carried);
                } else {
                    carrier.command(words, spec.scope, carried);
                }
            }
            CarryForm::Either if words.len() > 1 => carrier.command(words, spec.scope, carried),
            CarryForm::Shell | CarryForm::Either => {
                if let Some(site) = words.first().map(|word| word.site) {
                    carrier.script(join(&words), CodePlace::Operand, spec.scope, site, carried);
                }
            }
            CarryForm::Scripts => {
                for word in &words {
                    carrier.script(
                        word.text.clone(),
                        CodePlace::Operand,
                        spec.scope,
                        word.site,
                        carried,
                    );
                }
            }
            CarryForm::Input => carried.push(Carried::Input {
                language: Language::Shell,
                parameters: Vec::new(),
                scope: spec.scope,
                site: self.site,
            }),
        }
    }

    /// A command, and where an option in no table may have taken a word of it, the commands that
    /// begin further on.
    ///
    /// Behind an operand, `--` still ends options and `-c` still means shell text (`flock FILE -c
    /// TEXT`, `distrobox enter NAME -- WORDS`): no program has such a name.
    fn command(&self, mut words: Vec<Field>, scope: CarryScope, carried: &mut Vec<Carried>) {
        if words.first().and_then(Field::exact) == Some("--") {
            words.remove(0);
        }
        if matches!(words.first().and_then(Field::exact), Some("-c" | "--command"))
            && let Some(text) = words.get(1)
        {
            self.script(text.text.clone(), CodePlace::Option, scope, text.site, carried);
            return;
        }
        if words.is_empty() {
            return;
        }
        let unsure = self.reading.doubts.iter().any(|doubt| {
            matches!(doubt, Doubt::Option(..) | Doubt::Ambiguous(..) | Doubt::Word(_))
        });
        if unsure {
            for start in 1..words.len().min(GUESSES + 1) {
                let begins = words.get(start).is_some_and(|word| {
                    word.exact().is_some_and(|word| !word.starts_with('-') && !word.is_empty())
                });
                if begins {
                    let later = words.iter().skip(start).cloned().collect();
                    carried.push(self.one(later, scope));
                }
            }
        }
        carried.push(self.one(words, scope));
    }

    fn one(&self, words: Vec<Field>, scope: CarryScope) -> Carried {
        Carried::Command {
            words,
            assignments: self.assignments.clone(),
            scope,
            directory: self.directory.clone(),
            takes_input: !matches!(
                self.scene.utility.input,
                Input::Words | Input::Code | Input::None
            ),
            skips_functions: true,
        }
    }

    /// Commands to which words of the input are added.
    fn dealt(&self, spec: &CarrySpec, words: Vec<Field>, carried: &mut Vec<Carried>) {
        if words.is_empty() {
            return;
        }
        let option = spec.placeholder_option.as_deref().and_then(|name| self.reading.option(name));
        let placeholder = match option {
            Some(option) => match option.value.as_ref().map(Field::exact) {
                Some(Some(value)) => Some(value.to_owned()),
                _ => spec.placeholder.clone().or(Some("{}".to_owned())),
            },
            None => spec.placeholder.clone(),
        };
        let by_lines = option.is_some() || self.reading.option("-L").is_some();
        let items = self.items(by_lines);
        let replaces = placeholder.as_deref().is_some_and(|mark| {
            words.iter().any(|word| {
                word.text.pieces().iter().any(|piece| match piece {
                    Piece::Literal(literal) => literal.contains(mark),
                    _ => false,
                })
            })
        });
        if option.is_some() || replaces {
            let mark = placeholder.unwrap_or_default();
            let over = items.len() > BATCHES;
            for item in items.iter().take(BATCHES) {
                carried.push(self.one(replace(&words, &mark, item), spec.scope));
            }
            if over {
                let item = items::unknown(Unknown::Limit, self.site);
                carried.push(self.one(replace(&words, &mark, &item), spec.scope));
            }
            return;
        }
        let size = ["-n", "-L"].iter().find_map(|name| {
            self.reading.option(name)?.value.as_ref()?.exact()?.parse::<usize>().ok()
        });
        let size = size.unwrap_or(usize::MAX).max(1);
        if items.is_empty() {
            carried.push(self.one(words, spec.scope));
            return;
        }
        let mut left = items.as_slice();
        for batch in 0.. {
            if left.is_empty() {
                break;
            }
            let size = if batch + 1 == BATCHES { left.len() } else { size.min(left.len()) };
            let (now, later) = left.split_at_checked(size).unwrap_or((left, &[]));
            let mut command = words.clone();
            command.extend_from_slice(now);
            carried.push(self.one(command, spec.scope));
            left = later;
        }
    }

    /// The words of the input, where the utility takes its words from there.
    fn items(&self, by_lines: bool) -> Vec<Field> {
        let from_input =
            self.scene.utility.input == Input::Words && self.reading.option("-a").is_none();
        let split = items::split(self.reading, by_lines);
        let known = match &split {
            Some(split) if from_input => {
                items::items(self.scene.surroundings.input, split, self.site)
            }
            _ => None,
        };
        known
            .or_else(|| self.found(split.as_ref()))
            .unwrap_or_else(|| vec![items::unknown(Unknown::Item, self.site)])
    }

    /// The names that the utility finds by itself.
    fn found(&self, split: Option<&items::Split>) -> Option<Vec<Field>> {
        if self.scene.utility.input == Input::Words {
            return None;
        }
        let names = crate::resolve::names::found(self.scene.name, self.reading)?;
        items::items(&Stream::Text(names), split?, self.site)
    }
}

/// The words with each `mark` replaced by an item.
fn replace(words: &[Field], mark: &str, item: &Field) -> Vec<Field> {
    if mark.is_empty() {
        return words.to_vec();
    }
    words
        .iter()
        .map(|word| {
            let mut text = Text::empty();
            for piece in word.text.pieces() {
                match piece {
                    Piece::Literal(literal) => {
                        for (index, part) in literal.split(mark).enumerate() {
                            if index > 0 {
                                text.extend(&item.text);
                            }
                            text.push_str(part);
                        }
                    }
                    other => text.push(other.clone()),
                }
            }
            // A replaced word stays one argument, whatever stands in it.
            Field { text, arity: word.arity.min(Arity::Many), site: word.site, quoted: word.quoted }
        })
        .collect()
}
