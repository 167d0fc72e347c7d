//! Edits a model proposes and a person reviews.

use serde::{Deserialize, Serialize};

/// One replacement. An empty search inserts at the start of the file, or creates it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchReplace {
    /// Text that stands exactly once in the file.
    pub search: String,
    /// What takes its place.
    pub replace: String,
}

/// The edits of one file, applied in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEdit {
    /// Normalised path, relative to a workspace root.
    pub path: String,
    /// At least one edit.
    pub edits: Vec<SearchReplace>,
}

/// What a reviewing model thought of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Critique {
    /// Its verdict.
    pub verdict: CritiqueVerdict,
    /// What it found; may be empty.
    pub issues: Vec<String>,
    /// The reviewing model's id.
    pub model: Option<String>,
}

/// Verdict of a critique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CritiqueVerdict {
    /// Good as it is.
    Approve,
    /// Good after changes.
    Revise,
    /// Not good.
    Reject,
}

/// Edits that passed validation and wait for review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditProposal {
    /// Its id.
    pub id: String,
    /// At least one file, in the model's order; paths are distinct.
    pub files: Vec<FileEdit>,
    /// A second model's view.
    pub critique: Option<Critique>,
}

/// What a client did with one file of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReport {
    /// The path exactly as the proposal has it.
    pub path: String,
    /// What became of it.
    pub status: ApplyStatus,
    /// What the person said; at most 2,000 characters.
    pub reason: Option<String>,
}

/// What became of one file of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApplyStatus {
    /// Written.
    Applied,
    /// Declined by the person.
    Rejected,
    /// The file no longer matches.
    Stale,
}

/// Facts of a file without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMeta {
    /// Path relative to a workspace root.
    pub path: String,
    /// Lines, an unterminated last one counted; 0 for a file that is not there.
    pub size_lines: u64,
    /// The editor's language id.
    pub language: String,
    /// Holds secrets, or lies in a high-risk area.
    pub sensitive: bool,
}
