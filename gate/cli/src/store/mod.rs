//! What shellgate keeps on disk for a person: where it is, who may read it, one writer at a time.
//!
//! Takes paths and texts; gives them back whole. Never below a project, never readable by others.

pub mod grants;
pub mod installed;
pub mod log;
pub mod record;
pub mod redact;
pub mod time;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Where a person's files are (XDG Base Directory Specification).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// What a person decided: `policy.toml`, `grants.json`, `installed.json`; the last component is
    /// `shellgate`.
    pub config: PathBuf,
    /// What shellgate notes down: `decisions.jsonl`, `backup/`; the last component is `shellgate`.
    pub state: PathBuf,
}

impl Folders {
    /// The folders of a person with this home; the variables win where they hold an absolute path.
    pub fn new(home: &Path, config: Option<PathBuf>, state: Option<PathBuf>) -> Self {
        let pick = |given: Option<PathBuf>, below: &str| {
            given
                .filter(|path| path.is_absolute())
                .unwrap_or_else(|| home.join(below))
                .join("shellgate")
        };
        Self { config: pick(config, ".config"), state: pick(state, ".local/state") }
    }

    /// The folders that the environment names; none without a home.
    pub fn of_environment() -> Option<Self> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let home = variable("HOME").filter(|home| home.is_absolute())?;
        Some(Self::new(&home, variable("XDG_CONFIG_HOME"), variable("XDG_STATE_HOME")))
    }
}

/// Makes a folder and those above it, for its owner alone where it is new.
///
/// # Errors
/// Of the file system.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Holds the lock of a file, beside it under the name with `.lock` behind, until the returned
/// handle is dropped. The lock is one among processes (`flock`), so that a process that dies frees
/// it.
///
/// # Errors
/// Of the file system.
pub fn lock(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(beside(path, ".lock"))?;
    file.lock()?;
    Ok(file)
}

/// Puts a text in the place of a file: readers see the old or the new one, whole. The file keeps
/// its permissions; a new one is for its owner alone. A link is followed, so that it stays one.
///
/// # Errors
/// Of the file system.
pub fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if let Some(folder) = target.parent() {
        make_folder(folder)?;
    }
    let mode = std::fs::metadata(&target).map_or(0o600, |meta| meta.permissions().mode() & 0o7777);
    let draft = beside(&target, &format!(".{}.new", std::process::id()));
    let written = write_new(&draft, text, mode).and_then(|()| std::fs::rename(&draft, &target));
    if written.is_err() {
        // The draft is of no use to anybody; the failure that is told is the first one.
        let _ = std::fs::remove_file(&draft);
    }
    written
}

fn write_new(path: &Path, text: &[u8], mode: u32) -> io::Result<()> {
    let mut file =
        OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    file.sync_all()
}

/// The path with an ending put behind its last component.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
