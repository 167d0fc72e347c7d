//! Takes a `Cleared<ToolCall>` and nothing else that could run.
//! Gives a result whose output is capped, or a proposal of edits.
//! May import task and guard.
//! Never decides whether a call may run, and never follows a path out of the workspace.
