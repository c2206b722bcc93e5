//! `Figure`: what is reported of a dataset beside the mean of each score.
//!
//! Some headlines are not a mean over examples: the geometric mean of three means, the mean
//! over kinds of questions, a mean over the harder part alone. Plain data; computing it
//! from rows is in `benchmark/figures.rs`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a figure is computed from the scores of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The geometric mean of the means of these scores.
    GeometricMean(Vec<String>),
    /// The mean of a score over some rows.
    Mean {
        /// The score.
        score: String,
        /// Only examples with these values of these fields count.
        only: Vec<(String, Value)>,
        /// A row counts as often as this field says: a number, or the length of a list.
        weight: Option<String>,
    },
    /// The mean of all values of these scores together: each counts the same, and those that
    /// a row lacks are left out.
    MeanOfAll(Vec<String>),
    /// The win rate at equal length, fitted to these scores of rows.
    LengthControlled {
        /// How far the model is preferred to the baseline, from 0 to 1.
        score: String,
        /// How many characters its answers are longer than the baseline's.
        length: String,
        /// How difficult instructions are, where rows have that.
        difficulty: String,
    },
    /// F1 of sums over all rows: 2 · correct / (predicted + expected).
    MicroF1 {
        /// The score that counts what is right.
        correct: String,
        /// The score that counts what was predicted.
        predicted: String,
        /// The score that counts what there is.
        expected: String,
    },
    /// The mean of a score for each value of a field.
    MeanBy {
        /// The score.
        score: String,
        /// The field.
        by: String,
    },
    /// The mean of those means, each counting the same.
    MeanOfMeans {
        /// The score.
        score: String,
        /// The field.
        by: String,
    },
}

impl Figure {
    /// The scores of rows that it is made of.
    pub fn scores(&self) -> Vec<&str> {
        match self {
            Self::GeometricMean(scores) | Self::MeanOfAll(scores) => {
                scores.iter().map(String::as_str).collect()
            }
            // Difficulties count where rows have them.
            Self::LengthControlled { score, length, .. } => vec![score, length],
            Self::MicroF1 {
                correct,
                predicted,
                expected,
            } => vec![correct, predicted, expected],
            Self::Mean { score, .. }
            | Self::MeanBy { score, .. }
            | Self::MeanOfMeans { score, .. } => vec![score],
        }
    }

    /// The fields of examples whose values it goes by.
    pub fn fields(&self) -> Vec<&str> {
        match self {
            Self::GeometricMean(_)
            | Self::MeanOfAll(_)
            | Self::LengthControlled { .. }
            | Self::MicroF1 { .. } => Vec::new(),
            Self::Mean { only, .. } => only.iter().map(|(field, _)| field.as_str()).collect(),
            Self::MeanBy { by, .. } | Self::MeanOfMeans { by, .. } => vec![by],
        }
    }

    /// The field that says how often a row counts.
    pub fn weight(&self) -> Option<&str> {
        match self {
            Self::Mean { weight, .. } => weight.as_deref(),
            _ => None,
        }
    }
}
