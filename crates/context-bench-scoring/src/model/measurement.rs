//! `Measurement`: one number of a summary, with what is needed to trust it.
//!
//! A summary is an ordered map of measurements. The plain numbers that users
//! know are a view of it; sample size, standard error and interval stay beside.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// What a number is, so that reports can write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Unit {
    /// A score or another plain number.
    #[default]
    Number,
    /// A share between 0 and 1 (compression may be negative).
    Share,
    /// A number of tokens.
    Tokens,
    /// Seconds.
    Seconds,
    /// Counts something; a whole number.
    Count,
    /// A rank; 1 is best.
    Rank,
    /// An amount of money, in the currency of its price book.
    Money,
}

/// A range that holds the true value with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One number of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// The value; `None` when there was nothing to measure. May be infinite.
    pub value: Option<f64>,
    /// What the number is.
    pub unit: Unit,
    /// How many rows it rests on, for numbers that leave rows out.
    pub n: Option<usize>,
    /// How many examples these rows are attempts at, when they are fewer: error and
    /// interval then rest on the examples, not on the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examples: Option<usize>,
    /// Standard error of the value.
    pub stderr: Option<f64>,
    /// 95 % confidence interval.
    pub interval: Option<Interval>,
}

impl Measurement {
    /// A number with no statement about its precision.
    pub fn new(value: f64, unit: Unit) -> Self {
        Self {
            value: Some(value),
            unit,
            ..Self::default()
        }
    }

    /// Nothing to measure: not zero, no value.
    pub fn missing(unit: Unit) -> Self {
        Self {
            unit,
            n: Some(0),
            ..Self::default()
        }
    }
}

impl From<f64> for Measurement {
    fn from(value: f64) -> Self {
        Self::new(value, Unit::Number)
    }
}

/// Metric key → measurement, in the order in which metrics gave them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary(IndexMap<String, Measurement>);

impl Summary {
    /// An empty summary.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a measurement; an earlier one of the same name is replaced in place.
    pub fn set(&mut self, name: impl Into<String>, measurement: impl Into<Measurement>) {
        self.0.insert(name.into(), measurement.into());
    }

    /// Sets a measurement and returns the summary, for building one in an expression.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, measurement: impl Into<Measurement>) -> Self {
        self.set(name, measurement);
        self
    }

    /// Takes over all measurements of `other`.
    pub fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The same keys without values: nothing was measured.
    #[must_use]
    pub fn without_values(mut self) -> Self {
        for measurement in self.0.values_mut() {
            *measurement = Measurement::missing(measurement.unit);
        }
        self
    }

    /// The measurement of that name.
    pub fn get(&self, name: &str) -> Option<&Measurement> {
        self.0.get(name)
    }

    /// The value of that name; `None` when unknown or missing.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(|measurement| measurement.value)
    }

    /// All measurements in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Measurement)> {
        self.0
            .iter()
            .map(|(name, measurement)| (name.as_str(), measurement))
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>, M: Into<Measurement>> FromIterator<(N, M)> for Summary {
    fn from_iter<I: IntoIterator<Item = (N, M)>>(iter: I) -> Self {
        Self(
            iter.into_iter()
                .map(|(name, measurement)| (name.into(), measurement.into()))
                .collect(),
        )
    }
}
