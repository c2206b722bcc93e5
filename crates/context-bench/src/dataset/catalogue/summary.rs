//! `Figure`: what is reported of a dataset beside the mean of each score.
//!
//! Some headlines are no mean over examples: the geometric mean of three means, the mean
//! over kinds of questions, a mean over the harder part alone.

use serde_json::Value;

/// How a figure is computed from the scores of rows.
#[derive(Debug, Clone, PartialEq)]
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
    /// The mean of a score for each value of a field.
    MeanBy {
        /// The score.
        score: String,
        /// The field.
        by: String,
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
    /// The mean of those means, each counting the same.
    MeanOfMeans {
        /// The score.
        score: String,
        /// The field.
        by: String,
    },
}
