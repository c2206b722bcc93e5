//! Tasks that are no YAML alone: Python classes, and datasets of the catalogue.
//!
//! `run` and `render` prepare them here, so that what is shown is what is sent.

use context_bench::dataset::catalogue::{Config, LoadSettings};
use context_bench::task::TaskData;
use context_bench::task::tasks::options::Limit;
use context_bench::task::tasks::{Error, Function, Host, Leaf, Object, Options};
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

/// How a dataset of the catalogue is loaded when it is a task.
pub(crate) fn native_settings(
    config: &Config,
    prompt: &PromptArgs,
    limit: Option<Limit>,
    seed: Option<i64>,
    quiet: bool,
) -> Result<LoadSettings, Failure> {
    let copies = prompt.data_from.iter().rev();
    let mut copies = copies.filter(|(name, _)| name == config.spec().name());
    Ok(LoadSettings {
        path: copies.next().map(|(_, path)| path.clone()),
        hub: Some(hub::access(quiet)?),
        max_examples: match limit {
            Some(Limit::Count(n)) => Some(n),
            _ => None,
        },
        seed: datasets::seed(seed),
        ..LoadSettings::default()
    })
}
