//! `Pace`: how fast requests may leave, in requests per second and tokens per minute.
//!
//! A request reserves its place in a queue and is told how long to wait for it;
//! there is no polling, and no lock is held while waiting. The wait is ours, not the
//! system's: the client reports it apart, and the runner takes it out of the latency.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// Bytes of a request per token, before the server has counted: a cautious guess.
const BYTES_PER_TOKEN: usize = 4;
/// How much may leave at once after a quiet time: so many seconds of requests, or the first second
/// of a run would go beyond its rate by more than the twentieth …
const REQUEST_BURST: f64 = 0.05;
/// … and five seconds of tokens, since single requests are large.
const TOKEN_BURST: f64 = 5.0;

/// Limits that all clients of a run share.
#[derive(Debug)]
pub struct Pace {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    leases: Option<Arc<Leases>>,
}

impl Pace {
    /// At most so many requests per second and tokens per minute. Limits that
    /// are missing, zero or not a number do not limit.
    pub fn new(requests_per_second: Option<f64>, tokens_per_minute: Option<f64>) -> Self {
        let bucket = |rate: Option<f64>, unit: f64, burst: f64| {
            let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0)? / unit;
            Some(Bucket::new(rate, burst))
        };
        Self {
            requests: bucket(requests_per_second, 1.0, REQUEST_BURST),
            tokens: bucket(tokens_per_minute, 60.0, TOKEN_BURST),
            leases: None,
        }
    }

    /// Requests leave as somebody else allows it, who counts those of other processes too.
    pub fn leased(leases: Arc<Leases>) -> Self {
        Self {
            requests: None,
            tokens: None,
            leases: Some(leases),
        }
    }

    /// The leases that requests wait for.
    pub(crate) fn leases(&self) -> Option<&Leases> {
        self.leases.as_deref()
    }

    /// Reserves a place for a request of that size: how long to wait for it.
    pub(crate) fn reserve(&self, body_bytes: usize, now: Instant) -> Duration {
        let wait = |bucket: &Option<Bucket>, cost: f64| {
            bucket
                .as_ref()
                .map_or(Duration::ZERO, |b| b.reserve(cost, now))
        };
        let tokens = wait(&self.tokens, estimate(body_bytes));
        wait(&self.requests, 1.0).max(tokens)
    }

    /// Corrects the guess once the server has counted.
    pub(crate) fn settle(&self, body_bytes: usize, total_tokens: Option<u64>) {
        if let (Some(bucket), Some(total)) = (&self.tokens, total_tokens) {
            bucket.charge(total as f64 - estimate(body_bytes));
        }
    }
}

/// Requests that may leave, granted a few at a time.
#[derive(Debug)]
pub struct Leases {
    granted: Semaphore,
    waiting: AtomicUsize,
}

impl Default for Leases {
    fn default() -> Self {
        Self {
            granted: Semaphore::new(0),
            waiting: AtomicUsize::new(0),
        }
    }
}

impl Leases {
    /// Lets so many requests leave.
    pub fn grant(&self, requests: usize) {
        self.granted
            .add_permits(requests.min(Semaphore::MAX_PERMITS / 2));
    }

    /// Requests that wait for one.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for one. A call that is given up meanwhile no longer counts as waiting.
    pub(crate) async fn take(&self) {
        struct Waiting<'a>(&'a AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        // Never closed; were it closed, nothing would be left to wait for.
        if let Ok(permit) = self.granted.acquire().await {
            permit.forget();
        }
    }
}

fn estimate(body_bytes: usize) -> f64 {
    (body_bytes / BYTES_PER_TOKEN).max(1) as f64
}

/// A leaky bucket as one number: when the next unit may leave.
#[derive(Debug)]
struct Bucket {
    /// Units per second.
    rate: f64,
    /// Seconds of units that may leave at once.
    burst: f64,
    epoch: Instant,
    /// Seconds after `epoch` at which everything reserved so far has left.
    reserved_until: Mutex<f64>,
}

impl Bucket {
    fn new(rate: f64, burst: f64) -> Self {
        Self {
            rate,
            burst,
            epoch: Instant::now(),
            reserved_until: Mutex::new(f64::NEG_INFINITY),
        }
    }

    fn reserve(&self, cost: f64, now: Instant) -> Duration {
        let now = now.saturating_duration_since(self.epoch).as_secs_f64();
        let mut until = self
            .reserved_until
            .lock()
            .unwrap_or_else(|e| e.into_inner());
        let start = until.max(now - self.burst);
        *until = start + cost / self.rate;
        // The first unit after a quiet time leaves at once, however large it is.
        Duration::try_from_secs_f64((start - now).max(0.0)).unwrap_or(Duration::MAX)
    }

    fn charge(&self, units: f64) {
        let mut until = self
            .reserved_until
            .lock()
            .unwrap_or_else(|e| e.into_inner());
        *until += units / self.rate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_leave_at_the_given_rate() {
        let pace = Pace::new(Some(10.0), None);
        let now = Instant::now();
        let waits: Vec<f64> = (0..12)
            .map(|_| pace.reserve(1, now).as_secs_f64())
            .collect();
        // Half a request is saved up; then one every 0.1 s.
        assert!(
            waits[0] == 0.0 && (waits[1] - 0.05).abs() < 0.02,
            "{waits:?}"
        );
        assert!((waits[11] - 1.05).abs() < 0.02, "{waits:?}");
        let later = now + Duration::from_secs(60);
        assert_eq!(pace.reserve(1, later), Duration::ZERO);
    }

    #[test]
    fn tokens_are_guessed_and_settled() {
        let pace = Pace::new(None, Some(6000.0));
        let now = Instant::now() + Duration::from_secs(10);
        // 100 tokens per second, 500 at once: 4,000 bytes are about 1,000 tokens.
        assert_eq!(pace.reserve(4000, now), Duration::ZERO);
        let wait = pace.reserve(4000, now).as_secs_f64();
        assert!((wait - 5.0).abs() < 0.1, "{wait}");
        // The first one turns out to be ten times larger than guessed.
        pace.settle(4000, Some(10_000));
        let wait = pace.reserve(4, now).as_secs_f64();
        assert!((wait - 105.0).abs() < 0.2, "{wait}");
    }

    #[tokio::test]
    async fn leased_requests_leave_when_they_are_granted() {
        let leases = Arc::new(Leases::default());
        let pace = Arc::new(Pace::leased(Arc::clone(&leases)));
        let take = |pace: &Arc<Pace>| {
            let pace = Arc::clone(pace);
            tokio::spawn(async move { pace.leases().unwrap().take().await })
        };
        let (first, second) = (take(&pace), take(&pace));
        while leases.waiting() < 2 {
            tokio::task::yield_now().await;
        }
        leases.grant(1);
        while leases.waiting() > 1 {
            tokio::task::yield_now().await;
        }
        // The other one still waits; given up, it no longer does.
        assert!(first.is_finished() != second.is_finished());
        for task in [first, second] {
            task.abort();
            let _ = task.await;
        }
        assert_eq!(leases.waiting(), 0);
    }

    #[test]
    fn no_limit_never_waits() {
        for pace in [Pace::new(None, None), Pace::new(Some(0.0), Some(f64::NAN))] {
            for _ in 0..100 {
                assert_eq!(pace.reserve(1 << 30, Instant::now()), Duration::ZERO);
            }
        }
    }
}
