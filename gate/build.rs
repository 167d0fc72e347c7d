//! Lists the files of `rules/`, so that adding one needs no code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let mut code = String::new();
    list(&mut code, "RULES", &root.join("../rules"), "rules")?;
    list(&mut code, "UTILITIES", &root.join("../rules/utilities"), "rules/utilities")?;
    fs::write(out.join("builtin.rs"), code)
}

/// Writes a static slice of pairs: the name of each file below `folder` and its text, sorted.
fn list(code: &mut String, name: &str, folder: &Path, shown: &str) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut lines = String::new();
    for path in files {
        println!("cargo::rerun-if-changed={}", path.display());
        let base = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let _ = writeln!(
            lines,
            "    ({:?}, include_str!({:?})),",
            format!("{shown}/{base}"),
            path.display().to_string()
        );
    }
    let _ = writeln!(code, "static {name}: &[(&str, &str)] = &[\n{lines}];");
    Ok(())
}
