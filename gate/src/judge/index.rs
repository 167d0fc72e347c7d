//! Which rules can matter for what.

use crate::judge::condition::Subject;
use crate::model::fact::EffectKind;
use crate::model::rule::{Condition, RuleSet};

/// Rules by what they can hold for, so that only those are looked at.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// One list for each kind of effect, then one for each other kind of subject.
    lists: Vec<Vec<usize>>,
}

/// Kinds of subject that are no effect.
#[derive(Clone, Copy, Debug)]
enum Other {
    Invocation,
    Gap,
    Substitution,
    Job,
    Bomb,
    Setting,
}

const OTHERS: usize = 6;

/// A set of lists, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interest(u128);

impl Interest {
    const ALL: Self = Self(u128::MAX);

    fn effect(kind: EffectKind) -> Self {
        Self(1 << (kind as usize))
    }

    fn other(other: Other) -> Self {
        Self(1 << (EffectKind::ALL.len() + other as usize))
    }

    fn effects() -> Self {
        EffectKind::ALL.iter().fold(Self(0), |all, kind| Self(all.0 | Self::effect(*kind).0))
    }
}

impl Index {
    /// The index of a rule set.
    pub fn new(rules: &RuleSet) -> Self {
        let count = EffectKind::ALL.len() + OTHERS;
        let mut lists = vec![Vec::new(); count];
        for (number, rule) in rules.rules.iter().enumerate() {
            let interest = interest(&rule.condition);
            for (bit, list) in lists.iter_mut().enumerate() {
                if interest.0 & (1 << bit) != 0 {
                    list.push(number);
                }
            }
        }
        Self { lists }
    }

    /// Rules that can hold for the subject, in the order of the rule set.
    pub fn rules_for(&self, subject: &Subject<'_>) -> &[usize] {
        let bit = match subject {
            Subject::Fact(fact) => fact.kind as usize,
            Subject::Invocation(_) => EffectKind::ALL.len() + Other::Invocation as usize,
            Subject::Gap(..) => EffectKind::ALL.len() + Other::Gap as usize,
            Subject::Substitution(_) => EffectKind::ALL.len() + Other::Substitution as usize,
            Subject::Job(_) => EffectKind::ALL.len() + Other::Job as usize,
            Subject::Bomb(_) => EffectKind::ALL.len() + Other::Bomb as usize,
            Subject::Setting(_) => EffectKind::ALL.len() + Other::Setting as usize,
        };
        self.lists.get(bit).map_or(&[], Vec::as_slice)
    }
}

fn interest(condition: &Condition) -> Interest {
    let effects = Interest::effects;
    match condition {
        Condition::All(parts) => {
            parts.iter().fold(Interest::ALL, |all, part| Interest(all.0 & interest(part).0))
        }
        Condition::Any(parts) => {
            parts.iter().fold(Interest(0), |all, part| Interest(all.0 | interest(part).0))
        }
        Condition::Not(_) | Condition::Preset(_) => Interest::ALL,
        Condition::Effect(kinds) => {
            kinds.iter().fold(Interest(0), |all, kind| Interest(all.0 | Interest::effect(*kind).0))
        }
        Condition::Recursive
        | Condition::Force
        | Condition::Path(_)
        | Condition::Host(_)
        | Condition::Name(_) => effects(),
        Condition::ProtectedBranch => Interest(
            Interest::effect(EffectKind::Push).0 | Interest::effect(EffectKind::DeleteBranch).0,
        ),
        Condition::Code(_) | Condition::Unresolved => Interest::effect(EffectKind::Execute),
        // An effect stands for its invocation, so a condition on the invocation alone is asked once.
        Condition::Utility(_)
        | Condition::Subcommand(_)
        | Condition::Option(_)
        | Condition::Source(_)
        | Condition::Via(_)
        | Condition::Scope(_)
        | Condition::Shadowed => Interest(effects().0 | Interest::other(Other::Invocation).0),
        Condition::Gap => Interest::other(Other::Gap),
        Condition::Substitution(_) => Interest::other(Other::Substitution),
        Condition::Job => Interest::other(Other::Job),
        Condition::Bomb => Interest::other(Other::Bomb),
        Condition::Setting(_) => Interest::other(Other::Setting),
    }
}
