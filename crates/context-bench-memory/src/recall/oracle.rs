//! `oracle`: the turns that the data marks as evidence, and no other.

use super::history::History;
use super::ranker::{Candidate, Ranker};
use super::{MemoryError, Query};

/// Hands the evidence over, in the order of the marks. Marks of turns that were never
/// taken in are passed over: the bound is what could be recalled.
pub(super) struct Oracle;

impl Ranker for Oracle {
    fn rank(&self, query: &Query<'_>, history: &History) -> Result<Vec<Candidate>, MemoryError> {
        let evidence = query.evidence.ok_or(MemoryError::NoEvidence)?;
        let mut positions: Vec<usize> = Vec::new();
        for position in evidence.iter().filter_map(|id| history.position(id)) {
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        Ok(positions.into_iter().map(Candidate::unranked).collect())
    }

    fn is_limited(&self) -> bool {
        false
    }
}
