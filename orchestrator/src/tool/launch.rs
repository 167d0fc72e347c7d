//! The launcher: this program started once more, between the service and one command.
//!
//! It takes its job from its standard input, a socket to the service, and writes what the command prints to
//! its standard error. It leads a session of its own and adopts every orphan the command leaves, so that all
//! processes of one command are its descendants, whatever session or group they moved to. When the command
//! ends, or the socket closes because the service asked for it or died, it kills them all and ends. It may
//! confine itself, and with that the command, before it starts it.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, WaitOptions};
use serde::{Deserialize, Serialize};

use super::sandbox::{Sandbox, Temporary, confine};
use super::tree;

/// The argument that makes this program a launcher.
pub(super) const WORD: &str = "sandbox-exec";

/// How long the launcher tries to kill what is left of a command.
pub(super) const KILL_LIMIT: Duration = Duration::from_secs(4);

/// Most bytes of error output that are reported apart.
const ERRORS_LIMIT: u64 = 8 * 1024;

/// Most bytes of a job as JSON.
const JOB_LIMIT: u64 = 64 * 1024 * 1024;

/// What a launcher is told to do, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// How to confine it.
    pub sandbox: Sandbox,
    /// Absolute paths it may write beneath when confined to the workspace.
    pub roots: Vec<String>,
    /// Where it starts, absolute.
    pub directory: String,
    /// The program, looked up in the `PATH` of its environment.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment, names and values as hex of their bytes.
    pub environment: Vec<(String, String)>,
    /// Whether its error output is reported apart from its output.
    pub apart: bool,
}

/// What a launcher tells of its command, one line of JSON each; `Refused` or `Ended` is the last.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    /// The command was not started.
    Refused(String),
    /// The command ended and so did all its descendants.
    Ended {
        /// Its exit status, unless a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Its error output where that was wanted apart.
        errors: String,
        /// Descendants that could not be killed.
        left: usize,
    },
}

/// Does the work of a launcher where this process was started as one. `main` calls it before anything else,
/// above all before a thread exists, and ends with the code it gives.
pub fn launched() -> Option<ExitCode> {
    std::env::args_os().nth(1).is_some_and(|word| word == WORD).then(watch)
}

/// The whole life of a launcher.
pub(super) fn watch() -> ExitCode {
    let control = match rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) {
        Ok(control) => UnixStream::from(control),
        Err(_) => return ExitCode::FAILURE,
    };
    let report = match Watch::start(&control) {
        Ok(watch) => watch.until_the_end(),
        Err(refusal) => Report::Refused(refusal),
    };
    // Nobody is left to be told when the service is gone.
    let sent = serde_json::to_vec(&report).map(|mut line| {
        line.push(b'\n');
        (&control).write_all(&line)
    });
    if matches!(sent, Ok(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Watch {
    child: Pid,
    errors: Option<std::thread::JoinHandle<String>>,
    /// Deletes its folder when the command has ended.
    _temporary: Option<Temporary>,
}

impl Watch {
    fn start(control: &UnixStream) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        let mut reader = BufReader::new(control.try_clone().map_err(text)?);
        let mut line = Vec::new();
        (&mut reader).take(JOB_LIMIT).read_until(b'\n', &mut line).map_err(text)?;
        let job: Job = serde_json::from_slice(&line)
            .map_err(|error| format!("the launcher does not understand its job: {error}"))?;
        // Fails only where this process leads its group already, as a shell's job does.
        let _ = rustix::process::setsid();
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| format!("orphans cannot be adopted: {error}"))?;
        let (child, errors, temporary) = match job.sandbox {
            Sandbox::Off => {
                let (child, errors) = spawn(&job, None)?;
                (child, errors, None)
            }
            sandbox => {
                let temporary = Temporary::new()?;
                // Only the thread that starts the command is confined: the command cannot signal the rest of
                // the launcher, and the launcher can clear away what it leaves.
                let (child, errors) = std::thread::scope(|scope| {
                    let thread = scope.spawn(|| {
                        confine(sandbox, &job.roots, temporary.path())?;
                        spawn(&job, Some(temporary.path()))
                    });
                    thread.join().unwrap_or_else(|_| Err("the launcher failed".to_owned()))
                })?;
                (child, errors, Some(temporary))
            }
        };
        // The command holds the output alone from here on: it ends when the command's processes do.
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null").map_err(text)?;
        rustix::stdio::dup2_stderr(&null).map_err(|error| error.to_string())?;
        std::thread::spawn(move || {
            // Nothing more is sent to a launcher: whatever this gives, the service wants the end.
            let _ = reader.read(&mut [0]);
            loop {
                tree::kill_descendants();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Ok(Self { child, errors, _temporary: temporary })
    }

    fn until_the_end(self) -> Report {
        let status = loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == self.child => {
                    break Some(ExitStatus::from_raw(status.as_raw()));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break None,
            }
        };
        let left = tree::sweep(KILL_LIMIT);
        let errors = match self.errors {
            // A descendant that could not be killed holds its pipe open for ever.
            Some(reader) if left == 0 => reader.join().unwrap_or_default(),
            _ => String::new(),
        };
        Report::Ended {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            errors,
            left,
        }
    }
}

type Errors = Option<std::thread::JoinHandle<String>>;

fn spawn(job: &Job, temporary: Option<&Path>) -> Result<(Pid, Errors), String> {
    let output = || {
        rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)
            .map_err(|error| error.to_string())
    };
    let mut command = Command::new(&job.program);
    command.args(&job.arguments).env_clear().current_dir(&job.directory).process_group(0);
    for (name, value) in &job.environment {
        command.env(unhex(name)?, unhex(value)?);
    }
    if let Some(temporary) = temporary {
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, temporary);
        }
    }
    command.stdin(Stdio::null()).stdout(output()?);
    let errors = if job.apart {
        let (reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
        command.stderr(writer);
        Some(reader)
    } else {
        command.stderr(output()?);
        None
    };
    let child = command.spawn().map_err(|error| {
        format!("`{}` cannot be started in `{}`: {error}", job.program, job.directory)
    })?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("no process id")?;
    // The command holds copies of the pipes' writing ends; they must not stay open here.
    drop(command);
    Ok((pid, errors.map(|reader| std::thread::spawn(move || read_errors(OwnedFd::from(reader))))))
}

fn read_errors(pipe: OwnedFd) -> String {
    let mut pipe = std::fs::File::from(pipe);
    let mut kept = Vec::new();
    // What cannot be read is not there; the rest is drained so that its writer never waits.
    let _ = (&mut pipe).take(ERRORS_LIMIT).read_to_end(&mut kept);
    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

fn unhex(text: &str) -> Result<OsString, String> {
    hex::decode(text).map(OsString::from_vec).map_err(|error| error.to_string())
}
