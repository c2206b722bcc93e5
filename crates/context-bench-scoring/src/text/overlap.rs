//! Token overlap of two texts after SQuAD normalisation.

use std::collections::HashMap;
use std::hash::Hash;

use super::normalize::{normalize_answer, official_answer};

/// F1, recall and exact match of a prediction against one reference.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Overlap {
    /// Harmonic mean of precision and recall; 0 when either text has no tokens.
    pub f1: f64,
    /// Share of the reference's tokens that the prediction has.
    pub recall: f64,
    /// 1 when both texts normalise to the same text.
    pub exact_match: f64,
}

impl Overlap {
    /// Compares two texts as the original tool normalises them.
    pub fn of(prediction: &str, reference: &str) -> Self {
        Self::of_normal(&normalize_answer(prediction), &normalize_answer(reference))
    }

    /// Compares two texts as official scripts normalise them.
    pub fn official(prediction: &str, reference: &str) -> Self {
        Self::of_normal(&official_answer(prediction), &official_answer(reference))
    }

    /// Compares two texts that are normalised.
    pub fn of_normal(prediction: &str, reference: &str) -> Self {
        let (recall, f1) = shared(
            prediction.split_ascii_whitespace(),
            reference.split_ascii_whitespace(),
        );
        Self {
            f1,
            recall,
            exact_match: f64::from(u8::from(prediction == reference)),
        }
    }
}

/// Recall and F1 of what two bags have in common; 0 when they share nothing.
pub fn shared<T: Eq + Hash>(
    prediction: impl IntoIterator<Item = T>,
    reference: impl IntoIterator<Item = T>,
) -> (f64, f64) {
    let mut unmatched: HashMap<T, usize> = HashMap::new();
    let mut n_reference = 0_usize;
    for token in reference {
        *unmatched.entry(token).or_default() += 1;
        n_reference += 1;
    }
    let (mut n_prediction, mut common) = (0_usize, 0_usize);
    for token in prediction {
        n_prediction += 1;
        if let Some(left) = unmatched.get_mut(&token).filter(|left| **left > 0) {
            *left -= 1;
            common += 1;
        }
    }
    if common == 0 {
        return (0.0, 0.0);
    }
    let precision = common as f64 / n_prediction as f64;
    let recall = common as f64 / n_reference as f64;
    (recall, 2.0 * precision * recall / (precision + recall))
}

/// Token F1 of a prediction against a reference.
pub fn f1_score(prediction: &str, reference: &str) -> f64 {
    Overlap::of(prediction, reference).f1
}

/// Share of the reference's tokens that the prediction has.
pub fn recall_score(prediction: &str, reference: &str) -> f64 {
    Overlap::of(prediction, reference).recall
}

/// 1 when both texts normalise to the same text, else 0.
pub fn exact_match(prediction: &str, reference: &str) -> f64 {
    Overlap::of(prediction, reference).exact_match
}
