//! Runs the project's tests.

use super::answer::Answer;
use super::{Task, check};

pub(super) async fn run(task: &Task<'_>) -> Answer {
    check::run(task, "test", task.toolbox.project.test_command.as_deref(), "testCommand").await
}
