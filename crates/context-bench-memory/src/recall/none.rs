//! `none`: nothing. What a model gets right then, it knew or guessed.

use super::history::History;
use super::ranker::{Candidate, Ranker};
use super::{MemoryError, Query};

/// Hands nothing over.
pub(super) struct Nothing;

impl Ranker for Nothing {
    fn rank(&self, _: &Query<'_>, _: &History) -> Result<Vec<Candidate>, MemoryError> {
        Ok(Vec::new())
    }
}
