//! Reads from git: status, diff, log, show.
//!
//! A repository's own settings can make git start programs: file monitors, diff drivers, text conversion,
//! content filters, signature checks, transports for missing objects. All of them are switched off. What is
//! shown of files is asked for by name, after the names of secret files were taken out.

use std::collections::HashSet;
use std::ffi::OsString;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::args::Args;
use super::output::Keep;
use super::path::normalise;
use super::process::{Command, How};
use super::read_file::bad_path;
use super::sandbox::Sandbox;
use super::{Task, Toolbox, cancelled, environment};
use crate::task::call::FailureKind;

const LIMIT: Duration = Duration::from_secs(30);
/// How long a look at the branch may take.
const BRANCH_LIMIT: Duration = Duration::from_secs(5);
/// How many bytes of output are kept.
const KEPT: usize = 64 * 1024;
/// How many bytes of names are looked at.
const NAMES: usize = 4 * 1024 * 1024;
/// How many bytes of names are handed to git; more would not fit what is kept of its output anyway.
const MAX_PATHS: usize = 256 * 1024;

/// Settings that outweigh the repository's own.
const SETTINGS: [(&str, &str); 18] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", ""),
    ("color.ui", "false"),
    ("diff.external", ""),
    ("diff.ignoreSubmodules", "dirty"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// What every diff is told.
const DIFF: [&str; 6] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--relative",
    "--submodule=short",
    "--ignore-submodules=dirty",
];

pub(super) async fn run(task: &Task<'_>, args: Args<'_>) -> Answer {
    let done = match Git::open(task).await {
        Ok(git) => match args.text("command").unwrap_or_default() {
            "status" => git.status().await,
            "diff" => git.diff(args).await,
            "log" => git.log(args).await,
            _ => git.show(args).await,
        },
        Err(answer) => Err(answer),
    };
    done.unwrap_or_else(|answer| answer)
}

/// The branch that is checked out in the first root; none where detached or not known within 5 s.
pub(super) async fn branch(toolbox: &Toolbox, cancel: &CancellationToken) -> Option<String> {
    let name = ask(toolbox, cancel, &["rev-parse", "--abbrev-ref", "HEAD"]).await?;
    (name != "HEAD").then_some(name)
}

/// The branch the remote `origin` calls its default.
pub(super) async fn default_branch(toolbox: &Toolbox) -> Option<String> {
    let cancel = CancellationToken::new();
    let name = ask(toolbox, &cancel, &["rev-parse", "--abbrev-ref", "origin/HEAD"]).await?;
    name.strip_prefix("origin/").filter(|name| *name != "HEAD").map(str::to_owned)
}

/// Whether git, asked this in the first root, has anything to say.
pub(super) async fn says_something(toolbox: &Toolbox, args: &[&str]) -> bool {
    ask(toolbox, &CancellationToken::new(), args).await.is_some()
}

/// Adds to a command's environment what keeps git, started by it, from running programs that the settings
/// of the repository name: monitors, hooks, diff programs, conversions and filters. For commands that run
/// because the gate knows that they only read, which is known of git and not of those programs. The drivers
/// the person themselves configured stay.
pub(super) async fn disarm(task: &Task<'_>, environment: &mut Vec<(OsString, OsString)>) {
    let mut settings: Vec<(String, String)> = READER
        .iter()
        .filter_map(|name| SETTINGS.iter().find(|(own, _)| own == name))
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let pattern = r"^(filter\..*\.(clean|smudge|process)|diff\.(external|.*\.(textconv|command)))$";
    let args = ["config", "--show-scope", "--null", "--name-only", "--get-regexp", pattern];
    let cancel = task.cancel.clone();
    let found = ask(task.toolbox, &cancel, &args).await.unwrap_or_default();
    let mut parts = found.split('\0');
    while let (Some(scope), Some(name)) = (parts.next(), parts.next()) {
        if matches!(scope.trim(), "local" | "worktree")
            && let Some(value) = harmless(name)
        {
            settings.push((name.to_owned(), value.to_owned()));
            if let Some((filter, _)) = name.rsplit_once('.').filter(|_| value.is_empty()) {
                settings.push((format!("{filter}.required"), "false".to_owned()));
            }
        }
    }
    environment.retain(|(name, _)| !name.to_string_lossy().starts_with("GIT_CONFIG_"));
    environment.extend(as_environment(settings));
}

/// What a driver is set to instead.
fn harmless(name: &str) -> Option<&'static str> {
    Some(match name.rsplit('.').next()? {
        "clean" | "smudge" | "process" => "",
        "textconv" => "cat",
        // Git hands over the path, the old file, its id and mode, and the same of the new one.
        "command" | "external" => {
            r#"f() { diff -u --label "a/$1" --label "b/$1" -- "$2" "$5"; true; }; f"#
        }
        _ => return None,
    })
}

/// Those of [`SETTINGS`] that a command which only reads is given.
const READER: [&str; 9] = [
    "core.fsmonitor",
    "core.hooksPath",
    "core.pager",
    "core.sshCommand",
    "core.askPass",
    "core.alternateRefsCommand",
    "log.showSignature",
    "gpg.program",
    "diff.ignoreSubmodules",
];

/// Settings as git takes them from its environment.
fn as_environment(settings: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
    let mut out = vec![("GIT_CONFIG_COUNT".into(), settings.len().to_string().into())];
    for (index, (name, value)) in settings.into_iter().enumerate() {
        out.push((format!("GIT_CONFIG_KEY_{index}").into(), name.into()));
        out.push((format!("GIT_CONFIG_VALUE_{index}").into(), value.into()));
    }
    out
}

async fn ask(toolbox: &Toolbox, cancel: &CancellationToken, args: &[&str]) -> Option<String> {
    let task = Task { toolbox, cancel };
    let command = command(&task, &[], args, KEPT, BRANCH_LIMIT).ok()?;
    let ended = task.children().run(command, task.cancel).await;
    let text = ended.output.text();
    let name = text.trim();
    (ended.how == How::Exited(0) && !name.is_empty()).then(|| name.to_owned())
}

/// Git in the first root.
struct Git<'a> {
    task: &'a Task<'a>,
    /// Names of content filters, which are switched off one by one.
    filters: Vec<String>,
    /// Where the root lies in the repository: empty, or a path that ends in a slash.
    prefix: String,
}

/// What git printed.
struct Printed {
    text: String,
    is_cut: bool,
    errors: String,
}

impl<'a> Git<'a> {
    async fn open(task: &'a Task<'a>) -> Result<Self, Answer> {
        let mut git = Self { task, filters: Vec::new(), prefix: String::new() };
        let prefix = git.read(&["rev-parse", "--show-prefix"], KEPT).await?;
        prefix.text.trim_end_matches('\n').clone_into(&mut git.prefix);
        // Exits with 1 where there is none, and starts no filter itself.
        let names = [
            "config",
            "--null",
            "--name-only",
            "--get-regexp",
            r"^filter\..*\.(clean|smudge|process)$",
        ];
        if let Ok(found) = git.read(&names, NAMES).await {
            if found.is_cut {
                return Err(failed("the repository's settings are too large".to_owned()));
            }
            let names = found.text.split('\0').filter_map(|name| {
                let (filter, _) = name.strip_prefix("filter.")?.rsplit_once('.')?;
                Some(filter.to_owned())
            });
            git.filters = names.collect();
            git.filters.sort_unstable();
            git.filters.dedup();
        }
        Ok(git)
    }

    async fn status(&self) -> Result<Answer, Answer> {
        let mut args = vec![
            "status",
            "--porcelain=v1",
            "--branch",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
        ];
        args.extend(["--", "."]);
        Ok(answer(&self.read(&args, KEPT).await?, "(nothing to report)"))
    }

    async fn log(&self, args: Args<'_>) -> Result<Answer, Answer> {
        let path = self.path(args)?;
        let count = format!("--max-count={}", args.number("maxCount").unwrap_or(20));
        let mut words =
            vec!["log", count.as_str(), "--date=short", "--no-color", "--format=%h %ad %an%d %s"];
        let spec = path.as_deref().map(literal);
        match &spec {
            Some(spec) => words.extend(["--", spec]),
            // Only commits that touch the workspace, where the repository is larger.
            None if !self.prefix.is_empty() => words.extend(["--", "."]),
            None => words.push("--"),
        }
        Ok(answer(&self.read(&words, KEPT).await?, "(no commits)"))
    }

    async fn diff(&self, args: Args<'_>) -> Result<Answer, Answer> {
        let path = self.path(args)?;
        let mut words = vec!["diff"];
        words.extend(DIFF);
        if args.flag("staged") == Some(true) {
            words.push("--cached");
        }
        if let Some(revision) = args.text("ref") {
            self.require_trees(revision).await?;
            words.push(revision);
        }
        let names = self.names(&words, path.as_deref()).await?;
        if names.allowed.is_empty() {
            let text =
                if names.left_out.is_empty() { "(no changes)" } else { "(no other changes)" };
            return Ok(names.note(Answer::of(text.to_owned())));
        }
        let specs: Vec<String> = names.allowed.iter().map(|name| literal(name)).collect();
        words.push("--");
        words.extend(specs.iter().map(String::as_str));
        Ok(names.note(answer(&self.read(&words, KEPT).await?, "(no changes)")))
    }

    async fn show(&self, args: Args<'_>) -> Result<Answer, Answer> {
        let path = self.path(args)?;
        let revision = args.text("ref").unwrap_or_default();
        let kind = if revision.contains("..") {
            self.require_trees(revision).await?;
            "commit".to_owned()
        } else {
            self.kind(revision).await?
        };
        match kind.as_str() {
            "commit" => self.show_commit(revision, path.as_deref()).await,
            "tree" => {
                self.path_in(revision, path.as_deref(), true)?;
                Ok(answer(
                    &self.read(&["show", "--no-color", revision, "--"], KEPT).await?,
                    "(empty folder)",
                ))
            }
            _ => {
                self.path_in(revision, path.as_deref(), false)?;
                let words =
                    ["show", "--no-ext-diff", "--no-textconv", "--no-color", revision, "--"];
                Ok(answer(&self.read(&words, KEPT).await?, "(empty file)"))
            }
        }
    }

    async fn show_commit(&self, revision: &str, path: Option<&str>) -> Result<Answer, Answer> {
        let mut words = vec!["show"];
        words.extend(DIFF);
        let mut listing = words.clone();
        listing.extend(["--format=", revision]);
        let names = self.names(&listing, path).await?;
        words.extend(["--no-show-signature", revision]);
        let specs: Vec<String> = names.allowed.iter().map(|name| literal(name)).collect();
        if specs.is_empty() {
            words.extend(["--no-patch", "--"]);
        } else {
            words.push("--");
            words.extend(specs.iter().map(String::as_str));
        }
        Ok(names.note(answer(&self.read(&words, KEPT).await?, "(nothing to show)")))
    }

    /// Names of the files a diff is about, secret ones apart. `words` is the whole command but for paths.
    async fn names(&self, words: &[&str], path: Option<&str>) -> Result<Names, Answer> {
        let mut listing = words.to_vec();
        // Options may follow revisions, but not the separator.
        listing.extend(["--name-only", "-z", "--no-renames"]);
        let spec = path.map_or_else(|| ".".to_owned(), literal);
        listing.extend(["--", &spec]);
        let found = self.read(&listing, NAMES).await?;
        let secrets = &self.task.toolbox.secrets;
        // A person was asked for a path that names secrets.
        let is_named = path.is_some_and(|path| secrets.is_secret(path));
        let mut names = Names { allowed: Vec::new(), left_out: Vec::new(), is_cut: found.is_cut };
        let mut length = 0_usize;
        let mut seen = HashSet::new();
        for name in found.text.split('\0').map(|name| name.trim_matches('\n')) {
            if name.is_empty() || !seen.insert(name) {
                continue;
            }
            if !is_named && secrets.is_secret(name) {
                names.left_out.push(name.to_owned());
                continue;
            }
            length = length.saturating_add(name.len() + 16);
            if length > MAX_PATHS {
                names.is_cut = true;
                break;
            }
            names.allowed.push(name.to_owned());
        }
        Ok(names)
    }

    /// The path of the call, relative to the first root.
    fn path(&self, args: Args<'_>) -> Result<Option<String>, Answer> {
        let Some(path) = args.text("path") else { return Ok(None) };
        let workspace = &self.task.toolbox.workspace;
        let at = workspace.resolve(path).map_err(|error| bad_path(path, &error))?;
        if at.root != 0 {
            let message =
                format!("`path` is wrong: `{}` is not in the first workspace folder", at.shown);
            return Err(Answer::failed(FailureKind::InvalidArgs, message));
        }
        Ok(Some(at.shown))
    }

    /// Refuses a revision, or an end of a range, that names a file's content: it would be shown whatever
    /// its name is.
    async fn require_trees(&self, revision: &str) -> Result<(), Answer> {
        for end in revision.split("..").map(|end| end.trim_start_matches('.')) {
            if !end.is_empty() && self.kind(end).await? != "commit" {
                let message = format!("`ref` is wrong: `{end}` is no commit");
                return Err(Answer::failed(FailureKind::InvalidArgs, message));
            }
        }
        Ok(())
    }

    /// What a revision names when tags are followed: `commit`, `tree` or `blob`.
    async fn kind(&self, revision: &str) -> Result<String, Answer> {
        let kind = self.read(&["cat-file", "-t", revision], KEPT).await?.text;
        if kind.trim() != "tag" {
            return Ok(kind.trim().to_owned());
        }
        let target = format!("{revision}^{{}}");
        let kind = self.read(&["cat-file", "-t", &target], KEPT).await?.text;
        match kind.trim() {
            "commit" => Ok("commit".to_owned()),
            // The tag would be shown with what it points at, which has no path.
            other => Err(failed(format!("the tag `{revision}` names a {other} and no commit"))),
        }
    }

    /// Checks the path in a revision like `HEAD:path`: known, inside the workspace, and not secret.
    fn path_in(&self, revision: &str, path: Option<&str>, is_folder: bool) -> Result<(), Answer> {
        let invalid = |message: String| Answer::failed(FailureKind::InvalidArgs, message);
        if path.is_some() {
            return Err(invalid(
                "`path` cannot be combined with a file or folder in `ref`".to_owned(),
            ));
        }
        let Some(inner) = inner_path(revision) else {
            if is_folder && self.prefix.is_empty() {
                return Ok(());
            }
            return Err(invalid(format!("`ref` is wrong: write `{revision}` as rev:path")));
        };
        let inner = match inner.strip_prefix("./") {
            Some(below) => below,
            None => inner.strip_prefix(self.prefix.as_str()).ok_or_else(|| {
                invalid(format!("`ref` is wrong: `{inner}` is not in the first workspace folder"))
            })?,
        };
        if inner.is_empty() {
            return Ok(());
        }
        let inner =
            normalise(inner).map_err(|error| invalid(format!("`ref` is wrong: {error}")))?;
        if !is_folder && self.task.toolbox.secrets.is_secret(&inner) {
            let message = format!(
                "`{inner}` may hold secrets; to have the person asked, give the commit as `ref` and the file \
                 as `path`"
            );
            return Err(failed(message));
        }
        Ok(())
    }

    async fn read(&self, args: &[&str], kept: usize) -> Result<Printed, Answer> {
        let command = command(self.task, &self.filters, args, kept, LIMIT).map_err(failed)?;
        let ended = self.task.children().run(command, self.task.cancel).await;
        match ended.how {
            How::Exited(0) => Ok(Printed {
                text: ended.output.text(),
                is_cut: ended.output.dropped() > 0,
                errors: ended.errors,
            }),
            How::Exited(code) => {
                let first = ended.errors.lines().map(str::trim).find(|line| !line.is_empty());
                let cause = first.map_or_else(|| format!("exit code {code}"), str::to_owned);
                Err(failed(format!("git: {cause}")).exited(code))
            }
            How::Signalled(signal) => Err(failed(format!("git was killed by signal {signal}"))),
            How::TimedOut => Err(Answer::failed(
                FailureKind::Timeout,
                format!("git took longer than {} s", LIMIT.as_secs()),
            )),
            How::Cancelled => Err(cancelled()),
            How::Broken(cause) => Err(failed(format!("git did not run: {cause}"))),
        }
    }
}

/// Names of files a diff is about.
struct Names {
    allowed: Vec<String>,
    left_out: Vec<String>,
    is_cut: bool,
}

impl Names {
    fn note(&self, mut answer: Answer) -> Answer {
        if self.is_cut {
            answer = answer.note("[too many files; name a path to see the others]").truncated(true);
        }
        if self.left_out.is_empty() {
            return answer;
        }
        let count = self.left_out.len();
        let named: Vec<&str> = self.left_out.iter().take(5).map(String::as_str).collect();
        let more = if count > named.len() { ", ..." } else { "" };
        let files = if count == 1 {
            "file that may hold secrets is"
        } else {
            "files that may hold secrets are"
        };
        answer.note(&format!("[{count} {files} left out: {}{more}]", named.join(", ")))
    }
}

fn failed(message: String) -> Answer {
    Answer::failed(FailureKind::Failed, message)
}

fn answer(printed: &Printed, nothing: &str) -> Answer {
    let text = match (printed.text.trim().is_empty(), printed.errors.trim()) {
        (false, _) => printed.text.trim_end_matches('\n'),
        (true, "") => nothing,
        (true, errors) => errors,
    };
    let answer = Answer::of(text.to_owned());
    if printed.is_cut {
        return answer.note("[only the first 64 KiB; name a path to see less]").truncated(true);
    }
    answer
}

/// A path git takes as it is written.
fn literal(path: &str) -> String {
    format!(":(literal){path}")
}

/// The path in `rev:path`, `:path` or `:stage:path`; a colon inside braces belongs to the revision.
fn inner_path(revision: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let colon = revision.char_indices().find_map(|(at, char)| {
        match char {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => return Some(at),
            _ => {}
        }
        None
    })?;
    let (before, after) = (revision.get(..colon)?, revision.get(colon + 1..)?);
    if !before.is_empty() {
        return Some(after);
    }
    // `:/text` looks for a commit by its message.
    if after.starts_with('/') {
        return None;
    }
    match after.split_once(':') {
        Some(("0" | "1" | "2" | "3", path)) => Some(path),
        _ => Some(after),
    }
}

fn command(
    task: &Task<'_>,
    filters: &[String],
    args: &[&str],
    kept: usize,
    limit: Duration,
) -> Result<Command, String> {
    let toolbox = task.toolbox;
    let mut environment: Vec<(OsString, OsString)> =
        environment::filter(&toolbox.options.environment)
            .into_iter()
            .filter(|(name, _)| !name.to_string_lossy().to_uppercase().starts_with("GIT_"))
            .collect();
    let mut settings: Vec<(String, String)> =
        SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for filter in filters {
        for part in ["clean", "smudge", "process"] {
            settings.push((format!("filter.{filter}.{part}"), String::new()));
        }
        settings.push((format!("filter.{filter}.required"), "false".to_owned()));
    }
    let mut set = |name: String, value: String| environment.push((name.into(), value.into()));
    set("GIT_TERMINAL_PROMPT".into(), "0".into());
    set("GIT_OPTIONAL_LOCKS".into(), "0".into());
    set("GIT_NO_LAZY_FETCH".into(), "1".into());
    set("GIT_ALLOW_PROTOCOL".into(), String::new());
    set("GIT_PAGER".into(), "cat".into());
    set("GIT_EDITOR".into(), "false".into());
    set("LC_ALL".into(), "C.UTF-8".into());
    environment.extend(as_environment(settings));
    let mut arguments = vec!["--no-pager".to_owned()];
    arguments.extend(args.iter().map(|arg| (*arg).to_owned()));
    Ok(Command {
        program: "git".to_owned(),
        arguments,
        directory: toolbox.workspace.first()?.display().to_string(),
        environment: with_absolute_path(environment),
        sandbox: Sandbox::Off,
        roots: Vec::new(),
        apart: true,
        keep: Keep::First(kept),
        limit,
    })
}

/// The environment with a `PATH` that leads to no program of the workspace itself.
fn with_absolute_path(environment: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    environment
        .into_iter()
        .map(|(name, value)| {
            if name != "PATH" {
                return (name, value);
            }
            let absolute = std::env::split_paths(&value).filter(|folder| folder.is_absolute());
            let joined = std::env::join_paths(absolute).unwrap_or_default();
            (name, joined)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::inner_path;

    #[test]
    fn the_path_in_a_revision_is_found() {
        let table = [
            ("HEAD", None),
            ("HEAD:a/b", Some("a/b")),
            ("HEAD~2^{commit}:a:b", Some("a:b")),
            ("HEAD^{/fix:}", None),
            ("HEAD^{/fix:}:a", Some("a")),
            (":/fix", None),
            (":a", Some("a")),
            (":0:a", Some("a")),
            (":9:a", Some("9:a")),
            ("@{u}:./a", Some("./a")),
            ("HEAD:", Some("")),
        ];
        for (revision, expected) in table {
            assert_eq!(inner_path(revision), expected, "{revision}");
        }
    }
}
