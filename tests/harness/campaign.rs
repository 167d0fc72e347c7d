//! Many candidates, several at a time, held against bash.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use shellgate::Gate;
use shellgate::model::context::{Limits, Shell};
use shellgate::model::script::{CommandKind, Part};
use shellgate::model::verdict::Decision;
use shellgate::parse::parse;

use crate::bash::{Sandbox, SandboxError, say};
use crate::generate::{Candidate, Class, candidate};
use crate::law::{Judged, Law, Violation, judge, printed};
use crate::plainly::plainly;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The shell that is the judge; where it is not known, bash. The structure law is bash's.
    pub shell: Shell,
    /// Where the numbers start.
    pub seed: u64,
    /// How many candidates.
    pub count: u64,
    /// Lines to mutate.
    pub corpus: Vec<String>,
    /// Whether to look for a smaller form of what breaks a law.
    pub shrink: bool,
    /// Only this class.
    pub class: Option<Class>,
    /// Whether the first find ends it; the structure law is left out then.
    pub first: bool,
    /// Whether each find is printed when it is made, without waiting for the end.
    pub aloud: bool,
}

/// A candidate that breaks a law.
#[derive(Clone, Debug)]
pub struct Find {
    /// Its number in the campaign.
    pub number: u64,
    /// The candidate.
    pub candidate: Candidate,
    /// The law.
    pub violation: Violation,
    /// A smaller text that breaks the same law.
    pub shrunk: String,
}

impl fmt::Display for Find {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, candidate, violation, shrunk } = self;
        write!(
            f,
            "{number} {} {violation}\n  from   {:?}",
            candidate.class.name(),
            candidate.text
        )?;
        if *shrunk == candidate.text { Ok(()) } else { write!(f, "\n  shrunk {shrunk:?}") }
    }
}

/// What a campaign gave.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Candidates that were judged.
    pub judged: usize,
    /// Those of them that took too long.
    pub late: usize,
    /// Per decision.
    pub decisions: BTreeMap<&'static str, usize>,
    /// Candidates with a gap.
    pub gaps: usize,
    /// Words that were started by candidates without input from outside, and those known exactly.
    pub words: (usize, usize),
    /// Candidates without input from outside, and those with nothing unknown.
    pub known: (usize, usize),
    /// Programs started by all candidates.
    pub started: usize,
    /// Files written by all candidates.
    pub written: usize,
    /// Texts that bash accepts and that are read without a gap.
    pub structures: usize,
    /// Texts whose print bash does not read as it reads the text.
    pub unstable: usize,
    /// Texts that bash accepts, and those of them with a gap.
    pub accepted: (usize, usize),
    /// Broken laws.
    pub finds: Vec<Find>,
    /// Candidates without input from outside, with programs of them that are known in part only.
    pub inexact: Vec<(u64, String, Vec<String>)>,
    /// How long it took.
    pub time: Duration,
}

/// Runs a campaign.
///
/// # Errors
///
/// When the sandbox fails on the way.
pub fn run(sandbox: &Sandbox, gate: &Gate, plan: &Plan) -> Result<Report, SandboxError> {
    let begin = Instant::now();
    let next = AtomicU64::new(0);
    let report = Mutex::new(Report::default());
    let failure = Mutex::new(None);
    let texts = Mutex::new(Vec::new());
    let workers = thread::available_parallelism().map_or(2, usize::from).clamp(1, 8) * 2;
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= plan.count || failure.lock().is_ok_and(|slot| slot.is_some()) {
                        return;
                    }
                    if plan.first && report.lock().is_ok_and(|own| !own.finds.is_empty()) {
                        return;
                    }
                    let own = candidate(plan.seed, number, &plan.corpus);
                    if plan.class.is_some_and(|class| class != own.class) {
                        continue;
                    }
                    match one(sandbox, gate, plan, number, &own) {
                        Ok(part) => {
                            for find in part.finds.iter().filter(|_| plan.aloud) {
                                say(&format!("{find}"));
                            }
                            if let Ok(mut report) = report.lock() {
                                report.add(part);
                            }
                            if let Ok(mut texts) = texts.lock() {
                                texts.push((number, own));
                            }
                        }
                        Err(error) => {
                            if let Ok(mut slot) = failure.lock() {
                                slot.get_or_insert(error);
                            }
                            return;
                        }
                    }
                }
            });
        }
    });
    if let Some(error) = failure.into_inner().unwrap_or_default() {
        return Err(error);
    }
    let mut report = report.into_inner().unwrap_or_default();
    let mut texts = texts.into_inner().unwrap_or_default();
    texts.sort_by_key(|(number, _)| *number);
    if !plan.first && plan.shell.is_bash() {
        structure(sandbox, plan, &texts, &mut report)?;
    }
    report.finds.sort_by_key(|find| find.number);
    report.time = begin.elapsed();
    Ok(report)
}

fn one(
    sandbox: &Sandbox,
    gate: &Gate,
    plan: &Plan,
    number: u64,
    own: &Candidate,
) -> Result<Report, SandboxError> {
    let observed = sandbox.run_under(plan.shell, &own.text)?;
    let Judged { decision, violations, words, exact, all_known, gap, inexact } =
        judge(gate, plan.shell, &own.text, &observed);
    let mut part = Report {
        judged: 1,
        late: usize::from(observed.late),
        gaps: usize::from(gap),
        started: observed.started.len(),
        written: observed.written.len(),
        ..Report::default()
    };
    part.decisions.insert(decision.name(), 1);
    if !own.outside && decision < Decision::Deny {
        part.words = (words, exact);
        part.known = (1, usize::from(all_known));
        if !inexact.is_empty() {
            part.inexact.push((number, own.text.clone(), inexact));
        }
    }
    // Of several breaches of one kind the first one says enough.
    let mut seen: Vec<Law> = Vec::new();
    for violation in violations {
        if seen.contains(&violation.law) {
            continue;
        }
        seen.push(violation.law);
        let law = violation.law;
        let shrunk = if plan.shrink {
            shrink(&own.text, |text| {
                let observed = sandbox.run_under(plan.shell, text)?;
                Ok(judge(gate, plan.shell, text, &observed)
                    .violations
                    .iter()
                    .any(|found| found.law == law))
            })?
        } else {
            own.text.clone()
        };
        part.finds.push(Find { number, candidate: own.clone(), violation, shrunk });
    }
    Ok(part)
}

fn structure(
    sandbox: &Sandbox,
    plan: &Plan,
    texts: &[(u64, Candidate)],
    report: &mut Report,
) -> Result<(), SandboxError> {
    let all: Vec<String> = texts.iter().map(|(_, own)| own.text.clone()).collect();
    let outcomes = structures(sandbox, &all)?;
    for ((number, own), outcome) in texts.iter().zip(outcomes) {
        match outcome {
            Structure::Rejected => continue,
            Structure::Gap => report.accepted.1 += 1,
            Structure::Unstable => report.unstable += 1,
            Structure::Same => report.structures += 1,
            Structure::Differs(about) => {
                report.structures += 1;
                let shrunk = if plan.shrink {
                    shrink(&own.text, |text| {
                        let found = structures(sandbox, &[text.to_owned()])?;
                        Ok(matches!(found.first(), Some(Structure::Differs(_))))
                    })?
                } else {
                    own.text.clone()
                };
                report.finds.push(Find {
                    number: *number,
                    candidate: own.clone(),
                    violation: Violation { law: Law::Structure, about },
                    shrunk,
                });
            }
        }
        report.accepted.0 += 1;
    }
    Ok(())
}

/// What the structure law says of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Structure {
    /// bash does not take it.
    Rejected,
    /// It has a gap.
    Gap,
    /// bash does not read its own print of it as it reads the text.
    Unstable,
    /// bash prints both alike.
    Same,
    /// bash prints them differently; both.
    Differs(String),
}

/// Holds bash's print of each text against bash's print of ours.
///
/// # Errors
///
/// When the sandbox fails.
pub fn structures(sandbox: &Sandbox, texts: &[String]) -> Result<Vec<Structure>, SandboxError> {
    let ours: Vec<Option<String>> = texts.iter().map(|text| printed(text)).collect();
    let accepted = sandbox.accepts(texts)?;
    // Only what bash takes and we read is printed at all.
    let pairs: Vec<(&String, &String)> = texts
        .iter()
        .zip(&ours)
        .zip(&accepted)
        .filter_map(|((text, ours), accepted)| Some((text, ours.as_ref().filter(|_| *accepted)?)))
        .collect();
    let before: Vec<String> = pairs.iter().map(|(text, _)| grouped(&plainly(text))).collect();
    let after: Vec<String> = pairs.iter().map(|(_, ours)| grouped(&plainly(ours))).collect();
    let mut printed = sandbox.pretty(&[before, after].concat())?.into_iter();
    let before: Vec<Option<String>> = printed.by_ref().take(pairs.len()).collect();
    let mut held: Vec<Structure> = Vec::new();
    let mut doubtful = Vec::new();
    for (((_, ours), before), after) in pairs.iter().zip(before).zip(printed) {
        held.push(match (before, after) {
            (None, _) => Structure::Rejected,
            (Some(before), Some(after)) if is_same(&before, &after) => Structure::Same,
            (Some(before), after) => {
                let about = match after {
                    Some(after) => difference(&before, &after),
                    None => format!("{before:?} is rejected as {ours:?}"),
                };
                doubtful.push((held.len(), before));
                Structure::Differs(about)
            }
        });
    }
    // bash loses its own way in some here-documents inside loops: what it prints is then another
    // script than the one it read, and says nothing about ours.
    let again: Vec<String> = doubtful.iter().map(|(_, text)| text.clone()).collect();
    for ((at, first), second) in doubtful.iter().zip(sandbox.pretty(&again)?) {
        let stable = second.is_some_and(|second| second.trim_end() == first.trim_end());
        if let Some(slot) = held.get_mut(*at).filter(|_| !stable) {
            *slot = Structure::Unstable;
        }
    }
    let mut held = held.into_iter();
    Ok(ours
        .iter()
        .zip(accepted)
        .map(|(ours, accepted)| match ours {
            _ if !accepted => Structure::Rejected,
            None => Structure::Gap,
            Some(_) => held.next().unwrap_or(Structure::Rejected),
        })
        .collect())
}

/// The first place at which two prints differ in more than their layout.
fn difference(before: &str, after: &str) -> String {
    let (before, after) = (same_form(before, false), same_form(after, false));
    let blank = |own: &char| !(own.is_whitespace() || *own == ';');
    let same = before
        .chars()
        .filter(blank)
        .zip(after.chars().filter(blank))
        .take_while(|(a, b)| a == b)
        .count();
    let part = |text: &str| -> String {
        let place = text.char_indices().filter(|(_, own)| blank(own)).nth(same);
        let at = place.map_or(text.len(), |(at, _)| at);
        let start = text.char_indices().map(|(at, _)| at).rfind(|own| *own + 60 <= at);
        text.get(start.unwrap_or_default()..).unwrap_or_default().chars().take(200).collect()
    };
    format!("{:?} became {:?}", part(&before), part(&after))
}

/// The text between braces, where bash prints a new line and a semicolon alike.
fn grouped(text: &str) -> String {
    let slashes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
    let text = if slashes % 2 == 1 { text.get(..text.len() - 1).unwrap_or_default() } else { text };
    format!("{{\n:\n{text}\n}}")
}

/// The same form for what means the same: braces around every parameter's name (`$ab` is `${ab}` and
/// never `${a}b`), `$((x))` for `$[x]`, no `\` before `$` between backquotes, `time` for `time -p`.
fn same_form(text: &str, ansi: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.trim_end().chars().peekable();
    let mut backquoted = false;
    let mut square = 0_usize;
    while let Some(own) = characters.next() {
        match own {
            '\\' => match characters.next() {
                Some('$') if backquoted => out.push('$'),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            '`' => {
                backquoted = !backquoted;
                out.push('`');
            }
            '$' => {
                let mut name = String::new();
                match characters.peek().copied() {
                    Some(first) if first.is_ascii_alphabetic() || first == '_' => {
                        while let Some(next) =
                            characters.next_if(|next| next.is_ascii_alphanumeric() || *next == '_')
                        {
                            name.push(next);
                        }
                    }
                    Some(first) if first.is_ascii_digit() || "@*#?-!$".contains(first) => {
                        name.extend(characters.next());
                    }
                    Some('\'') if ansi => {
                        let rest: String = characters.clone().collect();
                        if let Some((length, decoded)) = ansi_quoted(&rest) {
                            out.extend([format!("'{decoded}'")]);
                            characters.nth(length - 1);
                            continue;
                        }
                    }
                    Some('[') => {
                        characters.next();
                        square += 1;
                        out.push_str("$((");
                        continue;
                    }
                    _ => {}
                }
                if name.is_empty() {
                    out.push('$');
                } else {
                    out.extend([format!("${{{name}}}")]);
                }
            }
            ']' if square > 0 => {
                square -= 1;
                out.push_str("))");
            }
            other => out.push(other),
        }
    }
    out.replace("time -p ", "time ").replace("//}", "}").replace("/}", "}").replace("/}", "}")
}

/// What `'...'` behind a `$` stands for, and how many characters it takes.
fn ansi_quoted(text: &str) -> Option<(usize, String)> {
    let mut escaped = false;
    let length = text.chars().skip(1).position(|own| {
        let ends = own == '\'' && !escaped;
        escaped = own == '\\' && !escaped;
        ends
    })? + 2;
    let quoted: String = text.chars().take(length).collect();
    let parsed = parse(&format!(": ${quoted}"), &Limits::default());
    let command = &parsed.script.items.first()?.list.first.stages.first()?.command;
    let CommandKind::Simple(simple) = &command.kind else { return None };
    match simple.words.get(1)?.parts.as_slice() {
        [Part::AnsiQuoted(text, _)] => Some((length, text.to_string())),
        _ => None,
    }
}

/// The form without blanks and ends of commands, which bash lays out in more than one way inside
/// brackets.
fn loose_form(text: &str, ansi: bool) -> String {
    let brackets = text.contains("[[");
    same_form(text, ansi)
        .replace("[[ -n ", "[[ ")
        .chars()
        .filter(|own| !(own.is_whitespace() || *own == ';' || (brackets && "()".contains(*own))))
        .collect()
}

/// Whether both forms say the same.
fn is_same(before: &str, after: &str) -> bool {
    // `$'...'` is printed as what it stands for, but as it is written inside a here-document.
    is_alike(before, after, false) || (before.contains("$'") && is_alike(before, after, true))
}

fn is_alike(before: &str, after: &str, ansi: bool) -> bool {
    let has = |marks: &[&str]| marks.iter().any(|mark| before.contains(mark));
    if same_form(before, ansi) == same_form(after, ansi) {
        return true;
    }
    has(&["<<", "`", "${", "[[", "$(", "<(", ">("])
        && loose_form(before, ansi) == loose_form(after, ansi)
}

/// A smaller text for which `breaks` still holds: pieces are left out, the large ones first.
///
/// # Errors
///
/// What `breaks` gives.
pub fn shrink(
    text: &str,
    mut breaks: impl FnMut(&str) -> Result<bool, SandboxError>,
) -> Result<String, SandboxError> {
    let mut best: Vec<char> = text.chars().collect();
    let mut left = 120;
    let mut size = best.len() / 2;
    while size > 0 {
        let mut at = 0;
        let mut changed = false;
        while at < best.len() && left > 0 {
            let shorter: Vec<char> =
                best.iter().take(at).chain(best.iter().skip(at + size)).copied().collect();
            left -= 1;
            if breaks(&shorter.iter().collect::<String>())? {
                best = shorter;
                changed = true;
            } else {
                at += size;
            }
        }
        if !(changed && size == 1) {
            size /= 2;
        }
    }
    Ok(best.into_iter().collect())
}

impl Report {
    fn add(&mut self, other: Self) {
        self.judged += other.judged;
        self.late += other.late;
        self.gaps += other.gaps;
        self.started += other.started;
        self.written += other.written;
        self.words = (self.words.0 + other.words.0, self.words.1 + other.words.1);
        self.known = (self.known.0 + other.known.0, self.known.1 + other.known.1);
        for (name, count) in other.decisions {
            *self.decisions.entry(name).or_default() += count;
        }
        self.finds.extend(other.finds);
        self.inexact.extend(other.inexact);
    }

    /// How many finds break this law.
    pub fn broken(&self, law: Law) -> usize {
        self.finds.iter().filter(|find| find.violation.law == law).count()
    }

    /// Its figures, a line each.
    pub fn lines(&self) -> Vec<String> {
        let share = |part: usize, whole: usize| {
            let thousandths = (part * 1000).checked_div(whole).unwrap_or(1000);
            format!("{part} of {whole} ({}.{} %)", thousandths / 10, thousandths % 10)
        };
        let millis = usize::try_from(self.time.as_millis()).unwrap_or(usize::MAX).max(1);
        let decisions: Vec<String> =
            self.decisions.iter().map(|(name, count)| format!("{name} {count}")).collect();
        vec![
            format!(
                "candidates judged: {} ({} a second, {} ended for time)",
                self.judged,
                self.judged * 1000 / millis,
                self.late
            ),
            format!("decisions: {}", decisions.join(", ")),
            format!("programs started: {}, files written: {}", self.started, self.written),
            format!(
                "broken: started {}, written {}, denial {}, structure {}",
                self.broken(Law::Started),
                self.broken(Law::Written),
                self.broken(Law::Denial),
                self.broken(Law::Structure)
            ),
            format!(
                "words known exactly, nothing from outside: {}",
                share(self.words.1, self.words.0)
            ),
            format!(
                "candidates with nothing unknown, nothing from outside: {}",
                share(self.known.1, self.known.0)
            ),
            format!(
                "accepted by bash: {}, read with a gap: {}, printed and compared: {}",
                self.accepted.0,
                share(self.accepted.1, self.accepted.0),
                self.structures
            ),
        ]
    }
}

/// Lines of the corpus as it once was, which no change of the corpus changes: the slice that every run
/// of the tests judges draws from them, so that it is the same slice every time.
pub fn frozen() -> Vec<String> {
    include_str!("../lines.jsonl")
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Every command of the corpus that is read from its own folder, once, sorted.
pub fn corpus() -> Vec<String> {
    let mut out = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for path in files_below(&root) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        match path.extension().and_then(|name| name.to_str()) {
            Some("jsonl") => {
                for line in text.lines() {
                    let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
                    let own = ["cmd", "command"].iter().find_map(|key| value.get(key)?.as_str());
                    out.extend(own.map(str::to_owned));
                }
            }
            Some("toml") => {
                let Ok(value) = text.parse::<toml::Table>() else { continue };
                for case in value.get("case").and_then(toml::Value::as_array).into_iter().flatten()
                {
                    out.extend(
                        case.get("command").and_then(toml::Value::as_str).map(str::to_owned),
                    );
                }
            }
            _ => {}
        }
    }
    out.sort();
    out.dedup();
    out
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return out };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            // What is held out is measured and never worked with.
            if path.file_name().is_some_and(|name| name != "held-out") {
                out.extend(files_below(&path));
            }
        } else {
            out.push(path);
        }
    }
    out.sort();
    out
}
