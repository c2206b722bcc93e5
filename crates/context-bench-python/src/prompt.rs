//! `NativePrompt`: the prompt of a dataset, for systems in Python that ask models themselves.

use std::path::PathBuf;
use std::sync::Arc;

use context_bench::Prompt;
use context_bench::dataset::catalog::LoadSettings;
use context_bench::dataset::{DatasetRef, DatasetTarget};
use context_bench::plan::{PromptStyle, RunSpec};
use context_bench::planner::{self, Notice};
use context_bench::registry::Registry;
use context_bench::system::{self, Layout};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Map, Value, json};

use crate::convert;
use crate::datasets::hub_access;
use crate::error::bad_value;
use crate::example_dict::read_example;

/// The prompt of a dataset.
#[pyclass(frozen, name = "NativePrompt", module = "context_bench._native")]
pub(crate) struct NativePrompt {
    prompt: Option<Arc<Prompt>>,
    notices: Vec<Notice>,
}

#[pymethods]
impl NativePrompt {
    /// The prompt of `name[:config][@split]`; of a local copy with `path`.
    #[new]
    #[pyo3(signature = (typed, path=None))]
    fn new(py: Python<'_>, typed: &str, path: Option<PathBuf>) -> PyResult<Self> {
        let reference = DatasetRef::parse(typed).map_err(|error| bad_value(&error))?;
        let DatasetTarget::Named(named) = reference.target() else {
            return Err(PyValueError::new_err(format!(
                "`{typed}` is a file, and files have no prompt\nhint: name a dataset"
            )));
        };
        let configs = Registry::builtin().configs(named);
        let mut configs = configs.map_err(|error| bad_value(&error))?;
        let config = match (configs.pop(), configs.is_empty()) {
            (Some(config), true) => config,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "`{typed}` has several configs, each with its own prompt\nhint: name one of them"
                )));
            }
        };
        let mut settings = LoadSettings::default();
        settings.path = path.or_else(|| named.path.clone());
        settings.hub = Some(hub_access()?);
        let spec = RunSpec {
            prompt: Some(PromptStyle::Official),
            ..RunSpec::default()
        };
        let found = py.detach(|| planner::dataset_prompt(&spec, typed, &config, &settings));
        let (prompt, notices) = found.map_err(|error| bad_value(&error))?;
        Ok(Self { prompt, notices })
    }

    /// Warnings, such as worked examples that are not available.
    fn notices(&self) -> Vec<String> {
        self.notices.iter().map(|one| one.what.clone()).collect()
    }

    /// The messages about an example.
    fn messages<'py>(&self, example: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(example.py());
        for message in self.asked(example)?.0 {
            list.append(convert::to_python(example.py(), &message)?)?;
        }
        Ok(list)
    }

    /// The generation settings of an example, as the API names them.
    fn generation<'py>(&self, example: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let settings = self.asked(example)?.1;
        let names = [
            ("max_gen_toks", "max_tokens"),
            ("until", "stop"),
            ("temperature", "temperature"),
        ];
        let known = names.iter().filter_map(|(ours, api)| {
            let value = settings.get(*ours)?.clone();
            Some(((*api).to_owned(), value))
        });
        let mut members: Map<String, Value> = known.collect();
        if self.prompt.is_some() {
            members.entry("temperature").or_insert_with(|| json!(0));
        }
        convert::dict(example.py(), &members)
    }
}

impl NativePrompt {
    fn asked(&self, example: &Bound<'_, PyAny>) -> PyResult<(Vec<Value>, Map<String, Value>)> {
        let example = read_example(example)?.with_prompt(self.prompt.clone());
        let asked = system::asked(&example, None, Layout::default());
        asked.map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
