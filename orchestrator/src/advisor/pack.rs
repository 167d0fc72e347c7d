//! Packs and their questions.

use crate::task::input::{Preference, TaskKind, Workflow};

/// A pack of questions about one kind of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pack {
    /// Which workflow a task gets.
    WorkflowSelect,
    /// Whether a call may run.
    RiskGate,
    /// Whether a cheap model will do.
    CostRoute,
}

impl Pack {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::WorkflowSelect, Self::RiskGate, Self::CostRoute];

    /// Its name with the version.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WorkflowSelect => "workflow_select@1",
            Self::RiskGate => "risk_gate@1",
            Self::CostRoute => "cost_route@1",
        }
    }

    /// The pack of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pack| pack.name() == name)
    }
}

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Which workflow should handle the task.
    Workflow,
    /// How complex the task is.
    Complexity,
    /// How likely a cheap model's draft needs escalation.
    EscalationNeed,
    /// Whether the action is safe in the present context.
    SafeNow,
    /// Whether it can be undone without a person.
    Reversible,
    /// Whether it touches security, money or data migration.
    HighRiskArea,
    /// How likely a cheap model succeeds without escalation.
    CheapSuccess,
}

/// What kind of answer a question wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuestionKind {
    /// One of the options.
    Choice,
    /// 0 to 4.
    Score,
    /// Yes, no, unknown.
    Noul,
}

impl Question {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Workflow,
        Self::Complexity,
        Self::EscalationNeed,
        Self::SafeNow,
        Self::Reversible,
        Self::HighRiskArea,
        Self::CheapSuccess,
    ];

    /// The questions about a call, in the order of their records.
    pub const RISK: [Self; 3] = [Self::SafeNow, Self::Reversible, Self::HighRiskArea];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Complexity => "complexity",
            Self::EscalationNeed => "escalation_need",
            Self::SafeNow => "safe_now",
            Self::Reversible => "reversible",
            Self::HighRiskArea => "high_risk_area",
            Self::CheapSuccess => "cheap_success",
        }
    }

    /// The question of that name in that pack.
    pub fn from_name(pack: Pack, name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.pack() == pack && own.name() == name)
    }

    /// The pack it belongs to.
    pub const fn pack(self) -> Pack {
        match self {
            Self::Workflow | Self::Complexity | Self::EscalationNeed => Pack::WorkflowSelect,
            Self::SafeNow | Self::Reversible | Self::HighRiskArea => Pack::RiskGate,
            Self::CheapSuccess => Pack::CostRoute,
        }
    }

    /// What kind of answer it wants.
    pub const fn kind(self) -> QuestionKind {
        match self {
            Self::Workflow => QuestionKind::Choice,
            Self::Complexity | Self::EscalationNeed | Self::CheapSuccess => QuestionKind::Score,
            Self::SafeNow | Self::Reversible | Self::HighRiskArea => QuestionKind::Noul,
        }
    }

    /// The question in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Workflow => "Which workflow option should handle this task?",
            Self::Complexity => "How complex is this task, from 0 (trivial) to 4 (very complex)?",
            Self::EscalationNeed => {
                "How likely does a cheap model's draft need a stronger model, from 0 to 4?"
            }
            Self::SafeNow => "Is this action safe in the present context?",
            Self::Reversible => "Can this action be undone without a person?",
            Self::HighRiskArea => {
                "Does this action touch security, authentication, billing or data migration?"
            }
            Self::CheapSuccess => {
                "How likely does a cheap or local model succeed without a stronger one, from 0 to 4?"
            }
        }
    }
}

impl QuestionKind {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Choice => "choice",
            Self::Score => "score",
            Self::Noul => "noul",
        }
    }
}

/// All workflows, the weakest first.
pub const WORKFLOWS: [Workflow; 4] = [
    Workflow::LocalSingle,
    Workflow::LocalCloudCascade,
    Workflow::CloudSingle,
    Workflow::CloudWithCritique,
];

/// The word of a workflow in states, answers and labels.
pub const fn workflow_word(workflow: Workflow) -> &'static str {
    match workflow {
        Workflow::LocalSingle => "local-single",
        Workflow::LocalCloudCascade => "local-cloud-cascade",
        Workflow::CloudSingle => "cloud-single",
        Workflow::CloudWithCritique => "cloud-with-critique",
    }
}

/// The workflow of that word.
pub fn workflow_of(word: &str) -> Option<Workflow> {
    WORKFLOWS.into_iter().find(|workflow| workflow_word(*workflow) == word)
}

const KINDS: [(TaskKind, &str); 7] = [
    (TaskKind::Autocomplete, "autocomplete"),
    (TaskKind::Refactor, "refactor"),
    (TaskKind::BugFix, "bug_fix"),
    (TaskKind::TestWrite, "test_write"),
    (TaskKind::InfraChange, "infra_change"),
    (TaskKind::Explain, "explain"),
    (TaskKind::Other, "other"),
];

/// The word of a kind in states.
pub fn kind_word(kind: TaskKind) -> &'static str {
    KINDS.iter().find(|(own, _)| *own == kind).map_or("other", |(_, word)| word)
}

/// The kind of that word.
pub fn kind_of(word: &str) -> Option<TaskKind> {
    KINDS.iter().find(|(_, own)| *own == word).map(|(kind, _)| *kind)
}

/// The word of a preference in states.
pub const fn preference_word(preference: Preference) -> &'static str {
    match preference {
        Preference::Cheap => "cheap",
        Preference::Balance => "balance",
        Preference::Quality => "quality",
    }
}

/// The preference of that word.
pub fn preference_of(word: &str) -> Option<Preference> {
    [Preference::Cheap, Preference::Balance, Preference::Quality]
        .into_iter()
        .find(|preference| preference_word(*preference) == word)
}
