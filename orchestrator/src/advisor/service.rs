//! The configured service.

use std::fmt;

/// Why a test of the service failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFailure {
    /// The kind.
    pub kind: FailureKind,
    /// What happened; holds no secret.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for TestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TestFailure {}

/// The kind of a service's failure, in the words of models' failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The key is missing or refused.
    Auth,
    /// Too many requests.
    RateLimit,
    /// It is not configured, or it does not understand the request.
    BadRequest,
    /// It is at fault.
    Server,
    /// The connection is.
    Network,
    /// It took too long.
    Timeout,
    /// We stopped it.
    Cancelled,
    /// Its answer is none.
    Unknown,
}

impl FailureKind {
    /// Its word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::BadRequest => "bad_request",
            Self::Server => "server",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}
