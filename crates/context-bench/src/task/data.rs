//! The records of a task, split by split: from the hub, from files, from Python.
//!
//! Only splits that prompts need are read, and no more of them than prompts need.

use std::path::{Path, PathBuf};

use context_bench_error::Hint as _;
use context_bench_tasks::config::Config;
use context_bench_tasks::function::Function;
use context_bench_tasks::{Dataset, Error, Host, Leaf, Need, Options, Result, Split, Task};
use serde_json::{Map, Value};

use super::files::{self, Origin};
use super::index::{config, told};
use super::kwargs::Kwargs;
use super::shared_files::{SharedFiles, about};
use super::slice::Slice;
use crate::dataset::catalog::{
    Config as DatasetConfig, DatasetCatalog, HubAccess, LoadSettings, RawRecords, RawTables,
};
use crate::dataset::{BadRecords, Skipped};
use crate::model::Example;

/// A raw record.
type Record = Map<String, Value>;

/// Where records come from when a task does not say, or when the user says otherwise.
#[derive(Debug, Clone, Default)]
pub struct DataSettings {
    /// The way to the hub.
    pub hub: Option<HubAccess>,
    /// A folder in which `dataset_path` is looked for first.
    pub dataset_dir: Option<PathBuf>,
    /// Files in place of splits, by the name of the split or by what it is for:
    /// `test`, `validation`, `train`, `fewshot`.
    pub replaced: Vec<(String, PathBuf)>,
    /// Local copies, by dataset of the catalog or by `dataset_path`.
    pub copies: Vec<(String, PathBuf)>,
    /// Leaves bad records out and counts them, instead of failing at the first.
    pub skip_bad_lines: bool,
}

/// Reads the records of tasks.
#[derive(Debug)]
pub struct TaskData {
    datasets: DatasetCatalog,
    pub(super) settings: DataSettings,
    tables: RawTables,
    bad: BadRecords,
    apart: SharedFiles,
}

impl TaskData {
    /// A reader for tasks whose `dataset` is in this catalog.
    pub fn new(datasets: DatasetCatalog, settings: DataSettings) -> Self {
        let bad = BadRecords::new(settings.skip_bad_lines);
        Self {
            datasets,
            settings,
            tables: RawTables::new(bad.clone()),
            bad,
            apart: SharedFiles::default(),
        }
    }

    /// The bad records that were left out because the user asked for that.
    pub fn skipped(&self) -> Skipped {
        self.bad.skipped()
    }

    /// What the prompts of a task are made of: of each split that they need, as many
    /// records as they need.
    ///
    /// # Errors
    ///
    /// When a split cannot be found or read.
    pub fn load(&self, task: &Task, options: &Options, host: &dyn Host) -> Result<Dataset> {
        let named = |error: Error| error.prefixed(format!("task `{}`", task.name));
        let needed = task.needed_splits(options)?;
        self.check_replaced(task)?;
        let mut dataset = Dataset::new();
        let mut missing = Vec::new();
        for (split, need) in needed {
            match self.replacement(task, split) {
                Some(path) => {
                    let read = |need| self.given(task, split, path, need);
                    let records = enough(task, split, options, need, read).map_err(|error| {
                        named(error.prefixed(format!("`--data` for split `{split}`")))
                    })?;
                    if task.evaluated_split()? == split {
                        self.note_served(path, task, records.records())?;
                    }
                    dataset.insert(split.to_owned(), records);
                }
                None => missing.push((split, need)),
            }
        }
        if missing.is_empty() {
            return Ok(dataset);
        }
        if let Some(function) = task
            .config
            .get("custom_dataset")
            .and_then(Function::from_json)
        {
            let found = custom(task, &function, host).map_err(|error| {
                let error = named(error.prefixed("`custom_dataset`"));
                at(error, task, &["custom_dataset"])
            })?;
            for (split, records) in found {
                if dataset.get(&split).is_none() {
                    dataset.insert(split, records);
                }
            }
            return Ok(dataset);
        }
        for (split, need) in missing {
            let read = |need| self.split(task, split, need);
            let records = enough(task, split, options, need, read).map_err(|error| {
                let error = named(error.prefixed(format!("split `{split}`")));
                let error = at(error, task, &["dataset", "dataset_path"]);
                advised(error, task, split)
            })?;
            if let Some(file) = self.copy_for(task).filter(|path| path.is_file())
                && task.evaluated_split()? == split
            {
                self.note_served(file, task, records.records())?;
            }
            dataset.insert(split.to_owned(), records);
        }
        Ok(dataset)
    }

    /// All splits that a task in Python names, or that the user gives files for.
    ///
    /// # Errors
    ///
    /// When a split cannot be found or read.
    pub fn splits_of(&self, leaf: &Leaf, host: &dyn Host) -> Result<Vec<(String, Vec<Value>)>> {
        const KEYS: [&str; 9] = [
            "dataset",
            "dataset_path",
            "dataset_name",
            "dataset_kwargs",
            "custom_dataset",
            "training_split",
            "validation_split",
            "test_split",
            "fewshot_split",
        ];
        // The other keys are for the class.
        let mut config = Config::new();
        for (key, setting) in leaf.config.iter().filter(|(key, _)| KEYS.contains(key)) {
            config.set(key, setting.value.clone(), setting.origin.clone());
        }
        let task = Task::from_config(&leaf.name, &config, None)?;
        let roles = Self::roles(&task);
        let mut splits: Vec<(String, Vec<Value>)> = Vec::new();
        let mut add = |split: &str, records: Vec<Record>| {
            let rows = records.into_iter().map(Value::Object).collect();
            splits.push((split.to_owned(), rows));
        };
        let mut seen: Vec<&str> = Vec::new();
        let has_data = KEYS[..5].iter().any(|key| config.get(key).is_some());
        if let Some(function) = config.get("custom_dataset").and_then(Function::from_json) {
            for (split, records) in custom(&task, &function, host)? {
                add(&split, records);
            }
            return Ok(splits);
        }
        for (_, split) in &roles {
            if seen.contains(split) {
                continue;
            }
            seen.push(split);
            match self.replacement(&task, split) {
                Some(path) => add(
                    split,
                    files::read(path, None, &self.bad)
                        .map_err(|error| told(&error))?
                        .records,
                ),
                None if has_data => {
                    let found = self.split(&task, split, Need::All)?;
                    add(split, found.records().to_vec());
                }
                None => {}
            }
        }
        for (split, path) in &self.settings.replaced {
            let is_role = roles.iter().any(|(role, _)| role == split);
            if !seen.contains(&split.as_str()) && !is_role {
                add(
                    split,
                    files::read(path, None, &self.bad)
                        .map_err(|error| told(&error))?
                        .records,
                );
            }
        }
        Ok(splits)
    }

    /// Notes which records a task got of a file that may have served others.
    fn note_served(&self, file: &Path, task: &Task, records: &[Record]) -> Result<()> {
        let records = records.iter();
        self.apart.note(file, &task.name, about(task), records)
    }

    /// The same for examples of a dataset of the catalog.
    ///
    /// # Errors
    ///
    /// When another one got the same of that file.
    pub fn note_examples(
        &self,
        file: &Path,
        config: &DatasetConfig,
        examples: &[Example],
    ) -> Result<()> {
        let name = config.full_name();
        let records = examples.iter().map(Example::fields);
        self.apart.note(file, &name, name.clone(), records)
    }

    /// The copy that a task reads.
    fn copy_for(&self, task: &Task) -> Option<&Path> {
        match task.config.text("dataset") {
            Some(dataset) => {
                let config = config(&self.datasets, dataset, None).ok()?;
                let mut copies = self.settings.copies.iter().rev();
                let copy = copies.find(|(name, _)| is_called(&config, name));
                copy.map(|(_, path)| path.as_path())
            }
            None => self.copy_of(task.config.text("dataset_path")?),
        }
    }

    /// The part of the catalog that a `dataset_path` is, which distinguishes what one file
    /// may have of several.
    fn known_as(&self, task: &Task, path: &str, split: &str) -> Option<DatasetConfig> {
        let names = self.datasets.names().into_iter();
        let mut specs = names.filter_map(|name| self.datasets.get(name).ok());
        let spec = specs.find(|spec| spec.hub_repo() == Some(path))?;
        let part = match task.config.text("dataset_name") {
            Some(name) => format!("{}:{name}", spec.name()),
            None => spec.name().to_owned(),
        };
        config(&self.datasets, &part, Some(split)).ok()
    }

    fn copy_of(&self, name: &str) -> Option<&Path> {
        let found = self.settings.copies.iter().rfind(|(key, _)| key == name);
        found.map(|(_, path)| path.as_path())
    }

    fn split(&self, task: &Task, split: &str, need: Need) -> Result<Split> {
        let slice = Slice::parse(split)?;
        let most = slice.most(need);
        let found = match task.config.text("dataset") {
            Some(dataset) => self.of_catalog(task, dataset, slice.split, most)?,
            None => self.of_path(task, slice.split, most)?,
        };
        Ok(slice.apply(found))
    }

    /// Records of a dataset that the catalog describes.
    fn of_catalog(
        &self,
        task: &Task,
        dataset: &str,
        split: &str,
        most: Option<usize>,
    ) -> Result<RawRecords> {
        let config = config(&self.datasets, dataset, Some(split))?;
        let copies = self.settings.copies.iter();
        let copy = copies.rev().find(|(name, _)| is_called(&config, name));
        let copy = copy.map(|(_, path)| path.as_path());
        if let Some(file) = copy.filter(|path| path.is_file()) {
            let evaluated = task.evaluated_split()?;
            files::check_split(file, split, evaluated)?;
        }
        let settings = LoadSettings {
            path: copy.map(Path::to_owned),
            max_examples: most,
            hub: self.settings.hub.clone(),
            ..LoadSettings::default()
        };
        let records = config.records(&settings, &self.tables);
        records.map_err(|error| told(&error))
    }

    /// Records of a file in place of a split. One file may serve many configs of a
    /// dataset (all subjects of MMLU); each gets its own.
    fn given(&self, task: &Task, split: &str, path: &Path, need: Need) -> Result<Split> {
        let most = match need {
            Need::First(n) => Some(n),
            Need::All => None,
        };
        let dataset = task.config.text("dataset").filter(|_| path.is_file());
        let records = match dataset {
            Some(dataset) => {
                let settings = LoadSettings {
                    path: Some(path.to_owned()),
                    max_examples: most,
                    ..LoadSettings::default()
                };
                let split = Slice::parse(split)?.split;
                config(&self.datasets, dataset, Some(split))?.records(&settings, &self.tables)
            }
            None => files::read(path, most, &self.bad),
        };
        let found = records.map_err(|error| told(&error))?;
        Ok(Split::first(found.records, found.n_original))
    }

    /// Records of what `dataset_path` names.
    fn of_path(&self, task: &Task, split: &str, most: Option<usize>) -> Result<RawRecords> {
        let Some(path) = task.config.text("dataset_path") else {
            return Err(Error::new("the task names no dataset")
                .with_hint("set `dataset_path`, or `dataset` for one of the catalog"));
        };
        let copy = self.copy_of(path).map(Path::to_owned);
        let copy = copy.or_else(|| {
            let folder = self.settings.dataset_dir.as_ref()?;
            Some(folder.join(path)).filter(|copy| copy.exists())
        });
        if let Some(file) = copy.as_deref().filter(|path| path.is_file()) {
            files::check_split(file, split, task.evaluated_split()?)?;
            let records = match self.known_as(task, path, split) {
                Some(config) => config.records(
                    &LoadSettings {
                        path: Some(file.to_owned()),
                        max_examples: most,
                        ..LoadSettings::default()
                    },
                    &self.tables,
                ),
                None => files::read(file, most, &self.bad),
            };
            return records.map_err(|error| told(&error));
        }
        let origin = Origin {
            path,
            copy,
            name: task.config.text("dataset_name"),
            kwargs: Kwargs::read(task)?,
            // Where relative paths begin that are not found from the working folder.
            folder: task
                .config
                .place("dataset_path")
                .and_then(|place| Path::new(&*place.file).parent()),
            hub: self.settings.hub.as_ref(),
            bad: &self.bad,
        };
        origin.records(split, most)
    }
}

/// As much of a split as is needed, which for examples may show only in the records.
fn enough(
    task: &Task,
    split: &str,
    options: &Options,
    need: Need,
    read: impl Fn(Need) -> Result<Split>,
) -> Result<Split> {
    let found = read(need)?;
    match found.is_whole() || task.has_examples_in(split, found.records(), options)? {
        true => Ok(found),
        false => read(Need::All),
    }
}

/// Whether a user means this part of a dataset by a name: `mmlu`, `mmlu:anatomy`, or its
/// repository on the hub, `cais/mmlu`.
pub fn is_called(config: &DatasetConfig, name: &str) -> bool {
    let full = config.full_name();
    name == config.spec().name()
        || full == name
        || full.split('@').next() == Some(name)
        || config.spec().hub_repo() == Some(name)
}

/// What a function gives that replaces the loader.
fn custom(task: &Task, function: &Function, host: &dyn Host) -> Result<Vec<(String, Vec<Record>)>> {
    let mut keywords = task.metadata.clone();
    if let Some(Value::Object(kwargs)) = task.config.get("dataset_kwargs") {
        keywords.extend(kwargs.clone());
    }
    let splits = host.splits(function, &keywords)?;
    let record = |row: Value| match row {
        Value::Object(record) => Ok(record),
        other => Err(Error::new(format!(
            "a record must be a mapping, found `{other}`"
        ))),
    };
    splits
        .into_iter()
        .map(|(split, rows)| {
            let records: Result<Vec<Record>> = rows.into_iter().map(record).collect();
            Ok((split, records?))
        })
        .collect()
}

/// The error with what else can be done about a split that is not there.
fn advised(error: Error, task: &Task, split: &str) -> Error {
    let mut hint = format!("`--data {split}=FILE` reads it from a file");
    if task
        .evaluated_split()
        .is_ok_and(|evaluated| evaluated != split)
    {
        hint += ", `--num-fewshot 0` does without examples";
    }
    match error.hint() {
        Some(first) => error.hinted(format!("{first}; {hint}")),
        None => error.hinted(hint),
    }
}

/// The error at the first of some keys that the task has.
fn at(error: Error, task: &Task, keys: &[&str]) -> Error {
    match keys.iter().find_map(|key| task.config.place(key)) {
        Some(place) => error.at(place),
        None => error,
    }
}
