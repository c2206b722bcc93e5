//! The breaker: stops a system that cannot work as it is configured.
//!
//! A wrong key or address fails every call the same way. Once the first few
//! calls of a system have all failed like that, the rest is not tried: one clear
//! message instead of thousands, and nothing more to pay.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::model::{Failure, FailureKind};

/// How many first calls must fail alike.
const FIRST_CALLS: usize = 5;

/// Watches the first calls of one system.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    open: AtomicBool,
    /// Set by the first call that tells that the configuration can work.
    proven: AtomicBool,
    alike: Mutex<(usize, Option<Failure>)>,
}

impl Breaker {
    /// Takes note of how a call ended.
    pub(super) fn record(&self, failure: Option<&Failure>) {
        if self.proven.load(Ordering::Relaxed) {
            return;
        }
        let Some(failure) = failure.filter(|failure| is_configuration(failure.kind)) else {
            self.proven.store(true, Ordering::Relaxed);
            return;
        };
        // The lock is held for a comparison only; a poisoned one changes nothing.
        let mut alike = self.alike.lock().unwrap_or_else(|e| e.into_inner());
        match &alike.1 {
            Some(first) if first.kind != failure.kind => {
                self.proven.store(true, Ordering::Relaxed);
                return;
            }
            Some(_) => alike.0 += 1,
            None => *alike = (1, Some(failure.clone())),
        }
        if alike.0 >= FIRST_CALLS {
            self.open.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the system shall not be called any more.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) && !self.proven.load(Ordering::Relaxed)
    }

    /// The failure that stopped the system, if one did.
    pub(super) fn reason(&self) -> Option<Failure> {
        let alike = self.alike.lock().unwrap_or_else(|e| e.into_inner());
        alike.1.clone().filter(|_| self.is_open())
    }
}

/// Failures that another example will not mend.
fn is_configuration(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Unauthorized | FailureKind::NotFound | FailureKind::Connection
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(kinds: &[Option<FailureKind>]) -> bool {
        let breaker = Breaker::default();
        for kind in kinds {
            breaker.record(kind.map(|kind| Failure::new(kind, "no")).as_ref());
        }
        assert_eq!(breaker.reason().is_some(), breaker.is_open());
        breaker.is_open()
    }

    #[test]
    fn opens_only_when_the_first_calls_fail_alike_by_configuration() {
        let key = Some(FailureKind::Unauthorized);
        let busy = Some(FailureKind::RateLimited);
        assert!(after(&[key; FIRST_CALLS]));
        assert!(!after(&[key; FIRST_CALLS - 1]));
        assert!(!after(&[busy; 2 * FIRST_CALLS]));
        assert!(!after(&[None, key, key, key, key, key, key]));
        assert!(!after(&[
            key,
            key,
            key,
            key,
            Some(FailureKind::NotFound),
            key,
            key
        ]));
        // One success at last proves the configuration, even after the breaker opened.
        assert!(!after(&[key, key, key, key, key, None]));
    }
}
