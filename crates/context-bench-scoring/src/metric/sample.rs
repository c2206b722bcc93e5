//! `Sample`: the values of rows, and which of them are attempts at one example.
//!
//! With repeats, rows of one example resemble each other; errors and intervals
//! must then rest on examples. Runs without repeats, of up to millions of rows,
//! must not pay for that: finding that there are none takes one pass over most data.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use crate::model::{EvalRow, ExampleId};
use crate::stats::{self, Mean};

/// More datasets than this in one run are distinguished by digests.
const MAX_TAGS: usize = 64;

/// Values in row order.
#[derive(Default)]
pub(super) struct Sample {
    values: Vec<f64>,
    /// Per value the number of its example; empty when each has its own.
    examples: Vec<u32>,
}

impl Sample {
    /// The values of one score over the rows that have it.
    pub(super) fn of(rows: &[EvalRow], field: &str) -> Self {
        let attempts = attempts(rows);
        Self::gather(rows, attempts.as_deref(), |row| row.score(field))
    }

    /// The mean of what `value` makes of the rows, if several of them are attempts
    /// at one example; `None` when each value stands for itself.
    pub(super) fn clustered(
        rows: &[EvalRow],
        value: impl Fn(&EvalRow) -> Option<f64>,
    ) -> Option<Mean> {
        let attempts = attempts(rows)?;
        let mean = Self::gather(rows, Some(&attempts), value).mean()?;
        (mean.clusters < mean.n).then_some(mean)
    }

    fn gather(
        rows: &[EvalRow],
        attempts: Option<&[u32]>,
        value: impl Fn(&EvalRow) -> Option<f64>,
    ) -> Self {
        let Some(attempts) = attempts else {
            return Self {
                values: rows.iter().filter_map(value).collect(),
                examples: Vec::new(),
            };
        };
        let mut sample = Self::default();
        for (row, example) in rows.iter().zip(attempts) {
            if let Some(value) = value(row) {
                sample.push(value, Some(*example));
            }
        }
        sample
    }

    /// Adds a value, with the number of its example if there are repeats.
    pub(super) fn push(&mut self, value: f64, example: Option<u32>) {
        self.values.push(value);
        self.examples.extend(example);
    }

    /// The mean with its error; `None` without values.
    pub(super) fn mean(&self) -> Option<Mean> {
        if self.examples.is_empty() {
            stats::mean(&self.values)
        } else {
            stats::clustered_mean(&self.values, &self.examples)
        }
    }
}

/// Per row the number of its example (its dataset and id), counted from 0; `None`
/// when no example has two rows. Attempts need not stand side by side. Questions about one
/// conversation resemble each other as attempts do, so they count as one as well.
pub(super) fn attempts(rows: &[EvalRow]) -> Option<Vec<u32>> {
    if rows.iter().any(|row| row.conversation().is_some()) {
        return Some(conversations(rows));
    }
    if ascend(rows) || all_differ(rows) {
        return None;
    }
    let mut known: HashMap<(&str, &ExampleId), u32> = HashMap::new();
    let mut numbers: Vec<u32> = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let number = match at.checked_sub(1) {
            // Mostly they do, and then nothing need be looked up.
            Some(before) if is_attempt_at_same(&rows[before], row) => numbers[before],
            _ => {
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                *known
                    .entry((&*row.dataset, &row.example_id))
                    .or_insert(next)
            }
        };
        numbers.push(number);
    }
    (known.len() < rows.len()).then_some(numbers)
}

/// Per row the number of its conversation; a row that is about none stands for itself.
fn conversations(rows: &[EvalRow]) -> Vec<u32> {
    let mut known: HashMap<(&str, &str), u32> = HashMap::new();
    let mut numbers = Vec::with_capacity(rows.len());
    let mut next = 0;
    for row in rows {
        let number = match row.conversation() {
            Some(conversation) => *known.entry((&*row.dataset, conversation)).or_insert(next),
            None => next,
        };
        next += u32::from(number == next);
        numbers.push(number);
    }
    numbers
}

fn is_attempt_at_same(a: &EvalRow, b: &EvalRow) -> bool {
    a.example_id == b.example_id && has_same_tag(a, b)
}

fn has_same_tag(a: &EvalRow, b: &EvalRow) -> bool {
    // Rows of a run share their tags.
    Arc::ptr_eq(&a.dataset, &b.dataset) || a.dataset == b.dataset
}

/// Whether ids only ever grow within each dataset, and no dataset comes back: so it
/// is with positions and with most numbered ids. Then no two rows are of one example.
fn ascend(rows: &[EvalRow]) -> bool {
    let mut tags: Vec<&str> = Vec::new();
    rows.windows(2).all(|pair| {
        if has_same_tag(&pair[0], &pair[1]) {
            return pair[0].example_id < pair[1].example_id;
        }
        tags.push(&pair[0].dataset);
        tags.len() <= MAX_TAGS && !tags.contains(&&*pair[1].dataset)
    })
}

/// Whether no two rows are of one example, by a digest of each. `false` may be
/// wrong, by chance and rarely; `true` never is.
fn all_differ(rows: &[EvalRow]) -> bool {
    let mut digests: Vec<u64> = Vec::with_capacity(rows.len());
    for row in rows {
        let mut hasher = DefaultHasher::new();
        row.dataset.hash(&mut hasher);
        row.example_id.hash(&mut hasher);
        let digest = hasher.finish();
        if digests.last() == Some(&digest) {
            return false;
        }
        digests.push(digest);
    }
    digests.sort_unstable();
    digests.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{MeanScore, PassAtK, PassRate, PerDatasetBreakdown};
    use crate::model::{Measurement, Score, Scores};

    fn row(dataset: &str, id: impl Into<ExampleId>, value: Option<f64>) -> EvalRow {
        let score = value.map_or_else(|| Score::unscored("no"), Score::value);
        let scores: Scores = [("s", score)].into_iter().collect();
        let mut row = EvalRow::new("p", id, scores, 0, 0);
        row.dataset = dataset.into();
        row
    }

    fn measured(metric: &dyn crate::metric::Metric, name: &str, rows: &[EvalRow]) -> Measurement {
        *metric.compute(rows).get(name).expect("computed")
    }

    fn close(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-9)
    }

    #[test]
    fn rows_of_one_example_are_found_wherever_they_stand() {
        let rows = |keys: &[(&str, ExampleId)]| -> Vec<EvalRow> {
            let rows = keys.iter();
            rows.map(|(tag, id)| row(tag, id.clone(), None)).collect()
        };
        let text = ExampleId::from;
        let int = |n: usize| ExampleId::from(n);
        type Case = (
            &'static str,
            Vec<(&'static str, ExampleId)>,
            Option<Vec<u32>>,
        );
        let cases: [Case; 9] = [
            ("none", vec![], None),
            ("positions", vec![("", int(0)), ("", int(1))], None),
            ("any order", vec![("", text("b")), ("", text("a"))], None),
            (
                "side by side",
                vec![("", int(4)), ("", int(4))],
                Some(vec![0, 0]),
            ),
            (
                "chained",
                vec![("", int(0)), ("", int(1)), ("", int(0)), ("", int(1))],
                Some(vec![0, 1, 0, 1]),
            ),
            ("other dataset", vec![("a", int(0)), ("b", int(0))], None),
            (
                "a dataset that comes back",
                vec![("a", int(0)), ("b", int(0)), ("a", int(0))],
                Some(vec![0, 1, 0]),
            ),
            (
                "a dataset that goes on",
                vec![("a", int(0)), ("b", int(0)), ("a", int(1))],
                None,
            ),
            (
                "a number is not text",
                vec![("", int(1)), ("", text("1"))],
                None,
            ),
        ];
        for (what, keys, expected) in cases {
            assert_eq!(attempts(&rows(&keys)), expected, "{what}");
        }
        let many: Vec<EvalRow> = (0..3 * MAX_TAGS)
            .map(|i| row(&format!("d{}", i % (2 * MAX_TAGS)), 0_usize, None))
            .collect();
        let numbers = attempts(&many).expect("some come back");
        assert_eq!(numbers[0], numbers[2 * MAX_TAGS]);
    }

    #[test]
    fn errors_of_questions_rest_on_conversations() {
        let about = |conversation: Option<&str>, value: f64, id: usize| {
            let mut row = row("d", id, Some(value));
            row.added = conversation.map(|name| {
                let added = [("conversation_id".to_owned(), name.into())];
                Box::new(added.into_iter().collect())
            });
            row
        };
        let rows = [
            about(Some("a"), 1.0, 0),
            about(Some("a"), 1.0, 1),
            about(None, 0.5, 2),
            about(Some("b"), 0.0, 3),
            about(Some("a"), 1.0, 4),
        ];
        assert_eq!(attempts(&rows), Some(vec![0, 0, 1, 2, 0]));
        let mean = measured(&MeanScore::of("s"), "mean_score", &rows);
        assert_eq!((mean.n, mean.examples), (Some(5), Some(3)));
    }

    #[test]
    fn errors_of_repeats_rest_on_examples() {
        // statsmodels 0.15, as in `stats/mean.rs`; t and Wilson intervals by scipy 1
        // (t with 3 degrees of freedom, to the 0.3 % of our quantiles).
        let values = [0.2, 0.4, 0.3, 0.9, 1.0, 0.8, 0.5, 0.1, 0.6, 0.7, 0.7, 0.7];
        let by_example: Vec<EvalRow> = (0..12).map(|i| row("d", i / 3, Some(values[i]))).collect();
        let mut by_attempt = by_example.clone();
        by_attempt.sort_by_key(|row| values.iter().position(|v| row.score("s") == Some(*v)));
        for rows in [by_example, by_attempt] {
            for (metric, name) in [
                (
                    &MeanScore::of("s") as &dyn crate::metric::Metric,
                    "mean_score",
                ),
                (&PerDatasetBreakdown::of("s"), "dataset:d"),
            ] {
                let found = measured(metric, name, &rows);
                assert!(close(found.value, 0.575), "{found:?}");
                assert!(close(found.stderr, 0.137_689_263_682), "{found:?}");
                assert_eq!((found.n, found.examples), (Some(12), Some(4)));
                let interval = found.interval.expect("some");
                assert!((interval.low - 0.136_811).abs() < 0.002, "{interval:?}");
                assert!((interval.high - 1.013_189).abs() < 0.002, "{interval:?}");
            }
        }
        let passed = [1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1].map(f64::from);
        let rows: Vec<EvalRow> = (0..15).map(|i| row("", i / 3, Some(passed[i]))).collect();
        let found = measured(&PassRate::new(0.5, "s"), "pass_rate", &rows);
        assert!(close(found.stderr, 0.194_365_063_162), "{found:?}");
        assert_eq!((found.n, found.examples), (Some(15), Some(5)));
        let interval = found.interval.expect("some");
        assert!(close(Some(interval.low), 0.267_470_836_406), "{interval:?}");
        assert!(
            close(Some(interval.high), 0.860_376_771_804),
            "{interval:?}"
        );
        // As many attempts at each: the same as of the means of the examples.
        let pass_at_1 = measured(&PassAtK::new([1], 0.5, "s"), "pass_at_1", &rows);
        assert!(close(pass_at_1.stderr, 0.194_365_063_162), "{pass_at_1:?}");
        assert_eq!((pass_at_1.n, pass_at_1.examples), (Some(5), None));
    }

    #[test]
    fn without_repeats_no_digit_changes() {
        let values: Vec<f64> = (0..97).map(|i| f64::from(i * i % 89) / 88.0).collect();
        let n = values.len() as f64;
        let plain = stats::mean(&values).expect("values");
        let share = values.iter().filter(|v| **v >= 0.5).count();
        let ids: [fn(usize) -> ExampleId; 3] = [
            |i| i.into(),
            |i| format!("q{}", i * 37 % 97).as_str().into(),
            |i| (i / 2 * 1000 + i % 2).into(),
        ];
        for id in ids {
            let mut rows: Vec<EvalRow> =
                (0..97).map(|i| row("d", id(i), Some(values[i]))).collect();
            for unscored in [false, true] {
                if unscored {
                    // A second attempt at each, of which nothing is known.
                    let again: Vec<_> = (0..97).map(|i| row("d", id(i), None)).collect();
                    rows.extend(again);
                }
                for (metric, name) in [
                    (
                        &MeanScore::of("s") as &dyn crate::metric::Metric,
                        "mean_score",
                    ),
                    (&PerDatasetBreakdown::of("s"), "dataset:d"),
                ] {
                    let found = measured(metric, name, &rows);
                    assert_eq!(found.value, Some(plain.value));
                    assert_eq!(found.stderr, plain.stderr);
                    assert_eq!(found.interval, stats::mean_interval(&plain));
                    assert_eq!((found.n, found.examples), (Some(97), None));
                }
                let found = measured(&PassRate::new(0.5, "s"), "pass_rate", &rows);
                let p = share as f64 / n;
                assert_eq!(found.stderr, Some((p * (1.0 - p) / (n - 1.0)).sqrt()));
                assert_eq!(found.interval, stats::wilson_interval(share, 97));
                assert_eq!((found.n, found.examples), (Some(97), None));
            }
        }
    }

    #[test]
    fn one_example_however_often_has_no_error() {
        let rows: Vec<EvalRow> = [1.0, 0.0, 1.0].map(|v| row("d", 0_usize, Some(v))).into();
        let mean = measured(&MeanScore::of("s"), "mean_score", &rows);
        assert_eq!((mean.n, mean.examples), (Some(3), Some(1)));
        assert_eq!((mean.stderr, mean.interval), (None, None));
        let share = measured(&PassRate::new(0.5, "s"), "pass_rate", &rows);
        assert_eq!(share.stderr, None);
        assert!(share.interval.is_some_and(|i| i.low < 0.1 && i.high > 0.9));
    }
}
