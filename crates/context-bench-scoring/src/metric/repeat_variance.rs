//! RepeatVariance: how much of what differs is chance of the same system asked again.

use indexmap::IndexMap;

use super::Metric;
use crate::model::{EvalRow, ExampleId, Measurement, Summary, Unit};
use crate::stats::variance_components;

/// `variance_between` examples and `variance_within` them, of a score under repeats, and
/// `repeat_noise`: the difference that two runs like this one show by chance in 95 of 100 cases at
/// the most. Without repeats there is no value.
#[derive(Debug, Clone)]
pub struct RepeatVariance {
    score_field: String,
}

impl RepeatVariance {
    /// Of that score.
    pub fn of(score_field: impl Into<String>) -> Self {
        Self {
            score_field: score_field.into(),
        }
    }
}

impl Metric for RepeatVariance {
    fn name(&self) -> &str {
        "repeat_variance"
    }

    fn score_field(&self) -> Option<&str> {
        Some(&self.score_field)
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let mut by_example: IndexMap<(&str, &ExampleId), Vec<f64>> = IndexMap::new();
        for row in rows {
            if let Some(score) = row.score(&self.score_field) {
                let example = (&*row.dataset, &row.example_id);
                by_example.entry(example).or_default().push(score);
            }
        }
        let attempts: Vec<Vec<f64>> = by_example.into_values().collect();
        let found = variance_components(&attempts).ok().flatten();
        let repeats = found.map_or(0, |found| {
            (found.attempts as f64 / found.examples as f64).round() as usize
        });
        let measurement = |value: Option<f64>| Measurement {
            value,
            unit: Unit::Number,
            n: Some(found.map_or(0, |found| found.attempts)),
            examples: found.map(|found| found.examples),
            ..Measurement::default()
        };
        Summary::new()
            .with("variance_between", measurement(found.map(|f| f.between)))
            .with("variance_within", measurement(found.map(|f| f.within)))
            .with(
                "repeat_noise",
                measurement(found.map(|f| f.noise_of(f.examples, repeats.max(1)))),
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Score, Scores};

    #[test]
    fn attempts_at_one_example_are_taken_together() {
        let row = |id: usize, score: f64| {
            let scores: Scores = [("s", Score::value(score))].into_iter().collect();
            EvalRow::new("x", id, scores, 0, 0)
        };
        let metric = RepeatVariance::of("s");
        // Means 2 and 5, each ±1: the worked case of `variance_components`.
        let rows = [row(0, 1.0), row(1, 4.0), row(0, 3.0), row(1, 6.0)];
        let found = metric.compute(&rows);
        assert_eq!(found.value("variance_between"), Some(3.5));
        assert_eq!(found.value("variance_within"), Some(2.0));
        // 1.96 · √(2 · 2 / 4).
        let noise = found.value("repeat_noise").unwrap();
        assert!((noise - 1.959_963_984_540_054).abs() < 1e-12, "{noise}");
        assert_eq!(metric.compute(&rows[..2]).value("variance_within"), None);
    }
}
