//! Answers of a file that another process wrote, taken over with their scores.

use std::path::Path;
use std::sync::Arc;

use super::{MergeSource, Store, StoreError};

impl Store {
    /// Takes over the answers and scores of a file, as a merge does; how many answers were not
    /// there. Its runs are left: they are parts of one that is stored as a whole.
    ///
    /// # Errors
    ///
    /// When either cannot be used.
    pub fn absorb(&self, file: &Path) -> Result<u64, StoreError> {
        let source = MergeSource::open(file)?;
        let taken = self.take_answers(source, Arc::new(|_, _| true))?;
        Ok(taken.answers)
    }
}
