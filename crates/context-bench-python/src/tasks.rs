//! Tasks and groups in the format of lm-evaluation-harness: found, loaded, rendered, scored.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use context_bench::registry::Registry;
use context_bench::task::{TaskIndex, TaskIndexSettings};
use context_bench_tasks::config::{Config, Origin};
use context_bench_tasks::options::Limit;
use context_bench_tasks::outcome::Resampling;
use context_bench_tasks::{
    Error, Group, IndexOptions, Leaf, Node, Options, OutputType, Requests, Response, Task,
    TaskFileIndex, TaskResolver, Warning, select,
};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Map, Value, json};

use crate::error::bad_value;
use crate::host::{self, InProcessHost};
use crate::{convert, task_results};

/// An index of the task files below some folders.
#[pyclass(frozen, name = "NativeTasks", module = "context_bench._native")]
pub(crate) struct NativeTasks {
    roots: Vec<PathBuf>,
    cache: Option<PathBuf>,
    resolver: TaskResolver,
    host: OnceLock<Arc<InProcessHost>>,
}

/// A task that can render requests and score responses.
#[pyclass(frozen, name = "NativeTask", module = "context_bench._native")]
pub(crate) struct NativeTask {
    task: Arc<Task>,
    host: Arc<InProcessHost>,
}

/// The requests of a task, with the records that they were made of.
#[pyclass(frozen, name = "NativeRequests", module = "context_bench._native")]
pub(crate) struct NativeRequests(Requests);

fn warning_texts(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

#[pymethods]
impl NativeTasks {
    #[new]
    #[pyo3(signature = (roots, cache=None, defaults=true))]
    fn new(
        py: Python<'_>,
        roots: Vec<PathBuf>,
        cache: Option<PathBuf>,
        defaults: bool,
    ) -> PyResult<Self> {
        let home = std::env::home_dir();
        let resolver = py.detach(|| match defaults {
            true => {
                let settings = TaskIndexSettings {
                    include: roots.clone(),
                    cache: cache.clone(),
                    home,
                };
                let datasets = &Registry::builtin().catalog;
                TaskIndex::build(datasets, &settings).map(|index| index.tasks)
            }
            false => {
                let options = IndexOptions {
                    roots: roots.clone(),
                    cache: cache.clone(),
                    home: home.clone(),
                    threads: 0,
                };
                TaskFileIndex::build(&options).map(|index| TaskResolver::new(index, home))
            }
        });
        Ok(Self {
            roots,
            cache,
            resolver: resolver.map_err(|error| bad_value(&error))?,
            host: OnceLock::new(),
        })
    }

    /// Warnings from reading the files.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        warning_texts(&self.resolver.index.remarks())
    }

    /// The names of all tasks.
    fn tasks(&self) -> Vec<String> {
        self.resolver
            .index
            .tasks()
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// The names of all groups.
    fn groups(&self) -> Vec<String> {
        self.resolver
            .index
            .groups()
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// Tags with the names of their tasks.
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (tag, tasks) in self.resolver.index.tags() {
            dict.set_item(tag, tasks.iter().collect::<Vec<_>>())?;
        }
        Ok(dict)
    }

    /// The file that defines a name.
    fn path(&self, name: &str) -> PyResult<PathBuf> {
        match self.resolver.index.entry(name) {
            Some(entry) => Ok(entry.path.clone()),
            None => Err(PyKeyError::new_err(format!("no task or group `{name}`"))),
        }
    }

    /// Resolves names, paths, patterns and files. Returns the nodes, their tasks depth first, and
    /// warnings.
    fn load<'py>(
        &self,
        py: Python<'py>,
        specs: Vec<String>,
        overrides: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyList>, Tasks, Vec<String>)> {
        let overrides = overrides.map(convert::to_fields).transpose()?;
        let (tree, mut warnings) =
            select(&self.resolver, &specs).map_err(|error| bad_value(&error))?;
        let list = PyList::empty(py);
        let mut tasks = Vec::new();
        for node in &tree.nodes {
            let shown = describe(node, overrides.as_ref(), &mut warnings, &mut tasks)?;
            list.append(convert::to_python(py, &shown)?)?;
        }
        Ok((list, self.ready(py, tasks)?, warning_texts(&warnings)))
    }

    /// The folders and files of tasks, and the file that caches their index.
    fn settings(&self) -> (Vec<PathBuf>, Option<PathBuf>) {
        (self.roots.clone(), self.cache.clone())
    }

    /// Resolves a definition given as a dict.
    fn load_inline<'py>(
        &self,
        py: Python<'py>,
        definition: &Bound<'py, PyDict>,
        directory: PathBuf,
    ) -> PyResult<(Bound<'py, PyAny>, Tasks, Vec<String>)> {
        let definition = convert::to_fields(definition)?;
        let loaded = self
            .resolver
            .load_inline(&definition, Path::new(&directory));
        let (node, mut warnings) = loaded.map_err(|error| bad_value(&error))?;
        let mut tasks = Vec::new();
        let shown = describe(&node, None, &mut warnings, &mut tasks)?;
        let shown = convert::to_python(py, &shown)?;
        Ok((shown, self.ready(py, tasks)?, warning_texts(&warnings)))
    }

    fn __repr__(&self) -> String {
        let n = self.resolver.index.names().len();
        let cached = if self.cache.is_some() { ", cached" } else { "" };
        format!("<{n} names in {} folders{cached}>", self.roots.len())
    }
}

/// Tasks in the order of the leaves; `None` for those that are Python classes.
type Tasks = Vec<Option<NativeTask>>;

impl NativeTasks {
    /// The host of Python functions, loaded when it is first needed.
    fn host(&self, py: Python<'_>) -> PyResult<Arc<InProcessHost>> {
        if let Some(host) = self.host.get() {
            return Ok(Arc::clone(host));
        }
        let made = Arc::new(host::host(py)?);
        // Another thread may have been faster; either host will do.
        Ok(Arc::clone(self.host.get_or_init(|| made)))
    }

    /// Gives tasks the host that runs their functions.
    fn ready(&self, py: Python<'_>, tasks: Vec<Option<Task>>) -> PyResult<Tasks> {
        let host = self.host(py)?;
        let ready = |task: Option<Task>| {
            task.map(|task| NativeTask {
                task: Arc::new(task),
                host: Arc::clone(&host),
            })
        };
        Ok(tasks.into_iter().map(ready).collect())
    }
}

#[pymethods]
impl NativeTask {
    /// The requests of records, also as dicts.
    #[pyo3(signature = (splits, num_fewshot=None, limit=None, seed=None))]
    fn requests<'py>(
        &self,
        py: Python<'py>,
        splits: &Bound<'py, PyDict>,
        num_fewshot: Option<usize>,
        limit: Option<f64>,
        seed: Option<i64>,
    ) -> PyResult<(NativeRequests, Bound<'py, PyList>, Vec<String>)> {
        let dataset = task_results::read_records(splits)?;
        let options = read_options(num_fewshot, limit, seed)?;
        let made = py.detach(|| self.task.requests(&dataset, &options, &*self.host));
        let made = made.map_err(|error| bad_value(&error))?;
        let list = PyList::empty(py);
        for request in &made.requests {
            list.append(convert::to_python(py, &request.to_json())?)?;
        }
        let warnings = warning_texts(&made.warnings);
        Ok((NativeRequests(made), list, warnings))
    }

    /// Scores responses and aggregates them: values by `"metric,filter"`.
    #[pyo3(signature = (requests, responses, iterations=100_000))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        requests: &Bound<'py, NativeRequests>,
        responses: Vec<Bound<'py, PyAny>>,
        iterations: usize,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyList>, Vec<String>)> {
        let kind = self.task.output_type;
        let responses = responses
            .iter()
            .map(|response| read_response(response, kind))
            .collect::<PyResult<Vec<_>>>()?;
        let requests = &requests.get().0;
        let scored = py.detach(|| {
            let scored = self.task.score(requests, &responses, &*self.host)?;
            let resampling = Resampling {
                iterations,
                ..Resampling::default()
            };
            // A direct call fails at once: no answer was paid for that could be lost.
            if let Some((at, error)) = scored.failed.iter().next() {
                let document = requests.requests[*at].doc_id;
                return Err(error.clone().prefixed(format!("document {document}")));
            }
            let summed = self.task.sum_up(&scored, resampling, &*self.host);
            match summed.failed.into_iter().next() {
                Some(error) => Err(error),
                None => Ok((scored, summed.scores, summed.warnings)),
            }
        });
        let (scored, summed, noticed) = scored.map_err(|error: Error| bad_value(&error))?;
        let documents = PyList::empty(py);
        for (filter, all) in &scored.filters {
            for one in all {
                let scores: Map<String, Value> = one
                    .scores
                    .iter()
                    .map(|(metric, value)| (metric.clone(), value.clone()))
                    .collect();
                let shown = json!({
                    "doc_id": requests.requests[one.request].doc_id,
                    "filter": filter,
                    "filtered": one.filtered,
                    "scores": scores,
                });
                documents.append(convert::to_python(py, &shown)?)?;
            }
        }
        let mut warnings = warning_texts(&scored.warnings);
        warnings.extend(warning_texts(&noticed));
        Ok((convert::dict(py, &summed)?, documents, warnings))
    }
}

/// Reads the options of prompts.
fn read_options(
    num_fewshot: Option<usize>,
    limit: Option<f64>,
    seed: Option<i64>,
) -> PyResult<Options> {
    let limit = limit.map(Limit::new).transpose();
    let mut options = Options {
        num_fewshot,
        limit: limit.map_err(|error| bad_value(&error))?,
        ..Options::default()
    };
    options.seed = seed.unwrap_or(options.seed);
    Ok(options)
}

/// Reads a response: text for generation, pairs of log-likelihood and greediness for choices.
/// `None` is a document that failed.
fn read_response(object: &Bound<'_, PyAny>, kind: OutputType) -> PyResult<Option<Response>> {
    if object.is_none() {
        return Ok(None);
    }
    let response = match kind {
        OutputType::GenerateUntil => match object.extract::<String>() {
            Ok(text) => Response::Texts(vec![text]),
            Err(_) => Response::Texts(object.extract()?),
        },
        OutputType::MultipleChoice => match object.cast::<PyDict>() {
            Ok(both) => {
                let part = |name: &str| {
                    let missing = || PyValueError::new_err(format!("a response has no `{name}`"));
                    both.get_item(name)?.ok_or_else(missing)
                };
                Response::Choices {
                    likelihoods: part("likelihoods")?.extract()?,
                    unconditional: Some(part("unconditional")?.extract()?),
                }
            }
            Err(_) => Response::Choices {
                likelihoods: object.extract()?,
                unconditional: None,
            },
        },
        OutputType::Loglikelihood => {
            let (likelihood, greedy) = object.extract()?;
            Response::Likelihood(likelihood, greedy)
        }
        OutputType::LoglikelihoodRolling => Response::Rolling(object.extract()?),
    };
    Ok(Some(response))
}

/// A node as data. Tasks are built, so that errors in them are reported now.
fn describe(
    node: &Node,
    overrides: Option<&Map<String, Value>>,
    warnings: &mut Vec<Warning>,
    tasks: &mut Vec<Option<Task>>,
) -> PyResult<Value> {
    match node {
        Node::Task(leaf) => task(leaf, overrides, warnings, tasks),
        Node::Group(group) => {
            let Group {
                id,
                name,
                alias,
                metadata,
                children,
                aggregate,
            } = group;
            let children: Vec<Value> = children
                .iter()
                .map(|child| describe(child, overrides, warnings, tasks))
                .collect::<PyResult<_>>()?;
            let metrics: Vec<&str> = aggregate.iter().map(|a| a.metric.as_str()).collect();
            Ok(json!({
                "kind": "group",
                "id": id,
                "name": name,
                "alias": alias,
                "metadata": metadata,
                "aggregate_metrics": metrics,
                "children": children,
            }))
        }
    }
}

fn task(
    leaf: &Leaf,
    overrides: Option<&Map<String, Value>>,
    warnings: &mut Vec<Warning>,
    tasks: &mut Vec<Option<Task>>,
) -> PyResult<Value> {
    let mut leaf = leaf.clone();
    if let Some(overrides) = overrides {
        let origin = Origin::other("<overrides>");
        leaf.config.extend(&Config::from_json(overrides, &origin));
    }
    // Datasets of the catalog and Python classes build their own requests.
    let output_type = if leaf.python || leaf.is_dataset_task() {
        tasks.push(None);
        None
    } else {
        let mut built = Task::build(&leaf).map_err(|error| bad_value(&error))?;
        warnings.append(&mut built.warnings);
        let name = built.output_type.name();
        tasks.push(Some(built));
        Some(name)
    };
    Ok(json!({
        "kind": "task",
        "id": leaf.id,
        "name": leaf.name,
        "path": leaf.path,
        "alias": leaf.alias(),
        "format": leaf.format,
        "python": leaf.python,
        "dataset": leaf.dataset().filter(|_| leaf.is_dataset_task()),
        "output_type": output_type,
        "config": leaf.config.to_json(),
    }))
}
