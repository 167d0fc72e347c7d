//! Arguments with a grammar of their own, one file each.
//!
//! A grammar runs after the tables: `reading` then holds the options, operands and sub-commands
//! they gave, and `carried` what options of the kinds `shell`, `program` and `script` hold. For a
//! sub-command the grammars of its parents run first. A grammar adds deeds and carried code, and
//! may replace what the tables read. For utilities with a grammar other than `one_liner`, options
//! of the kind `code`, code among the operands and code on standard input are the grammar's to
//! report.

mod awk;
mod cloud;
mod code;
mod dd;
mod docker;
mod env;
mod filter;
mod find;
mod git;
mod git_push;
mod make;
mod mode;
mod one_liner;
mod parallel;
mod rsync;
mod schedule;
mod sed;
mod shell;
mod socat;
mod sql;
mod ssh;
mod tar;
mod test;
mod transfer;
mod vi;
mod words;

use crate::model::span::Site;
use crate::model::trace::{Carried, Reading};
use crate::model::utility::{Catalog, Grammar, Utility, UtilityId};
use crate::model::value::Field;
use crate::resolve::Surroundings;

/// What a grammar may look at.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The utility the grammar belongs to (a parent, where a sub-command was entered).
    pub utility: &'a Utility,
    /// The utility that was resolved, or its sub-command.
    pub id: UtilityId,
    /// The name it was called by.
    pub name: &'a str,
    /// The word it was called by, in the source.
    pub site: Site,
    /// All words behind the name, sub-commands and options included.
    pub fields: &'a [Field],
    /// What stands around the command.
    pub surroundings: Surroundings<'a>,
    /// All utilities.
    pub catalog: &'a Catalog,
}

/// Reads what the tables leave to the grammar.
pub fn read(
    grammar: Grammar,
    scene: &Scene<'_>,
    reading: &mut Reading,
    carried: &mut Vec<Carried>,
) {
    let words = scene.fields;
    match grammar {
        Grammar::Awk => awk::read(words, reading, carried),
        Grammar::Dd => dd::read(words, reading),
        Grammar::Find => find::read(words, reading, carried),
        Grammar::Git => git::read(words, reading, carried),
        Grammar::GitPush => {
            let globals = git::globals(words);
            let own = words.get(globals.at + 1..).unwrap_or_default();
            git_push::read(own, &globals.settings, reading, carried);
        }
        Grammar::Mode => mode::read(scene.name, words, reading),
        Grammar::Sed => sed::read(words, reading, carried),
        Grammar::Env => env::read(scene, reading, carried),
        Grammar::Parallel => parallel::read(scene, reading, carried),
        Grammar::Ssh => ssh::read(scene, reading, carried),
        Grammar::Shell => shell::read(scene, reading, carried),
        Grammar::Test => test::read(words, reading, carried),
        Grammar::Tar => tar::read(words, reading, carried),
        Grammar::Sql => sql::read(scene, reading, carried),
        Grammar::Vi => vi::read(scene, reading, carried),
        Grammar::Make => make::read(scene, reading, carried),
        Grammar::Filter => filter::read(scene, reading, carried),
        Grammar::Schedule => schedule::read(scene, reading, carried),
        Grammar::OneLiner => one_liner::read(scene, reading, carried),
        Grammar::Docker => docker::read(scene, reading, carried),
        Grammar::Rsync => rsync::read(scene.name, words, reading, carried),
        Grammar::Transfer => transfer::read(scene.name, reading, carried),
        Grammar::Cloud => cloud::read(reading),
        Grammar::Socat => socat::read(reading, carried),
    }
}
