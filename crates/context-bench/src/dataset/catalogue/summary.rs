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
