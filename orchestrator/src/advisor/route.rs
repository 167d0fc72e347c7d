//! Which workflow a task gets.

use tokio_util::sync::CancellationToken;

use super::pack::{self, Question, WORKFLOWS};
use super::rules;
use super::service::Fallback;
pub use super::state::CostTier;
pub use super::state::RunStatus as LastRun;
use super::state::{self, CostState, State, StateLocality, StateModel, WorkflowState};
use super::{Active, Advisor, AskError, Cancelled, RecordInput, Reply, record};
use crate::task::decision::{Answer, DecisionRecord, EngineKind};
use crate::task::edit::FileMeta;
use crate::task::input::{Preference, TaskKind, Workflow};
use crate::task::settings::{Locality, Role};

/// What a route is chosen by: metadata only.
#[derive(Clone, Debug)]
pub struct RouteInput {
    /// The task.
    pub task: Option<String>,
    /// Its kind.
    pub kind: TaskKind,
    /// What the person would rather have.
    pub preference: Preference,
    /// The workflow the person insists on.
    pub wanted: Option<Workflow>,
    /// Files the task is about: attached, selected, named; any order and number.
    pub files: Vec<FileMeta>,
    /// Lines the change is thought to have; 0 when not known.
    pub estimated_diff_lines: u64,
    /// How the last run of the same work ended.
    pub last_run: LastRun,
    /// Configured models.
    pub models: Vec<RouteModel>,
    /// Lines of the whole project; 0 when not known.
    pub project_lines: u64,
    /// Failures in the last runs.
    pub recent_failures: u64,
}

/// A model as routing sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteModel {
    /// The configured id.
    pub id: String,
    /// Its context window, at least 1.
    pub context_tokens: u64,
    /// How long it takes to answer; 0 when not known.
    pub latency_ms: u64,
    /// What it costs.
    pub cost: CostTier,
    /// Where it runs; without it a free model counts as local.
    pub locality: Option<Locality>,
}

impl CostTier {
    /// The tier of a price in US dollars per million tokens (input, output); without one, free for
    /// a local model and medium for any other.
    pub fn of(price: Option<(f64, f64)>, locality: Locality) -> Self {
        let Some((input, output)) = price else {
            return if locality == Locality::Local { Self::Free } else { Self::Medium };
        };
        let sum = input + output;
        if sum <= 0.0 {
            Self::Free
        } else if sum <= 3.0 {
            Self::Low
        } else if sum <= 20.0 {
            Self::Medium
        } else {
            Self::High
        }
    }
}

/// A chosen route.
#[derive(Clone, Debug, Default)]
pub struct Routed {
    /// The workflow; none where no model makes one possible.
    pub workflow: Option<Workflow>,
    /// Whose turn comes first; none without a workflow.
    pub role: Option<Role>,
    /// Ids of the models the workflow may begin with, in the order of the input.
    pub models: Vec<String>,
    /// Labels without repetition.
    pub reasons: Vec<String>,
    /// None or three; not yet stored.
    pub records: Vec<DecisionRecord>,
}

/// Workflows whose models exist, the weakest first.
pub fn possible(models: &[StateModel]) -> Vec<Workflow> {
    let local = models.iter().any(StateModel::is_local);
    let cloud = models.iter().any(|model| !model.is_local());
    WORKFLOWS
        .into_iter()
        .filter(|workflow| match workflow {
            Workflow::LocalSingle => local,
            Workflow::LocalCloudCascade => local && cloud,
            Workflow::CloudSingle | Workflow::CloudWithCritique => cloud,
        })
        .collect()
}

/// What engines said and the task is, for [`settle`].
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// The chosen workflow.
    pub choice: Option<Workflow>,
    /// 0 to 4.
    pub complexity: u8,
    /// 0 to 4.
    pub cheap_success: u8,
    /// What the person would rather have.
    pub preference: Preference,
    /// Whether any file is sensitive.
    pub sensitive: bool,
}

/// The policy of routes: steps 4 to 6. Gives the workflow and labels; `possible` is not empty and
/// sorted, the weakest first.
pub fn settle(said: Said, possible: &[Workflow]) -> (Option<Workflow>, Vec<String>) {
    let mut reasons = Vec::new();
    let can = |workflow: Workflow| possible.contains(&workflow);
    let mut choice = said.choice;
    if said.cheap_success >= 3
        && said.preference != Preference::Quality
        && choice.is_some_and(|own| own >= Workflow::CloudSingle)
    {
        let cheaper = [Workflow::LocalCloudCascade, Workflow::LocalSingle]
            .into_iter()
            .find(|workflow| can(*workflow));
        if cheaper.is_some() {
            choice = cheaper;
            reasons.push("policy_override:cheap_success".to_owned());
        }
    }
    if said.complexity >= 3 || said.sensitive {
        let wanted: &[Workflow] = if said.preference == Preference::Quality {
            &[Workflow::CloudWithCritique, Workflow::CloudSingle]
        } else {
            &[Workflow::CloudSingle]
        };
        let floor = wanted.iter().copied().find(|workflow| can(*workflow));
        if let Some(floor) = floor.filter(|floor| choice.is_none_or(|own| own < *floor)) {
            choice = Some(floor);
            let cause = if said.complexity >= 3 { "complexity_floor" } else { "sensitive_floor" };
            reasons.push(format!("policy_override:{cause}"));
        }
    }
    if !choice.is_some_and(can) {
        choice = possible.last().copied();
        reasons.push("policy_override:option_unavailable".to_owned());
    }
    (choice, reasons)
}

/// Whose turn comes first in a workflow.
pub const fn first_role(workflow: Workflow) -> Role {
    match workflow {
        Workflow::LocalSingle | Workflow::LocalCloudCascade => Role::Cheap,
        Workflow::CloudSingle | Workflow::CloudWithCritique => Role::Strong,
    }
}

impl Advisor {
    /// Chooses a workflow for a task.
    ///
    /// # Errors
    ///
    /// Only when `cancel` fired.
    pub async fn route(
        &self,
        input: &RouteInput,
        cancel: &CancellationToken,
    ) -> Result<Routed, Cancelled> {
        let active = self.active();
        let (workflow_state, cost_state) = states(input, &active);
        let options = match &workflow_state {
            State::Workflow(own) => possible(&own.available_models),
            _ => Vec::new(),
        };
        if options.is_empty() {
            return Ok(Routed {
                reasons: vec!["no_models_configured".into()],
                ..Routed::default()
            });
        }
        let mut reasons = Vec::new();
        if let Some(wanted) = input.wanted {
            if options.contains(&wanted) {
                return Ok(routed(input, wanted, vec!["policy_override:user_choice".into()]));
            }
            reasons.push(format!("option_unavailable:{}", pack::workflow_word(wanted)));
        }
        let (choice, complexity, cheap) = tokio::try_join!(
            ask(&active, &workflow_state, Question::Workflow, &options, cancel),
            ask(&active, &workflow_state, Question::Complexity, &[], cancel),
            ask(&active, &cost_state, Question::CheapSuccess, &[], cancel),
        )?;
        let said = Said {
            choice: match &choice.answer {
                Answer::Choice { selected, .. } => pack::workflow_of(selected),
                _ => None,
            },
            complexity: score_of(&complexity),
            cheap_success: score_of(&cheap),
            preference: input.preference,
            sensitive: input.files.iter().any(|file| file.sensitive),
        };
        let (workflow, more) = settle(said, &options);
        reasons.extend(more);
        if [&choice, &complexity, &cheap].iter().any(|reply| reply.fallback.is_some()) {
            reasons.push("jev_unavailable".into());
        }
        let Some(workflow) = workflow else { return Ok(Routed { reasons, ..Routed::default() }) };
        let mut routed = routed(input, workflow, reasons);
        routed.records = [
            (&workflow_state, Question::Workflow, choice),
            (&workflow_state, Question::Complexity, complexity),
            (&cost_state, Question::CheapSuccess, cheap),
        ]
        .into_iter()
        .map(|(state, question, reply)| {
            let basis = super::replay::basis(&options, &reply, &active);
            record(RecordInput {
                task: input.task.clone(),
                state,
                question: question.name(),
                reply,
                outcome: None,
                workflow: Some(workflow),
                reasons: routed.reasons.clone(),
                basis: Some(basis),
            })
        })
        .collect();
        Ok(routed)
    }

    /// How likely a cheap model's draft needs a stronger one, 0 to 4; 3 and more escalates.
    ///
    /// # Errors
    ///
    /// Only when `cancel` fired.
    pub async fn escalation_need(
        &self,
        input: &RouteInput,
        cancel: &CancellationToken,
    ) -> Result<u8, Cancelled> {
        let active = self.active();
        let (state, _) = states(input, &active);
        let reply = ask(&active, &state, Question::EscalationNeed, &[], cancel).await?;
        Ok(score_of(&reply))
    }
}

/// An answer whatever happens: a question that cannot be asked is answered by the rules, marked.
async fn ask(
    active: &Active,
    state: &State,
    question: Question,
    options: &[Workflow],
    cancel: &CancellationToken,
) -> Result<Reply, Cancelled> {
    match active.ask(state, question, None, options, cancel).await {
        Ok(reply) => Ok(reply),
        Err(AskError::Cancelled) => Err(Cancelled),
        Err(AskError::Request(_)) => Ok(Reply {
            answer: rules::answer(state, question, None, options)
                .unwrap_or(Answer::Score { score: 0, probs: None }),
            engine: EngineKind::Rules,
            fallback: Some(Fallback::Error),
            latency_ms: 0,
        }),
    }
}

fn routed(input: &RouteInput, workflow: Workflow, reasons: Vec<String>) -> Routed {
    let wants_local = matches!(workflow, Workflow::LocalSingle | Workflow::LocalCloudCascade);
    let models = input
        .models
        .iter()
        .filter(|model| told(model).is_local() == wants_local)
        .map(|model| model.id.clone())
        .collect();
    Routed {
        workflow: Some(workflow),
        role: Some(first_role(workflow)),
        models,
        reasons,
        records: Vec::new(),
    }
}

fn score_of(reply: &Reply) -> u8 {
    match &reply.answer {
        Answer::Score { score, .. } => *score,
        _ => 0,
    }
}

fn told(model: &RouteModel) -> StateModel {
    StateModel {
        id: model.id.chars().take(128).collect(),
        context_tokens: model.context_tokens.max(1),
        latency_ms: model.latency_ms,
        cost_tier: model.cost,
        locality: model.locality.map(|own| match own {
            Locality::Local => StateLocality::Local,
            Locality::Cloud => StateLocality::Cloud,
        }),
    }
}

/// The states of both packs.
fn states(input: &RouteInput, active: &Active) -> (State, State) {
    let (files_touched, truncated_count) = state::files(&input.files, &|path| active.path(path));
    let workflow = State::Workflow(WorkflowState {
        task_type: input.kind,
        files_touched,
        truncated_count,
        estimated_diff_size: input.estimated_diff_lines,
        last_run_status: input.last_run,
        user_preference: input.preference,
        available_models: input
            .models
            .iter()
            .filter(|model| !model.id.is_empty())
            .map(told)
            .collect(),
    });
    let cost = State::Cost(CostState {
        task_type: input.kind,
        files_touched_count: u64::try_from(input.files.len()).unwrap_or(u64::MAX),
        project_size_lines: input.project_lines,
        user_cost_bias: input.preference,
        recent_failures: input.recent_failures,
    });
    (workflow, cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Workflow::{CloudSingle, CloudWithCritique, LocalCloudCascade, LocalSingle};

    fn said(choice: Workflow, complexity: u8, cheap_success: u8) -> Said {
        Said {
            choice: Some(choice),
            complexity,
            cheap_success,
            preference: Preference::Balance,
            sensitive: false,
        }
    }

    #[test]
    fn the_policy_of_routes() {
        let all = WORKFLOWS;
        let quality = |own: Said| Said { preference: Preference::Quality, ..own };
        let sensitive = |own: Said| Said { sensitive: true, ..own };
        let cases: [(Said, &[Workflow], Workflow, &[&str]); 13] = [
            (said(LocalSingle, 0, 4), &all, LocalSingle, &[]),
            (said(CloudSingle, 0, 3), &all, LocalCloudCascade, &["policy_override:cheap_success"]),
            (said(CloudWithCritique, 0, 2), &all, CloudWithCritique, &[]),
            (quality(said(CloudSingle, 0, 4)), &all, CloudSingle, &[]),
            (
                said(CloudSingle, 0, 4),
                &[LocalSingle, CloudSingle],
                LocalSingle,
                &["policy_override:cheap_success"],
            ),
            (said(CloudSingle, 0, 4), &[CloudSingle, CloudWithCritique], CloudSingle, &[]),
            (said(LocalSingle, 3, 0), &all, CloudSingle, &["policy_override:complexity_floor"]),
            (
                sensitive(said(LocalSingle, 0, 0)),
                &all,
                CloudSingle,
                &["policy_override:sensitive_floor"],
            ),
            (
                sensitive(said(LocalSingle, 4, 0)),
                &all,
                CloudSingle,
                &["policy_override:complexity_floor"],
            ),
            (
                quality(said(CloudSingle, 3, 0)),
                &all,
                CloudWithCritique,
                &["policy_override:complexity_floor"],
            ),
            (
                said(CloudWithCritique, 3, 3),
                &all,
                CloudSingle,
                &["policy_override:cheap_success", "policy_override:complexity_floor"],
            ),
            (said(LocalSingle, 4, 0), &[LocalSingle], LocalSingle, &[]),
            (
                said(LocalCloudCascade, 0, 0),
                &[CloudSingle, CloudWithCritique],
                CloudWithCritique,
                &["policy_override:option_unavailable"],
            ),
        ];
        for (said, possible, workflow, reasons) in cases {
            let (chosen, given) = settle(said, possible);
            assert_eq!(
                (chosen, given.as_slice().iter().map(String::as_str).collect()),
                (Some(workflow), reasons.to_vec()),
                "{said:?} {possible:?}"
            );
        }
    }

    #[test]
    fn prices_have_tiers() {
        for (price, locality, tier) in [
            (None, Locality::Local, CostTier::Free),
            (None, Locality::Cloud, CostTier::Medium),
            (Some((0.0, 0.0)), Locality::Cloud, CostTier::Free),
            (Some((0.5, 1.5)), Locality::Cloud, CostTier::Low),
            (Some((3.0, 15.0)), Locality::Cloud, CostTier::Medium),
            (Some((15.0, 75.0)), Locality::Cloud, CostTier::High),
        ] {
            assert_eq!(CostTier::of(price, locality), tier);
        }
    }
}
