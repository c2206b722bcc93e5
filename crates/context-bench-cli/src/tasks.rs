//! The index of tasks, and what their prompts are made of.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use context_bench::registry::Registry;
use context_bench::task::tasks::python::{PythonPool, PythonSettings};
use context_bench::task::tasks::{Host, NoHost, Task, Warning};
use context_bench::task::{CatalogSettings, DataSettings, TaskCatalog, TaskData};

use crate::failure::Failure;
use crate::task_args::{PromptArgs, PythonArgs};
use crate::{env, hub, output};

/// The folder in which `dataset_path` of tasks is looked for first.
const DATASET_DIR: &str = "LM_EVAL_DATASET_DIR";
/// How many remarks about one thing are shown.
const SHOWN_WARNINGS: usize = 10;

/// The one index: what comes with the program, and the user's files.
pub(crate) fn catalog(registry: &Registry, include: &[PathBuf]) -> Result<TaskCatalog, Failure> {
    let include = split_paths(include);
    let settings = CatalogSettings {
        cache: index_file(&include),
        include,
        home: env::get("HOME").map(PathBuf::from),
    };
    let catalog = TaskCatalog::build(&registry.catalogue, &settings)?;
    warn(&catalog.tasks.index.warnings);
    Ok(catalog)
}

/// `a:b` is two paths, unless it is one.
fn split_paths(include: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for path in include {
        if path.exists() {
            paths.push(path.clone());
        } else {
            paths.extend(std::env::split_paths(path));
        }
    }
    paths
}

/// Where the index of these paths is kept between runs.
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

/// Shows remarks once each, and not too many of them.
pub(crate) fn warn(warnings: &[Warning]) {
    let mut seen = HashSet::new();
    let texts = warnings.iter().map(ToString::to_string);
    let shown: Vec<String> = texts.filter(|text| seen.insert(text.clone())).collect();
    for text in shown.iter().take(SHOWN_WARNINGS) {
        output::warning(text);
    }
    if let Some(more) = shown.len().checked_sub(SHOWN_WARNINGS + 1) {
        output::warning(&format!("{} more remarks of this kind", more + 1));
    }
}

/// Reads the records of tasks as the flags and the environment say.
pub(crate) fn data(
    catalog: &TaskCatalog,
    args: &PromptArgs,
    skip_bad_lines: bool,
    quiet: bool,
) -> Result<TaskData, Failure> {
    let settings = DataSettings {
        hub: Some(hub::access(quiet)?),
        dataset_dir: env::get(DATASET_DIR).map(PathBuf::from),
        replaced: args.data.clone(),
        copies: args.data_from.clone(),
        skip_bad_lines,
    };
    Ok(TaskData::new(catalog.datasets.clone(), settings))
}

/// Who runs Python functions; processes start when the first is called.
pub(crate) fn host(args: &PythonArgs) -> Box<dyn Host> {
    if args.no_python {
        return Box::new(NoHost);
    }
    Box::new(PythonPool::new(PythonSettings {
        interpreter: args.interpreter.clone(),
        ..PythonSettings::default()
    }))
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
