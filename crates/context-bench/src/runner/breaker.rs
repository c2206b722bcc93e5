//! The breaker: stops a system that cannot work as it is configured.
//!
//! A wrong key or address fails every call the same way. Once the first few
//! calls of a system have all failed like that, the rest is not tried: one clear
//! message instead of thousands, and nothing more to pay. The same goes for an
//! endpoint that dies on the way: when for some time no call has got through,
//! the rest is left for another run, which does only what is missing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::model::{Failure, FailureKind};

/// How many first calls must fail alike.
const FIRST_CALLS: usize = 5;
/// How many calls in a row must find nothing listening …
const LOST_CALLS: usize = 20;
/// … and for how long. Each of them has been retried with pauses before.
const LOST_FOR: Duration = Duration::from_secs(10);

/// Watches the calls of one system.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    open: AtomicBool,
    /// Whether the last call got through, so that there is nothing to note when the next
    /// one does too.
    calm: AtomicBool,
    streak: Mutex<Streak>,
}

/// Calls in a row that failed alike.
#[derive(Debug, Default)]
struct Streak {
    failure: Option<Failure>,
    length: usize,
    since: Option<Instant>,
    /// A call showed that the configuration can work.
    proven: bool,
}

impl Breaker {
    /// Open from the beginning, for a system that is known not to work.
    pub(super) fn opened(failure: Failure) -> Self {
        let breaker = Self::default();
        breaker.streak().failure = Some(failure);
        breaker.open.store(true, Ordering::Relaxed);
        breaker
    }

    /// Takes note of how a call ended.
    pub(super) fn record(&self, failure: Option<&Failure>) {
        self.record_at(failure, Instant::now());
    }

    fn record_at(&self, failure: Option<&Failure>, now: Instant) {
        let Some(failure) = failure.filter(|failure| is_configuration(failure.kind)) else {
            if !self.calm.swap(true, Ordering::Relaxed) {
                let mut streak = self.streak();
                *streak = Streak {
                    proven: true,
                    ..Streak::default()
                };
                self.open.store(false, Ordering::Relaxed);
            }
            return;
        };
        let mut streak = self.streak();
        self.calm.store(false, Ordering::Relaxed);
        match &streak.failure {
            Some(first) if first.kind == failure.kind => streak.length += 1,
            other => {
                // Two ways of failing: something is changing over there.
                streak.proven |= other.is_some();
                streak.failure = Some(failure.clone());
                streak.length = 1;
                streak.since = Some(now);
            }
        }
        // What is unsupported is refused without a call, and something else may be asked.
        let never_worked = !streak.proven
            && streak.length >= FIRST_CALLS
            && failure.kind != FailureKind::Unsupported;
        let lost = failure.kind == FailureKind::Connection
            && streak.length >= LOST_CALLS
            && streak.since.is_some_and(|since| now - since >= LOST_FOR);
        if never_worked || lost {
            self.open.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the system shall not be called any more.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// The failure that stopped the system, or that all its calls had because it does
    /// not do what was asked, if there is one.
    pub(super) fn reason(&self) -> Option<Failure> {
        let streak = self.streak();
        let failure = streak.failure.clone();
        failure.filter(|failure| {
            let unsupported = failure.kind == FailureKind::Unsupported && !streak.proven;
            unsupported || self.is_open()
        })
    }

    fn streak(&self) -> MutexGuard<'_, Streak> {
        // Held for a comparison only; a poisoned lock changes nothing.
        self.streak.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Failures that would be the same for every example.
fn is_configuration(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Unauthorized
            | FailureKind::NotFound
            | FailureKind::Connection
            | FailureKind::Unsupported
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

    #[test]
    fn what_is_unsupported_is_the_reason_when_nothing_else_was_asked() {
        let breaker = Breaker::default();
        let unsupported = Failure::new(FailureKind::Unsupported, "no likelihoods");
        for _ in 0..2 * FIRST_CALLS {
            breaker.record(Some(&unsupported));
        }
        assert!(!breaker.is_open() && breaker.reason().is_some());
        breaker.record(None);
        assert!(breaker.reason().is_none());
        breaker.record(Some(&unsupported));
        assert!(breaker.reason().is_none());
    }

    #[test]
    fn opens_when_the_endpoint_is_lost_for_long() {
        let lost_after = |calls: usize, seconds: f64| {
            let breaker = Breaker::default();
            let start = Instant::now();
            breaker.record_at(None, start);
            for i in 0..calls {
                let at = start + Duration::from_secs_f64(seconds * i as f64 / (calls - 1) as f64);
                let gone = Failure::new(FailureKind::Connection, "refused");
                breaker.record_at(Some(&gone), at);
            }
            let open = breaker.is_open();
            // It came back, for a call that was still in flight.
            breaker.record_at(None, start + Duration::from_secs(60));
            assert!(!breaker.is_open() && breaker.reason().is_none());
            open
        };
        assert!(lost_after(LOST_CALLS, 10.0));
        assert!(lost_after(500, 30.0));
        assert!(!lost_after(LOST_CALLS - 1, 60.0));
        // A thousand in flight that fail at the same moment are one short outage.
        assert!(!lost_after(1000, 2.0));
    }
}
