//! Which workflow a task gets.

use crate::task::decision::DecisionRecord;
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

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LastRun {
    /// There was none.
    #[default]
    None,
    /// Well.
    Success,
    /// Badly.
    Failed,
    /// By a person.
    Cancelled,
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

/// What a model costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CostTier {
    /// Nothing.
    Free,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
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
    /// The models the workflow may use, by locality, in the order of the input.
    pub models: Vec<String>,
    /// Labels without repetition.
    pub reasons: Vec<String>,
    /// None or three; not yet stored.
    pub records: Vec<DecisionRecord>,
}
