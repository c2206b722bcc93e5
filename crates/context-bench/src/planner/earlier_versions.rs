//! Stored runs without a plan: those of earlier versions, and of programs that plan
//! nothing. What they say about themselves, and what their rows say, becomes one.

use context_bench_tasks::Tree;
use indexmap::IndexSet;
use serde_json::Value;

use super::{PlanError, defaults};
use crate::benchmark::{SCORE, dataset_leaf};
use crate::plan::{BenchmarkKind, PlannedBenchmark, RunManifest, RunPlan, RunSpec};
use crate::reopened_run::ReopenedRun;
use crate::store::StoreError;

/// The manifest of a run that has none.
pub(super) fn manifest(reopened: &ReopenedRun) -> Result<RunManifest, StoreError> {
    let text = |key: &str| {
        said(reopened, key)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let mut plan = RunPlan::default();
    let scoring = &mut plan.scoring;
    scoring.threshold = said(reopened, "threshold")
        .and_then(Value::as_f64)
        .unwrap_or(crate::metric::DEFAULT_THRESHOLD);
    scoring.score_field = text("score_field");
    scoring.is_common = scoring.score_field.as_deref() == Some(SCORE);
    scoring.repeats = said(reopened, "repeats")
        .and_then(Value::as_u64)
        .unwrap_or(1);
    scoring.tokenizer = text("tokenizer").unwrap_or_default();
    scoring.bootstrap_iters = defaults::BOOTSTRAP_ITERS;
    if let Some(fields) = said(reopened, "text_fields").and_then(Value::as_array) {
        let fields = fields.iter().filter_map(Value::as_str).map(str::to_owned);
        scoring.text_fields = Some(fields.collect());
    }
    if scoring.score_field.is_none() {
        scoring.metrics = Some(Vec::new());
    }
    let repeats = usize::try_from(scoring.repeats).unwrap_or(1);
    plan.benchmarks = benchmarks(reopened, repeats)?;
    plan.scoring.per_dataset = !is_of_tasks(reopened) && plan.benchmarks.len() > 1;
    let nodes = plan.benchmarks.iter().map(|one| dataset_leaf(&one.key));
    plan.tree = Tree {
        nodes: nodes.collect(),
    };
    Ok(RunManifest {
        spec: RunSpec::default(),
        plan,
    })
}

/// Tasks are scored in their own way, which earlier versions did not keep.
pub(super) fn check(reopened: &ReopenedRun, spec: &RunSpec) -> Result<(), PlanError> {
    let is_planned = RunManifest::of(&reopened.run.config).is_some();
    if is_planned || !is_of_tasks(reopened) || spec.scoring.evaluators.is_some() {
        return Ok(());
    }
    Err(PlanError::new(
        "the run is one of tasks, and an earlier version did not keep how they score",
    )
    .with_hint(
        "`run --tasks` with the same `--cache-dir` scores stored answers again and sends nothing; \
         or name an `--evaluator`",
    ))
}

/// What a run says about itself.
fn said<'a>(reopened: &'a ReopenedRun, key: &str) -> Option<&'a Value> {
    reopened.run.config.get("provenance")?.get(key)
}

fn is_of_tasks(reopened: &ReopenedRun) -> bool {
    said(reopened, "tasks").is_some()
}

/// The datasets of a run: those that it says how it scored or, where it does not, those
/// of its rows, which all its evaluators scored.
fn benchmarks(reopened: &ReopenedRun, repeats: usize) -> Result<Vec<PlannedBenchmark>, StoreError> {
    let of = |tag: &str, evaluators: Vec<String>, field: Option<&str>| PlannedBenchmark {
        key: tag.to_owned(),
        tag: tag.to_owned(),
        kind: BenchmarkKind::Dataset,
        evaluators,
        score_field: field.map(str::to_owned),
        repeats,
        ..PlannedBenchmark::default()
    };
    if let Some(wired) = said(reopened, "scoring").and_then(Value::as_object) {
        let wired = wired.iter().map(|(tag, how)| {
            let names = how.get("evaluators").and_then(Value::as_array);
            let names = names.into_iter().flatten().filter_map(Value::as_str);
            let field = how.get("score_field").and_then(Value::as_str);
            of(tag, names.map(str::to_owned).collect(), field)
        });
        return Ok(wired.collect());
    }
    let mut tags = IndexSet::new();
    for row in reopened.store().run_rows(&reopened.run) {
        tags.insert(row?.dataset.to_string());
    }
    let evaluators = reopened.evaluators();
    let names: Vec<String> = evaluators.iter().map(|one| one.name().to_owned()).collect();
    let field = said(reopened, "score_field").and_then(Value::as_str);
    let field = field.filter(|field| *field != SCORE);
    let tags = tags.iter();
    Ok(tags.map(|tag| of(tag, names.clone(), field)).collect())
}
