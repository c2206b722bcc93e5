//! The one index: tasks and groups that come with the program, the datasets of the
//! catalog as tasks, and the user's own files.
//!
//! Nothing is listed twice. A dataset is a task because it is in the catalog; which
//! configs it has is read from its description.

use std::path::PathBuf;

use context_bench_tasks::validate::{self, Report};
use context_bench_tasks::{
    Error, Host, IndexOptions, Leaf, MemoryFiles, Result, TaskFileIndex, TaskResolver, Tree,
    Warning,
};

use crate::dataset::catalog::{CATEGORIES, Config, DatasetCatalog, Spec};
use crate::dataset::{DatasetRef, DatasetTarget};
use crate::embedded::embedded;

/// Task files that come with the program. `_NAME.yaml` holds what the configs of dataset
/// `NAME` share as tasks.
const EMBEDDED: &[(&str, &str)] = embedded![
    "tasks":
    "_mmlu",
    "arc_challenge_likelihood",
    "bbh",
    "bbh_logical_deduction",
    "bbh_tracking_shuffled_objects",
    "bfcl_live",
    "bfcl_non_live",
    "bfcl_simple_languages",
    "bfcl_single_turn",
    "hellaswag_likelihood",
    "infinitebench",
    "longbench",
    "longbench_code",
    "longbench_few_shot",
    "longbench_multi_document_qa",
    "longbench_single_document_qa",
    "longbench_summarization",
    "longbench_synthetic",
    "longbench_zh",
    "mgsm",
    "mmlu",
    "mmlu_humanities",
    "mmlu_other",
    "mmlu_social_sciences",
    "mmlu_stem",
    "truthfulqa_mc1",
    "winogrande_likelihood",
];

/// The folder of files that come with the program; no folder on disk has this name.
const FOLDER: &str = "<built-in>";

/// Which files are indexed, and where the index is kept.
#[derive(Debug, Clone, Default)]
pub struct TaskIndexSettings {
    /// Folders and files of the user, weakest first.
    pub include: Vec<PathBuf>,
    /// The file that keeps the index of large trees between runs.
    pub cache: Option<PathBuf>,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
}

/// Everything that `--tasks` can name.
#[derive(Debug)]
pub struct TaskIndex {
    /// Tasks and groups.
    pub tasks: TaskResolver,
    /// The datasets, with those that the user's files describe.
    pub datasets: DatasetCatalog,
}

impl TaskIndex {
    /// Indexes the user's files on top of what comes with the program.
    ///
    /// # Errors
    ///
    /// When a path is not there, or the description of a dataset is not right.
    pub fn build(datasets: &DatasetCatalog, settings: &TaskIndexSettings) -> Result<Self> {
        let own = TaskFileIndex::build(&IndexOptions {
            roots: settings.include.clone(),
            cache: settings.cache.clone(),
            home: settings.home.clone(),
            threads: 0,
        })?;
        let mut datasets = datasets.clone();
        for file in &own.datasets {
            datasets.include(file).map_err(|error| told(&error))?;
        }
        let given = given(&datasets)?;
        let index = own.over(TaskFileIndex::of_memory_files(&given));
        Ok(Self {
            tasks: TaskResolver::new(index, settings.home.clone()).with_memory_files(given),
            datasets,
        })
    }

    /// What some values of `--tasks` name, with remarks.
    ///
    /// # Errors
    ///
    /// When a value names nothing, or what it names is not right.
    pub fn select<S: AsRef<str>>(&self, values: &[S]) -> Result<(Tree, Vec<Warning>)> {
        let (tree, mut warnings) = context_bench_tasks::select(&self.tasks, values)?;
        for leaf in tree.leaves() {
            if leaf.is_dataset_task() {
                validate::dataset_of(leaf)?;
                warnings.extend(without_effect(leaf));
            }
            self.dataset(leaf)?;
        }
        Ok((tree, warnings))
    }

    /// Checks what some values name, with all problems and not only the first; with a
    /// host also that functions and classes can be loaded.
    pub fn validate<S: AsRef<str>>(&self, values: &[S], host: Option<&dyn Host>) -> Report {
        let mut report = context_bench_tasks::validate(&self.tasks, values, host);
        for (key, dataset) in &report.dataset_tasks {
            if let Err(error) = self.named(dataset) {
                report.valid.retain(|valid| valid != key);
                report.errors.push(error.prefixed(format!("task `{key}`")));
            }
        }
        report
    }

    /// The dataset of the catalog that a task takes its records from, if it is one.
    ///
    /// # Errors
    ///
    /// When there is no such dataset or config, or several are named.
    pub fn dataset(&self, leaf: &Leaf) -> Result<Option<Config>> {
        let Some(dataset) = leaf.dataset() else {
            return Ok(None);
        };
        self.named(dataset).map(Some).map_err(|error| {
            let error = error.prefixed(format!("task `{}`: `dataset`", leaf.name));
            match leaf.config.place("dataset") {
                Some(place) => error.at(place),
                None => error,
            }
        })
    }

    fn named(&self, dataset: &str) -> Result<Config> {
        config(&self.datasets, dataset, None)
    }
}

/// The one config that `name[:config][@split]` means; `split` replaces the split.
pub(super) fn config(
    datasets: &DatasetCatalog,
    dataset: &str,
    split: Option<&str>,
) -> Result<Config> {
    let reference = DatasetRef::parse(dataset).map_err(|error| told(&error))?;
    let DatasetTarget::Named(named) = reference.target() else {
        return Err(Error::new(format!("`{dataset}` is a file"))
            .with_hint("name a dataset of the catalog; files go into `dataset_path`"));
    };
    let spec = datasets.get(&named.name).map_err(|error| told(&error))?;
    let split = split.or(named.split.as_deref());
    let configs = spec.select(named.config.as_deref(), split);
    let mut configs = configs.map_err(|error| told(&error))?;
    match (configs.pop(), configs.is_empty()) {
        (Some(config), true) => Ok(config),
        _ => Err(Error::new(format!(
            "`{dataset}` names several configs, and a task has one"
        ))
        .with_hint("write a group with a task for each")),
    }
}

/// A dataset as it is takes no prompts and no examples from those around it.
fn without_effect(leaf: &Leaf) -> Vec<Warning> {
    let used = ["task", "task_alias", "dataset", "metadata"];
    let mut warnings = Vec::new();
    for (key, setting) in leaf.config.iter() {
        if !used.contains(&key) && !setting.value.is_null() && setting.value != 0 {
            let message = format!(
                "`{key}` has no effect on `{}`, a dataset that is asked in its own way",
                leaf.name
            );
            warnings.push(Warning::at(message, setting.origin.place.clone()));
        }
    }
    warnings
}

/// An error of datasets in the words of tasks.
pub(super) fn told<E: std::fmt::Display + crate::error::Hint>(error: &E) -> Error {
    Error::new(error.to_string()).with_some_hint(error.hint())
}

/// The files that come with the program, and those made of the catalog.
fn given(datasets: &DatasetCatalog) -> Result<MemoryFiles> {
    let mut files = Files::default();
    for (name, text) in EMBEDDED {
        files.0.add(path(name), *text);
    }
    let mut by_category = vec![Vec::new(); CATEGORIES.len()];
    for name in datasets.names() {
        let spec = datasets.get(name).map_err(|error| told(&error))?;
        files.add_dataset(&spec);
        if let Some(at) = CATEGORIES
            .iter()
            .position(|known| *known == spec.category())
        {
            by_category[at].push(name);
        }
    }
    for (category, members) in CATEGORIES.iter().zip(by_category) {
        if !members.is_empty() {
            files.add_group(category, &members);
        }
    }
    Ok(files.0)
}

fn path(name: &str) -> PathBuf {
    [FOLDER, name].iter().collect()
}

#[derive(Default)]
struct Files(MemoryFiles);

impl Files {
    fn has(&self, name: &str) -> bool {
        self.0.get(&path(&format!("{name}.yaml"))).is_some()
    }

    /// A dataset is a task under its own name, and each further config is one more;
    /// where a group has that name, every config is a task of its own.
    fn add_dataset(&mut self, spec: &Spec) {
        let name = spec.name();
        let usual = spec.default_configs();
        let is_group = self.has(name) || usual.len() > 1;
        for config in spec.config_names() {
            let dataset = format!("{name}:{config}");
            // `NAME:CONFIG` and `NAME:*` are understood as with `--dataset`.
            let mut tags = vec![dataset.clone()];
            if !spec.is_joined(config) {
                tags.push(format!("{name}:*"));
            }
            let is_usual = !is_group && usual.iter().any(|usual| usual == config);
            let task = if is_usual {
                name.to_owned()
            } else {
                format!("{name}_{config}")
            };
            let alias = (!is_usual && is_group).then_some(config);
            let shared = format!("_{name}");
            let shared = (self.has(&shared) && !spec.is_joined(config)).then_some(shared);
            self.add_task(&task, alias, &dataset, &tags, shared.as_deref());
        }
        if spec.config_names().next().is_none() {
            self.add_task(name, None, name, &[], None);
        } else if is_group && !self.has(name) {
            let members: Vec<String> = usual.iter().map(|c| format!("{name}_{c}")).collect();
            self.add_group(name, &members);
        }
    }

    /// JSON is YAML, so that any name is written right.
    fn add_task(
        &mut self,
        task: &str,
        alias: Option<&str>,
        dataset: &str,
        tags: &[String],
        shared: Option<&str>,
    ) {
        let json = |value: &str| serde_json::Value::from(value).to_string();
        let mut text = String::new();
        if let Some(shared) = shared {
            text += &format!("include: {}\n", json(&format!("{shared}.yaml")));
        }
        text += &format!("task: {}\ndataset: {}\n", json(task), json(dataset));
        if let Some(alias) = alias {
            text += &format!("task_alias: {}\n", json(alias));
        }
        if !tags.is_empty() {
            text += &format!("tag: {}\n", serde_json::Value::from(tags.to_vec()));
        }
        self.0.add(path(&format!("{task}.yaml")), text);
    }

    fn add_group<S: AsRef<str>>(&mut self, group: &str, members: &[S]) {
        let members: Vec<&str> = members.iter().map(AsRef::as_ref).collect();
        let text = format!(
            "group: {}\ntask: {}\n",
            serde_json::Value::from(group),
            serde_json::Value::from(members)
        );
        self.0.add(path(&format!("{group}.yaml")), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use context_bench_tasks::Task;

    fn task_index() -> TaskIndex {
        TaskIndex::build(&DatasetCatalog::builtin(), &TaskIndexSettings::default()).expect("sound")
    }

    #[test]
    fn the_list_is_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/catalog/tasks");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("readable").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        files.sort();
        let listed: Vec<&str> = EMBEDDED.iter().map(|(file, _)| *file).collect();
        assert_eq!(files, listed);
    }

    #[test]
    fn everything_that_comes_with_the_program_is_sound() {
        let task_index = task_index();
        let index = &task_index.tasks.index;
        assert!(index.warnings.is_empty(), "{:?}", index.warnings);
        let groups: Vec<&str> = index.groups().map(|(name, _)| name).collect();
        let tasks: Vec<&str> = index.tasks().map(|(name, _)| name).collect();
        for name in groups.iter().chain(&tasks) {
            let (tree, warnings) = task_index.select(&[name]).expect(name);
            assert!(warnings.is_empty(), "{name}: {warnings:?}");
            for leaf in tree.leaves() {
                let config = task_index.dataset(leaf).expect(name);
                assert!(config.is_some(), "{name}");
                if !leaf.is_dataset_task() {
                    let task = Task::build(leaf).expect(name);
                    assert!(task.warnings.is_empty(), "{name}: {:?}", task.warnings);
                }
            }
        }
    }

    #[test]
    fn every_config_of_every_dataset_is_one_task() {
        let task_index = task_index();
        for name in task_index.datasets.names() {
            let spec = task_index.datasets.get(name).expect(name);
            for config in spec.config_names() {
                let full = format!("{name}:{config}");
                let (tree, _) = task_index.select(&[&full]).expect(&full);
                let leaves = tree.leaves();
                assert_eq!(leaves.len(), 1, "{full}");
                assert_eq!(leaves[0].dataset(), Some(full.as_str()));
            }
        }
    }

    #[test]
    fn every_subject_is_in_one_area() {
        let (tree, warnings) = task_index().select(&["mmlu"]).expect("a group");
        assert!(warnings.is_empty(), "{warnings:?}");
        let mut subjects: Vec<&str> = tree
            .leaves()
            .iter()
            .filter_map(|leaf| leaf.dataset())
            .collect();
        assert_eq!(subjects.len(), 57);
        subjects.sort_unstable();
        subjects.dedup();
        assert_eq!(subjects.len(), 57);
    }
}
