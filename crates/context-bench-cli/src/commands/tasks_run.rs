//! `run --tasks`: tasks and groups through systems, with their own results.
//!
//! The same run as over datasets (runner, store, progress, exit codes); what is asked
//! comes from tasks, and what they make of the answers is shown beside the comparison.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use context_bench::metric::{CompressionRatio, Latency, Metric};
use context_bench::registry::Registry;
use context_bench::report::Reporter;
use context_bench::task::tasks::aggregate::MacroError;
use context_bench::task::tasks::outcome::Resampling;
use context_bench::task::{self, SCORE, SumUp, TaskOutcome, TaskPlan};
use context_bench::tokens::Tokenizer;
use context_bench::{EvalResult, Evaluate, Stop, evaluate};
use indexmap::IndexMap;

use super::run::{Report, finish, found, open_store, reporter, with_metrics, with_settings};
use crate::args::RunArgs;
use crate::backend::{self, TaskSettings};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::task_files::{self, RunFacts};
use crate::{datasets, progress, reach, signals, systems, task_plan, tasks};

pub(crate) async fn run(
    args: &RunArgs,
    registry: &Registry,
    command: &str,
) -> Result<Exit, Failure> {
    let started = SystemTime::now();
    if !args.dataset.is_empty() {
        return Err(
            Failure::bad_input("both `--tasks` and `--dataset` are given")
                .hint("datasets of the catalogue are tasks too: `--tasks gsm8k`"),
        );
    }
    let (args, settings) = &backend::resolved(args)?;
    let reporter = reporter(&args.output, args.output_file.is_some(), registry)?;
    let tokenizer: Tokenizer = args.tokenizer.parse()?;
    let pace = systems::pace(args);
    let counter = tokenizer.counter();
    let systems = systems::build(args, registry, &counter, Arc::clone(&pace), Some(settings))?;
    let catalog = tasks::catalog(registry, &args.include_path)?;
    let registry = &Registry {
        catalogue: catalog.datasets.clone(),
        ..with_settings(args, registry, &pace)?
    };
    let planned = task_plan::plan(args, settings, &catalog)?;
    check(args, settings, &planned.plan, &systems)?;
    let (evaluation, evaluators) = planned.scoring.wire(evaluate(), args, registry)?;
    planned.scoring.warn_of_no_judge(args)?;
    if planned.scoring.len() == 0 && (!args.evaluator.is_empty() || args.judge_url.is_some()) {
        output::warning("`--evaluator` and `--judge-url` have no effect: tasks have their metrics");
    }
    let (evaluation, evaluator) = planned.plan.wire(evaluation, args.task.log_samples);
    let evaluation = evaluation.common_score(SCORE, "f1");
    let files = task_files::open(args)?;
    let sink = Sink::open(args.output_file.as_deref())?;
    let unreached = reach::knock(&systems, &evaluators).await;
    if let Err(failure) = unreached.check(args.cache_dir.as_deref()) {
        sink.discard();
        return Err(failure);
    }
    let (store, unusable) = open_store(args.cache_dir.as_deref());
    let stop = Stop::new();
    let evaluation = match unreached.give_up(evaluation, &systems.systems, store.as_ref()) {
        Ok(evaluation) => evaluation,
        Err(failure) => {
            sink.discard();
            return Err(failure);
        }
    };
    let mut run = metrics(evaluation, args, &planned.plan, systems.systems.len())
        .systems(systems.systems)
        .dataset(planned.dataset)
        .max_workers(args.max_workers)
        .token_counter(counter)
        .progress(progress::display(args.quiet))
        .stop(stop.clone())
        .command(command)
        .note("tasks", args.task.select.tasks.clone());
    if !args.text_field.is_empty() {
        run = run.text_fields(args.text_field.iter().cloned());
    }
    if let Some(seconds) = args.example_timeout {
        run = run.example_timeout(Duration::from_secs_f64(seconds));
    }
    if let Some(store) = store {
        run = run.store(store);
    }
    let signals = signals::stop_on_interrupt(stop.clone());
    let deadline = signals::stop_after(args.max_time, stop.clone());
    let done = run.run().await;
    signals.abort();
    let out_of_time = deadline.is_some_and(|deadline| deadline.is_finished());
    let (mut result, broken) = match found(done) {
        Ok(all) => all,
        Err(failure) => {
            sink.discard();
            return Err(failure);
        }
    };
    datasets::report_skipped(&planned.skipped);
    datasets::note_skipped(&mut result, &planned.skipped);
    let outcomes = task::results(
        &planned.plan,
        &evaluator,
        &result,
        SumUp {
            resampling: Resampling {
                iterations: args.task.bootstrap_iters,
                ..Resampling::default()
            },
            macro_error: match args.task.pooled_stderr {
                true => MacroError::Pooled,
                false => MacroError::Macro,
            },
            samples: args.task.log_samples,
        },
    );
    let mut remarks = planned.plan.warnings().to_vec();
    remarks.extend(
        outcomes
            .values()
            .flat_map(|outcome| outcome.warnings.clone()),
    );
    tasks::warn(&remarks);
    let facts = RunFacts {
        args,
        settings,
        started,
        system: "",
        num_fewshot: match planned.plan.makes_prompts() {
            true => args.task.select.prompt.num_fewshot,
            false => None,
        },
    };
    result.tasks = outcomes
        .iter()
        .map(|(system, outcome)| {
            let facts = RunFacts { system, ..facts };
            (system.clone(), facts.results(outcome))
        })
        .collect();
    let interrupted = stop.is_stopped() && !out_of_time;
    let shown = Shown {
        text: text(args, &facts, &outcomes),
        inner: reporter,
    };
    let nothing_ran = result.rows.iter().all(|row| !row.is_completed());
    if !nothing_ran || result.gave_up.is_empty() {
        report_lost(&outcomes);
    }
    let exit = finish(args, &shown, sink, &result, broken, interrupted)?;
    // Results of nothing would only look like results.
    if !nothing_ran && let Err(failure) = files.write(&facts, &outcomes) {
        output::error(&failure);
        return Ok(failure.exit);
    }
    let lacking = warn_of_no_values(&outcomes) || lacks_documents(args, &outcomes);
    Ok(match exit {
        Exit::Done if unusable || lacking => Exit::RowsFailed,
        exit => exit,
    })
}

/// Says which tasks and metrics have no value, and why; whether there are any.
fn warn_of_no_values(outcomes: &IndexMap<String, TaskOutcome>) -> bool {
    let failed = outcomes.values().flat_map(|outcome| &outcome.failed);
    let mut any = false;
    for error in failed {
        output::warning(&error.to_string());
        if let Some(hint) = error.hint() {
            output::hint(&hint);
        }
        any = true;
    }
    any
}

/// Whether more documents have no score than the user allows. Rows may all be there, and
/// what they say together still not be scored.
fn lacks_documents(args: &RunArgs, outcomes: &IndexMap<String, TaskOutcome>) -> bool {
    outcomes.values().any(|outcome| {
        let counts = outcome.counts.values();
        let (lacking, planned) = counts.fold((0, 0), |(lacking, planned), counts| {
            (lacking + counts.lacking(), planned + counts.planned)
        });
        lacking as f64 > args.max_error_rate * planned as f64
    })
}

/// What is asked must fit who is asked, before the first call.
fn check(
    args: &RunArgs,
    settings: &TaskSettings,
    plan: &TaskPlan,
    systems: &systems::Systems,
) -> Result<(), Failure> {
    let chat = args.task.select.prompt.options(None, None)?.chat.is_some();
    let endpoint = systems.first_endpoint().map(ToString::to_string);
    if let Some(endpoint) = &endpoint {
        task::check_likelihoods(plan, settings.likelihoods.is_some(), endpoint)?;
    }
    if chat {
        if let Some(key) = plan.first_with_likelihoods() {
            return Err(Failure::bad_input(format!(
                "task `{key}` asks for likelihoods, and `--apply-chat-template` for messages, \
                 which give none"
            ))
            .hint(format!(
                "leave it out, or let the model answer: `{key}@generate`"
            )));
        }
        if systems
            .first_endpoint()
            .is_some_and(|endpoint| !endpoint.is_chat())
        {
            return Err(Failure::bad_input(
                "`--apply-chat-template` needs an endpoint for chats, and this one continues text",
            )
            .hint("name the address that ends in `/chat/completions`, or its base URL"));
        }
        if !args.system.is_empty() {
            output::warning(
                "with `--apply-chat-template` there is no `context` that a context layer could \
                 change; all systems get the same",
            );
        }
    }
    Ok(())
}

/// The metrics of the comparison; those of quality only where rows have a score.
fn metrics(evaluation: Evaluate, args: &RunArgs, plan: &TaskPlan, n_systems: usize) -> Evaluate {
    if !plan.has_score() {
        let metrics: [Arc<dyn Metric>; 2] = [Arc::new(CompressionRatio), Arc::new(Latency)];
        return evaluation.metrics(metrics);
    }
    let report = Report {
        score_field: args.score_field.as_deref().unwrap_or(SCORE),
        threshold: args.threshold,
        n_systems,
        n_datasets: 1,
        repeats: args.n_repeats() as u64,
    };
    with_metrics(evaluation, &report)
}

/// The tables of tasks, for people.
fn text(
    args: &RunArgs,
    facts: &RunFacts<'_>,
    outcomes: &IndexMap<String, TaskOutcome>,
) -> Option<String> {
    if !["table", "markdown"].contains(&args.output.as_str()) {
        return None;
    }
    let mut text = String::new();
    for (system, outcome) in outcomes {
        text += &format!("{}\n\n", facts.of(system).line());
        text += &outcome.results.table();
        if let Some(groups) = outcome.results.groups_table() {
            text += &format!("\n{groups}");
        }
        text += "\n";
    }
    Some(text)
}

/// How many tasks that lack documents are named.
const SHOWN_LOST: usize = 10;

/// Says which tasks lack documents, and why the first of them is missing.
fn report_lost(outcomes: &IndexMap<String, TaskOutcome>) {
    let lost = outcomes.iter().flat_map(|(system, outcome)| {
        let counts = outcome.counts.iter();
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

/// A report with the tables of tasks before it.
struct Shown {
    text: Option<String>,
    inner: Arc<dyn Reporter>,
}

impl Reporter for Shown {
    fn write(&self, result: &EvalResult, out: &mut dyn Write) -> io::Result<()> {
        if let Some(text) = &self.text {
            out.write_all(text.as_bytes())?;
        }
        self.inner.write(result, out)
    }
}
