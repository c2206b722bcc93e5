//! Recall@k, reciprocal rank and nDCG of recalled turns against marked evidence.
//!
//! A turn is evidence or it is not; there are no grades. Without evidence there is nothing
//! to measure: `None`, which means leave out, and not 0.

use std::collections::HashSet;

use crate::TurnId;
use crate::recall::Recalled;

/// The share of the evidence among the first `k`.
pub fn recall_at(ranked: &[&TurnId], evidence: &[TurnId], k: usize) -> Option<f64> {
    let evidence: HashSet<&TurnId> = evidence.iter().collect();
    let found: HashSet<&TurnId> = ranked.iter().take(k).copied().collect();
    let hits = found.intersection(&evidence).count();
    (!evidence.is_empty()).then(|| hits as f64 / evidence.len() as f64)
}

/// One over the rank of the first turn that is evidence; 0 when none is there.
pub fn reciprocal_rank(ranked: &[&TurnId], evidence: &[TurnId]) -> Option<f64> {
    let first = ranked.iter().position(|id| evidence.contains(id));
    (!evidence.is_empty()).then(|| first.map_or(0.0, |at| 1.0 / (at + 1) as f64))
}

/// Normalised discounted cumulative gain of the first `k` (Järvelin & Kekäläinen, 2002):
/// evidence counts 1 / log₂(1 + rank), over what the best order would give.
pub fn ndcg_at(ranked: &[&TurnId], evidence: &[TurnId], k: usize) -> Option<f64> {
    let marked: HashSet<&TurnId> = evidence.iter().collect();
    let mut seen = HashSet::new();
    let gain = |at: usize| 1.0 / ((at + 2) as f64).log2();
    let found = ranked.iter().take(k).enumerate();
    let found: f64 = found
        .filter(|(_, id)| marked.contains(*id) && seen.insert(**id))
        .fold(0.0, |sum, (at, _)| sum + gain(at));
    let best: f64 = (0..marked.len().min(k)).map(gain).sum();
    (best > 0.0).then(|| found / best)
}

/// How well one question was served.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retrieval {
    /// The share of the evidence among the first `k`.
    pub recall_at_k: f64,
    /// The share of the evidence in everything that was recalled: what an answer could rest on.
    pub recall: f64,
    /// One over the rank of the first evidence.
    pub reciprocal_rank: f64,
    /// nDCG of the first `k`.
    pub ndcg_at_k: f64,
    /// The tokens that were recalled.
    pub tokens: u64,
}

impl Retrieval {
    /// Measures what was recalled; `None` when no evidence is marked.
    pub fn of(recalled: &Recalled, evidence: &[TurnId], k: usize) -> Option<Self> {
        let ranked: Vec<&TurnId> = recalled.turns.iter().map(|turn| &turn.id).collect();
        Some(Self {
            recall_at_k: recall_at(&ranked, evidence, k)?,
            recall: recall_at(&ranked, evidence, usize::MAX)?,
            reciprocal_rank: reciprocal_rank(&ranked, evidence)?,
            ndcg_at_k: ndcg_at(&ranked, evidence, k)?,
            tokens: recalled.tokens,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &str) -> Vec<TurnId> {
        names.split_whitespace().map(TurnId::from).collect()
    }

    #[test]
    fn worked_by_hand() {
        let (ranked, evidence) = (ids("a x b y c"), ids("b c d"));
        let ranked: Vec<&TurnId> = ranked.iter().collect();
        for (k, expected) in [
            (0, 0.0),
            (2, 0.0),
            (3, 1.0 / 3.0),
            (5, 2.0 / 3.0),
            (99, 2.0 / 3.0),
        ] {
            assert_eq!(recall_at(&ranked, &evidence, k), Some(expected), "{k}");
        }
        assert_eq!(reciprocal_rank(&ranked, &evidence), Some(1.0 / 3.0));
        // scikit-learn's ndcg_score of gains 0 0 1 0 1 with one more relevant item behind.
        let best = 1.0 + 1.0 / 3_f64.log2() + 0.5;
        let found = 0.5 + 1.0 / 6_f64.log2();
        let ndcg = ndcg_at(&ranked, &evidence, 5).unwrap();
        assert!((ndcg - found / best).abs() < 1e-12);
    }

    #[test]
    fn odd_cases() {
        let (some, none) = (ids("a"), ids(""));
        let ranked: Vec<&TurnId> = some.iter().collect();
        assert_eq!(recall_at(&ranked, &none, 10), None);
        assert_eq!(reciprocal_rank(&ranked, &none), None);
        assert_eq!(ndcg_at(&ranked, &none, 10), None);
        assert_eq!(ndcg_at(&ranked, &some, 0), None);
        assert_eq!(recall_at(&[], &some, 10), Some(0.0));
        assert_eq!(reciprocal_rank(&[], &some), Some(0.0));
        // Evidence that is marked twice, or recalled twice, counts once.
        let twice: Vec<&TurnId> = vec![&some[0], &some[0]];
        assert_eq!(recall_at(&twice, &ids("a a"), 10), Some(1.0));
        assert_eq!(ndcg_at(&twice, &ids("a a"), 10), Some(1.0));
    }
}
