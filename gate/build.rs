//! Reads and checks the files of `rules/` once, when the library is built, and writes what they say
//! as bytes and tables that need no parsing at run time. A mistake in a file is a build error.
#![allow(
    clippy::disallowed_methods,
    reason = "a build script reads files; the library that it builds does not"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

#[allow(dead_code, unused_imports, unreachable_pub, reason = "the library uses the rest")]
#[path = "src/model/mod.rs"]
mod model;

#[allow(dead_code, unused_imports, unreachable_pub, reason = "the library uses the rest")]
#[path = "src/load"]
mod load {
    #[path = "error.rs"]
    pub mod error;
    #[path = "labels.rs"]
    pub mod labels;
    #[path = "pack.rs"]
    pub mod pack;
    #[path = "rules.rs"]
    pub mod rules;
    #[path = "utilities.rs"]
    pub mod utilities;
}

use load::pack::Pack as _;
use model::utility::Catalog;

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let mut code = String::new();
    let rules = list(&mut code, "RULES", &root.join("../rules"), "rules")?;
    let utilities =
        list(&mut code, "UTILITIES", &root.join("../rules/utilities"), "rules/utilities")?;

    let judgement = load::rules::rules(&pairs(&rules)).map_err(io::Error::other)?;
    let (catalog, _) = load::utilities::utilities(&pairs(&utilities)).map_err(io::Error::other)?;
    let mut general = Vec::new();
    judgement.pack(&mut general);
    catalog.trusted_directories.pack(&mut general);
    catalog.secret_variables.pack(&mut general);
    fs::write(out.join("general.pack"), general)?;
    let mut variables = Vec::new();
    catalog.variables().to_vec().pack(&mut variables);
    fs::write(out.join("variables.pack"), variables)?;
    fs::write(out.join("utilities.pack"), tables(&mut code, &catalog))?;
    fs::write(out.join("builtin.rs"), code)
}

/// Writes the tables over utilities and gives their bytes: the end of each, the names at the top,
/// the names below each utility, both sorted.
fn tables(code: &mut String, catalog: &Catalog) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut ends = Vec::new();
    let (mut top, mut below) = (Vec::new(), Vec::new());
    for (id, utility) in catalog.iter() {
        utility.pack(&mut bytes);
        ends.push(bytes.len());
        for name in std::iter::once(&utility.name).chain(&utility.aliases) {
            match utility.parent {
                None => top.push((name, id.0)),
                Some(parent) => below.push((parent.0, name, id.0)),
            }
        }
    }
    top.sort_unstable();
    below.sort_unstable();
    let _ = writeln!(code, "static ENDS: &[u32] = &{ends:?};");
    let _ = writeln!(code, "static SLOTS: &[u16] = &{:?};", slots(&top));
    let _ = writeln!(code, "static TELLING: &[u64] = &{:?};", catalog.telling());
    let mut text = String::new();
    let mut spans = BTreeMap::new();
    let top: Vec<_> =
        top.iter().map(|(name, id)| (span(&mut text, &mut spans, name), *id)).collect();
    let below: Vec<_> = below
        .iter()
        .map(|(parent, name, id)| (*parent, span(&mut text, &mut spans, name), *id))
        .collect();
    let _ = writeln!(code, "static NAMES: &str = {text:?};");
    let _ = writeln!(code, "static TOP: &[((u32, u16), u32)] = &{top:?};");
    let _ = writeln!(code, "static BELOW: &[(u32, (u32, u16), u32)] = &{below:?};");
    bytes
}

/// Where a name stands in the text of all names: its first byte, and how many. Texts that point nowhere need
/// nothing done to them when a program starts.
fn span<'n>(
    text: &mut String,
    spans: &mut BTreeMap<&'n str, (u32, u16)>,
    name: &'n str,
) -> (u32, u16) {
    *spans.entry(name).or_insert_with(|| {
        let start = u32::try_from(text.len()).unwrap_or(u32::MAX);
        text.push_str(name);
        (start, u16::try_from(name.len()).unwrap_or(u16::MAX))
    })
}

/// The positions of names, counted from one, by [`model::utility::slot`].
fn slots(top: &[(&String, u32)]) -> Vec<u16> {
    let mut slots = vec![0; (top.len() * 2).next_power_of_two()];
    for (position, (name, _)) in (1..).zip(top) {
        let mut at = model::utility::slot(name, slots.len());
        while slots.get(at).is_some_and(|taken| *taken != 0) {
            at = (at + 1) & (slots.len() - 1);
        }
        if let Some(slot) = slots.get_mut(at) {
            *slot = position;
        }
    }
    slots
}

/// A file of `rules/`: its name and its text.
type File = (String, String);

fn pairs(files: &[File]) -> Vec<(&str, &str)> {
    files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}

/// Reads the files of a folder, sorted, and writes a static slice of pairs: name and text.
fn list(code: &mut String, name: &str, folder: &Path, shown: &str) -> io::Result<Vec<File>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let mut files = Vec::new();
    let mut lines = String::new();
    for path in paths {
        println!("cargo::rerun-if-changed={}", path.display());
        let base = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let base = format!("{shown}/{base}");
        let _ = writeln!(lines, "    ({base:?}, include_str!({:?})),", path.display().to_string());
        files.push((base, fs::read_to_string(&path)?));
    }
    let _ = writeln!(code, "static {name}: &[(&str, &str)] = &[\n{lines}];");
    Ok(files)
}
