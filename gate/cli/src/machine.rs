//! What this machine says about the place a command would run in.

use std::path::{Path, PathBuf};

use shellgate::model::context::{Context, Preset, Shell};

use crate::command::{Failure, Place};

/// The context of a command that a person is about to run here: current directory, the root of its
/// repository as workspace (the directory itself outside one), home and current branch. What was
/// given as an argument wins.
///
/// # Errors
/// When the current directory or the home is needed and cannot be told.
pub fn context(place: &Place) -> Result<Context, Failure> {
    let here = match &place.cwd {
        Some(directory) => absolute(Path::new(directory))?,
        None => std::env::current_dir().map_err(|error| {
            Failure::Usage(format!("cannot tell the current directory: {error}; give --cwd"))
        })?,
    };
    let root = repository(&here);
    let workspaces = if place.workspaces.is_empty() {
        vec![text(root.as_deref().unwrap_or(&here))]
    } else {
        place
            .workspaces
            .iter()
            .map(|directory| absolute(Path::new(directory)).map(|path| text(&path)))
            .collect::<Result<_, _>>()?
    };
    let home =
        match &place.home {
            Some(home) => text(&absolute(Path::new(home))?),
            None => std::env::var("HOME").ok().filter(|home| home.starts_with('/')).ok_or_else(
                || Failure::Usage("HOME is not set to an absolute path; give --home".into()),
            )?,
        };
    let branch = place.branch.clone().or_else(|| root.as_deref().and_then(branch));
    Ok(Context {
        cwd: text(&here),
        workspaces,
        home,
        branch,
        preset: place.preset.into(),
        parameters: std::collections::BTreeMap::new(),
        shell: place.shell.map(Shell::from).unwrap_or_default(),
    })
}

/// The fixed context of the batch form, with what was given as arguments on top.
pub fn fixed(place: &Place) -> Context {
    let mut context = Context { preset: Preset::from(place.preset), ..Context::default() };
    context.shell = place.shell.map(Shell::from).unwrap_or_default();
    if let Some(cwd) = &place.cwd {
        context.cwd.clone_from(cwd);
    }
    if !place.workspaces.is_empty() {
        context.workspaces.clone_from(&place.workspaces);
    }
    if let Some(home) = &place.home {
        context.home.clone_from(home);
    }
    if let Some(branch) = &place.branch {
        context.branch = Some(branch.clone());
    }
    context
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::Usage(format!("cannot resolve `{}`: {error}", path.display())))
}

/// The nearest directory, from `start` upwards, that holds `.git`.
fn repository(start: &Path) -> Option<PathBuf> {
    start.ancestors().find(|directory| directory.join(".git").exists()).map(Path::to_path_buf)
}

/// The branch that `HEAD` names; none when it is detached. A linked worktree has a file in place of
/// the directory, which names the real one (gitrepository-layout).
fn branch(root: &Path) -> Option<String> {
    let entry = root.join(".git");
    let directory = if entry.is_file() {
        let text = std::fs::read_to_string(&entry).ok()?;
        root.join(text.trim().strip_prefix("gitdir:")?.trim())
    } else {
        entry
    };
    let head = std::fs::read_to_string(directory.join("HEAD")).ok()?;
    head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
}
