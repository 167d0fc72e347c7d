//! Directories of the service's own below a folder that somebody else fills.
//!
//! A workspace may bring `.desiide` along as a link to anywhere. What we keep there would then be written
//! to, and read from, where nobody agreed to; so each step of the way must be a directory itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd as _, BorrowedFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

/// Where the history of tasks and the salt lie below the first root.
pub const STATE: [&str; 2] = [".desiide", "state"];
/// Where decisions are logged below the first root.
pub const LOGS: [&str; 2] = [".desiide", "logs"];

/// The canonical path of a directory below `base`, each of `names` one step down; missing ones are made.
/// `base` itself may be reached by links, no step below it may be one.
///
/// # Errors
///
/// When `base` is not there, a step is no directory or a link, or one cannot be made.
pub fn make(base: &Path, names: &[&str]) -> io::Result<PathBuf> {
    walk(base, names, |parent, name| {
        match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error),
        }
    })
}

/// As [`make`], without making anything.
///
/// # Errors
///
/// As [`make`], and when a step is missing.
pub fn find(base: &Path, names: &[&str]) -> io::Result<PathBuf> {
    walk(base, names, |_, _| Ok(()))
}

fn walk(
    base: &Path,
    names: &[&str],
    prepare: impl Fn(BorrowedFd<'_>, &str) -> Result<(), Errno>,
) -> io::Result<PathBuf> {
    let mut path = fs::canonicalize(base)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut handle = rustix::fs::openat(CWD, &path, flags, Mode::empty())?;
    for name in names {
        path.push(name);
        let told = |error: Errno| {
            let error = if error == Errno::LOOP { Errno::NOTDIR } else { error };
            let error = io::Error::from(error);
            let why = match error.kind() {
                io::ErrorKind::NotADirectory => {
                    format!("`{}` is no directory; a link is not followed", path.display())
                }
                _ => format!("`{}`: {error}", path.display()),
            };
            io::Error::new(error.kind(), why)
        };
        prepare(handle.as_fd(), name).map_err(told)?;
        handle = rustix::fs::openat(&handle, *name, flags, Mode::empty()).map_err(told)?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_step_is_a_link() {
        let folder = std::env::temp_dir().join(format!("shellgate-place-{}", uuid::Uuid::new_v4()));
        let (root, elsewhere) = (folder.join("root"), folder.join("elsewhere"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(elsewhere.join("state")).unwrap();
        let found = |name: &str| find(&root, &[name, "state"]).map_err(|error| error.kind());
        let made = |name: &str| make(&root, &[name, "state"]).map_err(|error| error.kind());
        assert_eq!(found("a"), Err(io::ErrorKind::NotFound));
        let whole = fs::canonicalize(&root).unwrap().join("a/state");
        assert_eq!(
            (made("a"), made("a"), found("a")),
            (Ok(whole.clone()), Ok(whole.clone()), Ok(whole))
        );
        symlink(&elsewhere, root.join("b")).unwrap();
        assert_eq!(
            (made("b"), found("b")),
            (Err(io::ErrorKind::NotADirectory), Err(io::ErrorKind::NotADirectory))
        );
        fs::create_dir(root.join("c")).unwrap();
        symlink(elsewhere.join("state"), root.join("c/state")).unwrap();
        assert_eq!(made("c"), Err(io::ErrorKind::NotADirectory));
        fs::write(root.join("d"), "").unwrap();
        assert_eq!(made("d"), Err(io::ErrorKind::NotADirectory));
        // The folder the person named may be reached by a link.
        symlink(&root, folder.join("way")).unwrap();
        assert!(make(&folder.join("way"), &["a"]).is_ok());
        fs::remove_dir_all(folder).unwrap();
    }
}
