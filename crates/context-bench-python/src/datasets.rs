//! Loads datasets by name and from files.

use std::path::PathBuf;
use std::time::Duration;

use context_bench::Dataset;
use context_bench::dataset::catalog::{Hub, HubAccess, HubSettings};
use context_bench::dataset::{DatasetRef, DatasetTarget, Shape};
use context_bench::registry::{DatasetRequest, Registry};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::convert;
use crate::error::{bad_value, bug};

/// The names of all built-in datasets.
#[pyfunction]
pub(crate) fn dataset_names() -> Vec<String> {
    let registry = Registry::builtin();
    let own = registry.datasets.list().map(str::to_owned);
    let known = registry.catalog.names().into_iter().map(str::to_owned);
    let mut names: Vec<String> = own.chain(known).collect();
    names.sort_unstable();
    names
}

/// The examples of a dataset as a list of dicts. Only with `tagged` do they name their dataset:
/// loaders return what the source has.
#[pyfunction]
#[pyo3(signature = (typed, *, n=None, path=None, skip_bad_lines=false, tagged=false, map=None))]
pub(crate) fn load_dataset<'py>(
    py: Python<'py>,
    typed: &str,
    n: Option<usize>,
    path: Option<PathBuf>,
    skip_bad_lines: bool,
    tagged: bool,
    map: Option<Vec<(String, String)>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    let typed = match &path {
        Some(path) => format!("{typed}={}", path.display()),
        None => typed.to_owned(),
    };
    let mut datasets = open(py, &typed, n, skip_bad_lines, map.unwrap_or_default())?.into_iter();
    let mut examples = Vec::new();
    loop {
        // Other threads of Python may run while records are read.
        let batch = py.detach(|| {
            let mut batch = Vec::new();
            while batch.len() < 1000 {
                if examples.is_empty() {
                    match datasets.next() {
                        Some(dataset) => examples.push(dataset.into_iter()),
                        None => break,
                    }
                }
                match examples.last_mut().and_then(Iterator::next) {
                    Some(Ok(example)) => batch.push(example),
                    Some(Err(error)) => return Err(error),
                    None => drop(examples.pop()),
                }
            }
            Ok(batch)
        });
        let batch = batch.map_err(|error| bad_value(&error))?;
        if batch.is_empty() {
            return Ok(list);
        }
        for mut example in batch {
            if !tagged && example.text("dataset") == Some(typed.as_str()) {
                example.fields_mut().shift_remove("dataset");
            }
            list.append(convert::dict(py, example.fields())?)?;
        }
        py.check_signals()?;
    }
}

fn open(
    py: Python<'_>,
    typed: &str,
    max_examples: Option<usize>,
    skip_bad_lines: bool,
    map: Vec<(String, String)>,
) -> PyResult<Vec<Dataset>> {
    let request = DatasetRequest {
        max_examples,
        skip_bad_lines,
        hub: hub(typed)?,
        shape: Shape {
            map: map.into_iter().collect(),
            ..Shape::default()
        },
        ..DatasetRequest::default()
    };
    let opened = py.detach(|| Registry::builtin().open_dataset(typed, &request));
    let opened = opened.map_err(|error| bad_value(&error))?;
    for first in opened.iter().filter_map(|one| one.first.as_ref()) {
        first
            .check_map(typed, &request.shape)
            .map_err(|error| bad_value(&error))?;
    }
    Ok(opened.into_iter().map(|opened| opened.dataset).collect())
}

/// Access to the hub; local files need none.
fn hub(typed: &str) -> PyResult<Option<HubAccess>> {
    let is_local = matches!(
        DatasetRef::parse(typed).as_ref().map(DatasetRef::target),
        Ok(DatasetTarget::Local(_))
    );
    match is_local {
        true => Ok(None),
        false => hub_access().map(Some),
    }
}

/// Access to the hub with the settings of the environment.
pub(crate) fn hub_access() -> PyResult<HubAccess> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut settings = HubSettings::from_vars(variable).map_err(|error| bad_value(&error))?;
    settings.retry.max_retries = 3;
    settings.retry.base_delay = Duration::from_millis(500);
    let hub = Hub::new(settings).map_err(|error| bug(&error.to_string()))?;
    Ok(HubAccess::new(hub))
}
