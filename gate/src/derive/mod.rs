//! Effects of what would run.
//!
//! Takes a trace, the catalog, the context and what is known about places. Gives facts, each with
//! its truth. May import: model. Never: judges whether an effect is welcome.

pub mod host;
mod link;
mod object;
pub mod path;
mod plain;
mod spec;

use std::cell::Cell;

use smallvec::{SmallVec, smallvec};

use crate::derive::host::Target;
use crate::derive::path::{Known, Paths, Roots};
use crate::model::context::Context;
use crate::model::fact::{CodePlace, EffectKind, Fact, Object, Place};
use crate::model::span::Site;
use crate::model::trace::{Access, CodeUse, DeedObject, Doubt, Invocation, OptionUse, Trace};
use crate::model::utility::{
    CarryScope, Catalog, Grammar, Language, OptionSpec, Output, Utility, UtilityId, VariableClass,
};
use crate::model::value::{List, Piece, Text, Truth, Unknown};

/// Sources of one `put` whose landing places are told apart; further ones land under an unknown name.
const LANDINGS: usize = 64;

/// Effects of all that a trace would run: those of each invocation in order, then files the shell
/// opens, then code.
pub fn derive(trace: &Trace, catalog: &Catalog, context: &Context, known: &Known) -> Vec<Fact> {
    let mut facts = Vec::new();
    derive_into(&mut facts, trace, catalog, context, (known, &Roots::new(context)));
    facts
}

/// As [`derive()`], into a list that is empty, with the roots of the context.
pub fn derive_into(
    facts: &mut Vec<Fact>,
    trace: &Trace,
    catalog: &Catalog,
    context: &Context,
    (known, roots): (&Known, &Roots),
) {
    let paths = Paths::new(roots, known);
    let looks_back = Cell::new(false);
    let mut deriver = Deriver { trace, catalog, context, known, paths, facts, looks_back };
    let mut looking_back = Vec::new();
    for (index, invocation) in trace.invocations.iter().enumerate() {
        if invocation.repeats.is_some_and(|first| !looking_back.contains(&first)) {
            continue;
        }
        deriver.invocation(index, invocation);
        if deriver.looks_back.take() {
            looking_back.push(index);
        }
    }
    for (number, access) in trace.accesses.iter().enumerate() {
        if !is_told(trace, number, access) {
            deriver.access(access);
        }
    }
    for code in &trace.codes {
        deriver.code(code);
    }
    let through = link::through(trace, deriver.facts, &deriver.paths, &context.cwd);
    deriver.facts.extend(through);
}

/// Accesses, the last ones, among which an equal one is looked for.
const RECENT: usize = 64;

/// Whether an access is for a repeated invocation, and the one that it repeats has the same.
fn is_told(trace: &Trace, number: usize, own: &Access) -> bool {
    let first = |access: &Access| {
        let invocation = trace.invocations.get(access.invocation?)?;
        invocation.repeats.or(access.invocation)
    };
    let repeats = own
        .invocation
        .and_then(|index| trace.invocations.get(index))
        .is_some_and(|invocation| invocation.repeats.is_some());
    let same = |other: &Access| {
        other.site == own.site
            && other.kind == own.kind
            && first(other) == first(own)
            && other.target == own.target
            && other.directories == own.directories
    };
    let before = trace.accesses.get(number.saturating_sub(RECENT)..number);
    repeats && before.is_some_and(|before| before.iter().rev().any(same))
}

/// The entry of an invocation and those it is a sub-command of, the innermost first.
fn chain<'c>(catalog: &'c Catalog, invocation: &Invocation) -> SmallVec<[&'c Utility; 4]> {
    let mut out = SmallVec::new();
    let mut id = invocation.utility;
    while let Some(utility) = id.and_then(|id| catalog.get(id))
        && out.len() < 16
    {
        out.push(utility);
        id = utility.parent;
    }
    out
}

struct Deriver<'a> {
    trace: &'a Trace,
    catalog: &'a Catalog,
    context: &'a Context,
    known: &'a Known,
    paths: Paths<'a>,
    facts: &'a mut Vec<Fact>,
    /// Whether what ran before the invocation told something about it.
    looks_back: Cell<bool>,
}

/// What one value is about; most are one object.
type Objects = SmallVec<[Object; 1]>;

/// What is the same for all effects of one invocation.
struct Actor<'a> {
    index: usize,
    invocation: &'a Invocation,
    utilities: SmallVec<[&'a Utility; 4]>,
    directories: List<Text>,
    recursive: Truth,
    force: Truth,
    /// Whether it surely only shows what it would do.
    dry: bool,
}

impl<'a> Actor<'a> {
    fn option(&self, used: &OptionUse) -> Option<&'a OptionSpec> {
        let behind = self.utilities.len().saturating_sub(used.depth.saturating_add(1));
        self.utilities.iter().skip(behind).find_map(|utility| utility.option(&used.name))
    }

    fn given(&self, names: &[String]) -> Truth {
        self.invocation.reading.has_any(names)
    }

    fn applies(&self, when: &[String], unless: &[String]) -> Truth {
        let given = if when.is_empty() { Truth::Yes } else { self.given(when) };
        given.and(self.given(unless).negate())
    }
}

impl<'a> Deriver<'a> {
    fn invocation(&mut self, index: usize, invocation: &'a Invocation) {
        let from = self.facts.len();
        self.effects_of(index, invocation);
        if invocation.scope == CarryScope::Container {
            self.contain(from);
            return;
        }
        self.secrets(index, from);
    }

    /// What a command does inside a container is left out, but for what leaves nothing of it, and that
    /// it is not known which program it is.
    fn contain(&mut self, from: usize) {
        let found = self.facts.split_off(from);
        let ruins = |fact: &Fact| match (fact.kind, &fact.object) {
            (EffectKind::Format, _) => true,
            (EffectKind::Delete, Object::Path(path)) => {
                let any = path.text.has_unknown() && path.text.prefix().is_empty();
                fact.recursive == Truth::Yes && (any || self.paths.is_tree(path))
            }
            _ => false,
        };
        let unknown = |fact: &&Fact| {
            fact.kind == EffectKind::Execute
                && matches!(&fact.object, Object::Name(name) if !name.is_exact())
        };
        let unnamed = found.iter().find(unknown).cloned();
        self.facts.extend(unnamed);
        let lost = found.into_iter().find(ruins);
        if let Some(fact) = lost {
            let name = match &fact.object {
                Object::Path(path) => path.text.clone(),
                _ => Text::empty(),
            };
            self.facts.push(Fact { kind: EffectKind::Destroy, object: Object::Name(name), ..fact });
        }
    }

    fn effects_of(&mut self, index: usize, invocation: &'a Invocation) {
        let utilities = chain(self.catalog, invocation);
        let reading = &invocation.reading;
        let any = |list: fn(&Utility) -> &Vec<String>| {
            utilities
                .iter()
                .fold(Truth::No, |truth, utility| truth.or(reading.has_any(list(utility))))
        };
        let mut actor = Actor {
            index,
            invocation,
            directories: invocation.directories.clone(),
            recursive: any(|utility| &utility.recursive),
            force: any(|utility| &utility.force),
            dry: any(|utility| &utility.dry) == Truth::Yes,
            utilities,
        };
        if actor.directories.is_empty() {
            actor.directories.push(Text::literal(self.context.cwd.as_str()));
        }
        self.program(&actor);
        self.environment(&actor);
        if actor.utilities.is_empty() {
            if !invocation.shadowed {
                self.unknown_program(&actor);
            }
            return;
        }
        if reading.inert {
            return;
        }
        self.unresolved(&actor);
        self.options(&mut actor);
        if !reading.complete {
            self.operands(&actor);
        }
        let utility: Option<&'a Utility> = actor.utilities.first().copied();
        for spec in utility.into_iter().flat_map(|utility| &utility.effects) {
            self.effect(&actor, spec);
        }
        for deed in &reading.deeds {
            if deed.kind == EffectKind::Fill
                && let DeedObject::Path(text) = &deed.object
            {
                self.put(&actor, deed.kind, text, deed.certain, deed.site);
                continue;
            }
            let objects: Objects = match &deed.object {
                DeedObject::None => smallvec![Object::None],
                DeedObject::Path(text) => self.paths_of(&actor, text, deed.site),
                DeedObject::Host(text) => smallvec![Object::Host(text.clone())],
                DeedObject::Name(text) => smallvec![Object::Name(text.clone())],
                DeedObject::Branch(text) => self.branches(text, index),
            };
            if actor.dry && !deed.kind.is_passive() {
                continue;
            }
            for mut object in objects {
                if let Object::Path(path) = &mut object
                    && self.are_generated(&path.text, &deed.names, &actor)
                {
                    path.places.raise(Place::Generated, Truth::Yes);
                }
                self.facts.push(Fact {
                    kind: deed.kind,
                    object,
                    recursive: deed.recursive,
                    force: deed.force,
                    certain: deed.certain,
                    invocation: Some(index),
                    site: deed.site,
                });
            }
        }
    }

    /// Whether all that is reached below a path, by these names, is made again by tools.
    fn are_generated(&self, path: &Text, names: &[Text], actor: &Actor<'_>) -> bool {
        let made = |name: &Text| {
            let below = path
                .clone()
                .concat(&Text::literal("/"))
                .concat(&Text::unknown(Unknown::Listed))
                .concat(&Text::literal("/"))
                .concat(name);
            let object = self.paths.object(&below, &actor.directories);
            object.places.get(Place::Generated) == Truth::Yes
        };
        !names.is_empty() && !path.has_unknown() && names.iter().all(made)
    }

    /// The program itself, where it is given by a path or not known.
    fn program(&mut self, actor: &Actor<'_>) {
        let Some(word) = actor.invocation.argv.first() else { return };
        let ascii = actor.invocation.name.as_deref().is_some_and(str::is_ascii);
        if ascii || actor.invocation.shadowed {
            return;
        }
        let from_network = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown::Network));
        if word.text.pieces().iter().any(from_network) {
            let object = Object::Code {
                language: Language::Shell,
                place: CodePlace::Value,
                known: false,
                plain: false,
                network: Truth::Yes,
            };
            self.push(actor, EffectKind::Execute, object, Truth::Yes, word.site);
        }
        let exact = word.text.exact();
        if exact.is_none_or(|word| word.contains('/')) && word.text.prefix().contains('/') {
            let object = self.path(&word.text, &actor.directories);
            self.push(actor, EffectKind::Execute, object, Truth::Yes, word.site);
        }
        if exact.is_none_or(|word| !word.is_ascii()) {
            let object = Object::Name(word.text.clone());
            self.push(actor, EffectKind::Execute, object, Truth::Yes, word.site);
        }
    }

    /// Secrets among the words and the input of an invocation, which its facts from `from` on send to
    /// a host.
    fn secrets(&mut self, index: usize, from: usize) {
        let Some(invocation) = self.trace.invocations.get(index) else { return };
        let own = || self.facts.get(from..).unwrap_or_default().iter();
        let mut hosts: SmallVec<[Text; 2]> = own()
            .filter_map(|fact| match &fact.object {
                Object::Host(host) => Some(host::host_of(host)),
                _ => None,
            })
            .collect();
        if hosts.is_empty() {
            // A name that is looked up, an address of mail.
            let sent = own().filter(|fact| fact.kind == EffectKind::Send);
            hosts.extend(sent.filter_map(|fact| match &fact.object {
                Object::Name(name) => Some(host::host_of(name)),
                _ => None,
            }));
        }
        if hosts.is_empty() {
            return;
        }
        let words = invocation.argv.iter().skip(1).map(|word| (&word.text, word.site));
        let input = invocation.input.text().map(|text| (text, invocation.site));
        for (text, site) in words.chain(input) {
            for name in self.catalog.secrets_in(text) {
                self.disclosed(name, &hosts, Some(index), site);
            }
        }
    }

    /// A secret that goes to each of these hosts.
    fn disclosed(&mut self, name: &str, hosts: &[Text], invocation: Option<usize>, site: Site) {
        for host in hosts {
            let object = Object::Name(Text::literal(format!("{name}@")).concat(host));
            let fact = Fact {
                kind: EffectKind::Disclose,
                object,
                recursive: Truth::No,
                force: Truth::No,
                certain: Truth::Yes,
                invocation,
                site,
            };
            if !self.facts.contains(&fact) {
                self.facts.push(fact);
            }
        }
    }

    /// Variables that make the program load something, or write a file.
    fn environment(&mut self, actor: &Actor<'_>) {
        let name = actor.invocation.name.as_deref().unwrap_or_default();
        for (variable, value) in &actor.invocation.environment {
            if self.catalog.variable_class(variable, name) == Some(VariableClass::File)
                && !self.catalog.is_plain_value(variable, value)
            {
                let object = self.path(&host::file_of(value), &actor.directories);
                self.push(actor, EffectKind::Write, object, Truth::Yes, actor.invocation.site);
            }
            if self.catalog.variable_class(variable, name) == Some(VariableClass::Code)
                && !self.catalog.is_plain_value(variable, value)
            {
                let object = Object::Code {
                    language: Language::Other,
                    place: CodePlace::Variable,
                    known: value.is_exact(),
                    plain: false,
                    network: Truth::No,
                };
                self.push(actor, EffectKind::Execute, object, Truth::Yes, actor.invocation.site);
            }
        }
    }

    /// A program without an entry: every operand that looks like a path may be opened.
    fn unknown_program(&mut self, actor: &Actor<'_>) {
        for word in actor.invocation.argv.iter().skip(1) {
            let text = if word.text.prefix().starts_with('-') {
                let Some(at) = word.text.prefix().find('=') else { continue };
                host::cut(&word.text, at + 1)
            } else if word.text.prefix().starts_with('@') {
                host::cut(&word.text, 1)
            } else {
                word.text.clone()
            };
            let text = match host::url(&text) {
                Target::Path(path) => path,
                _ => text,
            };
            if text.prefix().contains("://") || !host::is_path_like(&text) {
                continue;
            }
            let object = self.path(&text, &actor.directories);
            self.push(actor, EffectKind::Touch, object, Truth::Yes, word.site);
        }
    }

    /// Words that decide which deed is done and are not known: a sub-command, an option of what runs
    /// another command.
    fn unresolved(&mut self, actor: &Actor<'_>) {
        let carries = actor.utilities.iter().any(|utility| !utility.carries.is_empty());
        let finds = actor.utilities.iter().any(|utility| utility.grammar == Some(Grammar::Find));
        // Whether a word begins the name of a sub-command of several words.
        let begins = |level: usize, word: &str| {
            let names = |id: &UtilityId| {
                self.catalog.get(*id).is_some_and(|below| {
                    let mut names = std::iter::once(&below.name).chain(&below.aliases);
                    names.any(|name| {
                        name.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '))
                    })
                })
            };
            actor.utilities.get(level).is_some_and(|utility| utility.subcommands.iter().any(names))
        };
        // The first word may be a sub-command by itself, too (`yarn config`, `yarn config set`).
        let words = &actor.invocation.argv;
        if let Some(operand) = actor.invocation.reading.operands.first()
            && !operand.text.is_exact()
            && let Some(at) = words.iter().position(|word| word.site == operand.site)
            && let Some(before) = at.checked_sub(1).and_then(|at| words.get(at))
            && before.exact().is_some_and(|word| begins(1, word))
        {
            let object = Object::Name(operand.text.clone());
            self.push(actor, EffectKind::Execute, object, Truth::Yes, operand.site);
        }
        for doubt in &actor.invocation.reading.doubts {
            let (site, is_option) = match doubt {
                Doubt::Subcommand(word, site) => {
                    let next = words.iter().skip_while(|word| word.site != *site).nth(1);
                    match next.filter(|next| !next.text.is_exact() && begins(0, word)) {
                        Some(next) => (next.site, false),
                        None => (*site, false),
                    }
                }
                // To find, every word of its expression is an option.
                Doubt::Word(site) if finds => (*site, false),
                Doubt::Word(site) if carries => (*site, true),
                _ => continue,
            };
            let word = actor.invocation.argv.iter().find(|word| {
                word.site == site
                    && !word.text.is_exact()
                    && (!is_option || word.text.prefix().starts_with('-'))
            });
            if let Some(word) = word {
                let object = Object::Name(word.text.clone());
                self.push(actor, EffectKind::Execute, object, Truth::Yes, site);
            }
        }
    }

    fn access(&mut self, access: &Access) {
        let text = &access.target.text;
        let prefix = text.prefix();
        if prefix.starts_with("/dev/tcp/") || prefix.starts_with("/dev/udp/") {
            let peer = host::cut(text, "/dev/tcp/".len());
            let hosts = [host::host_of(&peer)];
            self.facts.push(Fact {
                kind: EffectKind::Connect,
                object: Object::Host(peer),
                recursive: Truth::No,
                force: Truth::No,
                certain: Truth::Yes,
                invocation: access.invocation,
                site: access.site,
            });
            let invocation = access.invocation.and_then(|index| self.trace.invocations.get(index));
            if let Some(own) = invocation
                && access.kind.is_mutation()
            {
                let shows = own
                    .utility
                    .and_then(|id| self.catalog.get(id))
                    .is_some_and(|utility| utility.output == Output::Secret);
                if shows {
                    self.disclosed("environment", &hosts, access.invocation, access.site);
                }
                let words = own.argv.iter().map(|word| &word.text).chain(own.input.text());
                for name in words.flat_map(|text| self.catalog.secrets_in(text)) {
                    self.disclosed(name, &hosts, access.invocation, access.site);
                }
            }
            return;
        }
        let scope = access
            .invocation
            .and_then(|index| self.trace.invocations.get(index))
            .map(|invocation| invocation.scope);
        if scope == Some(CarryScope::Container) {
            return;
        }
        let object = self.path(text, &access.directories);
        self.facts.push(Fact {
            kind: access.kind,
            object,
            recursive: Truth::No,
            force: Truth::No,
            certain: Truth::Yes,
            invocation: access.invocation,
            site: access.site,
        });
    }

    fn code(&mut self, code: &CodeUse) {
        self.facts.push(Fact {
            kind: EffectKind::Execute,
            object: Object::Code {
                language: code.language,
                place: code.place,
                known: code.text.is_exact(),
                plain: self.is_plain(code),
                network: Truth::from(code.is_from_network()),
            },
            recursive: Truth::No,
            force: Truth::No,
            certain: Truth::Yes,
            invocation: code.invocation,
            site: code.site,
        });
    }

    /// Whether code only computes and prints.
    fn is_plain(&self, code: &CodeUse) -> bool {
        let invocation = code.invocation.and_then(|index| self.trace.invocations.get(index));
        let Some(own) = invocation else { return false };
        let root = own.utility.and_then(|id| self.catalog.root(id));
        let Some(text) = code.text.exact() else { return false };
        let inputs = match code.language {
            // A name of a file may be a command to Perl: `id|`.
            Language::Perl => own.reading.operands.iter().all(|operand| {
                let begin = operand.text.prefix();
                let end = operand.text.pieces().last();
                let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_');
                begin.starts_with(named)
                    && !operand.text.has_unknown()
                    && matches!(end, Some(Piece::Literal(end)) if end.ends_with(named))
            }),
            // Further code is read from the input.
            _ => !own
                .reading
                .options
                .iter()
                .any(|used| matches!(used.name.as_str(), "-i" | "--interactive" | "-m")),
        };
        inputs
            && root
                .is_some_and(|utility| plain::is_plain(code.language, text, &utility.plain_words))
    }
}

/// The effect of one tool call on a file, for callers that do not go through a shell.
pub fn touch(path: &str, kind: EffectKind, context: &Context, known: &Known) -> Fact {
    let roots = Roots::new(context);
    let object = Paths::new(&roots, known)
        .object(&Text::literal(path), &[Text::literal(context.cwd.as_str())]);
    Fact {
        kind,
        object: Object::Path(Box::new(object)),
        recursive: Truth::No,
        force: Truth::No,
        certain: Truth::Yes,
        invocation: None,
        site: Site::default(),
    }
}

/// The place that says most about a path, for explanations: `workspace`, `temporary`, `outside`,
/// `home`, `system` or `device`, `unknown` where it cannot be told.
pub fn scope_name(object: &Object) -> &'static str {
    let Object::Path(path) = object else { return "" };
    for (place, name) in [
        (Place::HarmlessDevice, "device"),
        (Place::Device, "device"),
        (Place::HomeSettings, "home"),
        (Place::HomeChild, "home"),
        (Place::Home, "home"),
        (Place::System, "system"),
        (Place::Outside, "outside"),
        (Place::Temporary, "temporary"),
        (Place::WorkspaceRoot, "workspace"),
        (Place::Workspace, "workspace"),
    ] {
        if path.places.get(place) == Truth::Yes {
            return name;
        }
    }
    "unknown"
}

/// A program or settings that an option or a sub-command makes the utility run or load.
fn helper(actor: &Actor<'_>) -> Object {
    Object::Code {
        language: actor.utilities.iter().find_map(|u| u.language).unwrap_or(Language::Other),
        place: CodePlace::Helper,
        known: false,
        plain: false,
        network: Truth::No,
    }
}
