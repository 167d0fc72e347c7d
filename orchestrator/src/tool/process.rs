//! Children that are killed as a whole.
//!
//! Every command runs below a launcher (see `launch`). A launcher's task on this side lives until the
//! launcher is gone, whoever asked for it; so the count of children is exact.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use super::launch::launched;
use super::launch::{Job, KILL_LIMIT, Report, WORD};
use super::output::{Keep, Kept};
use super::sandbox::Sandbox;
use super::tree;

/// How children are started: through this very program, which then watches over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its environment; the command has one of its own.
    pub environment: Vec<(OsString, OsString)>,
}

impl Launcher {
    /// This very program, with the word that makes [`launched`] take over. The link keeps naming the
    /// program that runs, even after an update replaced its file.
    #[cfg(not(test))]
    pub fn this_program() -> Self {
        Self {
            program: PathBuf::from("/proc/self/exe"),
            arguments: vec![WORD.into()],
            environment: Vec::new(),
        }
    }

    /// This very test program; the test of that name takes over.
    #[cfg(test)]
    pub fn this_program() -> Self {
        let name = "tool::process::tests::takes_over_as_launcher";
        Self {
            program: PathBuf::from("/proc/self/exe"),
            arguments: [name, "--exact", "--nocapture", "--test-threads=1"]
                .map(OsString::from)
                .into(),
            environment: vec![("SHELLGATE_TEST_LAUNCHER".into(), WORD.into())],
        }
    }
}

/// How long the rest of an output is waited for once every process of its command is dead.
const DRAIN_LIMIT: Duration = Duration::from_millis(300);

/// A command to run.
#[derive(Clone, Debug)]
pub(super) struct Command {
    /// The program, looked up in the `PATH` of its environment.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it starts, absolute.
    pub directory: String,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// How it is confined.
    pub sandbox: Sandbox,
    /// Where it may write when confined to the workspace.
    pub roots: Vec<String>,
    /// Whether error output is kept apart.
    pub apart: bool,
    /// What is kept of its output.
    pub keep: Keep,
    /// When it is killed.
    pub limit: Duration,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// By itself, with that status.
    Exited(i32),
    /// By that signal, and nobody here sent it.
    Signalled(i32),
    /// Killed when its time was over.
    TimedOut,
    /// Killed because the caller or shutdown wanted it.
    Cancelled,
    /// It was not started, or its launcher was killed; the text says why.
    Broken(String),
}

/// What is left of a command.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// How it ended.
    pub how: How,
    /// What it printed.
    pub output: Kept,
    /// Its error output where it was kept apart.
    pub errors: String,
    /// From its start to its end.
    pub elapsed: Duration,
    /// Descendants that could not be killed, as those of another user.
    pub left: usize,
}

/// Launchers of this whole process that may still run. The lock is held while one is started, so that
/// whoever looks for orphans does not take a new launcher for one.
static LAUNCHERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Every child of this process. Cheap to clone; clones share the children.
#[derive(Clone, Debug)]
pub struct Children {
    launcher: Launcher,
    closed: CancellationToken,
    count: Arc<watch::Sender<usize>>,
}

impl Children {
    /// None yet. From now on this process adopts orphans of its children whose launcher was killed.
    pub fn new(launcher: Launcher) -> Self {
        // Without adoption such orphans go to the system's first process and cannot be found.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Self { launcher, closed: CancellationToken::new(), count: Arc::new(watch::Sender::new(0)) }
    }

    /// How they are started.
    pub const fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// How many run, those that are being killed included.
    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Kills every child with all its descendants and waits for their end; false when some were still
    /// there after the deadline. No child can be started afterwards.
    pub async fn kill_all(&self, deadline: Duration) -> bool {
        self.closed.cancel();
        let mut count = self.count.subscribe();
        let ended = tokio::time::timeout(deadline, count.wait_for(|count| *count == 0)).await;
        matches!(ended, Ok(Ok(_)))
    }

    /// Runs a command to its end. Dropping the future kills it.
    pub(super) async fn run(&self, command: Command, cancel: &CancellationToken) -> Ended {
        // Dropping the guard, with this future or at its end, trips the token.
        let token = cancel.child_token();
        let _guard = token.clone().drop_guard();
        let begin = Instant::now();
        let (send, receive) = oneshot::channel();
        let children = self.clone();
        let limit = command.limit;
        self.count.send_modify(|count| *count += 1);
        let entry = Entry(Arc::clone(&self.count));
        tokio::spawn(async move {
            let mut end = None;
            let mut ended = children.live(command, &token, &mut end).await;
            ended.elapsed = end.unwrap_or_else(Instant::now) - begin;
            drop(entry);
            // Nobody waits for the end of a command that was dropped.
            let _ = send.send(ended);
        });
        // The task ends a few seconds after the limit at the latest.
        receive.await.unwrap_or_else(|_| Ended {
            how: How::Broken("the command was given up".to_owned()),
            output: Kept::default(),
            errors: String::new(),
            elapsed: limit,
            left: 0,
        })
    }

    async fn live(
        &self,
        command: Command,
        cancel: &CancellationToken,
        end: &mut Option<Instant>,
    ) -> Ended {
        let broken = |cause: String, output: Kept| Ended {
            how: How::Broken(cause),
            output,
            errors: String::new(),
            elapsed: Duration::ZERO,
            left: 0,
        };
        if self.closed.is_cancelled() || cancel.is_cancelled() {
            return Ended { how: How::Cancelled, ..broken(String::new(), Kept::default()) };
        }
        let Running { mut process, pid, control, mut output } = match self.start() {
            Ok(running) => running,
            Err(error) => {
                let cause = format!("the launcher of commands cannot be started: {error}");
                return broken(cause, Kept::default());
            }
        };
        let (reader, mut writer) = control.into_split();
        let mut reports = BufReader::new(reader);
        let mut kept = Kept::new(command.keep);
        let mut line = job(&command);
        let mut stop = None;
        let mut written = false;
        let mut open = true;
        let mut report = Vec::new();
        let mut buffer = vec![0; 64 * 1024];
        let limit = tokio::time::sleep(command.limit);
        // Counts from the moment it was told to stop, and ends waiting for a launcher that does not.
        let grace = tokio::time::sleep(Duration::from_secs(86_400 * 365));
        tokio::pin!(limit, grace);
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled(), if stop.is_none() => stop = Some(How::Cancelled),
                () = self.closed.cancelled(), if stop.is_none() => stop = Some(How::Cancelled),
                () = &mut limit, if stop.is_none() => stop = Some(How::TimedOut),
                () = &mut grace => break,
                sent = writer.write_all_buf(&mut line), if !written => {
                    // A launcher that is gone shows at the other end, too.
                    let _ = sent;
                    written = true;
                }
                read = output.read(&mut buffer), if open => match read {
                    Ok(0) | Err(_) => open = false,
                    Ok(length) => kept.push(buffer.get(..length).unwrap_or_default()),
                },
                read = reports.read_until(b'\n', &mut report) => {
                    let _ = read;
                    break;
                }
            }
            if stop.is_some() && grace.deadline() > Instant::now() + KILL_LIMIT * 2 {
                // The launcher sees the end of its input and kills everything.
                let _ = writer.shutdown().await;
                written = true;
                grace.as_mut().reset(Instant::now() + KILL_LIMIT + Duration::from_secs(1));
            }
        }
        *end = Some(Instant::now());
        // All writers are dead; what they wrote is in the pipe, and then it ends. A process elsewhere may have
        // been given the pipe and keep it open, so the end is not waited for without limit.
        while open {
            match tokio::time::timeout(DRAIN_LIMIT, output.read(&mut buffer)).await {
                Ok(Ok(length)) if length > 0 => kept.push(buffer.get(..length).unwrap_or_default()),
                _ => open = false,
            }
        }
        drop(writer);
        let report: Option<Report> = serde_json::from_slice(&report).ok();
        if report.is_none() {
            // It was killed, or it hangs: its descendants come to this process.
            let _ = process.start_kill();
        }
        // One that cannot be waited for is stuck in the kernel; the call ends all the same.
        let _ = tokio::time::timeout(KILL_LIMIT, process.wait()).await;
        LAUNCHERS.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
        let mut left = 0;
        if report.is_none() {
            left = tokio::task::spawn_blocking(kill_orphans).await.unwrap_or_default();
        }
        match report {
            Some(Report::Ended { code, signal, errors, left }) => Ended {
                how: stop.unwrap_or(match (code, signal) {
                    (Some(code), _) => How::Exited(code),
                    (None, Some(signal)) => How::Signalled(signal),
                    (None, None) => How::Broken("its exit status was lost".to_owned()),
                }),
                output: kept,
                errors,
                elapsed: Duration::ZERO,
                left,
            },
            Some(Report::Refused(cause)) => {
                Ended { how: stop.unwrap_or(How::Broken(cause)), ..broken(String::new(), kept) }
            }
            None => Ended {
                how: stop.unwrap_or_else(|| {
                    How::Broken("the process that watches over it was killed".to_owned())
                }),
                left,
                ..broken(String::new(), kept)
            },
        }
    }

    fn start(&self) -> std::io::Result<Running> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let control = UnixStream::from_std(ours)?;
        let (reader, output) = std::io::pipe()?;
        let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let mut launcher = tokio::process::Command::new(&self.launcher.program);
        launcher
            .args(&self.launcher.arguments)
            .env_clear()
            .envs(self.launcher.environment.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::from(output));
        let mut launchers = LAUNCHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let process = launcher.spawn()?;
        let pid = process.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
        launchers.insert(pid);
        Ok(Running { process, pid, control, output: reader })
    }
}

struct Running {
    process: tokio::process::Child,
    pid: i32,
    control: UnixStream,
    output: pipe::Receiver,
}

/// One child in the count.
struct Entry(Arc<watch::Sender<usize>>);

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Kills what came to this process because its launcher was killed; gives how many could not be.
fn kill_orphans() -> usize {
    let known = LAUNCHERS.lock().unwrap_or_else(PoisonError::into_inner);
    tree::kill_orphans(&known, KILL_LIMIT)
}

fn job(command: &Command) -> std::io::Cursor<Vec<u8>> {
    let bytes = |text: &OsStr| hex::encode(text.as_bytes());
    let job = Job {
        sandbox: command.sandbox,
        roots: command.roots.clone(),
        directory: command.directory.clone(),
        program: command.program.clone(),
        arguments: command.arguments.clone(),
        environment: command
            .environment
            .iter()
            .map(|(name, value)| (bytes(name), bytes(value)))
            .collect(),
        apart: command.apart,
    };
    // INVARIANT (job is JSON): strings, lists and pairs of strings always serialise.
    let mut line = serde_json::to_vec(&job).unwrap_or_default();
    line.push(b'\n');
    std::io::Cursor::new(line)
}

#[cfg(test)]
mod tests {
    #[test]
    fn takes_over_as_launcher() {
        if std::env::var_os("SHELLGATE_TEST_LAUNCHER").is_some() {
            super::super::launch::watch();
            std::process::exit(0);
        }
    }
}
