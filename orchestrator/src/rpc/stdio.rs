//! The end that a parent process holds: frames on standard input and output.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::connection::{AHEAD, Connection, Intake, Outgoing, Queue, Written};
use super::frame::FrameLimits;

/// The two streams of a parent, out of reach of everything else in this process.
#[derive(Debug)]
pub struct Stdio {
    input: File,
    output: File,
}

/// Takes standard input and output for frames alone: what anything else in this process prints goes to
/// standard error afterwards, and whoever reads standard input finds it empty. Children inherit neither.
///
/// # Errors
///
/// When the descriptors cannot be duplicated.
pub fn claim() -> io::Result<Stdio> {
    let keep = |fd: OwnedFd| File::from(fd);
    let input = keep(fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let output = keep(fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?);
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(Stdio { input, output })
}

/// Starts a reader, a writer and one who sees that the client hangs up, each a thread of its own, since the
/// streams may be pipes, files or terminals and may block for ever. None keeps the process from ending.
///
/// # Errors
///
/// When a thread cannot be started.
pub fn connect(stdio: Stdio, limits: FrameLimits) -> io::Result<Connection> {
    let (sender, incoming) = mpsc::channel(AHEAD);
    let (outgoing, queue) = Outgoing::new();
    let Stdio { mut input, output } = stdio;
    let hung_up = CancellationToken::new();
    let (watched, told) = (input.try_clone()?, hung_up.clone());
    thread::Builder::new()
        .name("hang-up".to_owned())
        .spawn(move || until_hung_up(&watched).then(|| told.cancel()))?;
    thread::Builder::new().name("frames in".to_owned()).spawn(move || {
        let mut intake = Intake::new(limits);
        let mut buffer = vec![0; 64 * 1024];
        let mut more = true;
        while more {
            let count = match input.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A stream that cannot be read has ended.
                Err(_) => 0,
            };
            let (items, goes_on) = intake.take(buffer.get(..count).unwrap_or_default());
            more = goes_on;
            for item in items {
                if sender.blocking_send(item).is_err() {
                    return;
                }
            }
        }
    })?;
    thread::Builder::new().name("frames out".to_owned()).spawn(move || write_out(output, queue))?;
    Ok(Connection { incoming, outgoing, hung_up })
}

/// Waits until the other side of a pipe or a socket has closed it. What it wrote before may still wait to
/// be read. False where that cannot be waited for; a file never hangs up.
fn until_hung_up(input: &File) -> bool {
    let mut watched = [PollFd::new(input, PollFlags::RDHUP)];
    loop {
        match poll(&mut watched, None) {
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Bytes that are gathered into one write.
const GATHERED: usize = 64 * 1024;

/// Writes until the queue closes or the other side is gone; the queue closes with it. What waits already
/// goes out in one write.
fn write_out(mut output: File, mut queue: Queue) {
    let mut bytes = Vec::new();
    while let Some(first) = queue.receiver.blocking_recv() {
        let mut told = Vec::new();
        let mut next = Some(first);
        while let Some(entry) = next {
            match entry {
                Written::Frame(frame) => bytes.extend_from_slice(&frame),
                Written::Flushed(sender) => told.push(sender),
            }
            next = if bytes.len() < GATHERED { queue.receiver.try_recv().ok() } else { None };
        }
        let written = output.write_all(&bytes);
        queue.written(bytes.len());
        if written.is_err() {
            return;
        }
        bytes.clear();
        for sender in told {
            // Whoever asked may have given up waiting.
            let _ = sender.send(());
        }
    }
}
