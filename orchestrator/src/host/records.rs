//! The decision log: one JSON object per line, newest last, in a file that two processes may share.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::place::{self, LOGS};
use crate::task::Timestamp;
use crate::task::decision::{Answer, DecisionRecord, EngineKind, Noul, Outcome};
use crate::task::input::Workflow;
use crate::task::port::{RecordQuery, Records};

/// Bytes of the active file; a line that would take it over makes a new one.
const LARGEST_FILE: u64 = 10 << 20;
/// Old files that are kept.
const KEPT: u32 = 3;
/// Bytes of a line that are still read as a record.
const LONGEST_LINE: usize = 4 << 20;
/// Bytes that are read at once.
const BLOCK: usize = 64 << 10;
/// How long another process may keep the files to itself.
const PATIENCE: Duration = Duration::from_secs(2);
/// Lines that are no records are told of once, up to this many.
const MOST_TOLD: usize = 4096;

type Teller = Box<dyn Fn(String) + Send + Sync>;

/// Where decisions are stored.
pub struct DecisionLog {
    inner: Arc<Inner>,
}

struct Inner {
    /// None without a workspace root.
    place: Option<PlaceOfLog>,
    largest: u64,
    warn: Teller,
    skipped: Teller,
    /// One reader or writer of this process at a time.
    state: Mutex<LogState>,
}

#[derive(Default)]
struct LogState {
    is_failing: bool,
    told: HashSet<u64>,
}

struct PlaceOfLog {
    root: PathBuf,
    /// `.desiide/logs` below it.
    directory: PathBuf,
}

impl DecisionLog {
    /// The log below the first workspace root; without a root nothing is stored. `warn` is told once
    /// per streak of failed writes, `skipped` of each line that is no record.
    pub fn new(
        root: Option<PathBuf>,
        warn: impl Fn(String) + Send + Sync + 'static,
        skipped: impl Fn(String) + Send + Sync + 'static,
    ) -> Self {
        Self::sized(root, LARGEST_FILE, warn, skipped)
    }

    /// As [`new`](Self::new), with another size of the active file in bytes.
    pub fn sized(
        root: Option<PathBuf>,
        largest: u64,
        warn: impl Fn(String) + Send + Sync + 'static,
        skipped: impl Fn(String) + Send + Sync + 'static,
    ) -> Self {
        let place = root.map(|root| {
            let directory = LOGS.iter().fold(root.clone(), |path, name| path.join(name));
            PlaceOfLog { root, directory }
        });
        Self {
            inner: Arc::new(Inner {
                place,
                largest,
                warn: Box::new(warn),
                skipped: Box::new(skipped),
                state: Mutex::new(LogState::default()),
            }),
        }
    }

    async fn blocking<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> T + Send + 'static,
    ) -> T {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || work(&inner)).await.unwrap_or_default()
    }
}

#[async_trait]
impl Records for DecisionLog {
    async fn append(&self, record: &DecisionRecord) {
        if self.inner.place.is_none() {
            return;
        }
        let Ok(mut line) = serde_json::to_string(&Stored::of(record)) else { return };
        line.push('\n');
        self.blocking(move |inner| inner.write(&line)).await;
    }

    async fn list(&self, query: &RecordQuery) -> (Vec<DecisionRecord>, bool) {
        let query = query.clone();
        self.blocking(move |inner| inner.list(&query)).await
    }

    async fn find(&self, id: &str) -> Option<DecisionRecord> {
        let id = id.to_owned();
        self.blocking(move |inner| inner.find(&id)).await
    }
}

impl Inner {
    fn write(&self, line: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match self.try_write(line.as_bytes()) {
            Ok(()) => state.is_failing = false,
            Err(error) => {
                let is_first = !std::mem::replace(&mut state.is_failing, true);
                drop(state);
                if is_first {
                    let place =
                        self.place.as_ref().map(|place| place.directory.display().to_string());
                    (self.warn)(format!(
                        "decisions cannot be written to `{}`: {error}; they are not stored until that is put right",
                        place.unwrap_or_default()
                    ));
                }
            }
        }
    }

    fn try_write(&self, line: &[u8]) -> io::Result<()> {
        let Some(place) = &self.place else { return Ok(()) };
        place.create()?;
        let _lock = place.lock(FlockOperation::NonBlockingLockExclusive)?;
        let mut file = place.open_active()?;
        let length = file.metadata()?.len();
        let added = u64::try_from(line.len()).unwrap_or(u64::MAX);
        let is_torn = length > 0 && !ends_with_newline(&mut file, length)?;
        if length > 0
            && length.saturating_add(added).saturating_add(u64::from(is_torn)) > self.largest
        {
            drop(file);
            place.rotate()?;
            file = place.open_active()?;
        } else if is_torn {
            // A line that a dying process left half written is no part of this one.
            file.write_all(b"\n")?;
        }
        file.write_all(line)
    }

    fn list(&self, query: &RecordQuery) -> (Vec<DecisionRecord>, bool) {
        let mut found = Vec::new();
        let mut more = false;
        let mut wanted = query.older_than.is_none();
        self.newest_first(|line, record| {
            if !wanted {
                wanted = is_line_of(line, query.older_than.as_deref().unwrap_or_default())
                    && record().is_some_and(|own| Some(own.id) == query.older_than);
                return true;
            }
            let Some(own) = record().filter(|own| fits(own, query)) else { return true };
            if found.len() < query.limit {
                found.push(own);
                return true;
            }
            more = true;
            false
        });
        (found, more)
    }

    fn find(&self, id: &str) -> Option<DecisionRecord> {
        let mut found = None;
        self.newest_first(|line, record| {
            if is_line_of(line, id) {
                found = record().filter(|own| own.id == id);
            }
            found.is_none()
        });
        found
    }

    /// Shows each line, the newest first, with a way to read it, until `show` says that it is enough.
    fn newest_first(
        &self,
        mut show: impl FnMut(&[u8], &dyn Fn() -> Option<DecisionRecord>) -> bool,
    ) {
        let Some(place) = &self.place else { return };
        // What lies behind a link is not ours.
        if place::find(&place.root, &LOGS).is_err() {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Without the lock, which a read-only directory may refuse, reading is still worth a try.
        let _lock = place.lock(FlockOperation::NonBlockingLockShared).ok();
        let skipped: Mutex<Vec<(u64, String)>> = Mutex::new(Vec::new());
        for path in place.files() {
            let Ok(file) = open_plain(OpenOptions::new().read(true), &path) else { continue };
            let result = backwards(file, |line| {
                if line.trim_ascii().is_empty() {
                    return true;
                }
                let read = || match read(line) {
                    Ok(record) => Some(record),
                    Err(why) => {
                        let mut hasher = DefaultHasher::new();
                        line.hash(&mut hasher);
                        let text = format!("a line of `{}` is no record: {why}", path.display());
                        skipped
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push((hasher.finish(), text));
                        None
                    }
                };
                show(line, &read)
            });
            match result {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    (self.skipped)(format!("`{}` cannot be read: {error}", path.display()));
                }
            }
        }
        for (hash, text) in skipped.into_inner().unwrap_or_else(PoisonError::into_inner) {
            if state.told.len() < MOST_TOLD && state.told.insert(hash) {
                (self.skipped)(text);
            }
        }
    }
}

/// Whether a line may be the record with that id; spares reading the others.
fn is_line_of(line: &[u8], id: &str) -> bool {
    let id = id.as_bytes();
    !id.is_empty() && line.windows(id.len()).any(|window| window == id)
}

fn fits(record: &DecisionRecord, query: &RecordQuery) -> bool {
    query.task.as_ref().is_none_or(|task| record.task.as_ref() == Some(task))
        && query.pack.as_ref().is_none_or(|pack| record.pack == *pack)
        && query.outcome.is_none_or(|outcome| record.outcome == Some(outcome))
}

impl PlaceOfLog {
    fn active(&self) -> PathBuf {
        self.directory.join("decisions.jsonl")
    }

    fn old(&self, number: u32) -> PathBuf {
        self.directory.join(format!("decisions.jsonl.{number}"))
    }

    /// The newest first.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.active()];
        files.extend((1..=KEPT).map(|number| self.old(number)));
        files
    }

    /// Makes the directory where it is not there. A link in its place is refused: a workspace must
    /// not choose another place for our writing.
    fn create(&self) -> io::Result<()> {
        place::make(&self.root, &LOGS)?;
        let ignore = self.directory.join(".gitignore");
        match OpenOptions::new().write(true).create_new(true).open(ignore) {
            Ok(mut file) => file.write_all(b"*\n"),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Keeps other processes away until the file is dropped.
    fn lock(&self, how: FlockOperation) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = open_plain(&mut options, &self.directory.join("decisions.lock"))?;
        let started = Instant::now();
        loop {
            match flock(&file, how) {
                Ok(()) => return Ok(file),
                Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
                    if started.elapsed() > PATIENCE {
                        let why = "another process keeps the log locked";
                        return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn open_active(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        open_plain(&mut options, &self.active())
    }

    fn rotate(&self) -> io::Result<()> {
        let gone = |result: io::Result<()>| match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        gone(fs::remove_file(self.old(KEPT)))?;
        for number in (1..KEPT).rev() {
            gone(fs::rename(self.old(number), self.old(number + 1)))?;
        }
        gone(fs::rename(self.active(), self.old(1)))
    }
}

/// Opens what is a plain file and no link.
fn open_plain(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // A pipe in a file's place would keep us waiting without `NONBLOCK`.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = options.custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{}` is no plain file", path.display()),
        ))
    }
}

fn ends_with_newline(file: &mut File, length: u64) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::Start(length.saturating_sub(1)))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Shows the lines of a file, the last first, until `show` says that it is enough; whether it never
/// did. A line that is too long is shown empty.
fn backwards(mut file: File, mut show: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
    let mut end = file.seek(SeekFrom::End(0))?;
    // What stands between the block and the line break behind it, blocks in reverse order.
    let mut rest: Vec<u8> = Vec::new();
    let mut is_too_long = false;
    let mut block = vec![0; BLOCK];
    while end > 0 {
        let size = usize::try_from(end.min(BLOCK as u64)).unwrap_or(BLOCK);
        end -= size as u64;
        let part = block.get_mut(..size).unwrap_or_default();
        file.seek(SeekFrom::Start(end))?;
        file.read_exact(part)?;
        let mut pieces = part.rsplit(|byte| *byte == b'\n');
        if let Some(last) = pieces.next() {
            put_before(&mut rest, last, &mut is_too_long);
        }
        for piece in pieces {
            if !show(if is_too_long { b"" } else { &rest }) {
                return Ok(false);
            }
            is_too_long = false;
            rest.clear();
            put_before(&mut rest, piece, &mut is_too_long);
        }
    }
    Ok(show(if is_too_long { b"" } else { &rest }))
}

fn put_before(rest: &mut Vec<u8>, piece: &[u8], is_too_long: &mut bool) {
    if rest.len() + piece.len() > LONGEST_LINE {
        *is_too_long = true;
        rest.clear();
    }
    if !*is_too_long {
        rest.splice(0..0, piece.iter().copied());
    }
}

fn read(line: &[u8]) -> Result<DecisionRecord, String> {
    let stored: Stored = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    stored.record()
}

/// A record as the file has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    id: String,
    #[serde(deserialize_with = "required")]
    task_id: Option<String>,
    pack: String,
    question: String,
    engine: StoredEngine,
    state_hash: String,
    state: Map<String, Value>,
    result: StoredResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy_outcome: Option<StoredOutcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workflow: Option<StoredWorkflow>,
    reasons: Vec<String>,
    latency_ms: u64,
    ts: String,
    /// Ours: settings and context of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    basis: Option<Value>,
}

fn required<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from)
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredEngine {
    Jev,
    Rules,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredOutcome {
    Auto,
    Confirm,
    Block,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredWorkflow {
    LocalSingle,
    LocalCloudCascade,
    CloudSingle,
    CloudWithCritique,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredNoul {
    Yes,
    No,
    Unknown,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum StoredResult {
    Choice {
        selected: String,
        probs: Map<String, Value>,
    },
    Score {
        score: u8,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probs: Option<[f64; 5]>,
    },
    Noul {
        answer: StoredNoul,
        #[serde(rename = "pYes")]
        p_yes: f64,
    },
}

impl Stored {
    fn of(record: &DecisionRecord) -> Self {
        Self {
            id: record.id.clone(),
            task_id: record.task.clone(),
            pack: record.pack.clone(),
            question: record.question.clone(),
            engine: match record.engine {
                EngineKind::Jev => StoredEngine::Jev,
                EngineKind::Rules => StoredEngine::Rules,
            },
            state_hash: record.state_hash.clone(),
            state: record.state.clone(),
            result: match &record.answer {
                Answer::Choice { selected, probs } => StoredResult::Choice {
                    selected: selected.clone(),
                    probs: probs.iter().map(|(name, own)| (name.clone(), (*own).into())).collect(),
                },
                Answer::Score { score, probs } => {
                    StoredResult::Score { score: *score, probs: *probs }
                }
                Answer::Noul { answer, p_yes } => StoredResult::Noul {
                    answer: match answer {
                        Noul::Yes => StoredNoul::Yes,
                        Noul::No => StoredNoul::No,
                        Noul::Unknown => StoredNoul::Unknown,
                    },
                    p_yes: *p_yes,
                },
            },
            policy_outcome: record.outcome.map(|outcome| match outcome {
                Outcome::Auto => StoredOutcome::Auto,
                Outcome::Confirm => StoredOutcome::Confirm,
                Outcome::Block => StoredOutcome::Block,
            }),
            workflow: record.workflow.map(|workflow| match workflow {
                Workflow::LocalSingle => StoredWorkflow::LocalSingle,
                Workflow::LocalCloudCascade => StoredWorkflow::LocalCloudCascade,
                Workflow::CloudSingle => StoredWorkflow::CloudSingle,
                Workflow::CloudWithCritique => StoredWorkflow::CloudWithCritique,
            }),
            reasons: record.reasons.clone(),
            latency_ms: record.latency_ms,
            ts: time_text(record.at),
            basis: record.basis.clone(),
        }
    }

    fn record(self) -> Result<DecisionRecord, String> {
        let is_id = |text: &str| (1..=128).contains(&text.chars().count());
        if !is_id(&self.id) || self.task_id.as_deref().is_some_and(|task| !is_id(task)) {
            return Err("an id has no or more than 128 characters".into());
        }
        if !is_pack(&self.pack) {
            return Err(format!("`{}` is no name of a pack", self.pack));
        }
        if !(1..=64).contains(&self.question.chars().count()) || !is_id(&self.state_hash) {
            return Err("question or hash is out of bounds".into());
        }
        let probability = |value: &f64| (0.0..=1.0).contains(value);
        let answer = match self.result {
            StoredResult::Choice { selected, probs } => {
                if selected.is_empty() {
                    return Err("nothing is selected".into());
                }
                let probs = probs
                    .into_iter()
                    .map(|(name, value)| Some((name, value.as_f64().filter(probability)?)))
                    .collect::<Option<Vec<_>>>()
                    .ok_or("a probability is out of bounds")?;
                Answer::Choice { selected, probs }
            }
            StoredResult::Score { score, probs } => {
                if score > 4 || probs.iter().flatten().any(|own| !probability(own)) {
                    return Err("score or probability is out of bounds".into());
                }
                Answer::Score { score, probs }
            }
            StoredResult::Noul { answer, p_yes } => {
                if !probability(&p_yes) {
                    return Err("a probability is out of bounds".into());
                }
                let answer = match answer {
                    StoredNoul::Yes => Noul::Yes,
                    StoredNoul::No => Noul::No,
                    StoredNoul::Unknown => Noul::Unknown,
                };
                Answer::Noul { answer, p_yes }
            }
        };
        let at: jiff::Timestamp =
            self.ts.parse().map_err(|_| format!("`{}` is no time", self.ts))?;
        Ok(DecisionRecord {
            id: self.id,
            task: self.task_id,
            pack: self.pack,
            question: self.question,
            engine: match self.engine {
                StoredEngine::Jev => EngineKind::Jev,
                StoredEngine::Rules => EngineKind::Rules,
            },
            state_hash: self.state_hash,
            state: self.state,
            answer,
            outcome: self.policy_outcome.map(|outcome| match outcome {
                StoredOutcome::Auto => Outcome::Auto,
                StoredOutcome::Confirm => Outcome::Confirm,
                StoredOutcome::Block => Outcome::Block,
            }),
            workflow: self.workflow.map(|workflow| match workflow {
                StoredWorkflow::LocalSingle => Workflow::LocalSingle,
                StoredWorkflow::LocalCloudCascade => Workflow::LocalCloudCascade,
                StoredWorkflow::CloudSingle => Workflow::CloudSingle,
                StoredWorkflow::CloudWithCritique => Workflow::CloudWithCritique,
            }),
            reasons: self.reasons,
            latency_ms: self.latency_ms,
            at: Timestamp(at.as_millisecond()),
            basis: self.basis,
        })
    }
}

/// `name@version`
fn is_pack(pack: &str) -> bool {
    let Some((name, version)) = pack.split_once('@') else { return false };
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|own| own.is_ascii_lowercase() || own.is_ascii_digit() || own == '_')
        && !version.is_empty()
        && version.chars().all(|own| own.is_ascii_digit())
}

/// UTC with milliseconds.
fn time_text(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
