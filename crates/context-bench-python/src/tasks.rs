//! Tasks and groups in the format of lm-evaluation-harness, resolved natively.

use std::path::{Path, PathBuf};

use context_bench_tasks::config::{Config, Origin};
use context_bench_tasks::{
    Catalog, Error, Group, Index, IndexOptions, Leaf, Node, Task, Warning, select,
};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Map, Value, json};

use crate::convert;

/// The names of one or more trees of task files.
#[pyclass(frozen, name = "NativeTasks", module = "context_bench._native")]
pub(crate) struct NativeTasks {
    roots: Vec<PathBuf>,
    cache: Option<PathBuf>,
    index: Index,
}

fn problem(error: &Error) -> PyErr {
    let hint = error.hint().map(|hint| format!("\nhint: {hint}"));
    PyValueError::new_err(format!("{error}{}", hint.unwrap_or_default()))
}

fn warning_texts(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

#[pymethods]
impl NativeTasks {
    #[new]
    #[pyo3(signature = (roots, cache=None))]
    fn new(py: Python<'_>, roots: Vec<PathBuf>, cache: Option<PathBuf>) -> PyResult<Self> {
        let options = IndexOptions {
            roots: roots.clone(),
            cache: cache.clone(),
            home: std::env::home_dir(),
            threads: 0,
        };
        let index = py.detach(|| Index::build(&options));
        Ok(Self {
            roots,
            cache,
            index: index.map_err(|error| problem(&error))?,
        })
    }

    /// What was noticed while reading the files.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        warning_texts(&self.index.warnings)
    }

    /// Names of tasks.
    fn tasks(&self) -> Vec<String> {
        self.index
            .tasks()
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// Names of groups.
    fn groups(&self) -> Vec<String> {
        self.index
            .groups()
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// Tags with the names of their tasks.
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (tag, tasks) in self.index.tags() {
            dict.set_item(tag, tasks.iter().collect::<Vec<_>>())?;
        }
        Ok(dict)
    }

    /// The file that defines a name.
    fn path(&self, name: &str) -> PyResult<PathBuf> {
        match self.index.entry(name) {
            Some(entry) => Ok(entry.path.clone()),
            None => Err(PyKeyError::new_err(format!("no task or group `{name}`"))),
        }
    }

    /// Resolves names, paths, patterns, files; gives the nodes and the warnings.
    fn load<'py>(
        &self,
        py: Python<'py>,
        specs: Vec<String>,
        overrides: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyList>, Vec<String>)> {
        let overrides = overrides.map(convert::to_fields).transpose()?;
        let catalog = Catalog::new(self.index.clone(), std::env::home_dir());
        let (tree, mut warnings) = select(&catalog, &specs).map_err(|error| problem(&error))?;
        let list = PyList::empty(py);
        for node in &tree.nodes {
            let shown = described(node, overrides.as_ref(), &mut warnings)?;
            list.append(convert::to_python(py, &shown)?)?;
        }
        Ok((list, warning_texts(&warnings)))
    }

    /// Resolves a definition given as a dict.
    fn load_inline<'py>(
        &self,
        py: Python<'py>,
        definition: &Bound<'py, PyDict>,
        directory: PathBuf,
    ) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
        let definition = convert::to_fields(definition)?;
        let catalog = Catalog::new(self.index.clone(), std::env::home_dir());
        let loaded = catalog.load_inline(&definition, Path::new(&directory));
        let (node, mut warnings) = loaded.map_err(|error| problem(&error))?;
        let shown = described(&node, None, &mut warnings)?;
        Ok((convert::to_python(py, &shown)?, warning_texts(&warnings)))
    }

    fn __repr__(&self) -> String {
        let n = self.index.names().len();
        let cached = if self.cache.is_some() { ", cached" } else { "" };
        format!("<{n} names in {} folders{cached}>", self.roots.len())
    }
}

/// A node as data. Tasks are built, so that what is wrong with them is said now.
fn described(
    node: &Node,
    overrides: Option<&Map<String, Value>>,
    warnings: &mut Vec<Warning>,
) -> PyResult<Value> {
    match node {
        Node::Task(leaf) => task(leaf, overrides, warnings),
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
                .map(|child| described(child, overrides, warnings))
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
) -> PyResult<Value> {
    let mut leaf = leaf.clone();
    if let Some(overrides) = overrides {
        let origin = Origin::other("<overrides>");
        leaf.config.extend(&Config::from_json(overrides, &origin));
    }
    let output_type = if leaf.python {
        None
    } else {
        let built = Task::build(&leaf).map_err(|error| problem(&error))?;
        warnings.extend(built.warnings);
        Some(built.output_type.name())
    };
    Ok(json!({
        "kind": "task",
        "id": leaf.id,
        "name": leaf.name,
        "path": leaf.path,
        "alias": leaf.alias(),
        "format": leaf.format,
        "python": leaf.python,
        "output_type": output_type,
        "config": leaf.config.to_json(),
    }))
}
