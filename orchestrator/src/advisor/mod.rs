//! Takes states built as metadata only, and questions about them.
//! Gives answers of the rules or of the configured service, and routes for tasks.
//! May import task.
//! Never makes a decision milder, and never sees the content of a file.
