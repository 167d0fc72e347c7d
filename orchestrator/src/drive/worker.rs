//! Works on one task that holds a slot: carries out what the machine asks for, one thing after the
//! other, until the task is over. A stop or the end of the time ends whatever is being done.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::cell::{Answer, Cell};
use super::past::Past;
use super::plan::{self, Planned};
use super::{Scope, Services, critique, review};
use crate::guard::{Cleared, Held, Judged, Ruling};
use crate::task::call::ToolCall;
use crate::task::edit::EditProposal;
use crate::task::failure::Failure;
use crate::task::machine::{Input, Judgement, Note, Work};
use crate::tool::Ran;

/// How long something that was stopped may take to wind up before it is left behind.
const GRACE: Duration = Duration::from_secs(2);

/// Works on a task until it is over, whatever happens.
pub(super) async fn run(cell: Arc<Cell>, services: Services, past: Past) {
    let note = Arc::clone(&services.note);
    let worker = Worker::new(Arc::clone(&cell), services, past);
    // A fault in one task must not leave it listed as running, nor touch another one.
    if AssertUnwindSafe(worker.work()).catch_unwind().await.is_err() {
        note(&format!("task {} ended by a panic", cell.id));
    }
    if !cell.is_over() {
        cell.step(Input::Fail(Failure::internal(), None));
    }
}

pub(super) struct Worker {
    pub(super) cell: Arc<Cell>,
    pub(super) services: Services,
    past: Past,
    pub(super) planned: Option<Planned>,
    held: Option<Held>,
    cleared: Option<Cleared<ToolCall>>,
    /// What the model should know of the proposal under review.
    remarks: Vec<String>,
}

impl Worker {
    fn new(cell: Arc<Cell>, services: Services, past: Past) -> Self {
        let (held, cleared, remarks) = (None, None, Vec::new());
        Self { cell, services, past, planned: None, held, cleared, remarks }
    }

    async fn work(mut self) {
        let mut next = self.step(Input::Slot);
        while let Some(work) = next {
            let input = self.until_stopped(work).await;
            next = self.step(input);
        }
    }

    fn step(&mut self, input: Input) -> Option<Work> {
        let (notes, work) = self.cell.step(input);
        for note in notes {
            self.noted(note);
        }
        work
    }

    fn noted(&mut self, note: Note) {
        if let Some(planned) = &mut self.planned {
            planned.team.noted(&note);
            planned.conversation.note(note);
        }
    }

    async fn until_stopped(&mut self, work: Work) -> Input {
        let cancel = CancellationToken::new();
        let stop = self.cell.stop.clone();
        let left = self.cell.left();
        let doing = self.perform(work, &cancel);
        tokio::pin!(doing);
        let is_stopped = tokio::select! {
            biased;
            () = stop.cancelled() => true,
            () = pass(left) => false,
            input = &mut doing => return input,
        };
        cancel.cancel();
        let ran = match tokio::time::timeout(GRACE, doing).await {
            Ok(Input::Ran(ran)) => Some(ran),
            _ => None,
        };
        if is_stopped { Input::Cancel(ran) } else { Input::Tick(ran) }
    }

    async fn perform(&mut self, work: Work, cancel: &CancellationToken) -> Input {
        let input = match work {
            Work::Plan => self.plan(cancel).await,
            Work::Turn => self.turn(cancel).await,
            Work::Arguments(call) => self.planned.as_ref().map(|planned| {
                let fault = |why| format!("the arguments of {} are wrong: {why}", call.tool.name());
                Input::Arguments(planned.toolbox.check(&call).map_err(fault))
            }),
            Work::Judge(call) => self.judge(call, cancel).await,
            Work::Ask { .. } => self.ask(cancel).await,
            Work::Run => self.run(cancel).await,
            Work::Review(proposal) => self.review(&proposal, cancel).await,
        };
        input.unwrap_or_else(|| {
            if !cancel.is_cancelled() {
                (self.services.note)(&format!("task {}: nothing to go on with", self.cell.id));
            }
            Input::Fail(Failure::internal(), None)
        })
    }

    async fn plan(&mut self, cancel: &CancellationToken) -> Option<Input> {
        Some(match plan::plan(&self.cell, &self.services, &self.past, cancel).await {
            Ok(planned) => {
                self.planned = Some(planned);
                Input::Ready
            }
            Err(failure) => Input::Fail(failure, None),
        })
    }

    async fn judge(&mut self, call: ToolCall, cancel: &CancellationToken) -> Option<Input> {
        let planned = self.planned.as_ref()?;
        let Judged { ruling, records } = planned.guard.judge(call, cancel).await;
        if cancel.is_cancelled() {
            return None;
        }
        for record in &records {
            self.services.records.append(record).await;
        }
        let judgement = match ruling {
            Ruling::Run(cleared) => {
                self.cleared = Some(cleared);
                Judgement::Run
            }
            Ruling::Ask(held) => {
                let asked =
                    Judgement::Ask { reasons: held.reasons.clone(), paths: held.paths.clone() };
                self.held = Some(held);
                asked
            }
            Ruling::Refuse { reasons, words } => {
                // The model reads on its own what stands against a call, and what may be done instead.
                let told = words.iter().flat_map(|own| {
                    let instead =
                        (!own.instead.is_empty()).then(|| format!("Instead: {}", own.instead));
                    Some(own.why.clone()).filter(|why| !why.is_empty()).into_iter().chain(instead)
                });
                Judgement::Refuse { reasons, why: told.collect() }
            }
        };
        Some(Input::Judged { records, judgement })
    }

    async fn ask(&mut self, cancel: &CancellationToken) -> Option<Input> {
        let answer = tokio::select! {
            answer = self.cell.answered() => answer?,
            () = cancel.cancelled() => return None,
        };
        let held = self.held.take()?;
        Some(match answer {
            Answer::Reject(reason) => Input::Rejected(reason),
            Answer::Approve(scope) => {
                let guard = &self.planned.as_ref()?.guard;
                if scope == Scope::Task {
                    guard.remember(&held);
                }
                guard.trusted(&held);
                self.cleared = Some(held.approve());
                Input::Approved
            }
        })
    }

    async fn run(&mut self, cancel: &CancellationToken) -> Option<Input> {
        // An edit that would ask is approved by its review; nothing is written before.
        let held = self.held.take().map(Held::approve);
        let cleared = self.cleared.take().or(held)?;
        let toolbox = self.planned.as_ref()?.toolbox.clone();
        let (files, metas, notes) = match toolbox.run(cleared, cancel).await {
            Ran::Result(result) => return Some(Input::Ran(result)),
            Ran::Proposal { files, metas, notes } => (files, metas, notes),
        };
        self.remarks = notes;
        let critique = match self.critique(&files, cancel).await {
            critique::Opinion::None => None,
            critique::Opinion::Critique(critique) => Some(critique),
            critique::Opinion::Revise(result) => return Some(Input::Ran(result)),
        };
        Some(Input::Proposed { files, metas, critique })
    }

    async fn review(
        &mut self,
        proposal: &EditProposal,
        cancel: &CancellationToken,
    ) -> Option<Input> {
        let reports = tokio::select! {
            reports = self.cell.reviewed() => reports?,
            () = cancel.cancelled() => return None,
        };
        if let Some(planned) = &mut self.planned {
            planned.team.reviewed();
        }
        let remarks = std::mem::take(&mut self.remarks);
        let critique = proposal.critique.iter().flat_map(|critique| &critique.issues);
        let remarks: Vec<_> = remarks
            .into_iter()
            .chain(critique.map(|issue| format!("the reviewing model noted: {issue}")))
            .collect();
        Some(Input::Ran(review::outcome(&reports, &remarks)))
    }
}

/// Ends after that many milliseconds, or never.
async fn pass(milliseconds: Option<u64>) {
    match milliseconds {
        Some(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
        None => std::future::pending().await,
    }
}
