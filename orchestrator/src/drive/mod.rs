//! Takes task inputs, answers of people, models, tools and the guard.
//! Gives tasks that run to their end, and their events in order.
//! May import task, guard, advisor, tool and model.
//! Never speaks a protocol, and never runs a call that is not cleared.

mod cell;
mod context;
mod critique;
mod past;
mod plan;
mod review;
mod turn;
mod verify;
mod worker;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use uuid::Uuid;

use self::cell::{Answer, Cell, Outlet};
use self::past::{Lines, Past};
use crate::advisor::Advisor;
use crate::guard::Guard;
use crate::model::ModelSource;
use crate::task::edit::FileReport;
use crate::task::event::Event;
use crate::task::input::TaskInput;
use crate::task::machine;
use crate::task::port::{Journal, PortError, Records};
use crate::task::queue::Queue;
use crate::task::settings::Settings;
use crate::task::state::TaskSummary;
use crate::tool::ToolOptions;
use crate::wait::lock;

/// So many ended tasks are listed.
const KEPT: usize = 100;

/// The part of the time for a shutdown that tasks may take to wind up.
const TASKS_PART: f32 = 0.7;

/// The part of it that the history may wait for other processes, all in all.
const JOURNAL_PART: f32 = 0.2;

/// Takes one line about a fault that nobody else is told in detail.
pub type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// What tasks need. The composition root makes it; `Runtime::start` takes it.
#[derive(Clone)]
pub struct Services {
    /// Models by job.
    pub models: Arc<dyn ModelSource>,
    /// Judges each call.
    pub guard: Arc<Guard>,
    /// Chooses workflows.
    pub advisor: Arc<Advisor>,
    /// The decision log.
    pub records: Arc<dyn Records>,
    /// The history of tasks.
    pub journal: Arc<dyn Journal>,
    /// Workspace roots as the client named them; may be empty, relative or missing.
    pub roots: Vec<PathBuf>,
    /// What tools are given besides the workspace.
    pub tools: ToolOptions,
    /// Whether the model's visible reasoning is told; clients of older versions do not know it.
    pub tells_reasoning: bool,
    /// The log for details of our own faults; what it is told holds no secrets.
    pub note: Note,
}

/// All tasks. A clone is a handle of the same tasks.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

struct Shared {
    services: Services,
    outlet: Arc<Outlet>,
    lines: Arc<Lines>,
    table: Mutex<Table>,
    /// Whether a task holds a slot.
    is_idle: watch::Sender<bool>,
}

#[derive(Default)]
struct Table {
    /// In the order they were created.
    tasks: Vec<Known>,
    queue: Queue,
    is_closed: bool,
}

enum Known {
    Live(Arc<Cell>),
    Ended(TaskSummary),
}

impl Known {
    fn is(&self, id: &str) -> bool {
        match self {
            Self::Live(cell) => cell.id == id,
            Self::Ended(summary) => summary.id == id,
        }
    }
}

/// How far an approval reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This call.
    Once,
    /// This call, and each equal one of the same task.
    Task,
}

/// No task has that id, or it has been forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchTask;

impl fmt::Display for NoSuchTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such task")
    }
}

impl std::error::Error for NoSuchTask {}

/// Why an answer of a person reached nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerError {
    /// No task has that id.
    NoTask,
    /// The task waits for no such approval or proposal.
    NoApproval,
    /// A reported path is none of the proposal's; nothing was recorded.
    ForeignPath(String),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTask => f.write_str("no such task"),
            Self::NoApproval => f.write_str("the task waits for no such answer"),
            Self::ForeignPath(path) => write!(f, "`{path}` is no file of the proposal"),
        }
    }
}

impl std::error::Error for AnswerError {}

impl Runtime {
    /// Takes up work inside a tokio runtime. Tasks of earlier processes are listed as ended.
    pub fn start(services: Services, events: mpsc::UnboundedSender<Event>) -> Self {
        let ended = services.journal.ended(KEPT).unwrap_or_else(|error| {
            (services.note)(&format!("the history of tasks cannot be read: {error}"));
            Vec::new()
        });
        let outlet = Outlet {
            journal: Arc::clone(&services.journal),
            events,
            note: Arc::clone(&services.note),
            since: Instant::now(),
        };
        let tasks = ended.into_iter().map(Known::Ended).collect();
        let shared = Shared {
            services,
            outlet: Arc::new(outlet),
            lines: Arc::default(),
            table: Mutex::new(Table { tasks, ..Table::default() }),
            is_idle: watch::Sender::new(true),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Takes a task in. The summary always says queued, even when events already tell more.
    ///
    /// # Errors
    ///
    /// After shutdown began. A task that cannot be stored fails with `internal_error` instead.
    #[expect(clippy::unused_async, reason = "a host may have to wait here one day")]
    pub async fn create(&self, input: TaskInput) -> Result<TaskSummary, PortError> {
        let mut table = self.table();
        if table.is_closed {
            return Err(PortError("the service is about to end and takes no task".to_owned()));
        }
        let id = Uuid::new_v4().to_string();
        let (cell, acts) = Cell::new(id.clone(), input, Arc::clone(&self.shared.outlet));
        table.tasks.push(Known::Live(Arc::clone(&cell)));
        let summary = cell.open(acts);
        if cell.is_over() {
            table.retire(&cell);
        } else if table.queue.enter(&id) {
            self.work_on(&table, cell);
        }
        Ok(summary)
    }

    /// Ends a task: at once when it waits for a slot, else as soon as what it does has stopped. False
    /// when it had ended before.
    ///
    /// # Errors
    ///
    /// When no task has that id.
    pub fn cancel(&self, task: &str) -> Result<bool, NoSuchTask> {
        let mut table = self.table();
        let cell = match table.find(task) {
            None => return Err(NoSuchTask),
            Some(Known::Ended(_)) => return Ok(false),
            Some(Known::Live(cell)) => Arc::clone(cell),
        };
        if cell.is_over() {
            return Ok(false);
        }
        table.stop(&cell);
        Ok(true)
    }

    /// All tasks that are not forgotten, the oldest first.
    pub fn list(&self) -> Vec<TaskSummary> {
        let summary = |known: &Known| match known {
            Known::Live(cell) => cell.summary(),
            Known::Ended(summary) => summary.clone(),
        };
        self.table().tasks.iter().map(summary).collect()
    }

    /// The person agrees to a call.
    ///
    /// # Errors
    ///
    /// When the task does not wait for it.
    pub fn approve(&self, task: &str, approval: &str, scope: Scope) -> Result<(), AnswerError> {
        self.live(task)?.answer(approval, Answer::Approve(scope))
    }

    /// The person declines a call.
    ///
    /// # Errors
    ///
    /// When the task does not wait for it.
    pub fn reject(
        &self,
        task: &str,
        approval: &str,
        reason: Option<String>,
    ) -> Result<(), AnswerError> {
        self.live(task)?.answer(approval, Answer::Reject(reason))
    }

    /// What became of some or all files of a proposal; a file may be told again until all are told.
    ///
    /// # Errors
    ///
    /// When the task does not wait for it, or a path is none of the proposal's.
    pub fn report(
        &self,
        task: &str,
        proposal: &str,
        files: Vec<FileReport>,
    ) -> Result<(), AnswerError> {
        self.live(task)?.report(proposal, files)
    }

    /// Hands new settings to the guard, for the next call of each task. Gives a line for each
    /// threshold that was dropped because it loosens. Models and advisor are configured by whoever
    /// owns them.
    pub fn configure(&self, settings: &Settings) -> Vec<String> {
        self.shared.services.guard.configure(&settings.gating)
    }

    /// Ends all tasks and every child process, and waits until that is told, `deadline` at most. A
    /// task whose work does not stop in time is ended without it.
    pub async fn shutdown(&self, deadline: Duration) {
        let end = Instant::now() + deadline;
        self.shared.services.journal.hurry(deadline.mul_f32(JOURNAL_PART));
        // A disk that does not answer stops a thread that can wait for it, and not the children's end.
        let runtime = self.clone();
        let stopped = tokio::task::spawn_blocking(move || runtime.stop_all());
        let quiet = async {
            if stopped.await.is_ok() {
                let mut is_idle = self.shared.is_idle.subscribe();
                // A sender that is gone means that nobody works any more.
                let _ = is_idle.wait_for(|is_idle| *is_idle).await;
            }
        };
        // A part of the time is left for what only a kill stops.
        let is_late = tokio::time::timeout(deadline.mul_f32(TASKS_PART), quiet).await.is_err();
        let left_behind = async {
            if is_late {
                let runtime = self.clone();
                let told = tokio::task::spawn_blocking(move || runtime.give_up_all());
                // What cannot be told in time is not waited for.
                let _ = tokio::time::timeout_at(end, told).await;
            }
        };
        let left = end.saturating_duration_since(Instant::now());
        let children = self.shared.services.tools.children.kill_all(left);
        let (is_killed, ()) = tokio::join!(children, left_behind);
        if !is_killed {
            (self.shared.services.note)(
                "child processes are left that could not be killed in time",
            );
        }
    }

    /// Takes no further task, and stops all.
    fn stop_all(&self) {
        let mut table = self.table();
        table.is_closed = true;
        let live: Vec<_> = table.live().map(Arc::clone).collect();
        // Those that run can wind up while the others are told.
        for cell in &live {
            cell.stop.cancel();
        }
        for cell in &live {
            table.stop(cell);
        }
    }

    /// Ends tasks whose work does not stop.
    fn give_up_all(&self) {
        let live: Vec<_> = self.table().live().map(Arc::clone).collect();
        for cell in live {
            cell.step(machine::Input::Cancel(None));
        }
    }

    fn work_on(&self, table: &Table, cell: Arc<Cell>) {
        self.shared.is_idle.send_replace(false);
        let runtime = self.clone();
        let ended = table.tasks.iter().filter_map(|known| match known {
            Known::Ended(summary) => Some(summary.clone()),
            // It may be about to leave its slot.
            Known::Live(cell) => Some(cell.summary()).filter(|own| own.state.is_terminal()),
        });
        let past = Past {
            lines: Arc::clone(&self.shared.lines),
            ..Past::of(ended, cell.input.kind, cell.summary().updated)
        };
        tokio::spawn(async move {
            worker::run(Arc::clone(&cell), runtime.shared.services.clone(), past).await;
            runtime.leave(&cell);
        });
    }

    /// A task has ended: its slot goes to the oldest one that waits.
    fn leave(&self, cell: &Arc<Cell>) {
        let mut table = self.table();
        table.retire(cell);
        let mut next = table.queue.leave(&cell.id);
        while let Some(id) = next {
            match table.find(&id) {
                Some(Known::Live(cell)) if !cell.is_over() => {
                    let cell = Arc::clone(cell);
                    self.work_on(&table, cell);
                    break;
                }
                _ => next = table.queue.leave(&id),
            }
        }
        self.shared.is_idle.send_replace(table.queue.is_idle());
    }

    fn live(&self, task: &str) -> Result<Arc<Cell>, AnswerError> {
        match self.table().find(task) {
            None => Err(AnswerError::NoTask),
            Some(Known::Ended(_)) => Err(AnswerError::NoApproval),
            Some(Known::Live(cell)) => Ok(Arc::clone(cell)),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.shared.table)
    }
}

impl Table {
    fn find(&self, id: &str) -> Option<&Known> {
        self.tasks.iter().find(|known| known.is(id))
    }

    fn live(&self) -> impl Iterator<Item = &Arc<Cell>> {
        self.tasks.iter().filter_map(|known| match known {
            Known::Live(cell) => Some(cell),
            Known::Ended(_) => None,
        })
    }

    fn stop(&mut self, cell: &Arc<Cell>) {
        cell.stop.cancel();
        if self.queue.is_waiting(&cell.id) {
            self.queue.leave(&cell.id);
            cell.step(machine::Input::Cancel(None));
            self.retire(cell);
        }
    }

    /// Keeps of an ended task what is listed, and forgets the oldest ended ones.
    fn retire(&mut self, cell: &Arc<Cell>) {
        for known in &mut self.tasks {
            if known.is(&cell.id) {
                *known = Known::Ended(cell.summary());
            }
        }
        let is_ended = |known: &Known| matches!(known, Known::Ended(_));
        let mut surplus =
            self.tasks.iter().filter(|known| is_ended(known)).count().saturating_sub(KEPT);
        self.tasks.retain(|known| {
            let is_forgotten = surplus > 0 && is_ended(known);
            surplus -= usize::from(is_forgotten);
            !is_forgotten
        });
    }
}
