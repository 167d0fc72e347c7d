//! Confines children by landlock and seccomp.

/// How children are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// Not at all.
    #[default]
    Off,
    /// Writes only beneath the workspace roots; no network.
    WorkspaceWrite,
    /// Writes nothing; no network.
    ReadOnly,
}

impl Sandbox {
    /// Its word on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::WorkspaceWrite => "workspace-write",
            Self::ReadOnly => "read-only",
        }
    }

    /// The sandbox of that word.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Off, Self::WorkspaceWrite, Self::ReadOnly].into_iter().find(|one| one.name() == name)
    }
}
