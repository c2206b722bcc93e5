//! [`AddedTime`]: what a proxy added to one call, measured inside of that call. Client and tap
//! share a clock, so that the provider's own time, which is most of it, is left out.

use serde::{Deserialize, Serialize};

use crate::record::Timeline;

/// When a client call reached its stages, on the clock of the tap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTimes {
    /// Its request had been sent.
    pub request_sent: u64,
    /// The first byte of its answer was there.
    pub first_byte: Option<u64>,
    /// The first output was there.
    pub first_output: Option<u64>,
    /// The last byte was there.
    pub last_byte: Option<u64>,
}

/// What a proxy added, in nanoseconds. A stage that either side did not reach has no figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedTime {
    /// From the client's request to the primary's, without the time inside other calls.
    pub pre: Option<i64>,
    /// The time inside other calls before the primary was sent.
    pub aux_wait: u64,
    /// From the provider's first byte to the client's.
    pub ttfb_relay: Option<i64>,
    /// From the provider's first output to the client's.
    pub ttft_relay: Option<i64>,
    /// From the provider's last byte to the client's.
    pub tail: Option<i64>,
}

impl AddedTime {
    /// Of a client call, its primary call, and the other calls that it caused.
    pub fn of(client: &ClientTimes, primary: &Timeline, others: &[Timeline]) -> Self {
        let start = client.request_sent;
        let aux_wait = primary
            .request_complete
            .map_or(0, |end| inside(others, start, end));
        let pre = primary
            .request_complete
            .map(|end| since(start, end) - signed(aux_wait));
        let relay = |from: Option<u64>, to: Option<u64>| Some(since(from?, to?));
        Self {
            pre,
            aux_wait,
            ttfb_relay: relay(primary.first_byte, client.first_byte),
            ttft_relay: relay(primary.first_output, client.first_output),
            tail: relay(primary.last_byte, client.last_byte),
        }
    }
}

/// How long at least one of these calls was running between two moments.
fn inside(calls: &[Timeline], start: u64, end: u64) -> u64 {
    let mut spans: Vec<(u64, u64)> = calls
        .iter()
        .map(|call| {
            (
                call.accepted.clamp(start, end.max(start)),
                last(call).clamp(start, end.max(start)),
            )
        })
        .collect();
    spans.sort_unstable();
    let mut reached = start;
    let mut total = 0;
    for (from, to) in spans {
        total += to.saturating_sub(from.max(reached));
        reached = reached.max(to);
    }
    total
}

/// The last stage that a call reached.
fn last(call: &Timeline) -> u64 {
    let stages = [
        call.request_complete,
        call.connect_done,
        call.request_sent,
        call.response_head,
        call.last_byte,
    ];
    stages.into_iter().flatten().fold(call.accepted, u64::max)
}

fn since(from: u64, to: u64) -> i64 {
    signed(to).wrapping_sub(signed(from))
}

fn signed(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(accepted: u64, last_byte: u64) -> Timeline {
        Timeline {
            accepted,
            request_complete: Some(accepted + 1),
            first_byte: Some(last_byte - 2),
            first_output: Some(last_byte - 1),
            last_byte: Some(last_byte),
            ..Timeline::default()
        }
    }

    #[test]
    fn time_is_split_into_before_and_after() {
        let client = ClientTimes {
            request_sent: 100,
            first_byte: Some(2010),
            first_output: Some(2050),
            last_byte: Some(2100),
        };
        let primary = call(999, 2000);
        let added = AddedTime::of(&client, &primary, &[]);
        assert_eq!((added.pre, added.aux_wait), (Some(900), 0));
        assert_eq!(added.ttfb_relay, Some(12));
        assert_eq!(added.ttft_relay, Some(51));
        assert_eq!(added.tail, Some(100));
        // Two helpers that overlap, one before the client's own time, one after the primary.
        let others = [
            call(200, 400),
            call(300, 500),
            call(50, 110),
            call(1500, 1800),
        ];
        let added = AddedTime::of(&client, &primary, &others);
        assert_eq!((added.pre, added.aux_wait), (Some(900 - 310), 310));
    }

    #[test]
    fn what_was_not_reached_has_no_figure() {
        let client = ClientTimes {
            request_sent: 5,
            ..ClientTimes::default()
        };
        let added = AddedTime::of(
            &client,
            &Timeline {
                accepted: 3,
                ..Timeline::default()
            },
            &[call(9, 20)],
        );
        assert_eq!(added, AddedTime::default());
    }
}
