//! The end that a test holds: the same frames over a pipe in memory.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::connection::{AHEAD, Connection, Intake, Outgoing, Written};
use super::frame::FrameLimits;

/// A connection, and the other side's raw stream of bytes. Must be called inside a runtime of tokio.
pub fn pair(limits: FrameLimits) -> (Connection, DuplexStream) {
    let (ours, theirs) = duplex(1 << 20);
    let (mut input, mut output) = split(ours);
    let (sender, incoming) = mpsc::channel(AHEAD);
    let (outgoing, mut queue) = Outgoing::new();
    tokio::spawn(async move {
        let mut intake = Intake::new(limits);
        let mut buffer = vec![0; 64 * 1024];
        let mut more = true;
        while more {
            let count = input.read(&mut buffer).await.unwrap_or(0);
            let (items, goes_on) = intake.take(buffer.get(..count).unwrap_or_default());
            more = goes_on;
            for item in items {
                if sender.send(item).await.is_err() {
                    return;
                }
            }
        }
    });
    tokio::spawn(async move {
        while let Some(entry) = queue.receiver.recv().await {
            match entry {
                Written::Frame(bytes) => {
                    let written = output.write_all(&bytes).await;
                    queue.written(bytes.len());
                    if written.is_err() {
                        return;
                    }
                }
                Written::Flushed(told) => {
                    // Whoever asked may have given up waiting.
                    let _ = told.send(());
                }
            }
        }
        // The other side sees the end of the stream.
        let _ = output.shutdown().await;
    });
    (Connection { incoming, outgoing, hung_up: CancellationToken::new() }, theirs)
}
