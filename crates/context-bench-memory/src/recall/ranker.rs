//! `Ranker`: in which order a kind of memory hands its turns over.

use super::history::History;
use super::{MemoryError, Query};
use crate::Turn;

/// A turn that may be handed over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    /// Its position in the history.
    pub(super) position: usize,
    /// How well it fits; `None` where the kind does not rank.
    pub(super) score: Option<f64>,
}

impl Candidate {
    /// A turn without a score.
    pub(super) fn unranked(position: usize) -> Self {
        Self {
            position,
            score: None,
        }
    }
}

/// What to do with a turn that is larger than what is left of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TooLarge {
    /// Hand nothing more over: what is handed over must not have gaps.
    Stop,
    /// Leave it out and go on with the next: a long turn must not shut out the rest.
    Skip,
}

/// In which order a kind of memory hands its turns over.
pub(super) trait Ranker: Send + Sync {
    /// Forgets everything.
    fn clear(&mut self) {}

    /// Takes turns in, behind those that it has.
    fn add(&mut self, _turns: &[Turn]) {}

    /// Candidates, best first.
    fn rank(&self, query: &Query<'_>, history: &History) -> Result<Vec<Candidate>, MemoryError>;

    /// What to do with a turn that does not fit.
    fn too_large(&self) -> TooLarge {
        TooLarge::Skip
    }

    /// Whether only the best `top_k` are handed over.
    fn is_limited(&self) -> bool {
        true
    }

    /// What its state belongs to besides the settings, such as a model.
    fn belongs_to(&self) -> Option<String> {
        None
    }

    /// What would take long to compute again.
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes all turns in, and what [`save`](Self::save) gave for them.
    fn load(&mut self, turns: &[Turn], _saved: &[u8]) -> Result<(), MemoryError> {
        self.clear();
        self.add(turns);
        Ok(())
    }
}

/// Candidates of scores by position, best first; of equals the earlier first.
pub(super) fn best_first(scored: impl Iterator<Item = (usize, f64)>) -> Vec<Candidate> {
    let mut scored: Vec<(usize, f64)> = scored.collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let candidates = scored.into_iter().map(|(position, score)| Candidate {
        position,
        score: Some(score),
    });
    candidates.collect()
}
