//! The collector: gathers rows as they finish.
//!
//! Rows come back grouped by system in dataset order, whatever finished first.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::dispatch::Outcome;
use super::event::{Progress, RunEvent};
use super::scoring::{FEW, PAUSE};
use crate::dataset::DatasetError;
use crate::model::{Counts, EvalRow, Failure, JudgeUsage};

/// Rows that are gathered in one go.
const AT_ONCE: usize = 256;

/// Rows that room is made for in advance, at the most.
const MAX_RESERVED: usize = 1 << 20;

/// A row on its way to the collector.
pub(super) struct Finished {
    pub(super) system: usize,
    pub(super) position: usize,
    pub(super) row: EvalRow,
    /// What judging it took.
    pub(super) judged: JudgeUsage,
    /// When the call began and ended.
    pub(super) span: Option<(Instant, Instant)>,
}

/// Gathers rows as they finish.
pub(super) struct Collector {
    rows: Vec<Vec<(usize, EvalRow)>>,
    counts: Vec<Counts>,
    spans: Vec<Option<(Instant, Instant)>>,
}

impl Collector {
    /// For so many rows of each system, when that is known.
    pub(super) fn new(n_systems: usize, planned: Option<usize>) -> Self {
        // A plan may be larger than any memory; it is not done yet.
        let rows = || Vec::with_capacity(planned.unwrap_or(0).min(MAX_RESERVED));
        Self {
            rows: (0..n_systems).map(|_| rows()).collect(),
            counts: vec![Counts::default(); n_systems],
            spans: vec![None; n_systems],
        }
    }

    pub(super) async fn gather(
        mut self,
        mut receiver: mpsc::UnboundedReceiver<Finished>,
        progress: &dyn Progress,
    ) -> Self {
        let mut batch = Vec::with_capacity(AT_ONCE);
        while receiver.recv_many(&mut batch, AT_ONCE).await > 0 {
            let few = batch.len() < FEW;
            for finished in batch.drain(..) {
                self.add(finished, progress);
            }
            if few {
                tokio::time::sleep(PAUSE).await;
            }
        }
        self
    }

    fn add(&mut self, finished: Finished, progress: &dyn Progress) {
        let Finished {
            system,
            position,
            row,
            judged,
            span,
        } = finished;
        progress.on_event(&RunEvent::RowFinished { system, row: &row });
        self.counts[system].add(&row);
        self.counts[system].add_judged(judged);
        if let Some((start, end)) = span {
            let (first, last) = self.spans[system].unwrap_or((start, end));
            self.spans[system] = Some((first.min(start), last.max(end)));
        }
        self.rows[system].push((position, row));
    }

    pub(super) fn into_outcome(
        self,
        planned: Option<usize>,
        n_examples: usize,
        dataset_error: Option<DatasetError>,
        gave_up: Vec<Option<Failure>>,
    ) -> Outcome {
        let planned = planned.unwrap_or(0).max(n_examples);
        let in_dataset_order = |mut rows: Vec<(usize, EvalRow)>| {
            rows.sort_by_key(|(position, _)| *position);
            rows.into_iter().map(|(_, row)| row).collect()
        };
        Outcome {
            rows: self.rows.into_iter().map(in_dataset_order).collect(),
            counts: self
                .counts
                .into_iter()
                .map(|counts| Counts { planned, ..counts })
                .collect(),
            wall: self
                .spans
                .into_iter()
                .map(|span| span.map_or(Duration::ZERO, |(first, last)| last - first))
                .collect(),
            gave_up,
            n_examples,
            dataset_error,
        }
    }
}
