//! A last look at text that was not understood.
//!
//! Only the spans of gaps are read, quotes and backslashes removed, and what is found there only
//! ever adds a label: broken syntax cannot hide `rm -rf /`.

use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use crate::judge::locate;
use crate::model::script::GapCause;
use crate::model::span::{Site, Span};
use crate::model::trace::Trace;
use crate::model::verdict::{Decision, Reason, Verdict};

/// Words of which one must be there before the slower patterns are tried.
const WORDS: [&str; 14] = [
    "rm",
    "mkfs",
    "wipefs",
    "dd",
    "shutdown",
    "reboot",
    "poweroff",
    "halt",
    "curl",
    "wget",
    ":|:",
    "chmod",
    "chown",
    "no-preserve-root",
];

/// Rule, pattern and what it means.
const PATTERNS: [(&str, &str, &str); 7] = [
    (
        "rm_rf",
        r"(?x)(^|[\s;&|(`/])rm\s+(-[A-Za-z-]+\s+)*-[A-Za-z]*[rR][A-Za-z]*\s+(\S+\s+)*?(/|~|\$HOME|\$\{HOME\})(/?\*?|/(etc|usr|bin|sbin|lib|lib64|boot|dev|var|opt|root|home)/?\*?)([\s;&|)`]|$)|rm\s[^;&|\n]*--no-preserve-root",
        "Part of the command could not be read, and it looks like a removal of the system or a home.",
    ),
    (
        "mkfs",
        r"(^|[\s;&|(`/])(mkfs(\.[a-z0-9]+)?|wipefs)\s+\S",
        "Part of the command could not be read, and it looks like the making of a file system.",
    ),
    (
        "dd_device",
        r"(^|[\s;&|(`/])dd\s[^;&|\n]*of=/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper)",
        "Part of the command could not be read, and it looks like a write to a disk.",
    ),
    (
        "shutdown",
        r"(^|[;&|(`\n])\s*(sudo\s+)?(shutdown|reboot|poweroff|halt)(\s|$)",
        "Part of the command could not be read, and it looks like stopping the machine.",
    ),
    (
        "curl_pipe_sh",
        r"(^|[\s;&|(`])(curl|wget)\s[^;&\n]*\|\s*(sudo\s+(-\S+\s+)*)?(\S*/)?(sh|bash|zsh|dash|ksh)(\s|$|[;&|)])",
        "Part of the command could not be read, and it looks like running what was downloaded.",
    ),
    (
        "fork_bomb",
        r"(\S+)\s*\(\)\s*\{\s*\S+\s*\|\s*\S+\s*&\s*\}\s*;",
        "Part of the command could not be read, and it looks like a fork bomb.",
    ),
    (
        "chmod_system",
        r"(^|[\s;&|(`/])chmod\s+(-\S+\s+)*[0-7rwxugoastX+=,-]+\s+(/|/etc|/usr|/bin|/lib|/var)/?([\s;&|)]|$)",
        "Part of the command could not be read, and it looks like a change of rights of the system.",
    ),
];

/// Bytes of one gap that are read.
const LONGEST: usize = 1 << 22;

struct Scanner {
    words: AhoCorasick,
    patterns: Vec<(&'static str, Regex, &'static str)>,
}

fn scanner() -> Option<&'static Scanner> {
    static SCANNER: OnceLock<Option<Scanner>> = OnceLock::new();
    SCANNER
        .get_or_init(|| {
            let words = AhoCorasick::new(WORDS).ok()?;
            let patterns = PATTERNS
                .iter()
                .map(|(rule, pattern, why)| {
                    Regex::new(pattern).ok().map(|regex| (*rule, regex, *why))
                })
                .collect::<Option<Vec<_>>>()?;
            Some(Scanner { words, patterns })
        })
        .as_ref()
}

/// Adds deny labels for what stands in the gaps of a trace. `command` is the whole text, which may
/// be longer than the source that was read.
pub fn scan(command: &str, trace: &Trace, verdict: &mut Verdict) {
    let mut found = Vec::new();
    for (source, gap) in &trace.gaps {
        if matches!(gap.cause, GapCause::OddCharacter(_)) {
            continue;
        }
        let own = trace.sources.get(source.0 as usize).map_or("", |source| source.text.as_str());
        let text = if source.0 == 0 { command } else { own };
        let end = gap.span.end.min(gap.span.start.saturating_add(LONGEST));
        let text = text.get(gap.span.start..end).unwrap_or_default();
        let span = locate(trace, Site::new(*source, gap.span));
        look(text, span, &mut found);
    }
    found.sort_by_key(|reason: &Reason| reason.span);
    for reason in found.into_iter().rev() {
        if !verdict.labels.contains(&reason.label) {
            verdict.labels.insert(0, reason.label.clone());
            verdict.decision = Decision::Deny;
            verdict.reasons.insert(0, reason);
        }
    }
}

fn look(text: &str, span: Span, found: &mut Vec<Reason>) {
    let Some(scanner) = scanner() else { return };
    let plain: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    if !scanner.words.is_match(&plain) {
        return;
    }
    for (rule, pattern, why) in &scanner.patterns {
        if pattern.is_match(&plain) {
            found.push(Reason {
                label: format!("deny_list:{rule}"),
                rule: format!("raw_{rule}"),
                decision: Decision::Deny,
                why: (*why).to_owned(),
                instead: "Mend the quoting or the syntax, so that the command can be read.".into(),
                span,
            });
        }
    }
}
