//! [`CallsInFlight`]: calls that have begun and are not recorded yet. Who wants to know
//! everything about a moment waits until none of those before it is left.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::call::Carriers;

/// A call that has begun and is not recorded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallInFlight {
    /// The arm that it belongs to.
    pub arm: Option<String>,
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
    /// Those that name a client call, by its id: with many in flight, each row would look at
    /// all of them.
    named: HashMap<String, Vec<(u64, CallInFlight)>>,
    others: HashMap<u64, CallInFlight>,
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
                let named = calls.named.get(id).into_iter().flatten();
                named.map(|(_, call)| call).any(&mut holds)
            })
    }

    pub(crate) fn began(&self, number: u64, call: CallInFlight) {
        let mut calls = self.calls();
        match call.carriers.call_id().map(str::to_owned) {
            Some(id) => calls.named.entry(id).or_default().push((number, call)),
            None => {
                calls.others.insert(number, call);
            }
        }
    }

    /// A call that began with this id is recorded.
    pub(crate) fn recorded(&self, number: u64, id: Option<&str>) {
        let mut calls = self.calls();
        let Some(id) = id else {
            calls.others.remove(&number);
            return;
        };
        if let Some(named) = calls.named.get_mut(id) {
            named.retain(|(one, _)| *one != number);
            if named.is_empty() {
                calls.named.remove(id);
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
                header: header.map(str::to_owned),
                ..Carriers::default()
            },
        };
        calls.began(1, call(Some("a"), 10));
        calls.began(2, call(Some("a"), 20));
        calls.began(3, call(None, 30));
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
        calls.recorded(1, Some("a"));
        calls.recorded(3, None);
        assert_eq!(seen(&["a"]), [20]);
        calls.recorded(2, Some("a"));
        assert!(!calls.any_of(["a"].into_iter(), |_| true));
    }
}
