//! Policy files: where they are, and the gate they make.

use std::borrow::Cow;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use shellgate::Gate;
use shellgate::load::{Level, Policy};
use shellgate::model::context::Context;

use crate::command::{Failure, Place};

/// A project's policy, below the root of its workspace.
const PROJECT_FILE: &str = ".shellgate/policy.toml";

/// The gate for a command a person is about to run here: the policy given as an argument, or else
/// the person's own; then the policy of each workspace. Their workspace roots are added to the
/// context, what they may not do is told on standard error.
///
/// # Errors
/// When a policy cannot be read or holds a mistake.
pub fn gate_for(place: &Place, context: Context) -> Result<(Cow<'static, Gate>, Context), Failure> {
    let (gate, context) = gate_with(place, context, Vec::new())?;
    warn(&gate);
    Ok((gate, context))
}

/// As [`gate_for`], with policies of the caller's own below all others, and nothing told.
///
/// # Errors
/// When a policy cannot be read or holds a mistake.
pub fn gate_with(
    place: &Place,
    mut context: Context,
    mut policies: Vec<Policy>,
) -> Result<(Cow<'static, Gate>, Context), Failure> {
    policies.extend(in_force(place, &context)?);
    assemble(&policies, &mut context).map(|gate| (gate, context))
}

/// The policies in force for a command a person is about to run here, their own first.
///
/// # Errors
/// When a policy cannot be read or holds a mistake.
pub fn in_force(place: &Place, context: &Context) -> Result<Vec<Policy>, Failure> {
    let mut policies = Vec::new();
    match &place.policy {
        Some(path) => policies.push(read(path, Level::User)?),
        None => {
            policies.extend(own_file().and_then(|path| existing(&path, Level::User)).transpose()?);
        }
    }
    for root in &context.workspaces {
        policies.extend(existing(&Path::new(root).join(PROJECT_FILE), Level::Project).transpose()?);
    }
    Ok(policies)
}

/// The files a policy is looked for in, whether they are there or not, in the order they apply.
pub fn places(place: &Place, context: &Context) -> Vec<PathBuf> {
    let own = place.policy.clone().or_else(own_file);
    own.into_iter()
        .chain(context.workspaces.iter().map(|root| Path::new(root).join(PROJECT_FILE)))
        .collect()
}

/// The gate for a batch: the policy given as an argument, and nothing of this machine.
///
/// # Errors
/// When the policy cannot be read or holds a mistake.
pub fn gate_for_batch(
    place: &Place,
    mut context: Context,
) -> Result<(Cow<'static, Gate>, Context), Failure> {
    let policies =
        place.policy.iter().map(|path| read(path, Level::User)).collect::<Result<Vec<_>, _>>()?;
    let gate = assemble(&policies, &mut context)?;
    warn(&gate);
    Ok((gate, context))
}

/// Tells on standard error what policies may not do.
pub fn warn(gate: &Gate) {
    let mut err = std::io::stderr().lock();
    for warning in gate.warnings() {
        // Nobody may be reading standard error; the verdict does not depend on it.
        let _ = writeln!(err, "shellgate: {warning}");
    }
}

/// The gate of the built-in rules with policies on top; their workspace roots go into the context.
///
/// # Errors
/// When a policy does not fit the built-in rules.
pub fn assemble(policies: &[Policy], context: &mut Context) -> Result<Cow<'static, Gate>, Failure> {
    if policies.is_empty() {
        return Ok(Cow::Borrowed(Gate::builtin()));
    }
    for root in policies.iter().flat_map(|policy| &policy.workspaces) {
        let root = match root.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", context.home.trim_end_matches('/')),
            None => root.clone(),
        };
        if !context.workspaces.contains(&root) {
            context.workspaces.push(root);
        }
    }
    let gate = Gate::new(policies).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(Cow::Owned(gate))
}

/// The person's policy file (XDG Base Directory Specification).
fn own_file() -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory =
        absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(directory.join("shellgate/policy.toml"))
}

/// The policy of a file that need not be there.
fn existing(path: &Path, level: Level) -> Option<Result<Policy, Failure>> {
    match path.try_exists() {
        Ok(false) => None,
        Ok(true) | Err(_) => Some(read(path, level)),
    }
}

/// The policy of a file.
///
/// # Errors
/// When it cannot be read or holds a mistake.
pub fn read(path: &Path, level: Level) -> Result<Policy, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Usage(format!("cannot read `{}`: {error}", path.display())))?;
    Policy::read(&path.display().to_string(), &text, level)
        .map_err(|error| Failure::Usage(error.to_string()))
}
