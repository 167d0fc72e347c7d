//! What a task's surroundings say about the work: earlier tasks of its kind, and the project's size.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::advisor::route::LastRun;
use crate::task::Timestamp;
use crate::task::input::TaskKind;
use crate::task::state::{TaskState, TaskSummary};
use crate::tool::Toolbox;

/// Milliseconds after which a run says nothing more.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// Runs in which failures count.
const RECENT: usize = 5;
/// How long a count of lines holds.
const FRESH: Duration = Duration::from_secs(600);
/// How long a task waits for one.
const PATIENCE: Duration = Duration::from_millis(300);

/// Failures that say that the work was too hard for who did it. All others, as a missing key, say nothing
/// about the next try.
const TELLING: [&str; 6] = [
    "budget:maxIterations",
    "budget:maxToolCalls",
    "budget:maxTokens",
    "budget:wallClockMs",
    "loop_detected",
    "verification_rejected",
];

/// What a new task is planned with, besides its input.
#[derive(Clone, Default)]
pub(super) struct Past {
    /// How the last run of work of that kind ended.
    pub(super) last_run: LastRun,
    /// How many of the last five failed.
    pub(super) failures: u64,
    /// The project's size.
    pub(super) lines: Arc<Lines>,
}

impl Past {
    /// What ended tasks say about work of one kind at that time; their order does not matter.
    pub(super) fn of(
        ended: impl Iterator<Item = TaskSummary>,
        kind: TaskKind,
        now: Timestamp,
    ) -> Self {
        let run = |task: &TaskSummary| match (task.state, task.failure_reason.as_deref()) {
            (TaskState::Done, _) => Some(LastRun::Success),
            (TaskState::Cancelled, _) => Some(LastRun::Cancelled),
            (TaskState::Failed, Some(reason)) if TELLING.contains(&reason) => Some(LastRun::Failed),
            _ => None,
        };
        let mut runs: Vec<(Timestamp, LastRun)> = ended
            .filter(|task| task.kind == kind && now.0.saturating_sub(task.updated.0) < DAY)
            .filter_map(|task| Some((task.updated, run(&task)?)))
            .collect();
        runs.sort_by_key(|(at, _)| std::cmp::Reverse(at.0));
        let failures = runs.iter().take(RECENT).filter(|(_, run)| *run == LastRun::Failed).count();
        Self {
            last_run: runs.first().map(|(_, run)| *run).unwrap_or_default(),
            failures: u64::try_from(failures).unwrap_or_default(),
            lines: Arc::default(),
        }
    }
}

/// The number of a project's lines, counted once in a while.
#[derive(Default)]
pub(super) struct Lines(Mutex<Option<(Instant, u64)>>);

impl Lines {
    /// The lines of the first root; 0 while they are being counted.
    pub(super) async fn of(self: &Arc<Self>, toolbox: &Toolbox) -> u64 {
        let kept = *self.kept();
        if let Some((at, lines)) = kept
            && at.elapsed() < FRESH
        {
            return lines;
        }
        let (own, toolbox) = (Arc::clone(self), toolbox.clone());
        let work = tokio::task::spawn_blocking(move || {
            let lines = toolbox.lines();
            *own.kept() = Some((Instant::now(), lines));
            lines
        });
        // Whoever comes next finds what was counted meanwhile; until then the last count is the best.
        let last = kept.map_or(0, |(_, lines)| lines);
        tokio::time::timeout(PATIENCE, work).await.map_or(last, |lines| lines.unwrap_or(last))
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<(Instant, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::state::Usage;

    fn task(kind: TaskKind, state: TaskState, reason: Option<&str>, at: i64) -> TaskSummary {
        TaskSummary {
            id: "t".to_owned(),
            kind,
            instruction: String::new(),
            state,
            workflow: None,
            models: Vec::new(),
            iteration: 1,
            usage: Usage::default(),
            created: Timestamp(0),
            updated: Timestamp(at),
            failure_reason: reason.map(str::to_owned),
        }
    }

    #[test]
    fn runs_of_the_same_kind_of_the_last_day_count() {
        let kind = TaskKind::BugFix;
        let of = |tasks: &[TaskSummary]| {
            let past = Past::of(tasks.iter().cloned(), kind, Timestamp(2 * DAY));
            (past.last_run, past.failures)
        };
        let failed = |at| task(kind, TaskState::Failed, Some("loop_detected"), at);
        let done = |at| task(kind, TaskState::Done, None, at);
        assert_eq!(of(&[]), (LastRun::None, 0));
        assert_eq!(of(&[failed(DAY)]), (LastRun::None, 0));
        assert_eq!(of(&[done(DAY + 2), failed(DAY + 1)]), (LastRun::Success, 1));
        assert_eq!(of(&[done(DAY + 1), failed(DAY + 2)]), (LastRun::Failed, 1));
        let cancelled = task(kind, TaskState::Cancelled, None, DAY + 9);
        assert_eq!(of(&[failed(DAY + 1), cancelled]), (LastRun::Cancelled, 1));
        let keyless = task(kind, TaskState::Failed, Some("model_error:auth"), DAY + 9);
        assert_eq!(of(&[failed(DAY + 1), keyless]), (LastRun::Failed, 1));
        let other = task(TaskKind::Explain, TaskState::Failed, Some("loop_detected"), DAY + 9);
        assert_eq!(of(&[done(DAY + 1), other]), (LastRun::Success, 0));
        let many: Vec<_> = (1..20).map(|at| failed(DAY + at)).collect();
        assert_eq!(of(&many), (LastRun::Failed, 5));
    }
}
