//! The Desiide protocol: its published facts against the types, its documents against both, and sessions
//! played over the ends in memory and over the real program.

mod campaign;
mod document;
mod facts;
mod ledger;
mod model;
mod play;
mod player;
mod pressure;
mod program;
pub(crate) mod report;
mod wire;

use std::path::PathBuf;

use serde_json::Value;

/// A file or folder of the repository.
fn here(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)
}

/// The committed schema.
fn schema() -> Value {
    let path = here("docs/protocol.schema.json");
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("the schema is JSON")
}

/// Holds a generated file against what is committed; `PROTOCOL=write` writes it.
fn hold(path: &str, expected: &str) {
    let file = here(path);
    if std::env::var_os("PROTOCOL").is_some_and(|word| word == "write") {
        std::fs::write(&file, expected).expect("the file can be written");
        return;
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    let line = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "{path} is not what the types say (line {}); `PROTOCOL=write cargo test -p suite protocol` \
         writes it",
        line.map_or_else(|| "last".to_owned(), |line| (line + 1).to_string()),
    );
}
