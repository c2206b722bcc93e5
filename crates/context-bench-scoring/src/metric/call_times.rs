//! CallTimes: what stands beside the latency: first tokens and connections.

use super::Metric;
use super::row_sum::{RowSum, of_rows};
use crate::model::{EvalRow, Measurement, Summary, Unit};
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
        of_rows(Box::new(TimeSums::default()), rows, None)
    }

    fn row_sum(&self) -> Option<Box<dyn RowSum + '_>> {
        Some(Box::new(TimeSums::default()))
    }
}

#[derive(Default)]
struct TimeSums {
    first: Vec<f64>,
    connect: Vec<f64>,
}

impl RowSum for TimeSums {
    fn add(&mut self, row: &EvalRow) {
        let Some(call) = row.call.as_deref() else {
            return;
        };
        if row.is_completed() && !row.cached {
            self.first
                .extend(call.first_token.map(|time| time.as_secs_f64()));
            let seconds = call.connect.as_secs_f64();
            self.connect.extend((seconds > 0.0).then_some(seconds));
        }
    }

    fn finish(self: Box<Self>, _: Option<&[u32]>) -> Summary {
        let Self {
            mut first,
            mut connect,
        } = *self;
        first.sort_unstable_by(f64::total_cmp);
        connect.sort_unstable_by(f64::total_cmp);
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
