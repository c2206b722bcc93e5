//! From what a run produced to its result: rows moved, metrics computed, and the scores
//! that metrics read checked.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::json;

use super::UnknownScore;
use crate::dataset::DatasetError;
use crate::metric::{ComparedSystem, Comparison, Metric};
use crate::model::Answer;
use crate::model::Summary;
use crate::result::EvalResult;
use crate::runner::{Outcome, Wiring};

/// Per system: the answers that benchmarks need, by the number of their row.
pub(super) type Answers = Vec<HashMap<usize, Answer>>;

/// Moves what the run produced into the result, but for answers that benchmarks need
/// and what ended the dataset early.
pub(super) fn fill(
    result: &mut EvalResult,
    names: &[String],
    outcome: Outcome,
) -> (Answers, Option<DatasetError>) {
    let n_examples = json!(outcome.n_examples);
    result.config.insert("num_examples".into(), n_examples);
    let mut rest: usize = outcome.rows.iter().map(Vec::len).sum();
    let per_system = outcome
        .rows
        .into_iter()
        .zip(outcome.counts)
        .zip(outcome.wall);
    for (name, ((rows, counts), wall)) in names.iter().zip(per_system) {
        rest -= rows.len();
        if result.rows.is_empty() {
            // Often the only system: a million rows are not copied.
            result.rows = rows;
            result.rows.reserve_exact(rest);
        } else {
            result.rows.extend(rows);
        }
        result.counts.insert(name.clone(), counts);
        result.timing.insert(name.clone(), wall.as_secs_f64());
        result.summary.insert(name.clone(), Summary::new());
    }
    for (name, failure) in names.iter().zip(outcome.gave_up) {
        result
            .gave_up
            .extend(failure.map(|failure| (name.clone(), failure)));
    }
    (outcome.answers, outcome.dataset_error)
}

pub(super) fn summarize(
    result: &mut EvalResult,
    metrics: &[Arc<dyn Metric>],
    comparisons: &[Arc<dyn Comparison>],
    stopped: bool,
) {
    let mut summaries = IndexMap::new();
    for name in result.summary.keys() {
        let rows = result.rows_of(name);
        let mut summary = Summary::new();
        for metric in metrics {
            summary.merge(metric.compute(rows));
        }
        // Metrics give 0 for an empty dataset, as users know it. A plan of which
        // nothing was done is another thing: no number says anything about it.
        let planned = result.counts.get(name).map_or(0, |counts| counts.planned);
        if rows.is_empty() && (planned > 0 || stopped) {
            summary = summary.without_values();
        }
        summaries.insert(name.clone(), summary);
    }
    for comparison in comparisons {
        let systems: Vec<ComparedSystem<'_>> = summaries
            .iter()
            .map(|(name, summary)| ComparedSystem {
                name,
                rows: result.rows_of(name),
                summary,
            })
            .collect();
        for (name, added) in comparison.compare(&systems) {
            if let Some(summary) = summaries.get_mut(&name) {
                summary.merge(added);
            }
        }
    }
    result.summary = summaries;
}

/// All scores that the evaluators declare; `None` when one does not know its own.
pub(super) fn declared_scores(wiring: &Wiring) -> Option<BTreeSet<String>> {
    let evaluators = &wiring.evaluators;
    if evaluators.iter().any(|e| e.score_names().is_empty()) {
        return None;
    }
    let names = evaluators.iter().flat_map(|e| e.score_names());
    let names = names.chain(wiring.common());
    Some(names.map(ToString::to_string).collect())
}

pub(super) fn check_score_fields(
    metrics: &[Arc<dyn Metric>],
    known: &BTreeSet<String>,
) -> Result<(), UnknownScore> {
    for metric in metrics {
        if let Some(field) = metric.score_field().filter(|field| !known.contains(*field)) {
            return Err(UnknownScore {
                metric: metric.name().to_owned(),
                field: field.to_owned(),
                known: known.iter().cloned().collect(),
            });
        }
    }
    Ok(())
}
