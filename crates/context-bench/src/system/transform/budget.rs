//! `Budget`: how many tokens of a context may stay.

use crate::error::Hint;

/// How many tokens a transform may keep.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Budget {
    /// At most this many tokens; 0 keeps nothing.
    Tokens(u64),
    /// At most this share of the context's tokens, above 0 and up to 1.
    Ratio(f64),
}

impl Budget {
    /// The budget as data, for identities.
    pub(crate) fn to_json(self) -> serde_json::Value {
        match self {
            Self::Tokens(tokens) => serde_json::json!({"tokens": tokens}),
            Self::Ratio(ratio) => serde_json::json!({"ratio": ratio}),
        }
    }

    /// A share of the context's tokens.
    ///
    /// # Errors
    ///
    /// When the share is not above 0 and at most 1.
    pub fn ratio(ratio: f64) -> Result<Self, BudgetError> {
        Self::Ratio(ratio).checked()
    }

    /// The same budget, if it makes sense.
    ///
    /// # Errors
    ///
    /// When a ratio is not above 0 and at most 1.
    pub fn checked(self) -> Result<Self, BudgetError> {
        match self {
            Self::Ratio(ratio) if !(ratio > 0.0 && ratio <= 1.0) => {
                Err(BudgetError::RatioOutOfRange { ratio })
            }
            budget => Ok(budget),
        }
    }

    /// How many tokens of a context of `total` tokens may stay, rounded down.
    pub fn limit(self, total: u64) -> u64 {
        match self {
            Self::Tokens(tokens) => tokens.min(total),
            Self::Ratio(ratio) if ratio >= 1.0 => total,
            // Casting from float saturates, and NaN becomes 0.
            Self::Ratio(ratio) => (total as f64 * ratio).floor() as u64,
        }
    }
}

/// Why a budget cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// The ratio is not a share that can be kept.
    #[error("the ratio to keep must be above 0 and at most 1, found {ratio}")]
    RatioOutOfRange {
        /// The ratio as given.
        ratio: f64,
    },
}

impl Hint for BudgetError {
    fn hint(&self) -> Option<String> {
        let Self::RatioOutOfRange { ratio } = self;
        Some(if (1.0..=100.0).contains(ratio) {
            format!("to keep {ratio} percent, write {}", ratio / 100.0)
        } else {
            "write a share such as 0.5, or give a number of tokens instead".into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_shares() {
        for good in [0.001, 0.5, 1.0] {
            assert_eq!(Budget::ratio(good), Ok(Budget::Ratio(good)));
        }
        for bad in [0.0, -0.5, 1.01, 50.0, f64::NAN, f64::INFINITY] {
            let error = Budget::ratio(bad).expect_err("out of range");
            assert!(error.hint().is_some(), "{bad}");
        }
        let hint = Budget::ratio(50.0).expect_err("out of range").hint();
        assert_eq!(hint.as_deref(), Some("to keep 50 percent, write 0.5"));
    }

    #[test]
    fn limits_round_down_and_never_exceed_the_total() {
        for (budget, total, expected) in [
            (Budget::Tokens(5), 3, 3),
            (Budget::Tokens(0), 3, 0),
            (Budget::Ratio(0.5), 7, 3),
            (Budget::Ratio(1.0), 7, 7),
            (Budget::Ratio(0.1), 0, 0),
        ] {
            assert_eq!(budget.limit(total), expected, "{budget:?} of {total}");
        }
    }
}
