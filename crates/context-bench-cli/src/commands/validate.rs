//! `validate`: whether tasks are right, without running them.

use context_bench::registry::Registry;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::ValidateArgs;
use crate::{output, surroundings, tasks};

pub(crate) fn main(args: &ValidateArgs, registry: &Registry) -> Result<Exit, Failure> {
    let values: Vec<&String> = args.tasks.iter().chain(&args.names).collect();
    if values.is_empty() {
        return Err(Failure::bad_input("no tasks are given")
            .hint("name tasks, groups or tags, for example `validate --tasks mmlu`"));
    }
    let catalog = tasks::catalog(registry, &args.include_path)?;
    let values: Vec<&str> = values.into_iter().map(String::as_str).collect();
    let host = surroundings::host(&args.python.spec());
    let report = catalog.validate(&values, (!args.python.no_python).then_some(&*host));
    tasks::warn(&report.warnings);
    let (n_errors, n_valid) = (report.errors.len(), report.valid.len());
    for error in report.errors {
        output::error(&Failure::from(error));
    }
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    if !report.python.is_empty() {
        let n = report.python.len();
        output::note(&format!(
            "{n} task{} with Python, which `--no-python` leaves unchecked",
            plural(n)
        ));
    }
    if n_errors > 0 {
        output::note(&format!(
            "{n_errors} problem{}, {n_valid} valid task{}",
            plural(n_errors),
            plural(n_valid)
        ));
        return Ok(Exit::BadInput);
    }
    output::stdout(&format!(
        "{n_valid} task{} found and valid\n",
        plural(n_valid)
    ))?;
    Ok(Exit::Done)
}
