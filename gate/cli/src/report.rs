//! A verdict for a person.

use std::io::{self, Write};

use shellgate::model::span::Span;
use shellgate::model::verdict::{Decision, Verdict};

/// The exit status of a decision.
pub const fn status(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Pass => 10,
        Decision::Ask => 20,
        Decision::Deny => 30,
    }
}

const RESET: &str = "\u{1b}[0m";

const fn paint(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "\u{1b}[1;32m",
        Decision::Pass => "\u{1b}[1m",
        Decision::Ask => "\u{1b}[1;33m",
        Decision::Deny => "\u{1b}[1;31m",
    }
}

/// Decision and labels, then for each reason the marked piece of the command, why, and a safer way.
///
/// # Errors
/// Of writing.
pub fn verdict(
    out: &mut dyn Write,
    command: &str,
    verdict: &Verdict,
    color: bool,
) -> io::Result<()> {
    let (on, off) = if color { (paint(verdict.decision), RESET) } else { ("", "") };
    write!(out, "{on}{}{off}", verdict.decision.name())?;
    if !verdict.labels.is_empty() {
        write!(out, "  {}", verdict.labels.join(" "))?;
    }
    writeln!(out)?;
    if verdict.reasons.is_empty() {
        let what = match verdict.decision {
            Decision::Allow => "every command in it only reads what it may read",
            Decision::Pass => "nothing is against it, but it is not known to be harmless",
            Decision::Ask | Decision::Deny => "no reason was recorded",
        };
        return writeln!(out, "  {what}");
    }
    if verdict.decision == Decision::Allow {
        return verdict
            .reasons
            .iter()
            .try_for_each(|own| writeln!(out, "  {}  [{}]", own.why, own.rule));
    }
    for reason in &verdict.reasons {
        writeln!(out)?;
        let (line, marks) = marked(command, reason.span);
        writeln!(out, "  {line}")?;
        writeln!(out, "  {marks}")?;
        writeln!(out, "  {}: {}  [{}]", reason.label, reason.why, reason.rule)?;
        if !reason.instead.is_empty() {
            writeln!(out, "  instead: {}", reason.instead)?;
        }
    }
    Ok(())
}

/// The widest line that is shown whole.
const WIDTH: usize = 96;

/// The line of the command that holds the start of `span`, control characters made visible and cut
/// to a window around the span, and a line of `^` below it.
fn marked(command: &str, span: Span) -> (String, String) {
    let start = span.start.min(command.len());
    let before = command.get(..start).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let rest = command.get(line_start..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    let lead: Vec<char> =
        command.get(line_start..start).unwrap_or_default().chars().map(visible).collect();
    let body: Vec<char> = command
        .get(start..span.end.min(line_start + line.len()).max(start))
        .unwrap_or_default()
        .chars()
        .map(visible)
        .collect();
    let tail: Vec<char> = command
        .get(start + bytes(command, start, body.len())..line_start + line.len())
        .unwrap_or_default()
        .chars()
        .map(visible)
        .collect();
    let skipped = (lead.len() + body.len().min(WIDTH)).saturating_sub(WIDTH);
    let shown: String = lead.iter().skip(skipped).chain(&body).chain(&tail).take(WIDTH).collect();
    let prefix = if skipped > 0 { "…" } else { "" };
    let marks = format!(
        "{}{}{}",
        if skipped > 0 { " " } else { "" },
        " ".repeat(lead.len() - skipped),
        "^".repeat(body.len().clamp(1, WIDTH.saturating_sub(lead.len() - skipped).max(1)))
    );
    let suffix = if lead.len() - skipped + body.len() + tail.len() > WIDTH { "…" } else { "" };
    (format!("{prefix}{shown}{suffix}"), marks)
}

/// Bytes of the first `count` characters of `text` from `start`.
fn bytes(text: &str, start: usize, count: usize) -> usize {
    text.get(start..).unwrap_or_default().chars().take(count).map(char::len_utf8).sum()
}

/// A character that cannot move the cursor or hide another one.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '�',
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => '�',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_below_the_bytes_they_name() {
        let table = [
            ("ls\nrm -rf /", 3, 11, "rm -rf /", "^^^^^^^^"),
            ("é rm", 3, 5, "é rm", "  ^^"),
            ("a\u{1b}b", 2, 3, "a�b", "  ^"),
            ("", 0, 0, "", "^"),
            ("ab", 9, 12, "ab", "  ^"),
        ];
        for (command, start, end, line, marks) in table {
            let got = marked(command, Span::new(start, end));
            assert_eq!(got, (line.to_owned(), marks.to_owned()), "{command:?}");
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let command = format!("{}rm -rf /{}", "x".repeat(300), "y".repeat(300));
        let (line, marks) = marked(&command, Span::new(300, 308));
        assert!(line.contains("rm -rf /"), "{line}");
        assert!(line.chars().count() <= WIDTH + 2);
        let at = marks.find('^').unwrap();
        assert_eq!(line.chars().skip(at).take(8).collect::<String>(), "rm -rf /");
    }
}
