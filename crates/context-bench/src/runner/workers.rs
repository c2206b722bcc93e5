//! How many calls may be in flight: a fixed number, or one that adapts.
//!
//! The adaptive limit doubles while that brings more throughput, then grows
//! slowly; it shrinks at once when the endpoint says that it has too much to do
//! (429, 503), and undoes a step that only made each call slower.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many calls may be in flight over all systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxWorkers {
    /// Exactly this many; 0 counts as 1.
    Fixed(usize),
    /// As many as the endpoint can take, but at most this many.
    Auto {
        /// The most that may be in flight.
        up_to: usize,
    },
}

impl MaxWorkers {
    /// The most that may ever be in flight.
    pub fn most(self) -> usize {
        let most = match self {
            Self::Fixed(n) => n,
            Self::Auto { up_to } => up_to,
        };
        most.clamp(1, Semaphore::MAX_PERMITS / 2)
    }
}

impl From<usize> for MaxWorkers {
    fn from(n: usize) -> Self {
        Self::Fixed(n)
    }
}

/// Where the adaptive limit starts.
const START: usize = 8;
/// What is left of the limit after the endpoint complained.
const SHRINK: f64 = 0.7;
/// More throughput than this makes further growth worth it.
const BETTER: f64 = 1.05;

/// Hands out the right to make a call.
#[derive(Debug)]
pub(super) struct Workers {
    permits: Arc<Semaphore>,
    tuner: Option<Mutex<Tuner>>,
}

impl Workers {
    pub(super) fn new(max: MaxWorkers) -> Self {
        let most = max.most();
        match max {
            MaxWorkers::Fixed(_) => Self {
                permits: Arc::new(Semaphore::new(most)),
                tuner: None,
            },
            MaxWorkers::Auto { .. } => {
                let start = START.min(most);
                Self {
                    permits: Arc::new(Semaphore::new(start)),
                    tuner: Some(Mutex::new(Tuner::new(start, most, Instant::now()))),
                }
            }
        }
    }

    /// Waits for a free worker. The semaphore is never closed, so it always comes.
    pub(super) async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// Takes note of how a call went; the worker may make another one if it gets
    /// its permit back.
    #[must_use = "a permit that is dropped frees the worker"]
    pub(super) fn finished(
        &self,
        permit: OwnedSemaphorePermit,
        throttled: bool,
    ) -> Option<OwnedSemaphorePermit> {
        let Some(tuner) = &self.tuner else {
            return Some(permit);
        };
        // Held for arithmetic only, never across an await.
        let change = {
            let mut tuner = tuner.lock().unwrap_or_else(|e| e.into_inner());
            tuner.finished(throttled, Instant::now())
        };
        match change {
            Change::Keep => {}
            Change::Grow(n) => self.permits.add_permits(n),
            // The limit sinks as calls end: their permits are not given back.
            Change::Forget => {
                permit.forget();
                return None;
            }
        }
        Some(permit)
    }
}

/// What to do with the limit after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Keep,
    Grow(usize),
    Forget,
}

/// Decides by what each window of calls brought.
#[derive(Debug)]
struct Tuner {
    limit: usize,
    most: usize,
    /// Permits still to be forgotten to reach the limit.
    excess: usize,
    doubling: bool,
    /// Calls and complaints of the current window.
    finished: usize,
    throttled: usize,
    since: Instant,
    /// Calls per second of the window before, and the limit it had.
    before: Option<(f64, usize)>,
}

impl Tuner {
    fn new(start: usize, most: usize, now: Instant) -> Self {
        Self {
            limit: start,
            most,
            excess: 0,
            doubling: true,
            finished: 0,
            throttled: 0,
            since: now,
            before: None,
        }
    }

    fn finished(&mut self, throttled: bool, now: Instant) -> Change {
        self.finished += 1;
        self.throttled += usize::from(throttled);
        let complained = self.throttled == 1 && throttled;
        if complained {
            // At once, but once per window: calls in flight will complain too.
            self.doubling = false;
            self.shrink_to((self.limit as f64 * SHRINK) as usize);
        }
        let mut grow = 0;
        if self.finished >= 2 * self.limit {
            grow = self.end_window(now);
        }
        if self.excess > 0 {
            self.excess -= 1;
            return Change::Forget;
        }
        if grow > 0 {
            Change::Grow(grow)
        } else {
            Change::Keep
        }
    }

    /// Compares this window with the one before; returns by how much to grow.
    fn end_window(&mut self, now: Instant) -> usize {
        let seconds = now
            .saturating_duration_since(self.since)
            .as_secs_f64()
            .max(1e-6);
        let rate = self.finished as f64 / seconds;
        let calm = self.throttled == 0;
        let before = self.before.replace((rate, self.limit));
        self.finished = 0;
        self.throttled = 0;
        self.since = now;
        if !calm {
            return 0;
        }
        let gain = before.map_or(f64::INFINITY, |(rate_before, _)| rate / rate_before);
        if let Some((_, limit)) = before
            && limit < self.limit
            && gain < BETTER
        {
            // The last step brought nothing: more calls only wait for each other.
            self.doubling = false;
            self.shrink_to(limit);
            return 0;
        }
        let wanted = if self.doubling {
            self.limit * 2
        } else {
            self.limit + (self.limit / 10).max(1)
        };
        let grow = wanted.min(self.most).saturating_sub(self.limit);
        self.limit += grow;
        // Permits that were to be forgotten need not be handed out again.
        let kept = grow.min(self.excess);
        self.excess -= kept;
        grow - kept
    }

    fn shrink_to(&mut self, limit: usize) {
        let limit = limit.max(1);
        self.excess += self.limit.saturating_sub(limit);
        self.limit = limit.min(self.limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Runs calls against an endpoint that serves `capacity` at a time in 100 ms
    /// each, and complains above `complains_at`; returns the limit after a while.
    fn settle(capacity: usize, complains_at: usize, n_windows: usize) -> usize {
        let start = Instant::now();
        let mut tuner = Tuner::new(START, 1024, start);
        let mut now = start;
        for _ in 0..n_windows {
            for _ in 0..2 * tuner.limit {
                let rate = tuner.limit.min(capacity) as f64 * 10.0;
                now += Duration::from_secs_f64(1.0 / rate);
                tuner.finished(tuner.limit > complains_at, now);
            }
        }
        tuner.limit
    }

    #[test]
    fn grows_to_what_the_endpoint_bears() {
        let limit = settle(200, usize::MAX, 200);
        assert!((150..=420).contains(&limit), "{limit}");
        assert_eq!(settle(usize::MAX, usize::MAX, 40), 1024);
    }

    #[test]
    fn backs_off_when_the_endpoint_complains_and_grows_again() {
        let limit = settle(usize::MAX, 100, 400);
        assert!((60..=130).contains(&limit), "{limit}");
        assert_eq!(settle(usize::MAX, 0, 50), 1);
    }

    #[tokio::test]
    async fn permits_follow_the_limit() {
        let workers = Workers::new(MaxWorkers::Auto { up_to: 64 });
        assert_eq!(workers.permits.available_permits(), START);
        for _ in 0..8 {
            let permit = workers.acquire().await.expect("open");
            drop(workers.finished(permit, true));
        }
        let left = workers.permits.available_permits();
        assert!(left < START, "{left}");
        let fixed = Workers::new(MaxWorkers::Fixed(0));
        assert_eq!(fixed.permits.available_permits(), 1);
    }
}
