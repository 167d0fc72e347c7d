//! Links: paths of a command that lead elsewhere than their names say. The gate judges names; what a name
//! leads to is looked up here, by the repository, before anything runs.
//!
//! Between the look and the run a link may change. Whoever can do that runs in the workspace already.

use serde::{Deserialize, Serialize};
use shellgate::model::fact::{EffectKind, Fact, Object};
use shellgate::model::value::{Glob, Piece, Text};

use super::analysis::Scene;

/// A path below a root that a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Absolute. In a pattern `*` and `?` stand for what a shell puts there, and a backslash for the
    /// character behind it.
    pub path: String,
    /// Whether it is a pattern.
    pub is_pattern: bool,
    /// Whether the command is about what a link leads to, and not about the link.
    pub follows: bool,
    /// Whether the command changes or runs what is there.
    pub writes: bool,
}

/// A path that leads elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The absolute path a command names.
    pub path: String,
    /// Where it leads: absolute, no link in it, as far as it exists.
    pub real: String,
    /// Whether the command changes or runs what is there.
    pub writes: bool,
}

/// Adds the paths of a fact that lie below a root, as far as they are known; at most `limit` in all.
pub(super) fn named(fact: &Fact, scene: &Scene, limit: usize, out: &mut Vec<Named>) {
    let Object::Path(object) = &fact.object else { return };
    let mut add = |text: &Text| {
        let lies_below = scene.roots.iter().any(|root| {
            text.prefix().strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/'))
        });
        if text.has_unknown() || !lies_below || out.len() >= limit {
            return;
        }
        let is_pattern = text.has_glob();
        let one = Named {
            path: if is_pattern { pattern(text) } else { text.display() },
            is_pattern,
            follows: !matches!(fact.kind, EffectKind::Delete | EffectKind::Move),
            writes: !fact.kind.is_passive(),
        };
        if !out.contains(&one) {
            out.push(one);
        }
    };
    for text in &object.resolved {
        add(text);
    }
    // `link/../x` is not `x` where `link` leads elsewhere, so the way is looked at as it was given.
    if let (Some(given), Some(root)) = (object.text.exact(), scene.roots.first())
        && given.split('/').any(|step| step == "..")
    {
        let whole = if given.starts_with('/') { given.into() } else { format!("{root}/{given}") };
        add(&Text::literal(whole));
    }
}

/// A text with patterns, in the signs of [`Named::path`].
fn pattern(text: &Text) -> String {
    let mut out = String::new();
    for piece in text.pieces() {
        match piece {
            Piece::Literal(literal) => {
                for character in literal.chars() {
                    if matches!(character, '*' | '?' | '\\') {
                        out.push('\\');
                    }
                    out.push(character);
                }
            }
            Piece::Glob(Glob::One | Glob::Set(_)) => out.push('?'),
            Piece::Glob(Glob::Any | Glob::Deep | Glob::Extended(_)) | Piece::Unknown(_) => {
                out.push('*');
            }
        }
    }
    out
}
