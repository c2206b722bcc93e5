//! `evaluate`: a run whose parts may be Python objects.
//!
//! The run has a runtime of its own that ends with it, so that a fork inherits nothing. Meanwhile
//! the calling thread serves its job queue, listens for Ctrl-C and shows progress.

mod request;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use context_bench::planner::OUT_OF_TIME;
use context_bench::{Error, EvalResult, EvalRow, RunEvent, Stop};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::error::{bad_value, bug};
use crate::executor::{self, PythonExecutor, SIGNAL_INTERVAL};
use crate::job_queue::{JobQueue, NextJob};
use crate::metric::{RunMetric, complete};
use crate::progress::{ProgressCounts, ProgressDisplay};
use crate::worker_threads::WorkerThreads;
use crate::{result, task_results};
use request::{EvaluateRequest, NodeReport};

/// How long a run that is given up may take to hand over what it has.
const GRACE: Duration = Duration::from_secs(1);
/// How many frames of the package are between a warning and the line of the user.
pub(crate) const FRAMES: u8 = 3;

/// Runs a request and returns the parts of its result.
#[pyfunction]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    request: EvaluateRequest<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let queue = Arc::new(JobQueue::default());
    let spec = request.spec(py)?;
    let workers = match request.threads(&spec) {
        0 => None,
        n => Some(WorkerThreads::start(py, n)?),
    };
    let executor = PythonExecutor::new(
        Arc::clone(&queue),
        workers.as_ref().map(|workers| Arc::clone(&workers.queue)),
        request.aio.clone().unbind(),
    );
    let executor = Arc::new(executor.shared(request.salt(py, &spec)?, request.pace()));
    let prepared = request.prepare(py, &executor, spec)?;
    let stop = Stop::new();
    let counts = Arc::new(ProgressCounts::default());
    let counted = Arc::clone(&counts);
    let mut warnings = prepared.warnings;
    let run = prepared
        .evaluate
        .stop(stop.clone())
        .progress(move |event: &RunEvent<'_>| {
            context_bench::Progress::on_event(&*counted, event);
        });
    let runtime = Runtime::new().map_err(|error| bug(&format!("cannot start threads: {error}")))?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let close_queue = CloseQueue(Arc::clone(&queue));
    runtime.spawn(async move {
        let done = run.run().await;
        // The calling thread waits for this, or has given up.
        let _ = sender.send(done);
        drop(close_queue);
    });
    let mut display = ProgressDisplay::new(request.display.clone());
    let served = serve(py, &executor, &counts, &mut display);
    let closed = display.close();
    let outcome = match served {
        Ok(()) => {
            let done = receiver.try_recv();
            if let Some(workers) = &workers {
                workers.join(py)?;
            }
            request.aio.call_method0("close")?;
            py.detach(|| runtime.shutdown_timeout(GRACE));
            done.map_err(|_| bug("the run ended without a result"))?
        }
        Err(error) => {
            stop.abort();
            queue.close();
            drop(workers);
            request.aio.call_method0("close")?;
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
    closed?;
    match outcome {
        Ok(mut result) => {
            if prepared
                .scratch
                .is_some_and(|units| units.scratch().is_some())
            {
                // Nobody asked for a store, and this one is gone now.
                result.store = None;
            }
            warnings.extend(stop.is_out_of_time().then(|| OUT_OF_TIME.to_owned()));
            prepared.closing.add(&mut result, &mut warnings);
            finish(py, prepared.metrics.as_deref(), result, warnings)
        }
        Err(Error::Dataset { source, partial }) => {
            // An exception of an iterable is raised again unchanged.
            let error = executor
                .take_dataset_error()
                .unwrap_or_else(|| bad_value(&source));
            Err(with_partial(py, error, Some(*partial)))
        }
        Err(error @ (Error::DuplicateSystem { .. } | Error::UnnamedSystem)) => {
            let hint = "hint: give each system a different `name`";
            Err(PyValueError::new_err(format!("{error}\n{hint}")))
        }
        Err(mut error) => {
            let partial = error.take_partial();
            Err(with_partial(py, bad_value(&error), partial))
        }
    }
}

/// Says what a process would do with a unit: the identities of what it would ask and score with,
/// and the endpoints that it cannot reach.
#[pyfunction]
pub(crate) fn look<'py>(py: Python<'py>, request: EvaluateRequest<'py>) -> PyResult<NodeReport> {
    let executor = PythonExecutor::new(
        Arc::new(JobQueue::default()),
        None,
        request.aio.clone().unbind(),
    );
    let spec = request.spec(py)?;
    let executor = Arc::new(executor.shared(request.salt(py, &spec)?, request.pace()));
    request.look(py, &executor, spec)
}

/// Closes the queue of the calling thread when the run is over, however it ended.
struct CloseQueue(Arc<JobQueue>);

impl Drop for CloseQueue {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Does the jobs of this thread until the run is over.
fn serve(
    py: Python<'_>,
    executor: &PythonExecutor,
    counts: &ProgressCounts,
    display: &mut ProgressDisplay<'_>,
) -> PyResult<()> {
    let queue = &executor.calling_thread;
    loop {
        match queue.take() {
            Some(job) => executor::run(py, job),
            None => match py.detach(|| queue.wait(Some(SIGNAL_INTERVAL))) {
                NextJob::Job(job) => executor::run(py, job),
                NextJob::TimedOut => {}
                NextJob::Closed => return executor.take_fatal().map_or(Ok(()), Err),
            },
        }
        py.check_signals()?;
        if let Some(error) = executor.take_fatal() {
            return Err(error);
        }
        display.update(counts)?;
    }
}

/// The parts of the result, with the metrics that Python computes.
fn finish<'py>(
    py: Python<'py>,
    user_metrics: Option<&[RunMetric]>,
    mut result: EvalResult,
    mut warnings: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let metrics = user_metrics.unwrap_or_default();
    let tasks = task_results::reports(&result);
    if user_metrics.is_some() {
        let names: Vec<&str> = metrics.iter().map(RunMetric::name).collect();
        result.config.insert("metrics".into(), json!(names));
    }
    warnings.extend(unknown_scores(metrics, &result));
    let rows = result::take_rows(py, &mut result)?;
    match complete(py, metrics, &result.summary, &rows.by_system) {
        Ok(summary) if user_metrics.is_some() => result.summary = summary,
        Ok(_) => {}
        Err(error) => {
            let parts = result::parts(py, result, &rows)?;
            return Err(attach(py, error, &parts));
        }
    }
    let parts = result::parts(py, result, &rows)?;
    task_results::insert(&parts, &tasks)?;
    parts.set_item("_notes", warnings)?;
    Ok(parts)
}

/// Warnings about metrics that read a score which no row has.
fn unknown_scores(metrics: &[RunMetric], result: &EvalResult) -> Vec<String> {
    if !result.rows.iter().any(EvalRow::is_completed) {
        return Vec::new();
    }
    let known = result.score_names();
    let mut warnings = Vec::new();
    for metric in metrics {
        if let RunMetric::Native(tracked) = metric
            && let Some(field) = tracked.field()
            && !known.iter().any(|name| **name == *field)
        {
            let known = context_bench_error::suggest::quoted_list(&known, "and");
            warnings.push(format!(
                "no row has the score `{field}` that `{}` reads; the scores are {known}",
                metric.name()
            ));
        }
    }
    warnings
}

/// An exception that carries the partial result of the run.
fn with_partial(py: Python<'_>, error: PyErr, partial: Option<EvalResult>) -> PyErr {
    let Some(mut partial) = partial else {
        return error;
    };
    let rows = result::take_rows(py, &mut partial);
    let parts = rows.and_then(|rows| result::parts(py, partial, &rows));
    match parts {
        Ok(parts) => attach(py, error, &parts),
        Err(_) => error,
    }
}

/// Attaches a result to an exception, so that nothing is lost when user code fails at the end.
fn attach(py: Python<'_>, error: PyErr, parts: &Bound<'_, PyDict>) -> PyErr {
    let result = py
        .import("context_bench.results")
        .and_then(|module| module.call_method1("_from_parts", (parts,)));
    if let Ok(result) = result {
        // Some exceptions do not accept attributes.
        let _ = error.value(py).setattr("partial_result", result);
    }
    error
}
