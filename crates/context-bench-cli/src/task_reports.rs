//! Whether tasks found what they were to find.

use context_bench::EvalResult;
use context_bench::plan::RunPlan;

/// Whether more documents have no score than the user allows. Rows may all be there, and
/// what they say together still not be scored.
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
