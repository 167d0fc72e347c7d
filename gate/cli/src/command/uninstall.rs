//! `shellgate uninstall`: takes shellgate out of agents' settings.

use std::io::{self, Write as _};
use std::path::Path;

use clap::Args;

use crate::command::install::{agreed, folders, known, show, text};
use crate::command::{Failure, hook::names};
use crate::hook;
use crate::settings::{self, Call, Machine};
use crate::store::installed::{self, Entry};
use crate::store::{self, Folders};

/// Arguments of `uninstall`.
#[derive(Args, Debug)]
#[command(
    after_help = "A file that nobody has changed since gets back every byte it had. Out of another \
                        one only the entry is taken."
)]
pub struct Arguments {
    /// Agents to take it out of [default: all].
    #[arg(value_name = "AGENT", value_parser = names())]
    agents: Vec<String>,
    /// Show the changes and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Write without asking.
    #[arg(long)]
    yes: bool,
}

/// Shows, asks, writes; status 1 when a file could not be changed.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let folders = folders()?;
    let installed = known(&folders)?;
    let chosen: Vec<&Entry> = installed
        .entries
        .iter()
        .filter(|entry| arguments.agents.is_empty() || arguments.agents.contains(&entry.agent))
        .collect();
    let mut out = io::stdout().lock();
    if chosen.is_empty() {
        writeln!(out, "nothing is installed")?;
        return Ok(0);
    }
    let mut failed = false;
    let mut changes = Vec::new();
    for entry in chosen {
        match plan(entry) {
            Ok((now, after)) => {
                if now != after {
                    show(&mut out, &entry.file, now.as_deref(), after.as_deref())?;
                }
                changes.push((entry, after));
            }
            Err(what) => {
                failed = true;
                writeln!(out, "{}: {what}", entry.agent)?;
            }
        }
    }
    if arguments.dry_run || changes.is_empty() {
        return Ok(u8::from(failed));
    }
    if !arguments.yes && !agreed(&mut out, "Write this?")? {
        writeln!(out, "nothing was changed")?;
        return Ok(1);
    }
    let mut removed = 0_usize;
    for (entry, after) in changes {
        match write(&folders, entry, after.as_deref()) {
            Ok(()) => {
                removed += 1;
                writeln!(out, "{}: removed from {}", entry.agent, entry.file.display())?;
            }
            Err(what) => {
                failed = true;
                writeln!(out, "{}: {what}", entry.agent)?;
            }
        }
    }
    let left: Vec<String> = [&folders.config, &folders.state]
        .into_iter()
        .filter(|folder| folder.exists())
        .map(|folder| format!("`{}`", folder.display()))
        .collect();
    if removed > 0 && !left.is_empty() {
        writeln!(
            out,
            "Your policy, grants and the log of decisions stay in {}; remove them by hand where they \
             are not wanted.",
            left.join(" and ")
        )?;
    }
    Ok(u8::from(failed))
}

/// The text of the file now, and after; none for no file.
///
/// # Errors
/// When it cannot be read or changed, in words.
pub fn plan(entry: &Entry) -> Result<(Option<String>, Option<String>), String> {
    let now = text(&entry.file)?;
    let Some(current) = &now else { return Ok((None, None)) };
    if text(&entry.after)?.as_ref() == Some(current) {
        let before = match &entry.before {
            None => None,
            Some(path) => {
                Some(text(path)?.ok_or_else(|| format!("the copy `{}` is gone", path.display()))?)
            }
        };
        return Ok((now, before));
    }
    let agent = hook::find(&entry.agent)
        .ok_or_else(|| format!("`{}` is no agent that is known", entry.agent))?;
    // The form does not depend on where the file is.
    let nowhere = Machine {
        home: "/".into(),
        project: Some("/".into()),
        variables: std::collections::BTreeMap::new(),
    };
    let call = Call { program: "/shellgate".into(), approve: false, strict: false };
    let target = settings::targets(agent.name, &nowhere, &call).into_iter().next();
    let form = target.ok_or("it has no settings")?.form;
    let after = settings::removed(current, agent.name, &form)
        .map_err(|error| format!("{}: {error}", entry.file.display()))?;
    Ok((now, after))
}

/// Puts the file in place and forgets the install.
///
/// # Errors
/// Of the file system, in words.
pub fn write(folders: &Folders, entry: &Entry, after: Option<&str>) -> Result<(), String> {
    let words =
        |path: &Path, error: io::Error| format!("cannot write `{}`: {error}", path.display());
    if let Some(text) = after {
        store::replace(&entry.file, text.as_bytes()).map_err(|error| words(&entry.file, error))?;
    } else {
        if let Err(error) = std::fs::remove_file(&entry.file)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(words(&entry.file, error));
        }
        for folder in entry.folders.iter().rev() {
            // A folder that holds something else by now stays.
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
    let book = installed::file(folders);
    let mut installed = installed::read(&book).map_err(|error| error.to_string())?;
    installed.entries.retain(|other| other.agent != entry.agent || other.file != entry.file);
    installed::write(&book, &installed).map_err(|error| words(&book, error))?;
    for copy in entry.before.iter().chain([&entry.after]) {
        // A copy that stays behind harms nobody.
        let _ = std::fs::remove_file(copy);
    }
    Ok(())
}
