//! Why a task fails, and what is told of it.

/// Why a task fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The checks failed on the last attempt.
    Iterations,
    /// The model made too many calls.
    ToolCalls,
    /// The turns took too many tokens.
    Tokens,
    /// It worked too long.
    WallClock,
    /// The model goes round in circles.
    Loop,
    /// A turn ended in an error.
    Model {
        /// The error's word, as `rate_limit`.
        kind: &'static str,
        /// Whether trying again may help.
        retryable: bool,
    },
    /// No model can be had for the role.
    ModelUnavailable {
        /// The error's word, as `bad_request`.
        kind: &'static str,
    },
    /// The person declined a check.
    VerificationRejected,
    /// The guard refused a check.
    VerificationBlocked,
    /// A check is wanted, and the project has no command for it.
    NoCheckCommand,
    /// No workspace root, or none that can be opened.
    NoWorkspace,
    /// A fault of ours, or of the disk.
    Internal,
}

impl Reason {
    /// The failure reason of the summary and of the last state change.
    pub fn text(self) -> String {
        match self {
            Self::Model { kind, .. } => format!("model_error:{kind}"),
            Self::ModelUnavailable { .. } => "model_unavailable".to_owned(),
            other => other.kind().to_owned(),
        }
    }

    /// The kind of the error event.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Iterations => "budget:maxIterations",
            Self::ToolCalls => "budget:maxToolCalls",
            Self::Tokens => "budget:maxTokens",
            Self::WallClock => "budget:wallClockMs",
            Self::Loop => "loop_detected",
            Self::Model { kind, .. } | Self::ModelUnavailable { kind } => kind,
            Self::VerificationRejected => "verification_rejected",
            Self::VerificationBlocked => "verification_blocked",
            Self::NoCheckCommand => "no_check_command",
            Self::NoWorkspace => "no_workspace",
            Self::Internal => "internal_error",
        }
    }

    /// Whether trying again may help.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Model { retryable: true, .. })
    }
}

/// A failure as a person is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub reason: Reason,
    /// For the person; without secrets, and without details of a fault of ours.
    pub message: String,
    /// Milliseconds a provider asks to wait.
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    /// A failure without a time to wait.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), retry_after_ms: None }
    }

    /// A fault of ours; its details belong into the log.
    pub fn internal() -> Self {
        Self::new(Reason::Internal, "the task failed by a fault of the service; see its log")
    }
}
