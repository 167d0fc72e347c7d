//! Reads a shell command before it runs, works out what bash would really do with it, and says
//! allow, pass, ask or deny, with reasons a person can act on.
//!
//! Use it where a program, an agent above all, is about to hand text to a shell and somebody should
//! know first what that text does. It reads the text and nothing else: no file, no environment, no
//! clock, no thread. Any text gets an answer, and what cannot be understood asks.
//!
//! ```
//! use shellgate::Gate;
//! use shellgate::model::context::Context;
//! use shellgate::model::verdict::Decision;
//!
//! let context = Context {
//!     cwd: "/srv/app".into(),
//!     workspaces: vec!["/srv/app".into()],
//!     home: "/home/dev".into(),
//!     ..Context::default()
//! };
//! let verdict = Gate::builtin().classify("a=rm; $a -rf /", &context);
//! assert_eq!(verdict.decision, Decision::Deny);
//! assert!(verdict.labels.contains(&"deny_list:rm_rf".to_owned()));
//! ```

pub mod derive;
pub mod expand;
pub mod explain;
pub mod interpret;
pub mod judge;
pub mod load;
pub mod model;
pub mod parse;
pub mod print;
pub mod resolve;

use std::cell::RefCell;
use std::sync::LazyLock;

use crate::derive::path::{Known, Roots};
use crate::explain::{Explanation, Look};
use crate::judge::Scene;
use crate::judge::index::Index;
use crate::load::{Judgement, LoadError, Policy};
use crate::model::context::{Context, Limits, Shell};
use crate::model::fact::{EffectKind, Fact};
use crate::model::rule::{Hit, Knowledge, Labels, RuleSet};
use crate::model::script::{Parsed, Script};
use crate::model::span::Span;
use crate::model::trace::{ROOM, Trace};
use crate::model::utility::Catalog;
use crate::model::value::Truth;
use crate::model::verdict::{Decision, Verdict};

/// Answers what a command may do. One gate serves any number of commands and threads.
#[derive(Clone, Debug)]
pub struct Gate {
    catalog: Catalog,
    rules: RuleSet,
    index: Index,
    labels: Labels,
    knowledge: Knowledge,
    known: Known,
    limits: Limits,
    trusted: Vec<String>,
    warnings: Vec<String>,
}

static BUILTIN: LazyLock<Gate> = LazyLock::new(|| {
    let mut gate = Gate::unprepared();
    gate.prepare();
    gate
});

impl Gate {
    /// The gate of the built-in rules and utilities.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// The built-in gate with policies on top, the person's own first.
    ///
    /// # Errors
    ///
    /// When a policy's rule or utility does not fit the built-in ones; the error names the file.
    pub fn new(policies: &[Policy]) -> Result<Self, LoadError> {
        // Made as the built-in one is: to copy that would cost as much, and what is prepared for its rules
        // is of no use here.
        let mut gate = Self::unprepared();
        let own: Vec<(&str, &str)> = policies
            .iter()
            .filter(|policy| !policy.utilities.is_empty())
            .map(|policy| (policy.file.as_str(), policy.utilities.as_str()))
            .collect();
        load::add_utilities(&mut gate.catalog, &own)?;
        for policy in policies {
            gate.apply(policy)?;
        }
        gate.prepare();
        Ok(gate)
    }

    /// The built-in gate without what is prepared for its rules.
    fn unprepared() -> Self {
        // INVARIANT (builtin): the suite reads the built-in data whole, so that this cannot fail in a
        // build that was tested; if it did, every command would ask.
        let data = load::builtin::data();
        let warnings = match &data {
            Some(_) => Vec::new(),
            None => vec!["the built-in rules cannot be read".to_owned()],
        };
        let (catalog, judgement) = data.unwrap_or_default();
        let Judgement { rules, labels, knowledge } = judgement;
        Self {
            catalog,
            index: Index::default(),
            rules,
            labels,
            known: Known::default(),
            knowledge,
            limits: Limits::default(),
            trusted: Vec::new(),
            warnings,
        }
    }

    /// Prepares what is looked up for each command, once all rules are there.
    fn prepare(&mut self) {
        self.index = Index::new(&self.rules);
        self.known = Known::new(&self.knowledge);
    }

    fn apply(&mut self, policy: &Policy) -> Result<(), LoadError> {
        self.warnings.extend(policy.warnings.iter().cloned());
        self.knowledge.protected_branches.extend(policy.protected_branches.iter().cloned());
        self.knowledge.add_sensitive(&policy.sensitive);
        self.rules.allowed.extend(policy.allow.iter().cloned());
        self.trusted.extend(policy.trusted_commands.iter().map(|line| fold_blanks(line)));
        policy.add_rules(&mut self.rules, &self.labels)?;
        policy.set_labels(&mut self.labels, &mut self.warnings)
    }

    /// The same gate with other limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same gate whose built-in rules carry the examples their files state, for people. Verdicts
    /// do without them.
    #[must_use]
    pub fn with_examples(mut self) -> Self {
        let stated = load::rules(load::builtin::rules()).unwrap_or_default();
        for stated in stated.rules.rules {
            if let Some(rule) = self.rules.rules.iter_mut().find(|rule| rule.id == stated.id) {
                rule.hits = stated.hits;
                rule.unsure = stated.unsure;
                rule.misses = stated.misses;
            }
        }
        self
    }

    /// What policies tried and may not do, one sentence each, with the file.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What utilities do.
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The rules.
    pub const fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// The labels, in the order verdicts have them.
    pub const fn labels(&self) -> &Labels {
        &self.labels
    }

    /// What a command would do, decided. Any text gets an answer.
    ///
    /// Working memory is kept for the next command of the thread; a [`Session`] keeps its own.
    pub fn classify(&self, command: &str, context: &Context) -> Verdict {
        thread_local! {
            static SCRATCH: RefCell<Scratch> = RefCell::default();
        }
        SCRATCH.with(|kept| match kept.try_borrow_mut() {
            Ok(mut scratch) => self.classify_with(&mut scratch, command, context),
            Err(_) => self.classify_with(&mut Scratch::default(), command, context),
        })
    }

    /// A session of this gate for one thread's commands.
    pub fn session(&self) -> Session<'_> {
        Session { gate: self, scratch: Scratch::default() }
    }

    fn classify_with(&self, scratch: &mut Scratch, command: &str, context: &Context) -> Verdict {
        let Scratch { trace, facts, hits, roots } = scratch;
        if !roots.are_of(context) {
            *roots = Roots::new(context);
        }
        let parsed = interpret::read(command, context, &self.limits);
        let room = std::mem::take(trace);
        *trace = interpret::run_script_into(
            room,
            command,
            &parsed,
            context,
            &self.catalog,
            &self.limits,
        );
        derive::derive_into(facts, trace, &self.catalog, context, (&self.known, roots));
        let scene = Scene { trace, facts, catalog: &self.catalog, context };
        judge::hits_into(hits, &self.rules, &self.index, &scene);
        let verdict = self.decide(command, hits, &scene);
        let verdict = self.as_elsewhere(verdict, command, &parsed.script, &scene);
        scratch.clear();
        verdict
    }

    /// The verdict where it is not known which shell it will be: what would be asked about or refused in
    /// another shell is not called harmless, and what would be refused there asks.
    fn as_elsewhere(
        &self,
        verdict: Verdict,
        command: &str,
        script: &Script,
        scene: &Scene<'_>,
    ) -> Verdict {
        if scene.context.shell != Shell::Unknown || verdict.decision >= Decision::Ask {
            return verdict;
        }
        let mut verdict = verdict;
        for shell in judge::elsewhere::shells(command, script, scene.trace, &self.catalog) {
            let there = self.certain(command, &Context { shell: *shell, ..scene.context.clone() });
            judge::elsewhere::join(&mut verdict, there, *shell);
        }
        verdict
    }

    /// The verdict of a shell on what it surely reads and surely does: gaps and doubts do not count.
    fn certain(&self, command: &str, context: &Context) -> Verdict {
        let (_, mut trace) = self.run(command, context);
        trace.gaps.clear();
        let facts = derive::derive(&trace, &self.catalog, context, &self.known);
        let scene = Scene { trace: &trace, facts: &facts, catalog: &self.catalog, context };
        let mut hits = judge::hits(&self.rules, &self.index, &scene);
        hits.retain(|hit| hit.truth == Truth::Yes);
        judge::decide(&self.rules, &self.labels, &hits, &scene)
    }

    /// As [`classify`](Self::classify), for text that may not be UTF-8: each byte that belongs to no
    /// character counts as the character U+F700 + byte, which no name of a program has. Spans
    /// count in the text with those characters in place.
    pub fn classify_bytes(&self, command: &[u8], context: &Context) -> Verdict {
        self.classify(&decode(command), context)
    }

    /// What a tool that works on one file without a shell would do, decided.
    pub fn classify_path(&self, path: &str, kind: EffectKind, context: &Context) -> Verdict {
        let trace = Trace::default();
        let facts: Vec<Fact> = vec![derive::touch(path, kind, context, &self.known)];
        let scene = Scene { trace: &trace, facts: &facts, catalog: &self.catalog, context };
        let hits = judge::hits(&self.rules, &self.index, &scene);
        judge::decide(&self.rules, &self.labels, &hits, &scene)
    }

    /// What every stage makes of a command.
    pub fn explain(&self, command: &str, context: &Context) -> Explanation {
        let (parsed, trace) = self.run(command, context);
        let facts = derive::derive(&trace, &self.catalog, context, &self.known);
        let scene = Scene { trace: &trace, facts: &facts, catalog: &self.catalog, context };
        let hits = judge::hits(&self.rules, &self.index, &scene);
        let verdict = self.decide(command, &hits, &scene);
        let verdict = self.as_elsewhere(verdict, command, &parsed.script, &scene);
        let looks = judge::looks(&self.rules, &self.index, &scene)
            .into_iter()
            .filter_map(|hit| self.look(&hit, &scene))
            .collect();
        Explanation { command: command.to_owned(), parsed, trace, facts, looks, verdict }
    }

    fn look(&self, hit: &Hit, scene: &Scene<'_>) -> Option<Look> {
        let rule = self.rules.rules.get(hit.rule)?;
        Some(Look {
            rule: rule.id.clone(),
            truth: hit.truth,
            span: judge::locate(scene.trace, hit.site),
            about: judge::about(hit, scene),
        })
    }

    fn run(&self, command: &str, context: &Context) -> (Parsed, Trace) {
        interpret::run(command, context, &self.catalog, &self.limits)
    }

    fn decide(&self, command: &str, hits: &[Hit], scene: &Scene<'_>) -> Verdict {
        if self.labels.specs.is_empty() {
            return Verdict { decision: Decision::Ask, ..Verdict::default() };
        }
        let mut verdict = judge::decide(&self.rules, &self.labels, hits, scene);
        judge::raw::scan(command, scene.trace, &mut verdict);
        if verdict.decision == Decision::Pass
            && !self.trusted.is_empty()
            && self.trusted.contains(&fold_blanks(command))
        {
            verdict.decision = Decision::Allow;
            verdict.labels = vec!["read_only_allow".into()];
            verdict.reasons = vec![judge::allowance(
                "trusted_commands",
                "Your own policy trusts exactly this command.",
                Span::new(0, command.len()),
            )];
        }
        verdict
    }
}

/// Working memory of one thread: lists that the next command uses again, and what was prepared for
/// the context.
#[derive(Clone, Debug, Default)]
struct Scratch {
    trace: Trace,
    facts: Vec<Fact>,
    hits: Vec<Hit>,
    roots: Roots,
}

impl Scratch {
    fn clear(&mut self) {
        self.trace.clear();
        self.facts.clear();
        self.facts.shrink_to(ROOM);
        self.hits.clear();
        self.hits.shrink_to(ROOM);
    }
}

/// A gate with working memory of its own, for those who judge many commands and want to say where
/// that memory lives and when it goes. Its verdicts are those of [`Gate::classify`].
///
/// ```
/// use shellgate::Gate;
/// use shellgate::model::context::Context;
/// use shellgate::model::verdict::Decision;
///
/// let context = Context::default();
/// let mut session = Gate::builtin().session();
/// for command in ["ls -la src", "git status --short", "grep -rn todo src"] {
///     assert_eq!(session.classify(command, &context).decision, Decision::Allow);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Session<'g> {
    gate: &'g Gate,
    scratch: Scratch,
}

impl Session<'_> {
    /// What a command would do, decided. Any text gets an answer.
    pub fn classify(&mut self, command: &str, context: &Context) -> Verdict {
        self.gate.classify_with(&mut self.scratch, command, context)
    }
}

/// The text with every run of blanks made one, none at its ends.
fn fold_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// UTF-8 as it is, every other byte as the character U+F700 + byte.
fn decode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.extend(char::from_u32(0xF700 + u32::from(*byte)));
        }
    }
    out
}

/// The example of the package's front page is a test too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod front_page {}
