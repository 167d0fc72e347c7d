//! The history of tasks and the trust of people, in one `SQLite` database that several processes share.
//!
//! What `append` took is in the database file when it returns, so the death of this process loses
//! nothing that was told (`synchronous = NORMAL`: the death of the machine may lose the last moments).
//!
//! Each process owns the tasks it created. It holds a lock on a file of its own for as long as it
//! lives; the kernel drops the lock with the process, however that ends. A task that is not finished
//! and whose owner's lock can be taken has lost its process: it is closed as failed with
//! `internal_error`, once, whoever comes first.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior,
    params,
};
use rustix::fs::OFlags;
use uuid::Uuid;

use super::place;

use crate::task::Timestamp;
use crate::task::call::{FailureKind, ToolFailure, ToolResult};
use crate::task::event::{Event, EventBody};
use crate::task::failure::Failure;
use crate::task::input::TaskInput;
use crate::task::port::{Journal, PortError, Trust};
use crate::task::state::{TaskState, TaskSummary};
use crate::wait::{lock, waiting};

/// How long a call waits for another process that holds the database. Once one has waited so long in
/// vain, further ones fail at once until the database is free again.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest pause between two looks at a database that another process holds.
const PAUSE: Duration = Duration::from_millis(20);

/// So many ended tasks are kept with their events.
const KEPT: i64 = 1_000;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS tasks (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    ended INTEGER NOT NULL,
    summary TEXT NOT NULL,
    input TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_end ON tasks (ended, number);
CREATE TABLE IF NOT EXISTS events (
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS trust (
    root TEXT NOT NULL,
    command TEXT NOT NULL,
    PRIMARY KEY (root, command)
) WITHOUT ROWID;
PRAGMA user_version = 1;
";

/// Takes a line for the person.
type Warn = Box<dyn Fn(String) + Send + Sync>;

/// The database.
pub struct Store {
    connection: Mutex<Connection>,
    /// Whether the last call waited for another process in vain.
    is_held: AtomicBool,
    /// After this moment no call waits for another process.
    last_moment: OnceLock<Instant>,
    path: PathBuf,
    /// Device and number of the file that was opened.
    opened: Option<(u64, u64)>,
    /// Whether that file is gone, and the person was told.
    is_lost: AtomicBool,
    warn: Warn,
    owners: PathBuf,
    owner: String,
    /// Locked until this process ends.
    _lock: File,
}

impl Store {
    /// Opens the database in a directory, which is made where it is missing, with a `.gitignore` that
    /// keeps it out of the repository. The directory may be reached by links; nothing in it may be one.
    ///
    /// # Errors
    ///
    /// When the directory or the database cannot be written or read, or is a link.
    pub fn open(directory: &Path) -> Result<Self, PortError> {
        let named = directory.display().to_string();
        let told = |what: &str| format!("{what} `{named}`");
        let owners = fs::create_dir_all(directory)
            .and_then(|()| place::make(directory, &["owners"]))
            .map_err(|error| io_error(&told("cannot make"), &error))?;
        // Canonical from here on, so that whatever link stands in the way was put there meanwhile.
        let directory = owners.parent().unwrap_or(directory);
        ignore_in_git(directory).map_err(|error| io_error(&told("cannot write into"), &error))?;
        let owner = Uuid::new_v4().to_string();
        let lock = lock_for_life(&owners.join(&owner))
            .map_err(|error| io_error(&told("cannot lock a file in"), &error))?;
        let path = directory.join("tasks.sqlite3");
        let end = Instant::now() + PATIENCE;
        let connection =
            patiently(|| connect(&path), || Instant::now() < end).map_err(|error| {
                PortError(format!("{}: {error}", told("cannot open the task database in")))
            })?;
        Ok(Self {
            connection: Mutex::new(connection),
            is_held: AtomicBool::new(false),
            last_moment: OnceLock::new(),
            opened: place_of(&path),
            path,
            is_lost: AtomicBool::new(false),
            warn: Box::new(|_| {}),
            owners,
            owner,
            _lock: lock,
        })
    }

    /// Has the person told, once, when the database file is taken away while it is in use.
    #[must_use]
    pub fn warning(self, warn: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self { warn: Box::new(warn), ..self }
    }

    /// Looks whether what was just written can be found by the next process.
    fn look(&self) {
        if place_of(&self.path) != self.opened && !self.is_lost.swap(true, Ordering::Relaxed) {
            (self.warn)(format!(
                "the history of tasks ends with this process: `{}` was taken away or replaced; \
                 start the service again to keep one",
                self.path.display()
            ));
        }
    }

    /// Reads, and waits for another process that holds the database.
    fn read<T>(
        &self,
        mut work: impl FnMut(&mut Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut connection = self.connection();
        let begin = Instant::now();
        let may_wait = || {
            !self.is_held.load(Ordering::Relaxed)
                && begin.elapsed() < PATIENCE
                && self.last_moment.get().is_none_or(|last| Instant::now() < *last)
        };
        patiently(|| work(&mut connection), may_wait)
    }

    /// Writes, and waits as [`Self::read`] does. A write that comes through shows that the database is free;
    /// a read does not, since readers pass a writer.
    fn write<T>(
        &self,
        work: impl FnMut(&mut Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let result = self.read(work);
        self.is_held.store(result.as_ref().is_err_and(is_busy), Ordering::Relaxed);
        result
    }

    /// All stored events of a task in their order; empty for one that is not known.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn events(&self, task: &str) -> Result<Vec<Event>, PortError> {
        let read = |connection: &mut Connection| -> rusqlite::Result<Vec<Event>> {
            let mut statement = connection.prepare_cached(
                "SELECT seq, at, body FROM events
                 WHERE task = (SELECT number FROM tasks WHERE id = ?1) ORDER BY seq",
            )?;
            let rows = statement.query_map([task], |row| {
                let seq: i64 = row.get(0)?;
                Ok(Event {
                    task: task.to_owned(),
                    seq: u64::try_from(seq).unwrap_or_default(),
                    at: Timestamp(row.get(1)?),
                    body: parsed(row.get_ref(2)?.as_str()?)?,
                })
            })?;
            rows.collect()
        };
        self.read(read).map_err(|error| sql_error("cannot read events", &error))
    }

    /// Closes tasks whose processes are gone.
    fn recover(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let owners: Vec<String> = {
            let mut statement =
                connection.prepare("SELECT DISTINCT owner FROM tasks WHERE ended = 0")?;
            let owners = statement.query_map([], |row| row.get(0))?;
            owners.collect::<rusqlite::Result<_>>()?
        };
        for owner in owners.into_iter().filter(|owner| *owner != self.owner) {
            if self.is_alive(&owner) {
                continue;
            }
            let work = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            close_all(&work, &owner)?;
            work.commit()?;
        }
        self.forget_locks();
        Ok(())
    }

    /// Whether a process holds that owner's lock. A doubt counts as alive: its tasks are left alone.
    fn is_alive(&self, owner: &str) -> bool {
        match plain(OpenOptions::new().read(true)).open(self.owners.join(owner)) {
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => false,
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
            },
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Removes lock files of processes that are gone. Who takes a lock looks afterwards whether its
    /// file still has its name, so a file that is just being made is not lost.
    fn forget_locks(&self) {
        let Ok(entries) = fs::read_dir(&self.owners) else { return };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(file) = plain(OpenOptions::new().read(true)).open(&path) else { continue };
            if file.try_lock().is_ok() {
                // A file that stays is tried again at the next start.
                let _ = fs::remove_file(&path);
            }
        }
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.connection)
    }
}

impl Journal for Store {
    fn create(&self, summary: &TaskSummary, input: &TaskInput) -> Result<(), PortError> {
        let (told, asked) = (text(summary)?, text(input)?);
        let write = |connection: &mut Connection| {
            connection
                .prepare_cached(
                    "INSERT INTO tasks (id, owner, ended, summary, input) VALUES (?1, ?2, 0, ?3, ?4)",
                )?
                .execute(params![summary.id, self.owner, told, asked])
        };
        self.write(write).map(drop).map_err(|error| sql_error("cannot store a task", &error))
    }

    fn append(&self, event: &Event, summary: &TaskSummary) -> Result<(), PortError> {
        let seq = i64::try_from(event.seq).unwrap_or(i64::MAX);
        let body = text(&event.body)?;
        let insert = |connection: &Connection| {
            connection
                .prepare_cached(
                    "INSERT INTO events (task, seq, at, body)
                     SELECT number, ?2, ?3, ?4 FROM tasks WHERE id = ?1",
                )?
                .execute(params![event.task, seq, event.at.0, body])
        };
        // Only these change what a summary tells; a model or workflow that is new waits for the next.
        let is_news =
            matches!(event.body, EventBody::StateChanged { .. } | EventBody::Usage { .. });
        let told = if is_news { Some(text(summary)?) } else { None };
        let write = |connection: &mut Connection| match &told {
            None => insert(connection),
            Some(told) => {
                let work = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                let rows = insert(&work)?;
                let is_ended = summary.state.is_terminal()
                    && matches!(event.body, EventBody::StateChanged { .. });
                work.prepare_cached("UPDATE tasks SET summary = ?2, ended = ?3 WHERE id = ?1")?
                    .execute(params![summary.id, told, is_ended])?;
                if is_ended {
                    forget_old(&work)?;
                }
                work.commit()?;
                Ok(rows)
            }
        };
        match self.write(write) {
            Ok(1) => {
                self.look();
                Ok(())
            }
            Ok(_) => Err(PortError(format!("task `{}` is not in the database", event.task))),
            Err(error) => Err(sql_error("cannot store an event", &error)),
        }
    }

    fn ended(&self, limit: usize) -> Result<Vec<TaskSummary>, PortError> {
        let read = |connection: &mut Connection| -> rusqlite::Result<Vec<TaskSummary>> {
            self.recover(connection)?;
            let mut statement = connection.prepare(
                "SELECT summary FROM tasks WHERE ended = 1 ORDER BY number DESC LIMIT ?1",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map([limit], |row| parsed(row.get_ref(0)?.as_str()?))?;
            rows.collect()
        };
        let mut ended =
            self.write(read).map_err(|error| sql_error("cannot read the tasks", &error))?;
        ended.reverse();
        Ok(ended)
    }

    fn hurry(&self, limit: Duration) {
        self.last_moment.get_or_init(|| Instant::now() + limit);
    }
}

impl Trust for Store {
    fn is_trusted(&self, root: &str, command: &str) -> bool {
        let read = |connection: &mut Connection| {
            connection
                .prepare_cached("SELECT 1 FROM trust WHERE root = ?1 AND command = ?2")?
                .query_row([root, command], |_| Ok(()))
                .optional()
        };
        // What cannot be read is not trusted: the person is asked once more.
        matches!(self.read(read), Ok(Some(())))
    }

    fn remember(&self, root: &str, command: &str) {
        let write = |connection: &mut Connection| {
            connection
                .prepare_cached("INSERT OR IGNORE INTO trust (root, command) VALUES (?1, ?2)")?
                .execute([root, command])
        };
        // What cannot be kept is asked again.
        let _ = self.write(write);
    }
}

/// Stands in for a database that cannot be opened: each task ends with `internal_error`, and nothing is
/// trusted.
#[derive(Debug)]
pub struct Unusable(pub PortError);

impl Journal for Unusable {
    fn create(&self, _: &TaskSummary, _: &TaskInput) -> Result<(), PortError> {
        Err(self.0.clone())
    }

    fn append(&self, _: &Event, _: &TaskSummary) -> Result<(), PortError> {
        Err(self.0.clone())
    }

    fn ended(&self, _: usize) -> Result<Vec<TaskSummary>, PortError> {
        Err(self.0.clone())
    }
}

impl Trust for Unusable {
    fn is_trusted(&self, _: &str, _: &str) -> bool {
        false
    }

    fn remember(&self, _: &str, _: &str) {}
}

/// Works again and again while another process holds the database and there is time to wait.
fn patiently<T>(
    mut work: impl FnMut() -> rusqlite::Result<T>,
    may_wait: impl Fn() -> bool,
) -> rusqlite::Result<T> {
    let mut pause = Duration::from_millis(1);
    loop {
        match work() {
            Err(error) if is_busy(&error) && may_wait() => waiting(|| thread::sleep(pause)),
            result => return result,
        }
        pause = (pause * 2).min(PAUSE);
    }
}

/// What tells the file at this path from every other one; none when there is none.
fn place_of(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Whether another process holds the database.
fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    // Whoever calls waits by itself, so that it can be told to hurry.
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} COMMIT;"))?;
    Ok(connection)
}

/// Ends each unfinished task of an owner: the call in progress first, then the task.
fn close_all(work: &Transaction<'_>, owner: &str) -> rusqlite::Result<()> {
    let mut statement =
        work.prepare("SELECT number, summary FROM tasks WHERE owner = ?1 AND ended = 0")?;
    let rows = statement
        .query_map([owner], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let at = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    for row in rows {
        let (number, text) = row?;
        let Ok(mut summary) = parsed::<TaskSummary>(&text) else {
            work.execute("UPDATE tasks SET ended = 1 WHERE number = ?1", [number])?;
            continue;
        };
        let bodies = ends(&open_calls(work, number)?, summary.state);
        let mut seq: i64 = work.query_row(
            "SELECT COALESCE(MAX(seq) + 1, 0) FROM events WHERE task = ?1",
            [number],
            |row| row.get(0),
        )?;
        for body in bodies {
            work.prepare_cached(
                "INSERT INTO events (task, seq, at, body) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![number, seq, at, json(&body)?])?;
            seq = seq.saturating_add(1);
        }
        summary.state = TaskState::Failed;
        summary.failure_reason = Some(Failure::internal().reason.text());
        summary.updated = Timestamp(at);
        work.prepare_cached("UPDATE tasks SET summary = ?2, ended = 1 WHERE number = ?1")?
            .execute(params![number, json(&summary)?])?;
    }
    Ok(())
}

/// The last events of a task whose process is gone.
fn ends(open: &[String], from: TaskState) -> Vec<EventBody> {
    const MESSAGE: &str = "the service ended before the task did";
    let failure = Failure::internal();
    let calls = open.iter().map(|call| EventBody::ToolCallFinished {
        result: ToolResult {
            call: call.clone(),
            output: MESSAGE.to_owned(),
            truncated: false,
            exit_code: None,
            duration_ms: 0,
            failure: Some(ToolFailure {
                kind: FailureKind::Cancelled,
                message: MESSAGE.to_owned(),
                reasons: Vec::new(),
            }),
        },
    });
    let error = EventBody::Error {
        kind: failure.reason.kind().to_owned(),
        message: MESSAGE.to_owned(),
        retryable: false,
        retry_after_ms: None,
    };
    let end = EventBody::StateChanged {
        from: Some(from),
        to: TaskState::Failed,
        reason: Some(failure.reason.text()),
    };
    calls.chain([error, end]).collect()
}

/// Ids of calls that were started and have not finished.
fn open_calls(work: &Transaction<'_>, number: i64) -> rusqlite::Result<Vec<String>> {
    let mut open = Vec::new();
    let mut statement = work.prepare(
        "SELECT body FROM events WHERE task = ?1 AND body LIKE '{\"ToolCall%' ORDER BY seq",
    )?;
    let rows = statement.query_map([number], |row| row.get::<_, String>(0))?;
    for text in rows {
        let Ok(body) = parsed::<EventBody>(&text?) else { continue };
        match body {
            EventBody::ToolCallStarted { call } => open.push(call.id),
            EventBody::ToolCallFinished { result } => open.retain(|id| *id != result.call),
            _ => {}
        }
    }
    Ok(open)
}

fn forget_old(work: &Transaction<'_>) -> rusqlite::Result<()> {
    const OLD: &str =
        "SELECT number FROM tasks WHERE ended = 1 ORDER BY number DESC LIMIT -1 OFFSET ?1";
    work.prepare_cached(&format!("DELETE FROM events WHERE task IN ({OLD})"))?.execute([KEPT])?;
    work.prepare_cached(&format!("DELETE FROM tasks WHERE number IN ({OLD})"))?.execute([KEPT])?;
    Ok(())
}

fn ignore_in_git(directory: &Path) -> io::Result<()> {
    // `create_new` follows no link.
    let file = OpenOptions::new().write(true).create_new(true).open(directory.join(".gitignore"));
    match file {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// A file that is locked for as long as this process lives and still has its name.
fn lock_for_life(path: &Path) -> io::Result<File> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = plain(&mut options).open(path)?;
        file.lock()?;
        match fs::metadata(path) {
            Ok(named) if named.ino() == file.metadata()?.ino() => return Ok(file),
            // Another process took it for one that was left behind, and removed it.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

/// A link or a pipe in a file's place is not followed and not waited for.
fn plain(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    options.custom_flags(i32::try_from(flags).unwrap_or_default())
}

fn text(value: &impl serde::Serialize) -> Result<String, PortError> {
    serde_json::to_string(value)
        .map_err(|error| PortError(format!("cannot be written as JSON: {error}")))
}

fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn io_error(what: &str, error: &io::Error) -> PortError {
    PortError(format!("{what}: {error}"))
}

fn sql_error(what: &str, error: &rusqlite::Error) -> PortError {
    PortError(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::call::{ToolCall, ToolName};
    use crate::task::input::{Budget, Preference, Success, TaskContext, TaskKind};
    use crate::task::state::Usage;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            Self(std::env::temp_dir().join(format!("shellgate-store-{}", Uuid::new_v4())))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn input() -> TaskInput {
        TaskInput {
            kind: TaskKind::Other,
            instruction: "look".to_owned(),
            context: TaskContext::default(),
            allowed_tools: vec![ToolName::ReadFile],
            success: Success::default(),
            budget: Budget::default(),
            preference: Preference::Balance,
            workflow_override: None,
        }
    }

    fn summary(id: &str, state: TaskState) -> TaskSummary {
        TaskSummary {
            id: id.to_owned(),
            kind: TaskKind::Other,
            instruction: "look".to_owned(),
            state,
            workflow: None,
            models: Vec::new(),
            iteration: 1,
            usage: Usage::default(),
            created: Timestamp(1),
            updated: Timestamp(2),
            failure_reason: None,
        }
    }

    fn event(task: &str, seq: u64, body: EventBody) -> Event {
        Event { task: task.to_owned(), seq, at: Timestamp(5), body }
    }

    fn change(to: TaskState) -> EventBody {
        EventBody::StateChanged { from: None, to, reason: None }
    }

    fn started(id: &str) -> EventBody {
        let args = serde_json::Map::new();
        EventBody::ToolCallStarted {
            call: ToolCall { id: id.to_owned(), tool: ToolName::Shell, args },
        }
    }

    #[test]
    fn what_a_dead_process_left_is_closed_once_and_what_lives_is_left_alone() {
        let scratch = Scratch::new();
        let dead = Store::open(&scratch.0).unwrap();
        let living = Store::open(&scratch.0).unwrap();
        for (store, id) in [(&dead, "a"), (&living, "b")] {
            store.create(&summary(id, TaskState::Queued), &input()).unwrap();
            let running = summary(id, TaskState::Running);
            store.append(&event(id, 0, change(TaskState::Queued)), &running).unwrap();
            store.append(&event(id, 1, started("call")), &running).unwrap();
            let delta = EventBody::TextDelta { message: "m".to_owned(), delta: "x".to_owned() };
            store.append(&event(id, 2, delta), &running).unwrap();
        }
        assert_eq!(living.ended(10).unwrap(), []);
        drop(dead);
        let next = Store::open(&scratch.0).unwrap();
        for _ in 0..2 {
            let ended = next.ended(10).unwrap();
            assert_eq!(ended.len(), 1);
            assert_eq!(ended[0].state, TaskState::Failed);
            assert_eq!(ended[0].failure_reason.as_deref(), Some("internal_error"));
        }
        let events = next.events("a").unwrap();
        let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, [0, 1, 2, 3, 4, 5]);
        assert!(matches!(&events[3].body, EventBody::ToolCallFinished { result }
            if result.call == "call"));
        assert!(matches!(events[4].body, EventBody::Error { .. }));
        assert_eq!(next.events("b").unwrap().len(), 3);
        // The living process goes on as if nothing had been.
        let done = summary("b", TaskState::Done);
        living.append(&event("b", 3, change(TaskState::Done)), &done).unwrap();
        assert_eq!(next.ended(10).unwrap().len(), 2);
        assert_eq!(next.ended(1).unwrap()[0].id, "b");
        assert!(living.append(&event("b", 3, change(TaskState::Done)), &done).is_err());
        assert!(living.append(&event("c", 0, change(TaskState::Done)), &done).is_err());
    }

    #[test]
    fn trust_is_for_one_root_and_one_text_and_stays() {
        let scratch = Scratch::new();
        Store::open(&scratch.0).unwrap().remember("/srv/app", "cargo test");
        let store = Store::open(&scratch.0).unwrap();
        assert!(store.is_trusted("/srv/app", "cargo test"));
        assert!(!store.is_trusted("/srv/app", "cargo  test"));
        assert!(!store.is_trusted("/srv", "cargo test"));
        assert_eq!(fs::read_to_string(scratch.0.join(".gitignore")).unwrap(), "*\n");
    }

    #[test]
    fn a_full_database_is_an_error_and_nothing_worse() {
        let scratch = Scratch::new();
        let store = Store::open(&scratch.0).unwrap();
        store.create(&summary("a", TaskState::Queued), &input()).unwrap();
        store.connection().pragma_update(None, "max_page_count", 1).unwrap();
        let long = EventBody::TextDelta { message: "m".to_owned(), delta: "x".repeat(1 << 20) };
        assert!(store.append(&event("a", 0, long), &summary("a", TaskState::Running)).is_err());
        store.connection().pragma_update(None, "max_page_count", 1_000_000).unwrap();
        store
            .append(&event("a", 0, change(TaskState::Queued)), &summary("a", TaskState::Queued))
            .unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let error = Store::open(Path::new("/dev/null/state")).err().unwrap();
        assert!(error.0.contains("/dev/null/state"), "{error}");
    }

    #[test]
    fn two_processes_write_at_the_same_time() {
        const EVENTS: u64 = 150;
        let scratch = Scratch::new();
        let stores = ["a", "b"].map(|id| (id, Store::open(&scratch.0).unwrap()));
        std::thread::scope(|threads| {
            for (id, store) in &stores {
                threads.spawn(move || {
                    let running = summary(id, TaskState::Running);
                    store.create(&running, &input()).unwrap();
                    for seq in 0..EVENTS {
                        store
                            .append(&event(id, seq, change(TaskState::Running)), &running)
                            .unwrap();
                    }
                    assert_eq!(store.ended(10).unwrap(), []);
                });
            }
        });
        for (id, store) in &stores {
            assert_eq!(store.events(id).unwrap().len() as u64, EVENTS);
        }
    }

    #[test]
    fn a_directory_that_vanishes_stops_no_task() {
        let scratch = Scratch::new();
        let (sender, told) = std::sync::mpsc::channel();
        let warn = move |line| sender.send(line).unwrap();
        let store = Store::open(&scratch.0).unwrap().warning(warn);
        let queued = summary("a", TaskState::Queued);
        store.create(&queued, &input()).unwrap();
        store.append(&event("a", 0, change(TaskState::Queued)), &queued).unwrap();
        assert_eq!(told.try_iter().count(), 0);
        fs::remove_dir_all(&scratch.0).unwrap();
        for seq in 1..4 {
            store.append(&event("a", seq, change(TaskState::Running)), &queued).unwrap();
        }
        assert_eq!(store.events("a").unwrap().len(), 4);
        assert!(!scratch.0.exists());
        let told: Vec<String> = told.try_iter().collect();
        assert!(told.len() == 1 && told[0].contains("tasks.sqlite3"), "{told:?}");
    }

    #[test]
    fn who_waits_for_another_process_in_vain_waits_once() {
        let scratch = Scratch::new();
        let store = Store::open(&scratch.0).unwrap();
        let queued = summary("a", TaskState::Queued);
        store.create(&queued, &input()).unwrap();
        let other = Connection::open(scratch.0.join("tasks.sqlite3")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let begin = Instant::now();
        for seq in 0..40 {
            assert!(store.append(&event("a", seq, started("call")), &queued).is_err());
            // Reading goes on all the while, and says nothing about writing.
            assert!(!store.is_trusted("/srv/app", "make") && store.events("a").unwrap().is_empty());
        }
        let took = begin.elapsed();
        assert!(took >= PATIENCE && took < PATIENCE * 5, "{took:?}");
        other.execute_batch("COMMIT").unwrap();
        store.append(&event("a", 0, started("call")), &queued).unwrap();
        // From here on there is time to wait for once more, but for a process that is about to end.
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        store.hurry(Duration::from_millis(50));
        let begin = Instant::now();
        for seq in 1..40 {
            assert!(store.append(&event("a", seq, started("call")), &queued).is_err());
        }
        assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
        other.execute_batch("COMMIT").unwrap();
    }

    #[test]
    fn every_piece_of_a_long_text_is_kept_in_order() {
        const PIECES: u64 = 2_000;
        let scratch = Scratch::new();
        let store = Store::open(&scratch.0).unwrap();
        store.create(&summary("a", TaskState::Queued), &input()).unwrap();
        let running = summary("a", TaskState::Running);
        for seq in 0..PIECES {
            let delta =
                EventBody::TextDelta { message: "m".to_owned(), delta: "a word".to_owned() };
            store.append(&event("a", seq, delta), &running).unwrap();
        }
        let kept: Vec<u64> = store.events("a").unwrap().iter().map(|event| event.seq).collect();
        assert_eq!(kept, (0..PIECES).collect::<Vec<_>>());
    }
}
