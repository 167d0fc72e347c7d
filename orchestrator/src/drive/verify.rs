//! What is said about the checks at the end of an attempt. Which checks run, and what follows from
//! them, is the machine's.

use std::fmt::Write as _;

use crate::task::call::ToolName;
use crate::task::input::Success;

/// When a task counts as done, for the model; none where no check is wanted.
pub(super) fn done_means(success: Success) -> Option<String> {
    let wanted = match (success.tests_pass, success.lint_clean) {
        (true, true) => "the project's tests pass and its linter is content",
        (true, false) => "the project's tests pass",
        (false, true) => "the project's linter is content",
        (false, false) => return None,
    };
    Some(format!(
        "The task is done when {wanted}. This is checked each time you answer without a tool call; \
         what fails comes back to you.\n"
    ))
}

/// What the model is told of failed checks.
pub(super) fn unmet(checks: &[(ToolName, String)]) -> String {
    let mut text = String::from("Not done yet. Find the cause and repair it.\n");
    for (tool, output) in checks {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{} failed:\n{output}\n", tool.name());
    }
    text
}
