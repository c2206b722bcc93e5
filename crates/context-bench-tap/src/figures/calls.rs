//! How many calls a client call took, and what the provider counted for all of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attribution::CallClass;
use crate::record::CallRecord;

/// The calls of one client call beyond its primary one, by class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtraCalls {
    /// How many of each class; none of the primary.
    pub by_class: BTreeMap<CallClass, u64>,
}

impl ExtraCalls {
    /// Of the classes of one client call.
    pub fn of(classes: &[CallClass]) -> Self {
        let mut extra = Self::default();
        extra.add(classes);
        extra
    }

    /// Adds those of another client call.
    pub fn add(&mut self, classes: &[CallClass]) {
        for class in classes.iter().filter(|class| **class != CallClass::Primary) {
            *self.by_class.entry(*class).or_default() += 1;
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.by_class.values().sum()
    }
}

/// What the provider counted, over several calls. Failed calls count where they say something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageTotal {
    /// Input tokens of all calls that say how many.
    pub input: u64,
    /// The part of them that a cache served.
    pub cache_read: u64,
    /// The part of them that was written to a cache.
    pub cache_write: u64,
    /// Output tokens of all calls that say how many.
    pub output: u64,
    /// How many calls asked a model and were answered, but do not say what they took. With any,
    /// the figures above are the least that was used.
    pub unknown: u64,
    /// How many calls contradict themselves.
    pub inconsistent: u64,
}

impl UsageTotal {
    /// Of calls that passed the tap.
    pub fn of<'a>(calls: impl IntoIterator<Item = &'a CallRecord>) -> Self {
        let mut total = Self::default();
        for call in calls {
            let usage = call
                .answered
                .as_ref()
                .and_then(|answered| answered.usage.as_ref());
            let Some(usage) = usage else {
                total.unknown += u64::from(may_be_billed(call));
                continue;
            };
            total.input += usage.input();
            total.cache_read += usage.cache_read;
            total.cache_write += usage.cache_write_short + usage.cache_write_long;
            total.output += usage.output;
            total.inconsistent += u64::from(usage.is_inconsistent);
        }
        total
    }

    /// Whether every call says what it took.
    pub fn is_known(&self) -> bool {
        self.unknown == 0
    }
}

/// Whether a call that says nothing may have cost something: a model was asked, and it was not
/// refused. A stream that broke off before its usage is the usual case.
pub fn may_be_billed(call: &CallRecord) -> bool {
    use crate::record::{EndState, Purpose};
    let asks = matches!(call.purpose, Purpose::Generation | Purpose::Auxiliary);
    let is_sent = call.timeline.request_sent.is_some();
    let is_refused = matches!(
        call.end,
        EndState::BadStatus | EndState::Refused | EndState::Unreachable
    );
    asks && is_sent && !is_refused
}
