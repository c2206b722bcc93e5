//! Tasks that are no YAML alone: Python classes, and datasets of the catalogue.
//!
//! `run` and `render` prepare them here, so that what is shown is what is sent.

use std::path::PathBuf;

use context_bench::dataset::catalogue::{Config, LoadSettings};
use context_bench::system::{GENERATION_SETTINGS, SYSTEM_INSTRUCTION};
use context_bench::task::tasks::options::Limit;
use context_bench::task::tasks::suggest::quoted_list;
use context_bench::task::tasks::{Error, Function, Host, Leaf, Object, Options, Tree};
use context_bench::task::{TaskCatalog, TaskData, is_called};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::task_args::PromptArgs;
use crate::{datasets, hub};

/// The object of a task that is a Python class.
pub(crate) struct ClassObject {
    pub(crate) object: Box<dyn Object>,
    /// How many examples its prompts have.
    pub(crate) shots: usize,
    /// What its requests are asked with.
    pub(crate) keywords: Map<String, Value>,
}

impl ClassObject {
    /// Makes the object with the settings of a leaf and the options of a run.
    pub(crate) fn make(
        leaf: &Leaf,
        data: &TaskData,
        host: &dyn Host,
        options: &Options,
    ) -> Result<Self, Failure> {
        let named = |error: Error| Failure::from(error.prefixed(format!("task `{}`", leaf.name)));
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
        let splits = data.splits_of(leaf, host).map_err(named)?;
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
}

/// A limit as a number of documents of an object.
fn n_documents(object: &dyn Object, limit: Limit, leaf: &Leaf) -> Result<usize, Failure> {
    let documents = object.get("eval_docs").ok();
    let all = documents.and_then(|docs| Some(docs.as_array()?.len()));
    match (limit, all) {
        (Limit::Count(n), _) => Ok(n),
        (limit, Some(all)) => Ok(limit.apply(all)),
        (Limit::Share(_), None) => Err(Failure::bad_input(format!(
            "task `{}` does not tell how many documents it has",
            leaf.name
        ))
        .hint("give `--limit` as a number of documents")),
    }
}

/// The file that `--data` names for the split that a dataset of the catalogue has.
fn replaced(config: &Config, prompt: &PromptArgs) -> Result<Option<PathBuf>, Failure> {
    let split = config.split().unwrap_or("test");
    let mut given = prompt.data.iter().rev();
    let found = given.find(|(name, _)| name == split || name == "test");
    match (found, prompt.data.first()) {
        (Some((_, path)), _) => Ok(Some(path.clone())),
        (None, None) => Ok(None),
        (None, Some((name, _))) => Err(Failure::bad_input(format!(
            "dataset `{}` is asked about its split `{split}`, not `{name}`",
            config.full_name()
        ))
        .hint(format!("write `--data {split}=FILE`"))),
    }
}

/// A copy of something that no task reads is a mistake.
pub(crate) fn check_copies(
    tree: &Tree,
    catalog: &TaskCatalog,
    prompt: &PromptArgs,
) -> Result<(), Failure> {
    let leaves = tree.leaves();
    // What a class reads is known only to the class.
    if prompt.data_from.is_empty() || leaves.iter().any(|leaf| leaf.python) {
        return Ok(());
    }
    let mut known: Vec<String> = Vec::new();
    let mut configs = Vec::new();
    for leaf in leaves {
        if let Some(config) = catalog.dataset(leaf)? {
            known.push(config.spec().name().to_owned());
            configs.push(config);
        } else if let Some(path) = leaf.config.text("dataset_path") {
            known.push(path.to_owned());
        }
    }
    known.sort();
    known.dedup();
    for (name, _) in &prompt.data_from {
        let of_config = configs.iter().any(|config| is_called(config, name));
        if !known.contains(name) && !of_config {
            let names: Vec<&str> = known.iter().map(String::as_str).take(10).collect();
            return Err(Failure::bad_input(format!(
                "`--data-from {name}=…` is a copy of nothing that these tasks read"
            ))
            .hint(match names.is_empty() {
                true => "they read no dataset by name; `--data SPLIT=FILE` replaces a split".into(),
                false => format!("they read {}", quoted_list(&names, "and")),
            }));
        }
    }
    Ok(())
}

/// What a run says about every answer, as fields of examples that have their own
/// prompts.
pub(crate) fn native_fields(options: &Options) -> Vec<(&'static str, Value)> {
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

/// How a dataset of the catalogue is loaded when it is a task.
pub(crate) fn native_settings(
    config: &Config,
    prompt: &PromptArgs,
    limit: Option<Limit>,
    seed: Option<i64>,
    quiet: bool,
) -> Result<LoadSettings, Failure> {
    let copies = prompt.data_from.iter().rev();
    let mut copies = copies.filter(|(name, _)| is_called(config, name));
    let path = match replaced(config, prompt)? {
        Some(path) => Some(path),
        None => copies.next().map(|(_, path)| path.clone()),
    };
    Ok(LoadSettings {
        path,
        hub: Some(hub::access(quiet)?),
        max_examples: match limit {
            Some(Limit::Count(n)) => Some(n),
            _ => None,
        },
        seed: datasets::seed(seed),
        ..LoadSettings::default()
    })
}
