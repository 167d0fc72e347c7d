//! `shellgate grants`: what a person has let through.

use std::io::{self, Write as _};

use clap::{Args, Subcommand};

use crate::command::Failure;
use crate::hook::text::shown;
use crate::store::grants::{self, Reach};
use crate::store::{Folders, time};

/// Arguments of `grants`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what is allowed, how far and until when.
    List,
    /// Take a grant back.
    Revoke {
        /// Its name in the list.
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// Take all of them back, and drop the codes that wait.
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
}

/// Lists or takes back.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let folders = Folders::of_environment()
        .ok_or_else(|| Failure::Usage("HOME is not set to an absolute path".into()))?;
    let file = grants::file(&folders);
    let failure = |error| Failure::Io("cannot use the file of grants".into(), error);
    let now = time::now() / 1000;
    let mut out = io::stdout().lock();
    match &arguments.verb {
        Verb::List => {
            let book = grants::read(&file).map_err(failure)?;
            let mut any = false;
            for grant in
                book.grants.iter().filter(|grant| grant.expires > now && grant.used.is_empty())
            {
                any = true;
                let place = match grant.reach {
                    Reach::Always => "anywhere".to_owned(),
                    Reach::Here | Reach::Once => format!("in {}", grant.cwd),
                };
                writeln!(out, "{}  {}  {}", grant.id, grant.reach.name(), shown(&grant.command))?;
                writeln!(
                    out,
                    "  {place}, against {}, until {}",
                    grant.rules.join(" "),
                    time::format(grant.expires.saturating_mul(1000))
                )?;
            }
            if !any {
                writeln!(out, "nothing is granted")?;
            }
            Ok(0)
        }
        Verb::Revoke { id, .. } => {
            let count = grants::revoke(&file, id.as_deref(), now).map_err(failure)?;
            if let (0, Some(id)) = (count, id) {
                return Err(Failure::Usage(format!("there is no grant `{}`", shown(id))));
            }
            writeln!(out, "taken back: {count}")?;
            Ok(0)
        }
    }
}
