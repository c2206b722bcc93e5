//! `validate`: checks tasks without running them.

use context_bench::planner;
use context_bench::registry::Registry;
use context_bench::task::tasks::pattern;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::ValidateArgs;
use crate::words::plural;
use crate::{output, surroundings, tasks};

pub(crate) fn main(args: &ValidateArgs, registry: &Registry) -> Result<Exit, Failure> {
    let values: Vec<&String> = args.tasks.iter().chain(&args.names).collect();
    if values.is_empty() {
        return Err(Failure::bad_input("no tasks are given")
            .hint("name tasks, groups or tags, for example `validate --tasks mmlu`"));
    }
    let around = surroundings::of(registry, true);
    let task_index = planner::task_index(&around, &args.include_path)?;
    let values: Vec<&str> = values.into_iter().map(String::as_str).collect();
    let host = surroundings::host(&args.python.spec());
    let report = task_index.validate(&values, (!args.python.no_python).then_some(&*host));
    // With a pattern, every problem of the files that it finds is reported.
    let all = values.iter().any(|value| pattern::is_pattern(value));
    let index = &task_index.tasks.index;
    if all {
        tasks::warn(&index.warnings);
        tasks::warn(&index.unused);
    } else {
        tasks::warn(&index.remarks());
    }
    tasks::warn(&report.warnings);
    let (n_errors, n_valid) = (report.errors.len(), report.valid.len());
    for error in report.errors {
        output::error(&Failure::from(error));
    }
    for (package, tasks) in &report.missing_packages {
        let n = tasks.len();
        let first = tasks.first().map(String::as_str).unwrap_or_default();
        output::note(&format!(
            "{n} task{} need{} the package `{package}`, which is not installed: `{first}`{}",
            plural(n),
            if n == 1 { "s" } else { "" },
            if n == 1 { "" } else { " …" },
        ));
    }
    if !report.python.is_empty() {
        let n = report.python.len();
        output::note(&format!(
            "{n} task{} with Python code, left unchecked because of `--no-python`",
            plural(n)
        ));
    }
    if n_errors > 0 {
        let classes: Vec<String> = report
            .classes
            .iter()
            .map(|(class, n)| format!("{class} {n}"))
            .collect();
        output::note(&format!(
            "{n_valid} of {} task{} valid, {n_errors} problem{} (with {})",
            report.n_tasks,
            plural(report.n_tasks),
            plural(n_errors),
            classes.join(", ")
        ));
        return Ok(Exit::BadInput);
    }
    output::stdout(&format!(
        "{n_valid} task{} found and valid\n",
        plural(n_valid)
    ))?;
    Ok(Exit::Done)
}
