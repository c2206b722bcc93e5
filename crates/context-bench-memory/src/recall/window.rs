//! `window`: the last turns, as many as are asked for and fit.

use super::history::History;
use super::ranker::{Candidate, Ranker, TooLarge};
use super::{MemoryError, Query};

/// Hands the last turns over.
pub(super) struct Window {
    /// How many.
    pub(super) turns: usize,
}

impl Ranker for Window {
    fn rank(&self, _: &Query<'_>, history: &History) -> Result<Vec<Candidate>, MemoryError> {
        let recent = (0..history.len()).rev().take(self.turns);
        Ok(recent.map(Candidate::unranked).collect())
    }

    fn too_large(&self) -> TooLarge {
        TooLarge::Stop
    }

    fn is_limited(&self) -> bool {
        false
    }
}
