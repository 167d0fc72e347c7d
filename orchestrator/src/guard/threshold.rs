//! Thresholds: a person's settings only tighten the defaults.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How sure an engine must be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thresholds {
    /// Least probability of being safe for running unasked.
    pub auto_safe_now_min: f64,
    /// Least probability of being reversible for running unasked.
    pub auto_reversible_min: f64,
    /// Probability of touching a risky area from which on it asks.
    pub auto_high_risk_max: f64,
    /// Probability of being safe below which it is refused.
    pub block_safe_now_below: f64,
    /// Files an edit may have without a question.
    pub max_auto_edit_files: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            auto_safe_now_min: 0.9,
            auto_reversible_min: 0.8,
            auto_high_risk_max: 0.2,
            block_safe_now_below: 0.0,
            max_auto_edit_files: 1.0,
        }
    }
}

/// A threshold's name, range and stricter side.
struct Row {
    name: &'static str,
    most: f64,
    higher_is_stricter: bool,
    slot: fn(&mut Thresholds) -> &mut f64,
}

const ROWS: [Row; 5] = [
    Row {
        name: "autoSafeNowMin",
        most: 1.0,
        higher_is_stricter: true,
        slot: |own| &mut own.auto_safe_now_min,
    },
    Row {
        name: "autoReversibleMin",
        most: 1.0,
        higher_is_stricter: true,
        slot: |own| &mut own.auto_reversible_min,
    },
    Row {
        name: "autoHighRiskMax",
        most: 1.0,
        higher_is_stricter: false,
        slot: |own| &mut own.auto_high_risk_max,
    },
    Row {
        name: "blockSafeNowBelow",
        most: 1.0,
        higher_is_stricter: true,
        slot: |own| &mut own.block_safe_now_below,
    },
    Row {
        name: "maxAutoEditFiles",
        most: 1000.0,
        higher_is_stricter: false,
        slot: |own| &mut own.max_auto_edit_files,
    },
];

impl Thresholds {
    /// The defaults with what tightens them, and one warning per entry that was dropped, naming
    /// setting, value and reason.
    pub fn tightened(overrides: &BTreeMap<String, f64>) -> (Self, Vec<String>) {
        let mut own = Self::default();
        let mut warnings = Vec::new();
        for (name, value) in overrides {
            let mut drop = |why: &str| {
                warnings.push(format!("gating.thresholds: `{name}` = {value} is ignored: {why}"));
            };
            let Some(row) = ROWS.iter().find(|row| row.name == name) else {
                drop("there is no such threshold");
                continue;
            };
            let slot = (row.slot)(&mut own);
            if !value.is_finite() {
                drop("it is no finite number");
            } else if !(0.0..=row.most).contains(value) {
                drop(&format!("it must be between 0 and {}", row.most));
            } else if (row.higher_is_stricter && *value < *slot)
                || (!row.higher_is_stricter && *value > *slot)
            {
                let side = if row.higher_is_stricter { "lower" } else { "higher" };
                drop(&format!(
                    "it is {side} than the default {slot}, which would loosen the guard"
                ));
            } else {
                *slot = *value;
            }
        }
        (own, warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_only_tighten() {
        for (name, value, applies) in [
            ("autoSafeNowMin", 0.95, true),
            ("autoSafeNowMin", 0.9, true),
            ("autoSafeNowMin", 0.89, false),
            ("autoSafeNowMin", 1.01, false),
            ("autoReversibleMin", 1.0, true),
            ("autoReversibleMin", 0.5, false),
            ("autoHighRiskMax", 0.0, true),
            ("autoHighRiskMax", 0.2, true),
            ("autoHighRiskMax", 0.21, false),
            ("blockSafeNowBelow", 0.3, true),
            ("blockSafeNowBelow", -0.1, false),
            ("maxAutoEditFiles", 0.5, true),
            ("maxAutoEditFiles", 0.0, true),
            ("maxAutoEditFiles", 2.0, false),
            ("maxAutoEditFiles", 5000.0, false),
            ("autosafenowmin", 1.0, false),
            ("autoSafeNowMin", f64::NAN, false),
            ("autoSafeNowMin", f64::INFINITY, false),
        ] {
            let overrides = BTreeMap::from([(name.to_owned(), value)]);
            let (own, warnings) = Thresholds::tightened(&overrides);
            assert_eq!(warnings.is_empty(), applies, "{name} {value} {warnings:?}");
            if applies {
                let row = ROWS.iter().find(|row| row.name == name).unwrap();
                let mut own = own;
                assert!((*(row.slot)(&mut own) - value).abs() < f64::EPSILON);
            } else {
                assert_eq!(own, Thresholds::default());
                assert!(warnings[0].contains(name) && warnings[0].contains(&value.to_string()));
            }
        }
    }
}
