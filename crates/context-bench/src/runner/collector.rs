//! The collector: gathers rows as they finish.
//!
//! Rows come back grouped by system in dataset order, whatever finished first.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::dispatch::Outcome;
use super::event::{Progress, RunEvent};
use super::scoring::{FEW, PAUSE, Row};
use crate::dataset::DatasetError;
use crate::model::Answer;
use crate::model::{Counts, EvalRow, Failure};

/// Rows that are gathered in one go.
const AT_ONCE: usize = 256;

/// Rows that room is made for in advance, at the most.
const MAX_RESERVED: usize = 1 << 20;

/// A row on its way to the collector.
pub(super) struct Finished {
    pub(super) system: usize,
    pub(super) position: usize,
    pub(super) row: Row,
    /// When the call began and ended.
    pub(super) span: Option<(Instant, Instant)>,
}

/// Gathers rows as they finish.
pub(super) struct Collector {
    rows: Vec<Vec<(usize, EvalRow)>>,
    /// Answers that benchmarks need at the end, by position.
    answers: Vec<HashMap<usize, Answer>>,
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
            answers: vec![HashMap::new(); n_systems],
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
            row:
                Row {
                    row,
                    judged,
                    answer,
                },
            span,
        } = finished;
        progress.on_event(&RunEvent::RowFinished { system, row: &row });
        self.counts[system].add(&row);
        self.counts[system].add_judged(judged);
        if let Some((start, end)) = span {
            let (first, last) = self.spans[system].unwrap_or((start, end));
            self.spans[system] = Some((first.min(start), last.max(end)));
        }
        if let Some(answer) = answer {
            self.answers[system].insert(position, *answer);
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
        let mut all_rows = Vec::with_capacity(self.rows.len());
        let mut all_answers = Vec::with_capacity(self.rows.len());
        for (mut rows, mut answers) in self.rows.into_iter().zip(self.answers) {
            rows.sort_by_key(|(position, _)| *position);
            let mut by_place = HashMap::with_capacity(answers.len());
            if !answers.is_empty() {
                for (place, (position, _)) in rows.iter().enumerate() {
                    by_place.extend(answers.remove(position).map(|answer| (place, answer)));
                }
            }
            all_answers.push(by_place);
            all_rows.push(rows.into_iter().map(|(_, row)| row).collect());
        }
        Outcome {
            rows: all_rows,
            answers: all_answers,
            counts: self
                .counts
                .into_iter()
                .map(|counts| Counts { planned, ..counts })
                .collect(),
            wall: self
                .spans
                .into_iter()
                .map(|span| Some(span.map_or(Duration::ZERO, |(first, last)| last - first)))
                .collect(),
            gave_up,
            n_examples,
            dataset_error,
            decisions: Vec::new(),
        }
    }
}
