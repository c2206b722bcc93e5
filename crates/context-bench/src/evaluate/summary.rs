//! From what a run produced to its result: rows moved, metrics computed, and the scores
//! that metrics read checked.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use context_bench_scoring::price::UsedPrice;
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::UnknownScore;
use crate::dataset::DatasetError;
use crate::metric::{Metric, RowCosts};
use crate::model::{Answer, ArmWire, EvalRow, Measurement, Summary, Unit};
use crate::result::EvalResult;
use crate::runner::{Outcome, Wiring};
use crate::tap::RunWire;

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
        if let Some(wall) = wall {
            result.timing.insert(name.clone(), wall.as_secs_f64());
        }
        result.summary.insert(name.clone(), Summary::new());
    }
    for (name, failure) in names.iter().zip(outcome.gave_up) {
        result
            .gave_up
            .extend(failure.map(|failure| (name.clone(), failure)));
    }
    (outcome.answers, outcome.dataset_error)
}

/// Takes over what a tap saw. Figures of single rows are withheld where too many calls are
/// nobody's. Where calls were not counted as they were made, they are counted here, by row; those
/// of rows from earlier runs are counted apart, unless the arms are those of a stored run that has
/// done so.
pub(super) fn take_wire(result: &mut EvalResult, mut wire: RunWire, is_this_run: bool) {
    if let Some(Value::Object(tap)) = result.provenance.get_mut("tap") {
        tap.extend(std::mem::take(&mut wire.tap));
    }
    for row in &result.rows {
        let (Some(facts), Some(arm)) = (&row.wire, wire.arms.get_mut(&*row.system)) else {
            continue;
        };
        match (row.cached, arm.partial) {
            (true, is_partial) if is_partial || is_this_run => arm.count_earlier(facts),
            (false, true) => arm.count_row(facts),
            _ => {}
        }
    }
    let is_withheld = |name: &str| wire.arms.get(name).is_some_and(|arm| arm.withheld);
    for row in &mut result.rows {
        if row.wire.is_some() && is_withheld(&row.system) {
            row.wire = None;
        }
    }
    result.wire = wire.arms;
}

/// Computes the summaries. Metrics give 0 for an empty dataset, as users know it. A plan of which
/// nothing was done is another thing: no number says anything about it.
pub(super) fn summarize(result: &mut EvalResult, stopped: bool) {
    let systems: IndexMap<String, &[EvalRow]> = result
        .summary
        .keys()
        .map(|name| (name.clone(), result.rows_of(name)))
        .collect();
    let planned = |name: &str| result.counts.get(name).map_or(0, |counts| counts.planned);
    let mut summaries = result
        .measures
        .summaries(&systems, |name| planned(name) > 0 || stopped);
    for (name, arm) in &result.wire {
        if let Some(summary) = summaries.get_mut(name) {
            put_totals(summary, arm);
            put_arm_cost(summary, result, name, arm);
        }
    }
    result.summary = summaries;
    note_prices(result);
}

/// What an arm cost in money: also for calls that are nobody's.
fn put_arm_cost(summary: &mut Summary, result: &EvalResult, name: &str, arm: &ArmWire) {
    let Some(prices) = &result.measures.prices else {
        return;
    };
    let total = prices.arm_cost(name, arm);
    // Rows of which nothing is known may still have had calls that are priced.
    let had_rows = summary.get("cost").is_some();
    if !total.is_priced && !had_rows {
        return;
    }
    let rows = result.rows_of(name);
    let unpriced = rows.iter().filter(|row| prices.cost(row).exact().is_none());
    RowCosts::put(summary, &total, rows.len(), unpriced.count());
    let unattributed = prices.unattributed_cost(name, arm);
    if arm.unattributed.calls > 0 && unattributed.is_priced {
        let cost = Measurement {
            value: unattributed.exact().map(|money| money.to_f64()),
            n: usize::try_from(arm.unattributed.calls).ok(),
            unit: Unit::Money,
            ..Measurement::default()
        };
        summary.set("unattributed_cost", cost);
    }
}

/// Says which prices the money of a result rests on. Without money it says nothing.
pub(super) fn note_prices(result: &mut EvalResult) {
    let has_money = |summary: &Summary| summary.get("cost").is_some();
    if !result.summary.values().any(has_money) {
        return;
    }
    let Some(prices) = result.measures.prices.clone() else {
        return;
    };
    let shape = result.shape();
    let of_rows = shape.models.iter();
    let of_rows =
        of_rows.flat_map(|(system, models)| models.iter().map(|model| (&**system, &**model)));
    let of_arms = result.wire.iter().flat_map(|(name, arm)| {
        let models = arm.uses.iter().filter_map(|one| one.model.as_deref());
        models.map(|model| (name.as_str(), model))
    });
    let used = prices.used(of_rows.chain(of_arms));
    let entries: Vec<Value> = used
        .iter()
        .map(|one| {
            let entry = &one.entry;
            json!({"model": one.model, "price_of": entry.id, "book": one.book,
                "valid_from": entry.valid_from, "source": entry.source})
        })
        .collect();
    let is_used = |name: &str| used.iter().any(|one| one.book == name);
    let books = prices
        .book()
        .files()
        .iter()
        .filter(|file| is_used(&file.name));
    let books: Vec<Value> = books
        .map(|file| json!({"name": file.name, "as_of": file.as_of}))
        .collect();
    let note = json!({"currency": prices.currency(), "books": books,
        "digest": UsedPrice::digest(&used), "models": entries});
    result.provenance.insert("prices".into(), note);
}

/// What an arm cost as a whole, whether rows can be told to have caused it or not.
fn put_totals(summary: &mut Summary, arm: &ArmWire) {
    let mut set = |name: &str, value: u64, calls: u64| {
        let measurement = Measurement {
            n: usize::try_from(calls).ok(),
            ..Measurement::new(value as f64, Unit::Count)
        };
        summary.set(name, measurement);
    };
    let billed = arm.billed();
    let earlier = arm.earlier.as_ref();
    let calls = arm.calls + earlier.map_or(0, |earlier| earlier.calls);
    if billed.tokens() > 0 {
        set("billed_tokens", billed.tokens(), calls);
    }
    // Of a run that did not end it is not known.
    if arm.calls > 0 && !arm.partial {
        let unattributed = &arm.unattributed;
        set("unattributed_calls", unattributed.calls, arm.calls);
        if unattributed.calls > 0 {
            let tokens = unattributed.usage.tokens();
            set("unattributed_tokens", tokens, unattributed.calls);
        }
    }
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
