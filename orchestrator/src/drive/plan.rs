//! Planning: which model works in which way, on which workspace, with which context.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Services;
use super::cell::Cell;
use super::context::{self, Look};
use super::past::Past;
use super::turn::Conversation;
use crate::advisor::route::{CostTier, LastRun, RouteInput, RouteModel, Routed};
use crate::guard::{Repository, TaskGuard};
use crate::model::{ChatModel, ModelError};
use crate::task::call::{FailureKind, ToolName};
use crate::task::decision::Answer;
use crate::task::edit::FileMeta;
use crate::task::failure::{Failure, Reason};
use crate::task::input::{ContextRef, Preference, TaskInput, Workflow};
use crate::task::machine::{Input, Note};
use crate::task::project::Project;
use crate::task::settings::Role;
use crate::tool::{Toolbox, Workspace, meta, project};

/// A context window of unknown size counts as this many tokens.
const UNKNOWN_WINDOW: u64 = 32_000;

/// From this answer on a cheap draft is not worth its time.
const ESCALATION: u8 = 3;
/// Up to this answer a cheap model is not tried alone.
const HOPELESS: u8 = 1;

/// What a task works with once it is planned.
pub(super) struct Planned {
    pub(super) toolbox: Toolbox,
    pub(super) guard: TaskGuard,
    pub(super) conversation: Conversation,
    pub(super) team: Team,
}

/// Which models work on a task. It keeps them when settings change.
pub(super) struct Team {
    /// The one whose turn it is.
    pub(super) model: Arc<dyn ChatModel>,
    /// Takes over once when a draft fails.
    strong: Option<Arc<dyn ChatModel>>,
    is_failing: bool,
    /// Looks at proposals.
    pub(super) reviewer: Option<Arc<dyn ChatModel>>,
    /// Whether the reviewer may still ask for a revision.
    pub(super) may_revise: bool,
    is_reviewed: bool,
}

impl Team {
    /// Looks at what came of a draft: a cheap model that cannot write a call, whose edits fit no file,
    /// or whose work fails the checks makes room for the strong one.
    pub(super) fn noted(&mut self, note: &Note) {
        let was_reviewed = std::mem::take(&mut self.is_reviewed);
        self.is_failing |= match note {
            Note::Said(_) => false,
            Note::Unmet(_) => true,
            Note::Result { failure: None, .. } => false,
            Note::Result { failure: Some(FailureKind::InvalidArgs), is_whole: false, .. } => true,
            Note::Result { failure: Some(kind), name, .. } => {
                let is_draft = name == ToolName::ProposeEdit.name() && !was_reviewed;
                is_draft && matches!(kind, FailureKind::InvalidArgs | FailureKind::Failed)
            }
        };
    }

    /// A person has seen the proposal: what they think of it is no fault of its form.
    pub(super) const fn reviewed(&mut self) {
        self.is_reviewed = true;
    }

    /// The model whose turn it is failed; the strong one may take over.
    pub(super) const fn failed(&mut self) -> bool {
        self.is_failing = true;
        self.strong.is_some()
    }

    /// Changes over to the strong model where the draft has failed; gives it when it is new.
    pub(super) fn escalate(&mut self) -> Option<String> {
        if !std::mem::take(&mut self.is_failing) {
            return None;
        }
        self.model = self.strong.take()?;
        Some(self.model.settings().id.clone())
    }
}

/// Prepares a task, each step failing with its own reason.
pub(super) async fn plan(
    cell: &Cell,
    services: &Services,
    past: &Past,
    cancel: &CancellationToken,
) -> Result<Planned, Failure> {
    let input = &cell.input;
    let role = if input.preference == Preference::Quality { Role::Strong } else { Role::Cheap };
    let usual = services.models.by_role(role).map_err(|error| unavailable(&error))?;
    let result = plan_for(cell, services, past, &usual, cancel).await;
    // A task that fails in planning still tells which model it was meant for.
    let model = result.as_ref().map_or(&usual, |planned| &planned.team.model);
    cell.step(Input::Model(model.settings().id.clone()));
    result
}

async fn plan_for(
    cell: &Cell,
    services: &Services,
    past: &Past,
    usual: &Arc<dyn ChatModel>,
    cancel: &CancellationToken,
) -> Result<Planned, Failure> {
    let input = &cell.input;
    let workspace = Workspace::open(&services.roots)
        .map_err(|error| Failure::new(Reason::NoWorkspace, error.to_string()))?;
    let workspace = Arc::new(workspace);
    let (project, warnings) = project::read(&workspace);
    for warning in warnings {
        (services.note)(&warning);
    }
    require_commands(input, &project)?;
    let project = Arc::new(project);
    let toolbox = Toolbox::new(Arc::clone(&workspace), Arc::clone(&project), &services.tools);

    let files = files(input, &workspace, &project);
    let models = services.models.all();
    let route = RouteInput {
        files,
        models: models.iter().map(|model| route_model(model.as_ref())).collect(),
        last_run: past.last_run,
        recent_failures: past.failures,
        project_lines: past.lines.of(&toolbox).await,
        ..route_input(cell)
    };
    let team = assemble(cell, services, usual, &route, cancel).await?;
    let model = &team.model;
    let window = model.capabilities(cancel).await.ok().map(|able| able.context_tokens);
    let repository: Arc<dyn Repository> = Arc::new(toolbox.clone());
    let guard =
        services.guard.open(cell.id.clone(), workspace.place().clone(), project, repository);
    let look = Look { toolbox: &toolbox, guard: &guard, cancel };
    let limit = context::limit(window.unwrap_or(UNKNOWN_WINDOW));
    let gathered = context::gather(&look, &input.context, limit).await;
    let specs = toolbox.specs(&input.allowed_tools);
    let conversation = Conversation::new(input, &gathered, specs);
    Ok(Planned { toolbox, guard, conversation, team })
}

fn unavailable(error: &ModelError) -> Failure {
    Failure::new(Reason::ModelUnavailable { kind: error.kind.name() }, error.to_string())
}

fn require_commands(input: &TaskInput, project: &Project) -> Result<(), Failure> {
    let wanted = [
        (input.success.tests_pass, &project.test_command, "test", "testCommand"),
        (input.success.lint_clean, &project.lint_command, "lint", "lintCommand"),
    ];
    for (is_wanted, command, what, key) in wanted {
        if is_wanted && command.is_none() {
            return Err(Failure::new(
                Reason::NoCheckCommand,
                format!(
                    "the project has no {what} command; set `{key}` in .desiide/project.json, or do \
                     not ask for this check"
                ),
            ));
        }
    }
    Ok(())
}

/// Facts of the files a task is about.
fn files(input: &TaskInput, workspace: &Workspace, project: &Project) -> Vec<FileMeta> {
    let context = &input.context;
    let attached = context.refs.iter().filter_map(|attached| match attached {
        ContextRef::File { path } | ContextRef::Selection { path, .. } => Some(path),
        ContextRef::Diff { path, .. } => path.as_ref(),
        ContextRef::Folder { .. } => None,
    });
    let mut paths: Vec<&String> = Vec::new();
    for path in attached.chain(&context.tests) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths.into_iter().map(|path| meta::of(workspace, &project.sensitive_globs, path)).collect()
}

/// Chooses the workflow and who works in it.
async fn assemble(
    cell: &Cell,
    services: &Services,
    usual: &Arc<dyn ChatModel>,
    route: &RouteInput,
    cancel: &CancellationToken,
) -> Result<Team, Failure> {
    // A route that was not chosen is no reason to fail: a stop ends the task by itself.
    let routed = services.advisor.route(route, cancel).await.unwrap_or_default();
    for record in &routed.records {
        services.records.append(record).await;
    }
    if let Some(workflow) = routed.workflow {
        cell.step(Input::Workflow(workflow));
    }
    let mut team = Team {
        model: first(services, usual, &routed),
        strong: None,
        is_failing: false,
        reviewer: None,
        may_revise: true,
        is_reviewed: false,
    };
    match routed.workflow {
        Some(Workflow::LocalCloudCascade) => {
            let first = team.model.settings().id.clone();
            team.strong = services
                .models
                .by_role(Role::Strong)
                .ok()
                .filter(|strong| strong.settings().id != first);
            let need = services.advisor.escalation_need(route, cancel).await.unwrap_or_default();
            if need >= ESCALATION {
                team.failed();
                team.escalate();
            }
        }
        Some(Workflow::CloudWithCritique) => {
            // A model that reviews its own edits is no second opinion.
            let first = team.model.settings().id.clone();
            team.reviewer = services
                .models
                .by_role(Role::Reviewer)
                .ok()
                .filter(|reviewer| reviewer.settings().id != first);
        }
        Some(Workflow::LocalSingle | Workflow::CloudSingle) | None => {}
    }
    cell.step(Input::Decided(routed.records));
    Ok(team)
}

/// The model whose turn comes first.
fn first(services: &Services, usual: &Arc<dyn ChatModel>, routed: &Routed) -> Arc<dyn ChatModel> {
    let may = |model: &Arc<dyn ChatModel>| routed.models.contains(&model.settings().id);
    match routed.workflow {
        None => return Arc::clone(usual),
        // One model alone is the one the person's preference names, unless the work is hard.
        Some(Workflow::LocalSingle | Workflow::CloudSingle) if !is_hard(routed) && may(usual) => {
            return Arc::clone(usual);
        }
        Some(_) => {}
    }
    let hard = is_hard(routed).then_some(Role::Strong);
    hard.into_iter()
        .chain(routed.role)
        .chain([Role::Cheap, Role::Strong])
        .filter_map(|role| services.models.by_role(role).ok())
        .find(may)
        .or_else(|| routed.models.iter().find_map(|id| services.models.get(id)))
        .unwrap_or_else(|| Arc::clone(usual))
}

/// Whether the advisor said that the work is complex, or that a cheap model will hardly manage it.
fn is_hard(routed: &Routed) -> bool {
    let score = |question: &str| {
        routed.records.iter().find(|record| record.question == question).and_then(|record| {
            match record.answer {
                Answer::Score { score, .. } => Some(score),
                _ => None,
            }
        })
    };
    let is_cascade = routed.workflow == Some(Workflow::LocalCloudCascade);
    let is_complex = score("complexity").is_some_and(|score| score >= ESCALATION);
    let is_beyond_cheap = score("cheap_success").is_some_and(|score| score <= HOPELESS);
    !is_cascade && (is_complex || is_beyond_cheap)
}

/// What the input alone says about a route.
fn route_input(cell: &Cell) -> RouteInput {
    let input = &cell.input;
    RouteInput {
        task: Some(cell.id.clone()),
        kind: input.kind,
        preference: input.preference,
        wanted: input.workflow_override,
        files: Vec::new(),
        estimated_diff_lines: 0,
        last_run: LastRun::None,
        models: Vec::new(),
        project_lines: 0,
        recent_failures: 0,
    }
}

fn route_model(model: &dyn ChatModel) -> RouteModel {
    let settings = model.settings();
    RouteModel {
        id: settings.id.clone(),
        // Probing every model would make each task wait for each server.
        context_tokens: settings.declared.context_tokens.unwrap_or(UNKNOWN_WINDOW).max(1),
        latency_ms: 0,
        cost: CostTier::of(settings.cost_per_mtok, model.locality()),
        locality: Some(model.locality()),
    }
}
