//! Rules of expansion that the suite breaks on purpose, to see that its campaigns notice.
//!
//! Only with the feature `broken-rules`, which nothing turns on but the suite's own check. Without
//! it every rule holds and asking costs nothing.

#[cfg(feature = "broken-rules")]
use std::sync::atomic::{AtomicUsize, Ordering};

/// A rule of expansion that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "broken-rules"),
    expect(unreachable_pub, reason = "public where it is built for the suite")
)]
pub enum Rule {
    /// What an unquoted expansion gives is split at the characters of IFS.
    Splitting,
    /// `{a,b}` becomes two words.
    Braces,
    /// `~` becomes the home.
    Tilde,
    /// The colon of `${x:-w}` makes an empty value count as unset.
    Colon,
    /// `"$*"` is joined by the first character of IFS.
    Joining,
    /// `${x%p}` and `${x#p}` remove the shortest match.
    Shortest,
    /// `${x//p/r}` replaces every match.
    Every,
    /// An empty `""` is a word.
    EmptyQuotes,
}

impl Rule {
    /// All of them.
    #[cfg(feature = "broken-rules")]
    pub const ALL: [Self; 8] = [
        Self::Splitting,
        Self::Braces,
        Self::Tilde,
        Self::Colon,
        Self::Joining,
        Self::Shortest,
        Self::Every,
        Self::EmptyQuotes,
    ];

    /// Its name on a command line.
    #[cfg(feature = "broken-rules")]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Splitting => "splitting",
            Self::Braces => "braces",
            Self::Tilde => "tilde",
            Self::Colon => "colon",
            Self::Joining => "joining",
            Self::Shortest => "shortest",
            Self::Every => "every",
            Self::EmptyQuotes => "empty-quotes",
        }
    }
}

/// The rule that is broken, as its place in [`Rule::ALL`] plus one; 0 where all hold.
#[cfg(feature = "broken-rules")]
static BROKEN: AtomicUsize = AtomicUsize::new(0);

/// Breaks a rule in the whole process, until the next call; `None` mends it.
#[cfg(feature = "broken-rules")]
pub fn break_rule(rule: Option<Rule>) {
    let at = rule.and_then(|rule| Rule::ALL.iter().position(|own| *own == rule));
    BROKEN.store(at.map_or(0, |at| at + 1), Ordering::Relaxed);
}

/// Whether the rule holds.
#[cfg(feature = "broken-rules")]
pub(super) fn holds(rule: Rule) -> bool {
    let broken = BROKEN.load(Ordering::Relaxed).checked_sub(1);
    broken.and_then(|at| Rule::ALL.get(at)) != Some(&rule)
}

/// Whether the rule holds: always.
#[cfg(not(feature = "broken-rules"))]
pub(super) const fn holds(_: Rule) -> bool {
    true
}
