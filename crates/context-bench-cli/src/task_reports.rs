//! Whether enough documents of the tasks were scored.

use context_bench::EvalResult;
use context_bench::plan::RunPlan;

/// Whether more documents lack a score than the user allows. This can happen even when no row
/// failed, because some metrics score all rows together.
pub(crate) fn lacks_documents(plan: &RunPlan, result: &EvalResult) -> bool {
    let mut shown = result.tasks.values().filter(|report| report.is_shown);
    shown.any(|report| {
        let counts = report.counts.values();
        let (lacking, planned) = counts.fold((0, 0), |(lacking, planned), counts| {
            (lacking + counts.lacking(), planned + counts.planned)
        });
        lacking as f64 > plan.limits.max_error_rate * planned as f64
    })
}
