//! The index of tasks, for commands that look tasks up.

use std::path::PathBuf;

use context_bench::planner::{self, Notice};
use context_bench::registry::Registry;
use context_bench::task::TaskIndex;
use context_bench::task::tasks::{Task, Warning};

use crate::failure::Failure;
use crate::task_args::PythonArgs;
use crate::{output, surroundings};

/// The index: tasks that come with the program, and the user's own.
pub(crate) fn task_index(registry: &Registry, include: &[PathBuf]) -> Result<TaskIndex, Failure> {
    let task_index = planner::task_index(&surroundings::of(registry, true), include)?;
    warn(&task_index.tasks.index.remarks());
    Ok(task_index)
}

/// The registry with the datasets that the user's files describe.
pub(crate) fn included(registry: &Registry, paths: &[PathBuf]) -> Result<Registry, Failure> {
    let mut registry = registry.clone();
    if !paths.is_empty() {
        registry.catalog = task_index(&registry, paths)?.datasets;
    }
    Ok(registry)
}

/// Shows warnings, each once and not too many of them.
pub(crate) fn warn(warnings: &[Warning]) {
    let notices = warnings
        .iter()
        .map(|warning| Notice::new(warning.to_string()));
    notice(&notices.collect::<Vec<_>>());
}

/// Shows notices, each once and not too many of them.
pub(crate) fn notice(notices: &[Notice]) {
    output::notices(&Notice::shown(notices));
}

/// Refuses a task that needs Python where Python is not allowed, before anything is read.
pub(crate) fn check_python(task: &Task, args: &PythonArgs) -> Result<(), Failure> {
    if args.no_python && task.needs_python() {
        return Err(Failure::bad_input(format!(
            "task `{}` needs Python functions, which `--no-python` forbids",
            task.name
        ))
        .hint("leave out `--no-python`, or choose another task"));
    }
    Ok(())
}
