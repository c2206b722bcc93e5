//! Runs of tasks and groups: from names to a plan, from rows to results.

use std::path::PathBuf;
use std::sync::Arc;

use context_bench::registry::Registry;
use context_bench::task::{
    self, CatalogSettings, DataSettings, SumUp, TaskCatalog, TaskData, TaskEvaluator, TaskPlan,
};
use context_bench::{EvalResult, Evaluate};
use context_bench_tasks::config::{Config, Origin};
use context_bench_tasks::outcome::Resampling;
use context_bench_tasks::{Dataset, Error, Host, Leaf, Options, Result, Task, Warning};
use indexmap::IndexMap;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};

use crate::convert;

/// Resamples for standard errors that are not analytic.
const ITERATIONS: usize = 1000;

/// Tasks with their prompts, ready to be run.
#[pyclass(frozen, name = "NativePlan", module = "context_bench._native")]
pub(crate) struct NativePlan(pub(crate) TaskPlan);

/// What a plan is made of.
pub(crate) struct Wanted {
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) specs: Vec<String>,
    pub(crate) overrides: Option<Map<String, Value>>,
    /// Records by task and split, in place of those that tasks name.
    pub(crate) records: IndexMap<String, Dataset>,
    pub(crate) options: Options,
    pub(crate) hub: Option<context_bench::dataset::catalogue::HubAccess>,
}

/// Selects tasks, loads their records and renders all prompts.
pub(crate) fn plan(wanted: &Wanted, host: Arc<dyn Host>) -> Result<(TaskPlan, Vec<Warning>)> {
    let settings = CatalogSettings {
        include: wanted.roots.clone(),
        cache: wanted.cache.clone(),
        home: std::env::home_dir(),
    };
    let catalog = TaskCatalog::build(&Registry::builtin().catalogue, &settings)?;
    let (tree, mut warnings) = catalog.select(&wanted.specs)?;
    let folder = std::env::var_os("LM_EVAL_DATASET_DIR");
    let data = DataSettings {
        hub: wanted.hub.clone(),
        dataset_dir: folder.map(PathBuf::from),
        ..DataSettings::default()
    };
    let data = TaskData::new(catalog.datasets.clone(), data);
    let mut plan = TaskPlan::new(tree.clone(), Arc::clone(&host));
    for (leaf, key) in tree.leaves().into_iter().zip(tree.keys()) {
        if plan.contains(&key) {
            continue;
        }
        refuse(leaf)?;
        let mut leaf = leaf.clone();
        if let Some(overrides) = &wanted.overrides {
            let origin = Origin::other("<overrides>");
            leaf.config.extend(&Config::from_json(overrides, &origin));
        }
        let task = Task::build(&leaf)?;
        let given = wanted.records.get(&leaf.name);
        let loaded = match given {
            Some(_) => None,
            None => Some(data.load(&task, &wanted.options, &*host)?),
        };
        let records = given.or(loaded.as_ref());
        if let Some(records) = records {
            let requests = task.requests(records, &wanted.options, &*host)?;
            plan.add(&key, task, requests);
        }
    }
    warnings.extend(plan.warnings().iter().cloned());
    Ok((plan, warnings))
}

/// What is not run from here is said before anything is paid for.
fn refuse(leaf: &Leaf) -> Result<()> {
    let name = &leaf.name;
    if leaf.is_native() {
        return Err(
            Error::new(format!("`{name}` is a dataset, not a task in YAML")).with_hint(format!(
                "write `evaluate(systems, \"{name}\", …)`, or run `context-bench --tasks {name}`"
            )),
        );
    }
    if leaf.python {
        return Err(Error::new(format!("task `{name}` is a Python class"))
            .with_hint(format!("run `context-bench --tasks {name}`")));
    }
    Ok(())
}

/// Lets a run ask and score tasks.
pub(crate) fn wire(plan: &TaskPlan, evaluate: Evaluate) -> (Evaluate, Arc<TaskEvaluator>) {
    let (evaluate, evaluator) = plan.wire(evaluate);
    (evaluate.common_score(task::SCORE, "f1"), evaluator)
}

/// Sums up tasks and groups; gives the tables beside the numbers.
pub(crate) fn sum_up(
    py: Python<'_>,
    plan: &TaskPlan,
    evaluator: &TaskEvaluator,
    result: &mut EvalResult,
) -> Result<IndexMap<String, Value>> {
    let how = SumUp {
        resampling: Resampling {
            iterations: ITERATIONS,
            ..Resampling::default()
        },
        ..SumUp::default()
    };
    let outcomes = py.detach(|| task::results(plan, evaluator, result, how))?;
    let mut shown = IndexMap::new();
    for (system, outcome) in outcomes {
        let found = outcome.results.to_json();
        let mut entry = found.clone();
        entry.insert("table".into(), json!(outcome.results.table()));
        entry.insert("groups_table".into(), json!(outcome.results.groups_table()));
        entry.insert("counts".into(), json!(outcome.counts));
        let warnings = outcome.warnings.iter().map(ToString::to_string);
        entry.insert("warnings".into(), warnings.collect());
        shown.insert(system.clone(), Value::Object(entry));
        result.tasks.insert(system, found);
    }
    Ok(shown)
}

/// Records that Python gives, by split.
pub(crate) fn records(splits: &Bound<'_, PyDict>) -> PyResult<Dataset> {
    let mut dataset = Dataset::new();
    for (split, rows) in splits.iter() {
        let rows = rows
            .try_iter()?
            .map(|row| Ok(crate::system::example_of(&row?)?.into_fields()))
            .collect::<PyResult<Vec<_>>>()?;
        dataset.insert(split.extract()?, rows);
    }
    Ok(dataset)
}

/// Puts what tasks found into the parts of a result.
pub(crate) fn put(parts: &Bound<'_, PyDict>, shown: &IndexMap<String, Value>) -> PyResult<()> {
    let py = parts.py();
    let tasks = PyDict::new(py);
    for (system, entry) in shown {
        tasks.set_item(system, convert::to_python(py, entry)?)?;
    }
    parts.set_item("tasks", tasks)
}
