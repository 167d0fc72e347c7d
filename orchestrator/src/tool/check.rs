//! Runs one of the project's own commands and sums its output up.

use std::time::Duration;

use super::answer::Answer;
use super::output::Keep;
use super::process::How;
use super::{Task, read_file, shell};
use crate::task::call::FailureKind;

const LIMIT: Duration = Duration::from_secs(300);
/// How many bytes of output are kept.
const KEPT: usize = 16 * 1024;
/// From how many last lines summary lines are picked.
const LOOKED_AT: usize = 200;
/// Longer lines sum nothing up.
const MAX_LINE: usize = 300;
/// Most summary lines.
const MAX_SUMMARY: usize = 8;

/// Runs `command`; `what` names it in messages.
pub(super) async fn run(task: &Task<'_>, what: &str, command: Option<&str>, hint: &str) -> Answer {
    let Some(line) = command else {
        let message =
            format!("no {what} command is configured; set `{hint}` in .desiide/project.json");
        return Answer::failed(FailureKind::Failed, message);
    };
    let prepared = match shell::command(task, line, Keep::Last(KEPT), LIMIT) {
        Ok(prepared) => prepared,
        Err(cause) => return Answer::failed(FailureKind::Failed, cause),
    };
    let ended = task.children().run(prepared, task.cancel).await;
    let seconds = ended.elapsed.as_secs_f64();
    let status = match &ended.how {
        How::Exited(0) => format!("passed (exit code 0, {seconds:.1} s)"),
        How::Exited(code) => format!("failed (exit code {code}, {seconds:.1} s)"),
        How::Signalled(signal) => format!("failed (killed by signal {signal}, {seconds:.1} s)"),
        How::TimedOut => format!("timed out ({seconds:.1} s)"),
        How::Cancelled => format!("cancelled ({seconds:.1} s)"),
        How::Broken(cause) => format!("not run: {cause}"),
    };
    let tail = ended.output.marked();
    let mut output = format!("$ {line}\n{status}\n");
    if let (Some(notice), false) =
        (task.toolbox.options.sandbox.notice(), matches!(ended.how, How::Broken(_)))
    {
        output.push_str(notice);
        output.push('\n');
    }
    for line in summary(&tail) {
        output.push_str(line);
        output.push('\n');
    }
    output.push_str("---\n");
    output.push_str(if tail.is_empty() { "(no output)" } else { &tail });
    let answer = Answer::of(output).truncated(ended.output.dropped() > 0);
    match ended.how {
        // The status line says it already.
        How::Exited(code) if code != 0 => answer.exited(code).fail_quietly(
            FailureKind::Failed,
            format!("the {what} command ended with exit code {code}"),
        ),
        _ => shell::finish(answer, &ended),
    }
}

/// Lines that look like totals of tests or of a linter, the last ones, in their order.
fn summary(output: &str) -> Vec<&str> {
    let lines: Vec<&str> = output.lines().collect();
    let recent = lines.iter().skip(lines.len().saturating_sub(LOOKED_AT)).map(|line| line.trim());
    let found: Vec<&str> = recent.filter(|line| is_total(line)).collect();
    found.iter().skip(found.len().saturating_sub(MAX_SUMMARY)).copied().collect()
}

/// Words that count something in totals.
const COUNTED: [&str; 14] = [
    "passed", "failed", "failing", "passing", "skipped", "pending", "errors", "error", "warnings",
    "warning", "problems", "tests", "failures", "ignored",
];

fn is_total(line: &str) -> bool {
    if line.is_empty() || read_file::cut(line, MAX_LINE - 1).len() != line.len() {
        return false;
    }
    let lower = line.to_lowercase();
    let starts =
        ["test result:", "tests:", "test suites:", "ok  \t", "fail\t", "--- fail:", "found "];
    if starts.iter().any(|start| lower.starts_with(start)) {
        return true;
    }
    // A number next to a counted word: `3 passed`, `errors: 2`, `FAILED (failures=1)`.
    let words: Vec<&str> =
        lower.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_number = |word: &&str| word.chars().all(|char| char.is_ascii_digit());
    let pairs = words.iter().zip(words.iter().skip(1));
    let counts = pairs
        .filter(|(left, right)| {
            (is_number(left) && COUNTED.contains(right))
                || (COUNTED.contains(left) && is_number(right))
        })
        .count();
    counts > 0 || matches!(lower.as_str(), "ok" | "pass" | "all checks passed!")
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn totals_are_found() {
        let totals = [
            "test result: ok. 12 passed; 0 failed; 0 ignored; finished in 0.02s",
            "Tests:       1 failed, 41 passed, 42 total",
            "Test Suites: 1 failed, 3 passed, 4 total",
            "===== 3 passed, 1 skipped in 0.12s =====",
            "ok  \texample.org/app\t0.012s",
            "FAIL\texample.org/app\t0.3s",
            "✖ 12 problems (3 errors, 9 warnings)",
            "FAILED (failures=1)",
            "  14 passing (20ms)",
            "Found 3 errors.",
            "All checks passed!",
        ];
        let others = [
            "running 12 tests in parallel now please",
            "error[E0308]: mismatched types",
            "hello",
            "",
        ];
        for line in totals {
            assert_eq!(summary(line), [line.trim()], "{line}");
        }
        for line in others.iter().skip(1) {
            assert!(summary(line).is_empty(), "{line}");
        }
        let many = "1 passed\n".repeat(500);
        assert_eq!(summary(&many).len(), 8);
        let old = format!("1 passed\n{}", "x\n".repeat(200));
        assert!(summary(&old).is_empty());
        assert!(summary(&format!("1 passed {}", "x".repeat(300))).is_empty());
    }
}
