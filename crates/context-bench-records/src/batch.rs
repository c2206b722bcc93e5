//! `Batch`: records that were read together.

#[cfg(feature = "parquet")]
use crate::parquet::TableBatch;
use crate::{PositionedRecord, RecordError};

/// Records that were read together: the rows of a Parquet file by the thousand,
/// others one by one.
///
/// What is left to do for them is done when they are taken, on whichever thread
/// that is.
pub struct Batch(Kind);

enum Kind {
    One(Option<PositionedRecord>),
    #[cfg(feature = "parquet")]
    Table(TableBatch),
}

impl Batch {
    pub(crate) fn one(found: PositionedRecord) -> Self {
        Self(Kind::One(Some(found)))
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn table(batch: TableBatch) -> Self {
        Self(Kind::Table(batch))
    }

    /// How many are left.
    pub fn n_records(&self) -> usize {
        match &self.0 {
            Kind::One(found) => usize::from(found.is_some()),
            #[cfg(feature = "parquet")]
            Kind::Table(batch) => batch.n_rows(),
        }
    }

    /// About how many bytes their values have.
    pub fn n_bytes(&self) -> usize {
        match &self.0 {
            Kind::One(found) => found.as_ref().map_or(0, |found| found.record.n_bytes()),
            #[cfg(feature = "parquet")]
            Kind::Table(batch) => batch.n_bytes(),
        }
    }

    /// Moves them behind `n_before` other records. Returns the number of places up
    /// to their end before that.
    pub(crate) fn shift(&mut self, n_before: usize) -> usize {
        match &mut self.0 {
            Kind::One(None) => 0,
            Kind::One(Some(found)) => found.position.shift(n_before),
            #[cfg(feature = "parquet")]
            Kind::Table(batch) => batch.shift(n_before),
        }
    }
}

impl Iterator for Batch {
    type Item = Result<PositionedRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Kind::One(found) => found.take().map(Ok),
            #[cfg(feature = "parquet")]
            Kind::Table(batch) => batch.next(),
        }
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("n_records", &self.n_records())
            .finish_non_exhaustive()
    }
}
