//! [`Timeline`]: when the stages of a call happened, on one monotonic clock.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The clock of a run. A client in the same process shares it, so that its stamps and those
/// of the tap can be subtracted.
#[derive(Debug, Clone, Copy)]
pub struct TapClock {
    origin: Instant,
}

impl TapClock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// Nanoseconds since the clock began.
    pub fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    /// This moment as nanoseconds; 0 for what was before the clock began.
    pub fn at(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.origin);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// When the stages of an upstream call happened, in nanoseconds of a [`TapClock`]. A stage
/// that was not reached has no stamp.
///
/// There are three firsts because streams open early: a frame that only names a role or keeps
/// the line alive is a first byte and not a first output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// The first byte of the request arrived.
    pub accepted: u64,
    /// The last byte of the request arrived.
    pub request_complete: Option<u64>,
    /// A connection to the upstream was there, new or kept from the call before.
    pub connect_done: Option<u64>,
    /// The last byte of the request was written to the upstream.
    pub request_sent: Option<u64>,
    /// The head of the answer was complete.
    pub response_head: Option<u64>,
    /// The first byte of its body arrived.
    pub first_byte: Option<u64>,
    /// The first event of a stream was complete.
    pub first_event: Option<u64>,
    /// The first event that carries text, reasoning or arguments of a tool was complete.
    pub first_output: Option<u64>,
    /// The last byte of the body arrived.
    pub last_byte: Option<u64>,
}
