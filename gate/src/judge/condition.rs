//! A condition on one subject, three-valued.

use std::borrow::Cow;

use crate::judge::{Scene, is_reader, makes_new};
use crate::model::component::{self, Part, Pattern};
use crate::model::fact::{EffectKind, Fact, Object, PathObject, Places};
use crate::model::rule::{CodeCondition, Condition, PathCondition, SubstitutionCondition};
use crate::model::script::{Gap, GapCause};
use crate::model::span::{Site, SourceId};
use crate::model::trace::{Invocation, Setting, SubstitutionUse};
use crate::model::utility::VariableClass;
use crate::model::value::{Field, Piece, Text, Truth, Unknown};

/// What a condition is asked about.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// An effect, with the invocation behind it.
    Fact(&'a Fact),
    /// An invocation on its own, as an index into the trace.
    Invocation(usize),
    /// Something that was not understood.
    Gap(SourceId, &'a Gap),
    /// A live substitution.
    Substitution(&'a SubstitutionUse),
    /// Something left running.
    Job(Site),
    /// A function that keeps starting copies of itself.
    Bomb(Site),
    /// A variable set for what follows.
    Setting(&'a Setting),
}

impl<'a> Subject<'a> {
    /// The invocation, as an index into the trace.
    pub const fn invocation(&self) -> Option<usize> {
        match self {
            Self::Fact(fact) => fact.invocation,
            Self::Invocation(index) => Some(*index),
            _ => None,
        }
    }

    /// Where it shows.
    pub fn site(&self, scene: &Scene<'_>) -> Site {
        match self {
            Self::Fact(fact) => fact.site,
            Self::Invocation(index) => {
                scene.trace.invocations.get(*index).map(|own| own.site).unwrap_or_default()
            }
            Self::Gap(source, gap) => Site::new(*source, gap.span),
            Self::Substitution(substitution) => substitution.site,
            Self::Job(site) | Self::Bomb(site) => *site,
            Self::Setting(setting) => setting.site,
        }
    }

    /// What it is, for a person.
    pub fn about(&self, scene: &Scene<'_>) -> String {
        match self {
            Self::Fact(fact) => format!("{} {}", fact.kind.name(), object_name(&fact.object)),
            Self::Invocation(index) => scene
                .trace
                .invocations
                .get(*index)
                .and_then(|own| own.argv.first())
                .map(|word| word.text.display())
                .unwrap_or_default(),
            Self::Gap(_, gap) => gap_name(&gap.cause),
            Self::Substitution(_) => "substitution".into(),
            Self::Job(_) => "background".into(),
            Self::Bomb(_) => "bomb".into(),
            Self::Setting(setting) => setting.name.to_string(),
        }
    }

    fn fact(&self) -> Option<&'a Fact> {
        if let Self::Fact(fact) = self { Some(fact) } else { None }
    }
}

/// The object of an effect, for people.
pub fn object_name(object: &Object) -> String {
    match object {
        Object::None => String::new(),
        Object::Path(path) => path.resolved.first().unwrap_or(&path.text).display(),
        Object::Host(text) | Object::Name(text) | Object::Branch { name: text, .. } => {
            text.display()
        }
        Object::Code { language, place, .. } => {
            format!("{} code ({})", language.name(), place.name())
        }
    }
}

/// The cause of a gap, for people.
pub fn gap_name(cause: &GapCause) -> String {
    match cause {
        GapCause::Syntax(what) => format!("syntax: {what}"),
        GapCause::Unterminated(what) => format!("{what} is never closed"),
        GapCause::OpenHereDocument(delimiter) => {
            format!("here-document `{delimiter}` is never closed")
        }
        GapCause::OddCharacter(c) => format!("odd character U+{:04X}", u32::from(*c)),
        GapCause::OtherShell(what) => format!("{what} means something else in another shell"),
        GapCause::TreeDisagrees(what) => format!("two readings differ: {what}"),
        GapCause::Limit(limit) => format!("limit: {}", limit.name()),
        GapCause::NotModelled(what) => format!("not modelled: {what}"),
    }
}

/// Whether the condition holds for the subject.
pub fn holds(condition: &Condition, subject: &Subject<'_>, scene: &Scene<'_>) -> Truth {
    let fact = subject.fact();
    let invocation = subject.invocation().and_then(|index| scene.trace.invocations.get(index));
    match condition {
        Condition::All(parts) => {
            let mut truth = Truth::Yes;
            for part in parts {
                truth = truth.and(holds(part, subject, scene));
                if truth == Truth::No {
                    break;
                }
            }
            truth
        }
        Condition::Any(parts) => {
            let mut truth = Truth::No;
            for part in parts {
                truth = truth.or(holds(part, subject, scene));
                if truth == Truth::Yes {
                    break;
                }
            }
            truth
        }
        Condition::Not(part) => holds(part, subject, scene).negate(),
        Condition::Effect(kinds) => fact.is_some_and(|fact| kinds.contains(&fact.kind)).into(),
        Condition::Recursive => fact.map_or(Truth::No, |fact| fact.recursive),
        Condition::Force => fact.map_or(Truth::No, |fact| fact.force),
        Condition::Path(wanted) => match fact.map(|fact| &fact.object) {
            Some(Object::Path(path)) => path_is(wanted, path),
            _ => Truth::No,
        },
        Condition::Host(globs) => match fact.map(|fact| &fact.object) {
            Some(Object::Host(host)) => any_glob(host, globs),
            _ => Truth::No,
        },
        Condition::ProtectedBranch => match fact.map(|fact| &fact.object) {
            Some(Object::Branch { protected, .. }) => *protected,
            _ => Truth::No,
        },
        Condition::Code(wanted) => match fact.map(|fact| &fact.object) {
            Some(object @ Object::Code { .. }) => code_is(wanted, object),
            _ => Truth::No,
        },
        Condition::Name(globs) => match fact.map(|fact| &fact.object) {
            Some(Object::Name(name)) => any_glob(name, globs),
            _ => Truth::No,
        },
        Condition::Unresolved => fact
            .is_some_and(|fact| {
                fact.kind == EffectKind::Execute
                    && matches!(&fact.object, Object::Name(name) if !name.exact().is_some_and(str::is_ascii))
            })
            .into(),
        Condition::Utility(names) => invocation
            .is_some_and(|own| {
                let root = own.utility.and_then(|id| scene.catalog.root(id));
                names.iter().any(|name| {
                    own.name.as_deref() == Some(name.as_str())
                        || root.is_some_and(|utility| utility.name == *name)
                })
            })
            .into(),
        Condition::Subcommand(names) => invocation
            .is_some_and(|own| {
                let joined = own.reading.subcommand.join(" ");
                names.iter().any(|name| {
                    joined == *name
                        || joined
                            .strip_prefix(name.as_str())
                            .is_some_and(|rest| rest.starts_with(' '))
                })
            })
            .into(),
        Condition::Option(names) => invocation.map_or(Truth::No, |own| own.reading.has_any(names)),
        Condition::Source(globs) => invocation.map_or(Truth::No, |own| {
            let sources = own.reading.operands.split_last().map_or(&[][..], |(_, sources)| sources);
            let fits = |operand: &Field| tail_matches(&operand.text, globs);
            sources.iter().map(fits).fold(Truth::No, Truth::or)
        }),
        Condition::Via(names) => {
            invocation.is_some_and(|own| own.via.iter().any(|via| names.iter().any(|name| name == via))).into()
        }
        Condition::Scope(scopes) => invocation
            .map_or_else(
                || scopes.contains(&crate::model::utility::CarryScope::Local),
                |own: &Invocation| scopes.contains(&own.scope),
            )
            .into(),
        Condition::Shadowed => invocation.is_some_and(|own| own.shadowed).into(),
        Condition::Gap => matches!(subject, Subject::Gap(..)).into(),
        Condition::Substitution(wanted) => match subject {
            Subject::Substitution(own) => substitution_is(wanted, own, scene),
            _ => Truth::No,
        },
        Condition::Job => matches!(subject, Subject::Job(_)).into(),
        Condition::Bomb => matches!(subject, Subject::Bomb(_)).into(),
        Condition::Setting(class) => match subject {
            Subject::Setting(setting) => setting_is(*class, setting, scene),
            _ => Truth::No,
        },
        Condition::Preset(preset) => (scene.context.preset == *preset).into(),
    }
}

fn wanted_is(wanted: Option<bool>, truth: Truth) -> Truth {
    match wanted {
        None => Truth::Yes,
        Some(true) => truth,
        Some(false) => truth.negate(),
    }
}

fn path_is(wanted: &PathCondition, path: &PathObject) -> Truth {
    let places = |list: &[crate::model::fact::Place], places: &Places| {
        if list.is_empty() {
            return Truth::Yes;
        }
        list.iter().fold(Truth::No, |truth, place| truth.or(places.get(*place)))
    };
    let globs = if wanted.glob.is_empty() {
        Truth::Yes
    } else {
        path.resolved
            .iter()
            .fold(Truth::No, |truth, text| truth.or(tail_matches(text, &wanted.glob)))
    };
    places(&wanted.place, &path.places)
        .and(places(&wanted.everything, &path.everything_below))
        .and(wanted_is(wanted.sensitive, path.sensitive))
        .and(wanted_is(wanted.emptied, path.emptied))
        .and(wanted_is(wanted.named, path.named))
        .and(wanted_is(wanted.spelled, path.spelled))
        .and(wanted_is(wanted.fresh, Truth::from(is_fresh(path))))
        .and(wanted_is(wanted.told, Truth::from(is_told(path))))
        .and(wanted_is(wanted.pattern, Truth::from(path.text.has_glob())))
        .and(globs)
}

/// Whether nothing is unknown in a path, and in the directories it counts from.
fn is_told(path: &PathObject) -> bool {
    !path.text.has_unknown() && !path.resolved.iter().any(Text::has_unknown)
}

/// Whether letters of a path are made up for a new name.
fn is_fresh(path: &PathObject) -> bool {
    path.text.pieces().contains(&Piece::Unknown(Unknown::Fresh))
        || path.resolved.iter().any(|text| text.pieces().contains(&Piece::Unknown(Unknown::Fresh)))
}

/// Whether the end of a path fits one of the globs, component by component.
///
/// A pattern in the path that fits a name which a glob spells out is taken to stand for it: the shell
/// puts the names that are there in its place.
fn tail_matches(text: &Text, globs: &[String]) -> Truth {
    if text.has_glob() && !text.has_unknown() {
        return pattern_matches(text, globs);
    }
    let shown = text.exact().map_or_else(|| Cow::Owned(text.display()), Cow::Borrowed);
    let parts: Vec<&str> = shown.split('/').filter(|part| !part.is_empty()).collect();
    let mut truth = Truth::No;
    for glob in globs {
        let wanted: Vec<&str> = glob.split('/').filter(|part| !part.is_empty()).collect();
        let Some(start) = parts.len().checked_sub(wanted.len()) else { continue };
        let end = parts.get(start..).unwrap_or_default();
        let all = wanted.iter().zip(end).fold(Truth::Yes, |truth, (glob, part)| {
            truth.and(Pattern::new(*glob).matches(&Part::Name(part)))
        });
        truth = truth.or(all);
    }
    if truth == Truth::No && text.has_unknown() { Truth::Maybe } else { truth }
}

fn pattern_matches(text: &Text, globs: &[String]) -> Truth {
    let mut parts = vec![Text::empty()];
    for piece in text.pieces() {
        match piece {
            Piece::Literal(literal) => {
                for (index, name) in literal.split('/').enumerate() {
                    if index > 0 {
                        parts.push(Text::empty());
                    }
                    if let Some(part) = parts.last_mut() {
                        part.push_str(name);
                    }
                }
            }
            other => {
                if let Some(part) = parts.last_mut() {
                    part.push(other.clone());
                }
            }
        }
    }
    parts.retain(|part| !part.is_empty());
    let fits = |part: &Text, glob: &str| {
        if glob.contains(['*', '?']) {
            Pattern::new(glob).matches(&Part::Name(&part.display()))
        } else {
            component::matches(part, glob)
        }
    };
    globs.iter().fold(Truth::No, |truth, glob| {
        let wanted: Vec<&str> = glob.split('/').filter(|part| !part.is_empty()).collect();
        let Some(start) = parts.len().checked_sub(wanted.len()) else { return truth };
        let end = parts.get(start..).unwrap_or_default();
        truth.or(wanted
            .iter()
            .zip(end)
            .fold(Truth::Yes, |truth, (glob, part)| truth.and(fits(part, glob))))
    })
}

fn any_glob(text: &Text, globs: &[String]) -> Truth {
    globs.iter().fold(Truth::No, |truth, glob| truth.or(component::matches(text, glob)))
}

fn code_is(wanted: &CodeCondition, object: &Object) -> Truth {
    let Object::Code { language, place, known, plain, network } = object else { return Truth::No };
    let language = wanted.language.is_empty() || wanted.language.contains(language);
    let place = wanted.place.is_empty() || wanted.place.contains(place);
    Truth::from(language && place)
        .and(wanted_is(wanted.known, Truth::from(*known)))
        .and(wanted_is(wanted.plain, Truth::from(*plain)))
        .and(wanted_is(wanted.network, *network))
}

fn substitution_is(
    wanted: &SubstitutionCondition,
    own: &SubstitutionUse,
    scene: &Scene<'_>,
) -> Truth {
    let (from, to) = own.invocations;
    let readers = || (from..to).all(|index| is_reader(scene, index) || makes_new(scene, index));
    let readers = match wanted.readers {
        None => Truth::Yes,
        Some(_) => wanted_is(wanted.readers, Truth::from(readers())),
    };
    readers
        .and(wanted_is(wanted.known, Truth::from(own.known)))
        .and(wanted_is(wanted.decides, Truth::from(own.decides)))
}

fn setting_is(class: VariableClass, setting: &Setting, scene: &Scene<'_>) -> Truth {
    if scene.catalog.is_plain_value(&setting.name, &setting.value) {
        return Truth::from(class == VariableClass::Harmless);
    }
    let plain = scene.catalog.variable_class(&setting.name, "");
    let mut classes = std::iter::once(plain).chain(
        scene
            .trace
            .invocations
            .iter()
            .skip(setting.from)
            .take(256)
            .filter_map(|own| own.name.as_deref())
            .map(|name| scene.catalog.variable_class(&setting.name, name)),
    );
    Truth::from(classes.any(|own| own == Some(class)))
}
