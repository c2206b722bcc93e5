//! What a call of `evaluate` or `run` asks for, made into a run.

use std::path::PathBuf;
use std::sync::Arc;

use context_bench::chat::{Endpoint, Pace};
use context_bench::dataset::{RepeatedIds, Skipped};
use context_bench::memory::MemoryProvider as _;
use context_bench::plan::{BenchmarkSpec, OutputSpec, RunPlan, RunSpec, SystemSpec, Workers};
use context_bench::planner::{
    self, Given, GivenExamples, Notice, PlannedRun, SettledUnits, Surroundings,
};
use context_bench::store::Store;
use context_bench::tokens::{TokenCounter, Tokenizer};
use context_bench::{EvalResult, Evaluate, Example, Metric, Stop};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::FRAMES;
use crate::error::{bad_value, bug, with_hint};
use crate::evaluator::NativeEvaluator;
use crate::executor::PythonExecutor;
use crate::leases::NativeLeases;
use crate::memory::PythonMemory;
use crate::metric::RunMetric;
use crate::native_system::NativeSystem;
use crate::notices::{notice_text, store_warnings, warn, warn_of_unlisted_models};
use crate::proxy::NativeProxy;
use crate::system::UnstorableAnswers;
use crate::units::NativeUnits;
use crate::{
    blocking, convert, engine, evaluator, examples, surroundings, system, task_results, tokens,
};

/// The most worker threads for Python code with `max_workers="auto"`.
const AUTO_THREADS: usize = 32;

/// The name of examples that are passed as objects.
const EXAMPLES: &str = "examples";

/// What the Python half of the package asks for: a spec, and the objects that a spec cannot hold.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct EvaluateRequest<'py> {
    /// A `RunSpec` as a dict, or the path of a run file.
    spec: Bound<'py, PyAny>,
    /// Systems in addition to those of the spec.
    systems: Vec<Bound<'py, PyAny>>,
    /// Examples in addition to the benchmarks of the spec.
    dataset: Option<Bound<'py, PyAny>>,
    /// The most examples to take of `dataset`.
    max_examples: Option<usize>,
    /// Evaluators instead of the automatic choice.
    evaluators: Option<Vec<Bound<'py, PyAny>>>,
    /// Metrics instead of those of reports.
    metrics: Option<Vec<Bound<'py, PyAny>>>,
    /// Records by task and split, instead of those that tasks name.
    records: Option<Bound<'py, PyDict>>,
    /// The file that caches the index of tasks.
    index: Option<PathBuf>,
    tokenizer: Option<Bound<'py, PyAny>>,
    pub(super) display: Option<Bound<'py, PyAny>>,
    pub(super) aio: Bound<'py, PyAny>,
    /// In runs of several processes: what they all have in common.
    salt: Option<String>,
    /// In runs of several processes: the requests that this one may make.
    leases: Option<Bound<'py, NativeLeases>>,
    /// Who asks systems in other processes.
    executor: Option<Bound<'py, PyAny>>,
    /// In such a process: what it is to ask about.
    unit: Option<UnitRequest<'py>>,
}

/// What a process says about itself: identities of what it would use, and endpoints that it cannot
/// reach.
pub(super) type NodeReport = (Vec<(String, String)>, Vec<String>);

/// A unit of a run, as the driver hands it out.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct UnitRequest<'py> {
    /// What the driver decided, as JSON.
    plan: String,
    /// The examples; none for a look whether everything is there.
    data: Option<Vec<u8>>,
    /// Dicts of examples that travel as they are, by place.
    dicts: Vec<Option<Bound<'py, PyAny>>>,
}

impl UnitRequest<'_> {
    fn plan(&self) -> PyResult<RunPlan> {
        serde_json::from_str(&self.plan).map_err(|error| bug(&error.to_string()))
    }

    fn examples(&self) -> PyResult<Vec<Example>> {
        let Some(data) = &self.data else {
            return Ok(Vec::new());
        };
        let mut failure = None;
        let apart = |place: usize| {
            let dict = self.dicts.get(place)?.as_ref()?;
            let made = examples::example(dict, place);
            made.map_err(|error| failure = Some(error)).ok()
        };
        let examples = planner::unit_examples(data, apart);
        match failure {
            Some(error) => Err(error),
            None => examples.map_err(|error| bad_value(&error)),
        }
    }
}

/// A run that is ready to begin.
pub(super) struct PreparedRun {
    pub(super) evaluate: Evaluate,
    /// The metrics of the user; without them the run has its own.
    pub(super) metrics: Option<Vec<RunMetric>>,
    /// Warnings for the user.
    pub(super) warnings: Vec<String>,
    pub(super) closing: ClosingWarnings,
    /// The folder of a store that nobody asked for, until the run is over.
    pub(super) scratch: Option<SettledUnits>,
}

/// What is needed to warn the user when the run is over.
pub(super) struct ClosingWarnings {
    plan: RunPlan,
    skipped: Skipped,
    repeated: RepeatedIds,
    unstorable: Vec<UnstorableAnswers>,
}

impl ClosingWarnings {
    /// Adds skipped records to a result, and its warnings to the others.
    pub(super) fn add(&self, result: &mut EvalResult, warnings: &mut Vec<String>) {
        let unstorable = self.unstorable.iter();
        warnings.extend(unstorable.filter_map(UnstorableAnswers::warning));
        let read = planner::examples_read(&self.skipped, &self.repeated);
        planner::note_skipped(result, &self.skipped);
        let found = planner::remarks(&self.plan, result);
        warnings.extend(read.iter().chain(&found).map(notice_text));
    }
}

/// The systems of a run, as far as they are objects.
#[derive(Default)]
struct SystemNotes {
    /// Names of systems without a `cache_key`.
    unidentified: Vec<String>,
    unstorable: Vec<UnstorableAnswers>,
}

impl<'py> EvaluateRequest<'py> {
    /// How fast endpoints may be asked, when a quota outside decides that.
    pub(super) fn pace(&self) -> Option<Arc<Pace>> {
        self.leases.as_ref().map(|leases| leases.get().pace())
    }

    /// What all processes of a run have in common, if it has several.
    pub(super) fn salt(&self, py: Python<'py>, spec: &RunSpec) -> PyResult<Option<String>> {
        match &self.salt {
            None if self.executor.is_some() || spec.engine.is_some() => engine::salt(py).map(Some),
            salt => Ok(salt.clone()),
        }
    }

    /// The spec, without the objects.
    pub(super) fn spec(&self, py: Python<'py>) -> PyResult<RunSpec> {
        if let Ok(path) = self.spec.extract::<PathBuf>() {
            let read = py.detach(|| RunSpec::read(&path));
            return read.map_err(|error| bad_value(&error));
        }
        let fields = convert::to_fields(self.spec.cast::<PyDict>()?)?;
        let text = serde_json::to_vec(&fields).map_err(|error| bug(&error.to_string()))?;
        // The name makes the parser read JSON, so that numbers follow its rules and not YAML's.
        RunSpec::parse(&text, "<spec>.json").map_err(|error| bad_value(&error))
    }

    /// The number of worker threads for Python code: none when the calling thread can do
    /// everything, or when everything is native.
    pub(super) fn threads(&self, spec: &RunSpec) -> usize {
        let is_native = |object: &Bound<'_, PyAny>| {
            object.is_instance_of::<NativeProxy>()
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
        // A conversation has any number of questions.
        let len = len.filter(|_| spec.memory.is_none());
        let rows = len.map(|n| n * self.systems.len() + 1);
        wanted.min(rows.unwrap_or(wanted).max(2))
    }

    /// The token counter: the one that was passed, otherwise that of the spec, otherwise the
    /// default.
    fn counter(
        &self,
        spec: &RunSpec,
        executor: &Arc<PythonExecutor>,
    ) -> PyResult<Arc<dyn TokenCounter>> {
        match (&self.tokenizer, &spec.scoring.tokenizer) {
            (None, Some(name)) => {
                let known: Tokenizer = name.parse().map_err(|error| bad_value(&error))?;
                Ok(known.counter())
            }
            (passed, _) => tokens::counter(passed.as_ref(), executor),
        }
    }

    /// Plans the run.
    pub(super) fn prepare(
        &self,
        py: Python<'py>,
        executor: &Arc<PythonExecutor>,
        mut spec: RunSpec,
    ) -> PyResult<PreparedRun> {
        let mut around = surroundings::of(py, self.index.clone())?;
        // What workers plan: they add the objects themselves.
        let asked = spec.clone();
        let given = &mut around.given;
        let counter = self.counter(&spec, executor)?;
        let mut notes = match spec.memory {
            Some(_) => self.add_memories(py, &mut spec, given, executor, &counter)?,
            None => self.add_systems(&mut spec, given, executor, &counter)?,
        };
        let all_scores_known = self.add_evaluators(&mut spec, given, executor)?;
        let metrics = self.add_metrics(&mut spec, all_scores_known)?;
        self.add_data(&mut spec, given, executor)?;
        given.counter = Some(counter);
        given.pace = self.pace();
        let planned = match &self.unit {
            Some(unit) => {
                let (plan, examples) = (unit.plan()?, unit.examples()?);
                py.detach(|| planner::plan_unit(&spec, &plan, examples, &around))
            }
            None => py.detach(|| planner::plan(&spec, &around)),
        };
        let mut planned = match planned {
            Ok(planned) => planned,
            Err(error) => {
                for notice in Notice::shown(error.notices()) {
                    warn(py, &notice_text(&notice), FRAMES)?;
                }
                return Err(bad_value(&error));
            }
        };
        let shown = Notice::shown(&planned.notices);
        let mut warnings: Vec<String> = shown.iter().map(notice_text).collect();
        warnings.extend(without_effect(&spec));
        if spec.cache_dir.is_none() {
            // Nothing is stored, so nothing is lost.
            notes.unstorable.clear();
        }
        let closing = ClosingWarnings {
            plan: planned.plan().clone(),
            skipped: planned.skipped.clone(),
            repeated: planned.repeated.clone(),
            unstorable: notes.unstorable,
        };
        let store = open_store(py, &spec, &notes.unidentified, &mut warnings);
        py.detach(|| planned.read_baseline(store.as_ref(), &around))
            .map_err(|error| bad_value(&error))?;
        warn_of_unlisted_models(py, &planned.systems, store.as_ref(), &mut warnings)?;
        let keep_text = spec.output.text.unwrap_or(true);
        let known = (store.as_ref(), &around, executor.salt());
        let settled = self.ask_elsewhere(py, &mut planned, &asked, known, &mut warnings)?;
        let mut evaluate = planned.evaluate().keep_text(keep_text);
        for metric in metrics.iter().flatten() {
            if let RunMetric::Native(tracked) = metric {
                evaluate = evaluate.metrics([Arc::clone(tracked) as Arc<dyn Metric>]);
            }
        }
        if let Some(max) = self.max_examples.filter(|_| self.dataset.is_some()) {
            evaluate = evaluate.max_examples(max);
        }
        evaluate = evaluate.command(match spec.memory {
            Some(_) => "python: context_bench.evaluate_memory()",
            None => "python: context_bench.evaluate()",
        });
        if let Some(store) = store {
            evaluate = evaluate.store(store);
        }
        if let Some(settled) = &settled {
            let (store, elsewhere) = (settled.store.clone(), settled.elsewhere.clone());
            evaluate = evaluate.store(store).asked_elsewhere(elsewhere);
        }
        Ok(PreparedRun {
            evaluate,
            metrics,
            warnings,
            closing,
            scratch: settled,
        })
    }

    /// Lets an engine ask the systems of a run, if it has one.
    fn ask_elsewhere(
        &self,
        py: Python<'py>,
        planned: &mut PlannedRun,
        asked: &RunSpec,
        (store, around, salt): (Option<&Store>, &Surroundings, Option<&str>),
        warnings: &mut Vec<String>,
    ) -> PyResult<Option<SettledUnits>> {
        let engine = match (&self.executor, planned.engine.take()) {
            (Some(executor), _) => executor.clone(),
            (None, Some(cluster)) => engine::of(py, &cluster)?,
            (None, None) => return Ok(None),
        };
        let units = planned.hand_out(asked, store.cloned(), around);
        let units = units.map_err(|error| bad_value(&error))?;
        let stop = Stop::new();
        let units = Bound::new(
            py,
            NativeUnits::new(units, stop.clone(), salt.unwrap_or_default().to_owned()),
        )?;
        let objects = (&self.systems, &self.evaluators, &self.tokenizer);
        engine.call_method1("_ask", (&units, objects, self.display.is_some()))?;
        if stop.is_out_of_time() {
            warnings.push(planner::OUT_OF_TIME.to_owned());
        }
        let settled = units.get().take()?.settle(planned, stop.is_stopped());
        settled.map(Some).map_err(|error| bad_value(&error))
    }

    /// What a process says about itself before it gets a unit: what it would ask, and which
    /// endpoints it cannot reach.
    pub(super) fn look(
        &self,
        py: Python<'py>,
        executor: &Arc<PythonExecutor>,
        mut spec: RunSpec,
    ) -> PyResult<NodeReport> {
        let mut around = surroundings::of(py, self.index.clone())?;
        let counter = self.counter(&spec, executor)?;
        self.add_systems(&mut spec, &mut around.given, executor, &counter)?;
        self.add_evaluators(&mut spec, &mut around.given, executor)?;
        around.given.counter = Some(counter);
        let plan = self.unit.as_ref().map(UnitRequest::plan).transpose()?;
        let plan = plan.ok_or_else(|| bug("a look without a unit"))?;
        let planned = py.detach(|| planner::plan_unit(&spec, &plan, Vec::new(), &around));
        let planned = planned.map_err(|error| bad_value(&error))?;
        let reaching = async {
            let mut unreachable = Vec::new();
            for (endpoint, _) in planned.systems.endpoints() {
                unreachable.extend(reach(endpoint).await);
            }
            for url in planned.evaluators.iter().filter_map(|one| one.endpoint()) {
                if let Ok(endpoint) = Endpoint::parse(&url) {
                    unreachable.extend(reach(&endpoint).await);
                }
            }
            unreachable.dedup();
            unreachable
        };
        let unreachable = blocking::wait(py, reaching)?;
        Ok((planned.identities(), unreachable))
    }

    fn add_systems(
        &self,
        spec: &mut RunSpec,
        given: &mut Given,
        executor: &Arc<PythonExecutor>,
        counter: &Arc<dyn TokenCounter>,
    ) -> PyResult<SystemNotes> {
        let mut notes = SystemNotes::default();
        let tasks = has_tasks(spec).then(|| spec.likelihoods.clone());
        for object in &self.systems {
            let made = system::for_run(object, executor, counter, tasks.as_ref())?;
            let name = made.given.system.name().to_owned();
            if made.given.system.identity().is_none() {
                notes.unidentified.push(name.clone());
            }
            notes.unstorable.extend(made.unstorable);
            // Two systems of one name get different keys here; the run then rejects them.
            let key = free_name(&name, |key| given.systems.contains_key(key));
            spec.systems.push(SystemSpec {
                given: Some(key.clone()),
                ..SystemSpec::default()
            });
            given.systems.insert(key, made.given);
        }
        Ok(notes)
    }

    /// Adds the memories. The spec already names those of `evaluate_memory`.
    fn add_memories(
        &self,
        py: Python<'py>,
        spec: &mut RunSpec,
        given: &mut Given,
        executor: &Arc<PythonExecutor>,
        counter: &Arc<dyn TokenCounter>,
    ) -> PyResult<SystemNotes> {
        let mut notes = SystemNotes::default();
        let wrapper = py
            .import("context_bench._memory_instance")?
            .getattr("MemoryObject")?;
        for object in &self.systems {
            let named = object.is_instance(&wrapper)?;
            let object = match named {
                true => object.clone(),
                false => wrapper.call1((object,))?,
            };
            let memory = PythonMemory::new(&object, executor, counter)?;
            if memory.identity().is_none() {
                notes.unidentified.push(memory.name().to_owned());
            }
            let key = match named {
                true => object.getattr("key")?.extract()?,
                false => free_name(memory.name(), |key| given.memories.contains_key(key)),
            };
            if !named {
                spec.systems.push(SystemSpec {
                    given: Some(key.clone()),
                    ..SystemSpec::default()
                });
            }
            given.memories.insert(key, Arc::new(memory));
        }
        Ok(notes)
    }

    /// Adds the evaluators; returns whether all score names of the run are known in advance.
    fn add_evaluators(
        &self,
        spec: &mut RunSpec,
        given: &mut Given,
        executor: &Arc<PythonExecutor>,
    ) -> PyResult<bool> {
        let Some(objects) = &self.evaluators else {
            return Ok(false);
        };
        let mut all_known = !has_tasks(spec);
        let mut names = Vec::new();
        for object in objects {
            let (made, native) = evaluator::for_run(object, executor)?;
            all_known &= native || !made.score_names().is_empty();
            let key = free_name(made.name(), |key| given.evaluators.contains_key(key));
            given.evaluators.insert(key.clone(), made);
            names.push(key);
        }
        spec.scoring.evaluators = Some(names);
        Ok(all_known)
    }

    fn add_metrics(
        &self,
        spec: &mut RunSpec,
        all_scores_known: bool,
    ) -> PyResult<Option<Vec<RunMetric>>> {
        let Some(objects) = &self.metrics else {
            return Ok(None);
        };
        let metrics = objects
            .iter()
            .map(|object| RunMetric::new(object, all_scores_known))
            .collect::<PyResult<Vec<_>>>()?;
        let names = metrics.iter().map(|metric| metric.name().to_owned());
        spec.scoring.metrics = Some(names.collect());
        Ok(Some(metrics))
    }

    fn add_data(
        &self,
        spec: &mut RunSpec,
        given: &mut Given,
        executor: &Arc<PythonExecutor>,
    ) -> PyResult<()> {
        if let Some(dataset) = &self.dataset {
            let dataset = match spec.memory {
                // Planning looks at all conversations, while this thread can serve nobody.
                Some(_) => examples::all(dataset, None)?,
                // An engine is given all of them before the run begins.
                None if self.executor.is_some() || spec.engine.is_some() => {
                    examples::all(dataset, self.max_examples)?
                }
                None => examples::dataset(dataset, self.max_examples, executor)?,
            };
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
                let splits = task_results::read_records(&splits.cast_into::<PyDict>()?)?;
                given.records.insert(task.extract()?, Arc::new(splits));
            }
        }
        Ok(())
    }
}

/// Why an endpoint cannot be reached. Behind an outgoing proxy the host itself need not be.
async fn reach(endpoint: &Endpoint) -> Option<String> {
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    let set = |name: String| std::env::var(name).is_ok_and(|value| !value.is_empty());
    let mut proxies = names.iter();
    if !endpoint.is_loopback()
        && proxies.any(|name| set((*name).to_owned()) || set(name.to_lowercase()))
    {
        return None;
    }
    let reached = endpoint.check_reachable().await;
    reached.err().map(|problem| problem.to_string())
}

fn has_tasks(spec: &RunSpec) -> bool {
    spec.benchmarks.iter().any(|one| one.task.is_some())
}

/// Warnings about keys of a run file that only the program uses.
fn without_effect(spec: &RunSpec) -> impl Iterator<Item = String> {
    let unused = [
        (spec.output != OutputSpec::default(), "output"),
        (spec.python.interpreter.is_some(), "python.interpreter"),
    ];
    let given = unused.into_iter().filter(|(is_given, _)| *is_given);
    given.map(|(_, key)| {
        format!(
            "`{key}` of the spec has no effect in Python: results are returned, and functions of \
             tasks run in this interpreter"
        )
    })
}

/// Opens the store of a spec. If that fails, the run goes on in memory.
fn open_store(
    py: Python<'_>,
    spec: &RunSpec,
    unidentified: &[String],
    warnings: &mut Vec<String>,
) -> Option<Store> {
    let dir = spec.cache_dir.as_ref()?;
    match py.detach(|| Store::open(dir)) {
        Ok(opened) => {
            warnings.extend(opened.notes);
            warnings.extend(store_warnings(&opened.store, unidentified));
            Some(opened.store)
        }
        Err(error) => {
            let error = with_hint(&error);
            warnings.push(format!(
                "{error}; the run continues in memory and nothing will be stored"
            ));
            None
        }
    }
}

/// A name, with a number appended when it is taken.
fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n| format!("{name}#{n}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let found = names.find(|name| !is_taken(name));
    found.unwrap_or_else(|| name.to_owned())
}
