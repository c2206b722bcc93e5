//! BM25: how well passages fit a query (Robertson and Zaragoza, 2009).
//!
//! One pass over the passages counts only the terms of the query, so time is
//! linear in the text and memory in the number of passages. Nothing is kept
//! between calls: contexts change with every example.

use std::collections::HashMap;

use super::terms::for_each_term;

/// How fast repeated terms stop counting.
const K1: f64 = 1.2;
/// How much long passages are held back.
const B: f64 = 0.75;

/// The score of each passage for the query, in order; 0 where no term occurs.
///
/// Terms are stemmed and stop words are left out. A query of stop words only, or
/// an empty one, scores 0 throughout.
pub fn scores(query: &str, passages: &[&str]) -> Vec<f64> {
    let mut terms: HashMap<String, usize> = HashMap::new();
    for_each_term(query, |term| {
        let next = terms.len();
        terms.entry(term.to_owned()).or_insert(next);
    });
    if terms.is_empty() || passages.is_empty() {
        return vec![0.0; passages.len()];
    }

    let mut lengths = Vec::with_capacity(passages.len());
    let mut frequencies: Vec<Vec<(usize, u32)>> = Vec::with_capacity(passages.len());
    let mut n_passages_with = vec![0_usize; terms.len()];
    for passage in passages {
        let mut length = 0_usize;
        let mut found: Vec<(usize, u32)> = Vec::new();
        for_each_term(passage, |term| {
            length += 1;
            if let Some(&index) = terms.get(term) {
                match found.iter_mut().find(|(known, _)| *known == index) {
                    Some((_, count)) => *count += 1,
                    None => found.push((index, 1)),
                }
            }
        });
        for &(index, _) in &found {
            n_passages_with[index] += 1;
        }
        lengths.push(length as f64);
        frequencies.push(found);
    }

    let average = (lengths.iter().sum::<f64>() / passages.len() as f64).max(1.0);
    let weights: Vec<f64> = n_passages_with
        .iter()
        .map(|&with| idf(with, passages.len()))
        .collect();
    std::iter::zip(&lengths, &frequencies)
        .map(|(length, found)| {
            let norm = K1 * (1.0 - B + B * length / average);
            found
                .iter()
                .map(|&(index, count)| {
                    let count = f64::from(count);
                    weights[index] * count * (K1 + 1.0) / (count + norm)
                })
                .sum()
        })
        .collect()
}

/// The weight of a term that `with` of `total` passages hold (its inverse document frequency);
/// always positive.
pub fn idf(with: usize, total: usize) -> f64 {
    let (with, total) = (with as f64, total as f64);
    ((total - with + 0.5) / (with + 0.5)).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passage_that_answers_ranks_first() {
        let passages = [
            "The mayor opened the session.",
            "The bridge was designed by the engineer.",
            "A bridge is long and it is old and the bridge has many visitors every day.",
        ];
        let scored = scores("Who designed the bridge?", &passages);
        assert_eq!(scored[0], 0.0);
        assert!(scored[1] > scored[2] && scored[2] > 0.0, "{scored:?}");
    }

    #[test]
    fn nothing_to_match_scores_nothing() {
        assert_eq!(scores("", &["a b"]), [0.0]);
        assert_eq!(scores("what is it", &["what is it"]), [0.0]);
        assert!(scores("bridge", &[]).is_empty());
    }
}
