//! One task as others may touch it: its machine, its history and the answer it waits for.
//!
//! Whatever changes the task goes through `step`, which stores each event before it tells it, all under
//! one lock; so events of a task are told in their order and no answer can overtake its question.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::review::Review;
use super::{AnswerError, Note as Sink, Scope};
use crate::task::Timestamp;
use crate::task::edit::FileReport;
use crate::task::event::Event;
use crate::task::failure::Failure;
use crate::task::input::TaskInput;
use crate::task::machine::{Act, Input, Machine, Moment, Note, Work};
use crate::task::port::Journal;
use crate::task::state::{TaskState, TaskSummary};
use crate::wait::lock;

/// Where events of all tasks go, and the clock they share.
pub(super) struct Outlet {
    pub(super) journal: Arc<dyn Journal>,
    pub(super) events: mpsc::UnboundedSender<Event>,
    pub(super) note: Sink,
    pub(super) since: Instant,
}

impl Outlet {
    fn now(&self) -> Moment {
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Moment {
            at: Timestamp(i64::try_from(at.as_millis()).unwrap_or(i64::MAX)),
            elapsed: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// What a person says to a call.
#[derive(Debug)]
pub(super) enum Answer {
    Approve(Scope),
    Reject(Option<String>),
}

/// One task.
pub(super) struct Cell {
    pub(super) id: String,
    pub(super) input: TaskInput,
    /// Fires when the task is to end.
    pub(super) stop: CancellationToken,
    outlet: Arc<Outlet>,
    inside: Mutex<Inside>,
}

struct Inside {
    machine: Machine,
    waiting: Option<Waiting>,
    answer: Option<oneshot::Receiver<Answer>>,
    reviewed: Option<oneshot::Receiver<Vec<FileReport>>>,
    /// Events that could not be stored when they were told, oldest first.
    unstored: Vec<(Event, Arc<TaskSummary>)>,
    is_listed: bool,
}

enum Waiting {
    Approval(String, oneshot::Sender<Answer>),
    Review(Review, oneshot::Sender<Vec<FileReport>>),
}

impl Cell {
    /// A task that was just created; nothing is told of it before `open`.
    pub(super) fn new(id: String, input: TaskInput, outlet: Arc<Outlet>) -> (Arc<Self>, Vec<Act>) {
        let fresh = Box::new(|| Uuid::new_v4().to_string());
        let (machine, acts) = Machine::new(id.clone(), &input, outlet.now(), fresh);
        let inside = Inside {
            machine,
            waiting: None,
            answer: None,
            reviewed: None,
            unstored: Vec::new(),
            is_listed: false,
        };
        let stop = CancellationToken::new();
        (Arc::new(Self { id, input, stop, outlet, inside: Mutex::new(inside) }), acts)
    }

    /// Writes the task into the history and tells its first event. Gives the summary as it is then.
    pub(super) fn open(&self, acts: Vec<Act>) -> TaskSummary {
        let mut inside = self.inside();
        let summary = TaskSummary::clone(inside.machine.summary());
        match self.outlet.journal.create(&summary, &self.input) {
            Ok(()) => inside.is_listed = true,
            Err(error) => (self.outlet.note)(&format!("task {} not stored: {error}", self.id)),
        }
        self.carry_out(&mut inside, acts);
        summary
    }

    /// Something happened. Gives what the worker has to do.
    pub(super) fn step(&self, input: Input) -> (Vec<Note>, Option<Work>) {
        let mut inside = self.inside();
        let now = self.outlet.now();
        let acts = inside.machine.step(now, input);
        self.carry_out(&mut inside, acts)
    }

    fn carry_out(&self, inside: &mut Inside, acts: Vec<Act>) -> (Vec<Note>, Option<Work>) {
        let mut notes = Vec::new();
        let mut work = None;
        for act in &acts {
            // The question is open before it is told, so that the quickest answer finds it.
            if let Act::Do(work) = act {
                inside.wait_for(work);
            }
        }
        let mut is_stored = inside.is_listed;
        for act in acts {
            match act {
                Act::Tell(event, summary) => is_stored &= self.tell(inside, *event, summary),
                Act::Note(note) => notes.push(note),
                Act::Do(next) => work = Some(next),
            }
        }
        if !is_stored && !inside.machine.is_over() {
            // A history with a hole would mislead whoever reads it later: the task ends here.
            let acts =
                inside.machine.step(self.outlet.now(), Input::Fail(Failure::internal(), None));
            for act in acts {
                if let Act::Tell(event, summary) = act {
                    self.tell(inside, *event, summary);
                }
            }
            work = None;
        }
        if inside.machine.summary().state != TaskState::AwaitingApproval {
            inside.waiting = None;
        }
        (notes, work)
    }

    /// Stores and tells an event. False when it could not be stored; it is told all the same, because
    /// the client must see the task end.
    fn tell(&self, inside: &mut Inside, event: Event, summary: Arc<TaskSummary>) -> bool {
        inside.unstored.push((event.clone(), summary));
        let mut result = Ok(());
        if inside.is_listed {
            let mut stored = 0;
            for (event, summary) in &inside.unstored {
                result = self.outlet.journal.append(event, summary);
                if result.is_err() {
                    break;
                }
                stored += 1;
            }
            inside.unstored.drain(..stored);
        }
        if let Err(error) = &result {
            (self.outlet.note)(&format!("event of task {} not stored: {error}", self.id));
        }
        // Nobody listens any more: the process is about to end.
        let _ = self.outlet.events.send(event);
        inside.is_listed && result.is_ok()
    }

    /// Where the task stands.
    pub(super) fn summary(&self) -> TaskSummary {
        TaskSummary::clone(self.inside().machine.summary())
    }

    /// Whether nothing can follow.
    pub(super) fn is_over(&self) -> bool {
        self.inside().machine.is_over()
    }

    /// Milliseconds it may go on working; none while the clock stands still.
    pub(super) fn left(&self) -> Option<u64> {
        let now = self.outlet.now();
        self.inside().machine.left(now.elapsed)
    }

    /// The person answers.
    pub(super) fn answer(&self, approval: &str, answer: Answer) -> Result<(), AnswerError> {
        let mut inside = self.inside();
        let waiting = inside
            .waiting
            .take_if(|waiting| matches!(waiting, Waiting::Approval(asked, _) if asked == approval));
        match waiting {
            Some(Waiting::Approval(_, person)) => {
                person.send(answer).map_err(|_| AnswerError::NoApproval)
            }
            _ => Err(AnswerError::NoApproval),
        }
    }

    /// The client tells what became of files.
    pub(super) fn report(&self, proposal: &str, files: Vec<FileReport>) -> Result<(), AnswerError> {
        let mut inside = self.inside();
        let Some(Waiting::Review(review, _)) = &mut inside.waiting else {
            return Err(AnswerError::NoApproval);
        };
        if review.proposal() != proposal {
            return Err(AnswerError::NoApproval);
        }
        review.record(files).map_err(AnswerError::ForeignPath)?;
        let Some(reports) = review.complete() else { return Ok(()) };
        match inside.waiting.take() {
            Some(Waiting::Review(_, done)) => {
                done.send(reports).map_err(|_| AnswerError::NoApproval)
            }
            _ => Err(AnswerError::NoApproval),
        }
    }

    /// Waits for the answer to the question that was asked last; none when it was dropped.
    pub(super) async fn answered(&self) -> Option<Answer> {
        let answer = self.inside().answer.take()?;
        answer.await.ok()
    }

    /// Waits for the end of the review; none when it was dropped.
    pub(super) async fn reviewed(&self) -> Option<Vec<FileReport>> {
        let reviewed = self.inside().reviewed.take()?;
        reviewed.await.ok()
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        lock(&self.inside)
    }
}

impl Inside {
    fn wait_for(&mut self, work: &Work) {
        match work {
            Work::Ask { approval } => {
                let (person, answer) = oneshot::channel();
                self.waiting = Some(Waiting::Approval(approval.clone(), person));
                self.answer = Some(answer);
            }
            Work::Review(proposal) => {
                let (done, reviewed) = oneshot::channel();
                self.waiting = Some(Waiting::Review(Review::new(proposal), done));
                self.reviewed = Some(reviewed);
            }
            Work::Plan | Work::Turn | Work::Arguments(_) | Work::Judge(_) | Work::Run => {}
        }
    }
}
