//! What a project says about itself.

use super::Workspace;
use crate::task::project::Project;

/// The settings in `.desiide/project.json` of the first root, missing commands detected, and warnings.
pub fn read(workspace: &Workspace) -> (Project, Vec<String>) {
    let _ = workspace;
    (Project::default(), Vec::new())
}
