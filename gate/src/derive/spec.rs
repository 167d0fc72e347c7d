//! What the table of a utility says of its options, operands and own effects.

use smallvec::SmallVec;

use super::{Actor, Deriver, LANDINGS, helper, host};
use crate::derive::host::Target;
use crate::model::fact::{EffectKind, Object, Place};
use crate::model::span::Site;
use crate::model::trace::OptionUse;
use crate::model::utility::{
    EffectObject, EffectSpec, Language, OperandPlace, OperandSpec, ValueKind,
};
use crate::model::value::{Arity, Field, Piece, Text, Truth, Unknown};

impl<'a> Deriver<'a> {
    pub(super) fn options(&mut self, actor: &mut Actor<'a>) {
        for used in &actor.invocation.reading.options {
            let Some(spec) = actor.option(used) else { continue };
            match &used.value {
                None => {
                    for kind in &spec.effects {
                        let object = unnamed(actor, *kind);
                        self.push(actor, *kind, object, used.certain, used.site);
                    }
                }
                Some(value) => {
                    self.value(actor, &spec.effects, spec.kind, value, used.certain);
                    if spec.kind == ValueKind::Directory
                        && spec.effects.contains(&EffectKind::Enter)
                    {
                        let entered = self.paths.object(&value.text, &actor.directories);
                        actor.directories = entered.resolved.into_iter().collect();
                    }
                }
            }
        }
    }

    pub(super) fn operands(&mut self, actor: &Actor<'_>) {
        let operands = &actor.invocation.reading.operands;
        let Some(utility) = actor.utilities.first() else { return };
        let script = utility.language.is_some_and(|language| {
            !matches!(language, Language::Filter | Language::Sql | Language::Sed | Language::Awk)
        }) && !actor.invocation.reading.options.iter().any(|used| {
            actor
                .option(used)
                .is_some_and(|spec| matches!(spec.kind, ValueKind::Code | ValueKind::Shell))
        });
        for (position, operand) in operands.iter().enumerate() {
            let mut claimed = false;
            let names = is_names(operand);
            let many = operand.arity == Arity::Many && operand.text.has_unknown() && !names;
            // Whether the names behind the first are claimed too.
            let mut rest = false;
            for spec in &utility.operands {
                let here = is_at(spec.place, position, operands.len());
                if operands.len() < spec.at_least && !many && !names {
                    continue;
                }
                let applies = actor.applies(&spec.when, &spec.unless);
                if !applies.is_possible() {
                    continue;
                }
                if here && !claimed {
                    claimed = applies == Truth::Yes;
                    rest |= claimed && spec.place == OperandPlace::All;
                    self.operand(actor, spec, operand, applies);
                } else if names && !rest && reaches(spec.place, position, operands.len()) {
                    rest |= applies == Truth::Yes && spec.place == OperandPlace::All;
                    self.operand(actor, spec, operand, Truth::Maybe);
                } else if many {
                    self.operand(actor, spec, operand, Truth::Maybe);
                }
            }
            if script && position == 0 && utility.operands.is_empty() {
                let object = self.path(&operand.text, &actor.directories);
                self.push(actor, EffectKind::Execute, object, Truth::Yes, operand.site);
            }
        }
    }

    fn operand(&mut self, actor: &Actor<'_>, spec: &OperandSpec, operand: &Field, certain: Truth) {
        let kind = spec.kind;
        if kind == ValueKind::Script {
            let object = self.path(&operand.text, &actor.directories);
            for effect in [EffectKind::Execute, EffectKind::Read] {
                self.push(actor, effect, object.clone(), certain, operand.site);
            }
        }
        let effects: SmallVec<[EffectKind; 4]> = spec
            .effects
            .iter()
            .copied()
            .filter(|effect| {
                kind != ValueKind::Script
                    || !matches!(effect, EffectKind::Execute | EffectKind::Read)
            })
            .collect();
        let kind = if kind == ValueKind::Script { ValueKind::Path } else { kind };
        self.value(actor, &effects, kind, operand, certain);
    }

    /// What is done to a value: an option's or an operand.
    fn value(
        &mut self,
        actor: &Actor<'_>,
        effects: &[EffectKind],
        kind: ValueKind,
        value: &Field,
        certain: Truth,
    ) {
        let text = &value.text;
        let target = match kind {
            ValueKind::Path | ValueKind::Directory if text.exact() == Some("-") => Target::Nothing,
            ValueKind::Path | ValueKind::Directory | ValueKind::Script => {
                Target::Path(text.clone())
            }
            ValueKind::Auto if host::is_path_like(text) => Target::Path(text.clone()),
            ValueKind::PipePath if !text.prefix().starts_with(['|', '!']) => {
                Target::Path(text.clone())
            }
            ValueKind::NamePattern => host::name_pattern(text),
            ValueKind::AtPath => host::at_path(text),
            ValueKind::FormPath => host::form_path(text),
            ValueKind::Host => host::url(text),
            ValueKind::RemotePath => host::remote_path(text),
            _ => Target::Nothing,
        };
        let loads = match kind {
            ValueKind::Script => Some(EffectKind::Read),
            _ => None,
        };
        // A script that is run is told by what the invocation carries.
        if kind == ValueKind::Script && !effects.contains(&EffectKind::Execute) {
            let object = helper(actor);
            self.push(actor, EffectKind::Execute, object, certain, value.site);
        }
        for kind in effects.iter().copied().chain(loads) {
            match &target {
                Target::Path(path) if matches!(kind, EffectKind::Put | EffectKind::Fill) => {
                    self.put(actor, kind, path, certain, value.site);
                }
                Target::Path(path) => {
                    for object in self.paths_of(actor, path, value.site) {
                        self.push(actor, kind, object, certain, value.site);
                    }
                }
                Target::Host(host) => {
                    let kind = match kind {
                        EffectKind::Read | EffectKind::List | EffectKind::Search => {
                            EffectKind::Receive
                        }
                        EffectKind::Write
                        | EffectKind::Put
                        | EffectKind::Fill
                        | EffectKind::Append => EffectKind::Send,
                        other => other,
                    };
                    self.push(actor, kind, Object::Host(host.clone()), certain, value.site);
                }
                Target::Nothing => {
                    if !is_file_kind(kind) {
                        let object = match unnamed(actor, kind) {
                            Object::None => Object::Name(text.clone()),
                            code => code,
                        };
                        self.push(actor, kind, object, certain, value.site);
                    }
                }
            }
        }
    }

    /// Files put at a place or, where it is a directory, into it.
    pub(super) fn put(
        &mut self,
        actor: &Actor<'_>,
        kind: EffectKind,
        path: &Text,
        certain: Truth,
        site: Site,
    ) {
        let inside = |name: &Text| {
            let mut text = path.clone();
            if !text
                .pieces()
                .last()
                .is_some_and(|piece| matches!(piece, Piece::Literal(end) if end.ends_with('/')))
            {
                text.push_str("/");
            }
            text.concat(name)
        };
        if kind == EffectKind::Fill {
            let name = Text::unknown(Unknown::NotModelled("an archive"));
            let mut object = self.paths.object(&inside(&name), &actor.directories);
            object.named = self.paths.object(path, &actor.directories).named_below();
            let object = Object::Path(Box::new(object));
            self.push(actor, kind, object, certain, site);
            return;
        }
        let sources: Vec<&Field> = actor
            .invocation
            .reading
            .operands
            .iter()
            .filter(|operand| operand.site != site)
            .collect();
        if sources.len() < 2 && !self.paths.is_directory(path, &actor.directories) {
            let object = self.path(path, &actor.directories);
            self.push(actor, kind, object, certain, site);
            return;
        }
        let mut names: Vec<Text> = sources
            .iter()
            .take(LANDINGS)
            .map(|source| host::base_name(&source.text))
            .map(|name| {
                // A source that ends in dots or a slash puts what it holds.
                if matches!(name.exact(), Some("" | "." | "..")) {
                    Text::unknown(Unknown::NotModelled("a directory"))
                } else {
                    name
                }
            })
            .collect();
        if names.is_empty() || sources.len() > LANDINGS {
            names.push(Text::unknown(Unknown::NotModelled("a list of files")));
        }
        for name in &names {
            let object = self.path(&inside(name), &actor.directories);
            self.push(actor, kind, object, certain, site);
        }
    }

    /// An effect that does not come from one operand alone.
    pub(super) fn effect(&mut self, actor: &Actor<'_>, spec: &EffectSpec) {
        let operands = &actor.invocation.reading.operands;
        let mut certain = actor.applies(&spec.when, &spec.unless);
        if spec.without_operands && !operands.is_empty()
            || spec.with_operands && operands.is_empty()
            || spec.away && actor.directories.iter().all(|directory| self.is_root(directory))
        {
            return;
        }
        let acts = |used: &OptionUse| actor.option(used).is_some_and(|own| !own.effects.is_empty());
        if operands.len() < spec.at_least
            && !actor.invocation.reading.options.iter().any(acts)
            && !operands.iter().any(|operand| operand.arity == Arity::Many)
        {
            return;
        }
        if !spec.words.is_empty() {
            certain = certain.and(begins_with(operands, &spec.words));
        }
        if !certain.is_possible() {
            return;
        }
        let site = actor.invocation.site;
        match &spec.object {
            EffectObject::None => {
                self.push(actor, spec.kind, unnamed(actor, spec.kind), certain, site);
            }
            EffectObject::Operands => {
                for operand in operands {
                    self.value(actor, &[spec.kind], ValueKind::Path, operand, certain);
                }
            }
            EffectObject::Directory => {
                let here = Text::literal(".");
                if spec.kind == EffectKind::Fill {
                    self.put(actor, spec.kind, &here, certain, site);
                } else {
                    let object = self.path(&here, &actor.directories);
                    self.push(actor, spec.kind, object, certain, site);
                }
            }
            EffectObject::Path(path) => {
                let path = match path.strip_prefix('~') {
                    Some(rest) => format!("{}{rest}", self.context.home),
                    None => path.clone(),
                };
                let object = self.path(&Text::literal(path), &actor.directories);
                self.push(actor, spec.kind, object, certain, site);
            }
            EffectObject::UrlName => {
                for operand in operands {
                    let name = host::base_name(&operand.text);
                    let name = match name.exact() {
                        Some(name) => {
                            Text::literal(name.split(['?', '#']).next().unwrap_or_default())
                        }
                        None => name,
                    };
                    let object = self.path(&Text::literal("./").concat(&name), &actor.directories);
                    self.push(actor, spec.kind, object, certain, operand.site);
                }
            }
        }
    }

    /// Whether a directory is a workspace root.
    fn is_root(&self, directory: &Text) -> bool {
        let object = self.paths.object(directory, std::slice::from_ref(directory));
        object.places.get(Place::WorkspaceRoot) == Truth::Yes
    }
}

fn is_at(place: OperandPlace, position: usize, count: usize) -> bool {
    match place {
        OperandPlace::All => true,
        OperandPlace::First => position == 0,
        OperandPlace::Second => position == 1,
        OperandPlace::Third => position == 2,
        OperandPlace::Last => count > 1 && position + 1 == count,
    }
}

/// Whether a pattern, or what a search finds below its start, may become several names.
fn is_names(operand: &Field) -> bool {
    let text = &operand.text;
    let mut unknown = text.pieces().iter().filter(|piece| matches!(piece, Piece::Unknown(_)));
    operand.arity == Arity::Many
        && (text.has_glob() || !text.prefix().is_empty())
        && unknown.all(|piece| matches!(piece, Piece::Unknown(Unknown::Item | Unknown::Listed)))
}

/// Whether a name behind the first of several at a position is at a place.
const fn reaches(place: OperandPlace, position: usize, count: usize) -> bool {
    match place {
        OperandPlace::All => true,
        OperandPlace::First => false,
        OperandPlace::Second => position == 0,
        OperandPlace::Third => position < 2,
        OperandPlace::Last => position + 1 == count,
    }
}

/// Whether an effect needs a file to happen to.
const fn is_file_kind(kind: EffectKind) -> bool {
    matches!(
        kind,
        EffectKind::Read
            | EffectKind::List
            | EffectKind::Search
            | EffectKind::Enter
            | EffectKind::Touch
    ) || kind.is_mutation()
        && !matches!(kind, EffectKind::Delete | EffectKind::Create | EffectKind::Format)
}

fn begins_with(operands: &[Field], words: &[String]) -> Truth {
    let mut truth = Truth::No;
    for operand in operands {
        let prefix = operand.text.prefix().trim_start();
        let found = words.iter().any(|word| {
            let begin = prefix.as_bytes().get(..word.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()))
        });
        let unknown = operand.text.has_unknown() && prefix.is_empty();
        truth = truth.or(match (found, unknown) {
            (true, _) => Truth::Yes,
            (false, true) => Truth::Maybe,
            (false, false) => Truth::No,
        });
    }
    truth
}

/// The object of an effect that names none: what is run without a name is somebody's helper.
fn unnamed(actor: &Actor<'_>, kind: EffectKind) -> Object {
    if kind == EffectKind::Execute { helper(actor) } else { Object::None }
}
