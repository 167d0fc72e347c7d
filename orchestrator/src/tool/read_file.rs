//! Reads lines of a text file.

use std::fmt::Write as _;
use std::time::Duration;

use super::answer::Answer;
use super::args::Args;
use super::path::PathError;
use super::workspace::{FileError, Resolved};
use super::{Task, Toolbox, apart};
use crate::task::call::FailureKind;

/// Most bytes of a file.
pub(super) const MAX_BYTES: u64 = 10 * 1024 * 1024;
/// Most lines at a time.
const MAX_LINES: usize = 2000;
/// Most characters of a line.
const MAX_WIDTH: usize = 2000;
/// A disk that takes longer does not answer.
const LIMIT: Duration = Duration::from_secs(30);

pub(super) async fn run(task: &Task<'_>, args: Args<'_>) -> Answer {
    let path = args.path().to_owned();
    let (start, end) = (args.number("startLine"), args.number("endLine"));
    let done = apart(task, LIMIT, move |toolbox, _| read(&toolbox, &path, start, end)).await;
    done.unwrap_or_else(|answer| answer)
}

fn read(toolbox: &Toolbox, path: &str, start: Option<usize>, end: Option<usize>) -> Answer {
    let at = match toolbox.workspace.resolve_existing(path) {
        Ok(at) => at,
        Err(error) => return bad_path(path, &error),
    };
    if let Some(answer) = hidden_secret(toolbox, &at) {
        return answer;
    }
    let bytes = match toolbox.workspace.read(&at, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(FileError::Missing) => return bad_path(path, &PathError::Missing),
        Err(FileError::Directory) => {
            let message =
                format!("`{}` is a folder; use list_files to see what is in it", at.shown);
            return Answer::failed(FailureKind::Failed, message);
        }
        Err(error) => {
            return Answer::failed(FailureKind::Failed, format!("`{}`: {error}", at.shown));
        }
    };
    show(&at.shown, &String::from_utf8_lossy(&bytes), start, end)
}

/// A path that breaks a rule or leads nowhere.
pub(super) fn bad_path(path: &str, error: &PathError) -> Answer {
    let shown: String = path.chars().filter(|char| !char.is_control()).take(200).collect();
    Answer::failed(FailureKind::InvalidArgs, format!("`path` is wrong: `{shown}`: {error}"))
}

/// Refuses a harmless name that leads to a secret file: the guard saw the name alone.
pub(super) fn hidden_secret(toolbox: &Toolbox, at: &Resolved) -> Option<Answer> {
    let real = at.real.to_string_lossy();
    let is_hidden = !toolbox.secrets.is_secret(&at.shown) && toolbox.secrets.is_secret(&real);
    is_hidden.then(|| {
        let message = format!(
            "`{}` is a symbolic link to a file that may hold secrets; name that file itself, so that the \
             person can be asked",
            at.shown
        );
        Answer::failed(FailureKind::Failed, message)
    })
}

fn show(path: &str, text: &str, start: Option<usize>, end: Option<usize>) -> Answer {
    let invalid = |message: String| Answer::failed(FailureKind::InvalidArgs, message);
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    let total = lines.len();
    let first = start.unwrap_or(1);
    if end.is_some_and(|end| end < first) {
        return invalid(format!("`endLine` must not be less than `startLine` ({first})"));
    }
    if total == 0 && first == 1 {
        return Answer::of(format!("{path} (empty file)"));
    }
    if first > total {
        return invalid(format!("`startLine` is {first}, but `{path}` has {total} lines"));
    }
    let wanted = end.unwrap_or(total).min(total);
    let last = wanted.min(first.saturating_add(MAX_LINES - 1));
    let mut output = format!("{path} (lines {first}-{last} of {total})");
    let shown = lines.iter().enumerate().skip(first - 1).take(last + 1 - first);
    for (index, line) in shown {
        let line = line.strip_suffix('\r').unwrap_or(line);
        // Writing to a string cannot fail.
        let _ = write!(output, "\n{:>6}\t{}", index + 1, cut(line, MAX_WIDTH));
    }
    if last < wanted {
        let _ = write!(
            output,
            "\n[{} more lines; continue with startLine {}]",
            wanted - last,
            last + 1
        );
    }
    Answer::of(output).truncated(last < wanted)
}

/// At most so many characters of a line, and a marker where it was cut.
pub(super) fn cut(line: &str, width: usize) -> std::borrow::Cow<'_, str> {
    match line.char_indices().nth(width) {
        None => line.into(),
        Some((at, _)) => {
            let (kept, rest) = line.split_at(at);
            format!("{kept} [{} more characters]", rest.chars().count()).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, show};
    use crate::task::call::FailureKind;

    fn shown(
        text: &str,
        start: Option<usize>,
        end: Option<usize>,
    ) -> (String, bool, Option<FailureKind>) {
        let result = show("a.txt", text, start, end).into_result("1".into(), 0);
        (result.output, result.truncated, result.failure.map(|failure| failure.kind))
    }

    #[test]
    fn lines_are_numbered_and_counted() {
        let table: &[(&str, Option<usize>, Option<usize>, &str)] = &[
            ("", None, None, "a.txt (empty file)"),
            ("", Some(1), Some(5), "a.txt (empty file)"),
            ("\n", None, None, "a.txt (lines 1-1 of 1)\n     1\t"),
            ("x", None, None, "a.txt (lines 1-1 of 1)\n     1\tx"),
            ("x\n", None, None, "a.txt (lines 1-1 of 1)\n     1\tx"),
            ("x\r\ny\r\n", None, None, "a.txt (lines 1-2 of 2)\n     1\tx\n     2\ty"),
            ("x\ny\n\n", Some(2), None, "a.txt (lines 2-3 of 3)\n     2\ty\n     3\t"),
            ("x\ny\nz", Some(2), Some(2), "a.txt (lines 2-2 of 3)\n     2\ty"),
            ("x\ny\nz", Some(3), Some(99), "a.txt (lines 3-3 of 3)\n     3\tz"),
            ("a\rb", None, None, "a.txt (lines 1-1 of 1)\n     1\ta\rb"),
        ];
        for (text, start, end, expected) in table {
            assert_eq!(
                shown(text, *start, *end),
                ((*expected).to_owned(), false, None),
                "{text:?}"
            );
        }
        for (text, start, end) in
            [("", Some(2), None), ("x\n", Some(2), None), ("x\ny", Some(2), Some(1))]
        {
            assert_eq!(shown(text, start, end).2, Some(FailureKind::InvalidArgs), "{text:?}");
        }
    }

    #[test]
    fn caps_tell_where_to_go_on() {
        let text = "x\n".repeat(2001);
        let (output, truncated, _) = shown(&text, None, None);
        assert!(truncated && output.starts_with("a.txt (lines 1-2000 of 2001)\n"));
        assert!(output.ends_with("\n  2000\tx\n[1 more lines; continue with startLine 2001]"));
        assert!(!shown(&text, None, Some(2000)).1);
        assert!(!shown(&text, Some(2), None).1);
        let (output, truncated, _) = shown(&"ä".repeat(2001), None, None);
        assert!(!truncated && output.ends_with("ä [1 more characters]"));
        assert_eq!(cut("äb", 2), "äb");
    }
}
