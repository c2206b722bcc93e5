//! chrF over a corpus, equal to sacrebleu's default: six characters, beta 2.
//!
//! Written by hand for parity with sacrebleu, digit for digit.

use std::collections::HashMap;

use context_bench_template::python::split_whitespace;

const ORDER: usize = 6;
const BETA: f64 = 2.0;

/// What one sentence adds to the corpus: characters of the prediction, of the
/// reference, and in both, per length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ChrfStats {
    counts: [[u64; 3]; ORDER],
}

impl ChrfStats {
    /// Compares a prediction with the reference that fits best.
    pub fn of(prediction: &str, references: &[&str]) -> Self {
        let prediction = characters(prediction);
        let mut best: Option<(f64, Self)> = None;
        for reference in references {
            let reference = characters(reference);
            let mut stats = Self::default();
            for (n, counts) in stats.counts.iter_mut().enumerate() {
                *counts = matches(&prediction, &reference, n + 1);
            }
            let score = stats.score();
            if best.as_ref().is_none_or(|(most, _)| score > *most) {
                best = Some((score, stats));
            }
        }
        best.map(|(_, stats)| stats).unwrap_or_default()
    }

    /// The sum over a corpus.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (sum, more) in self.counts.iter_mut().zip(&other.counts) {
            for i in 0..3 {
                sum[i] += more[i];
            }
        }
        self
    }

    /// The score, from 0 to 100.
    pub fn score(&self) -> f64 {
        let factor = BETA * BETA;
        let (mut precision, mut recall, mut orders) = (0.0, 0.0, 0.0);
        for [prediction, reference, both] in self.counts {
            if prediction > 0 && reference > 0 {
                precision += both as f64 / prediction as f64;
                recall += both as f64 / reference as f64;
                orders += 1.0;
            }
        }
        if precision + recall == 0.0 {
            return 0.0;
        }
        let (precision, recall) = (precision / orders, recall / orders);
        100.0 * (1.0 + factor) * precision * recall / (factor * precision + recall)
    }
}

/// The text without white space.
fn characters(text: &str) -> Vec<char> {
    split_whitespace(text).flat_map(str::chars).collect()
}

fn matches(prediction: &[char], reference: &[char], n: usize) -> [u64; 3] {
    let count = |text: &'_ [char]| -> HashMap<Vec<char>, u64> {
        let mut counts = HashMap::new();
        for ngram in text.windows(n) {
            *counts.entry(ngram.to_vec()).or_default() += 1;
        }
        counts
    };
    let (ours, theirs) = (count(prediction), count(reference));
    let both = ours
        .iter()
        .map(|(ngram, n)| n.min(theirs.get(ngram).unwrap_or(&0)))
        .sum();
    let total: u64 = ours.values().sum();
    [
        if theirs.is_empty() { 0 } else { total },
        theirs.values().sum(),
        both,
    ]
}
