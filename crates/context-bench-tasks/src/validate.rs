//! Checking tasks without running them: all problems, not only the first.

use crate::catalog::Catalog;
use crate::error::{Error, Warning};
use crate::select::select;
use crate::task::Task;

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
}

/// Checks what some values select: files, members, fields, templates, filters, metrics.
pub fn validate<S: AsRef<str>>(catalog: &Catalog, values: &[S]) -> Report {
    let mut report = Report::default();
    for value in values {
        let (tree, warnings) = match select(catalog, &[value.as_ref()]) {
            Ok(found) => found,
            Err(error) => {
                report.errors.push(error);
                continue;
            }
        };
        report.warnings.extend(warnings);
        for (leaf, key) in tree.leaves().into_iter().zip(tree.keys()) {
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
