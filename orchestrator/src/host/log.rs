//! The service's own log: JSON lines on standard error and, where a directory was named, in a file that
//! rotates. A thread of its own writes, so that a reader who stopped reading stops nobody else.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

/// Bytes after which a file makes way for the next.
const FILE_BYTES: u64 = 5 * 1024 * 1024;

/// Old files that are kept.
const OLD_FILES: u32 = 3;

/// Lines that may wait for the writer; further ones are lost.
const WAITING: usize = 4096;

/// What stands where a secret stood.
const REDACTED: &str = "[redacted]";

/// Fields whose values are secrets.
const SECRET_FIELDS: [&str; 3] = ["value", "apiKey", "authorization"];

/// How grave a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Each step.
    Trace,
    /// For developers.
    Debug,
    /// Good to know.
    Info,
    /// To look at.
    Warn,
    /// To mend.
    Error,
    /// The end.
    Fatal,
    /// Nothing is logged at all.
    Silent,
}

impl Level {
    const ALL: [(&'static str, Self); 7] = [
        ("trace", Self::Trace),
        ("debug", Self::Debug),
        ("info", Self::Info),
        ("warn", Self::Warn),
        ("error", Self::Error),
        ("fatal", Self::Fatal),
        ("silent", Self::Silent),
    ];

    /// The level of that word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(word, _)| *word == name).map(|(_, level)| level)
    }

    /// Its figure on a line.
    const fn figure(self) -> u8 {
        match self {
            Self::Trace => 10,
            Self::Debug => 20,
            Self::Info => 30,
            Self::Warn => 40,
            Self::Error => 50,
            Self::Fatal => 60,
            Self::Silent => 100,
        }
    }
}

/// Takes secrets out of a text.
pub type Redact = Box<dyn Fn(&str) -> String + Send + Sync>;

/// The log. Clones write to the same place.
#[derive(Clone)]
pub struct Log {
    level: Level,
    lines: SyncSender<Entry>,
    redact: Arc<OnceLock<Redact>>,
}

enum Entry {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

impl Log {
    /// Starts a log that writes lines of this level and above. The directory is made when it is missing;
    /// one that cannot be written to is told of once, and the log goes on without it.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn start(directory: Option<PathBuf>, level: Level) -> io::Result<Self> {
        let (lines, receiver) = sync_channel(WAITING);
        let file = directory.map(|directory| RotatingFile::new(&directory));
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write_lines(&receiver, file))?;
        Ok(Self { level, lines, redact: Arc::default() })
    }

    /// A log that writes nothing.
    pub fn silent() -> Self {
        let (lines, _) = sync_channel(1);
        Self { level: Level::Silent, lines, redact: Arc::default() }
    }

    /// From now on every line goes through this, too. Only the first call counts.
    pub fn redact_by(&self, redact: Redact) {
        // A second call changes nothing, as the contract says.
        let _ = self.redact.set(redact);
    }

    /// Writes a line. Values of secret fields are replaced, at the top and one level below.
    pub fn write(&self, level: Level, message: &str, fields: Map<String, Value>) {
        if level < self.level || self.level == Level::Silent {
            return;
        }
        let line = line(level, message, fields);
        let mut line = match self.redact.get() {
            // A redacted line stays JSON: a secret's form inside a JSON string has no quotes of its own.
            Some(redact) => redact(&line),
            None => line,
        };
        line.push('\n');
        // A full queue means that nobody reads; the line is lost and nobody waits.
        let _ = self.lines.try_send(Entry::Line(line.into_bytes()));
    }

    /// Writes a line without fields.
    pub fn say(&self, level: Level, message: &str) {
        self.write(level, message, Map::new());
    }

    /// Waits until everything so far was written, at most this long.
    pub fn flush(&self, limit: Duration) {
        let (sender, receiver) = sync_channel(1);
        if self.lines.try_send(Entry::Flush(sender)).is_ok() {
            // Out of time is no fault: whoever should read does not.
            let _: Result<(), RecvTimeoutError> = receiver.recv_timeout(limit);
        }
    }
}

fn line(level: Level, message: &str, fields: Map<String, Value>) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut object = Map::new();
    object.insert("level".to_owned(), Value::from(level.figure()));
    object
        .insert("time".to_owned(), Value::from(u64::try_from(now.as_millis()).unwrap_or(u64::MAX)));
    object.insert("name".to_owned(), Value::from("orchestrator"));
    object.insert("msg".to_owned(), Value::from(message));
    for (name, mut value) in fields {
        hide(&name, &mut value);
        if let Value::Object(inner) = &mut value {
            for (name, value) in inner.iter_mut() {
                hide(name, value);
            }
        }
        object.entry(name).or_insert(value);
    }
    Value::Object(object).to_string()
}

fn hide(name: &str, value: &mut Value) {
    if SECRET_FIELDS.contains(&name) {
        *value = Value::from(REDACTED);
    }
}

fn write_lines(receiver: &Receiver<Entry>, mut file: Option<RotatingFile>) {
    while let Ok(entry) = receiver.recv() {
        match entry {
            Entry::Line(line) => {
                // Where nobody hears, there is nobody to tell.
                let _ = io::stderr().lock().write_all(&line);
                let written = file.as_mut().map(|file| file.write(&line));
                if let (Some(Err(error)), Some(broken)) =
                    (written, file.take_if(|file| file.is_broken))
                {
                    let told = format!(
                        "no log file: `{}` cannot be written: {error}; give another --log-dir",
                        broken.path.display()
                    );
                    let told = line_of_warning(&told);
                    let _ = io::stderr().lock().write_all(told.as_bytes());
                }
            }
            Entry::Flush(done) => {
                // Whoever asked may have given up.
                let _ = done.send(());
            }
        }
    }
}

fn line_of_warning(message: &str) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", line(Level::Warn, message, Map::new()));
    text
}

/// `orchestrator.log` and its older parts `.1` to `.3`.
struct RotatingFile {
    path: PathBuf,
    open: Option<(File, u64)>,
    is_broken: bool,
}

impl RotatingFile {
    fn new(directory: &Path) -> Self {
        Self { path: directory.join("orchestrator.log"), open: None, is_broken: false }
    }

    /// Appends a line. After an error the file is broken for good.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.try_write(line).inspect_err(|_| self.is_broken = true)
    }

    fn try_write(&mut self, line: &[u8]) -> io::Result<()> {
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        let (mut file, size) = match self.open.take() {
            Some(open) => open,
            None => self.open()?,
        };
        let (mut file, size) = if size > 0 && size.saturating_add(length) > FILE_BYTES {
            file.flush()?;
            self.rotate()?;
            self.open()?
        } else {
            (file, size)
        };
        file.write_all(line)?;
        self.open = Some((file, size.saturating_add(length)));
        Ok(())
    }

    fn open(&self) -> io::Result<(File, u64)> {
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }

    fn older(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    }

    fn rotate(&self) -> io::Result<()> {
        for number in (1..OLD_FILES).rev() {
            match std::fs::rename(self.older(number), self.older(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, self.older(1))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_fields_are_hidden_and_ours_cannot_be_forged() {
        let Value::Object(fields) = json!({
            "apiKey": "sk-1", "ref": "secret:a", "level": 1,
            "request": {"authorization": "Bearer x", "value": 3, "deep": {"value": 4}}
        }) else {
            unreachable!()
        };
        let line: Value = serde_json::from_str(&line(Level::Warn, "m\n", fields)).unwrap();
        assert_eq!(line["level"], 40);
        assert_eq!(line["apiKey"], REDACTED);
        assert_eq!(line["request"]["authorization"], REDACTED);
        assert_eq!(line["request"]["value"], REDACTED);
        assert_eq!(line["request"]["deep"]["value"], 4);
        assert_eq!(line["msg"], "m\n");
    }

    #[test]
    fn a_full_file_makes_way_and_three_old_ones_stay() {
        let directory =
            std::env::temp_dir().join(format!("orchestrator-log-{}", std::process::id()));
        let mut file = RotatingFile::new(&directory);
        let line = vec![b'x'; 3 * 1024 * 1024];
        for _ in 0..6 {
            file.write(&line).unwrap();
        }
        let mut names: Vec<_> = std::fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(
            names,
            ["orchestrator.log", "orchestrator.log.1", "orchestrator.log.2", "orchestrator.log.3"]
        );
    }
}
