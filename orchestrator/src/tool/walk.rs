//! Goes through the files below a folder, sorted by path, as ripgrep would with hidden files included.
//!
//! Every folder is opened by its name in the folder above it, without following links. So nothing outside of
//! the root is ever listed or read, whatever is moved or linked meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::Override;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::workspace::{FileError, Resolved, Workspace, open_entry};

/// Folders nobody wants to see into, whatever a glob says.
const NEVER: [&str; 2] = [".git", "node_modules"];

/// Deeper folders are left out; it bounds how many are open at a time.
const MAX_DEPTH: usize = 128;

/// Most bytes of a file of ignore rules.
const MAX_RULES: u64 = 1024 * 1024;

/// Which files are wanted.
pub(super) struct Wanted<'a> {
    /// Further names to leave out, as a gitignore file has them.
    pub ignored: &'a [String],
    /// Globs that files must match, or must not with a leading `!`; a match outweighs ignore rules.
    pub globs: Override,
    /// Levels of folders; 1 for the direct children.
    pub depth: usize,
}

/// One file that was found.
pub(super) struct Found<'a> {
    /// The folder it is in.
    pub folder: BorrowedFd<'a>,
    /// Its name there.
    pub name: &'a OsStr,
    /// Its path from the root, by the way that was asked for.
    pub path: &'a Path,
    /// Its true path from the root.
    pub real: &'a Path,
}

/// The rules of one folder.
struct Rules {
    /// From `.rgignore` and `.ignore`; they outweigh git's at any level.
    own: [Gitignore; 2],
    /// From `.gitignore`.
    git: Gitignore,
    /// From `.git/info/exclude`.
    exclude: Gitignore,
    /// Whether a repository starts here: rules from above do not count below.
    is_repository: bool,
}

/// One open folder.
struct Level {
    folder: OwnedFd,
    /// What is still to be visited, last first.
    rest: Vec<(OsString, FileType)>,
    rules: Rules,
    path: PathBuf,
    real: PathBuf,
}

/// Visits the wanted regular files below a folder until `visit` breaks.
///
/// # Errors
///
/// When the folder itself cannot be opened. Folders below that cannot be are passed over.
pub(super) fn files(
    workspace: &Workspace,
    at: &Resolved,
    wanted: &Wanted<'_>,
    visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
) -> Result<(), FileError> {
    let excluded = excluded(wanted.ignored);
    let (global, _) = GitignoreBuilder::new("/").build_global();
    let above = rules_above(workspace, at);
    let top = workspace.open_directory(at)?;
    let shown = if at.shown == "." { PathBuf::new() } else { PathBuf::from(&at.shown) };
    let mut levels = vec![Level::open(top, shown, at.real.clone())?];
    while let Some(level) = levels.last_mut() {
        let Some((name, kind)) = level.rest.pop() else {
            levels.pop();
            continue;
        };
        let (path, real) = (level.path.join(&name), level.real.join(&name));
        let is_folder = kind == FileType::Directory;
        let anchored = Path::new("/").join(&real);
        if NEVER.iter().any(|never| name == *never)
            || excluded.matched(&anchored, is_folder).is_ignore()
        {
            continue;
        }
        let is_ignored = match wanted.globs.matched(&anchored, is_folder) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => {
                let rules = levels.iter().rev().map(|level| &level.rules).chain(above.iter().rev());
                is_ignored(rules, &global, &anchored, is_folder)
            }
        };
        if is_ignored {
            continue;
        }
        let depth = levels.len();
        let Some(level) = levels.last() else { break };
        if is_folder {
            if depth < wanted.depth.min(MAX_DEPTH)
                && let Ok(next) = level.enter(&name, path, real)
            {
                levels.push(next);
            }
        } else {
            let found =
                Found { folder: level.folder.as_fd(), name: &name, path: &path, real: &real };
            if visit(found).is_break() {
                break;
            }
        }
    }
    Ok(())
}

/// What no glob brings back: the folders in [`NEVER`] and what the project leaves out.
fn excluded(ignored: &[String]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("/");
    for glob in ignored {
        // A glob that is not one leaves nothing out.
        let _ = builder.add_line(None, glob);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn is_ignored<'a>(
    rules: impl Iterator<Item = &'a Rules>,
    global: &Gitignore,
    path: &Path,
    is_folder: bool,
) -> bool {
    let mut own: Option<bool> = None;
    let mut git: Option<bool> = None;
    let mut exclude: Option<bool> = None;
    let mut left_repository = false;
    let matched = |rules: &Gitignore| match rules.matched(path, is_folder) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    };
    for one in rules {
        own = own.or_else(|| one.own.iter().find_map(matched));
        if !left_repository {
            git = git.or_else(|| matched(&one.git));
            exclude = exclude.or_else(|| matched(&one.exclude));
        }
        left_repository |= one.is_repository;
    }
    own.or(git).or(exclude).or_else(|| matched(global)).unwrap_or(false)
}

impl Level {
    fn open(folder: OwnedFd, path: PathBuf, real: PathBuf) -> Result<Self, FileError> {
        let mut rest = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => kind(folder.as_fd(), &name),
                known => known,
            };
            // Links are not followed, and nothing else holds text.
            if matches!(kind, FileType::RegularFile | FileType::Directory) {
                rest.push((name, kind));
            }
        }
        rest.sort_unstable_by(|left, right| right.0.cmp(&left.0));
        let anchor = Path::new("/").join(&real);
        let rules = Rules {
            own: [
                rules(folder.as_fd(), &anchor, &[".rgignore"]),
                rules(folder.as_fd(), &anchor, &[".ignore"]),
            ],
            git: rules(folder.as_fd(), &anchor, &[".gitignore"]),
            exclude: rules(folder.as_fd(), &anchor, &[".git", "info", "exclude"]),
            is_repository: rustix::fs::statat(&folder, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok(),
        };
        Ok(Self { folder, rest, rules, path, real })
    }

    fn enter(&self, name: &OsStr, path: PathBuf, real: PathBuf) -> Result<Self, FileError> {
        Self::open(enter(self.folder.as_fd(), name)?, path, real)
    }
}

fn enter(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, FileError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?)
}

fn kind(folder: BorrowedFd<'_>, name: &OsStr) -> FileType {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

/// The rules in a file below a folder; none where it is missing or no regular file.
fn rules(folder: BorrowedFd<'_>, anchor: &Path, path: &[&str]) -> Gitignore {
    let text = || -> Result<String, FileError> {
        let (name, folders) = path.split_last().ok_or(FileError::Missing)?;
        let mut above: Option<OwnedFd> = None;
        for step in folders {
            let here = above.as_ref().map_or(folder, |folder| folder.as_fd());
            above = Some(enter(here, OsStr::new(step))?);
        }
        let here = above.as_ref().map_or(folder, |folder| folder.as_fd());
        Ok(read(open_entry(here, OsStr::new(name))?))
    };
    let Ok(text) = text() else { return Gitignore::empty() };
    let mut builder = GitignoreBuilder::new(anchor);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that is no glob ignores nothing, as with git.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn read(file: File) -> String {
    let mut bytes = Vec::new();
    // What could be read counts.
    let _ = file.take(MAX_RULES).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The rules of the folders above the target: those of the workspace, and git's rules of the repository
/// around the workspace. Outermost first.
fn rules_above(workspace: &Workspace, at: &Resolved) -> Vec<Rules> {
    let mut found = Vec::new();
    let Some(root) = workspace.root(at.root) else { return found };
    let outer: Vec<&Path> = root.ancestors().skip(1).collect();
    let is_repository = |folder: &Path| std::fs::symlink_metadata(folder.join(".git")).is_ok();
    if !is_repository(root)
        && let Some(top) = outer.iter().position(|folder| is_repository(folder))
    {
        for folder in outer.iter().take(top + 1).rev() {
            found.push(outer_rules(root, folder));
        }
    }
    let mut real = PathBuf::new();
    for step in &at.real {
        let level = Resolved {
            root: at.root,
            shown: real.to_string_lossy().into_owned(),
            real: real.clone(),
            exists: true,
        };
        if let Ok(folder) = workspace.open_directory(&level)
            && let Ok(level) = Level::open(folder, PathBuf::new(), real.clone())
        {
            found.push(level.rules);
        }
        real.push(step);
    }
    found
}

/// Git's rules of a folder around the workspace. Its globs are written from there, so the workspace's paths
/// are matched as if they began there.
fn outer_rules(root: &Path, folder: &Path) -> Rules {
    let mut builder = GitignoreBuilder::new("/");
    let below = root.strip_prefix(folder).unwrap_or(root);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(handle) = rustix::fs::open(folder, flags, Mode::empty())
        && let Ok(file) = open_entry(handle.as_fd(), OsStr::new(".gitignore"))
    {
        for line in read(file).lines() {
            if let Some(line) = rebase(line, below) {
                let _ = builder.add_line(None, &line);
            }
        }
    }
    Rules {
        own: [Gitignore::empty(), Gitignore::empty()],
        git: builder.build().unwrap_or_else(|_| Gitignore::empty()),
        exclude: Gitignore::empty(),
        is_repository: false,
    }
}

/// A rule of an outer folder as one of the workspace `below` it; none where it says nothing about what is in
/// there. Rules that name a folder on the way are given up: they would hide the whole workspace.
fn rebase(line: &str, below: &Path) -> Option<String> {
    let (sign, glob) = line.strip_prefix('!').map_or(("", line), |rest| ("!", rest));
    let inner = glob.trim_end().trim_end_matches('/');
    if !inner.contains('/') || inner.starts_with("**/") {
        return Some(line.to_owned());
    }
    let mut steps = inner.trim_start_matches('/').split('/');
    for folder in below {
        let step = steps.next()?;
        if step == "**" {
            return Some(line.to_owned());
        }
        let matches =
            globset::Glob::new(step).is_ok_and(|glob| glob.compile_matcher().is_match(folder));
        if !matches {
            return None;
        }
    }
    let rest: Vec<&str> = steps.collect();
    let slash = if glob.trim_end().ends_with('/') { "/" } else { "" };
    (!rest.is_empty()).then(|| format!("{sign}/{}{slash}", rest.join("/")))
}

#[cfg(test)]
mod tests {
    use super::rebase;
    use std::path::Path;

    #[test]
    fn outer_rules_are_rebased() {
        let below = Path::new("apps/web");
        let table = [
            ("*.log", Some("*.log")),
            ("dist/", Some("dist/")),
            ("!keep.log", Some("!keep.log")),
            ("**/out", Some("**/out")),
            ("/apps/web/dist/", Some("/dist/")),
            ("apps/*/dist", Some("/dist")),
            ("!/apps/web/a/b", Some("!/a/b")),
            ("/apps/api/dist", None),
            ("/apps/web", None),
            ("/apps", None),
            ("a/b", None),
        ];
        for (line, expected) in table {
            assert_eq!(rebase(line, below).as_deref(), expected, "{line}");
        }
    }
}
