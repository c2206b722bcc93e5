//! `evaluate`: a run whose parts may be Python objects.
//!
//! The run itself happens on a runtime of its own, which ends with it: nothing
//! is left for a fork to inherit. Meanwhile the calling thread serves the lane
//! *home*, listens for Ctrl-C and shows how far things are.

use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use context_bench::store::Store;
use context_bench::task::{TaskEvaluator, TaskPlan};
use context_bench::{Dataset, Error, EvalResult, Evaluate, MaxWorkers, Metric, RunEvent, Stop};
use indexmap::IndexMap;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::call::{self, Desk};
use crate::error::{bad_value, bug, with_hint};
use crate::evaluator::NativeEvaluator;
use crate::lane::{Crew, Lane, TICK, Taken};
use crate::metric::{Placed, Shared, complete};
use crate::progress::{Shown, Tally};
use crate::proxy::PyProxy;
use crate::system::{Lossy, NativeSystem};
use crate::task_run::NativePlan;
use crate::{catalogue, evaluator, examples, proxy, result, system, task_run, tokens};

/// The most calls in flight when the number finds itself.
const AUTO_UP_TO: usize = 256;
/// The most worker threads for Python code then.
const AUTO_THREADS: usize = 32;
/// How long a run that is given up may take to put down what it has.
const GRACE: Duration = Duration::from_secs(1);

/// What the face of the package asks for; everything is there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Plan<'py> {
    systems: Vec<Bound<'py, PyAny>>,
    /// Names of datasets, or an iterable.
    names: Option<Vec<String>>,
    dataset: Bound<'py, PyAny>,
    /// Tasks in place of a dataset and evaluators.
    tasks: Option<Bound<'py, NativePlan>>,
    evaluators: Vec<Bound<'py, PyAny>>,
    metrics: Vec<Bound<'py, PyAny>>,
    max_examples: Option<usize>,
    /// `None` lets the number find itself.
    max_workers: Option<usize>,
    text_fields: Option<Vec<String>>,
    cache_dir: Option<PathBuf>,
    tokenizer: Option<Bound<'py, PyAny>>,
    example_timeout: Option<f64>,
    display: Option<Bound<'py, PyAny>>,
    aio: Bound<'py, PyAny>,
}

/// Runs a plan and gives the parts of its result.
#[pyfunction]
pub(crate) fn evaluate<'py>(py: Python<'py>, plan: Plan<'py>) -> PyResult<Bound<'py, PyDict>> {
    let home = Arc::new(Lane::default());
    let crew = match plan.threads() {
        0 => None,
        n => Some(Crew::start(py, n)?),
    };
    let lane = crew.as_ref().map(|crew| Arc::clone(&crew.lane));
    let desk = Arc::new(Desk::new(
        Arc::clone(&home),
        lane,
        plan.aio.clone().unbind(),
    ));
    let prepared = plan.prepare(py, &desk)?;
    let stop = Stop::new();
    let tally = Arc::new(Tally::default());
    let told = Arc::clone(&tally);
    let mut notes = prepared.notes;
    let run = prepared
        .evaluate
        .stop(stop.clone())
        .progress(move |event: &RunEvent<'_>| {
            context_bench::Progress::on_event(&*told, event);
        });
    let runtime = Runtime::new().map_err(|error| bug(&format!("no threads: {error}")))?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let closing = Closing(Arc::clone(&home));
    runtime.spawn(async move {
        let done = run.run().await;
        // The calling thread waits for it, or has given up.
        let _ = sender.send(done);
        drop(closing);
    });
    let mut shown = Shown::new(plan.display.clone());
    let served = serve(py, &desk, &tally, &mut shown);
    let ended = shown.end();
    let outcome = match served {
        Ok(()) => {
            let done = receiver.try_recv();
            if let Some(crew) = &crew {
                crew.end(py)?;
            }
            plan.aio.call_method0("close")?;
            py.detach(|| runtime.shutdown_timeout(GRACE));
            done.map_err(|_| bug("the run ended without a result"))?
        }
        Err(error) => {
            stop.abort();
            home.close();
            drop(crew);
            plan.aio.call_method0("close")?;
            let partial = py.detach(move || receiver.recv_timeout(GRACE));
            runtime.shutdown_background();
            let mut partial = match partial {
                Ok(Ok(result)) => Some(result),
                Ok(Err(mut error)) => error.take_partial(),
                _ => None,
            };
            if let Some(partial) = &mut partial {
                // A stream of unknown length looks complete wherever it stops.
                partial.interrupted = true;
            }
            return Err(with_partial(py, error, partial));
        }
    };
    ended?;
    match outcome {
        Ok(result) => {
            notes.extend(prepared.lossy.iter().filter_map(Lossy::note));
            let tasks = plan.tasks.as_ref().zip(prepared.scorer.as_ref());
            let tasks = tasks.map(|(tasks, scorer)| (&tasks.get().plan, &**scorer));
            finish(py, &prepared.metrics, tasks, result, notes)
        }
        Err(Error::Dataset { source, partial }) => {
            // What an iterable raised is raised again as it is.
            let error = desk.take_ended().unwrap_or_else(|| bad_value(&source));
            Err(with_partial(py, error, Some(*partial)))
        }
        Err(error @ (Error::DuplicateSystem { .. } | Error::UnnamedSystem)) => {
            let hint = "hint: give each system a `name` of its own";
            Err(PyValueError::new_err(format!("{error}\n{hint}")))
        }
        Err(mut error) => {
            let partial = error.take_partial();
            Err(with_partial(py, bad_value(&error), partial))
        }
    }
}

/// Closes the lane when the run is over, however it ended.
struct Closing(Arc<Lane>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Does what the run wants to have done on this thread, until it is over.
fn serve(py: Python<'_>, desk: &Desk, tally: &Tally, shown: &mut Shown<'_>) -> PyResult<()> {
    loop {
        match desk.home.take() {
            Some(job) => call::run(py, job),
            None => match py.detach(|| desk.home.wait(Some(TICK))) {
                Taken::Job(job) => call::run(py, job),
                Taken::Nothing => {}
                Taken::Closed => return desk.take_fatal().map_or(Ok(()), Err),
            },
        }
        py.check_signals()?;
        if let Some(error) = desk.take_fatal() {
            return Err(error);
        }
        shown.tick(tally)?;
    }
}

/// A run about to begin.
struct Prepared {
    evaluate: Evaluate,
    metrics: Vec<Placed>,
    /// Scores tasks, and knows what they said.
    scorer: Option<Arc<TaskEvaluator>>,
    /// Sentences for the user.
    notes: Vec<String>,
    /// More of them, when the run is over.
    lossy: Vec<Lossy>,
}

impl<'py> Plan<'py> {
    fn workers(&self) -> MaxWorkers {
        match self.max_workers {
            Some(n) => MaxWorkers::Fixed(n),
            None => MaxWorkers::Auto { up_to: AUTO_UP_TO },
        }
    }

    /// How many worker threads Python code needs: none when the calling thread
    /// can do it all, or when everything is native.
    fn threads(&self) -> usize {
        let is_native = |object: &Bound<'_, PyAny>| {
            object.is_instance_of::<PyProxy>()
                || object.is_instance_of::<NativeSystem>()
                || object.is_instance_of::<NativeEvaluator>()
        };
        let all_native =
            self.systems.iter().all(is_native) && self.evaluators.iter().all(is_native);
        let workers = match self.workers() {
            MaxWorkers::Auto { .. } => AUTO_THREADS,
            fixed => fixed.most(),
        };
        if all_native || workers < 2 {
            return 0;
        }
        // Scoring must go on while every worker waits inside a slow system.
        let wanted = workers + workers.min(4);
        let rows = self.dataset.len().map(|n| n * self.systems.len() + 1);
        wanted.min(rows.unwrap_or(wanted).max(2))
    }

    fn prepare(&self, py: Python<'py>, desk: &Arc<Desk>) -> PyResult<Prepared> {
        let mut notes = Vec::new();
        let mut evaluate = context_bench::evaluate().max_workers(self.workers());
        let (mut nameless, mut lossy) = (Vec::new(), Vec::new());
        for object in &self.systems {
            let tasks = self.tasks.as_ref().map(|tasks| &tasks.get().plan);
            let made = system::of_object(object, desk, tasks)?;
            if made.system.identity().is_none() {
                nameless.push(made.system.name().to_owned());
            }
            lossy.extend(made.lossy);
            evaluate = evaluate.systems([made.system]);
        }
        let mut checked = self.tasks.is_none();
        let mut scorer = None;
        if let Some(tasks) = &self.tasks {
            let (wired, made) = tasks.get().wire(evaluate);
            (evaluate, scorer) = (wired, Some(made));
        }
        for object in &self.evaluators {
            let (made, native) = evaluator::of_object(object, desk)?;
            checked &= native || !made.score_names().is_empty();
            evaluate = evaluate.evaluators([made]);
        }
        let metrics: Vec<Placed> = self
            .metrics
            .iter()
            .map(|object| Placed::new(object, checked))
            .collect::<PyResult<_>>()?;
        for metric in &metrics {
            if let Placed::Native(noted) = metric {
                evaluate =
                    evaluate.metrics([Arc::new(Shared(Arc::clone(noted))) as Arc<dyn Metric>]);
            }
        }
        evaluate = evaluate.dataset(self.open(py, desk)?);
        if let Some(max) = self.max_examples {
            evaluate = evaluate.max_examples(max);
        }
        if let Some(fields) = &self.text_fields {
            evaluate = evaluate.text_fields(fields.iter().cloned());
        }
        if let Some(seconds) = self.example_timeout {
            evaluate = evaluate.example_timeout(proxy::seconds("example_timeout", seconds)?);
        }
        evaluate = evaluate
            .token_counter(tokens::counter(self.tokenizer.as_ref(), desk)?)
            .command("python: context_bench.evaluate()");
        if let Some(dir) = &self.cache_dir {
            match py.detach(|| Store::open(dir)) {
                Ok(opened) => {
                    notes.extend(opened.notes);
                    evaluate = evaluate.store(opened.store);
                    notes.extend(not_reused(&nameless));
                }
                Err(error) => {
                    let error = with_hint(&error);
                    notes.push(format!(
                        "{error}; the run goes on in memory, nothing is kept"
                    ));
                }
            }
        } else {
            // Nothing is stored, so nothing is lost.
            lossy.clear();
        }
        Ok(Prepared {
            evaluate,
            metrics,
            scorer,
            notes,
            lossy,
        })
    }

    fn open(&self, py: Python<'py>, desk: &Arc<Desk>) -> PyResult<Dataset> {
        if let Some(tasks) = &self.tasks {
            return Ok(tasks.get().dataset());
        }
        match &self.names {
            Some(names) => catalogue::open(py, names, self.max_examples),
            None => examples::dataset(&self.dataset, self.max_examples, desk),
        }
    }
}

/// What to tell about systems whose answers cannot be found again.
fn not_reused(nameless: &[String]) -> Option<String> {
    if nameless.is_empty() {
        return None;
    }
    let names = context_bench::text::suggest::quoted_list(nameless, "and");
    Some(format!(
        "answers of {names} are kept but not reused: give the object an attribute `cache_key` \
         with all that decides its answers, such as a version and its settings"
    ))
}

/// The parts of the result, with the metrics that Python computes.
fn finish<'py>(
    py: Python<'py>,
    metrics: &[Placed],
    tasks: Option<(&TaskPlan, &TaskEvaluator)>,
    mut result: EvalResult,
    mut notes: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = match tasks {
        Some((plan, scorer)) => task_run::sum_up(py, plan, scorer, &mut result),
        None => IndexMap::new(),
    };
    let names: Vec<&str> = metrics.iter().map(Placed::name).collect();
    result.config.insert("metrics".into(), json!(names));
    let seen = result.score_names();
    let any = result.rows.iter().any(context_bench::EvalRow::is_completed);
    for metric in metrics {
        if let Placed::Native(noted) = metric
            && let Some(field) = noted.field()
            && any
            && !seen.iter().any(|name| **name == *field)
        {
            let known = context_bench::text::suggest::quoted_list(&seen, "and");
            notes.push(format!(
                "no row has the score `{field}` that `{}` reads; there are {known}",
                metric.name()
            ));
        }
    }
    let systems = result.summary.keys().cloned().collect::<Vec<_>>();
    let rows = std::mem::take(&mut result.rows);
    let rows = result::rows(py, rows, systems.into_iter())?;
    match complete(py, metrics, &result.summary, &rows) {
        Ok(summary) => result.summary = summary,
        Err(error) => {
            let parts = result::parts(py, result, &rows)?;
            return Err(attach(py, error, &parts));
        }
    }
    let parts = result::parts(py, result, &rows)?;
    task_run::put(&parts, &found)?;
    parts.set_item("_notes", notes)?;
    Ok(parts)
}

/// An exception that carries what was found until then.
fn with_partial(py: Python<'_>, error: PyErr, partial: Option<EvalResult>) -> PyErr {
    let Some(mut partial) = partial else {
        return error;
    };
    let systems = partial.summary.keys().cloned().collect::<Vec<_>>();
    let rows = std::mem::take(&mut partial.rows);
    let parts = result::rows(py, rows, systems.into_iter())
        .and_then(|rows| result::parts(py, partial, &rows));
    match parts {
        Ok(parts) => attach(py, error, &parts),
        Err(_) => error,
    }
}

/// Nothing is lost when user code fails at the end.
fn attach(py: Python<'_>, error: PyErr, parts: &Bound<'_, PyDict>) -> PyErr {
    let made = py
        .import("context_bench.results")
        .and_then(|module| module.call_method1("_from_parts", (parts,)));
    if let Ok(result) = made {
        // An exception that takes no attributes goes without.
        let _ = error.value(py).setattr("partial_result", result);
    }
    error
}
