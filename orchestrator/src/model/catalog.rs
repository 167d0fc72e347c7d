//! What is known of models by their names: windows, output limits, ways to reason, prices.
//!
//! A table; a new model is a new line. It grows old: what a person configures (`capabilities`,
//! `costPerMTok`) outweighs it field by field, and a name that is not in it still works. Prices are US dollars per million tokens as the provider
//! publishes them; reading from its cache costs a tenth of input, writing to it a quarter more.

use super::Price;

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    /// Size of the context window in tokens.
    pub(super) context: u64,
    /// Largest output in tokens.
    pub(super) output: u64,
    /// Whether it sees images.
    pub(super) vision: bool,
    /// How it is told to reason.
    pub(super) thinking: Thinking,
    /// Input and output.
    pub(super) price: Option<(f64, f64)>,
}

/// How a model is told to reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    /// It does not.
    No,
    /// By a number of tokens; it does not when none is given.
    Budget,
    /// By a degree; it decides for itself when.
    Adaptive {
        /// Whether it can be told not to.
        can_disable: bool,
    },
}

const fn entry(output: u64, thinking: Thinking, price: (f64, f64)) -> Entry {
    Entry { context: 200_000, output, vision: true, thinking, price: Some(price) }
}

const ADAPTIVE: Thinking = Thinking::Adaptive { can_disable: true };

/// Names without their date, and what is known.
const ANTHROPIC: &[(&[&str], Entry)] = &[
    (&["claude-3-haiku"], entry(4096, Thinking::No, (0.25, 1.25))),
    (&["claude-3-opus"], entry(4096, Thinking::No, (15.0, 75.0))),
    (&["claude-3-sonnet"], entry(4096, Thinking::No, (3.0, 15.0))),
    (&["claude-3-5-haiku"], entry(8192, Thinking::No, (0.8, 4.0))),
    (&["claude-3-5-sonnet"], entry(8192, Thinking::No, (3.0, 15.0))),
    (&["claude-3-7-sonnet"], entry(64_000, Thinking::Budget, (3.0, 15.0))),
    (
        &["claude-opus-4", "claude-opus-4-0", "claude-opus-4-1"],
        entry(32_000, Thinking::Budget, (15.0, 75.0)),
    ),
    (
        &["claude-sonnet-4", "claude-sonnet-4-0", "claude-sonnet-4-5"],
        entry(64_000, Thinking::Budget, (3.0, 15.0)),
    ),
    (&["claude-haiku-4-5"], entry(64_000, Thinking::Budget, (1.0, 5.0))),
    (&["claude-opus-4-5"], entry(64_000, Thinking::Budget, (5.0, 25.0))),
    (&["claude-opus-4-6", "claude-opus-4-7"], entry(128_000, ADAPTIVE, (5.0, 25.0))),
    (&["claude-sonnet-4-6"], entry(64_000, ADAPTIVE, (3.0, 15.0))),
];

/// What is assumed of a model that is not in the table. Whether it can be told not to reason is not
/// known.
const UNKNOWN: Entry = Entry {
    context: 200_000,
    output: 64_000,
    vision: true,
    thinking: Thinking::Adaptive { can_disable: false },
    price: None,
};

/// What is known of a model of Anthropic; a date or `-latest` behind its name is left out.
pub(super) fn find(model: &str) -> Entry {
    let name = undated(model.trim());
    ANTHROPIC.iter().find(|(names, _)| names.contains(&name)).map_or(UNKNOWN, |(_, entry)| *entry)
}

/// The name without `-20250101`, `@20250101` or `-latest`.
fn undated(model: &str) -> &str {
    let is_date = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    match model.rsplit_once(['-', '@']) {
        Some((name, suffix)) if is_date(suffix) || suffix == "latest" => name,
        _ => model,
    }
}

/// Prices with the provider's usual ones for its cache.
pub(super) const fn anthropic_price(input: f64, output: f64) -> Price {
    Price { input, output, cache_read: input * 0.1, cache_write: input * 1.25 }
}

/// Prices of a provider whose cache prices are not known: as if there were no cache.
pub(super) const fn plain_price(input: f64, output: f64) -> Price {
    Price { input, output, cache_read: input, cache_write: input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_with_and_without_a_date() {
        assert_eq!(find("claude-sonnet-4-5-20250929"), find("claude-sonnet-4-5"));
        assert_eq!(find("claude-sonnet-4-20250514"), find("claude-sonnet-4-0"));
        assert_eq!(find("claude-3-5-sonnet-latest").output, 8192);
        assert_eq!(find("claude-opus-4-1@20250805").price, Some((15.0, 75.0)));
        assert_eq!(find("somebody-else"), UNKNOWN);
        let names: Vec<_> = ANTHROPIC.iter().flat_map(|(names, _)| names.iter()).collect();
        let distinct: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(names.len(), distinct.len());
    }
}
