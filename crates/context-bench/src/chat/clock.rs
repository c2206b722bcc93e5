//! Until when one attempt may wait.
//!
//! A plain reply has a limit for all of it, a stream one for each silence, and
//! both end at the deadline of the call. Which limit it was goes into the error.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::error::{ChatFailure, Limit};

/// The limits of one attempt.
pub(super) struct Clock {
    per_wait: Duration,
    deadline: Duration,
    attempt_end: Instant,
    deadline_end: Instant,
    /// Whether the limit is one on silence, as for streams.
    idle: bool,
    /// Whether the reply has begun.
    began: bool,
}

impl Clock {
    /// The limits of an attempt that begins now, in a call that began at `started`.
    pub(super) fn new(idle: bool, timeout: Duration, started: Instant, deadline: Duration) -> Self {
        Self {
            per_wait: timeout,
            deadline,
            attempt_end: later(Instant::now(), timeout),
            deadline_end: later(started, deadline),
            idle,
            began: false,
        }
    }

    /// Notes that the head of the reply has come.
    pub(super) fn reply_began(&mut self) {
        self.began = true;
    }

    /// Waits for `future` as long as the limits allow.
    pub(super) async fn wait<F: Future>(&self, future: F) -> Result<F::Output, ChatFailure> {
        let end = if self.idle {
            later(Instant::now(), self.per_wait)
        } else {
            self.attempt_end
        };
        let result = timeout_at(end.min(self.deadline_end), future).await;
        result.map_err(|_| {
            let (after, limit) = match (self.deadline_end <= end, self.idle && self.began) {
                (true, _) => (self.deadline, Limit::Deadline),
                (false, true) => (self.per_wait, Limit::Idle),
                (false, false) => (self.per_wait, Limit::Attempt),
            };
            ChatFailure::Timeout { after, limit }
        })
    }
}

/// An instant that far away, or for immense durations simply far away.
fn later(instant: Instant, duration: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    instant + duration.min(FAR)
}
