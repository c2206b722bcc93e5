//! Runs of tasks and groups: from names to a plan, from rows to results.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use context_bench::dataset::DatasetError;
use context_bench::dataset::catalogue::LoadSettings;
use context_bench::error::Hint as _;
use context_bench::evaluator::{AnswerQuality, CodeExecutionSettings};
use context_bench::registry::{Params, Registry, code_execution};
use context_bench::task::{
    self, CatalogSettings, ClassTask, DataSettings, Native, SumUp, TaskCatalog, TaskData,
    TaskEvaluator, TaskPlan,
};
use context_bench::{EvalResult, Evaluate, Evaluator};
use context_bench_tasks::config::{Config, Origin};
use context_bench_tasks::options::Limit;
use context_bench_tasks::outcome::Resampling;
use context_bench_tasks::{
    Dataset, Error, Function, Host, Leaf, Options, Requests, Result, Task, Warning,
};
use indexmap::IndexMap;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};

use crate::{cli, convert};

/// Resamples for standard errors that are not analytic.
const ITERATIONS: usize = 1000;

/// Tasks with their prompts, ready to be run once.
#[pyclass(frozen, name = "NativePlan", module = "context_bench._native")]
pub(crate) struct NativePlan {
    pub(crate) plan: TaskPlan,
    /// The examples of datasets of the catalogue, until the run takes them.
    natives: Mutex<Option<context_bench::Dataset>>,
    scored: Vec<ScoredDataset>,
}

/// How a dataset of the catalogue is scored.
struct ScoredDataset {
    tag: String,
    evaluators: Vec<Arc<dyn Evaluator>>,
    field: Option<String>,
}

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
pub(crate) fn plan(wanted: &Wanted, host: Arc<dyn Host>) -> Result<(NativePlan, Vec<Warning>)> {
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
    let planner = Planner {
        wanted,
        data: TaskData::new(catalog.datasets.clone(), data),
        catalog,
        host: Arc::clone(&host),
    };
    let mut planned = NativePlan {
        plan: TaskPlan::new(tree.clone(), host),
        natives: Mutex::new(None),
        scored: Vec::new(),
    };
    for (leaf, key) in tree.leaves().into_iter().zip(tree.keys()) {
        if planned.plan.contains(&key) {
            continue;
        }
        let mut leaf = leaf.clone();
        if let Some(overrides) = &wanted.overrides {
            let origin = Origin::other("<overrides>");
            leaf.config.extend(&Config::from_json(overrides, &origin));
        }
        let named = |error: Error| error.prefixed(format!("task `{}`", leaf.name));
        if leaf.is_native() {
            planner.native(&key, &leaf, &mut planned)?;
        } else if leaf.python {
            let class = planner.class(&leaf).map_err(named)?;
            planned.plan.add_class(&key, class);
        } else {
            let task = Task::build(&leaf)?;
            let requests = planner.requests(&task, &leaf)?;
            planned.plan.add(&key, task, requests);
        }
    }
    warnings.extend(planned.plan.warnings().iter().cloned());
    Ok((planned, warnings))
}

struct Planner<'a> {
    wanted: &'a Wanted,
    catalog: TaskCatalog,
    data: TaskData,
    host: Arc<dyn Host>,
}

impl Planner<'_> {
    fn requests(&self, task: &Task, leaf: &Leaf) -> Result<Requests> {
        let options = &self.wanted.options;
        match self.wanted.records.get(&leaf.name) {
            Some(records) => task.requests(records, options, &*self.host),
            None => {
                let records = self.data.load(task, options, &*self.host)?;
                task.requests(&records, options, &*self.host)
            }
        }
    }

    /// A Python object builds its own requests.
    fn class(&self, leaf: &Leaf) -> Result<ClassTask> {
        let options = &self.wanted.options;
        let class = leaf.config.get("class").and_then(Function::from_json);
        let class = class.ok_or_else(|| Error::new("`class` must be `!function module.Class`"))?;
        let mut config = leaf.config.to_json();
        config.shift_remove("class");
        let own = config.get("num_fewshot").and_then(Value::as_u64);
        let own = own.and_then(|shots| usize::try_from(shots).ok());
        let shots = match (own, options.num_fewshot) {
            (Some(0), _) => Some(0),
            (own, None) => own,
            (_, given) => given,
        };
        if let Some(shots) = shots {
            config.insert("num_fewshot".into(), json!(shots));
        }
        let splits = match self.wanted.records.get(&leaf.name) {
            Some(records) => records
                .iter()
                .map(|(split, rows)| {
                    let rows = rows.iter().cloned().map(Value::Object);
                    (split.clone(), rows.collect())
                })
                .collect(),
            None => self.data.splits_of(leaf, &*self.host)?,
        };
        let object = self.host.object(&class, &config, &splits)?;
        // Not every class has a seed to set.
        let _ = object.call("set_fewshot_seed", &[json!(options.seed)], &Map::new());
        let mut keywords = Map::new();
        if let Some(limit) = options.limit {
            let documents = object.get("eval_docs").ok();
            let n = documents.and_then(|documents| Some(documents.as_array()?.len()));
            let n = match (limit, n) {
                (Limit::Count(n), _) => n,
                (limit, Some(all)) => limit.apply(all),
                (Limit::Share(_), None) => {
                    let what = "the class does not tell how many documents it has";
                    let hint = "give `limit` as a number of documents";
                    return Err(Error::new(what).with_hint(hint));
                }
            };
            keywords.insert("limit".into(), json!(n));
        }
        let config = leaf.config.to_json();
        let shots = shots.unwrap_or(0);
        ClassTask::new(object, config, &keywords, &options.generation, shots)
    }

    /// A dataset of the catalogue is asked and scored in its own way.
    fn native(&self, key: &str, leaf: &Leaf, planned: &mut NativePlan) -> Result<()> {
        let Some(config) = self.catalog.dataset(leaf)? else {
            return Ok(());
        };
        let options = &self.wanted.options;
        let settings = LoadSettings {
            hub: self.wanted.hub.clone(),
            max_examples: match options.limit {
                Some(Limit::Count(n)) => Some(n),
                _ => None,
            },
            ..LoadSettings::default()
        };
        let told =
            |error: &DatasetError| Error::new(error.to_string()).with_some_hint(error.hint());
        let tag = config.full_name();
        let mut dataset = config.load(&settings).map_err(|error| told(&error))?;
        if let Some(limit @ Limit::Share(_)) = options.limit {
            let all: std::result::Result<Vec<_>, _> = dataset.into_iter().collect();
            let mut all = all.map_err(|error| told(&error))?;
            all.truncate(limit.apply(all.len()));
            dataset = context_bench::Dataset::from(all);
        }
        let known = planned.scored.iter().any(|scored| scored.tag == tag);
        let documents = dataset.known_len();
        if !known {
            let dataset = dataset.tagged(tag.as_str());
            let slot = planned.natives.get_mut().unwrap_or_else(|e| e.into_inner());
            *slot = Some(match slot.take() {
                None => dataset,
                Some(all) => all.chain(dataset),
            });
            planned.scored.push(ScoredDataset {
                tag: tag.clone(),
                evaluators: evaluators(config.evaluators())?,
                field: config.score_field().map(str::to_owned),
            });
        }
        let native = Native {
            tag,
            alias: leaf.alias().map(str::to_owned),
            score_field: config.score_field().map(str::to_owned),
            evaluators: config.evaluators().to_vec(),
            documents,
            repeats: 1,
        };
        planned.plan.add_native(key, native);
        Ok(())
    }
}

/// The evaluators of a dataset. A judge has no address here and is left out.
fn evaluators(names: &[String]) -> Result<Vec<Arc<dyn Evaluator>>> {
    let registry = Registry::builtin();
    let mut made: Vec<Arc<dyn Evaluator>> = Vec::new();
    for name in names.iter().filter(|name| *name != "llm_judge") {
        let told = |error: &dyn std::fmt::Display| Error::new(error.to_string());
        let evaluator = if name == "code_execution" {
            let mut settings = CodeExecutionSettings::default();
            settings.sandbox.launcher = cli::launcher();
            code_execution(settings)(Params::none(name))
        } else {
            let factory = registry
                .evaluators
                .get(name)
                .map_err(|error| told(&error))?;
            factory(Params::none(name))
        };
        made.push(evaluator.map_err(|error| told(&error))?);
    }
    if made.is_empty() {
        made.push(Arc::new(AnswerQuality));
    }
    Ok(made)
}

impl NativePlan {
    /// All examples; those of datasets are there once.
    pub(crate) fn dataset(&self) -> context_bench::Dataset {
        let natives = self
            .natives
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .take();
        match natives {
            Some(natives) => self.plan.dataset().chain(natives.with_distinct_ids()),
            None => self.plan.dataset(),
        }
    }

    /// Lets a run ask and score tasks.
    pub(crate) fn wire(&self, mut evaluate: Evaluate) -> (Evaluate, Arc<TaskEvaluator>) {
        for scored in &self.scored {
            let evaluators = scored.evaluators.iter().cloned();
            let field = scored.field.as_deref();
            evaluate = evaluate.evaluators_for(&scored.tag, evaluators, field);
        }
        let (evaluate, evaluator) = self.plan.wire(evaluate, false);
        (evaluate.common_score(task::SCORE, "f1"), evaluator)
    }
}

/// Sums up tasks and groups; gives the tables beside the numbers.
pub(crate) fn sum_up(
    py: Python<'_>,
    plan: &TaskPlan,
    evaluator: &TaskEvaluator,
    result: &mut EvalResult,
) -> IndexMap<String, Value> {
    let how = SumUp {
        resampling: Resampling {
            iterations: ITERATIONS,
            ..Resampling::default()
        },
        ..SumUp::default()
    };
    let outcomes = py.detach(|| task::results(plan, evaluator, result, how));
    let mut shown = IndexMap::new();
    for (system, outcome) in outcomes {
        let found = outcome.results.to_json();
        let mut entry = found.clone();
        entry.insert("table".into(), json!(outcome.results.table()));
        entry.insert("groups_table".into(), json!(outcome.results.groups_table()));
        entry.insert("counts".into(), json!(outcome.counts));
        let warnings = outcome.warnings.iter().map(ToString::to_string);
        let failed = outcome.failed.iter().map(ToString::to_string);
        entry.insert("warnings".into(), warnings.chain(failed).collect());
        shown.insert(system.clone(), Value::Object(entry));
        result.tasks.insert(system, found);
    }
    shown
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
