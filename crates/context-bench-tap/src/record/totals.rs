//! [`CallTotals`]: what calls come to together.

use std::collections::BTreeMap;

use serde::Serialize;

use super::call::{CallRecord, EndState, Purpose};
use crate::wire::Usage;

/// What calls come to together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CallTotals {
    /// How many there were.
    pub calls: u64,
    /// By what they were for.
    pub purposes: BTreeMap<Purpose, u64>,
    /// By the status of their answer.
    pub statuses: BTreeMap<u16, u64>,
    /// Those without an answer.
    pub unanswered: u64,
    /// By how they ended.
    pub ends: BTreeMap<EndState, u64>,
    /// Bytes of the bodies of requests, as they were on the wire.
    pub request_bytes: u64,
    /// Bytes of the bodies of answers, as they were on the wire.
    pub response_bytes: u64,
    /// What the provider counted.
    pub tokens: TokenTotals,
}

/// Tokens as the provider counted them, in buckets that share none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TokenTotals {
    /// Calls whose answer had a count.
    pub counted_calls: u64,
    /// Calls that may have cost something and had none: their tokens are unknown, not 0.
    pub unknown_calls: u64,
    /// Input that no cache served or kept.
    pub uncached: u64,
    /// Input that a cache served.
    pub cache_read: u64,
    /// Input that was written to a cache.
    pub cache_write: u64,
    /// Output, reasoning included.
    pub output: u64,
}

impl TokenTotals {
    /// All input.
    pub fn input(&self) -> u64 {
        let cached = self.cache_read.saturating_add(self.cache_write);
        self.uncached.saturating_add(cached)
    }

    fn add(&mut self, usage: &Usage) {
        self.counted_calls += 1;
        let written = usage
            .cache_write_short
            .saturating_add(usage.cache_write_long);
        for (total, more) in [
            (&mut self.uncached, usage.uncached),
            (&mut self.cache_read, usage.cache_read),
            (&mut self.cache_write, written),
            (&mut self.output, usage.output),
        ] {
            *total = total.saturating_add(more);
        }
    }
}

impl CallTotals {
    /// Counts one more call.
    pub fn add(&mut self, call: &CallRecord) {
        self.calls += 1;
        *self.purposes.entry(call.purpose).or_default() += 1;
        *self.ends.entry(call.end).or_default() += 1;
        match call.status() {
            Some(status) => *self.statuses.entry(status).or_default() += 1,
            None => self.unanswered += 1,
        }
        self.request_bytes = self.request_bytes.saturating_add(call.request.body.bytes);
        let response = call
            .response
            .as_ref()
            .map_or(0, |response| response.body.bytes);
        self.response_bytes = self.response_bytes.saturating_add(response);
        let usage = call.answered.as_ref().and_then(|said| said.usage.as_ref());
        match usage {
            Some(usage) => self.tokens.add(usage),
            None if may_have_cost(call) => self.tokens.unknown_calls += 1,
            None => {}
        }
    }
}

/// Whether a model was asked, so that a missing count is a missing one.
fn may_have_cost(call: &CallRecord) -> bool {
    let asks = matches!(call.purpose, Purpose::Generation | Purpose::Auxiliary);
    let is_free = matches!(
        call.end,
        EndState::BadStatus | EndState::Unreachable | EndState::Refused
    );
    asks && !is_free
}
