//! Lists files below a folder.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ignore::overrides::Override;
use rustix::fs::FileType;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::args::Args;
use super::read_file::bad_path;
use super::walk::{self, Wanted};
use super::{Task, Toolbox, apart, cancelled};
use crate::task::call::FailureKind;

/// When a listing or a search ends.
pub(super) const LIMIT: Duration = Duration::from_secs(30);
/// Most bytes of a listing or of raw matches.
pub(super) const MAX_BYTES: usize = 2 * 1024 * 1024;

pub(super) async fn run(task: &Task<'_>, args: Args<'_>) -> Answer {
    let path = args.path().to_owned();
    let depth = args.number("depth").unwrap_or(3);
    let limit = args.number("limit").unwrap_or(500);
    let work = move |toolbox: Toolbox, cancel: CancellationToken| {
        list(&toolbox, &cancel, &path, depth, limit)
    };
    apart(task, LIMIT, work).await.unwrap_or_else(|answer| answer)
}

/// Why a walk ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Cancelled,
    TimedOut,
}

/// Tells a long walk when to end.
pub(super) struct Clock<'a> {
    end: Instant,
    cancel: &'a CancellationToken,
}

impl<'a> Clock<'a> {
    pub(super) fn new(cancel: &'a CancellationToken) -> Self {
        Self { end: Instant::now() + LIMIT, cancel }
    }

    pub(super) fn stop(&self) -> Option<Stop> {
        if self.cancel.is_cancelled() {
            Some(Stop::Cancelled)
        } else if Instant::now() >= self.end {
            Some(Stop::TimedOut)
        } else {
            None
        }
    }
}

impl Stop {
    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Cancelled => cancelled(),
            Self::TimedOut => Answer::failed(
                FailureKind::Timeout,
                format!("the call took longer than {} s; name a smaller folder", LIMIT.as_secs()),
            ),
        }
    }
}

fn list(
    toolbox: &Toolbox,
    cancel: &CancellationToken,
    path: &str,
    depth: usize,
    limit: usize,
) -> Answer {
    let at = match toolbox.workspace.resolve_existing(path) {
        Ok(at) => at,
        Err(error) => return bad_path(path, &error),
    };
    match toolbox.workspace.kind(&at) {
        Ok(FileType::Directory) => {}
        Ok(FileType::RegularFile) => return Answer::of(at.shown),
        Ok(_) => {
            return Answer::failed(FailureKind::Failed, format!("`{}` is no folder", at.shown));
        }
        Err(error) => {
            return Answer::failed(FailureKind::Failed, format!("`{}`: {error}", at.shown));
        }
    }
    let wanted = Wanted { ignored: &toolbox.project.ignore_globs, globs: Override::empty(), depth };
    let clock = Clock::new(cancel);
    let mut lines = Vec::new();
    let mut bytes = 0_usize;
    let mut is_cut = false;
    let mut stop = None;
    let walked = walk::files(&toolbox.workspace, &at, &wanted, &mut |found| {
        stop = clock.stop();
        let line = printable(&found.path.to_string_lossy());
        bytes = bytes.saturating_add(line.len() + 1);
        is_cut = lines.len() >= limit || bytes > MAX_BYTES;
        if stop.is_some() || is_cut {
            return ControlFlow::Break(());
        }
        lines.push(line);
        ControlFlow::Continue(())
    });
    if let Some(stop) = stop {
        return stop.answer();
    }
    if let Err(error) = walked {
        return Answer::failed(FailureKind::Failed, format!("`{}`: {error}", at.shown));
    }
    if lines.is_empty() && !is_cut {
        return Answer::of(format!("no files in `{}` within depth {depth}", at.shown));
    }
    let shown = lines.len();
    let answer = Answer::of(lines.join("\n"));
    if is_cut {
        return answer
            .note(&format!("[only the first {shown} files; name a folder or a smaller depth]"))
            .truncated(true);
    }
    answer
}

/// A path on one line, whatever its name holds.
pub(super) fn printable(path: &str) -> String {
    if path.chars().any(char::is_control) {
        path.chars()
            .flat_map(|char| {
                let escaped: Vec<char> =
                    if char.is_control() { char.escape_default().collect() } else { vec![char] };
                escaped
            })
            .collect()
    } else {
        path.to_owned()
    }
}
