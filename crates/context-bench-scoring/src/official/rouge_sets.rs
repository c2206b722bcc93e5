//! ROUGE-L of the Python package `rouge`, which LongBench uses: it compares sets of words.
//!
//! Not the ROUGE-L of Google's `rouge-score`: sentences end at full stops, case and
//! punctuation count, and a word counts once, however often it is there.

use std::collections::HashSet;

use crate::text::lcs::{OnTie, lcs_places};
use crate::text::words::split_whitespace;

/// F of a summary against one reference; 0 when a side has no words.
pub(crate) fn score(output: &str, reference: &str) -> f64 {
    let (output, reference) = (sentences(output), sentences(reference));
    let distinct = |sentences: &[Vec<String>]| -> usize {
        sentences.iter().flatten().collect::<HashSet<_>>().len()
    };
    let (n_output, n_reference) = (distinct(&output), distinct(&reference));
    if n_output == 0 || n_reference == 0 {
        return 0.0;
    }
    let mut hits: HashSet<&str> = HashSet::new();
    for sentence in &reference {
        for other in &output {
            hits.extend(common(sentence, other));
        }
    }
    let recall = hits.len() as f64 / n_reference as f64;
    let precision = hits.len() as f64 / n_output as f64;
    2.0 * precision * recall / (precision + recall + 1e-8)
}

/// Sentences between full stops, as words between single spaces. One of nothing but
/// white space is a sentence of one empty word.
fn sentences(text: &str) -> Vec<Vec<String>> {
    text.split('.')
        .filter(|sentence| !sentence.is_empty())
        .map(|sentence| {
            let words: Vec<String> = split_whitespace(sentence).map(str::to_owned).collect();
            match words.is_empty() {
                true => vec![String::new()],
                false => words,
            }
        })
        .collect()
}

/// The words of a longest common subsequence.
fn common<'w>(reference: &'w [String], output: &[String]) -> Vec<&'w str> {
    let places = lcs_places(reference, output, OnTie::LeaveSecond);
    places
        .into_iter()
        .map(|at| reference[at].as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        for (output, reference, expected) in [
            ("the cat. sat on mat", "the cat sat on the mat", 1.0),
            ("The cat", "the cat", 0.5),
            ("a a a b", "a b", 1.0),
            ("...", "x", 0.0),
            ("会议 讨论 了 预算", "会议 讨论 预算", 0.8571),
        ] {
            assert!(
                (score(output, reference) - expected).abs() < 1e-4,
                "{output}"
            );
        }
    }
}
