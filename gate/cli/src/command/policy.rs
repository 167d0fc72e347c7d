//! `shellgate policy`: test a policy file, show what is in force, print the schema.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use shellgate::load::{Level, Policy};

use crate::command::{Failure, Place};
use crate::{examples, machine, policy, schema};

/// Arguments of `policy`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Load a policy file and run the examples of its own rules and utilities.
    #[command(
        after_help = "Exit status: 0 all examples hold, 1 one does not, 2 the file has a mistake."
    )]
    Test {
        /// Read it as a project's file, which may only tighten.
        #[arg(long)]
        project: bool,
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Show the policy in force here, and which files it comes from.
    Show {
        #[command(flatten)]
        place: Box<Place>,
    },
    /// Print the JSON Schema of policy.toml, for editors.
    Schema,
}

/// Does what the arguments say and gives the exit status.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    let status = match &arguments.verb {
        Verb::Test { project, file } => {
            let level = if *project { Level::Project } else { Level::User };
            test(&mut out, &policy::read(file, level)?)?
        }
        Verb::Show { place } => {
            show(&mut out, place)?;
            0
        }
        Verb::Schema => {
            writeln!(out, "{:#}", schema::policy())?;
            0
        }
    };
    out.flush()?;
    Ok(status)
}

fn test(out: &mut dyn Write, policy: &Policy) -> Result<u8, Failure> {
    let outcomes = examples::outcomes(policy).map_err(|error| Failure::Usage(error.to_string()))?;
    for warning in &policy.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    for outcome in &outcomes {
        let sign = if outcome.holds() { "ok  " } else { "FAIL" };
        writeln!(out, "{sign}  {}.{}: {}", outcome.entry, outcome.key, outcome.command)?;
        if !outcome.holds() {
            writeln!(out, "      stated {}, is {}", outcome.wanted, outcome.got)?;
        }
    }
    for rule in policy.rules.iter().filter(|rule| rule.hits.is_empty() || rule.misses.is_empty()) {
        let what = if rule.hits.is_empty() { "hits" } else { "misses" };
        writeln!(out, "warning: rule `{}` has no `{what}`: nothing shows that it works", rule.id)?;
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.holds()).count();
    writeln!(
        out,
        "{}: {} rules, {} examples, {failed} failed",
        policy.file,
        policy.rules.len(),
        outcomes.len()
    )?;
    Ok(u8::from(failed > 0))
}

fn show(out: &mut dyn Write, place: &Place) -> Result<(), Failure> {
    let context = machine::context(place)?;
    let policies = policy::in_force(place, &context)?;
    writeln!(out, "files, in the order they apply:")?;
    writeln!(out, "  built in")?;
    for path in policy::places(place, &context) {
        let shown = path.display().to_string();
        let found = policies.iter().find(|policy| policy.file == shown);
        let state = match found.map(|policy| policy.level) {
            None => "not there",
            Some(Level::User) => "yours",
            Some(Level::Project) => "the project's, may only tighten",
        };
        writeln!(out, "  {shown}  ({state})")?;
    }
    let mut placed = context.clone();
    let gate = policy::assemble(&policies, &mut placed)?;
    list(out, "workspaces", placed.workspaces.iter().map(String::clone))?;
    for policy in &policies {
        writeln!(out, "\nfrom {}:", policy.file)?;
        list(out, "protected_branches", policy.protected_branches.iter().cloned())?;
        list(out, "sensitive", policy.sensitive.iter().cloned())?;
        list(out, "trusted_commands", policy.trusted_commands.iter().cloned())?;
        let allowed = policy.allow.iter().map(|entry| {
            let more = if entry.more { " ..." } else { "" };
            format!("{} {}{more}", entry.utility, entry.arguments.join(" "))
        });
        list(out, "allow", allowed)?;
        let rules = policy.rules.iter().map(|rule| format!("{}: {}", rule.id, rule.why));
        list(out, "rules", rules)?;
    }
    writeln!(out, "\nlabels, with what they decide where a rule holds and where it may hold:")?;
    let builtin = shellgate::Gate::builtin().labels();
    for spec in &gate.labels().specs {
        let was = builtin.find(&spec.name);
        let changed = was.is_some_and(|was| (was.yes, was.maybe) != (spec.yes, spec.maybe));
        let mark = if changed { "  (set by a policy)" } else { "" };
        writeln!(out, "  {:24} {:5} {}{mark}", spec.name, spec.yes.name(), spec.maybe.name())?;
    }
    writeln!(out, "\n{} rules: `shellgate rules list`", gate.rules().rules.len())?;
    Ok(())
}

fn list(
    out: &mut dyn Write,
    title: &str,
    lines: impl Iterator<Item = String>,
) -> Result<(), Failure> {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        writeln!(out, "{title}:")?;
    }
    for line in lines {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}
