//! `run`: systems over datasets, and one comparison of them.
//!
//! Reads as a list: check the arguments, make everything that is named, run,
//! report, decide the exit code. Nothing is sent before all of it is checked.

use std::sync::Arc;

use context_bench::evaluator::LlmJudge;
use context_bench::metric::{
    CompressionRatio, CostOfPass, Latency, MeanScore, Metric, ParetoRank, PassRate,
    PerDatasetBreakdown,
};
use context_bench::registry::{Params, Registry};
use context_bench::report::{Reporter, TableReport};
use context_bench::tokens::Tokenizer;
use context_bench::{Dataset, Error, EvalResult, Evaluate, Evaluator, Stop, evaluate};

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::{datasets, progress, signals, systems};

pub(crate) fn main(args: &RunArgs, registry: &Registry) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::bad_input(format!("cannot start threads: {error}")))?;
    let exit = runtime.block_on(run(args, registry));
    // Never wait for what a second Ctrl-C left behind.
    runtime.shutdown_background();
    exit
}

async fn run(args: &RunArgs, registry: &Registry) -> Result<Exit, Failure> {
    let reporter = reporter(args, registry)?;
    let tokenizer: Tokenizer = args.tokenizer.parse()?;
    let judge = systems::judge(args)?;
    let mut systems = systems::build(args, registry, &tokenizer.counter())?;
    if let Some(judge) = &judge {
        systems.also_needs(judge.endpoint());
    }
    let evaluators = evaluators(args, registry, judge)?;
    let dataset = datasets::open(args, registry)?;
    let sink = Sink::open(args.output_file.as_deref())?;
    if let Err(failure) = systems.check_reachable().await {
        sink.discard();
        return Err(failure);
    }
    let skipped = dataset.skipped().clone();
    let stop = Stop::new();
    let signals = signals::stop_on_interrupt(stop.clone());
    let done = plan(args, dataset)
        .systems(systems.systems)
        .evaluators(evaluators)
        .token_counter(tokenizer.counter())
        .progress(progress::display(args.quiet))
        .stop(stop.clone())
        .run()
        .await;
    signals.abort();
    datasets::report_skipped(&skipped);
    let (result, broken) = match done {
        Ok(result) if result.config["num_examples"] == 0 && !stop.is_stopped() => {
            sink.discard();
            return Err(datasets::nothing_loaded());
        }
        Ok(result) => (result, None),
        Err(Error::Dataset { source, partial }) => (*partial, Some(Failure::from(source))),
        Err(error) => {
            sink.discard();
            return Err(error.into());
        }
    };
    finish(args, &*reporter, sink, &result, broken, stop.is_stopped())
}

/// Metrics and limits, as far as they follow from the arguments alone.
fn plan(args: &RunArgs, dataset: Dataset) -> Evaluate {
    let (field, threshold) = (args.score_field.as_str(), args.threshold);
    let mut metrics: Vec<Arc<dyn Metric>> = vec![
        Arc::new(MeanScore::of(field)),
        Arc::new(PassRate::new(threshold, field)),
        Arc::new(CompressionRatio),
        Arc::new(CostOfPass::new(threshold, field)),
        Arc::new(Latency),
    ];
    if args.dataset.len() > 1 {
        metrics.push(Arc::new(PerDatasetBreakdown::of(field)));
    }
    let mut plan = evaluate()
        .dataset(dataset)
        .metrics(metrics)
        .max_workers(args.max_workers);
    if args.proxy.len() + args.system.len() + args.command.len() > 1 {
        plan = plan.comparison(ParetoRank::default());
    }
    if !args.text_field.is_empty() {
        plan = plan.text_fields(args.text_field.iter().cloned());
    }
    plan
}

fn reporter(args: &RunArgs, registry: &Registry) -> Result<Arc<dyn Reporter>, Failure> {
    if args.output == "table" && args.output_file.is_none() {
        let width = output::width();
        return Ok(Arc::new(TableReport { width }));
    }
    Ok(Arc::clone(registry.reporters.get(&args.output)?))
}

fn evaluators(
    args: &RunArgs,
    registry: &Registry,
    judge: Option<LlmJudge>,
) -> Result<Vec<Arc<dyn Evaluator>>, Failure> {
    let mut names: Vec<&str> = args.evaluator.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.push("answer_quality");
    }
    let make = |name: &str| -> Result<Arc<dyn Evaluator>, Failure> {
        let factory = registry.evaluators.get(name)?;
        Ok(factory(Params::none(name))?)
    };
    let mut evaluators = names.into_iter().map(make).collect::<Result<Vec<_>, _>>()?;
    evaluators.extend(judge.map(|judge| Arc::new(judge) as _));
    Ok(evaluators)
}

/// Reports what was found and decides how the program ends.
fn finish(
    args: &RunArgs,
    reporter: &dyn Reporter,
    sink: Sink,
    result: &EvalResult,
    broken: Option<Failure>,
    stopped: bool,
) -> Result<Exit, Failure> {
    for (system, failure) in &result.gave_up {
        output::error(&Failure {
            what: format!(
                "system `{system}` cannot work as it is configured: {}",
                failure.message
            ),
            hint: failure.kind.hint().map(str::to_owned),
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
    if stopped {
        return Ok(Exit::Interrupted);
    }
    Ok(verdict(args, result))
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
