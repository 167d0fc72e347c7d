//! Runs the project's linter.

use super::answer::Answer;
use super::{Task, check};

pub(super) async fn run(task: &Task<'_>) -> Answer {
    check::run(task, "lint", task.toolbox.project.lint_command.as_deref(), "lintCommand").await
}
