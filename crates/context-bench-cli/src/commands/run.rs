//! `run`: systems over datasets, and one comparison of them.
//!
//! Reads as a list: check the arguments, make everything that is named, run,
//! report, decide the exit code. Nothing is sent before all of it is checked.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use context_bench::chat::Pace;
use context_bench::error::Hint as _;
use context_bench::evaluator::CodeExecutionSettings;
use context_bench::metric::{
    CompressionRatio, CostOfPass, Latency, MeanScore, Metric, ParetoRank, PassAtK, PassRate,
    PerDatasetBreakdown,
};
use context_bench::registry::{Registry, code_execution, llm_judge};
use context_bench::report::{Reporter, TableReport};
use context_bench::store::Store;
use context_bench::tokens::Tokenizer;
use context_bench::{Error, EvalResult, Evaluate, Stop, evaluate};

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::{datasets, limits, progress, reach, scoring, signals, systems};

pub(crate) fn main(args: &RunArgs, registry: &Registry, command: &str) -> Result<Exit, Failure> {
    if let Some(warning) = limits::allow_connections(args.max_workers.most()) {
        output::warning(&warning);
    }
    let runtime = runtime()?;
    let exit = match args.task.select.tasks.is_empty() {
        true => runtime.block_on(run(args, registry, command)),
        false => runtime.block_on(super::tasks_run::run(args, registry, command)),
    };
    // Never wait for what a second Ctrl-C left behind.
    runtime.shutdown_background();
    exit
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Runtime::new()
        .map_err(|error| Failure::bad_input(format!("cannot start threads: {error}")))
}

async fn run(args: &RunArgs, registry: &Registry, command: &str) -> Result<Exit, Failure> {
    let reporter = reporter(&args.output, args.output_file.is_some(), registry)?;
    let tokenizer: Tokenizer = args.tokenizer.parse()?;
    let pace = systems::pace(args);
    let systems = systems::build(
        args,
        registry,
        &tokenizer.counter(),
        Arc::clone(&pace),
        None,
    )?;
    let registry = &datasets::included(registry, &args.include_path)?;
    let registry = &with_settings(args, registry, &pace)?;
    let opened = datasets::open(args, registry)?;
    let score_field = opened.scoring.score_field(args)?;
    let (plan, evaluators) = opened.scoring.wire(evaluate(), args, registry)?;
    opened.scoring.warn_of_no_judge(args)?;
    let n_datasets = opened.scoring.len();
    let dataset = opened.dataset;
    let sink = Sink::open(args.output_file.as_deref())?;
    let unreached = reach::knock(&systems, &evaluators).await;
    if let Err(failure) = unreached.check(args.cache_dir.as_deref()) {
        sink.discard();
        return Err(failure);
    }
    let (store, unusable) = open_store(args.cache_dir.as_deref());
    let skipped = dataset.skipped().clone();
    let repeated = dataset.repeated_ids().clone();
    let stop = Stop::new();
    let report = Report {
        score_field: &score_field,
        threshold: args.threshold,
        n_systems: systems.systems.len(),
        n_datasets,
        repeats: args.n_repeats() as u64,
    };
    let plan = match unreached.give_up(plan, &systems.systems, store.as_ref()) {
        Ok(plan) => plan,
        Err(failure) => {
            sink.discard();
            return Err(failure);
        }
    };
    let mut plan = with_metrics(plan, &report)
        .systems(systems.systems)
        .dataset(dataset)
        .max_workers(args.max_workers)
        .token_counter(tokenizer.counter())
        .progress(progress::display(args.quiet))
        .stop(stop.clone())
        .command(command)
        .note("datasets", args.dataset.clone())
        .note("repeats", args.n_repeats());
    if !args.text_field.is_empty() {
        plan = plan.text_fields(args.text_field.iter().cloned());
    }
    if let Some(seconds) = args.example_timeout {
        plan = plan.example_timeout(Duration::from_secs_f64(seconds));
    }
    if let Some(store) = store {
        plan = plan.store(store);
    }
    let signals = signals::stop_on_interrupt(stop.clone());
    let deadline = signals::stop_after(args.max_time, stop.clone());
    let done = plan.run().await;
    signals.abort();
    let out_of_time = deadline.is_some_and(|deadline| deadline.is_finished());
    datasets::report_skipped(&skipped);
    datasets::report_repeated(&repeated);
    let (mut result, broken) = match found(done) {
        Ok((result, None)) if result.config["num_examples"] == 0 && !stop.is_stopped() => {
            sink.discard();
            return Err(datasets::nothing_loaded());
        }
        Ok(all) => all,
        Err(failure) => {
            sink.discard();
            return Err(failure);
        }
    };
    datasets::note_skipped(&mut result, &skipped);
    let interrupted = stop.is_stopped() && !out_of_time;
    let exit = finish(args, &*reporter, sink, &result, broken, interrupted)?;
    // A store that was asked for and did not work is a failure, results or not.
    Ok(if unusable && exit == Exit::Done {
        Exit::RowsFailed
    } else {
        exit
    })
}

/// The store, if one is asked for and can be used. Without it the run goes on in memory.
pub(super) fn open_store(cache_dir: Option<&Path>) -> (Option<Store>, bool) {
    let Some(dir) = cache_dir else {
        return (None, false);
    };
    match Store::open(dir) {
        Ok(opened) => {
            for note in &opened.notes {
                output::warning(note);
            }
            (Some(opened.store), false)
        }
        Err(error) => {
            output::warning(&format!(
                "{error}; the run goes on in memory, nothing is kept"
            ));
            if let Some(hint) = error.hint() {
                output::hint(&hint);
            }
            (None, true)
        }
    }
}

/// What the summary is made of.
pub(super) struct Report<'a> {
    pub(super) score_field: &'a str,
    pub(super) threshold: f64,
    pub(super) n_systems: usize,
    pub(super) n_datasets: usize,
    /// How often every system was asked about each example.
    pub(super) repeats: u64,
}

/// Adds the metrics that every report has.
pub(super) fn with_metrics(plan: Evaluate, report: &Report<'_>) -> Evaluate {
    let (field, threshold) = (report.score_field, report.threshold);
    let mut metrics: Vec<Arc<dyn Metric>> = vec![
        Arc::new(MeanScore::of(field)),
        Arc::new(PassRate::new(threshold, field)),
        Arc::new(CompressionRatio),
        Arc::new(CostOfPass::new(threshold, field)),
        Arc::new(Latency),
    ];
    if report.repeats > 1 {
        let pass_at_k = PassAtK::of_attempts(report.repeats, threshold, field);
        metrics.push(Arc::new(pass_at_k));
    }
    if report.n_datasets > 1 {
        metrics.push(Arc::new(PerDatasetBreakdown::of(field)));
    }
    let plan = plan
        .metrics(metrics)
        .note("score_field", field)
        .note("threshold", threshold);
    if report.n_systems > 1 {
        plan.comparison(ParetoRank::default())
    } else {
        plan
    }
}

pub(super) fn reporter(
    format: &str,
    to_file: bool,
    registry: &Registry,
) -> Result<Arc<dyn Reporter>, Failure> {
    if format == "table" && !to_file {
        let width = output::width();
        return Ok(Arc::new(TableReport { width }));
    }
    Ok(Arc::clone(registry.reporters.get(format)?))
}

/// The registry with what the user allows generated code and, when a judge is
/// needed, with the address and key for it.
pub(super) fn with_settings(
    args: &RunArgs,
    registry: &Registry,
    pace: &Arc<Pace>,
) -> Result<Registry, Failure> {
    let mut registry = registry.clone();
    if scoring::wants_judge(args)? {
        let judge = llm_judge(systems::judge_settings(args, pace)?);
        let about = "a model rates the answer";
        registry.evaluators.register(scoring::JUDGE, about, judge);
    }
    if args.allow_unsandboxed_code {
        let mut settings = CodeExecutionSettings::default();
        settings.sandbox.allow_unsandboxed = true;
        let about = "runs the code against its tests, without a sandbox where none works";
        registry
            .evaluators
            .register("code_execution", about, code_execution(settings));
    }
    Ok(registry)
}

/// What a run found and, if it ended early, why; the reason alone when it found nothing.
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

/// Reports what was found and decides how the program ends.
pub(super) fn finish(
    args: &RunArgs,
    reporter: &dyn Reporter,
    sink: Sink,
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
                format!("system `{system}` was lost on the way: {}", failure.message),
                Some("the same command does what is missing, once it is back".to_owned()),
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
        sink.discard();
        return Ok(Exit::BadInput);
    }
    warn_of_no_tokens(args, result);
    let written = sink.write(|out| reporter.write(result, out));
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
    let kept = keeping(result);
    if stopped {
        return Ok(Exit::Interrupted);
    }
    Ok(match verdict(args, result) {
        Exit::Done if !kept => Exit::RowsFailed,
        exit => exit,
    })
}

/// Says once what the store has to say; whether everything was kept.
fn keeping(result: &EvalResult) -> bool {
    let Some(kept) = &result.kept else {
        return true;
    };
    if kept.damaged > 0 {
        output::warning(&format!(
            "{} stored records are damaged and were not used; what they held was done again",
            kept.damaged
        ));
    }
    if kept.unread > 0 {
        output::warning(&format!(
            "the store `{}` could not be read for {} of the examples ({}); it may hold their \
             answers, so nothing was asked about them",
            kept.path.display(),
            kept.unread,
            kept.unread_reason.as_deref().unwrap_or("no reason given")
        ));
    }
    if let Some(failure) = &kept.failure {
        output::warning(&format!(
            "{failure}; the run went on in memory, {} records are not kept in `{}`",
            kept.dropped,
            kept.path.display()
        ));
        let complete = match kept.unread {
            0 => "; the results above are complete",
            _ => "",
        };
        output::hint(&format!(
            "free some space or choose another `--cache-dir`{complete}"
        ));
    } else if let Some(run) = &kept.run {
        output::note(&format!("kept as run {run} in {}", kept.path.display()));
    }
    kept.failure.is_none()
}

/// A misspelt `--text-field` would otherwise look like a layer that saves nothing.
fn warn_of_no_tokens(args: &RunArgs, result: &EvalResult) {
    let none = result.rows.iter().all(|row| row.input_tokens == 0);
    if none && !args.text_field.is_empty() && !result.rows.is_empty() {
        output::warning("no example has text in the fields that `--text-field` names");
    }
}

/// 3 when a system has more errors than allowed.
fn verdict(args: &RunArgs, result: &EvalResult) -> Exit {
    let mut exit = Exit::Done;
    for (system, counts) in &result.counts {
        let errors = counts.errors() + counts.not_run();
        let allowed = args.max_error_rate * counts.planned as f64;
        if errors as f64 > allowed {
            output::warning(&format!(
                "system `{system}`: {errors} of {} rows have no complete score",
                counts.planned
            ));
            let kinds = result
                .rows_of(system)
                .iter()
                .filter_map(|row| row.failure.as_ref());
            if let Some(hint) = kinds.filter_map(|failure| failure.kind.hint()).next() {
                output::hint(hint);
            }
            exit = Exit::RowsFailed;
        }
    }
    exit
}
