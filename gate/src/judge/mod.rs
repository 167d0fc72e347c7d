//! What we mind about what would run, and the decision.
//!
//! Takes rules, labels, a trace and its facts. Gives hits, and one verdict folded from them. May
//! import: model. Never: reads a command text, except what was not understood of it.

pub mod condition;
pub mod elsewhere;
mod harmless;
pub mod index;
pub mod raw;

use std::collections::BTreeSet;

use crate::judge::condition::{Subject, holds};
use crate::judge::index::Index;
use crate::model::context::Context;
use crate::model::fact::{Fact, Object};
use crate::model::rule::{AllowEntry, Hit, Labels, Rule, RuleSet};
use crate::model::script::GapCause;
use crate::model::span::{Site, SourceId, Span};
use crate::model::trace::{Invocation, SubstitutionUse, Trace};
use crate::model::utility::Catalog;
use crate::model::value::{Arity, Text, Truth};
use crate::model::verdict::{Decision, Reason, Verdict};

pub use crate::judge::harmless::{is_reader, makes_new};

/// Reasons a verdict holds at most; the worst are kept.
const REASONS: usize = 64;

/// All that is known about one command.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// What would run.
    pub trace: &'a Trace,
    /// Its effects.
    pub facts: &'a [Fact],
    /// What utilities do.
    pub catalog: &'a Catalog,
    /// Where it would run.
    pub context: &'a Context,
}

/// Rules that hold or may hold, in the order of what they hold for.
pub fn hits(rules: &RuleSet, index: &Index, scene: &Scene<'_>) -> Vec<Hit> {
    let mut out = Vec::new();
    hits_into(&mut out, rules, index, scene);
    out
}

/// As [`hits`], into a list that is empty.
pub fn hits_into(out: &mut Vec<Hit>, rules: &RuleSet, index: &Index, scene: &Scene<'_>) {
    look(rules, index, scene, &mut |hit| {
        if hit.truth.is_possible() {
            out.push(hit);
        }
    });
}

/// As [`hits`], with what every rule said that looked at something, No included.
pub fn looks(rules: &RuleSet, index: &Index, scene: &Scene<'_>) -> Vec<Hit> {
    let mut out = Vec::new();
    look(rules, index, scene, &mut |hit| out.push(hit));
    out
}

/// What a hit is about, for a person; may be empty.
pub fn about(hit: &Hit, scene: &Scene<'_>) -> String {
    if let Some(fact) = hit.fact.and_then(|index| scene.facts.get(index)) {
        return Subject::Fact(fact).about(scene);
    }
    if let Some(index) = hit.invocation {
        return Subject::Invocation(index).about(scene);
    }
    let gap =
        scene.trace.gaps.iter().find(|(source, gap)| Site::new(*source, gap.span) == hit.site);
    if let Some((source, gap)) = gap {
        return Subject::Gap(*source, gap).about(scene);
    }
    let setting = scene.trace.settings.iter().find(|setting| setting.site == hit.site);
    setting.map(|setting| setting.name.to_string()).unwrap_or_default()
}

fn look(rules: &RuleSet, index: &Index, scene: &Scene<'_>, say: &mut dyn FnMut(Hit)) {
    let mut ask = |subject: &Subject<'_>, truth: Truth, fact: Option<usize>| {
        for number in index.rules_for(subject) {
            let Some(rule) = rules.rules.get(*number) else { continue };
            let truth = holds(&rule.condition, subject, scene).and(truth);
            say(Hit {
                rule: *number,
                truth,
                fact,
                invocation: subject.invocation(),
                site: subject.site(scene),
            });
        }
    };
    for (number, fact) in scene.facts.iter().enumerate() {
        ask(&Subject::Fact(fact), fact.certain, Some(number));
    }
    for (number, own) in scene.trace.invocations.iter().enumerate() {
        if own.repeats.is_none() {
            ask(&Subject::Invocation(number), Truth::Yes, None);
        }
    }
    for (source, gap) in &scene.trace.gaps {
        ask(&Subject::Gap(*source, gap), Truth::Yes, None);
    }
    for (number, substitution) in scene.trace.substitutions.iter().enumerate() {
        if !is_told(scene.trace, number, substitution) {
            ask(&Subject::Substitution(substitution), Truth::Yes, None);
        }
    }
    for site in &scene.trace.jobs {
        ask(&Subject::Job(*site), Truth::Yes, None);
    }
    for site in &scene.trace.bombs {
        ask(&Subject::Bomb(*site), Truth::Yes, None);
    }
    for setting in &scene.trace.settings {
        ask(&Subject::Setting(setting), Truth::Yes, None);
    }
}

/// Substitutions of the same place, the last ones, among which an equal one is looked for.
const RECENT: usize = 64;

/// Whether a substitution runs only what an earlier one at the same place has run.
fn is_told(trace: &Trace, number: usize, own: &SubstitutionUse) -> bool {
    let (from, to) = own.invocations;
    let repeats = trace
        .invocations
        .get(from..to)
        .is_some_and(|inside| !inside.is_empty() && inside.iter().all(|one| one.repeats.is_some()));
    let same = |other: &SubstitutionUse| {
        other.site == own.site
            && other.process == own.process
            && other.known == own.known
            && other.decides == own.decides
    };
    let before = trace.substitutions.get(number.saturating_sub(RECENT)..number);
    repeats && before.is_some_and(|before| before.iter().rev().any(same))
}

/// Folds hits into a verdict. The worst label wins; without one, a command of readers alone is
/// allowed and anything else passes.
pub fn decide(rules: &RuleSet, labels: &Labels, hits: &[Hit], scene: &Scene<'_>) -> Verdict {
    let mut found: Vec<Objection<'_>> = Vec::new();
    for hit in hits {
        let Some(rule) = rules.rules.get(hit.rule) else { continue };
        let label = match hit.truth {
            Truth::Yes => Some(&rule.label),
            Truth::Maybe => rule.maybe.as_ref(),
            Truth::No => None,
        };
        let Some(label) = label else { continue };
        let Some((position, spec)) =
            labels.position(label).and_then(|at| labels.specs.get(at).map(|spec| (at, spec)))
        else {
            continue;
        };
        let decision = if hit.truth == Truth::Yes { spec.yes } else { spec.maybe };
        if decision < Decision::Ask {
            continue;
        }
        if decision == Decision::Ask && is_allowed(&rules.allowed, hit, scene) {
            continue;
        }
        let span = locate(scene.trace, hit.site);
        found.push(Objection { position, label, rule, hit, decision, span });
    }
    if found.is_empty() {
        return plain(rules, scene);
    }
    found.sort_by(|a, b| {
        b.decision.cmp(&a.decision).then(a.position.cmp(&b.position)).then(a.span.cmp(&b.span))
    });
    let mut verdict = Verdict::default();
    let mut ordered: Vec<&Objection<'_>> = found.iter().collect();
    ordered.sort_by_key(|one| (one.decision != Decision::Deny, one.position));
    for one in ordered {
        if !verdict.labels.contains(one.label) {
            verdict.labels.push(one.label.clone());
        }
    }
    let mut seen = BTreeSet::new();
    for one in &found {
        verdict.decision = verdict.decision.max(one.decision);
        if verdict.reasons.len() < REASONS && seen.insert((one.label, &one.rule.id, one.span)) {
            verdict.reasons.push(Reason {
                label: one.label.clone(),
                rule: one.rule.id.clone(),
                decision: one.decision,
                why: why(one.rule, one.hit, scene),
                instead: one.rule.instead.clone(),
                span: one.span,
            });
        }
    }
    verdict
}

/// A hit whose label does not let the command through; its reason is written when it is kept.
struct Objection<'a> {
    position: usize,
    label: &'a String,
    rule: &'a Rule,
    hit: &'a Hit,
    decision: Decision,
    span: Span,
}

/// The verdict where no rule objects.
fn plain(rules: &RuleSet, scene: &Scene<'_>) -> Verdict {
    if harmless::is_harmless(&rules.allowed, scene) {
        Verdict {
            decision: Decision::Allow,
            labels: vec!["read_only_allow".into()],
            reasons: own_reasons(&rules.allowed, scene),
        }
    } else {
        Verdict::default()
    }
}

/// The reasons of an allow: one for the first invocation that a person's own policy lets count as a
/// reader, none where there is none.
fn own_reasons(entries: &[AllowEntry], scene: &Scene<'_>) -> Vec<Reason> {
    if entries.is_empty() {
        return Vec::new();
    }
    let first = scene.trace.invocations.iter().find(|own| is_entry(entries, own));
    first
        .map(|own| {
            allowance(
                "allow",
                "Your own policy counts this as a reader.",
                locate(scene.trace, own.site),
            )
        })
        .into_iter()
        .collect()
}

/// A reason that stands beside an allow: a person's own policy gave it.
pub fn allowance(rule: &str, why: &str, span: Span) -> Reason {
    Reason {
        label: "read_only_allow".into(),
        rule: rule.into(),
        decision: Decision::Allow,
        why: why.into(),
        instead: String::new(),
        span,
    }
}

fn why(rule: &Rule, hit: &Hit, scene: &Scene<'_>) -> String {
    let text = match hit.truth {
        Truth::Yes => rule.why.clone(),
        _ if rule.doubt.is_empty() => rule.why.clone(),
        _ => rule.doubt.clone(),
    };
    let unknown = if hit.truth == Truth::Yes {
        None
    } else {
        hit.fact
            .and_then(|fact| scene.facts.get(fact))
            .and_then(|fact| object_text(&fact.object))
            .and_then(Text::first_unknown)
    };
    let limit = scene.trace.gaps.iter().find_map(|(source, gap)| match gap.cause {
        GapCause::Limit(limit)
            if hit.invocation.is_none() && Site::new(*source, gap.span) == hit.site =>
        {
            Some(limit)
        }
        _ => None,
    });
    if let Some(limit) = limit {
        return format!("{text} The limit of {} is reached.", limit.name());
    }
    match unknown {
        Some(unknown) => format!("{} It depends on {}.", text, unknown.phrase()),
        None => text,
    }
}

const fn object_text(object: &Object) -> Option<&Text> {
    match object {
        Object::Path(path) => Some(&path.text),
        Object::Host(text) | Object::Name(text) | Object::Branch { name: text, .. } => Some(text),
        Object::None | Object::Code { .. } => None,
    }
}

/// The bytes of the command that show a place in any of its texts: a text that is carried is shown
/// by the word that carries it.
pub fn locate(trace: &Trace, site: Site) -> Span {
    let mut site = site;
    for _ in 0..256 {
        if site.source == SourceId::COMMAND {
            return site.span;
        }
        match trace.sources.get(site.source.0 as usize).and_then(|source| source.origin) {
            Some(origin) => site = origin,
            None => return site.span,
        }
    }
    site.span
}

/// Whether the invocation behind a hit, or one that carries it, is one a person has allowed.
fn is_allowed(entries: &[AllowEntry], hit: &Hit, scene: &Scene<'_>) -> bool {
    let mut next = hit.invocation;
    let mut steps = 0;
    while let Some(invocation) = next.and_then(|index| scene.trace.invocations.get(index))
        && !entries.is_empty()
        && steps < 64
    {
        if is_entry(entries, invocation) {
            return true;
        }
        next = invocation.carrier;
        steps += 1;
    }
    false
}

/// Whether an invocation is one a person has allowed.
fn is_entry(entries: &[AllowEntry], invocation: &Invocation) -> bool {
    let Some((name, arguments)) = invocation.argv.split_first() else { return false };
    if invocation.shadowed || invocation.folded {
        return false;
    }
    let name = invocation.name.as_deref().or_else(|| name.exact());
    entries.iter().any(|entry| {
        name == Some(entry.utility.as_str())
            && arguments.len() >= entry.arguments.len()
            && (entry.more || arguments.len() == entry.arguments.len())
            && arguments
                .iter()
                .all(|argument| argument.arity == Arity::One && argument.text.is_exact())
            && entry.arguments.iter().zip(arguments).all(|(own, given)| given.exact() == Some(own))
    })
}
