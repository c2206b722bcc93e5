//! `run`: runs systems over benchmarks and compares them.
//!
//! The steps: translate the arguments, plan, run, report, decide the exit code. Nothing is sent
//! before everything has been checked.

use std::path::Path;
use std::time::SystemTime;

use context_bench::error::Hint as _;
use context_bench::plan::{RunSpec, Workers};
use context_bench::planner::{self, PlannedRun};
use context_bench::registry::Registry;
use context_bench::store::Store;
use context_bench::{EvalResult, MaxWorkers, Stop};

use super::{dry_run, finish};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::{
    open_files, progress, reachability, signals, spec_args, surroundings, task_files, tasks,
};

pub(crate) fn main(
    args: &RunArgs,
    file: Option<&Path>,
    registry: &Registry,
    command: &str,
) -> Result<Exit, Failure> {
    let spec = spec_args::spec(args, file)?;
    if args.print_config {
        return print_config(&spec);
    }
    let invocation = Invocation {
        quiet: args.quiet,
        dry_run: args.dry_run,
        command,
    };
    run(&spec, &invocation, registry)
}

/// Prints a spec as a run file.
pub(super) fn print_config(spec: &RunSpec) -> Result<Exit, Failure> {
    output::data(&spec.to_yaml())?;
    if spec.without_secrets() != *spec {
        output::warning(
            "secrets are left out: `…` stands for keys and passwords, and URLs come without \
             user, password and query",
        );
    }
    Ok(Exit::Done)
}

/// How a run was started, beside its spec.
pub(crate) struct Invocation<'a> {
    pub(crate) quiet: bool,
    pub(crate) dry_run: bool,
    /// The command line, without secrets.
    pub(crate) command: &'a str,
}

/// Runs a spec.
pub(crate) fn run(
    spec: &RunSpec,
    invocation: &Invocation<'_>,
    registry: &Registry,
) -> Result<Exit, Failure> {
    let workers = spec.limits.max_workers.unwrap_or(Workers::Number(1));
    if let Some(warning) = open_files::allow_connections(MaxWorkers::from(workers).most()) {
        output::warning(&warning);
    }
    let runtime = runtime()?;
    let exit = runtime.block_on(plan_and_run(spec, invocation, registry));
    // A second Ctrl-C leaves calls behind that must not be waited for.
    runtime.shutdown_background();
    exit
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Runtime::new()
        .map_err(|error| Failure::bad_input(format!("cannot start threads: {error}")))
}

async fn plan_and_run(
    spec: &RunSpec,
    invocation: &Invocation<'_>,
    registry: &Registry,
) -> Result<Exit, Failure> {
    let started = SystemTime::now();
    let out = &spec.output;
    let reporter = finish::reporter(out.format.as_deref(), out.file.is_some(), registry)?;
    let planned = planner::plan(spec, &surroundings::of(registry, invocation.quiet));
    let planned = planned.inspect_err(|error| tasks::notice(error.notices()))?;
    tasks::notice(&planned.notices);
    let plan = planned.plan().clone();
    if !plan.harness.has_tasks && planned.examples.known_len() == Some(0) {
        output::notices(&planner::examples_read(&planned.skipped, &planned.repeated));
        return Err(planner::nothing_loaded().into());
    }
    if invocation.dry_run {
        return dry_run::show(planned, spec);
    }
    let files = task_files::open(out)?;
    let sink = Sink::open(out.file.as_deref())?;
    let stop = Stop::new();
    let contents = ReportContents {
        texts: reporter.writes_rows() && out.text.unwrap_or(true),
        all_metrics: !matches!(out.format.as_deref(), None | Some("table")),
    };
    let outcome = match execute(planned, spec, invocation, contents, stop.clone()).await {
        Ok(outcome) => outcome,
        Err(failure) => {
            sink.discard();
            return Err(failure);
        }
    };
    let (result, broken) = match outcome.found {
        Ok((result, None))
            if result.config["num_examples"] == 0
                && !stop.is_stopped()
                && !plan.harness.has_tasks =>
        {
            sink.discard();
            return Err(planner::nothing_loaded().into());
        }
        Ok(all) => all,
        Err(failure) => {
            sink.discard();
            return Err(failure);
        }
    };
    let interrupted = stop.is_stopped() && !stop.is_out_of_time();
    let nothing_ran = result.rows.iter().all(|row| !row.is_completed());
    let exit = finish::finish(&plan, &*reporter, sink, &result, broken, interrupted)?;
    // Without a single answer, result files would only be misleading.
    if !nothing_ran && let Err(failure) = files.write(started, &result.tasks) {
        output::error(&failure);
        return Ok(failure.exit);
    }
    let lacking =
        !planner::without_values(&result).is_empty() || finish::lacks_documents(&plan, &result);
    // A store that was asked for but did not work is a failure even if there are results.
    Ok(match exit {
        Exit::Done if outcome.store_failed || lacking => Exit::RowsFailed,
        exit => exit,
    })
}

/// Which parts of a result the report shows; the rest need not be kept or computed.
#[derive(Clone, Copy)]
struct ReportContents {
    /// The question and answer of each row.
    texts: bool,
    /// Metrics that the table for terminals leaves out.
    all_metrics: bool,
}

/// What a run led to.
struct RunOutcome {
    found: Result<(EvalResult, Option<Failure>), Failure>,
    /// Whether a store was asked for and could not be used.
    store_failed: bool,
}

/// Checks that the endpoints are there, and runs.
async fn execute(
    planned: PlannedRun,
    spec: &RunSpec,
    invocation: &Invocation<'_>,
    contents: ReportContents,
    stop: Stop,
) -> Result<RunOutcome, Failure> {
    let has_store = spec.cache_dir.as_deref().is_some_and(Store::exists);
    reachability::check_ready(&planned.systems.systems, has_store).await?;
    let unreachable = reachability::check(&planned.systems, &planned.evaluators).await;
    unreachable.require_some(spec.cache_dir.as_deref())?;
    let (store, store_failed) = open_store(spec.cache_dir.as_deref());
    output::notices(&planned.systems.unlisted_models(store.as_ref()).await);
    let systems = planned.systems.systems.clone();
    let (skipped, repeated) = (planned.skipped.clone(), planned.repeated.clone());
    let mut run = unreachable.give_up(planned.evaluate(), &systems, store.as_ref())?;
    run = run
        .progress(progress::display(invocation.quiet))
        .stop(stop.clone())
        .keep_text(contents.texts)
        .command(invocation.command);
    match store {
        Some(store) => run = run.store(store),
        // Only the table is shown, so tokens that it does not show need not be counted.
        None if !contents.all_metrics && spec.scoring.text_fields.is_empty() => {
            run = run.count_where_needed();
        }
        None => {}
    }
    let signals = signals::stop_on_interrupt(stop);
    let done = run.run().await;
    signals.abort();
    output::notices(&planner::examples_read(&skipped, &repeated));
    let mut found = finish::found(done);
    if let Ok((result, _)) = &mut found {
        planner::note_skipped(result, &skipped);
    }
    Ok(RunOutcome {
        found,
        store_failed,
    })
}

/// Opens the store if one is asked for, and says whether that failed. Without a store the run
/// goes on in memory.
fn open_store(cache_dir: Option<&Path>) -> (Option<Store>, bool) {
    let Some(dir) = cache_dir else {
        return (None, false);
    };
    match Store::open(dir) {
        Ok(opened) => {
            for note in &opened.notes {
                output::warning(note);
            }
            output::notices(planner::nothing_kept(&opened.store).as_slice());
            (Some(opened.store), false)
        }
        Err(error) => {
            output::warning(&format!(
                "{error}; the run continues in memory and nothing will be stored"
            ));
            if let Some(hint) = error.hint() {
                output::hint(&hint);
            }
            (None, true)
        }
    }
}
