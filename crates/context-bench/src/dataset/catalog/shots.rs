//! The prompt of a config, with the worked examples that it shows.
//!
//! Worked examples are examples: records of another split, made by the same engine. No
//! more of them are read than prompts can show.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::error::DatasetCatalogError;
use super::load::{LoadSettings, LocalCopy};
use super::prompt::{PromptTemplates, Shots};
use super::spec::Config;
use super::template::Template;
use crate::dataset::DatasetError;
use crate::model::{Prompt, PromptParts};

/// How models are asked about the examples of a config.
#[derive(Debug, Clone)]
pub struct ConfigPrompt {
    /// The prompt.
    pub prompt: Arc<Prompt>,
    /// Worked examples that it should have and has not.
    pub missing: Option<MissingShots>,
}

/// Worked examples that a local copy does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingShots {
    /// How many each prompt should show.
    pub count: usize,
    /// The split that they are in.
    pub split: String,
    /// Where it was looked for.
    pub path: PathBuf,
}

/// What was found of the worked examples.
enum ShotRecords {
    All(Vec<Map<String, Value>>),
    Missing(PathBuf),
}

impl Config {
    /// How models are asked about its examples, as the authors do; `None` when its file
    /// does not say. Worked examples come from where the records do.
    ///
    /// # Errors
    ///
    /// When worked examples cannot be read. A local copy may well have one split only: what
    /// it does not have is told in the result.
    pub fn prompt(&self, settings: &LoadSettings) -> Result<Option<ConfigPrompt>, DatasetError> {
        let Some(templates) = &self.variant.prompt else {
            return Ok(None);
        };
        let mut parts = parts(templates);
        parts.config.clone_from(&self.name);
        let mut missing = None;
        if let Some(shots) = &self.variant.shots {
            parts.count = shots.count;
            parts.by.clone_from(&shots.by);
            let found = self.shots(shots, settings);
            let found = found.map_err(|source| DatasetCatalogError::NoShots {
                dataset: self.full_name(),
                split: shots.split.clone(),
                source: Box::new(source),
            })?;
            match found {
                ShotRecords::All(shots) => parts.shots = shots,
                ShotRecords::Missing(path) => {
                    missing = Some(MissingShots {
                        count: shots.count,
                        split: shots.split.clone(),
                        path,
                    });
                }
            }
        }
        let prompt = Prompt::new(parts).map_err(|source| DatasetCatalogError::BadPrompt {
            dataset: self.full_name(),
            source,
        })?;
        Ok(Some(ConfigPrompt {
            prompt: Arc::new(prompt),
            missing,
        }))
    }

    /// Itself as the config that the worked examples of its prompts are in, if they have any.
    pub(super) fn shots_config(&self) -> Option<Self> {
        let shots = self.variant.shots.as_ref().filter(|_| self.has_prompt());
        shots.map(|shots| self.of_shots(shots))
    }

    fn shots(&self, shots: &Shots, settings: &LoadSettings) -> Result<ShotRecords, DatasetError> {
        let config = self.of_shots(shots);
        let own = self.local_path(settings)?;
        let mut settings = LoadSettings {
            // Which of them an example gets shows only when all are there.
            max_examples: shots.by.is_none().then_some(shots.count),
            ..settings.clone()
        };
        if settings.path.is_some() {
            let own = own.unwrap_or_default();
            let folder = match own.is_dir() {
                true => own.as_path(),
                false => own.parent().unwrap_or(Path::new("")),
            };
            let folder = match folder == Path::new("") {
                true => Path::new("."),
                false => folder,
            };
            if !self.is_apart(&config, &own, folder)? {
                return Ok(ShotRecords::Missing(folder.to_owned()));
            }
            settings.path = Some(folder.to_owned());
        } else if own.is_some() && own == config.local_path(&settings)? {
            // A file whose name shows no split is what the model is asked about.
            return Ok(ShotRecords::Missing(own.unwrap_or_default()));
        }
        let examples = config.load(&settings)?.into_iter();
        let fields = examples.map(|example| Ok(example?.into_fields()));
        Ok(ShotRecords::All(
            fields.collect::<Result<_, DatasetError>>()?,
        ))
    }

    /// Whether a folder has files of the worked examples that are not those of the records:
    /// a file whose name shows no split would serve for both, and show the answers.
    fn is_apart(&self, shots: &Self, own: &Path, folder: &Path) -> Result<bool, DatasetError> {
        let of_shots = match LocalCopy::find(shots, folder) {
            Ok(copy) => copy,
            Err(DatasetError::DatasetCatalog(error))
                if matches!(*error, DatasetCatalogError::NoFile { .. }) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let whole = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let records = LocalCopy::find(self, own)?;
        let records: Vec<PathBuf> = records.record_files().iter().map(whole).collect();
        let mut found = of_shots.record_files().iter().map(whole);
        Ok(shots.split == self.split || !found.any(|file| records.contains(&file)))
    }

    /// The config that worked examples are read as.
    fn of_shots(&self, shots: &Shots) -> Self {
        let mut config = self.clone();
        config.split = Some(shots.split.clone());
        if shots.config.is_some() {
            config.name.clone_from(&shots.config);
        }
        let own = shots.fields.iter();
        let own = own.map(|(name, template)| (name.clone(), template.clone()));
        config.variant.fields.extend(own);
        config
    }
}

fn parts(templates: &PromptTemplates) -> PromptParts {
    let source = |template: &Option<Template>| template.as_ref().map(Template::source);
    PromptParts {
        system: source(&templates.system),
        user: source(&templates.user),
        with: templates.with.clone(),
        max_tokens: templates.max_tokens,
        stop: templates.stop.clone().unwrap_or_default(),
        temperature: source(&templates.temperature),
        ..PromptParts::default()
    }
}
