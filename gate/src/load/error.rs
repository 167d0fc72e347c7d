//! What can be wrong with a file of rules or utilities.

use std::fmt;

/// Why a file could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// It is no TOML, or a key or the type of a value is not one of the format.
    Format {
        /// The file.
        file: String,
        /// What the TOML reader says, with line and column.
        cause: String,
    },
    /// A value is not one of those the key may have.
    Choice {
        /// The file.
        file: String,
        /// The entry, named by its words.
        entry: String,
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The values that are possible, separated by blanks.
        allowed: String,
    },
    /// A name is used twice.
    Taken {
        /// The file.
        file: String,
        /// The entry, named by its words.
        entry: String,
        /// The name.
        name: String,
    },
    /// A value of a key makes no sense beside the rest of the entry.
    Value {
        /// The file.
        file: String,
        /// The entry, named by its words.
        entry: String,
        /// The key.
        key: String,
        /// What is wrong and what to do.
        cause: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format { file, cause } => {
                write!(
                    f,
                    "{file}: cannot be read (docs/rules.md and docs/policy.md have the formats): {}",
                    cause.trim_end()
                )
            }
            Self::Choice { file, entry, key, value, allowed } => write!(
                f,
                "{file}: entry `{entry}`: `{value}` is no value of `{key}`: use one of {allowed}"
            ),
            Self::Taken { file, entry, name } => write!(
                f,
                "{file}: entry `{entry}`: the name `{name}` is taken: merge the two or rename one"
            ),
            Self::Value { file, entry, key, cause } => {
                write!(f, "{file}: entry `{entry}`: key `{key}`: {cause}")
            }
        }
    }
}

impl std::error::Error for LoadError {}
