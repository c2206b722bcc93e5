//! `bm25`: the turns that share telling words with the question.
//!
//! The formula and the terms are those of `context_bench_scoring::text::bm25`, over an
//! index that is made once: a conversation is asked about hundreds of times.

use std::collections::HashMap;

use context_bench_scoring::text::bm25::idf;
use context_bench_scoring::text::terms::for_each_term;

use super::history::History;
use super::neighbors::with_neighbors;
use super::ranker::{Candidate, Ranker, best_first};
use super::{MemoryError, Query};
use crate::Turn;

/// How fast repeated terms stop counting.
const K1: f64 = 1.2;
/// How much long turns are held back.
const B: f64 = 0.75;

/// An inverted index of the turns.
#[derive(Default)]
pub(super) struct Bm25 {
    /// Per term the turns that have it, with how often; in order.
    postings: HashMap<String, Vec<(usize, u32)>>,
    /// Per turn the number of its terms.
    lengths: Vec<u32>,
    neighbor_weight: f64,
}

impl Bm25 {
    pub(super) fn new(neighbor_weight: f64) -> Self {
        Self {
            neighbor_weight,
            ..Self::default()
        }
    }

    /// Turns with a term of the question, or beside one that has it, best first.
    pub(super) fn search(&self, question: &str, history: &History) -> Vec<Candidate> {
        let scores = with_neighbors(&self.scores(question), history, self.neighbor_weight);
        let scored = scores.into_iter().enumerate();
        best_first(scored.filter(|(_, score)| *score > 0.0))
    }

    fn index(&mut self, text: &str) {
        let position = self.lengths.len();
        let mut length = 0;
        for_each_term(text, |term| {
            length += 1;
            if !self.postings.contains_key(term) {
                self.postings.insert(term.to_owned(), Vec::new());
            }
            let Some(list) = self.postings.get_mut(term) else {
                return;
            };
            match list.last_mut() {
                Some((last, count)) if *last == position => *count += 1,
                _ => list.push((position, 1)),
            }
        });
        self.lengths.push(length);
    }

    /// The score of each turn; 0 where no term of the question occurs.
    pub(super) fn scores(&self, question: &str) -> Vec<f64> {
        // In the order of the question, so that sums do not depend on a hash.
        let mut terms: Vec<String> = Vec::new();
        for_each_term(question, |term| {
            if !terms.iter().any(|known| known == term) {
                terms.push(term.to_owned());
            }
        });
        let n = self.lengths.len();
        let total: f64 = self.lengths.iter().map(|length| f64::from(*length)).sum();
        let average = (total / n.max(1) as f64).max(1.0);
        let mut scores = vec![0.0; n];
        for list in terms.iter().filter_map(|term| self.postings.get(term)) {
            let weight = idf(list.len(), n);
            for (position, count) in list {
                let length = f64::from(self.lengths[*position]);
                let norm = K1 * (1.0 - B + B * length / average);
                let count = f64::from(*count);
                scores[*position] += weight * count * (K1 + 1.0) / (count + norm);
            }
        }
        scores
    }
}

impl Ranker for Bm25 {
    fn clear(&mut self) {
        *self = Self::new(self.neighbor_weight);
    }

    fn add(&mut self, turns: &[Turn]) {
        for turn in turns {
            self.index(&turn.searched());
        }
    }

    fn rank(&self, query: &Query<'_>, history: &History) -> Result<Vec<Candidate>, MemoryError> {
        Ok(self.search(query.text, history))
    }
}

#[cfg(test)]
mod tests {
    use context_bench_scoring::text::bm25;

    use super::*;

    #[test]
    fn the_index_scores_as_the_plain_function() {
        let texts = [
            "The mayor opened the session.",
            "The bridge was designed by the engineer.",
            "A bridge is long and old and the bridge has visitors every day.",
            "",
        ];
        let mut index = Bm25::default();
        for text in texts {
            index.index(text);
        }
        for question in ["Who designed the bridge?", "old old visitors", "the", ""] {
            let plain = bm25::scores(question, &texts);
            let found = index.scores(question);
            assert_eq!(found.len(), plain.len());
            for (found, plain) in found.iter().zip(plain) {
                assert!((found - plain).abs() < 1e-12, "{question}");
            }
        }
        assert!(Bm25::default().scores("bridge").is_empty());
    }
}
