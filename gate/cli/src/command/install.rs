//! `shellgate install`: makes agents call shellgate. What it does to files is here and in
//! `uninstall`; what stands in them is in `settings`.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use similar::TextDiff;

use crate::command::{Failure, hook::names};
use crate::hook::{self, Agent};
use crate::settings::{self, Call, Form, Machine, Target};
use crate::store::installed::{self, Entry, Installed};
use crate::store::{self, Folders, time};

/// Arguments of `install`.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(
    after_help = "Without a name every agent that is found is set up. Each change is shown and asked \
                        for; a copy of the file is kept, and `shellgate uninstall` puts it back."
)]
pub struct Arguments {
    /// Agents to set up [default: those that are found].
    #[arg(value_name = "AGENT", value_parser = names())]
    agents: Vec<String>,
    /// Show the changes and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Change the settings of the project around this directory in place of the person's own.
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Change the person's own settings (the default).
    #[arg(long)]
    user: bool,
    /// Have what is known to be harmless approved, where the agent can take that.
    #[arg(long)]
    approve: bool,
    /// Have the agent block when shellgate cannot be started, where that must be asked for (Claude
    /// Code from 2.1.295 on).
    #[arg(long)]
    strict: bool,
    /// Write without asking.
    #[arg(long)]
    yes: bool,
}

/// A change to one file.
#[derive(Clone, Debug)]
pub struct Change {
    /// The agent.
    pub agent: &'static Agent,
    /// The file and what must stand in it.
    pub target: Target,
    /// The text now; none where there is no file.
    pub before: Option<String>,
    /// The text after.
    pub after: String,
}

/// Shows, asks, writes; status 1 when a file could not be changed.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let folders = folders()?;
    let machine = machine(arguments.project)?;
    let call = Call { program: program()?, approve: arguments.approve, strict: arguments.strict };
    let agents = chosen(&arguments.agents, &machine);
    let mut out = io::stdout().lock();
    if agents.is_empty() {
        writeln!(out, "no agent was found here; name one: shellgate install claude")?;
        return Ok(1);
    }
    let mut changes = Vec::new();
    let mut failed = false;
    for agent in agents {
        let targets = settings::targets(agent.name, &machine, &call);
        if targets.is_empty() {
            failed = true;
            writeln!(out, "{}: has no settings of this kind; try --project", agent.title)?;
        }
        for target in targets {
            match plan(agent, target) {
                Ok(Some(change)) => changes.push(change),
                Ok(None) => writeln!(out, "{}: is set up already", agent.title)?,
                Err(what) => {
                    failed = true;
                    writeln!(out, "{}: {what}", agent.title)?;
                }
            }
        }
    }
    for change in &changes {
        show(&mut out, &change.target.file, change.before.as_deref(), Some(&change.after))?;
    }
    if changes.is_empty() || arguments.dry_run {
        return Ok(u8::from(failed));
    }
    if !arguments.yes && !agreed(&mut out, "Write this?")? {
        writeln!(out, "nothing was changed")?;
        return Ok(1);
    }
    for change in &changes {
        match write(&folders, &call, change, time::now()) {
            Ok(()) => {
                writeln!(out, "{}: wrote {}", change.agent.title, change.target.file.display())?;
            }
            Err(error) => {
                failed = true;
                writeln!(out, "{}: {error}", change.agent.title)?;
            }
        }
    }
    for note in changes.iter().filter_map(|change| note(change.agent.name)) {
        writeln!(out, "{note}")?;
    }
    writeln!(out, "Run `shellgate doctor` to see that it works.")?;
    Ok(u8::from(failed))
}

/// What a person must still do for an agent.
pub fn note(agent: &str) -> Option<&'static str> {
    match agent {
        "codex" => Some(
            "Codex CLI: open `/hooks` in it and trust the two entries; until then it skips them.",
        ),
        "gemini" | "qwen" | "claude" | "droid" | "cursor" => None,
        "kiro" => Some(
            "Kiro: agents of the command-line program before version 3 have hooks of their own in \
             .kiro/agents/*.json; add the same command there.",
        ),
        _ => None,
    }
}

/// The folders of this person.
///
/// # Errors
/// When there is no home.
pub fn folders() -> Result<Folders, Failure> {
    Folders::of_environment()
        .ok_or_else(|| Failure::Usage("HOME is not set to an absolute path".into()))
}

/// Where settings are: of the project around this directory, or of the person.
///
/// # Errors
/// When the home or the directory cannot be told.
pub fn machine(project: bool) -> Result<Machine, Failure> {
    let variables: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let home = variables
        .get("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        .ok_or_else(|| Failure::Usage("HOME is not set to an absolute path".into()))?;
    let project = if project {
        let here = std::env::current_dir()
            .map_err(|error| Failure::Io("cannot tell the current directory".into(), error))?;
        let root = here.ancestors().find(|folder| folder.join(".git").exists());
        Some(root.map_or_else(|| here.clone(), Path::to_path_buf))
    } else {
        None
    };
    Ok(Machine { home, project, variables })
}

fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::Io("cannot tell where shellgate itself is".into(), error))
}

/// The agents that were named, or those whose folders are there.
pub fn chosen(names: &[String], machine: &Machine) -> Vec<&'static Agent> {
    if names.is_empty() {
        hook::AGENTS
            .iter()
            .filter(|agent| !settings::ON_DEMAND.contains(&agent.name))
            .filter(|agent| settings::traces(agent.name, machine).iter().any(|path| path.exists()))
            .collect()
    } else {
        hook::AGENTS.iter().filter(|agent| names.iter().any(|name| name == agent.name)).collect()
    }
}

/// The change that a file needs, if any.
///
/// # Errors
/// When the file cannot be read or changed, in words.
pub fn plan(agent: &'static Agent, target: Target) -> Result<Option<Change>, String> {
    let before = text(&target.file)?;
    let after = settings::applied(before.as_deref(), agent.name, &target.form)
        .map_err(|error| format!("{}: {error}", target.file.display()))?;
    if before.as_ref() == Some(&after) {
        return Ok(None);
    }
    Ok(Some(Change { agent, target, before, after }))
}

/// The text of a file that need not be there.
///
/// # Errors
/// When it cannot be read, in words.
pub fn text(path: &Path) -> Result<Option<String>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read `{}`: {error}", path.display())),
    }
}

/// Shows a change the way `diff -u` does.
///
/// # Errors
/// Of writing.
pub fn show(
    out: &mut dyn Write,
    path: &Path,
    before: Option<&str>,
    after: Option<&str>,
) -> io::Result<()> {
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let name = path.display().to_string();
    let name = |text: Option<&str>| if text.is_some() { name.as_str() } else { "/dev/null" };
    write!(out, "{}", diff.unified_diff().header(name(before), name(after)))
}

/// Asks at the terminal; without one the answer is no.
///
/// # Errors
/// Of writing.
pub fn agreed(out: &mut dyn Write, question: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage("this is no terminal to ask at; give --yes to go on".into()));
    }
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Failure::Io("cannot read the answer".into(), error))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Writes a change: a copy of the file first, then the file, then the note of what was done. An error
/// is in words.
///
/// # Errors
/// Of the file system, in words.
pub fn write(folders: &Folders, call: &Call, change: &Change, now: u64) -> Result<(), String> {
    let book = installed::file(folders);
    let mut installed = installed::read(&book).map_err(|error| error.to_string())?;
    let agent = change.agent.name;
    let file = &change.target.file;
    let words =
        |path: &Path, error: io::Error| format!("cannot write `{}`: {error}", path.display());
    let old =
        installed.entries.iter().position(|entry| entry.agent == agent && entry.file == *file);
    let old = old.map(|at| installed.entries.remove(at));
    let copy = |kind: &str| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        folders.state.join("backup").join(format!("{now}-{agent}-{name}.{kind}"))
    };
    // What stood there before shellgate first came: the copy from then, if nobody else has changed
    // the file since.
    let kept = old.as_ref().filter(|old| {
        std::fs::read(&old.after).ok().as_deref() == change.before.as_deref().map(str::as_bytes)
    });
    let mut fresh = None;
    let before = match (kept, &change.before) {
        (Some(old), _) => old.before.clone(),
        (None, None) => None,
        (None, Some(text)) => {
            let clean = settings::removed(text, agent, &change.target.form)
                .map_err(|error| format!("{}: {error}", file.display()))?;
            clean.map(|clean| {
                let path = copy("before");
                fresh = Some(clean);
                path
            })
        }
    };
    if let (Some(path), Some(text)) = (&before, &fresh) {
        store::replace(path, text.as_bytes()).map_err(|error| words(path, error))?;
    }
    let after = copy("after");
    store::replace(&after, change.after.as_bytes()).map_err(|error| words(&after, error))?;
    let folders_made = match old {
        Some(old) => old.folders,
        None => missing(file),
    };
    store::replace(file, change.after.as_bytes()).map_err(|error| words(file, error))?;
    if let Form::Own { program: true, .. } = change.target.form {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))
            .map_err(|error| words(file, error))?;
    }
    installed.program.clone_from(&call.program);
    installed.entries.push(Entry {
        agent: agent.to_owned(),
        file: file.clone(),
        command: call.line(agent),
        before,
        after,
        folders: folders_made,
    });
    installed::write(&book, &installed).map_err(|error| words(&book, error))
}

/// Folders above a file that are not there, the outermost first.
fn missing(file: &Path) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = file
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.exists())
        .map(Path::to_path_buf)
        .collect();
    list.reverse();
    list
}

/// The installs that are known, in the order they were made.
///
/// # Errors
/// When the book cannot be read.
pub fn known(folders: &Folders) -> Result<Installed, Failure> {
    installed::read(&installed::file(folders))
        .map_err(|error| Failure::Io("cannot tell what is installed".into(), error))
}
