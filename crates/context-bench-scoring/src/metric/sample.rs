//! Which rows are attempts at one example, or belong together otherwise.
//!
//! With repeats, rows of one example resemble each other; errors and intervals
//! must then rest on examples. Runs without repeats, of up to millions of rows,
//! must not pay for that: finding that there are none takes one pass over most data.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use crate::model::{DocumentMark, EvalRow, ExampleId};

/// More datasets than this in one run are distinguished by digests.
const MAX_TAGS: usize = 64;

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

/// An attempt at an example: its dataset, its id, and the how manieth it is.
pub type Attempt<'a> = (&'a str, &'a ExampleId, u32);

/// Every row with the attempt that it is.
pub fn numbered_attempts(rows: &[EvalRow]) -> impl Iterator<Item = (Attempt<'_>, &EvalRow)> {
    let mut seen: HashMap<(&str, &ExampleId), u32> = HashMap::with_capacity(rows.len());
    rows.iter().map(move |row| {
        let example = (&*row.dataset, &row.example_id);
        let number = seen.entry(example).or_default();
        *number += 1;
        ((example.0, example.1, *number), row)
    })
}

/// Below so many documents of a dataset that are known by their text alone, examples stand for
/// themselves: then the text is rather an instruction that many share, or a single long document
/// whose questions are what the dataset is a sample of.
const FEWEST_DOCUMENTS: usize = 10;

/// Per row the number of what it belongs to, counted from 0: its conversation, its document, or the
/// example that it is an attempt at. `None` when every row stands for itself.
pub fn clusters(rows: &[EvalRow]) -> Option<Vec<u32>> {
    if rows.iter().any(|row| row.conversation().is_some()) {
        return attempts(rows);
    }
    documents(rows).or_else(|| attempts(rows))
}

/// Per row the number of its document; one without a document stands for its example. `None` when
/// no document has several examples.
fn documents(rows: &[EvalRow]) -> Option<Vec<u32>> {
    let mut by_dataset: HashMap<&str, HashSet<DocumentMark>> = HashMap::new();
    let (mut marked, mut last) = (0_usize, None);
    for row in rows.iter().filter(|row| row.document.is_some()) {
        // Attempts at one example stand side by side.
        if last != Some(&row.example_id) {
            marked += 1;
        }
        last = Some(&row.example_id);
        by_dataset
            .entry(&row.dataset)
            .or_default()
            .insert(row.document);
    }
    let several: usize = by_dataset.values().map(HashSet::len).sum();
    if several == marked {
        return None;
    }
    let counts = |row: &EvalRow| {
        let known = by_dataset.get(&*row.dataset).map_or(0, HashSet::len);
        row.document.is_some() && (row.document.is_named() || known >= FEWEST_DOCUMENTS)
    };
    if !rows.iter().any(counts) {
        return None;
    }
    let mut of_document: HashMap<(&str, DocumentMark), u32> = HashMap::new();
    let mut of_example: HashMap<(&str, &ExampleId), u32> = HashMap::new();
    let mut next = 0;
    let mut numbers = Vec::with_capacity(rows.len());
    for row in rows {
        let number = match counts(row) {
            true => *of_document
                .entry((&row.dataset, row.document))
                .or_insert(next),
            false => *of_example
                .entry((&row.dataset, &row.example_id))
                .or_insert(next),
        };
        next += u32::from(number == next);
        numbers.push(number);
    }
    Some(numbers)
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
        let digest = digest(row);
        if digests.last() == Some(&digest) {
            return false;
        }
        digests.push(digest);
    }
    digests.sort_unstable();
    digests.windows(2).all(|pair| pair[0] != pair[1])
}

/// Stands for the example of a row.
pub(super) fn digest(row: &EvalRow) -> u64 {
    let mut hasher = DefaultHasher::new();
    row.dataset.hash(&mut hasher);
    row.example_id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{MeanScore, PassAtK, PassRate, PerDatasetBreakdown};
    use crate::model::{Measurement, Score, Scores};
    use crate::stats;

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
    fn questions_about_one_document_belong_together() {
        use crate::model::Example;
        let about = |id: usize, example: Example| {
            let mut row = row("d", id, Some(1.0));
            row.document = DocumentMark::of(&example);
            row
        };
        let text = |n: usize| Example::new().with("context", format!("document {n}"));
        // Twelve documents with two questions each; every question is asked twice.
        let rows: Vec<EvalRow> = (0..48).map(|at| about(at / 2, text(at / 4))).collect();
        let numbers = clusters(&rows).expect("several per document");
        assert_eq!(numbers[..5], [0, 0, 0, 0, 1]);
        assert_eq!(numbers.iter().max(), Some(&11));
        // A text that all share is an instruction, unless the data names it.
        let rows: Vec<EvalRow> = (0..20).map(|at| about(at, text(at / 10))).collect();
        assert_eq!(clusters(&rows), None);
        let named = |at: usize| text(at).with("document_id", at / 10);
        let rows: Vec<EvalRow> = (0..20).map(|at| about(at, named(at))).collect();
        assert_eq!(
            clusters(&rows).expect("two documents").iter().max(),
            Some(&1)
        );
        // A document for each is none that they share; attempts still count once.
        let rows: Vec<EvalRow> = (0..30).map(|at| about(at, text(at))).collect();
        assert_eq!(clusters(&rows), None);
        let rows: Vec<EvalRow> = (0..30).map(|at| about(at / 2, text(at / 2))).collect();
        assert_eq!(clusters(&rows).expect("attempts").iter().max(), Some(&14));
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
