//! Whether migrations of a database wait to be run, as far as a repository can tell: a file of migrations
//! that is new since the last commit has not been run anywhere else.

use std::path::Path;

use super::Toolbox;
use super::git_read;

/// Folders of migrations, by their names.
const FOLDERS: [&str; 3] = ["migrations", "migration", "migrate"];
/// Where Alembic keeps its own.
const ALEMBIC: [&str; 2] = ["alembic", "versions"];
/// Folders nobody keeps migrations in.
const PASSED_OVER: [&str; 4] = ["node_modules", "target", "vendor", "venv"];
/// How deep such a folder may lie, and how many are looked at on the way.
const DEPTH: usize = 4;
const MOST: usize = 2_000;

/// Whether files in folders of migrations are new since the last commit. Without such a folder nobody asks
/// git.
pub(super) async fn are_pending(toolbox: &Toolbox) -> bool {
    let Ok(root) = toolbox.workspace().first().map(Path::to_owned) else { return false };
    let looked = tokio::task::spawn_blocking(move || has_folder(&root, DEPTH, &mut MOST.clone()));
    if !looked.await.unwrap_or_default() {
        return false;
    }
    let mut paths: Vec<String> =
        FOLDERS.iter().map(|folder| format!(":(glob)**/{folder}/**")).collect();
    paths.push(format!(":(glob)**/{}/**", ALEMBIC.join("/")));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let untracked = ["ls-files", "--others", "--exclude-standard", "--"];
    let staged = ["diff-index", "--cached", "--diff-filter=A", "--name-only", "HEAD", "--"];
    let untracked: Vec<&str> = untracked.into_iter().chain(paths.iter().copied()).collect();
    let staged: Vec<&str> = staged.into_iter().chain(paths.iter().copied()).collect();
    // Neither reads a working file, so no filter of the repository can run.
    git_read::says_something(toolbox, &untracked).await
        || git_read::says_something(toolbox, &staged).await
}

fn has_folder(at: &Path, depth: usize, left: &mut usize) -> bool {
    let Ok(entries) = std::fs::read_dir(at) else { return false };
    let mut below = Vec::new();
    for entry in entries.flatten() {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        // A link is not followed.
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_alembic = name == ALEMBIC[1] && at.file_name().is_some_and(|own| own == ALEMBIC[0]);
        if is_alembic || FOLDERS.contains(&name.as_ref()) {
            return true;
        }
        if !name.starts_with('.') && !PASSED_OVER.contains(&name.as_ref()) {
            below.push(entry.path());
        }
    }
    depth > 1 && below.iter().any(|path| has_folder(path, depth - 1, left))
}
