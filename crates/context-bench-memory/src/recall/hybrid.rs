//! `hybrid`: the ranks of words and of vectors fused, each with what stands around a turn.

use super::bm25::Bm25;
use super::embedding::Embedding;
use super::history::History;
use super::ranker::{Candidate, Ranker, best_first};
use super::{MemoryError, Query};
use crate::Turn;

/// Reciprocal rank fusion (Cormack et al., 2009) of BM25 and vectors.
pub(super) struct Hybrid {
    words: Bm25,
    vectors: Embedding,
    rrf_k: u32,
}

impl Hybrid {
    pub(super) fn new(words: Bm25, vectors: Embedding, rrf_k: u32) -> Self {
        Self {
            words,
            vectors,
            rrf_k,
        }
    }
}

/// Σ 1 / (k + rank) over the rankings that have a turn, best first.
fn fuse(rankings: &[Vec<Candidate>], rrf_k: u32, n: usize) -> Vec<Candidate> {
    let mut scores = vec![0.0; n];
    for ranking in rankings {
        for (rank, candidate) in (1_u32..).zip(ranking) {
            scores[candidate.position] += 1.0 / (f64::from(rrf_k) + f64::from(rank));
        }
    }
    let scored = scores.into_iter().enumerate();
    best_first(scored.filter(|(_, score)| *score > 0.0))
}

impl Ranker for Hybrid {
    fn clear(&mut self) {
        self.words.clear();
        self.vectors.clear();
    }

    fn add(&mut self, turns: &[Turn]) {
        self.words.add(turns);
        self.vectors.add(turns);
    }

    fn rank(&self, query: &Query<'_>, history: &History) -> Result<Vec<Candidate>, MemoryError> {
        let rankings = [
            self.words.search(query.text, history),
            self.vectors.search(query.text, history),
        ];
        Ok(fuse(&rankings, self.rrf_k, history.len()))
    }

    fn belongs_to(&self) -> Option<String> {
        self.vectors.belongs_to()
    }

    fn save(&self) -> Vec<u8> {
        self.vectors.save()
    }

    fn load(&mut self, turns: &[Turn], saved: &[u8]) -> Result<(), MemoryError> {
        self.vectors.load(turns, saved)?;
        self.words.clear();
        self.words.add(turns);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_rank_well_comes_first() {
        let ranking = |positions: &[usize]| -> Vec<Candidate> {
            let each = positions.iter().copied();
            each.map(Candidate::unranked).collect()
        };
        let fused = fuse(&[ranking(&[2, 0]), ranking(&[1, 2])], 60, 4);
        let positions: Vec<usize> = fused.iter().map(|one| one.position).collect();
        assert_eq!(positions, [2, 1, 0]);
        assert_eq!(fused[0].score, Some(1.0 / 61.0 + 1.0 / 62.0));
    }
}
