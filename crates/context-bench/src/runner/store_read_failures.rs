//! `StoreReadFailures`: what happens to examples when the store cannot be read.
//!
//! A re-run pays only for what is missing, and what cannot be looked up may well
//! be there. So its systems are not asked: the rows fail, and the next run finds
//! them in the store or asks. Locks of other processes are waited for below, in the
//! store's connections; an error that arrives here will not pass in a moment.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::model::{Failure, FailureKind};
use crate::store::StoreError;

/// After this many failed reads in a row the store is not asked again in this run:
/// each may have waited for seconds.
const MAX_IN_A_ROW: u32 = 3;

/// What could not be read from the store in one run.
#[derive(Debug, Default)]
pub(super) struct StoreReadFailures {
    in_a_row: AtomicU32,
    examples: AtomicU64,
    /// The first reason, and the failure of all rows concerned.
    first: OnceLock<(String, Arc<Failure>)>,
}

impl StoreReadFailures {
    /// What `read` finds in the store, or the failure that stands for it.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, Arc<Failure>> {
        if self.in_a_row.load(Ordering::Relaxed) >= MAX_IN_A_ROW
            && let Some((_, failure)) = self.first.get()
        {
            return Err(Arc::clone(failure));
        }
        let error = match read() {
            Ok(value) => {
                self.in_a_row.store(0, Ordering::Relaxed);
                return Ok(value);
            }
            Err(error) => error,
        };
        self.in_a_row.fetch_add(1, Ordering::Relaxed);
        let (_, failure) = self.first.get_or_init(|| {
            let reason = error.to_string();
            let what = format!("the store could not be read ({reason}); nothing was asked");
            let failure = Failure::new(FailureKind::Store, what);
            (reason, Arc::new(failure))
        });
        Err(Arc::clone(failure))
    }

    /// Counts examples of which something could not be read.
    pub(super) fn count(&self, n_examples: u64) {
        self.examples.fetch_add(n_examples, Ordering::Relaxed);
    }

    /// How many examples there were, and why the first could not be read.
    pub(super) fn summary(&self) -> (u64, Option<String>) {
        let reason = self.first.get().map(|(reason, _)| reason.clone());
        (self.examples.load(Ordering::Relaxed), reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> Result<(), StoreError> {
        Err(StoreError::Query {
            problem: "no such table".into(),
            cause: crate::store::Cause::Other,
        })
    }

    #[test]
    fn a_store_that_stays_broken_is_left_alone_and_one_that_recovers_is_used() {
        let unread = StoreReadFailures::default();
        for _ in 0..5 {
            assert!(unread.read(broken).is_err());
            assert!(unread.read(|| Ok(())).is_ok());
        }
        for _ in 0..MAX_IN_A_ROW {
            assert!(unread.read(broken).is_err());
        }
        let failure = unread.read(|| Ok(())).expect_err("not asked any more");
        assert_eq!(failure.kind, FailureKind::Store);
        let message = &failure.message;
        assert!(message.contains("no such table") && message.ends_with("nothing was asked"));
        unread.count(2);
        let (examples, reason) = unread.summary();
        assert_eq!(examples, 2);
        assert!(reason.is_some_and(|reason| reason.contains("no such table")));
    }
}
