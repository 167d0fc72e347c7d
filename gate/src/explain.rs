//! Every stage of one command, printable.

use std::fmt;

use crate::derive::scope_name;
use crate::judge::condition::{gap_name, object_name};
use crate::judge::locate;
use crate::model::fact::Fact;
use crate::model::script::Parsed;
use crate::model::span::{Site, Span};
use crate::model::trace::Trace;
use crate::model::value::{Arity, Truth};
use crate::model::verdict::{Reason, Verdict};

/// What every stage made of one command.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The command.
    pub command: String,
    /// How it was split.
    pub parsed: Parsed,
    /// What would run.
    pub trace: Trace,
    /// What that would do.
    pub facts: Vec<Fact>,
    /// Which rules looked at what, and what they said.
    pub looks: Vec<Look>,
    /// The verdict.
    pub verdict: Verdict,
}

/// A rule that looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The rule's id.
    pub rule: String,
    /// What it said.
    pub truth: Truth,
    /// What it looked at.
    pub about: String,
    /// The bytes of the command.
    pub span: Span,
}

/// A program or builtin that would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvocationView {
    /// Its words, none for one that is not known.
    pub argv: Vec<Option<String>>,
    /// False when a word that is not known may stand for none or several.
    pub exact: bool,
    /// Wrappers and carriers it is inside, outermost first.
    pub via: Vec<String>,
    /// The bytes of the command that show it.
    pub span: Span,
}

/// An effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectView {
    /// What is done.
    pub kind: &'static str,
    /// To what; may be empty.
    pub object: String,
    /// Where a path leads: `workspace`, `temporary`, `outside`, `home`, `system`, `device`,
    /// `unknown`; empty for what is no path.
    pub scope: &'static str,
    /// Whether it surely happens.
    pub certain: bool,
    /// The bytes of the command that show it.
    pub span: Span,
}

/// Something that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapView {
    /// Why.
    pub cause: String,
    /// The bytes of the command.
    pub span: Span,
}

impl Explanation {
    /// Programs and builtins in the order they are met.
    pub fn invocations(&self) -> Vec<InvocationView> {
        self.trace
            .invocations
            .iter()
            .map(|own| InvocationView {
                argv: own.argv.iter().map(|word| word.text.exact().map(str::to_owned)).collect(),
                exact: own.argv.iter().all(|word| word.text.is_exact() || word.arity == Arity::One),
                via: own.via.iter().map(ToString::to_string).collect(),
                span: locate(&self.trace, own.site),
            })
            .collect()
    }

    /// Effects in the order they are derived.
    pub fn effects(&self) -> Vec<EffectView> {
        self.facts
            .iter()
            .map(|fact| EffectView {
                kind: fact.kind.name(),
                object: object_name(&fact.object),
                scope: scope_name(&fact.object),
                certain: fact.certain == Truth::Yes,
                span: locate(&self.trace, fact.site),
            })
            .collect()
    }

    /// What was not understood, in the order of the texts.
    pub fn gaps(&self) -> Vec<GapView> {
        self.trace
            .gaps
            .iter()
            .map(|(source, gap)| GapView {
                cause: gap_name(&gap.cause),
                span: locate(&self.trace, Site::new(*source, gap.span)),
            })
            .collect()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "command")?;
        writeln!(f, "  {}", self.command.escape_debug())?;
        writeln!(f, "split")?;
        for item in &self.parsed.script.items {
            writeln!(f, "  {:?}", item.span.of(&self.command))?;
        }
        for (number, source) in self.trace.sources.iter().enumerate().skip(1) {
            writeln!(f, "  text {number}: {:?}", source.text)?;
        }
        writeln!(f, "runs")?;
        for (number, own) in self.trace.invocations.iter().enumerate() {
            let words: Vec<String> = own
                .argv
                .iter()
                .map(|word| {
                    let many = if word.arity == Arity::Many { "*" } else { "" };
                    format!("{:?}{many}", word.text.display())
                })
                .collect();
            let via = if own.via.is_empty() {
                String::new()
            } else {
                format!("  via {}", own.via.join(" "))
            };
            let known = match (&own.utility, own.shadowed, own.folded) {
                (_, true, _) => "  (a function or alias has its name)",
                (Some(_), _, true) => "  (known with other letters)",
                (Some(_), false, false) => "",
                (None, ..) => "  (unknown)",
            };
            let again = own.repeats.map(|first| format!("  (as {first})")).unwrap_or_default();
            writeln!(f, "  {number} {}{via}{known}{again}", words.join(" "))?;
            for doubt in &own.reading.doubts {
                writeln!(f, "      doubt {doubt:?}")?;
            }
        }
        writeln!(f, "does")?;
        for (fact, view) in self.facts.iter().zip(self.effects()) {
            let certain = if view.certain { "" } else { " (perhaps)" };
            let by = fact.invocation.map_or_else(|| "-".into(), |index| index.to_string());
            writeln!(f, "  {by} {} {} {}{certain}", view.kind, view.object, view.scope)?;
        }
        for gap in self.gaps() {
            writeln!(f, "not understood")?;
            writeln!(f, "  {} at {}..{}", gap.cause, gap.span.start, gap.span.end)?;
        }
        writeln!(f, "rules")?;
        for look in &self.looks {
            let said = match look.truth {
                Truth::No => "no",
                Truth::Maybe => "maybe",
                Truth::Yes => "yes",
            };
            writeln!(f, "  {} {said}: {}", look.rule, look.about.trim_end())?;
        }
        writeln!(f, "verdict")?;
        writeln!(f, "  {} {}", self.verdict.decision.name(), self.verdict.labels.join(" "))?;
        for Reason { label, rule, why, instead, span, .. } in &self.verdict.reasons {
            writeln!(f, "  {label} [{rule}] {}..{}: {why} {instead}", span.start, span.end)?;
        }
        Ok(())
    }
}
