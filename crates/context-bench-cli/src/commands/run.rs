//! `run`: runs systems over benchmarks and compares them.
//!
//! The steps: translate the arguments, plan, run, report, decide the exit code. Nothing is sent
//! before everything has been checked.

use std::path::Path;
use std::time::{Duration, SystemTime};

use context_bench::error::Hint as _;
use context_bench::plan::{RunSpec, Workers};
use context_bench::planner::{self, PlannedRun, Surroundings};
use context_bench::registry::Registry;
use context_bench::store::Store;
use context_bench::{EvalResult, MaxWorkers, Stop, TextsKept};

use super::{dry_run, finish};
use crate::args::RunArgs;
use crate::engine::{self, EngineHost};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::outputs::{self, Outputs};
use crate::reachability::UnreachableEndpoints;
use crate::shard_args::ShardArgs;
use crate::{
    open_files, output, progress, reachability, shards, signals, spec_args, stores, surroundings,
    task_files, tasks,
};

pub(crate) fn main(
    (args, file): (&RunArgs, Option<&Path>),
    registry: &Registry,
    engine: Option<&dyn EngineHost>,
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
        charted: false,
        shard: Some(&args.shard),
        engine,
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
    /// Whether the table of a terminal comes with a chart.
    pub(crate) charted: bool,
    /// How a shard works, if it is one.
    pub(crate) shard: Option<&'a ShardArgs>,
    /// What asks systems in other processes, if this program can.
    pub(crate) engine: Option<&'a dyn EngineHost>,
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
    let mut outputs = Outputs::new(&outputs::of_spec(out), registry, invocation.command)?;
    if invocation.charted {
        outputs.add_chart();
    }
    let around = surroundings::of(registry, invocation.quiet);
    let planned = planner::plan(spec, &around);
    let mut planned = planned.inspect_err(|error| tasks::notice(error.notices()))?;
    tasks::notice(&planned.notices);
    if planned.plan().scoring.baseline_run.is_some() {
        let folder = spec.cache_dir.as_deref().filter(|dir| Store::exists(dir));
        let store = folder.map(|dir| stores::open(Some(dir))).transpose()?;
        planned.read_baseline(store.as_ref(), &around)?;
    }
    let plan = planned.plan().clone();
    if !plan.harness.has_tasks && planned.examples.known_len() == Some(0) {
        output::notices(&planner::examples_read(&planned.skipped, &planned.repeated));
        return Err(planner::nothing_loaded().into());
    }
    if invocation.dry_run {
        return dry_run::show(planned, spec);
    }
    engine::check(&planned, invocation.engine)?;
    let files = task_files::open(out)?;
    let stop = Stop::new();
    let contents = ReportContents {
        texts: outputs.texts(out.text.unwrap_or(true)),
        all_metrics: !outputs.only_table() || !plan.scoring.gates.is_empty(),
    };
    let outputs = outputs.open()?;
    let outcome = match execute(planned, &around, spec, invocation, contents, stop.clone()).await {
        Ok(outcome) => outcome,
        Err(failure) => {
            outputs.discard();
            return Err(failure);
        }
    };
    let (result, broken) = match outcome.found {
        // With few examples and many shards, one may get none.
        Ok((result, None))
            if spec.data.shard.is_some() && result.rows.is_empty() && !stop.is_stopped() =>
        {
            outputs.discard();
            output::note("this shard has no examples");
            return Ok(outcome.store_failed.unwrap_or(Exit::Done));
        }
        Ok((result, None))
            if result.config["num_examples"] == 0
                && !stop.is_stopped()
                && !plan.harness.has_tasks =>
        {
            outputs.discard();
            return Err(planner::nothing_loaded().into());
        }
        Ok(all) => all,
        Err(failure) => {
            outputs.discard();
            return Err(failure);
        }
    };
    let interrupted = stop.is_stopped() && !stop.is_out_of_time();
    let nothing_ran = result.rows.iter().all(|row| !row.is_completed());
    let exit = finish::finish(&plan, outputs, &result, broken, interrupted)?;
    // Without a single answer, result files would only be misleading.
    if !nothing_ran && let Err(failure) = files.write(started, &result.tasks) {
        output::error(&failure);
        return Ok(failure.exit);
    }
    let lacking =
        !planner::without_values(&result).is_empty() || finish::lacks_documents(&plan, &result);
    // What is missing because the time was up is no failure: the same command goes on.
    let is_cut = stop.is_out_of_time() && result.interrupted;
    // A store that was asked for but did not work is a failure even if there are results.
    let exit = match (exit, outcome.store_failed) {
        (Exit::Done, Some(failed)) => failed,
        (Exit::Done, None) if lacking => Exit::RowsFailed,
        (exit, _) => exit,
    };
    Ok(match exit {
        Exit::RowsFailed if is_cut && outcome.store_failed.is_none() => Exit::NotNow,
        exit => exit,
    })
}

/// Which parts of a result the report shows; the rest need not be kept or computed.
#[derive(Clone, Copy)]
struct ReportContents {
    /// The question and answer of each row.
    texts: TextsKept,
    /// Metrics that the table for terminals leaves out.
    all_metrics: bool,
}

/// What a run led to.
struct RunOutcome {
    found: Result<(EvalResult, Option<Failure>), Failure>,
    /// How the program ends, if a store was asked for and could not be used.
    store_failed: Option<Exit>,
}

/// Checks that the endpoints are there, and runs.
async fn execute(
    mut planned: PlannedRun,
    around: &Surroundings,
    spec: &RunSpec,
    invocation: &Invocation<'_>,
    contents: ReportContents,
    stop: Stop,
) -> Result<RunOutcome, Failure> {
    let dir = spec.cache_dir.as_deref();
    let folder = match &planned.shard {
        Some(shard) => Some(shards::open(shard, dir, invocation.shard)?),
        None => None,
    };
    let has_store = match &folder {
        Some(folder) => folder.known > 0,
        None => dir.is_some_and(Store::exists),
    };
    let patience = invocation.shard.and_then(|args| args.wait_ready);
    let patience = Duration::from_secs_f64(patience.unwrap_or_default());
    let mut unreachable = UnreachableEndpoints::default();
    // What is asked elsewhere need not be reached from here.
    if planned.engine.is_none() {
        unreachable = reachability::wait(&planned.systems, &planned.evaluators, patience).await;
        unreachable.require_some(has_store)?;
        reachability::check_ready(&planned.systems, has_store).await?;
    }
    let (store, mut store_failed) = match &folder {
        Some(folder) => (Some(folder.store.clone()), None),
        None => open_store(dir),
    };
    output::notices(&planned.systems.unlisted_models(store.as_ref()).await);
    let asking = engine::Asking {
        host: invocation.engine,
        spec,
        around,
        stop: &stop,
        shows_progress: !invocation.quiet,
    };
    let settled = engine::ask(&mut planned, store.as_ref(), &asking)?;
    // What was dealt with is still summed up when the engine was stopped.
    let stop = match &settled {
        Some(_) if stop.is_stopped() => Stop::new(),
        _ => stop,
    };
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
    if let Some(settled) = &settled {
        let (store, elsewhere) = (settled.store.clone(), settled.elsewhere.clone());
        run = run.store(store).asked_elsewhere(elsewhere);
    }
    let signals = signals::stop_on_interrupt(stop, signals::FINISHING);
    let mut done = run.run().await;
    signals.abort();
    if let Some(folder) = folder {
        store_failed = shards::finish(folder, dir, &mut done);
    }
    output::notices(&planner::examples_read(&skipped, &repeated));
    let mut found = finish::found(done);
    if let Ok((result, _)) = &mut found {
        if settled.is_some_and(|settled| settled.scratch().is_some()) {
            // Nobody asked for a store, and this one is gone now.
            result.store = None;
        }
        planner::note_skipped(result, &skipped);
    }
    Ok(RunOutcome {
        found,
        store_failed,
    })
}

/// Opens the store if one is asked for, and says how the program ends if that failed. Without a
/// store the run goes on in memory.
fn open_store(cache_dir: Option<&Path>) -> (Option<Store>, Option<Exit>) {
    let Some(dir) = cache_dir else {
        return (None, None);
    };
    match Store::open(dir) {
        Ok(opened) => {
            for note in &opened.notes {
                output::warning(note);
            }
            output::notices(planner::nothing_kept(&opened.store).as_slice());
            (Some(opened.store), None)
        }
        Err(error) => {
            output::warning(&format!(
                "{error}; the run continues in memory and nothing will be stored"
            ));
            if let Some(hint) = error.hint() {
                output::hint(&hint);
            }
            (None, Some(Exit::RowsFailed))
        }
    }
}
