//! Systems beside their baseline: whole results, from rows to verdicts and reports.

mod demo;
mod hostile;
mod shapes;
mod verdicts;

use context_bench::comparison::ComparisonSettings;
use context_bench::{
    EvalResult, EvalRow, Failure, FailureKind, RunComparison, Score, Scores, Summary,
};

/// A row of a system about example `id` of a dataset; `None` for a call that failed.
fn row(system: &str, dataset: &str, id: usize, f1: Option<f64>) -> EvalRow {
    let scores: Scores = f1
        .map(|value| ("f1", Score::value(value)))
        .into_iter()
        .collect();
    let mut row = EvalRow::new(system, id, scores, 100, 100);
    row.dataset = dataset.into();
    row.latency = 0.1;
    if f1.is_none() {
        row.failure = Some(Box::new(Failure::new(FailureKind::Timeout, "late")));
    }
    row
}

/// A result of systems with these scores of one dataset.
fn result(systems: &[(&str, Vec<Option<f64>>)]) -> EvalResult {
    let mut result = EvalResult::default();
    for (system, scores) in systems {
        let summary = Summary::new().with("num", 1.0);
        result.summary.insert((*system).to_owned(), summary);
        let rows = scores.iter().enumerate();
        result
            .rows
            .extend(rows.map(|(id, f1)| row(system, "d", id, *f1)));
    }
    result
}

fn scores(values: impl IntoIterator<Item = f64>) -> Vec<Option<f64>> {
    values.into_iter().map(Some).collect()
}

fn settings(margin: Option<f64>) -> ComparisonSettings {
    let mut settings = ComparisonSettings::default();
    settings.margin = margin;
    settings.resamples = Some(400);
    settings
}

fn compared(result: &EvalResult, margin: Option<f64>) -> RunComparison {
    result.compare(&settings(margin)).expect("two systems")
}
