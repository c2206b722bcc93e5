//! The keys of a task file, and reading them with errors that name key and place.

use context_bench_error::suggest::did_you_mean;
use serde_json::Value;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::fewshot::{Sampler, ShotSource};
use crate::function::Function;
use crate::source::Source;

/// All keys of a task file.
pub(crate) const FIELDS: &[&str] = &[
    "task",
    "task_alias",
    "tag",
    "class",
    "metadata",
    "dataset",
    "dataset_path",
    "dataset_name",
    "dataset_kwargs",
    "custom_dataset",
    "training_split",
    "validation_split",
    "test_split",
    "fewshot_split",
    "process_docs",
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "doc_to_image",
    "doc_to_audio",
    "process_results",
    "description",
    "target_delimiter",
    "fewshot_delimiter",
    "gen_prefix",
    "use_prompt",
    "should_decontaminate",
    "doc_to_decontamination_query",
    "unsafe_code",
    "multiple_inputs",
    "multiple_targets",
    "formats",
    "num_fewshot",
    "fewshot_config",
    "output_type",
    "generation_kwargs",
    "repeats",
    "filter_list",
    "metric_list",
    "scorer",
];

/// Keys that files of sister projects have, and whose they are.
const FOREIGN: &[(&str, &str)] = &[
    ("doc_to_visual", "lmms-eval, a harness for images and video"),
    (
        "lmms_eval_specific_kwargs",
        "lmms-eval, a harness for images and video",
    ),
    (
        "model_specific_prompt_kwargs",
        "lmms-eval, a harness for images and video",
    ),
    ("metric_kwargs", "lmms-eval, a harness for images and video"),
    ("eval_split", "other harnesses, where we have `test_split`"),
    (
        "template_aliases",
        "lm-evaluation-harness before version 0.4",
    ),
    ("gold_alias", "lm-evaluation-harness before version 0.4"),
    ("reference", "lm-evaluation-harness before version 0.4"),
];

/// Unknown keys are errors with their place, so that a typo is not a default.
pub(crate) fn check_keys(config: &Config) -> Result<()> {
    for (key, setting) in config.iter() {
        if FIELDS.contains(&key) || matches!(key, "include" | "task_list" | "group") {
            continue;
        }
        let hint = FOREIGN
            .iter()
            .find(|(foreign, _)| *foreign == key)
            .map(|(_, whose)| format!("it is a key of {whose}; leave it out"))
            .or_else(|| did_you_mean(key, FIELDS.iter().copied()))
            .unwrap_or_else(|| "see docs/reference/tasks.md for the keys of a task".to_owned());
        return Err(Error::new(format!("unknown key `{key}`"))
            .at(&setting.origin.place)
            .with_hint(hint));
    }
    Ok(())
}

/// What is read but cannot be done; a task must not run as if it were not there.
pub(crate) fn refuse(config: &Config) -> Result<()> {
    for (key, reason, hint) in [
        (
            "doc_to_image",
            "images cannot be sent",
            "choose a task with text only",
        ),
        (
            "doc_to_audio",
            "sound cannot be sent",
            "choose a task with text only",
        ),
    ] {
        if let Some(setting) = config
            .setting(key)
            .filter(|setting| !setting.value.is_null())
        {
            return Err(Error::new(format!("`{key}`: {reason}"))
                .at(&setting.origin.place)
                .with_hint(hint));
        }
    }
    Ok(())
}

pub(crate) fn text_of(value: &Value) -> Result<&str> {
    value
        .as_str()
        .ok_or_else(|| Error::new(format!("text was expected, found `{value}`")))
}

/// Reading fields with errors that name key and place.
pub(crate) struct Fields<'c> {
    pub(crate) config: &'c Config,
}

impl Fields<'_> {
    pub(crate) fn with<T>(&self, key: &str, read: impl FnOnce(&Value) -> Result<T>) -> Result<T> {
        let value = self.config.get(key).unwrap_or(&Value::Null);
        read(value).map_err(|error| {
            let error = error.prefixed(format!("`{key}`"));
            match self.config.place(key) {
                Some(place) => error.at(place),
                None => error,
            }
        })
    }

    pub(crate) fn optional<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Value) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.config.get(key) {
            None => Ok(None),
            Some(_) => self.with(key, read).map(Some),
        }
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<String>> {
        self.optional(key, |value| text_of(value).map(str::to_owned))
    }

    pub(crate) fn whole(&self, key: &str) -> Result<Option<usize>> {
        self.optional(key, |value| {
            let number = value
                .as_u64()
                .and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| {
                Error::new(format!("a whole number was expected, found `{value}`"))
                    .with_hint(format!("write `{key}: 5`, or `{key}: 0` for none"))
            })
        })
    }

    pub(crate) fn function(&self, key: &str) -> Result<Option<Function>> {
        self.optional(key, |value| {
            Function::from_json(value).ok_or_else(|| {
                Error::new(format!(
                    "`!function module.name` was expected, found `{value}`"
                ))
            })
        })
    }

    pub(crate) fn source(&self, key: &str) -> Result<Option<Source>> {
        // An empty template is a value, not an absence.
        self.optional(key, |value| Source::parse(key, value))
    }

    pub(crate) fn shots(&self) -> Result<ShotSource> {
        let shots = self.optional("fewshot_config", ShotSource::parse)?;
        let shots = shots.unwrap_or_else(|| ShotSource::new(Sampler::Random));
        Ok(shots)
    }
}
