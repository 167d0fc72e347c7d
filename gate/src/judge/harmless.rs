//! Whether a command only reads what it may read.

use crate::judge::{Scene, is_entry};
use crate::model::context::Preset;
use crate::model::fact::{EffectKind, Fact, Object, PathObject, Place};
use crate::model::rule::AllowEntry;
use crate::model::trace::{Doubt, Invocation, Trace};
use crate::model::utility::{CarryScope, Language, Utility, VariableClass};
use crate::model::value::{Piece, Text, Truth, Unknown};

/// Whether everything in the trace is known to be harmless.
pub(super) fn is_harmless(allowed: &[AllowEntry], scene: &Scene<'_>) -> bool {
    let Trace { gaps, jobs, bombs, settings, .. } = scene.trace;
    if !gaps.is_empty() || !jobs.is_empty() || !bombs.is_empty() {
        return false;
    }
    let settings =
        settings.iter().all(|setting| match scene.catalog.variable_class(&setting.name, "") {
            Some(VariableClass::Harmless) => true,
            _ => scene.catalog.is_plain_value(&setting.name, &setting.value),
        });
    let is_known = |invocation: &Invocation| {
        is_entry(allowed, invocation) || is_known_reader(scene, invocation)
    };
    let by_entry = |fact: &Fact| {
        fact.invocation
            .and_then(|index| scene.trace.invocations.get(index))
            .is_some_and(|invocation| is_entry(allowed, invocation))
    };
    settings
        && scene.trace.invocations.iter().all(is_known)
        && scene.facts.iter().all(|fact| is_passive(scene, fact) || by_entry(fact))
}

/// Whether an invocation of the trace is a known reader and has no effect that matters; what its
/// operands are is not looked at, as rules of their own do that.
pub fn is_reader(scene: &Scene<'_>, index: usize) -> bool {
    scene.trace.invocations.get(index).is_some_and(|own| is_known_reader(scene, own))
        && effects(scene, index).all(|fact| fact.kind.is_passive() || is_passive(scene, fact))
}

/// The effects of an invocation, those of the one that it repeats included.
fn effects<'a>(scene: &Scene<'a>, index: usize) -> impl Iterator<Item = &'a Fact> {
    let first = scene.trace.invocations.get(index).and_then(|own| own.repeats);
    let of = move |fact: &&Fact| {
        fact.invocation == Some(index) || (first.is_some() && fact.invocation == first)
    };
    scene.facts.iter().filter(of)
}

/// Whether all that an invocation of the trace does is to make something new below a temporary
/// directory, under a name that nothing has yet (`mktemp`).
pub fn makes_new(scene: &Scene<'_>, index: usize) -> bool {
    let Some(own) = scene.trace.invocations.get(index) else { return false };
    own.name.as_deref() == Some("mktemp")
        && is_known_reader(scene, own)
        && effects(scene, index).all(|fact| match &fact.object {
            Object::Path(path) => path
                .places
                .iter()
                .all(|(place, _)| matches!(place, Place::Temporary | Place::Workspace)),
            Object::None => fact.kind == EffectKind::Create,
            _ => false,
        })
}

fn is_known_reader(scene: &Scene<'_>, invocation: &Invocation) -> bool {
    let program = invocation.name.as_deref().unwrap_or_default();
    let entry = invocation.utility.and_then(|id| scene.catalog.get(id));
    entry.is_some_and(|utility| {
        // An interpreter with nothing to run runs what it reads from its input.
        invocation.reading.inert
            || !invocation.reading.operands.is_empty()
            || is_no_interpreter(utility)
    }) && !invocation.folded
        && !invocation.shadowed
        && invocation.scope == CarryScope::Local
        && invocation.reading.doubts.iter().all(|doubt| is_pattern(invocation, doubt))
        && invocation.environment.iter().all(|(name, value)| {
            match scene.catalog.variable_class(name, program) {
                Some(VariableClass::Harmless) => true,
                // A plain reader as pager or editor.
                Some(VariableClass::Shell) => scene.catalog.is_plain_value(name, value),
                _ => false,
            }
        })
}

/// Whether a utility runs no code, or only code in languages whose dangerous parts are told apart.
const fn is_no_interpreter(utility: &Utility) -> bool {
    matches!(utility.language, None | Some(Language::Filter | Language::Awk | Language::Sed))
}

/// Whether a doubt is only about a pattern, which counts as the names it can match.
fn is_pattern(invocation: &Invocation, doubt: &Doubt) -> bool {
    matches!(doubt, Doubt::Word(site) if invocation
        .argv
        .iter()
        .filter(|word| word.site == *site)
        .all(|word| word.text.pieces().iter().all(|piece| match piece {
            Piece::Unknown(cause) => cause.is_below() || *cause == Unknown::Arithmetic,
            _ => true,
        }) && !word.text.is_exact()))
}

/// Whether an effect leaves everything as it was and stays where it may look.
fn is_passive(scene: &Scene<'_>, fact: &Fact) -> bool {
    match &fact.object {
        Object::Path(path) if is_harmless_device(path) => {
            fact.kind.is_passive() || is_redirection(scene, fact)
        }
        Object::Path(path) => fact.kind.is_passive() && is_inside(path, fact.kind),
        // The protocol's corpus takes what lies in the workspace for the person's own.
        Object::None if fact.kind == EffectKind::Obey => scene.context.preset == Preset::Protocol,
        Object::None | Object::Name(_) => fact.kind.is_passive(),
        Object::Host(_) | Object::Branch { .. } | Object::Code { .. } => false,
    }
}

/// Whether the shell itself writes there.
fn is_redirection(scene: &Scene<'_>, fact: &Fact) -> bool {
    matches!(fact.kind, EffectKind::Write | EffectKind::Append)
        && scene.trace.accesses.iter().any(|access| access.site == fact.site)
}

/// Whether nothing in it is unknown but the names a search finds below its start.
fn is_told(text: &Text) -> bool {
    text.pieces().iter().all(|piece| match piece {
        Piece::Unknown(cause) => {
            *cause == Unknown::Item || cause.is_below() || *cause == Unknown::Arithmetic
        }
        _ => true,
    })
}

fn is_harmless_device(path: &PathObject) -> bool {
    let mut places = path.places.iter();
    places.next() == Some((Place::HarmlessDevice, Truth::Yes)) && places.next().is_none()
}

fn is_inside(path: &PathObject, kind: EffectKind) -> bool {
    let known = std::iter::once(&path.text).chain(&path.resolved).all(is_told);
    let inside = path.places.iter().all(|(place, _)| {
        matches!(place, Place::Workspace | Place::WorkspaceRoot | Place::Control | Place::Generated)
    });
    let opens = !matches!(kind, EffectKind::List | EffectKind::Enter);
    known && inside && !path.resolved.is_empty() && !(opens && path.sensitive.is_possible())
}
