//! When to retry (after a 429, a 5xx or a broken connection) and how long to wait before it.
//!
//! Decisions are pure functions of the policy, the failure and the time that has been
//! spent; the clients do the waiting. The only chance in here is the [`Jitter`].

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The most that jitter adds to a delay, as a share of it.
const MOST_JITTER: f64 = 0.25;

/// How often and for how long a call is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Attempts after the first one.
    pub max_retries: u32,
    /// The delay before the first retry; it doubles with each further one.
    pub base_delay: Duration,
    /// The longest delay of our own choice; a server may ask for longer ones.
    pub max_delay: Duration,
    /// A wait that would end later than this is not begun. A chat call counts from its
    /// start; the hub, whose downloads may take hours, counts only the waits.
    pub deadline: Duration,
    /// Whether delays are up to a quarter longer by chance, so that calls which
    /// failed together do not come back together. They are never shorter.
    pub jitter: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(60),
            deadline: Duration::from_secs(300),
            jitter: true,
        }
    }
}

/// What to do after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Try again after this long.
    Wait(Duration),
    /// Give up.
    Stop(GaveUp),
}

/// Why a call was not tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GaveUp {
    /// Another attempt would not help.
    Pointless,
    /// All retries were used.
    NoRetriesLeft,
    /// The next attempt would start after the deadline.
    Deadline {
        /// The wait that would have been needed.
        wait: Duration,
        /// Whether the server asked for that wait.
        asked: bool,
        /// The deadline of the whole call.
        deadline: Duration,
    },
}

impl RetryPolicy {
    /// The delay before retry number `retry` (from 0): base · 2^retry, longer by
    /// `chance` (0 to 1) of the jitter, at most `max_delay`, and at least what
    /// the server asked for.
    fn delay(&self, retry: u32, asked: Option<Duration>, chance: f64) -> Duration {
        let doubled = 2_u32
            .checked_pow(retry)
            .and_then(|factor| self.base_delay.checked_mul(factor))
            .unwrap_or(Duration::MAX);
        let capped = doubled.min(self.max_delay);
        let jittered = if self.jitter {
            capped.saturating_add(capped.mul_f64(MOST_JITTER * chance.clamp(0.0, 1.0)))
        } else {
            capped
        };
        jittered.min(self.max_delay).max(asked.unwrap_or_default())
    }

    /// Decides after attempt number `retry` (from 0), whose failure may be temporary.
    /// `asked` is the wait that the server asked for, `spent` the time that counts against
    /// the deadline, `chance` a number from [`Jitter`].
    pub fn decide(
        &self,
        retry: u32,
        asked: Option<Duration>,
        spent: Duration,
        chance: f64,
    ) -> Decision {
        if retry >= self.max_retries {
            return Decision::Stop(GaveUp::NoRetriesLeft);
        }
        let wait = self.delay(retry, asked, chance);
        if spent.saturating_add(wait) > self.deadline {
            return Decision::Stop(GaveUp::Deadline {
                wait,
                asked: asked == Some(wait),
                deadline: self.deadline,
            });
        }
        Decision::Wait(wait)
    }
}

/// Whether a status says that the same request may succeed later.
pub fn is_retryable(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504 | 529)
}

/// A source of chance for jitter (SplitMix64); not fit for secrets.
#[derive(Debug)]
pub struct Jitter(AtomicU64);

impl Jitter {
    /// Seeded anew in every process by the keys of the standard hasher.
    pub fn new() -> Self {
        Self(AtomicU64::new(RandomState::new().hash_one(0_u8)))
    }

    /// A number from 0 up to but not including 1.
    pub fn next(&self) -> f64 {
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(GAMMA, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        // 53 bits are a float of [0, 1) exactly.
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Default for Jitter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: RetryPolicy = RetryPolicy {
        max_retries: 3,
        base_delay: Duration::from_secs(1),
        max_delay: Duration::from_secs(60),
        deadline: Duration::from_secs(300),
        jitter: false,
    };

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// The waits of a call whose attempts all fail with these requests for a wait.
    fn waits(policy: &RetryPolicy, asked: &[Option<f64>]) -> (Vec<f64>, Option<GaveUp>) {
        let mut waits = Vec::new();
        let mut elapsed = Duration::ZERO;
        for (retry, asked) in (0..).zip(asked) {
            match policy.decide(retry, asked.map(secs), elapsed, 0.5) {
                Decision::Wait(wait) => {
                    elapsed += wait;
                    waits.push(wait.as_secs_f64());
                }
                Decision::Stop(why) => return (waits, Some(why)),
            }
        }
        (waits, None)
    }

    #[test]
    fn delays_double_and_obey_the_server() {
        for (asked, expected) in [
            (&[None, None][..], &[1.0, 2.0][..]),
            (&[Some(7.0)], &[7.0]),
            (&[Some(0.5), Some(3.0), None], &[1.0, 3.0, 4.0]),
            (&[None, None, None, None], &[1.0, 2.0, 4.0]),
            (&[Some(100.0)], &[100.0]),
        ] {
            assert_eq!(waits(&EXACT, asked).0, expected, "{asked:?}");
        }
        let (_, why) = waits(&EXACT, &[None; 4]);
        assert_eq!(why, Some(GaveUp::NoRetriesLeft));
    }

    #[test]
    fn own_delays_are_capped_and_never_overflow() {
        assert_eq!(EXACT.delay(5, None, 0.0), secs(32.0));
        assert_eq!(EXACT.delay(6, None, 0.0), secs(60.0));
        assert_eq!(EXACT.delay(u32::MAX, None, 0.0), secs(60.0));
    }

    #[test]
    fn jitter_only_lengthens_and_by_a_quarter_at_most() {
        let policy = RetryPolicy {
            jitter: true,
            ..EXACT
        };
        assert_eq!(policy.delay(1, None, 0.0), secs(2.0));
        assert_eq!(policy.delay(1, None, 1.0), secs(2.5));
        assert_eq!(policy.delay(6, None, 1.0), secs(60.0));
        assert_eq!(policy.delay(0, Some(secs(7.0)), 1.0), secs(7.0));
        let chance = Jitter::new();
        let drawn: Vec<f64> = (0..1000).map(|_| chance.next()).collect();
        assert!(drawn.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = drawn.iter().sum::<f64>() / 1000.0;
        assert!((0.4..0.6).contains(&mean), "{mean}");
    }

    #[test]
    fn a_wait_past_the_deadline_is_not_begun() {
        let deadline = EXACT.deadline;
        let (wait, asked) = (secs(3600.0), true);
        assert_eq!(
            EXACT.decide(0, Some(wait), Duration::ZERO, 0.0),
            Decision::Stop(GaveUp::Deadline {
                wait,
                asked,
                deadline
            })
        );
        let (wait, asked) = (secs(1.0), false);
        assert_eq!(
            EXACT.decide(0, None, secs(299.5), 0.0),
            Decision::Stop(GaveUp::Deadline {
                wait,
                asked,
                deadline
            })
        );
        for spent in [298.0, 299.0] {
            assert_eq!(
                EXACT.decide(0, None, secs(spent), 0.0),
                Decision::Wait(wait)
            );
        }
    }

    #[test]
    fn exactly_these_statuses_are_retried() {
        let retried: Vec<u16> = (100..600).filter(|code| is_retryable(*code)).collect();
        assert_eq!(retried, [408, 425, 429, 500, 502, 503, 504, 529]);
    }
}
