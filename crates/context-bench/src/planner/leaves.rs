//! Tasks that are more than YAML: Python classes, and datasets of the catalog.
//!
//! Runs and the commands that show what would be sent prepare them here.

use std::path::PathBuf;

use context_bench_error::suggest::quoted_list;
use context_bench_tasks::options::Limit;
use context_bench_tasks::prompt::Dataset as Records;
use context_bench_tasks::{Error, Function, Host, Leaf, Object, Options, Tree};
use serde_json::{Map, Value, json};

use super::PlanError;
use crate::benchmark::ClassTask;
use crate::dataset::catalog::{Config, LoadSettings};
use crate::plan::DataSpec;
use crate::system::{GENERATION_SETTINGS, SYSTEM_INSTRUCTION};
use crate::task::{TaskData, TaskIndex, is_called};

/// The object of a task that is a Python class.
pub struct ClassObject {
    /// The object.
    pub object: Box<dyn Object>,
    /// How many examples its prompts have.
    pub shots: usize,
    /// What its requests are asked with.
    pub keywords: Map<String, Value>,
}

impl ClassObject {
    /// Makes the object with the settings of a leaf and the options of a run; `given`
    /// are records in place of those that the leaf names.
    ///
    /// # Errors
    ///
    /// When there is no such class, it fails, or its records cannot be read.
    pub fn make(
        leaf: &Leaf,
        data: &TaskData,
        given: Option<&Records>,
        host: &dyn Host,
        options: &Options,
    ) -> Result<Self, PlanError> {
        let named = |error: Error| PlanError::from(error.prefixed(format!("task `{}`", leaf.name)));
        let class = leaf.config.get("class").and_then(Function::from_json);
        let class =
            class.ok_or_else(|| named(Error::new("`class` must be `!function module.Class`")))?;
        let mut config = leaf.config.to_json();
        config.shift_remove("class");
        let own = config.get("num_fewshot").and_then(Value::as_u64);
        let shots = match (own, options.num_fewshot) {
            (Some(0), _) => Some(0),
            (own, None) => own,
            (_, Some(n)) => Some(n as u64),
        };
        if let Some(shots) = shots {
            config.insert("num_fewshot".into(), json!(shots));
        }
        let splits = match given {
            Some(records) => {
                let rows =
                    |rows: &[Map<String, Value>]| rows.iter().cloned().map(Value::Object).collect();
                let splits = records.iter();
                splits
                    .map(|(split, own)| (split.clone(), rows(own)))
                    .collect()
            }
            None => data.splits_of(leaf, host).map_err(named)?,
        };
        let object = host.object(&class, &config, &splits).map_err(named)?;
        // Not every class has a seed to set.
        let _ = object.call("set_fewshot_seed", &[json!(options.seed)], &Map::new());
        let mut keywords = Map::new();
        if let Some(limit) = options.limit {
            keywords.insert("limit".into(), json!(n_documents(&*object, limit, leaf)?));
        }
        Ok(Self {
            object,
            shots: usize::try_from(shots.unwrap_or(0)).unwrap_or(usize::MAX),
            keywords,
        })
    }

    /// Lets the object build its requests.
    ///
    /// # Errors
    ///
    /// When the object fails, or asks for something unknown.
    pub fn task(self, leaf: &Leaf, options: &Options) -> Result<ClassTask, PlanError> {
        let (config, generation) = (leaf.config.to_json(), &options.generation);
        let made = ClassTask::new(self.object, config, &self.keywords, generation, self.shots);
        made.map_err(|error| error.prefixed(format!("task `{}`", leaf.name)).into())
    }
}

/// A limit as a number of documents of an object.
fn n_documents(object: &dyn Object, limit: Limit, leaf: &Leaf) -> Result<usize, PlanError> {
    let documents = object.get("eval_docs").ok();
    let all = documents.and_then(|docs| Some(docs.as_array()?.len()));
    match (limit, all) {
        (Limit::Count(n), _) => Ok(n),
        (limit, Some(all)) => Ok(limit.apply(all)),
        (Limit::Share(_), None) => Err(PlanError::new(format!(
            "task `{}` does not say how many documents it has",
            leaf.name
        ))
        .with_hint("give `--limit` as a number of documents")),
    }
}

/// The file that `--data` names for the split that a dataset of the catalog has.
fn replaced(config: &Config, data: &DataSpec) -> Result<Option<PathBuf>, PlanError> {
    let split = config.split().unwrap_or("test");
    let mut given = data.files.iter().rev();
    let found = given.find(|(name, _)| *name == split || *name == "test");
    match (found, data.files.first()) {
        (Some((_, path)), _) => Ok(Some(path.clone())),
        (None, None) => Ok(None),
        (None, Some((name, _))) => Err(PlanError::new(format!(
            "dataset `{}` is asked about its split `{split}`, not `{name}`",
            config.full_name()
        ))
        .with_hint(format!("write `--data {split}=FILE`"))),
    }
}

/// A copy of something that no task reads is a mistake.
///
/// # Errors
///
/// When a copy is of nothing that the tasks read.
pub fn check_copies(tree: &Tree, task_index: &TaskIndex, data: &DataSpec) -> Result<(), PlanError> {
    let leaves = tree.leaves();
    // What a class reads is known only to the class.
    if data.copies.is_empty() || leaves.iter().any(|leaf| leaf.python) {
        return Ok(());
    }
    let mut known: Vec<String> = Vec::new();
    let mut configs = Vec::new();
    for leaf in leaves {
        if let Some(config) = task_index.dataset(leaf)? {
            known.push(config.spec().name().to_owned());
            configs.push(config);
        } else if let Some(path) = leaf.config.text("dataset_path") {
            known.push(path.to_owned());
        }
    }
    known.sort();
    known.dedup();
    for name in data.copies.keys() {
        let of_config = configs.iter().any(|config| is_called(config, name));
        if !known.contains(name) && !of_config {
            let names: Vec<&str> = known.iter().map(String::as_str).take(10).collect();
            return Err(PlanError::new(format!(
                "`--data-from {name}=…` is a copy of nothing that these tasks read"
            ))
            .with_hint(match names.is_empty() {
                true => "they read no dataset by name; `--data SPLIT=FILE` replaces a split".into(),
                false => format!("they read {}", quoted_list(&names, "and")),
            }));
        }
    }
    Ok(())
}

/// What a run says about every answer, as fields of examples that have their own
/// prompts.
pub fn fields_of_run(options: &Options) -> Vec<(&'static str, Value)> {
    let mut fields = Vec::new();
    if !options.generation.is_empty() {
        let settings = Value::Object(options.generation.clone());
        fields.push((GENERATION_SETTINGS, settings));
    }
    if let Some(instruction) = &options.system_instruction {
        fields.push((SYSTEM_INSTRUCTION, json!(instruction)));
    }
    fields
}

/// How a dataset of the catalog is loaded when it is a task: from which copy, and how
/// much of it.
///
/// # Errors
///
/// When a file is given for a split that the dataset is not asked about.
pub fn dataset_settings(
    config: &Config,
    data: &DataSpec,
    limit: Option<Limit>,
) -> Result<LoadSettings, PlanError> {
    let copies = data.copies.iter().rev();
    let mut copies = copies.filter(|(name, _)| is_called(config, name));
    let path = match replaced(config, data)? {
        Some(path) => Some(path),
        None => copies.next().map(|(_, path)| path.clone()),
    };
    Ok(LoadSettings {
        path,
        max_examples: match limit {
            Some(Limit::Count(n)) => Some(n),
            _ => None,
        },
        ..LoadSettings::default()
    })
}
