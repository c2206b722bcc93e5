//! [`CallsInFlight`]: calls that have begun and are not recorded yet. Who wants to know
//! everything about a moment waits until none of those before it is left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::call::Carriers;
use crate::text_hash::text_hash;

/// A call that has begun and is not recorded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallInFlight {
    /// The arm that it belongs to.
    pub arm: Option<Arc<str>>,
    /// When its first byte was there, on the clock of the tap.
    pub accepted: u64,
    /// What may tell whose call it is.
    pub carriers: Carriers,
}

/// Calls that have begun and are not recorded yet.
#[derive(Debug, Default)]
pub struct CallsInFlight(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    /// Those that name a client call, by a hash of its id: with many in flight, each row would
    /// look at all of them. Two ids with the same hash do no harm, since who looks compares them.
    named: FxHashMap<u64, SmallVec<[(u64, CallInFlight); 1]>>,
    others: FxHashMap<u64, CallInFlight>,
}

/// Where a call that is in flight is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InFlightKey {
    number: u64,
    name: Option<u64>,
}

impl CallsInFlight {
    /// Whether this holds for any of those that name one of these client calls, or none at all.
    pub fn any_of<'a>(
        &self,
        mut ids: impl Iterator<Item = &'a str>,
        mut holds: impl FnMut(&CallInFlight) -> bool,
    ) -> bool {
        let calls = self.calls();
        calls.others.values().any(&mut holds)
            || ids.any(|id| {
                let named = calls.named.get(&text_hash(id)).into_iter().flatten();
                named.map(|(_, call)| call).any(&mut holds)
            })
    }

    /// A call begins; `recorded` ends it.
    pub(crate) fn began(&self, number: u64, call: CallInFlight) -> InFlightKey {
        let name = call.carriers.call_id().map(text_hash);
        let mut calls = self.calls();
        match name {
            Some(name) => calls.named.entry(name).or_default().push((number, call)),
            None => {
                calls.others.insert(number, call);
            }
        }
        InFlightKey { number, name }
    }

    /// A call is recorded.
    pub(crate) fn recorded(&self, InFlightKey { number, name }: InFlightKey) {
        let mut calls = self.calls();
        let Some(name) = name else {
            calls.others.remove(&number);
            return;
        };
        if let Some(named) = calls.named.get_mut(&name) {
            named.retain(|(one, _)| *one != number);
            if named.is_empty() {
                calls.named.remove(&name);
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_looked_at_by_whom_they_may_concern() {
        let calls = CallsInFlight::default();
        let call = |header: Option<&str>, accepted| CallInFlight {
            arm: None,
            accepted,
            carriers: Carriers {
                header: header.map(Arc::from),
                ..Carriers::default()
            },
        };
        let first = calls.began(1, call(Some("a"), 10));
        let second = calls.began(2, call(Some("a"), 20));
        let third = calls.began(3, call(None, 30));
        let seen = |ids: &[&str]| {
            let mut seen = Vec::new();
            calls.any_of(ids.iter().copied(), |call| {
                seen.push(call.accepted);
                false
            });
            seen
        };
        assert_eq!(seen(&["a"]), [30, 10, 20]);
        assert_eq!(seen(&["b"]), [30]);
        calls.recorded(first);
        calls.recorded(third);
        assert_eq!(seen(&["a"]), [20]);
        calls.recorded(second);
        assert!(!calls.any_of(["a"].into_iter(), |_| true));
    }
}
