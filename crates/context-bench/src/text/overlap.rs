//! Token overlap of two texts after SQuAD normalisation.

use std::collections::HashMap;

use super::normalize::normalize_answer;

/// F1, recall and exact match of a prediction against one reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overlap {
    /// Harmonic mean of precision and recall; 0 when either text has no tokens.
    pub f1: f64,
    /// Share of the reference's tokens that the prediction has.
    pub recall: f64,
    /// 1 when both texts normalise to the same text.
    pub exact_match: f64,
}

impl Overlap {
    /// Compares two texts.
    pub fn of(prediction: &str, reference: &str) -> Self {
        let prediction = normalize_answer(prediction);
        let reference = normalize_answer(reference);
        let exact_match = f64::from(u8::from(prediction == reference));
        let mut unmatched: HashMap<&str, usize> = HashMap::new();
        let mut n_reference = 0_usize;
        for token in reference.split_ascii_whitespace() {
            *unmatched.entry(token).or_default() += 1;
            n_reference += 1;
        }
        let (mut n_prediction, mut common) = (0_usize, 0_usize);
        for token in prediction.split_ascii_whitespace() {
            n_prediction += 1;
            if let Some(left) = unmatched.get_mut(token).filter(|left| **left > 0) {
                *left -= 1;
                common += 1;
            }
        }
        if common == 0 {
            return Self {
                f1: 0.0,
                recall: 0.0,
                exact_match,
            };
        }
        let precision = common as f64 / n_prediction as f64;
        let recall = common as f64 / n_reference as f64;
        Self {
            f1: 2.0 * precision * recall / (precision + recall),
            recall,
            exact_match,
        }
    }
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
