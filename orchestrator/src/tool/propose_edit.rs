//! Checks proposed edits against the files as they are. Writes nothing.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization as _;

use super::answer::Answer;
use super::args::Args;
use super::read_file::MAX_BYTES;
use super::workspace::{FileError, Resolved};
use super::{Outcome, Ran, Task, Toolbox, apart, meta};
use crate::task::call::FailureKind;
use crate::task::edit::{FileEdit, SearchReplace};

/// A disk that takes longer does not answer.
const LIMIT: Duration = Duration::from_secs(30);

pub(super) async fn run(task: &Task<'_>, args: Args<'_>) -> Outcome {
    let files: Vec<FileEdit> = args
        .list("files")
        .map(|file| FileEdit {
            path: file.path().to_owned(),
            edits: file
                .list("edits")
                .map(|edit| SearchReplace {
                    search: edit.text("search").unwrap_or_default().to_owned(),
                    replace: edit.text("replace").unwrap_or_default().to_owned(),
                })
                .collect(),
        })
        .collect();
    match apart(task, LIMIT, move |toolbox, _| propose(&toolbox, files)).await {
        Ok(Ok(proposal)) => Outcome::Proposal(proposal),
        Ok(Err(problems)) => Outcome::Answer(refusal(&problems)),
        Err(answer) => Outcome::Answer(answer),
    }
}

/// One thing that is wrong with a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    path: String,
    edit: Option<usize>,
    code: &'static str,
    message: String,
}

fn refusal(problems: &[Problem]) -> Answer {
    let mut text = "The edits were not proposed:\n".to_owned();
    for problem in problems {
        let edit = problem.edit.map(|edit| format!(", edit {edit}")).unwrap_or_default();
        let Problem { path, message, code, .. } = problem;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {path}{edit}: {message} ({code})");
    }
    let list: Vec<Value> = problems
        .iter()
        .map(|problem| {
            let mut entry = json!({ "path": problem.path });
            if let (Some(index), Value::Object(entry)) = (problem.edit, &mut entry) {
                entry.insert("editIndex".into(), json!(index));
            }
            if let Value::Object(entry) = &mut entry {
                entry.insert("code".into(), json!(problem.code));
                entry.insert("message".into(), json!(problem.message));
            }
            entry
        })
        .collect();
    text.push_str(&json!({ "error": "edit_validation_failed", "problems": list }).to_string());
    let message = format!("{} of the edits cannot be proposed as they are", problems.len());
    Answer::of(text).fail_quietly(FailureKind::Failed, message)
}

fn propose(toolbox: &Toolbox, files: Vec<FileEdit>) -> Result<Ran, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    let mut proposed = Vec::new();
    let mut notes = Vec::new();
    let mut created = Vec::new();
    for file in files {
        match place(toolbox, &file.path, &mut seen) {
            Err((code, message)) => {
                let path = file.path.chars().filter(|char| !char.is_control()).collect();
                problems.push(Problem { path, edit: None, code, message });
            }
            Ok(at) => match check(toolbox, &at, file.edits) {
                Ok(checked) => {
                    notes.extend(checked.notes);
                    if checked.is_new {
                        created.push(at.clone());
                    }
                    proposed.push(FileEdit { path: at.shown, edits: checked.edits });
                }
                Err(found) => problems.extend(found),
            },
        }
    }
    // A file that was missing above and is there now would have its new text put in front of it.
    for at in created {
        if toolbox.workspace.resolve(&at.shown).map_or(true, |now| now != at) {
            problems.push(Problem {
                path: at.shown,
                edit: None,
                code: "search_not_found",
                message:
                    "the file appeared while the edits were checked; read it and propose again"
                        .into(),
            });
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let metas = proposed
        .iter()
        .map(|file| meta::of(&toolbox.workspace, &toolbox.project.sensitive_globs, &file.path))
        .collect();
    Ok(Ran::Proposal { files: proposed, metas, notes })
}

type Refused = (&'static str, String);

fn place(toolbox: &Toolbox, path: &str, seen: &mut BTreeSet<String>) -> Result<Resolved, Refused> {
    let at =
        toolbox.workspace.resolve(path).map_err(|error| ("invalid_path", error.to_string()))?;
    let is_root = at.shown == "." || at.real.as_os_str().is_empty();
    let real = at.real.to_string_lossy();
    if is_root || is_git(&at.shown) || is_git(&real) {
        let message = if is_root {
            "the workspace folder itself cannot be edited"
        } else {
            "git's own files cannot be edited"
        };
        return Err(("protected_path", message.to_owned()));
    }
    if !toolbox.secrets.is_secret(&at.shown) && toolbox.secrets.is_secret(&real) {
        let message =
            format!("the path leads to `{real}`, which may hold secrets; name that file itself");
        return Err(("protected_path", message));
    }
    // Two names of one file are one file: the second would be checked against a text that is not there.
    let is_new_name = seen.insert(at.shown.clone());
    let is_new_file = seen.insert(format!("{}\0{real}", at.root));
    if !is_new_name || !is_new_file {
        return Err((
            "duplicate_path",
            "the file is listed twice; put all its edits in one entry".to_owned(),
        ));
    }
    Ok(at)
}

/// Whether a path lies in a repository's own folder, at any depth and however it is written; some file
/// systems fold case and widths, or know a second short name.
fn is_git(path: &str) -> bool {
    path.split('/').any(|segment| {
        let folded: String = segment.nfkc().collect::<String>().to_lowercase();
        let folded = folded.trim_end_matches([' ', '.']);
        matches!(folded, ".git" | "git~1")
    })
}

struct Checked {
    edits: Vec<SearchReplace>,
    notes: Vec<String>,
    is_new: bool,
}

fn check(
    toolbox: &Toolbox,
    at: &Resolved,
    edits: Vec<SearchReplace>,
) -> Result<Checked, Vec<Problem>> {
    let problem = |edit: Option<usize>, code: &'static str, message: String| Problem {
        path: at.shown.clone(),
        edit,
        code,
        message,
    };
    let not_text = |message: String| Err(vec![problem(None, "not_a_text_file", message)]);
    let before = match toolbox.workspace.read(at, MAX_BYTES) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Some(text),
            Err(_) => {
                return not_text("the file is not UTF-8; editing it would damage it".to_owned());
            }
        },
        Err(FileError::Missing) => None,
        Err(error) => return not_text(error.to_string()),
    };
    let is_new = before.is_none();
    let is_windows = before.as_deref().is_some_and(has_only_crlf);
    let mut notes: Vec<String> = note_for(&at.shown).into_iter().collect();
    if before.as_deref().is_some_and(|text| !text.is_empty())
        && edits.first().is_some_and(|edit| edit.search.is_empty())
    {
        notes.push(format!("`{}` exists already: text is inserted at its start.", at.shown));
    }
    let mut text = before;
    let mut problems = Vec::new();
    let mut given = Vec::new();
    for (index, edit) in edits.into_iter().enumerate() {
        let edit = if is_windows { with_crlf(edit) } else { edit };
        if edit.search.is_empty() {
            let rest = text.unwrap_or_default();
            text = Some(format!("{}{rest}", edit.replace));
            given.push(edit);
            continue;
        }
        let Some(current) = &text else {
            let message = "there is no such file; an empty search would create it".to_owned();
            problems.push(problem(Some(index), "file_not_found", message));
            continue;
        };
        match current.matches(edit.search.as_str()).count() {
            1 => {
                text = Some(current.replacen(edit.search.as_str(), &edit.replace, 1));
                given.push(edit);
            }
            0 => {
                let message = missing(current, &edit.search);
                problems.push(problem(Some(index), "search_not_found", message));
            }
            count => {
                let message = format!(
                    "the search text stands {count} times in the file; add lines around it"
                );
                problems.push(problem(Some(index), "search_ambiguous", message));
            }
        }
    }
    if problems.is_empty() { Ok(Checked { edits: given, notes, is_new }) } else { Err(problems) }
}

/// Whether every line of the text ends in CRLF, and there is one.
fn has_only_crlf(text: &str) -> bool {
    text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count()
}

/// The edit with the line ends of its file. Lines are read without them, so a model cannot know better; an
/// edit that holds a carriage return is left as it is.
fn with_crlf(edit: SearchReplace) -> SearchReplace {
    if edit.search.contains('\r') || edit.replace.contains('\r') {
        return edit;
    }
    SearchReplace {
        search: edit.search.replace('\n', "\r\n"),
        replace: edit.replace.replace('\n', "\r\n"),
    }
}

fn missing(text: &str, search: &str) -> String {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let needle = squeeze(search);
    if !needle.is_empty() && squeeze(text).contains(&needle) {
        let mixed = text.contains("\r\n") && search.contains('\n') && !search.contains('\r');
        let hint = if mixed { "; some lines of the file end in CRLF" } else { "" };
        return format!(
            "the search text is not in the file, but it would match if white space were ignored{hint}; \
             copy it exactly"
        );
    }
    "the search text is not in the file; read it again".to_owned()
}

/// What a person should know before files of this kind change: others run what stands in them.
fn note_for(path: &str) -> Option<String> {
    meta::runs_elsewhere(path).map(|what| {
        format!("`{path}` is {what}: what stands in it runs later, outside of this task.")
    })
}

#[cfg(test)]
mod tests {
    use super::{has_only_crlf, is_git};

    #[test]
    fn git_folders_are_known_in_every_spelling() {
        for path in [
            ".git",
            ".git/config",
            ".GIT/hooks/x",
            "a/b/.Git",
            "a/.git/x",
            ".git./x",
            "GIT~1/x",
            ".ｇit/x",
        ] {
            assert!(is_git(path), "{path}");
        }
        for path in [".gitignore", ".github/x", "git", "a.git/x", ".gitmodules", "a/git~2"] {
            assert!(!is_git(path), "{path}");
        }
    }

    #[test]
    fn crlf_files_are_told_from_mixed_ones() {
        assert!(has_only_crlf("a\r\nb\r\n") && has_only_crlf("a\r\nb"));
        assert!(!has_only_crlf("a\nb\r\n") && !has_only_crlf("a") && !has_only_crlf(""));
    }
}
