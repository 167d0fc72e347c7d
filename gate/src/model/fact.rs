//! What a command does: effects on objects.

use smallvec::SmallVec;

use crate::model::span::Site;
use crate::model::utility::Language;
use crate::model::value::{Text, Truth};

/// Declares an enum whose variants have a name in rule files.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All of them, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name in rule files and explanations.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            /// The one of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}
pub(crate) use named;

named! {
    /// Kinds of effect. Those of the first group leave everything as it was.
    EffectKind {
        /// The content of a file reaches the program.
        Read = "read",
        /// Only names or metadata are looked at (`ls`, `stat`, `test -f`).
        List = "list",
        /// Content of all files below a directory is searched (`grep -r`).
        Search = "search",
        /// The directory in force becomes the object (`cd`, `-C`).
        Enter = "enter",
        /// An operand of a program that is not known; it may be read, written or neither.
        Touch = "touch",
        /// A file is created, or overwritten, or changed in place.
        Write = "write",
        /// A file or files are put at the object or, where it is a directory, into it under the
        /// names of the sources (`cp`, `mv`, `install`, `ln`).
        Put = "put",
        /// Unpacked or generated files land below the object.
        Fill = "fill",
        /// Something is added at the end of a file.
        Append = "append",
        /// A file or directory is created and nothing is overwritten (`mkdir`, `touch`).
        Create = "create",
        /// A file or directory is removed.
        Delete = "delete",
        /// A file leaves its place (`mv` sources).
        Move = "move",
        /// Permission bits, attributes or access lists change.
        Mode = "mode",
        /// The owner changes.
        Owner = "owner",
        /// The group changes.
        Group = "group",
        /// A file system is made or a disk is wiped.
        Format = "format",
        /// The machine stops or restarts.
        Power = "power",
        /// A program or code is run: object is a path, or code.
        Execute = "execute",
        /// Something comes over the network.
        Receive = "receive",
        /// Something goes out over the network.
        Send = "send",
        /// A listener is opened or a connection is held.
        Connect = "connect",
        /// A secret is shown, or goes out over the network: object is its name, behind an `@` the
        /// host it goes to.
        Disclose = "disclose",
        /// Something becomes public or is deployed and cannot be taken back (`npm publish`).
        Publish = "publish",
        /// A schema or shared state is migrated or seeded.
        Migrate = "migrate",
        /// A ref of a remote repository is updated; object is the branch.
        Push = "push",
        /// A ref of a remote repository is deleted; object is the branch.
        DeleteBranch = "delete_branch",
        /// Work that is not recorded elsewhere is discarded, or history is rewritten
        /// (`git reset --hard`, `git clean`, `git rebase`).
        Discard = "discard",
        /// Other changes to the local repository (`git commit`, `git add`).
        Record = "record",
        /// Data outside the file system is destroyed (a database, a cloud or cluster resource, a
        /// container, an image, a schedule).
        Destroy = "destroy",
        /// Resources outside the file system are changed (`kubectl apply`, `terraform apply`).
        Apply = "apply",
        /// Packages are installed, updated or removed.
        Install = "install",
        /// Code of the project or its dependencies runs (`make`, `npm test`, `cargo build`).
        Build = "build",
        /// A process gets a signal.
        Signal = "signal",
        /// The command runs with other rights.
        Privilege = "privilege",
        /// A service, a schedule or the machine's configuration is changed.
        Service = "service",
        /// A container or virtual machine is started, stopped or entered.
        Container = "container",
        /// Something keeps running when the command is over, or runs later.
        Detach = "detach",
        /// Settings found in the directory in force are followed, and may name programs (`git status`
        /// in a repository that is not the workspace's own).
        Obey = "obey",
        /// Settings of a program change (`git config`).
        Configure = "configure",
        /// A person is expected to act in a terminal (`vim`, `top`).
        Interact = "interact",
        /// State of this shell changes and nothing else (`export`, `set`).
        State = "state",
        /// Something else changes; no object is named.
        Change = "change",
    }
}

impl EffectKind {
    /// Whether it leaves everything as it was.
    pub const fn is_passive(self) -> bool {
        matches!(self, Self::Read | Self::List | Self::Search | Self::Enter | Self::State)
    }

    /// Whether it changes what stands at a path: creation, change or removal.
    pub const fn is_mutation(self) -> bool {
        matches!(
            self,
            Self::Write
                | Self::Put
                | Self::Fill
                | Self::Append
                | Self::Create
                | Self::Delete
                | Self::Move
                | Self::Mode
                | Self::Owner
                | Self::Group
                | Self::Format
        )
    }
}

named! {
    /// Where a path leads. One path may be in several places.
    Place {
        /// Below a workspace root.
        Workspace = "workspace",
        /// A workspace root itself.
        WorkspaceRoot = "workspace_root",
        /// A directory above a workspace root.
        WorkspaceAncestor = "workspace_ancestor",
        /// Below a temporary directory.
        Temporary = "temporary",
        /// Anywhere else that is neither of these nor protected.
        Outside = "outside",
        /// A home directory itself, anybody's.
        Home = "home",
        /// A direct child of a home directory.
        HomeChild = "home_child",
        /// Start-up, credential and settings files of a home, and what lies below them.
        HomeSettings = "home_settings",
        /// `/`, its direct children, the system trees and what lies below them.
        System = "system",
        /// Below `/dev`, other than the harmless devices.
        Device = "device",
        /// `/dev/null` and its kin.
        HarmlessDevice = "harmless_device",
        /// `/dev/tcp/HOST/PORT` and `/dev/udp/HOST/PORT` in a redirection.
        Network = "network",
        /// `.git`, hooks and the like inside a workspace: files that run something later.
        Control = "control",
        /// A directory or file that tools regenerate, by a literal name inside the workspace.
        Generated = "generated",
        /// A file of the system that holds no secret and that any program may read.
        Public = "public",
    }
}

/// Which places a path is in, each with its truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places([Truth; 15]);

impl Places {
    /// Whether the path is in `place`.
    pub fn get(&self, place: Place) -> Truth {
        self.0.get(place as usize).copied().unwrap_or_default()
    }

    /// Raises the truth of `place` to at least `truth`.
    pub fn raise(&mut self, place: Place, truth: Truth) {
        if let Some(slot) = self.0.get_mut(place as usize) {
            *slot = slot.or(truth);
        }
    }

    /// Raises every place to what `other` says.
    pub fn join(&mut self, other: &Self) {
        for place in Place::ALL {
            self.raise(*place, other.get(*place));
        }
    }

    /// The same without `place`.
    #[must_use]
    pub fn without(mut self, place: Place) -> Self {
        if let Some(slot) = self.0.get_mut(place as usize) {
            *slot = Truth::No;
        }
        self
    }

    /// The places that are possible, in order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (Place, Truth)> + '_ {
        Place::ALL.iter().map(|place| (*place, self.get(*place))).filter(|(_, t)| t.is_possible())
    }
}

/// A path an effect is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathObject {
    /// As it was given, after all expansions.
    pub text: Text,
    /// Absolute and normalised, one for each directory the command may run in.
    pub resolved: SmallVec<[Text; 1]>,
    /// Where it leads.
    pub places: Places,
    /// Whether its name says that it holds secrets.
    pub sensitive: Truth,
    /// Whether it is so by more than a pattern that any name fits (`docs/*`).
    pub spelled: Truth,
    /// Whether it stands for every name directly below one of its places (`/tmp/*`, `*` in the
    /// workspace root), or may.
    pub everything_below: Places,
    /// Whether it is, with its unknown parts left out, the root, a pattern directly below it or a
    /// system directory by name.
    pub emptied: Truth,
    /// Whether it names what it means: no unknown part, and no pattern directly in a protected or
    /// temporary root directory.
    pub named: Truth,
}

impl PathObject {
    /// Whether something below it, by whatever name, is still named by it: it lies below a
    /// temporary directory and is named itself.
    pub fn named_below(&self) -> Truth {
        self.named.and(self.places.get(Place::Temporary))
    }
}

/// What an effect is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Object {
    /// Nothing that can be named.
    #[default]
    None,
    /// A file or directory.
    Path(Box<PathObject>),
    /// A host, an address or a URL.
    Host(Text),
    /// A branch or other ref of a remote repository.
    Branch {
        /// The destination, `refs/heads/` removed.
        name: Text,
        /// Whether it is protected.
        protected: Truth,
    },
    /// Code.
    Code {
        /// In which language.
        language: Language,
        /// Where it stands.
        place: CodePlace,
        /// Whether all of it is known (a known shell script is also interpreted).
        known: bool,
        /// Whether all its words are among those that its language needs to compute and print.
        plain: bool,
        /// Whether it came over the network.
        network: Truth,
    },
    /// A name of some other kind: a service, a package, a process.
    Name(Text),
}

named! {
    /// Where code stands.
    CodePlace {
        /// The value of an option (`-c`, `-e`).
        Option = "option",
        /// An operand (`eval`, `trap`, `awk`).
        Operand = "operand",
        /// Standard input of an interpreter.
        Input = "input",
        /// A file that is run, sourced or given as a script.
        File = "file",
        /// A variable that a program runs or loads (`PAGER`, `LD_PRELOAD`).
        Variable = "variable",
        /// An option or setting that names a program or helper (`--compress-program`).
        Helper = "helper",
        /// A value that is evaluated again (`${x@P}`, arithmetic).
        Value = "value",
    }
}

/// An effect, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What is done.
    pub kind: EffectKind,
    /// To what.
    pub object: Object,
    /// Whether it reaches everything below the object.
    pub recursive: Truth,
    /// Whether it was told not to ask or to override a safeguard.
    pub force: Truth,
    /// Whether it happens at all.
    pub certain: Truth,
    /// The invocation that does it, as an index into the trace; none for a redirection without a
    /// command and for the shell's own doing.
    pub invocation: Option<usize>,
    /// The word that shows it.
    pub site: Site,
}
