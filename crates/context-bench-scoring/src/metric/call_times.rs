//! CallTimes: what stands beside the latency: first tokens and connections.

use super::Metric;
use crate::model::{CallStats, EvalRow, Measurement, Summary, Unit};
use crate::stats;

/// `first_token_median` and `first_token_p95` of streamed replies, `connect_median` and
/// `connect_max` of calls that had to open a connection, in seconds; each only where
/// there is something to report. Setting up connections is not part of the latency.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallTimes;

impl Metric for CallTimes {
    fn name(&self) -> &str {
        "call_times"
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let times = |time: fn(&CallStats) -> Option<f64>| {
            let calls = rows.iter().filter(|row| row.is_completed() && !row.cached);
            let mut times: Vec<f64> = calls
                .filter_map(|row| row.call.as_deref().and_then(time))
                .collect();
            times.sort_by(f64::total_cmp);
            times
        };
        let first = times(|call| call.first_token.map(|time| time.as_secs_f64()));
        let connect = times(|call| {
            let seconds = call.connect.as_secs_f64();
            (seconds > 0.0).then_some(seconds)
        });
        let mut summary = Summary::new();
        let mut set = |name: &str, value: Option<f64>, n: usize| {
            if let Some(value) = value {
                let measurement = Measurement {
                    n: Some(n),
                    ..Measurement::new(value, Unit::Seconds)
                };
                summary.set(name, measurement);
            }
        };
        set("first_token_median", stats::median(&first), first.len());
        set(
            "first_token_p95",
            stats::percentile(&first, 0.95),
            first.len(),
        );
        set("connect_median", stats::median(&connect), connect.len());
        set("connect_max", connect.last().copied(), connect.len());
        summary
    }
}
