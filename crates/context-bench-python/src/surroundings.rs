//! What the package provides to the planner: environment variables, the hub, Python, the index of
//! tasks.

use std::path::PathBuf;
use std::sync::Arc;

use context_bench::planner::{PlanError, Surroundings};
use context_bench::registry::Registry;
use context_bench::task::TaskIndexSettings;
use context_bench_tasks::Host;
use pyo3::prelude::*;

use crate::{datasets, host, sandbox};

/// The surroundings of a plan; `cache` is the file that caches the index of tasks.
pub(crate) fn of(py: Python<'_>, cache: Option<PathBuf>) -> PyResult<Surroundings> {
    // Loaded now, so that a broken installation fails early.
    let current: Arc<dyn Host> = Arc::new(host::host(py)?);
    Ok(Surroundings {
        variable: Arc::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty())),
        hub: Arc::new(|| datasets::hub_access().map_err(|error| PlanError::new(error.to_string()))),
        host: Arc::new(move |python| match python.allowed {
            Some(false) => Arc::new(context_bench_tasks::NoHost),
            _ => Arc::clone(&current),
        }),
        task_index: Arc::new(move |include| TaskIndexSettings {
            include: include.to_vec(),
            cache: cache.clone(),
            home: std::env::home_dir(),
        }),
        launcher: sandbox::launcher(),
        ..Surroundings::new(Registry::builtin())
    })
}
