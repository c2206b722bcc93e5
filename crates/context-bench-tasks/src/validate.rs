//! Checking tasks without running them: all problems, not only the first.

use std::collections::{BTreeMap, HashMap, HashSet};

use context_bench_error::Place;
use indexmap::IndexMap;

use crate::error::{Error, Result, Warning};
use crate::fields::check_keys;
use crate::file::Kind;
use crate::function::{Function, Host};
use crate::pattern;
use crate::problems::problems;
use crate::registered;
use crate::resolver::TaskResolver;
use crate::select::expand;
use crate::tree::Leaf;
use crate::warnings::Warnings;

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
    /// Tasks that need a package which is not installed, by package. They are right as far
    /// as can be seen without it, and fail when they are run.
    pub missing_packages: BTreeMap<String, Vec<String>>,
    /// Datasets of the catalog that are tasks as they are: key and dataset.
    pub dataset_tasks: Vec<(String, String)>,
    /// How many tasks were looked at.
    pub n_tasks: usize,
    /// How many mistakes of each kind: files, groups, settings, Python.
    pub classes: BTreeMap<&'static str, usize>,
}

impl Report {
    fn wrong(&mut self, class: &'static str, errors: Vec<Error>) {
        if !errors.is_empty() {
            *self.classes.entry(class).or_default() += 1;
        }
        for error in errors {
            // A mistake in a template is reported once, not for every file that includes it.
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
    }
}

/// Checks what some values select: files, members, fields, templates, filters, metrics,
/// and with a host also that functions and classes can be loaded. One mistake does not
/// hide another.
pub fn validate<S: AsRef<str>>(
    resolver: &TaskResolver,
    values: &[S],
    host: Option<&dyn Host>,
) -> Report {
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
    let noticed = Warnings::of_all();
    let mut seen: HashSet<String> = HashSet::new();
    let mut leaves: IndexMap<String, Vec<Leaf>> = IndexMap::new();
    for value in values {
        let specs = match expand(resolver, value) {
            Ok(specs) => specs,
            Err(error) => {
                report.wrong("selection", vec![error]);
                continue;
            }
        };
        let is_pattern = pattern::is_pattern(value);
        if is_pattern {
            left_out(resolver, value, &mut report);
        }
        for spec in specs {
            // The tasks of a tag have names that the pattern finds as well as the tag.
            let is_tag =
                resolver.index.tag(&spec).is_some() && resolver.index.entry(&spec).is_none();
            if (is_pattern && value == "*" && is_tag) || !seen.insert(spec.clone()) {
                continue;
            }
            let resolved = resolver.spec(&spec, &noticed);
            let mut wrong = noticed.errors();
            let nodes = match resolved {
                Ok(nodes) => nodes,
                Err(error) => {
                    wrong.push(error);
                    Vec::new()
                }
            };
            let found: Vec<&Leaf> = nodes.iter().flat_map(|node| node.leaves()).collect();
            if found.is_empty() && wrong.is_empty() {
                let nothing = Error::new(format!("there are no tasks in `{spec}`"));
                wrong.push(nothing.with_hint("add members to the `task` list of the group"));
            }
            for leaf in found {
                let same = leaves.entry(leaf.id.clone()).or_default();
                if !same.contains(leaf) {
                    same.push(leaf.clone());
                }
            }
            let class = match resolver.index.entry(&spec).map(|entry| entry.kind) {
                Some(Kind::Group) => "groups",
                Some(_) => "files",
                None => "selection",
            };
            report.wrong(class, wrong);
        }
    }
    report.warnings.extend(noticed.into_inner());
    report.n_tasks = leaves.len();
    for (key, same) in &leaves {
        let before = report.errors.len();
        let wrong: Vec<bool> = same
            .iter()
            .map(|leaf| check(leaf, key, &mut functions, &mut report))
            .collect();
        if !wrong.contains(&true) && report.errors.len() == before {
            report.valid.push(key.clone());
        }
    }
    report
}

/// Checks one task; says whether something is wrong with it.
fn check(leaf: &Leaf, key: &str, functions: &mut Functions<'_>, report: &mut Report) -> bool {
    if leaf.is_dataset_task() {
        return match dataset_of(leaf) {
            Ok(dataset) => {
                report.dataset_tasks.push((key.to_owned(), dataset));
                false
            }
            Err(error) => {
                report.wrong("settings", vec![error]);
                true
            }
        };
    }
    let (errors, warnings) = match (leaf.python, problems(leaf)) {
        (true, _) => (Vec::new(), Vec::new()),
        (false, Ok(warnings)) => (Vec::new(), warnings),
        (false, Err(errors)) => (errors, Vec::new()),
    };
    let is_wrong = !errors.is_empty();
    report.wrong("settings", errors);
    let (wrong, checked) = functions.check(leaf);
    let (missing, wrong): (Vec<Error>, Vec<Error>) = wrong
        .into_iter()
        .partition(|error| error.package().is_some());
    let is_wrong = is_wrong || !wrong.is_empty();
    report.wrong("Python code", wrong);
    for package in missing.iter().filter_map(Error::package) {
        let tasks = report
            .missing_packages
            .entry(package.to_owned())
            .or_default();
        if tasks.last().is_none_or(|last| last != key) {
            tasks.push(key.to_owned());
        }
    }
    if !is_wrong {
        if !checked {
            report.python.push(key.to_owned());
        }
        report.warnings.extend(warnings);
    }
    is_wrong
}

/// Files that the index could not use, of those that a pattern would find.
fn left_out(resolver: &TaskResolver, value: &str, report: &mut Report) {
    let found = resolver.index.all_left_out();
    for (name, path) in found.filter(|(name, _)| pattern::matches(value, name)) {
        let error = resolver.loader.load(path).err().unwrap_or_else(|| {
            let shown = path.to_string_lossy();
            let problem = resolver.index.problems.iter().find(|problem| {
                let place = problem.place.as_ref();
                place.is_some_and(|place| *place.file == *shown)
            });
            let message = problem.map_or("the file cannot be used", |found| &found.message);
            Error::new(format!("`{name}`: {message}")).at(&Place::file(shown))
        });
        report.wrong("files", vec![error]);
    }
}

/// Loads the Python functions and classes that tasks name, each once.
struct Functions<'h> {
    host: Option<&'h dyn Host>,
    known: HashMap<Function, Option<Error>>,
}

impl Functions<'_> {
    /// What is wrong with the functions of a task, and whether all were checked; so they
    /// were when there are none.
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
                let error = registered::unregistered(&function, error.clone())
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

/// Loads every Python function and class that some tasks name, each once, so that a missing
/// one shows before a model is asked.
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
pub fn dataset_of(leaf: &Leaf) -> Result<String> {
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
