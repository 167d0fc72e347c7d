//! The arguments, and one file for each verb.

pub mod allow;
pub mod check;
pub mod doctor;
pub mod explain;
pub mod grants;
pub mod hook;
pub mod install;
pub mod log;
pub mod policy;
pub mod replay;
pub mod rules;
pub mod scan;
pub mod stats;
pub mod uninstall;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use shellgate::model::context::{Preset, Shell};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "shellgate",
    version,
    about = "Judges shell commands before they run: allow, pass, ask or deny",
    long_about = "Reads a shell command before it runs, works out what bash would really do with \
                  it, and says allow, pass, ask or deny, with the reasons. Nothing is ever run.",
    after_help = "EXIT STATUS:\n  0 allow   known to be harmless\n 10 pass    nothing against it, \
                  not known to be harmless\n 20 ask     a person should agree\n 30 deny    must not \
                  run\n  2 usage   the call could not be understood\n  1 error   something inside \
                  failed, or a line of a batch was bad\n\nFILES:\n  $XDG_CONFIG_HOME/shellgate/policy.toml\n          \
                  a person's policy (or ~/.config/shellgate/policy.toml)\n  .shellgate/policy.toml in the \
                  workspace\n          a project's policy, which may only tighten\n\nThe batch form \
                  reads neither of them, only --policy."
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    verb: Verb,
}

impl Arguments {
    /// Reads the words this program was called with. The calls that agents make all day are read as their
    /// verb alone, since to describe all verbs takes longer than to judge a command; what is not understood
    /// that way is read, and complained about, with all of them.
    ///
    /// # Errors
    /// clap's, to be printed by it: a mistake, or help that was asked for.
    pub fn read() -> Result<Self, clap::Error> {
        let words: Vec<OsString> = std::env::args_os().collect();
        let alone = match words.get(1).and_then(|verb| verb.to_str()) {
            Some("check") => read_alone(&words).map(Verb::Check),
            Some("hook") => read_alone(&words).map(Verb::Hook),
            _ => None,
        };
        match alone {
            Some(verb) => Ok(Self { verb }),
            None => Self::try_parse_from(words),
        }
    }
}

/// The arguments of the verb that stands first, where they are without fault.
fn read_alone<A: Args>(words: &[OsString]) -> Option<A> {
    let command = A::augment_args(clap::Command::new("shellgate"));
    let matches = command.try_get_matches_from(words.iter().skip(1)).ok()?;
    A::from_arg_matches(&matches).ok()
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say whether a command may run.
    Check(check::Arguments),
    /// Show every stage: how a command is split and expanded, what runs, what it does, which rule spoke.
    Explain(explain::Arguments),
    /// List the rules, or show one with its examples.
    Rules(rules::Arguments),
    /// Test a policy file, show the policy in force, or print its schema.
    Policy(policy::Arguments),
    /// Show what was decided.
    Log(log::Arguments),
    /// Show how much was judged and asked, and what would spare questions.
    Stats(stats::Arguments),
    /// Judge the log again under today's rules and show every difference.
    Replay(replay::Arguments),
    /// Make coding agents call shellgate before they run a command.
    Install(install::Arguments),
    /// Take shellgate out of agents' settings again.
    Uninstall(uninstall::Arguments),
    /// See whether the guard is really on.
    Doctor(doctor::Arguments),
    /// Judge a call of a coding agent: its payload on standard input, its reply on standard output.
    Hook(hook::Arguments),
    /// Let a call through that was stopped.
    Allow(allow::Arguments),
    /// Show or take back what was let through.
    Grants(grants::Arguments),
    /// Look through the files of a project for commands that would be asked about or refused.
    Scan(scan::Arguments),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff), e.g. `shellgate man | man -l -`.
    Man,
}

/// Where the command would run.
#[derive(Args, Clone, Debug, Default)]
pub struct Place {
    /// Directory the command would run in [default: this one; in batches /srv/app].
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// Root of a workspace; may be given more than once [default: the repository around the
    /// directory; in batches /srv/app].
    #[arg(long = "workspace", value_name = "DIR")]
    pub workspaces: Vec<String>,
    /// Home directory [default: $HOME; in batches /home/dev].
    #[arg(long, value_name = "DIR")]
    pub home: Option<String>,
    /// Current branch of the repository [default: the one checked out; in batches feature/x].
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Policy file to use in place of the person's own.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<std::path::PathBuf>,
    /// Which floors are relaxed.
    #[arg(long, value_enum, default_value_t = PresetName::Hook)]
    pub preset: PresetName,
    /// Shell that would run it [default: not known; read as bash reads it, and what other shells
    /// would do with it counts where that is worse].
    #[arg(long, value_enum, value_name = "SHELL")]
    pub shell: Option<ShellName>,
}

/// The shells as arguments.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ShellName {
    /// GNU bash.
    Bash,
    /// Any shell that is called sh.
    Sh,
    /// Debian's dash.
    Dash,
    /// The ash of busybox.
    Ash,
    /// The Z shell.
    Zsh,
}

impl From<ShellName> for Shell {
    fn from(name: ShellName) -> Self {
        match name {
            ShellName::Bash => Self::Bash,
            ShellName::Sh => Self::Sh,
            ShellName::Dash => Self::Dash,
            ShellName::Ash => Self::Ash,
            ShellName::Zsh => Self::Zsh,
        }
    }
}

/// The presets as arguments.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum PresetName {
    /// What is known to be harmless does not ask.
    #[default]
    Hook,
    /// Every substitution, every rm and every path in a temporary directory asks.
    Protocol,
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Hook => Self::Hook,
            PresetName::Protocol => Self::Protocol,
        }
    }
}

/// Why a run ended without an answer.
#[derive(Debug)]
pub enum Failure {
    /// The call or a file it names is at fault.
    Usage(String),
    /// Reading or writing failed.
    Io(String, io::Error),
    /// Whoever read the output went away.
    Closed,
}

impl Failure {
    /// The exit status: 2 for the caller's faults, 1 for ours.
    pub const fn status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Io(..) => 1,
            Self::Closed => 0,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => f.write_str(message),
            Self::Io(what, error) => write!(f, "{what}: {error}"),
            Self::Closed => f.write_str("the output was closed"),
        }
    }
}

impl From<io::Error> for Failure {
    /// Failures of writing to standard output.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Io("cannot write the answer".into(), error)
        }
    }
}

/// Does what the arguments say and gives the exit status.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: Arguments) -> Result<u8, Failure> {
    match arguments.verb {
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Rules(arguments) => rules::run(&arguments),
        Verb::Policy(arguments) => policy::run(&arguments),
        Verb::Log(arguments) => log::run(&arguments),
        Verb::Stats(arguments) => stats::run(&arguments),
        Verb::Replay(arguments) => replay::run(&arguments),
        Verb::Install(arguments) => install::run(&arguments),
        Verb::Uninstall(arguments) => uninstall::run(&arguments),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Hook(arguments) => hook::run(&arguments),
        Verb::Allow(arguments) => allow::run(&arguments),
        Verb::Grants(arguments) => grants::run(&arguments),
        Verb::Scan(arguments) => scan::run(&arguments),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "shellgate", &mut script);
            io::stdout().lock().write_all(&script)?;
            Ok(0)
        }
        Verb::Man => {
            manual(&mut io::stdout().lock())?;
            Ok(0)
        }
    }
}

/// One page: the program, then each verb with its options.
fn manual(out: &mut dyn Write) -> io::Result<()> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let man = clap_mangen::Man::new(verb.clone());
        writeln!(page, ".SH \"SHELLGATE {}\"", verb.get_name().to_uppercase())?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    out.write_all(&page)
}
