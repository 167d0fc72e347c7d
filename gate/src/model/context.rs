//! What is known about the place a command would run in, and how much work an analysis may do.

use std::collections::BTreeMap;

/// Where a command would run. Nothing here is asked from the machine; the caller says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Absolute path of the current directory.
    pub cwd: String,
    /// Absolute paths of the workspace roots, at least one.
    pub workspaces: Vec<String>,
    /// Absolute path of the home directory.
    pub home: String,
    /// Current branch of the repository, where it is known.
    pub branch: Option<String>,
    /// Which floors a setting relaxes.
    pub preset: Preset,
    /// Values of the environment that are known, by name. All others are unknown, not empty.
    pub parameters: BTreeMap<String, String>,
    /// The shell that would run the command.
    pub shell: Shell,
}

impl Default for Context {
    /// The fixed context of the corpus: `/srv/app`, home `/home/dev`, branch `feature/x`, hook.
    fn default() -> Self {
        Self {
            cwd: "/srv/app".into(),
            workspaces: vec!["/srv/app".into()],
            home: "/home/dev".into(),
            branch: Some("feature/x".into()),
            preset: Preset::Hook,
            parameters: BTreeMap::new(),
            shell: Shell::Unknown,
        }
    }
}

/// The shell that would run a command. Where it is not bash, a construct that it does not read as
/// bash does is read as it does, or is a gap that names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shell {
    /// Not known: bash, and what other shells would do with the same text is looked at beside it.
    #[default]
    Unknown,
    /// GNU bash.
    Bash,
    /// `sh`, whichever shell that is: only what POSIX says holds.
    Sh,
    /// The Debian Almquist shell.
    Dash,
    /// The Almquist shell of busybox.
    Ash,
    /// The Z shell, as it is without options.
    Zsh,
}

impl Shell {
    /// Every one, in the order people are shown.
    pub const ALL: [Self; 6] =
        [Self::Unknown, Self::Bash, Self::Sh, Self::Dash, Self::Ash, Self::Zsh];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Bash => "bash",
            Self::Sh => "sh",
            Self::Dash => "dash",
            Self::Ash => "ash",
            Self::Zsh => "zsh",
        }
    }

    /// The shell of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shell| shell.name() == name)
    }

    /// Whether it is `sh`: no more than POSIX can be relied on.
    pub const fn is_posix(self) -> bool {
        matches!(self, Self::Sh | Self::Dash | Self::Ash)
    }

    /// Whether bash's reading is the reading.
    pub const fn is_bash(self) -> bool {
        matches!(self, Self::Unknown | Self::Bash)
    }
}

/// Whether it is the name of a special builtin after which a script goes on: assignments in front of it stay in
/// force in POSIX mode and in shells that know no other (POSIX.1-2024 XCU 2.9.1.2, 2.15).
pub fn is_special_builtin(name: &str) -> bool {
    matches!(
        name,
        "." | ":"
            | "eval"
            | "exec"
            | "export"
            | "readonly"
            | "set"
            | "shift"
            | "times"
            | "trap"
            | "unset"
    )
}

/// Named settings of the floors that may be relaxed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Preset {
    /// For agents' hooks and people: what is known to be harmless does not ask.
    #[default]
    Hook,
    /// For the Desiide service: every live substitution, every `rm`, every job, all code outside files
    /// and every path out of the workspace asks.
    Protocol,
}

impl Preset {
    /// Its name on the command line and in rules.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Protocol => "protocol",
        }
    }

    /// The preset of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Hook, Self::Protocol].into_iter().find(|preset| preset.name() == name)
    }
}

/// How much work an analysis may do; reaching one is a gap, never an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text that are read; the rest is one gap.
    pub bytes: usize,
    /// Levels of nesting: brackets, substitutions, carried scripts, calls.
    pub depth: usize,
    /// Fields one word or list may expand to.
    pub fields: usize,
    /// Bytes of one value.
    pub value_bytes: usize,
    /// Steps of an interpretation: commands run, passes of loops, carried scripts.
    pub steps: usize,
    /// Bytes of one piece that is also given to the syntax tree; larger pieces are read by our own
    /// reader alone.
    pub tree_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 1 << 20,
            depth: 64,
            fields: 4096,
            value_bytes: 1 << 16,
            steps: 20_000,
            tree_bytes: 16 << 10,
        }
    }
}
