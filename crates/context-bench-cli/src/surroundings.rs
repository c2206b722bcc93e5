//! What the program provides to the planner: environment variables, the hub, Python, the index
//! of tasks.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_bench::mask;
use context_bench::plan::PythonSpec;
use context_bench::planner::{PlanError, Surroundings};
use context_bench::registry::Registry;
use context_bench::task::TaskIndexSettings;
use context_bench::task::tasks::python::{PythonPool, PythonSettings};
use context_bench::task::tasks::{Host, NoHost};

use crate::{env, hub, output};

/// The surroundings of a plan; with `quiet`, downloads are not shown.
pub(crate) fn of(registry: &Registry, quiet: bool) -> Surroundings {
    Surroundings {
        variable: Arc::new(|name| {
            let value = env::get(name)?;
            if mask::is_secret(name) {
                output::hide([value.clone()]);
            }
            Some(value)
        }),
        hub: Arc::new(move || {
            hub::access(quiet).map_err(|failure| {
                let error = PlanError::new(failure.what);
                match failure.hint {
                    Some(hint) => error.with_hint(hint),
                    None => error,
                }
            })
        }),
        host: Arc::new(|python| host(python)),
        task_index: Arc::new(|include| TaskIndexSettings {
            include: include.to_vec(),
            cache: index_file(include),
            home: env::get("HOME").map(PathBuf::from),
        }),
        ..Surroundings::new(registry.clone())
    }
}

/// The host of Python functions. Its processes start when the first function is called.
pub(crate) fn host(python: &PythonSpec) -> Arc<dyn Host> {
    if python.allowed == Some(false) {
        return Arc::new(NoHost);
    }
    let mut settings = PythonSettings::default();
    let from_env = || env::get("CONTEXT_BENCH_PYTHON").map(PathBuf::from);
    if let Some(interpreter) = python.interpreter.clone().or_else(from_env) {
        settings.interpreter = interpreter;
    }
    Arc::new(PythonPool::new(settings))
}

/// The file that caches the index of these paths between runs.
fn index_file(include: &[PathBuf]) -> Option<PathBuf> {
    if include.is_empty() {
        return None;
    }
    let cache = env::get("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&env::get("HOME")?).join(".cache")))?;
    let mut hasher = DefaultHasher::new();
    std::env::current_dir().ok()?.hash(&mut hasher);
    include.hash(&mut hasher);
    let name = format!("tasks-{:016x}.index", hasher.finish());
    Some(cache.join("context-bench").join(name))
}
