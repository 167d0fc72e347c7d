//! The texts of `rules/` that are built in. The build script lists them.

mod files {
    include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

    pub(super) fn rules() -> &'static [(&'static str, &'static str)] {
        RULES
    }

    pub(super) fn utilities() -> &'static [(&'static str, &'static str)] {
        UTILITIES
    }
}

/// Name and text of every file of rules and labels (`rules/*.toml`), sorted by name.
pub fn rules() -> &'static [(&'static str, &'static str)] {
    files::rules()
}

/// Name and text of every file of utilities (`rules/utilities/*.toml`), sorted by name.
pub fn utilities() -> &'static [(&'static str, &'static str)] {
    files::utilities()
}
