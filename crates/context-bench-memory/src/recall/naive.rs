//! `naive`: the whole history; with a budget, the most recent part that fits.

use super::history::History;
use super::ranker::{Candidate, Ranker, TooLarge};
use super::{MemoryError, Query};

/// Hands everything over.
pub(super) struct Naive;

impl Ranker for Naive {
    fn rank(&self, _: &Query<'_>, history: &History) -> Result<Vec<Candidate>, MemoryError> {
        Ok((0..history.len()).rev().map(Candidate::unranked).collect())
    }

    fn too_large(&self) -> TooLarge {
        TooLarge::Stop
    }

    fn is_limited(&self) -> bool {
        false
    }
}
