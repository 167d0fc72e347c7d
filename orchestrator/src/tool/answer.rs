//! What a tool says before it is put into a result.

use crate::task::call::{FailureKind, ToolFailure, ToolResult};

/// Output, flags and failure of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    output: String,
    truncated: bool,
    exit_code: Option<i64>,
    failure: Option<(FailureKind, String)>,
}

impl Answer {
    /// A call that did what was asked.
    pub(super) const fn of(output: String) -> Self {
        Self { output, truncated: false, exit_code: None, failure: None }
    }

    /// A call that failed; its output, which the model is given, is the message.
    pub(super) fn failed(kind: FailureKind, message: String) -> Self {
        Self {
            output: message.clone(),
            truncated: false,
            exit_code: None,
            failure: Some((kind, message)),
        }
    }

    /// Whether it says that the arguments are wrong.
    pub(super) fn blames_arguments(&self) -> bool {
        matches!(self.failure, Some((FailureKind::InvalidArgs, _)))
    }

    /// Whether output was cut.
    pub(super) const fn truncated(mut self, yes: bool) -> Self {
        self.truncated |= yes;
        self
    }

    /// The exit status of its process.
    pub(super) fn exited(mut self, code: i32) -> Self {
        self.exit_code = Some(i64::from(code));
        self
    }

    /// It failed; the output stays and the message is added to it.
    pub(super) fn fail(mut self, kind: FailureKind, message: String) -> Self {
        self = self.note(&format!("[{message}]"));
        self.failure = Some((kind, message));
        self
    }

    /// It failed; the output says so already.
    pub(super) fn fail_quietly(mut self, kind: FailureKind, message: String) -> Self {
        self.failure = Some((kind, message));
        self
    }

    /// Adds a line to the output.
    pub(super) fn note(mut self, line: &str) -> Self {
        if !self.output.is_empty() && !self.output.ends_with('\n') {
            self.output.push('\n');
        }
        self.output.push_str(line);
        self
    }

    /// The result of a call that took so many milliseconds.
    pub(super) fn into_result(self, call: String, duration_ms: u64) -> ToolResult {
        ToolResult {
            call,
            output: self.output,
            truncated: self.truncated,
            exit_code: self.exit_code,
            duration_ms,
            failure: self.failure.map(|(kind, message)| ToolFailure {
                kind,
                message,
                reasons: Vec::new(),
            }),
        }
    }
}
