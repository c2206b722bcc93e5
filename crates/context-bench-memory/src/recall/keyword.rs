//! `keyword`: TF-IDF over plain words, as the original's `zep` falls back to.

use std::collections::HashMap;

use super::history::History;
use super::ranker::{Candidate, Ranker, best_first};
use super::{MemoryError, Query};
use crate::Turn;

/// The words of each turn, counted.
#[derive(Default)]
pub(super) struct Keyword {
    documents: Vec<Document>,
    /// Per word the number of documents that have it.
    with: HashMap<String, usize>,
}

#[derive(Default)]
struct Document {
    counts: HashMap<String, usize>,
    length: usize,
}

impl Keyword {
    fn index(&mut self, text: &str) {
        let mut document = Document::default();
        for word in words(text) {
            document.length += 1;
            *document.counts.entry(word).or_default() += 1;
        }
        for word in document.counts.keys() {
            *self.with.entry(word.clone()).or_default() += 1;
        }
        self.documents.push(document);
    }

    fn search(&self, question: &str) -> Vec<Candidate> {
        let asked: Vec<String> = words(question).collect();
        let n = self.documents.len() as f64;
        let score = |document: &Document| -> f64 {
            let each = asked.iter().filter_map(|word| {
                // A word that is asked for twice counts twice.
                let count = *document.counts.get(word)? as f64;
                let with = *self.with.get(word)? as f64;
                let idf = ((n + 1.0) / (with + 1.0)).ln() + 1.0;
                Some(count / document.length as f64 * idf)
            });
            each.sum()
        };
        let scored = self.documents.iter().map(score).enumerate();
        best_first(scored.filter(|(_, score)| *score > 0.0))
    }
}

/// Runs of ASCII letters and digits of the text in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let lower = text.to_lowercase();
    let words: Vec<String> = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words.into_iter()
}

/// The positions of the texts that share words with the question, best first: Σ tf · (ln((n+1)/(df+1)) + 1)
/// over the words of the question. Texts that share none are left out.
pub fn keyword_search(texts: &[&str], question: &str, top_k: usize) -> Vec<usize> {
    let mut index = Keyword::default();
    for text in texts {
        index.index(text);
    }
    let found = index.search(question).into_iter().take(top_k);
    found.map(|candidate| candidate.position).collect()
}

impl Ranker for Keyword {
    fn clear(&mut self) {
        *self = Self::default();
    }

    fn add(&mut self, turns: &[Turn]) {
        for turn in turns {
            self.index(&turn.searched());
        }
    }

    fn rank(&self, query: &Query<'_>, _: &History) -> Result<Vec<Candidate>, MemoryError> {
        Ok(self.search(query.text))
    }
}
