//! The laws between what bash did and what the gate says.

use std::fmt;

use shellgate::Gate;
use shellgate::explain::Explanation;
use shellgate::model::context::{Context, Limits, Shell};
use shellgate::model::fact::{EffectKind, Object};
use shellgate::model::trace::Invocation;
use shellgate::model::value::{Arity, Field, Piece, Text, Unknown};
use shellgate::model::verdict::Decision;
use shellgate::parse::parse;
use shellgate::print::print;

use crate::bash::{Observed, Started};

/// Which law was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// A program was started that no invocation names.
    Started,
    /// A file was written that no effect names.
    Written,
    /// A program that would be denied on its own was started, and the whole is milder than ask.
    Denial,
    /// Printing and reading again gives bash another script.
    Structure,
}

impl Law {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Started => "soundness: started",
            Self::Written => "soundness: written",
            Self::Denial => "denial",
            Self::Structure => "structure",
        }
    }
}

/// A broken law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub law: Law,
    /// What bash did that the gate did not say.
    pub about: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law.name(), self.about)
    }
}

/// What came of one candidate.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// The decision.
    pub decision: Decision,
    /// Broken laws.
    pub violations: Vec<Violation>,
    /// Words of all programs that were started.
    pub words: usize,
    /// Those of them that were known exactly.
    pub exact: usize,
    /// Whether no word and no gap of the explanation is unknown.
    pub all_known: bool,
    /// Whether the candidate is not understood: it has a gap.
    pub gap: bool,
    /// Programs that were started and are known in part only.
    pub inexact: Vec<String>,
}

/// What the gate is told of the sandbox.
pub fn context() -> Context {
    Context::default()
}

/// Holds what a shell did against what the gate says.
pub fn judge(gate: &Gate, shell: Shell, command: &str, observed: &Observed) -> Judged {
    let context = Context { shell, ..context() };
    let said = gate.explain(command, &context);
    let mut judged = Judged {
        decision: said.verdict.decision,
        gap: !said.trace.gaps.is_empty(),
        all_known: is_all_known(&said),
        ..Judged::default()
    };
    let denied = judged.decision == Decision::Deny;
    let asked = judged.decision == Decision::Ask;
    for started in &observed.started {
        let matching = best(&said, started);
        judged.words += started.argv.len();
        judged.exact += matching.unwrap_or_default();
        if matching.is_none_or(|known| known < started.argv.len()) {
            judged.inexact.push(show(started));
        }
        if matching.is_none() && !denied && !(asked && may_start(gate, &said, started)) {
            judged.violations.push(Violation { law: Law::Started, about: show(started) });
        }
        if judged.decision < Decision::Ask {
            let alone = started.argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
            if gate.classify(&alone, &context).decision == Decision::Deny {
                judged.violations.push(Violation { law: Law::Denial, about: show(started) });
            }
        }
    }
    let excused = denied || (asked && may_write(&said));
    for path in observed.written.iter().filter(|_| !excused) {
        if !is_written(&said, path) {
            judged.violations.push(Violation { law: Law::Written, about: path.clone() });
        }
    }
    judged
}

/// Our print of a text that is read without a gap.
pub fn printed(command: &str) -> Option<String> {
    let parsed = parse(command, &Limits::default());
    parsed.gaps.is_empty().then(|| print(&parsed.script))
}

fn is_all_known(said: &Explanation) -> bool {
    said.trace.gaps.is_empty()
        && said.trace.codes.iter().all(|code| code.text.is_exact())
        && said
            .trace
            .invocations
            .iter()
            .all(|own| own.name.is_some() && own.argv.iter().all(|word| word.text.is_exact()))
        && said.facts.iter().all(|fact| match &fact.object {
            Object::Path(path) => path.text.is_exact(),
            _ => true,
        })
}

/// How many words are known exactly by the invocation that knows most; none where none matches.
fn best(said: &Explanation, started: &Started) -> Option<usize> {
    let known = said.trace.invocations.iter().filter_map(|own| knows(own, started)).max();
    known.or_else(|| carries(said, started).then_some(started.argv.len()))
}

/// Whether something that is not known of a text that asks could stand for this program: a part of it
/// that was not understood, code that is not known, a program whose name is not known and whose other
/// words fit, or one that may be a shell or another launcher.
fn may_start(gate: &Gate, said: &Explanation, started: &Started) -> bool {
    is_open(said)
        || may_carry(said)
        || said.trace.invocations.iter().filter(|own| own.name.is_none()).any(|own| {
            let Some(name) = own.argv.first().filter(|name| !name.text.is_exact()) else {
                return false;
            };
            fit_all(&own.argv, &started.argv)
                || gate.catalog().names().any(|known| fits(&name.text, known))
        })
}

/// Whether a launcher or a program with sub-commands has a word that is not known and that decides
/// what it does.
fn may_carry(said: &Explanation) -> bool {
    said.facts.iter().any(|fact| {
        let unknown = matches!(&fact.object, Object::Name(name) if !name.is_exact());
        let own = fact.invocation.and_then(|index| said.trace.invocations.get(index));
        fact.kind == EffectKind::Execute && unknown && own.is_some_and(|own| own.name.is_some())
    })
}

/// Whether something that is not known of a text that asks could write a file.
fn may_write(said: &Explanation) -> bool {
    is_open(said) || said.trace.invocations.iter().any(|own| own.name.is_none())
}

/// Whether any program at all could run: there is a gap, or code that is not known.
fn is_open(said: &Explanation) -> bool {
    !said.trace.gaps.is_empty() || said.trace.codes.iter().any(|code| !code.text.is_exact())
}

/// Whether it is the shell that a program starts for a text that was followed: awk's `system` and
/// its kin. What runs in it is judged on its own.
fn carries(said: &Explanation, started: &Started) -> bool {
    let [_, option, text] = started.argv.as_slice() else { return false };
    let is_shell = started.path.ends_with("/sh") && option == "-c";
    is_shell && said.trace.sources.iter().any(|own| own.origin.is_some() && own.text == *text)
}

fn knows(own: &Invocation, started: &Started) -> Option<usize> {
    let (name, rest) = own.argv.split_first()?;
    if !name.text.is_exact() && own.name.is_none() {
        return None;
    }
    let (first, words) = started.argv.split_first()?;
    // `exec -a` gives a program another first word than its own.
    let last = started.path.rsplit('/').next().unwrap_or_default();
    let named = [first.as_str(), started.path.as_str(), last]
        .into_iter()
        .any(|word| fits(&name.text, word));
    // What find names is its starting point too, where the path goes on below it.
    let root = own.via.iter().any(|via| via == "find");
    let below: Vec<Field> = rest.iter().filter(|_| root).map(start_of).collect();
    // `compgen -C` adds three words of its own to the command it is given.
    let completes = own.via.last().is_some_and(|via| via == "compgen");
    let given = words.len().saturating_sub(3);
    let fits_given = completes && words.get(..given).is_some_and(|given| fit_all(rest, given));
    if !named || !(fit_all(rest, words) || fits_given || (root && fit_all(&below, words))) {
        return None;
    }
    let exact = 1 + rest
        .iter()
        .filter_map(Field::exact)
        .filter(|known| words.iter().any(|word| word == known))
        .count()
        .min(words.len());
    Some(exact)
}

/// The path in front of a last part that is not known.
fn start_of(field: &Field) -> Field {
    match field.text.pieces() {
        [Piece::Literal(start), Piece::Unknown(_)] if start.len() > 1 && start.ends_with('/') => {
            Field { text: Text::literal(start.trim_end_matches('/')), ..field.clone() }
        }
        _ => field.clone(),
    }
}

/// Whether the fields may stand for exactly these words.
fn fit_all(fields: &[Field], words: &[String]) -> bool {
    // reachable[n]: the fields so far may stand for the first n words.
    let mut reachable = vec![false; words.len() + 1];
    if let Some(start) = reachable.first_mut() {
        *start = true;
    }
    for field in fields {
        let mut next = vec![false; words.len() + 1];
        if field.arity == Arity::Many {
            let mut open = false;
            for (now, was) in next.iter_mut().zip(&reachable) {
                open |= *was;
                *now = open;
            }
        } else {
            for ((now, was), word) in next.iter_mut().skip(1).zip(&reachable).zip(words) {
                *now = *was && fits(&field.text, word);
            }
        }
        reachable = next;
    }
    reachable.last().copied().unwrap_or_default()
}

/// Whether the text may stand for the word. The path of a descriptor that a shell picks for a
/// process substitution does not count.
pub fn fits(text: &Text, word: &str) -> bool {
    let descriptor = ["/dev/fd/", "/proc/self/fd/"].iter().any(|start| word.starts_with(start));
    if descriptor && text.prefix().starts_with("/dev/fd/") {
        return true;
    }
    // What prints names may print none, and then a word of nothing but names is empty.
    let may_lack = |piece: &Piece| match piece {
        Piece::Glob(_) => true,
        Piece::Unknown(cause) => cause.is_below(),
        Piece::Literal(_) => false,
    };
    if word.is_empty() && text.pieces().iter().any(may_lack) {
        return true;
    }
    // Inside there is no account for every name behind a tilde.
    if word.contains('~') && text.prefix().contains("/home/") {
        return true;
    }
    if fit_pieces(text.pieces(), word) {
        return true;
    }
    // Where no name could be made up, nothing stands in its place.
    let fresh = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown::Fresh));
    let behind = text.pieces().iter().rposition(fresh).and_then(|at| text.pieces().get(at + 1..));
    if behind.is_some_and(|behind| fit_pieces(behind, word)) {
        return true;
    }
    // What a search finds lies below a directory or directly in it: `./…/x` stands for `./x`, too.
    let found = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown::Found));
    text.pieces().iter().any(found)
        && word.match_indices('/').any(|(at, _)| {
            let (before, after) = word.split_at(at);
            fit_pieces(text.pieces(), &format!("{before}/{after}"))
        })
}

fn fit_pieces(pieces: &[Piece], word: &str) -> bool {
    // ends: how far into the word the pieces so far may reach.
    let mut ends = vec![0_usize];
    for piece in pieces {
        if let Piece::Literal(text) = piece {
            ends.retain(|at| word.get(*at..).is_some_and(|rest| rest.starts_with(text.as_str())));
            for at in &mut ends {
                *at += text.len();
            }
        } else {
            let Some(first) = ends.iter().min().copied() else { return false };
            ends = (first..=word.len()).filter(|at| word.is_char_boundary(*at)).collect();
        }
        if ends.is_empty() {
            return false;
        }
    }
    ends.contains(&word.len())
}

fn is_written(said: &Explanation, path: &str) -> bool {
    said.facts.iter().any(|fact| {
        let writes = matches!(
            fact.kind,
            EffectKind::Write
                | EffectKind::Append
                | EffectKind::Create
                | EffectKind::Put
                | EffectKind::Fill
                | EffectKind::Touch
        );
        let Object::Path(object) = &fact.object else { return false };
        let below = matches!(fact.kind, EffectKind::Fill | EffectKind::Put);
        let here: Text = [Piece::Literal(format!("{}/", context().cwd).into())]
            .into_iter()
            .chain(object.text.pieces().iter().cloned())
            .collect();
        // A folder is named with and without a slash behind it.
        let slashed = format!("{path}/");
        writes
            && object.resolved.iter().chain([&object.text, &here]).any(|text| {
                fits(text, path)
                    || fits(text, &slashed)
                    || (below && path.starts_with(text.prefix()))
            })
    })
}

/// A word as a shell reads it back.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn show(started: &Started) -> String {
    let words: Vec<String> = started.argv.iter().map(|word| format!("{word:?}")).collect();
    words.join(" ")
}
