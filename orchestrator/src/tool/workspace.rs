//! The roots of a task, opened once; every path is looked up beneath one of them.
//!
//! A path is first canonicalised, which decides whether it stays inside its root and where it truly lies.
//! The file is then opened by that true path beneath the opened root, and no symbolic link is followed any
//! more: a link that was swapped in meanwhile makes the opening fail instead of leading out.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

pub use super::path::PathError;
use super::path::normalise;
use crate::task::project::Place;

/// Why a workspace could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceError {
    /// No root was given.
    NoRoot,
    /// A root is not an absolute path.
    Relative(String),
    /// A root cannot be opened as a directory.
    Unusable {
        /// The root as given.
        root: String,
        /// Why.
        cause: String,
    },
}

impl fmt::Display for WorkspaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoot => f.write_str("no workspace folder is open"),
            Self::Relative(root) => {
                write!(f, "the workspace root `{root}` is not an absolute path")
            }
            Self::Unusable { root, cause } => {
                write!(f, "the workspace root `{root}` cannot be opened: {cause}")
            }
        }
    }
}

impl std::error::Error for WorkspaceError {}

/// One opened root.
#[derive(Debug)]
struct Root {
    handle: OwnedFd,
    path: PathBuf,
    identity: (u64, u64),
}

/// Opened roots.
#[derive(Debug)]
pub struct Workspace {
    place: Place,
    roots: Vec<Root>,
}

/// A path that stays inside one root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The root's place in the workspace, from 0.
    pub root: usize,
    /// The path as it was given, normalised.
    pub shown: String,
    /// Where it truly lies beneath the root, no symbolic link in it; empty for the root itself.
    pub real: PathBuf,
    /// Whether something was there.
    pub exists: bool,
}

/// Why a file could not be read as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileError {
    /// Nothing is there.
    Missing,
    /// A directory.
    Directory,
    /// A pipe, a device or a socket.
    Special,
    /// More bytes than the limit, which is given.
    TooLarge(u64),
    /// A NUL byte stands in its first 8,192 bytes.
    Binary,
    /// It could not be opened or read.
    Unreadable(String),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::Directory => f.write_str("it is a folder"),
            Self::Special => f.write_str("it is not a regular file"),
            Self::TooLarge(limit) => write!(f, "it is larger than {} MiB", limit / (1024 * 1024)),
            Self::Binary => f.write_str("it is a binary file"),
            Self::Unreadable(cause) => write!(f, "it cannot be read: {cause}"),
        }
    }
}

impl std::error::Error for FileError {}

impl From<Errno> for FileError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::LOOP | Errno::XDEV | Errno::NOTDIR => {
                Self::Unreadable("it changed while it was looked up".to_owned())
            }
            // Opening a socket, or a device whose driver is gone.
            Errno::NXIO | Errno::NODEV => Self::Special,
            other => Self::Unreadable(other.to_string()),
        }
    }
}

/// Bytes in which a NUL makes a file binary.
const BINARY_WINDOW: usize = 8192;

impl Workspace {
    /// Opens the roots in order.
    ///
    /// # Errors
    ///
    /// When there is none, or one is relative or not a directory that can be opened.
    pub fn open(roots: &[PathBuf]) -> Result<Self, WorkspaceError> {
        if roots.is_empty() {
            return Err(WorkspaceError::NoRoot);
        }
        let roots = roots.iter().map(|root| Root::open(root)).collect::<Result<Vec<_>, _>>()?;
        let home = std::env::var_os("HOME")
            .filter(|home| Path::new(home).is_absolute())
            .map(|home| std::fs::canonicalize(&home).unwrap_or_else(|_| PathBuf::from(home)))
            .and_then(|home| home.into_os_string().into_string().ok())
            .unwrap_or_default();
        let place = Place {
            roots: roots.iter().map(|root| root.path.to_string_lossy().into_owned()).collect(),
            home,
        };
        Ok(Self { place, roots })
    }

    /// Where it lies: canonical roots and the person's home.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// The canonical path of a root, if there are that many.
    pub fn root(&self, index: usize) -> Option<&Path> {
        self.roots.get(index).map(|root| root.path.as_path())
    }

    /// The path of the first root, where it is still the directory that was opened.
    ///
    /// # Errors
    ///
    /// When it is gone or something else took its place.
    pub fn first(&self) -> Result<&Path, String> {
        let root = self.roots.first().ok_or_else(|| WorkspaceError::NoRoot.to_string())?;
        root.still_there().map(|()| root.path.as_path())
    }

    /// Why a root is no longer the directory that was opened; none when all are.
    pub fn problem(&self) -> Option<String> {
        self.roots.iter().find_map(|root| root.still_there().err())
    }

    /// The place of a path: in the first root where it exists, else in the first root.
    ///
    /// # Errors
    ///
    /// When it breaks a rule, or a symbolic link leads out or nowhere.
    pub fn resolve(&self, path: &str) -> Result<Resolved, PathError> {
        let shown = normalise(path)?;
        let mut fallback = None;
        for (index, root) in self.roots.iter().enumerate() {
            let (real, exists) = root.locate(&shown)?;
            let resolved = Resolved { root: index, shown: shown.clone(), real, exists };
            if exists {
                return Ok(resolved);
            }
            fallback.get_or_insert(resolved);
        }
        fallback.ok_or(PathError::Missing)
    }

    /// As [`Self::resolve`], for a path that must lead somewhere.
    ///
    /// # Errors
    ///
    /// As [`Self::resolve`], and [`PathError::Missing`].
    pub fn resolve_existing(&self, path: &str) -> Result<Resolved, PathError> {
        let resolved = self.resolve(path)?;
        if resolved.exists { Ok(resolved) } else { Err(PathError::Missing) }
    }

    /// The kind of what lies there now; never blocks and opens nothing.
    ///
    /// # Errors
    ///
    /// When it is gone or cannot be looked up.
    pub fn kind(&self, at: &Resolved) -> Result<FileType, FileError> {
        let handle = self.open_beneath(at, OFlags::PATH)?;
        Ok(FileType::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode))
    }

    /// Opens a directory for reading its names.
    ///
    /// # Errors
    ///
    /// When it is gone, or no directory.
    pub fn open_directory(&self, at: &Resolved) -> Result<OwnedFd, FileError> {
        Ok(self.open_beneath(at, OFlags::RDONLY | OFlags::DIRECTORY)?)
    }

    /// Opens a regular file for reading; never blocks on a pipe or a device.
    ///
    /// # Errors
    ///
    /// When it is gone, or no regular file.
    pub fn open_file(&self, at: &Resolved) -> Result<File, FileError> {
        match self.kind(at)? {
            FileType::RegularFile => {}
            FileType::Directory => return Err(FileError::Directory),
            _ => return Err(FileError::Special),
        }
        regular(self.open_beneath(at, READ)?)
    }

    /// The whole of a text file, at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// When it is no text file, or larger.
    pub fn read(&self, at: &Resolved, limit: u64) -> Result<Vec<u8>, FileError> {
        let file = self.open_file(at)?;
        if file.metadata().is_ok_and(|metadata| metadata.len() > limit) {
            return Err(FileError::TooLarge(limit));
        }
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(file, limit.saturating_add(1)), &mut bytes)
            .map_err(|error| FileError::Unreadable(error.to_string()))?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
            return Err(FileError::TooLarge(limit));
        }
        if bytes.iter().take(BINARY_WINDOW).any(|byte| *byte == 0) {
            return Err(FileError::Binary);
        }
        Ok(bytes)
    }

    fn open_beneath(&self, at: &Resolved, flags: OFlags) -> Result<OwnedFd, Errno> {
        let root = self.roots.get(at.root).ok_or(Errno::NOENT)?;
        open_beneath(root.handle.as_fd(), &at.real, flags)
    }
}

impl Root {
    /// Whether its path still leads to it; else why not.
    fn still_there(&self) -> Result<(), String> {
        let path = self.path.display();
        let now = std::fs::symlink_metadata(&self.path)
            .map_err(|error| format!("the workspace folder `{path}` is gone: {error}"))?;
        if (now.dev(), now.ino()) == self.identity {
            Ok(())
        } else {
            Err(format!("the workspace folder `{path}` was replaced while the task ran"))
        }
    }

    fn open(path: &Path) -> Result<Self, WorkspaceError> {
        if !path.is_absolute() {
            return Err(WorkspaceError::Relative(path.display().to_string()));
        }
        let unusable =
            |cause: String| WorkspaceError::Unusable { root: path.display().to_string(), cause };
        let canonical = std::fs::canonicalize(path).map_err(|error| unusable(error.to_string()))?;
        if canonical.to_str().is_none() {
            return Err(unusable("its path is not UTF-8".to_owned()));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&canonical, flags, Mode::empty())
            .map_err(|error| unusable(error.to_string()))?;
        let stat = rustix::fs::fstat(&handle).map_err(|error| unusable(error.to_string()))?;
        Ok(Self { handle, path: canonical, identity: (stat.st_dev, stat.st_ino) })
    }

    /// Where a normalised path truly lies beneath this root, and whether something is there.
    fn locate(&self, shown: &str) -> Result<(PathBuf, bool), PathError> {
        let joined = if shown == "." { self.path.clone() } else { self.path.join(shown) };
        match std::fs::canonicalize(&joined) {
            Ok(real) => return Ok((self.inside(&real)?, true)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(PathError::Unusable(error.to_string())),
        }
        let mut rest = Vec::new();
        let mut ancestor = joined.as_path();
        loop {
            if std::fs::symlink_metadata(ancestor).is_ok() {
                let real = std::fs::canonicalize(ancestor).map_err(|error| {
                    if error.kind() == io::ErrorKind::NotFound {
                        PathError::Dangling
                    } else {
                        PathError::Unusable(error.to_string())
                    }
                })?;
                let mut real = self.inside(&real)?;
                real.extend(rest.iter().rev());
                return Ok((real, false));
            }
            let (Some(parent), Some(name)) = (ancestor.parent(), ancestor.file_name()) else {
                return Err(PathError::Missing);
            };
            if ancestor == self.path {
                return Err(PathError::Unusable("the workspace folder is gone".to_owned()));
            }
            rest.push(name.to_owned());
            ancestor = parent;
        }
    }

    fn inside(&self, real: &Path) -> Result<PathBuf, PathError> {
        real.strip_prefix(&self.path).map(Path::to_path_buf).map_err(|_| PathError::LeadsOut)
    }
}

/// Flags that open for reading and never wait for a writer or take a terminal.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Opens a path beneath a directory; no symbolic link is followed, not even at its end.
///
/// # Errors
///
/// What the system said; `LOOP` for a link, `XDEV` for a way out.
pub(super) fn open_beneath(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    loop {
        let handle = match rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve) {
            // A rename ran elsewhere while the kernel looked the path up.
            Err(Errno::AGAIN | Errno::INTR) => continue,
            // The system call is not there, or a container's filter does not know it.
            Err(Errno::NOSYS | Errno::PERM) => open_step_by_step(directory, path, flags)?,
            other => other?,
        };
        // With `PATH` and `NOFOLLOW` a link at the end is opened itself.
        if flags.contains(OFlags::PATH) {
            let mode = rustix::fs::fstat(&handle)?.st_mode;
            if FileType::from_raw_mode(mode) == FileType::Symlink {
                return Err(Errno::LOOP);
            }
        }
        return Ok(handle);
    }
}

fn open_step_by_step(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut current = rustix::fs::openat(directory, ".", step, Mode::empty())?;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let name = match component {
            Component::Normal(name) => name,
            Component::CurDir => continue,
            _ => return Err(Errno::XDEV),
        };
        if components.peek().is_none() {
            return rustix::fs::openat(&current, name, flags, Mode::empty());
        }
        current = rustix::fs::openat(&current, name, step, Mode::empty())?;
    }
    rustix::fs::openat(&current, ".", flags, Mode::empty())
}

/// A name in an opened directory, opened as a regular file; never blocks.
///
/// # Errors
///
/// When it is gone, or no regular file.
pub(super) fn open_entry(
    directory: BorrowedFd<'_>,
    name: &std::ffi::OsStr,
) -> Result<File, FileError> {
    let stat = rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(FileError::Special);
    }
    let flags = READ | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    regular(rustix::fs::openat(directory, name.as_bytes(), flags, Mode::empty())?)
}

fn regular(handle: OwnedFd) -> Result<File, FileError> {
    match FileType::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode) {
        FileType::RegularFile => Ok(File::from(handle)),
        FileType::Directory => Err(FileError::Directory),
        _ => Err(FileError::Special),
    }
}
