//! `shellgate allow`: a person lets a stopped call through.

use std::io::{self, IsTerminal as _, Write as _};

use clap::Args;
use shellgate::model::verdict::Decision;

use crate::command::{Failure, Place};
use crate::hook::text::shown;
use crate::store::grants::{self, Reach, Request};
use crate::store::{Folders, time};
use crate::{machine, policy};

/// Arguments of `allow`.
#[derive(Args, Debug)]
#[command(
    after_help = "Without an option it lists what was stopped and may be allowed once. A code is \
                        good for one call: the same command, in the same directory, against the same \
                        rules. A deny rule can be allowed once only, and only at a terminal."
)]
pub struct Arguments {
    /// Let the stopped call of that code through, once.
    #[arg(long, value_name = "CODE", conflicts_with_all = ["here", "always"])]
    once: Option<String>,
    /// Let exactly this command through in the current directory, for 90 days.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true, conflicts_with = "always")]
    here: Option<String>,
    /// Let exactly this command through everywhere, for 90 days.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    always: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// Grants or lists.
///
/// # Errors
/// See [`Failure`]; a code that is not known and a deny rule are the caller's faults.
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let folders = Folders::of_environment()
        .ok_or_else(|| Failure::Usage("HOME is not set to an absolute path".into()))?;
    match (&arguments.once, &arguments.here, &arguments.always) {
        (Some(code), ..) => once(&folders, code),
        (None, Some(command), _) => lasting(arguments, &folders, Reach::Here, command),
        (None, None, Some(command)) => lasting(arguments, &folders, Reach::Always, command),
        (None, None, None) => list(&folders),
    }
}

fn failure(error: io::Error) -> Failure {
    Failure::Io("cannot use the file of grants".into(), error)
}

fn once(folders: &Folders, code: &str) -> Result<u8, Failure> {
    let file = grants::file(folders);
    let now = time::now() / 1000;
    let book = grants::read(&file).map_err(failure)?;
    let waiting = book
        .waiting
        .iter()
        .find(|one| one.code.eq_ignore_ascii_case(code) && one.expires > now)
        .ok_or_else(|| {
            Failure::Usage(format!(
                "no stopped call has the code `{}`: codes are good for 30 minutes; `shellgate allow` \
                 lists them",
                shown(code)
            ))
        })?;
    if waiting.denied && !io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "this call breaks a deny rule: type the command at a terminal yourself".into(),
        ));
    }
    let granted = grants::allow_once(&file, code, now).map_err(failure)?;
    let grant = granted.ok_or_else(|| Failure::Usage("the code has just expired".into()))?;
    let mut out = io::stdout().lock();
    writeln!(out, "allowed once, within 15 minutes: {}", shown(&grant.command))?;
    writeln!(out, "  in {}", grant.cwd)?;
    writeln!(out, "Tell the agent to try again.")?;
    Ok(0)
}

fn lasting(
    arguments: &Arguments,
    folders: &Folders,
    reach: Reach,
    command: &str,
) -> Result<u8, Failure> {
    let context = machine::context(&arguments.place)?;
    let (gate, context) = policy::gate_for(&arguments.place, context)?;
    let verdict = gate.classify(command, &context);
    let mut out = io::stdout().lock();
    match verdict.decision {
        Decision::Allow | Decision::Pass => {
            writeln!(out, "nothing stops this command; there is nothing to allow")?;
            return Ok(0);
        }
        Decision::Deny => {
            return Err(Failure::Usage(format!(
                "`{}` is a deny rule, which can be allowed once only: let the agent try, then use its \
                 code",
                verdict.labels.first().map_or("this", String::as_str)
            )));
        }
        Decision::Ask => {}
    }
    let mut rules: Vec<String> = verdict.reasons.into_iter().map(|reason| reason.rule).collect();
    rules.sort();
    rules.dedup();
    let request = Request { command, cwd: &context.cwd, rules: &rules, denied: false };
    let now = time::now() / 1000;
    let grant =
        grants::allow_lasting(&grants::file(folders), reach, &request, now).map_err(failure)?;
    writeln!(out, "allowed {} for 90 days: {}", grant.reach.name(), shown(&grant.command))?;
    writeln!(out, "Take it back with `shellgate grants revoke {}`.", grant.id)?;
    Ok(0)
}

fn list(folders: &Folders) -> Result<u8, Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::Usage("codes are shown at a terminal only".into()));
    }
    let book = grants::read(&grants::file(folders)).map_err(failure)?;
    let now = time::now() / 1000;
    let mut out = io::stdout().lock();
    let mut any = false;
    for one in book.waiting.iter().filter(|one| one.expires > now) {
        any = true;
        writeln!(out, "{}  {}", one.agent, shown(&one.command))?;
        writeln!(out, "  in {}, against {}", one.cwd, one.rules.join(" "))?;
        writeln!(out, "  shellgate allow --once {}", one.code)?;
    }
    if !any {
        writeln!(out, "nothing was stopped in the last 30 minutes")?;
    }
    Ok(0)
}
