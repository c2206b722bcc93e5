//! What is said about tasks beside their tables: what was noticed, what is missing.

use std::collections::HashSet;

use context_bench::EvalResult;
use context_bench::benchmark::TaskReport;
use context_bench::plan::RunPlan;
use context_bench::planner::Notice;

use crate::{output, tasks};

/// How many tasks that lack documents are named.
const SHOWN_LOST: usize = 10;

fn shown(result: &EvalResult) -> impl Iterator<Item = (&String, &TaskReport)> {
    result.tasks.iter().filter(|(_, report)| report.is_shown)
}

/// Says what was noticed while results were summed up.
pub(crate) fn remarks(result: &EvalResult) {
    let warnings = shown(result).flat_map(|(_, report)| &report.warnings);
    let notices: Vec<Notice> = warnings.map(Notice::new).collect();
    tasks::notice(&notices);
}

/// Says which tasks and metrics have no value, and why; whether there are any.
pub(crate) fn without_values(result: &EvalResult) -> bool {
    let mut seen = HashSet::new();
    let failed = shown(result).flat_map(|(_, report)| &report.failed);
    for (what, hint) in failed.filter(|(what, _)| seen.insert(what.clone())) {
        output::warning(what);
        if let Some(hint) = hint {
            output::hint(hint);
        }
    }
    !seen.is_empty()
}

/// Whether more documents have no score than the user allows. Rows may all be there, and
/// what they say together still not be scored.
pub(crate) fn lacks_documents(plan: &RunPlan, result: &EvalResult) -> bool {
    shown(result).any(|(_, report)| {
        let counts = report.counts.values();
        let (lacking, planned) = counts.fold((0, 0), |(lacking, planned), counts| {
            (lacking + counts.lacking(), planned + counts.planned)
        });
        lacking as f64 > plan.limits.max_error_rate * planned as f64
    })
}

/// Says which tasks lack documents, and why the first of them is missing.
pub(crate) fn lost(result: &EvalResult) {
    let lost = shown(result).flat_map(|(system, report)| {
        let counts = report.counts.iter();
        let lost = counts.filter(|(_, counts)| !counts.is_complete());
        lost.map(move |(key, counts)| (system, key, counts))
    });
    let lost: Vec<_> = lost.collect();
    for (system, key, counts) in lost.iter().take(SHOWN_LOST) {
        let parts = [
            (counts.failed, "failed"),
            (counts.unscored, "could not be scored"),
            (counts.not_run, "were not asked"),
        ];
        let parts = parts.iter().filter(|(n, _)| *n > 0);
        let parts: Vec<String> = parts.map(|(n, what)| format!("{n} {what}")).collect();
        output::warning(&format!(
            "task `{key}` of `{system}`: {} of {} documents are in the scores; {}",
            counts.scored,
            counts.planned,
            parts.join(", ")
        ));
        if let Some((document, why)) = &counts.first {
            output::note(&format!("  document {document}: {why}"));
        }
    }
    if let Some(more) = lost.len().checked_sub(SHOWN_LOST).filter(|more| *more > 0) {
        output::warning(&format!(
            "{more} more tasks lack documents; `counts` of the JSON has all"
        ));
    }
}
