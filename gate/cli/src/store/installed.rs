//! What `install` has written: `installed.json` in the config folder.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::store::{Folders, lock, replace};

/// One settings file with an entry of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The agent.
    pub agent: String,
    /// The file, absolute.
    pub file: PathBuf,
    /// The command that the agent starts.
    pub command: String,
    /// A copy of the file before; none where it was made by us.
    pub before: Option<PathBuf>,
    /// A copy of the file as we left it.
    pub after: PathBuf,
    /// Folders that were made for it, the outermost first.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
}

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Installed {
    /// The program that was written into the files, absolute; empty for none.
    pub program: PathBuf,
    /// The files, in the order they were written.
    pub entries: Vec<Entry>,
}

/// The file of a person.
pub fn file(folders: &Folders) -> PathBuf {
    folders.config.join("installed.json")
}

/// What the file says; nothing where it is absent.
///
/// # Errors
/// When it cannot be read or holds something else.
pub fn read(path: &Path) -> io::Result<Installed> {
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|error| io::Error::other(format!("`{}`: {error}", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Installed::default()),
        Err(error) => {
            Err(io::Error::new(error.kind(), format!("cannot read `{}`: {error}", path.display())))
        }
    }
}

/// Puts it in place; a file without entries goes away.
///
/// # Errors
/// Of the file system.
pub fn write(path: &Path, installed: &Installed) -> io::Result<()> {
    let _lock = lock(path)?;
    if installed.entries.is_empty() {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    let mut text = serde_json::to_vec_pretty(installed).map_err(io::Error::other)?;
    text.push(b'\n');
    replace(path, &text)
}
