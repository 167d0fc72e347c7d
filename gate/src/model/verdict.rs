//! What is decided, and why.

use crate::model::span::Span;

/// The decision, the mildest first; the worst of all reasons wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// Every command is known to be harmless: it may run unasked.
    Allow,
    /// Nothing is against it, but it is not known to be harmless.
    #[default]
    Pass,
    /// A person must agree.
    Ask,
    /// It must not run.
    Deny,
}

impl Decision {
    /// `allow`, `pass`, `ask` or `deny`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Pass => "pass",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// The decision of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Allow, Self::Pass, Self::Ask, Self::Deny].into_iter().find(|d| d.name() == name)
    }

    /// The outcome on the wire: `auto`, `confirm` (for pass and ask) or `block`.
    pub const fn outcome(self) -> &'static str {
        match self {
            Self::Allow => "auto",
            Self::Pass | Self::Ask => "confirm",
            Self::Deny => "block",
        }
    }
}

/// Why a decision is not milder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The label, with its detail where it has one (`deny_list:rm_rf`).
    pub label: String,
    /// The id of the rule that said so.
    pub rule: String,
    /// The decision this reason alone would give.
    pub decision: Decision,
    /// One sentence: what is wrong, or what could not be told.
    pub why: String,
    /// One sentence: a safer way; may be empty.
    pub instead: String,
    /// The bytes of the command that show it.
    pub span: Span,
}

/// A decision with its reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// Labels without repetition: deny labels first, then floors in the order of `labels.toml`;
    /// `read_only_allow` alone for allow; empty for a pass without a floor.
    pub labels: Vec<String>,
    /// Reasons, the worst first; empty for a plain pass, and for allow unless a person's own policy
    /// gave it: then one that says so.
    pub reasons: Vec<Reason>,
}
