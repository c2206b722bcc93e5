//! Metrics of memory runs. They read `qa_type`, `conversation_id`, `ingest_latency` and
//! `query_latency` from the metadata of rows.

mod per_qa_type;
mod stages;
mod table;
mod token_efficiency;

pub use self::per_qa_type::PerQATypeMetric;
pub use self::stages::MemoryStages;
pub use self::table::per_qa_type_table;
pub use self::token_efficiency::TokenEfficiencyMetric;

use std::collections::HashMap;

use context_bench_scoring::model::{EvalRow, Measurement, Unit};
use context_bench_scoring::stats::{clustered_mean, mean_interval};
use serde_json::Value;

/// A member of the metadata of a row.
fn metadata<'a>(row: &'a EvalRow, key: &str) -> Option<&'a Value> {
    row.added.as_ref()?.get(key)
}

/// Values of rows, and which of them are about one conversation.
#[derive(Default)]
struct Values<'a> {
    values: Vec<f64>,
    clusters: Vec<u32>,
    known: HashMap<&'a str, u32>,
    next: u32,
}

impl<'a> Values<'a> {
    fn push(&mut self, row: &'a EvalRow, value: f64) {
        // A row that names no conversation stands for itself.
        let named = metadata(row, "conversation_id").and_then(Value::as_str);
        let cluster = match named {
            Some(name) => *self.known.entry(name).or_insert(self.next),
            None => self.next,
        };
        self.next += u32::from(cluster == self.next);
        self.values.push(value);
        self.clusters.push(cluster);
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn mean(&self, unit: Unit) -> Measurement {
        let Some(mean) = clustered_mean(&self.values, &self.clusters) else {
            return Measurement::missing(unit);
        };
        Measurement {
            value: Some(mean.value),
            unit,
            n: Some(mean.n),
            examples: (mean.clusters < mean.n).then_some(mean.clusters),
            stderr: mean.stderr,
            interval: mean_interval(&mean),
        }
    }
}
