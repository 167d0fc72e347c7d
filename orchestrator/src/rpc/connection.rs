//! One connection, whatever carries it: what came in, and a way out that never blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::frame::{FrameError, FrameLimits, FrameReader, frame};
use super::message::{Malformed, Message};

/// Something that came in.
#[derive(Debug)]
pub enum Incoming {
    /// A message, and the bytes of its body.
    Message(Message, usize),
    /// A body that is no message; the connection goes on.
    Malformed(Malformed),
    /// The stream is out of step; nothing follows.
    Broken(FrameError),
    /// The other side ended its stream; `midway` when inside a frame. Nothing follows.
    Ended {
        /// Whether a frame was cut off.
        midway: bool,
    },
}

/// Bodies a reader may be ahead of the one who answers.
pub(super) const AHEAD: usize = 64;

/// One connection.
#[derive(Debug)]
pub struct Connection {
    /// What comes in; closed after `Broken` or `Ended`.
    pub incoming: mpsc::Receiver<Incoming>,
    /// The way out.
    pub outgoing: Outgoing,
    /// Fires when the other side has ended its stream, however much of it is still to be read, where
    /// the system can tell.
    pub hung_up: CancellationToken,
}

/// The way out of a connection: a queue that a writer of its own empties.
#[derive(Clone, Debug)]
pub struct Outgoing {
    queue: mpsc::UnboundedSender<Written>,
    backlog: Arc<AtomicUsize>,
}

/// One entry of the queue.
#[derive(Debug)]
pub(super) enum Written {
    /// A frame.
    Frame(Vec<u8>),
    /// Everything before this was written.
    Flushed(oneshot::Sender<()>),
}

/// The writer's end of the queue.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) receiver: mpsc::UnboundedReceiver<Written>,
    backlog: Arc<AtomicUsize>,
}

impl Queue {
    /// The writer is done with that many bytes.
    pub(super) fn written(&self, bytes: usize) {
        self.backlog.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Outgoing {
    pub(super) fn new() -> (Self, Queue) {
        let (queue, receiver) = mpsc::unbounded_channel();
        let backlog = Arc::new(AtomicUsize::new(0));
        (Self { queue, backlog: Arc::clone(&backlog) }, Queue { receiver, backlog })
    }

    /// Queues a message. False when the other side is gone.
    pub fn send(&self, message: &Message) -> bool {
        let bytes = frame(&message.write());
        self.backlog.fetch_add(bytes.len(), Ordering::Relaxed);
        self.queue.send(Written::Frame(bytes)).is_ok()
    }

    /// Bytes that were queued and not yet written.
    pub fn backlog(&self) -> usize {
        self.backlog.load(Ordering::Relaxed)
    }

    /// Waits until everything queued so far was written, or the other side is gone.
    pub async fn flushed(&self) {
        let (sender, receiver) = oneshot::channel();
        if self.queue.send(Written::Flushed(sender)).is_ok() {
            // A dropped sender means a dead writer; there is nothing left to wait for.
            let _ = receiver.await;
        }
    }

    /// Resolves when the other side can no longer be written to.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }
}

/// Turns bytes into incoming things, for every kind of end.
#[derive(Debug)]
pub(super) struct Intake {
    reader: FrameReader,
}

impl Intake {
    pub(super) fn new(limits: FrameLimits) -> Self {
        Self { reader: FrameReader::new(limits) }
    }

    /// What these bytes complete, in order, and whether more may follow. No bytes mean the end.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (Vec<Incoming>, bool) {
        let mut out = Vec::new();
        self.reader.push(bytes);
        loop {
            match self.reader.next_body() {
                Ok(Some(body)) => out.push(match Message::read(&body) {
                    Ok(message) => Incoming::Message(message, body.len()),
                    Err(malformed) => Incoming::Malformed(malformed),
                }),
                Ok(None) if bytes.is_empty() => {
                    out.push(Incoming::Ended { midway: self.reader.is_midway() });
                    return (out, false);
                }
                Ok(None) => return (out, true),
                Err(error) => {
                    out.push(Incoming::Broken(error));
                    return (out, false);
                }
            }
        }
    }
}
