//! The index of tasks, for the commands that look into it.

use std::path::PathBuf;

use context_bench::planner::{self, Notice};
use context_bench::registry::Registry;
use context_bench::task::TaskCatalog;
use context_bench::task::tasks::{Task, Warning};

use crate::failure::Failure;
use crate::task_args::PythonArgs;
use crate::{output, surroundings};

/// The one index: what comes with the program, and the user's files.
pub(crate) fn catalog(registry: &Registry, include: &[PathBuf]) -> Result<TaskCatalog, Failure> {
    let catalog = planner::task_catalog(&surroundings::of(registry, true), include)?;
    warn(&catalog.tasks.index.remarks());
    Ok(catalog)
}

/// The registry with the datasets that the user's own files describe.
pub(crate) fn included(registry: &Registry, paths: &[PathBuf]) -> Result<Registry, Failure> {
    let mut registry = registry.clone();
    if !paths.is_empty() {
        registry.catalogue = catalog(&registry, paths)?.datasets;
    }
    Ok(registry)
}

/// Shows remarks once each, and not too many of them.
pub(crate) fn warn(warnings: &[Warning]) {
    let notices = warnings
        .iter()
        .map(|warning| Notice::new(warning.to_string()));
    notice(&notices.collect::<Vec<_>>());
}

/// Shows what users should know, once each, and not too much of it.
pub(crate) fn notice(notices: &[Notice]) {
    output::notices(&Notice::shown(notices));
}

/// A task that needs Python is an error when that is forbidden, before anything is read.
pub(crate) fn check_python(task: &Task, args: &PythonArgs) -> Result<(), Failure> {
    if args.no_python && task.needs_python() {
        return Err(Failure::bad_input(format!(
            "task `{}` has Python functions, which `--no-python` forbids",
            task.name
        ))
        .hint("leave out `--no-python`, or choose another task"));
    }
    Ok(())
}
