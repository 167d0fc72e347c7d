//! What a project says about itself, read once per task and shared by guard and tools.

use serde::{Deserialize, Serialize};

/// A project's own settings after detection of its commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Runs its tests.
    pub test_command: Option<String>,
    /// Runs its linter.
    pub lint_command: Option<String>,
    /// Names of further secret files.
    pub sensitive_globs: Vec<String>,
    /// Names of files that listing and search leave out.
    pub ignore_globs: Vec<String>,
}

/// Where a task works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Canonical absolute paths, at least one; the first is the default root.
    pub roots: Vec<String>,
    /// Canonical absolute path of the person's home; empty when not known.
    pub home: String,
}
