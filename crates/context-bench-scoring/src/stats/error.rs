//! [`StatsError`]: what makes numbers unfit for a statistic.

use context_bench_error::Hint;
use thiserror::Error;

/// Why a statistic cannot be computed from what it was given.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum StatsError {
    /// Nothing was given.
    #[error("{what}: there are no values")]
    Empty {
        /// What was to be computed.
        what: &'static str,
    },
    /// A value is infinite or not a number.
    #[error("{what}: value {at} is {value}, not a finite number")]
    NotFinite {
        /// What was to be computed.
        what: &'static str,
        /// Which value, from 0.
        at: usize,
        /// The value.
        value: f64,
    },
    /// Two lists belong together and differ in length.
    #[error("{what}: {found} values where {expected} belong")]
    Lengths {
        /// What was to be computed.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A value lies outside the range that was declared for it.
    #[error("value {at} is {value}, outside {low} to {high}")]
    OutsideRange {
        /// Which value, from 0.
        at: usize,
        /// The value.
        value: f64,
        /// The lowest value that was declared.
        low: f64,
        /// The highest.
        high: f64,
    },
    /// A setting has a value that means nothing.
    #[error("{setting} is {value}, it must be {expected}")]
    Setting {
        /// Which setting.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        expected: &'static str,
    },
}

impl Hint for StatsError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Empty { .. } | Self::Setting { .. } => return None,
            Self::NotFinite { .. } => {
                "leave out examples without a score, or say what a failure counts as"
            }
            Self::Lengths { .. } => "both systems need the same examples in the same order",
            Self::OutsideRange { .. } => "declare the range that the score really has",
        };
        Some(hint.into())
    }
}

/// Every value is a finite number.
pub(super) fn all_finite(what: &'static str, values: &[f64]) -> Result<(), StatsError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(StatsError::NotFinite {
            what,
            at,
            value: values[at],
        }),
        None => Ok(()),
    }
}

/// A list has the length that another has.
pub(super) fn same_length(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), StatsError> {
    match found == expected {
        true => Ok(()),
        false => Err(StatsError::Lengths {
            what,
            found,
            expected,
        }),
    }
}

/// A probability that is neither 0 nor 1.
pub(super) fn open_share(setting: &'static str, value: f64) -> Result<f64, StatsError> {
    match value > 0.0 && value < 1.0 {
        true => Ok(value),
        false => Err(StatsError::Setting {
            setting,
            value,
            expected: "between 0 and 1",
        }),
    }
}

/// A finite number above 0.
pub(super) fn positive(setting: &'static str, value: f64) -> Result<f64, StatsError> {
    match value > 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(StatsError::Setting {
            setting,
            value,
            expected: "a number above 0",
        }),
    }
}

/// A finite number that is not below 0.
pub(super) fn not_negative(setting: &'static str, value: f64) -> Result<f64, StatsError> {
    match value >= 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(StatsError::Setting {
            setting,
            value,
            expected: "0 or more",
        }),
    }
}
