//! What a model is told of the workspace before it asks for anything.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::task::input::TaskContext;
use crate::task::project::Project;
use crate::tool::{Toolbox, Workspace};

/// Where the context is looked up.
pub(super) struct Look {
    pub(super) workspace: Arc<Workspace>,
    pub(super) project: Arc<Project>,
    pub(super) toolbox: Toolbox,
}

/// Tokens of context for a window of that many: a quarter, 2,000 at least and 32,000 at most.
pub(super) const fn limit(window: u64) -> u64 {
    let quarter = window / 4;
    if quarter < 2_000 {
        2_000
    } else if quarter > 32_000 {
        32_000
    } else {
        quarter
    }
}

/// A snapshot of what the task is about, of at most `limit` tokens.
pub(super) async fn gather(
    look: &Look,
    context: &TaskContext,
    limit: u64,
    cancel: &CancellationToken,
) -> String {
    let _ = (&look.workspace, &look.project, &look.toolbox, context, limit, cancel);
    String::new()
}
