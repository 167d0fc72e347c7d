//! Takes states built as metadata only, and questions about them.
//! Gives answers of the rules or of the configured service, and routes for tasks.
//! May import task.
//! Never makes a decision milder, and never sees the content of a file.

pub mod replay;
pub mod route;
pub mod service;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::task::port::SharedSecrets;
use crate::task::settings::Settings;

use self::route::{RouteInput, Routed};
use self::service::TestFailure;

/// Answers questions and chooses routes. One advisor serves all tasks.
pub struct Advisor {
    salt: String,
}

impl Advisor {
    /// An advisor without a service. `salt` keeps redacted names apart: secret, the same for every
    /// start in one workspace, at least 16 characters; a shorter one is replaced by a random one.
    pub fn new(salt: &str) -> Self {
        Self { salt: salt.to_owned() }
    }

    /// Takes new settings and forgets that the service was failing.
    pub fn configure(&self, _settings: &Settings, _secrets: SharedSecrets) {}

    /// Chooses a workflow for a task.
    ///
    /// # Errors
    ///
    /// Only when `cancel` fired.
    pub async fn route(
        &self,
        _input: &RouteInput,
        _cancel: &CancellationToken,
    ) -> Result<Routed, Cancelled> {
        Ok(Routed::default())
    }

    /// How likely a cheap model's draft needs a stronger one, 0 to 4; 3 and more escalates.
    ///
    /// # Errors
    ///
    /// Only when `cancel` fired.
    pub async fn escalation_need(
        &self,
        _input: &RouteInput,
        _cancel: &CancellationToken,
    ) -> Result<u8, Cancelled> {
        Ok(0)
    }

    /// One cheap question to the configured service: milliseconds it took, or what is wrong.
    ///
    /// # Errors
    ///
    /// When there is no service or it gave no usable answer.
    pub async fn jev_test(&self, _cancel: &CancellationToken) -> Result<u64, TestFailure> {
        Err(TestFailure {
            kind: service::FailureKind::BadRequest,
            message: "no service is configured".into(),
            hint: None,
        })
    }

    /// A sample state of a pack, redacted as settings say; nothing is sent anywhere. None for a
    /// pack that is not known.
    pub fn preview(&self, _pack: &str) -> Option<Map<String, Value>> {
        let _ = &self.salt;
        None
    }
}

/// The caller stopped waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}
