//! The log of decisions: lines of JSON, appended one at a time, in files that take turns.
//!
//! `decisions.jsonl` is the newest file, `decisions.jsonl.1` the one before, up to
//! `decisions.jsonl.4`. A lock on `decisions.jsonl.lock` is held for the length of one append, so that
//! hooks that run at once neither mix their lines nor turn the files twice. A line that a crash left
//! torn gets its end from the next append; whoever reads passes it over and counts it.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::store::record::Record;
use crate::store::{self, Folders};

/// Bytes a file may have before the next one begins.
pub const FILE_BYTES: u64 = 10 * 1024 * 1024;

/// Files that are kept, the newest included.
pub const FILES: u32 = 5;

const NAME: &str = "decisions.jsonl";

/// Why the log could not be written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum LogError {
    /// `HOME` is no absolute path.
    NoPlace,
    /// The machine said no.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        cause: io::Error,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPlace => f.write_str("no place for the log: set HOME to an absolute path"),
            Self::Io { path, cause } => write!(f, "cannot use `{}`: {cause}", path.display()),
        }
    }
}

impl std::error::Error for LogError {}

/// Appends one record to this person's log.
///
/// # Errors
/// When there is no place for it or the machine refuses.
pub fn append(record: &Record) -> Result<(), LogError> {
    Log::own()?.append(record)
}

/// A directory with a log.
#[derive(Clone, Debug)]
pub struct Log {
    directory: PathBuf,
    file_bytes: u64,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The records, oldest first.
    pub records: Vec<Record>,
    /// Lines that were torn or are no records.
    pub bad: usize,
}

impl Log {
    /// The log of the person who runs this: `$XDG_STATE_HOME/shellgate`, or
    /// `~/.local/state/shellgate` (XDG Base Directory Specification).
    ///
    /// # Errors
    /// When there is no place for it.
    pub fn own() -> Result<Self, LogError> {
        Folders::of_environment().map(|folders| Self::at(folders.state)).ok_or(LogError::NoPlace)
    }

    /// The log in that directory, which need not be there yet.
    pub const fn at(directory: PathBuf) -> Self {
        Self { directory, file_bytes: FILE_BYTES }
    }

    /// The same with files of at most so many bytes.
    #[must_use]
    pub const fn with_file_bytes(mut self, bytes: u64) -> Self {
        self.file_bytes = bytes;
        self
    }

    /// The newest file.
    pub fn path(&self) -> PathBuf {
        self.directory.join(NAME)
    }

    /// Appends one line under the lock; turns the files first where it would not fit.
    ///
    /// # Errors
    /// When the machine refuses.
    pub fn append(&self, record: &Record) -> Result<(), LogError> {
        let path = self.path();
        let lock = store::lock(&path).map_err(at(&path))?;
        let mut line = record.to_line();
        line.push('\n');
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        let size = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        if size > 0 && size.saturating_add(length) > self.file_bytes {
            self.turn()?;
        }
        let result = write_line(&path, &line).map_err(at(&path));
        drop(lock);
        result
    }

    /// All records, oldest first. Nothing is there before the first append.
    ///
    /// # Errors
    /// When a file that is there cannot be read.
    pub fn read(&self) -> Result<Read, LogError> {
        if !self.directory.is_dir() {
            return Ok(Read::default());
        }
        let newest = self.path();
        let lock = store::lock(&newest).map_err(at(&newest))?;
        let mut read = Read::default();
        for path in self.files() {
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(at(&path)(error)),
            };
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                match Record::from_line(line) {
                    Some(record) => read.records.push(record),
                    None => read.bad += 1,
                }
            }
        }
        drop(lock);
        Ok(read)
    }

    /// Every file there may be, oldest first.
    fn files(&self) -> impl Iterator<Item = PathBuf> + '_ {
        (1..FILES).rev().map(|number| self.numbered(number)).chain([self.path()])
    }

    fn numbered(&self, number: u32) -> PathBuf {
        self.directory.join(format!("{NAME}.{number}"))
    }

    /// Each file gets the next number; the last one goes.
    fn turn(&self) -> Result<(), LogError> {
        for number in (1..FILES).rev() {
            let from = if number == 1 { self.path() } else { self.numbered(number - 1) };
            match fs::rename(&from, self.numbered(number)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(at(&from)(error)),
            }
        }
        Ok(())
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> LogError + use<> {
    let path = path.to_owned();
    move |cause| LogError::Io { path, cause }
}

/// Writes a line in one piece, behind the end of a torn one.
fn write_line(path: &Path, line: &str) -> io::Result<()> {
    let mut file =
        OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last == [b'\n'] {
        file.write_all(line.as_bytes())
    } else {
        file.write_all(format!("\n{line}").as_bytes())
    }
}
