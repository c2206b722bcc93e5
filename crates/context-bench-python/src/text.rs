//! Text functions that users can call directly.

use context_bench_scoring::text::rouge::{Rouge, RougeTokens};
use context_bench_scoring::text::{normalize, overlap};
use pyo3::prelude::*;

/// Lower-cases a text and removes articles, punctuation and extra white space.
#[pyfunction]
pub(crate) fn normalize_answer(text: &str) -> String {
    normalize::normalize_answer(text)
}

/// Token F1 of two texts.
#[pyfunction]
pub(crate) fn f1_score(prediction: &str, reference: &str) -> f64 {
    overlap::f1_score(prediction, reference)
}

/// 1.0 if two texts are equal after normalization, otherwise 0.0.
#[pyfunction]
pub(crate) fn exact_match(prediction: &str, reference: &str) -> f64 {
    overlap::exact_match(prediction, reference)
}

/// The share of the reference's tokens that the prediction contains.
#[pyfunction]
pub(crate) fn recall_score(prediction: &str, reference: &str) -> f64 {
    overlap::recall_score(prediction, reference)
}

/// ROUGE-L precision, recall and F1 of two texts; tokens are separated by white space.
#[pyfunction]
pub(crate) fn rouge_l(prediction: &str, reference: &str) -> (f64, f64, f64) {
    let score = Rouge::compare(prediction, reference, RougeTokens::Whitespace).rouge_l;
    (score.precision, score.recall, score.f1)
}
