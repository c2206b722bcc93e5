//! Two runs beside each other: what `context-bench compare` says, with what flipped.

use context_bench::planner::{
    ReopenedPlan, RunsToCompare, Surroundings, compare_large_runs, compare_runs,
};
use context_bench::store::Store;
use context_bench_error::Hint as _;
use serde_json::{Value, json};

/// Rows of both runs that are held while they are compared. Of more, only the score is.
const MAX_ROWS: u64 = 100_000;
/// Flips of each direction that are shown with both answers.
const FLIPS: usize = 100;
/// As many as `compare` draws.
const RESAMPLES: usize = 10_000;

/// What a comparison of two runs says, or why there is none.
pub(crate) fn compare(
    store: &Store,
    base: &str,
    new: &str,
    around: &Surroundings,
) -> Result<Value, String> {
    let open = |id: &str| ReopenedPlan::open(store, id).map_err(|error| said(&error));
    let runs = [open(base)?, open(new)?];
    let rows: u64 = runs.iter().map(|run| run.stored.run.n_rows).sum();
    if rows > MAX_ROWS {
        let [old, later] = &runs;
        let found = compare_large_runs(old, later, FLIPS, around).map_err(|error| said(&error))?;
        return Ok(
            json!({"comparison": found, "base": base, "new": new, "shown": FLIPS,
            "rows": rows, "is_large": true}),
        );
    }
    let how = RunsToCompare {
        resamples: Some(RESAMPLES),
        flips: FLIPS,
        ..RunsToCompare::default()
    };
    let found = compare_runs(&runs, &how, around).map_err(|error| said(&error))?;
    Ok(
        json!({"comparison": found.comparison, "base": base, "new": new, "shown": FLIPS,
        "rows": rows, "is_large": false}),
    )
}

fn said(error: &context_bench::planner::PlanError) -> String {
    match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}
