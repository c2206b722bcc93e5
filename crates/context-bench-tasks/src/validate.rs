//! Checking tasks without running them: all problems, not only the first.

use std::collections::HashMap;

use crate::catalog::Catalog;
use crate::error::{Error, Result, Warning};
use crate::fields::check_keys;
use crate::function::{Function, Host};
use crate::problems::problems;
use crate::registered;
use crate::select::select;
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
    /// Tasks that need Python and were checked without.
    pub python: Vec<String>,
    /// Datasets of the catalogue that are tasks as they are: key and dataset.
    pub native: Vec<(String, String)>,
}

/// Checks what some values select: files, members, fields, templates, filters, metrics,
/// and with a host also that functions and classes can be loaded.
pub fn validate<S: AsRef<str>>(catalog: &Catalog, values: &[S], host: Option<&dyn Host>) -> Report {
    let mut report = Report::default();
    let mut functions = Functions {
        host,
        known: HashMap::new(),
    };
    let values = values.iter().flat_map(|value| value.as_ref().split(','));
    let values: Vec<&str> = values
        .map(str::trim)
        .filter(|value| !value.is_empty())
        .collect();
    if values.is_empty() {
        let nothing = Error::new("no tasks are given");
        report.errors.push(
            nothing.with_hint("name tasks, groups or tags, for example `validate --tasks mmlu`"),
        );
    }
    for value in values {
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
            let built = match leaf.python {
                true => Ok(Vec::new()),
                false => problems(leaf),
            };
            let (mut errors, warnings) = match built {
                Ok(warnings) => (Vec::new(), warnings),
                Err(errors) => (errors, Vec::new()),
            };
            let (wrong, checked) = functions.check(leaf);
            errors.extend(wrong);
            if errors.is_empty() {
                if !checked {
                    report.python.push(key.clone());
                }
                report.warnings.extend(warnings);
                report.valid.push(key);
            }
            report.errors.extend(errors);
        }
    }
    report
}

/// Loads what tasks name of Python, each once.
struct Functions<'h> {
    host: Option<&'h dyn Host>,
    known: HashMap<Function, Option<Error>>,
}

impl Functions<'_> {
    /// What is wrong with the functions of a task, and whether all were looked at; none
    /// is all of none.
    fn check(&mut self, leaf: &Leaf) -> (Vec<Error>, bool) {
        let (mut errors, mut all) = (Vec::new(), true);
        let named = leaf.config.iter().flat_map(|(key, setting)| {
            let functions = Function::all_inside(&setting.value).into_iter();
            functions.map(move |function| (key, function))
        });
        let registered = match leaf.python {
            true => Vec::new(),
            false => registered::references(&leaf.config),
        };
        for (key, function) in named.chain(registered) {
            let Some(host) = self.host else {
                all = false;
                continue;
            };
            let load = |function: &Function| host.load(function).err();
            let known = self.known.entry(function.clone());
            if let Some(error) = known.or_insert_with_key(load) {
                let error = error
                    .clone()
                    .prefixed(format!("task `{}`: `{key}`", leaf.name));
                errors.push(match leaf.config.place(key) {
                    Some(place) => error.at(place),
                    None => error,
                });
            }
        }
        (errors, all)
    }
}

/// Loads all that some tasks name of Python, each once: what is missing shows before
/// anything is asked.
///
/// # Errors
///
/// When something cannot be loaded.
pub fn check_functions<'l>(
    leaves: impl IntoIterator<Item = &'l Leaf>,
    host: &dyn Host,
) -> Result<()> {
    let mut functions = Functions {
        host: Some(host),
        known: HashMap::new(),
    };
    for leaf in leaves {
        let (errors, _) = functions.check(leaf);
        if let Some(error) = errors.into_iter().next() {
            return Err(error);
        }
    }
    Ok(())
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
