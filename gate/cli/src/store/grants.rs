//! What a person has let through, and what waits for that: `grants.json` in the config folder.
//!
//! Takes the time as an argument. A file that others can write, or that cannot be read, grants
//! nothing.

use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::store::{Folders, lock, replace};

/// Seconds a code may wait to be typed.
pub const CODE_LIFE: u64 = 30 * 60;
/// Seconds a single-use grant may wait to be used.
pub const ONCE_LIFE: u64 = 15 * 60;
/// Seconds a lasting grant lives.
pub const LASTING_LIFE: u64 = 90 * 24 * 60 * 60;
/// The most calls that wait; the oldest make room.
const WAITING: usize = 64;
/// The most bytes of the file that are read.
const FILE_BYTES: u64 = 4 << 20;

/// What is asked for: the exact call, where, against which rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The call, as [`crate::hook::Call::subject`] has it.
    pub command: &'a str,
    /// The current directory.
    pub cwd: &'a str,
    /// Ids of the rules that stop it, sorted.
    pub rules: &'a [String],
    /// Whether a deny rule is among them.
    pub denied: bool,
}

/// A call that was stopped and may be allowed once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    /// What the person types.
    pub code: String,
    /// The call.
    pub command: String,
    /// Where.
    pub cwd: String,
    /// The rules that stopped it, sorted.
    pub rules: Vec<String>,
    /// Whether a deny rule is among them.
    pub denied: bool,
    /// The agent.
    pub agent: String,
    /// When the code stops to count; seconds since 1970.
    pub expires: u64,
}

/// How far a grant reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// One call in the same directory.
    Once,
    /// Every such call in the same directory.
    Here,
    /// Every such call.
    Always,
}

impl Reach {
    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Here => "here",
            Self::Always => "always",
        }
    }
}

/// Something a person has let through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Its name for `grants revoke`.
    pub id: String,
    /// How far it reaches.
    pub reach: Reach,
    /// The exact call.
    pub command: String,
    /// Where; of no meaning for [`Reach::Always`].
    pub cwd: String,
    /// The rules it is good against, sorted.
    pub rules: Vec<String>,
    /// Whether it is good against deny rules; only [`Reach::Once`] can be.
    pub denied: bool,
    /// When it stops to count; seconds since 1970.
    pub expires: u64,
    /// Of a single-use grant: events that have used it.
    #[serde(default)]
    pub used: Vec<String>,
}

impl Grant {
    fn fits(&self, request: &Request<'_>, event: &str, now: u64) -> bool {
        self.expires > now
            && self.command == request.command
            && (self.reach == Reach::Always || self.cwd == request.cwd)
            && request.rules.iter().all(|rule| self.rules.contains(rule))
            && (!request.denied || (self.denied && self.reach == Reach::Once))
            && (self.reach != Reach::Once || !self.used.iter().any(|used| used == event))
    }
}

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Book {
    /// What waits, the oldest first.
    pub waiting: Vec<Waiting>,
    /// What was let through, the oldest first.
    pub grants: Vec<Grant>,
}

/// The file of a person.
pub fn file(folders: &Folders) -> PathBuf {
    folders.config.join("grants.json")
}

/// What the file says.
///
/// # Errors
/// When it cannot be read, others can write it, or it holds something else.
pub fn read(path: &Path) -> io::Result<Book> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Book::default()),
        Err(error) => return Err(error),
    };
    if meta.permissions().mode() & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "`{0}` is open to others; run `chmod 600 {0}`",
            path.display()
        )));
    }
    if meta.len() > FILE_BYTES {
        return Err(io::Error::other(format!("`{}` is too large", path.display())));
    }
    let text = std::fs::read(path)?;
    serde_json::from_slice(&text)
        .map_err(|error| io::Error::other(format!("`{}`: {error}", path.display())))
}

/// Changes the file as one step among all processes, and gives what the change gives. What is over
/// is dropped.
///
/// # Errors
/// Of [`read`] and of writing.
pub fn change<T>(path: &Path, now: u64, with: impl FnOnce(&mut Book) -> T) -> io::Result<T> {
    let _lock = lock(path)?;
    let before = read(path)?;
    let mut book = before.clone();
    book.waiting.retain(|waiting| waiting.expires > now);
    book.grants.retain(|grant| grant.expires > now);
    let out = with(&mut book);
    if book != before {
        let excess = book.waiting.len().saturating_sub(WAITING);
        book.waiting.drain(..excess);
        let mut text = serde_json::to_vec_pretty(&book).map_err(io::Error::other)?;
        text.push(b'\n');
        replace(path, &text)?;
    }
    Ok(out)
}

/// Whether the person has let this through; a single-use grant is used up for this event.
///
/// # Errors
/// Of [`change`].
pub fn use_up(path: &Path, request: &Request<'_>, event: &str, now: u64) -> io::Result<bool> {
    // Most calls find nothing, and then nothing need be locked.
    if !read(path)?.grants.iter().any(|grant| grant.fits(request, event, now)) {
        return Ok(false);
    }
    change(path, now, |book| {
        let found = book.grants.iter_mut().find(|grant| grant.fits(request, event, now));
        let Some(grant) = found else { return false };
        if grant.reach == Reach::Once {
            grant.used.push(event.to_owned());
        }
        true
    })
}

/// Notes a stopped call and gives its code; the same call keeps its code while it waits.
///
/// # Errors
/// Of [`change`].
pub fn note(path: &Path, request: &Request<'_>, agent: &str, now: u64) -> io::Result<String> {
    change(path, now, |book| {
        let same = book.waiting.iter_mut().find(|one| {
            one.command == request.command
                && one.cwd == request.cwd
                && one.rules == request.rules
                && one.agent == agent
        });
        if let Some(one) = same {
            return one.code.clone();
        }
        let code = code();
        book.waiting.push(Waiting {
            code: code.clone(),
            command: request.command.to_owned(),
            cwd: request.cwd.to_owned(),
            rules: request.rules.to_vec(),
            denied: request.denied,
            agent: agent.to_owned(),
            expires: now.saturating_add(CODE_LIFE),
        });
        code
    })
}

/// Turns a waiting call into a single-use grant; none when no call waits under that code.
///
/// # Errors
/// Of [`change`].
pub fn allow_once(path: &Path, code: &str, now: u64) -> io::Result<Option<Grant>> {
    change(path, now, |book| {
        let at = book.waiting.iter().position(|one| one.code.eq_ignore_ascii_case(code))?;
        let one = book.waiting.remove(at);
        let grant = Grant {
            id: self::code(),
            reach: Reach::Once,
            command: one.command,
            cwd: one.cwd,
            rules: one.rules,
            denied: one.denied,
            expires: now.saturating_add(ONCE_LIFE),
            used: Vec::new(),
        };
        book.grants.push(grant.clone());
        Some(grant)
    })
}

/// Adds a lasting grant and gives it.
///
/// # Errors
/// Of [`change`].
pub fn allow_lasting(
    path: &Path,
    reach: Reach,
    request: &Request<'_>,
    now: u64,
) -> io::Result<Grant> {
    let grant = Grant {
        id: code(),
        reach,
        command: request.command.to_owned(),
        cwd: request.cwd.to_owned(),
        rules: request.rules.to_vec(),
        denied: false,
        expires: now.saturating_add(LASTING_LIFE),
        used: Vec::new(),
    };
    change(path, now, |book| {
        book.grants.retain(|old| {
            old.reach != reach || old.command != grant.command || old.cwd != grant.cwd
        });
        book.grants.push(grant.clone());
    })?;
    Ok(grant)
}

/// Takes grants back: the one of that id, or all. Gives how many.
///
/// # Errors
/// Of [`change`].
pub fn revoke(path: &Path, id: Option<&str>, now: u64) -> io::Result<usize> {
    change(path, now, |book| {
        let before = book.grants.len();
        book.grants.retain(|grant| id.is_some_and(|id| !grant.id.eq_ignore_ascii_case(id)));
        if id.is_none() {
            book.waiting.clear();
        }
        before - book.grants.len()
    })
}

/// Eight characters that nobody can guess: forty bits of the keys that the standard library takes
/// from the system for its hash maps.
fn code() -> String {
    const LETTERS: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz0";
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    let mut bits = hasher.finish();
    let mut out = String::with_capacity(8);
    for _ in 0..8 {
        let index = usize::try_from(bits & 31).unwrap_or_default();
        out.extend(LETTERS.get(index).map(|letter| char::from(*letter)));
        bits >>= 5;
    }
    out
}
