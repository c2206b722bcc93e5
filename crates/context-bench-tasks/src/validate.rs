//! Checking tasks without running them: all problems, not only the first.

use crate::catalog::Catalog;
use crate::error::{Error, Result, Warning};
use crate::fields::check_keys;
use crate::select::select;
use crate::task::Task;
use crate::tree::Leaf;

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// Keys of the tasks that are right.
    pub valid: Vec<String>,
    /// What is wrong.
    pub errors: Vec<Error>,
    /// What a user should know.
    pub warnings: Vec<Warning>,
    /// Tasks that need Python and are checked as far as possible without.
    pub python: Vec<String>,
    /// Datasets of the catalogue that are tasks as they are: key and dataset.
    pub native: Vec<(String, String)>,
}

/// Checks what some values select: files, members, fields, templates, filters, metrics.
pub fn validate<S: AsRef<str>>(catalog: &Catalog, values: &[S]) -> Report {
    let mut report = Report::default();
    let values = values.iter().flat_map(|value| value.as_ref().split(','));
    for value in values.map(str::trim).filter(|value| !value.is_empty()) {
        let (tree, warnings) = match select(catalog, &[value]) {
            Ok(found) => found,
            Err(error) => {
                report.errors.push(error);
                continue;
            }
        };
        report.warnings.extend(warnings);
        for (leaf, key) in tree.leaves().into_iter().zip(tree.keys()) {
            if leaf.is_native() {
                match native(leaf) {
                    Ok(dataset) => {
                        report.native.push((key.clone(), dataset));
                        report.valid.push(key);
                    }
                    Err(error) => report.errors.push(error),
                }
                continue;
            }
            if leaf.python {
                report.python.push(key);
                continue;
            }
            match Task::build(leaf) {
                Ok(task) => {
                    if task.needs_python() {
                        report.python.push(key.clone());
                    }
                    report.warnings.extend(task.warnings);
                    report.valid.push(key);
                }
                Err(error) => report.errors.push(error),
            }
        }
    }
    report
}

/// The dataset of a task that is one, and nothing else.
pub fn native(leaf: &Leaf) -> Result<String> {
    let named = |error: Error| error.prefixed(format!("task `{}`", leaf.name));
    check_keys(&leaf.config).map_err(named)?;
    let dataset = leaf.dataset().unwrap_or_default();
    if let Some(format) = &leaf.format {
        return Err(named(Error::new(format!(
            "format `{format}` needs prompts of a task, and this is dataset `{dataset}` as it is"
        )))
        .with_hint("leave out `@`, or write a task with `doc_to_text` for it"));
    }
    Ok(dataset.to_owned())
}
