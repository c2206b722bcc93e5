//! [`RowSum`]: a metric that takes rows one at a time, for runs whose rows are not all in memory.
//!
//! [`Metric::compute`](super::Metric::compute) is the same sum over a slice, so both give the same
//! numbers, to the last digit. What must be seen as a whole is kept as plain numbers: a value takes 12
//! bytes, a time 8, an id 8.

use std::collections::HashMap;

use super::sample::digest;
use crate::model::{EvalRow, Summary};
use crate::stats::{self, Mean};

/// Rows of one system, summed up as they come.
pub trait RowSum: Send {
    /// Takes the next row into account.
    fn add(&mut self, row: &EvalRow);

    /// The numbers. `attempts` has for each row the number of its example; `None` when every row
    /// has its own.
    fn finish(self: Box<Self>, attempts: Option<&[u32]>) -> Summary;
}

/// The sum of rows that are there.
pub(super) fn of_rows<'a>(
    mut sum: Box<dyn RowSum + 'a>,
    rows: &[EvalRow],
    attempts: Option<&[u32]>,
) -> Summary {
    rows.iter().for_each(|row| sum.add(row));
    sum.finish(attempts)
}

/// Values in row order, with the rows that they are from.
#[derive(Default)]
pub(super) struct RowValues {
    values: Vec<f64>,
    rows: Vec<u32>,
}

impl RowValues {
    /// Adds the value of the row with that number, counted from 0.
    pub(super) fn push(&mut self, value: f64, row: usize) {
        self.values.push(value);
        self.rows.push(u32::try_from(row).unwrap_or(u32::MAX));
    }

    /// The mean with its error, which rests on examples; `None` without values.
    pub(super) fn mean(&self, attempts: Option<&[u32]>) -> Option<Mean> {
        let Some(attempts) = attempts else {
            return stats::mean(&self.values);
        };
        let number = |row: &u32| attempts.get(*row as usize).copied().unwrap_or(*row);
        let examples: Vec<u32> = self.rows.iter().map(number).collect();
        stats::clustered_mean(&self.values, &examples)
    }
}

/// Which rows are attempts at one example, found as they come: by a digest of dataset and id. Two
/// examples of ten million have the same one with a probability of 3 in a million.
#[derive(Debug, Default)]
pub struct AttemptSum {
    digests: Vec<u64>,
}

impl AttemptSum {
    /// Takes the next row into account.
    pub fn add(&mut self, row: &EvalRow) {
        self.digests.push(digest(row));
    }

    /// Per row the number of its example, counted from 0; `None` when no example has two rows.
    pub fn finish(self) -> Option<Vec<u32>> {
        let mut sorted = self.digests.clone();
        sorted.sort_unstable();
        if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
            return None;
        }
        drop(sorted);
        let mut known: HashMap<u64, u32> = HashMap::new();
        let number = |digest: u64| {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            *known.entry(digest).or_insert(next)
        };
        Some(self.digests.into_iter().map(number).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{
        CallTimes, CompressionRatio, CostOfPass, Latency, MeanScore, Metric, PassRate,
        PerDatasetBreakdown, TokenMeans, TokensPerPass,
    };
    use crate::model::{Score, Scores};

    /// Rows of two datasets; ids come back every `every` rows, and every ninth row has no score.
    fn rows(n: usize, every: usize) -> Vec<EvalRow> {
        let row = |i: usize| {
            let score = match i % 9 {
                0 => Score::unscored("no"),
                _ => Score::value((i * 37 % 101) as f64 / 101.0),
            };
            let scores: Scores = [("s", score)].into_iter().collect();
            let mut row = EvalRow::new("p", i * 7 % every, scores, 10, 3);
            row.dataset = if i.is_multiple_of(5) { "a" } else { "b" }.into();
            row.latency = (i * 13 % 17) as f64;
            row
        };
        (0..n).map(row).collect()
    }

    #[test]
    fn rows_that_come_one_at_a_time_give_the_same_numbers() {
        let metrics: [Box<dyn Metric>; 9] = [
            Box::new(MeanScore::of("s")),
            Box::new(PassRate::new(0.5, "s")),
            Box::new(PerDatasetBreakdown::of("s")),
            Box::new(CostOfPass::new(0.5, "s")),
            Box::new(TokensPerPass::new(0.5, "s")),
            Box::new(TokenMeans),
            Box::new(CompressionRatio),
            Box::new(Latency),
            Box::new(CallTimes),
        ];
        for (n, every) in [(0, 1), (1, 1), (500, 100_003), (500, 83), (500, 1)] {
            let rows = rows(n, every);
            let mut attempts = AttemptSum::default();
            rows.iter().for_each(|row| attempts.add(row));
            let attempts = attempts.finish();
            assert_eq!(
                attempts,
                crate::metric::sample::attempts(&rows),
                "{n} {every}"
            );
            for metric in &metrics {
                let sum = metric.row_sum().expect("it can");
                let found = of_rows(sum, &rows, attempts.as_deref());
                assert_eq!(
                    found,
                    metric.compute(&rows),
                    "{}: {n} {every}",
                    metric.name()
                );
            }
        }
    }
}
