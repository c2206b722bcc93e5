//! `evaluate`: a run whose parts may be Python objects.
//!
//! The run itself happens on a runtime of its own, which ends with it: nothing
//! is left for a fork to inherit. Meanwhile the calling thread serves the lane
//! *home*, listens for Ctrl-C and shows how far things are.

use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use context_bench::dataset::{RepeatedIds, Skipped};
use context_bench::plan::{BenchmarkSpec, OutputSpec, RunPlan, RunSpec, SystemSpec, Workers};
use context_bench::planner::{self, GivenExamples, Notice, OUT_OF_TIME, Systems};
use context_bench::store::Store;
use context_bench::tokens::{TokenCounter, Tokenizer};
use context_bench::{Error, EvalResult, Evaluate, Metric, RunEvent, Stop};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::call::{self, Desk};
use crate::error::{bad_value, bug, in_python, shown, with_hint};
use crate::evaluator::NativeEvaluator;
use crate::lane::{Crew, Lane, TICK, Taken};
use crate::metric::{Placed, Shared, complete};
use crate::progress::{Shown, Tally};
use crate::proxy::PyProxy;
use crate::system::{Lossy, NativeSystem};
use crate::{
    blocking, convert, evaluator, examples, result, surroundings, system, task_run, tokens,
};

/// The most worker threads for Python code when their number finds itself.
const AUTO_THREADS: usize = 32;
/// How long a run that is given up may take to put down what it has.
const GRACE: Duration = Duration::from_secs(1);

/// What the face of the package asks for: a spec, and the objects that no spec can hold.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked<'py> {
    /// A `RunSpec` as a dict, or the path of a run file.
    spec: Bound<'py, PyAny>,
    /// Systems beside those of the spec.
    systems: Vec<Bound<'py, PyAny>>,
    /// Examples beside the benchmarks of the spec.
    dataset: Option<Bound<'py, PyAny>>,
    /// So many of them at most.
    max_examples: Option<usize>,
    /// Evaluators in place of the automatic choice.
    evaluators: Option<Vec<Bound<'py, PyAny>>>,
    /// Metrics in place of those of reports.
    metrics: Option<Vec<Bound<'py, PyAny>>>,
    /// Records by task and split, in place of those that tasks name.
    records: Option<Bound<'py, PyDict>>,
    /// The file that keeps the index of tasks.
    index: Option<PathBuf>,
    tokenizer: Option<Bound<'py, PyAny>>,
    display: Option<Bound<'py, PyAny>>,
    aio: Bound<'py, PyAny>,
}

/// The name of examples that a program brings along.
const EXAMPLES: &str = "examples";

/// Runs a plan and gives the parts of its result.
#[pyfunction]
pub(crate) fn evaluate<'py>(py: Python<'py>, plan: Asked<'py>) -> PyResult<Bound<'py, PyDict>> {
    let home = Arc::new(Lane::default());
    let spec = plan.spec(py)?;
    let crew = match plan.threads(&spec) {
        0 => None,
        n => Some(Crew::start(py, n)?),
    };
    let lane = crew.as_ref().map(|crew| Arc::clone(&crew.lane));
    let desk = Arc::new(Desk::new(
        Arc::clone(&home),
        lane,
        plan.aio.clone().unbind(),
    ));
    let prepared = plan.prepare(py, &desk, spec)?;
    let stop = Stop::new();
    let tally = Arc::new(Tally::default());
    let told = Arc::clone(&tally);
    let mut notes = prepared.notes;
    let after = prepared.after;
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
            notes.extend(stop.is_out_of_time().then(|| OUT_OF_TIME.to_owned()));
            notes.extend(prepared.lossy.iter().filter_map(Lossy::note));
            let result = after.told(result, &mut notes);
            finish(py, prepared.metrics.as_deref(), result, notes)
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
    /// Those that the user brought; without them the run has its own.
    metrics: Option<Vec<Placed>>,
    /// Sentences for the user.
    notes: Vec<String>,
    /// More of them, when the run is over.
    lossy: Vec<Lossy>,
    after: After,
}

/// What is needed to say what there is to say when a run is over.
struct After {
    plan: RunPlan,
    skipped: Skipped,
    repeated: RepeatedIds,
}

impl After {
    fn told(&self, mut result: EvalResult, notes: &mut Vec<String>) -> EvalResult {
        let read = planner::examples_read(&self.skipped, &self.repeated);
        planner::note_skipped(&mut result, &self.skipped);
        let found = planner::remarks(&self.plan, &result);
        notes.extend(read.iter().chain(&found).map(said));
        result
    }
}

/// A notice as a warning has it.
pub(crate) fn said(notice: &Notice) -> String {
    shown(&match &notice.hint {
        Some(hint) => format!("{}\nhint: {}", notice.what, in_python(hint)),
        None => notice.what.clone(),
    })
}

impl<'py> Asked<'py> {
    /// What was asked, but for the objects.
    fn spec(&self, py: Python<'py>) -> PyResult<RunSpec> {
        if let Ok(path) = self.spec.extract::<PathBuf>() {
            let read = py.detach(|| RunSpec::read(&path));
            return read.map_err(|error| bad_value(&error));
        }
        let fields = convert::to_fields(self.spec.cast::<PyDict>()?)?;
        let text = serde_json::to_vec(&fields).map_err(|error| bug(&error.to_string()))?;
        // Its name says that it is JSON: numbers are then what JSON says, not YAML.
        RunSpec::parse(&text, "<spec>.json").map_err(|error| bad_value(&error))
    }

    /// How many worker threads Python code needs: none when the calling thread
    /// can do it all, or when everything is native.
    fn threads(&self, spec: &RunSpec) -> usize {
        let is_native = |object: &Bound<'_, PyAny>| {
            object.is_instance_of::<PyProxy>()
                || object.is_instance_of::<NativeSystem>()
                || object.is_instance_of::<NativeEvaluator>()
        };
        let evaluators = self.evaluators.iter().flatten();
        let all_native = self.systems.iter().chain(evaluators).all(is_native);
        let workers = match spec.limits.max_workers {
            Some(Workers::Auto) => AUTO_THREADS,
            Some(Workers::Number(n)) => n,
            None => 1,
        };
        if all_native || workers < 2 {
            return 0;
        }
        // Scoring must go on while every worker waits inside a slow system.
        let wanted = workers + workers.min(4);
        let len = self.dataset.as_ref().and_then(|dataset| dataset.len().ok());
        let rows = len.map(|n| n * self.systems.len() + 1);
        wanted.min(rows.unwrap_or(wanted).max(2))
    }

    /// What counts tokens: what was passed, else what the spec names, else the usual.
    fn counter(&self, spec: &RunSpec, desk: &Arc<Desk>) -> PyResult<Arc<dyn TokenCounter>> {
        match (&self.tokenizer, &spec.scoring.tokenizer) {
            (None, Some(name)) => {
                let known: Tokenizer = name.parse().map_err(|error| bad_value(&error))?;
                Ok(known.counter())
            }
            (passed, _) => tokens::counter(passed.as_ref(), desk),
        }
    }

    fn prepare(&self, py: Python<'py>, desk: &Arc<Desk>, mut spec: RunSpec) -> PyResult<Prepared> {
        let mut around = surroundings::of(py, self.index.clone())?;
        let mut notes = Vec::new();
        let has_tasks = spec.benchmarks.iter().any(|one| one.task.is_some());
        let tasks = has_tasks.then(|| spec.likelihoods.clone());
        let given = &mut around.given;
        let counter = self.counter(&spec, desk)?;
        let (mut nameless, mut lossy) = (Vec::new(), Vec::new());
        for object in &self.systems {
            let made = system::of_object(object, desk, &counter, tasks.as_ref())?;
            let name = made.given.system.name().to_owned();
            if made.given.system.identity().is_none() {
                nameless.push(name.clone());
            }
            lossy.extend(made.lossy);
            // Two of one name are told apart here, and refused by the run.
            let key = free(&name, |key| given.systems.contains_key(key));
            spec.systems.push(SystemSpec {
                given: Some(key.clone()),
                ..SystemSpec::default()
            });
            given.systems.insert(key, made.given);
        }
        let mut checked = !has_tasks && self.evaluators.is_some();
        if let Some(objects) = &self.evaluators {
            let mut names = Vec::new();
            for object in objects {
                let (made, native) = evaluator::of_object(object, desk)?;
                checked &= native || !made.score_names().is_empty();
                let key = free(made.name(), |key| given.evaluators.contains_key(key));
                given.evaluators.insert(key.clone(), made);
                names.push(key);
            }
            spec.scoring.evaluators = Some(names);
        }
        let metrics = self.metrics.as_ref().map(|objects| {
            let placed = objects.iter().map(|object| Placed::new(object, checked));
            placed.collect::<PyResult<Vec<_>>>()
        });
        let metrics = metrics.transpose()?;
        if let Some(metrics) = &metrics {
            let names = metrics.iter().map(|metric| metric.name().to_owned());
            spec.scoring.metrics = Some(names.collect());
        }
        if let Some(dataset) = &self.dataset {
            let dataset = examples::dataset(dataset, self.max_examples, desk)?;
            given
                .examples
                .insert(EXAMPLES.to_owned(), GivenExamples::new(dataset));
            spec.benchmarks.push(BenchmarkSpec {
                given: Some(EXAMPLES.to_owned()),
                ..BenchmarkSpec::default()
            });
        }
        if let Some(records) = &self.records {
            for (task, splits) in records.iter() {
                let splits = task_run::records(&splits.cast_into::<PyDict>()?)?;
                given.records.insert(task.extract()?, Arc::new(splits));
            }
        }
        given.counter = Some(counter);
        let planned = match py.detach(|| planner::plan(&spec, &around)) {
            Ok(planned) => planned,
            Err(error) => {
                for notice in Notice::shown(error.notices()) {
                    warn(py, &said(&notice), 3)?;
                }
                return Err(bad_value(&error));
            }
        };
        notes.extend(Notice::shown(&planned.notices).iter().map(said));
        let unused = [
            (spec.output != OutputSpec::default(), "output"),
            (spec.python.interpreter.is_some(), "python.interpreter"),
        ];
        for (_, key) in unused.iter().filter(|(is_said, _)| *is_said) {
            notes.push(format!(
                "`{key}` of the spec has no effect in Python: what is found is returned, and \
                 functions of tasks run in this interpreter"
            ));
        }
        let after = After {
            plan: planned.plan().clone(),
            skipped: planned.skipped.clone(),
            repeated: planned.repeated.clone(),
        };
        let keep_text = spec.output.text.unwrap_or(true);
        let store = store(py, &spec, &nameless, &mut notes);
        say_unlisted(py, &planned.systems, store.as_ref(), &mut notes)?;
        let mut evaluate = planned.evaluate().keep_text(keep_text);
        for metric in metrics.iter().flatten() {
            if let Placed::Native(noted) = metric {
                evaluate =
                    evaluate.metrics([Arc::new(Shared(Arc::clone(noted))) as Arc<dyn Metric>]);
            }
        }
        if let Some(max) = self.max_examples.filter(|_| self.dataset.is_some()) {
            evaluate = evaluate.max_examples(max);
        }
        evaluate = evaluate.command("python: context_bench.evaluate()");
        if let Some(store) = store {
            evaluate = evaluate.store(store);
        }
        if spec.cache_dir.is_none() {
            // Nothing is stored, so nothing is lost.
            lossy.clear();
        }
        Ok(Prepared {
            evaluate,
            metrics,
            notes,
            lossy,
            after,
        })
    }
}

/// The store that a spec names; without it the run goes on in memory.
fn store(
    py: Python<'_>,
    spec: &RunSpec,
    nameless: &[String],
    notes: &mut Vec<String>,
) -> Option<Store> {
    let dir = spec.cache_dir.as_ref()?;
    match py.detach(|| Store::open(dir)) {
        Ok(opened) => {
            notes.extend(opened.notes);
            notes.extend(planner::nothing_kept(&opened.store).as_ref().map(said));
            notes.extend(not_reused(nameless));
            Some(opened.store)
        }
        Err(error) => {
            let error = with_hint(&error);
            notes.push(format!(
                "{error}; the run goes on in memory, nothing is kept"
            ));
            None
        }
    }
}

/// Warns of models that endpoints do not list before anything is asked of them, and of
/// what was noticed until then.
fn say_unlisted(
    py: Python<'_>,
    systems: &Systems,
    store: Option<&Store>,
    notes: &mut Vec<String>,
) -> PyResult<()> {
    let unlisted = blocking::wait(py, systems.unlisted_models(store))?;
    if !unlisted.is_empty() {
        let first = std::mem::take(notes);
        for note in first.into_iter().chain(unlisted.iter().map(said)) {
            // The face has two frames between the user and us.
            warn(py, &note, 3)?;
        }
    }
    Ok(())
}

/// Warns as the face of the package does, about the line of the user: so many frames up.
pub(crate) fn warn(py: Python<'_>, note: &str, frames: u8) -> PyResult<()> {
    let kind = py
        .import("context_bench.runner")?
        .getattr("EvaluationWarning")?;
    py.import("warnings")?
        .call_method1("warn", (note, kind, frames))?;
    Ok(())
}

/// A name, with a number behind it when it is taken.
fn free(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n| format!("{name}#{n}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let found = names.find(|name| !is_taken(name));
    found.unwrap_or_else(|| name.to_owned())
}

/// What to tell about systems whose answers cannot be found again.
fn not_reused(nameless: &[String]) -> Option<String> {
    if nameless.is_empty() {
        return None;
    }
    let names = context_bench_error::suggest::quoted_list(nameless, "and");
    Some(format!(
        "answers of {names} are kept but not reused: give the object an attribute `cache_key` \
         with all that decides its answers, such as a version and its settings"
    ))
}

/// The parts of the result, with the metrics that Python computes.
fn finish<'py>(
    py: Python<'py>,
    own_metrics: Option<&[Placed]>,
    mut result: EvalResult,
    mut notes: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let metrics = own_metrics.unwrap_or_default();
    let found = task_run::shown(&result);
    if own_metrics.is_some() {
        let names: Vec<&str> = metrics.iter().map(Placed::name).collect();
        result.config.insert("metrics".into(), json!(names));
    }
    let seen = result.score_names();
    let any = result.rows.iter().any(context_bench::EvalRow::is_completed);
    for metric in metrics {
        if let Placed::Native(noted) = metric
            && let Some(field) = noted.field()
            && any
            && !seen.iter().any(|name| **name == *field)
        {
            let known = context_bench_error::suggest::quoted_list(&seen, "and");
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
        Ok(summary) if own_metrics.is_some() => result.summary = summary,
        Ok(_) => {}
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
