//! The end of a run: writes the report and decides the exit code. Shared by `run`, `rescore` and
//! `export`.

use context_bench::gate::CheckedGate;
use context_bench::plan::RunPlan;
use context_bench::planner;
use context_bench::report::described_gate;
use context_bench::{Error, EvalResult};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::outputs::OpenOutputs;
use crate::{job_summary, output};

/// Gates that are told about at the end; reports have all of them.
const SHOWN_GATES: usize = 20;

/// The result of a run and, if it ended early, the reason; only the reason when there is no
/// result.
pub(super) fn found(
    done: Result<EvalResult, Error>,
) -> Result<(EvalResult, Option<Failure>), Failure> {
    match done {
        Ok(result) => Ok((result, None)),
        Err(mut error) => match error.take_partial() {
            Some(partial) => Ok((partial, Some(Failure::from(error)))),
            None => Err(error.into()),
        },
    }
}

/// Writes the report and decides the exit code.
pub(super) fn finish(
    plan: &RunPlan,
    outputs: OpenOutputs,
    result: &EvalResult,
    broken: Option<Failure>,
    stopped: bool,
) -> Result<Exit, Failure> {
    for (system, failure) in &result.gave_up {
        let worked = result
            .rows
            .iter()
            .any(|row| &*row.system == system.as_str() && row.is_completed() && !row.cached);
        let (what, hint) = if worked {
            (
                format!(
                    "system `{system}` stopped working during the run: {}",
                    failure.message
                ),
                Some("once it works again, the same command runs what is missing".to_owned()),
            )
        } else {
            (
                format!(
                    "system `{system}` cannot work as it is configured: {}",
                    failure.message
                ),
                failure.kind.hint().map(str::to_owned),
            )
        };
        output::error(&Failure {
            what,
            hint,
            exit: Exit::BadInput,
        });
    }
    let nothing_ran = result.rows.iter().all(|row| !row.is_completed());
    if nothing_ran && !result.gave_up.is_empty() && result.gave_up.len() == result.summary.len() {
        outputs.discard();
        return Ok(Exit::BadInput);
    }
    output::notices(&planner::remarks(plan, result));
    let written = outputs.write(result);
    job_summary::append(result);
    if let Some(failure) = broken {
        output::error(&failure);
        return Ok(failure.exit);
    }
    if let Err(error) = written {
        output::error(&Failure::bad_input(format!(
            "cannot write the report: {error}"
        )));
        return Ok(Exit::BadInput);
    }
    if let Some(stored) = &result.store
        && stored.failure.is_none()
        && let Some(run) = &stored.run
    {
        output::note(&format!("stored as run {run} in {}", stored.path.display()));
    }
    if stopped {
        return Ok(Exit::Interrupted);
    }
    let gates = failed_gates(&result.gates);
    let incomplete = is_partly_stored(result) || planner::nothing_scored(result).is_some();
    Ok(match verdict(plan, result) {
        Exit::Done if incomplete => Exit::RowsFailed,
        Exit::Done => gates,
        exit => exit,
    })
}

/// Says which gates did not pass, and what that means for the exit code.
pub(super) fn failed_gates(gates: &[CheckedGate]) -> Exit {
    let failed: Vec<&CheckedGate> = gates.iter().filter(|gate| !gate.is_passed()).collect();
    if failed.is_empty() {
        return Exit::Done;
    }
    let all = gates.len();
    let mut what = format!("{} of {all} gates did not pass", failed.len());
    for gate in failed.iter().take(SHOWN_GATES) {
        what += &format!("\n  {}", described_gate(gate));
    }
    if let Some(more) = failed.len().checked_sub(SHOWN_GATES).filter(|n| *n > 0) {
        what += &format!("\n  and {more} more");
    }
    output::error(&Failure {
        what,
        hint: None,
        exit: Exit::ThresholdMissed,
    });
    Exit::ThresholdMissed
}

/// Whether a store was asked for but does not hold the whole run.
fn is_partly_stored(result: &EvalResult) -> bool {
    let stored = result.store.as_ref();
    stored.is_some_and(context_bench::StoreSummary::is_incomplete)
}

/// `RowsFailed` when a system has more errors than allowed.
fn verdict(plan: &RunPlan, result: &EvalResult) -> Exit {
    let mut counts = result.counts.values();
    match counts.any(|counts| planner::has_failed(plan, counts)) {
        true => Exit::RowsFailed,
        false => Exit::Done,
    }
}

/// Whether more documents lack a score than the user allows. This can happen even when no row
/// failed, because some metrics score all rows together.
pub(super) fn lacks_documents(plan: &RunPlan, result: &EvalResult) -> bool {
    let mut shown = result.tasks.values().filter(|report| report.is_shown);
    shown.any(|report| {
        let counts = report.counts.values();
        let (lacking, planned) = counts.fold((0, 0), |(lacking, planned), counts| {
            (lacking + counts.lacking(), planned + counts.planned)
        });
        lacking as f64 > plan.limits.max_error_rate * planned as f64
    })
}
