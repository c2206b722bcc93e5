//! Opening datasets by what the user typed: files, names, configs, copies.

use super::{BuildError, DatasetRequest, Registry, UnknownName};
use crate::dataset::catalog::{Config, DatasetCatalogError, LoadSettings};
use crate::dataset::{
    Dataset, DatasetRef, DatasetTarget, First, LocalFile, LocalSettings, NamedDataset, Origin,
};

/// A dataset that was opened, ready to be read.
pub struct OpenedDataset {
    /// The tag of its examples.
    pub tag: String,
    /// The examples, tagged.
    pub dataset: Dataset,
    /// What the catalog says about it, if it is from there.
    pub config: Option<Config>,
    /// How it was loaded, if it is from the catalog.
    pub settings: LoadSettings,
    /// What its beginning looks like, if it is a plain file.
    pub first: Option<First>,
}

impl Registry {
    /// Opens what `typed` names: a file, or `name[:config][@split][=path]`.
    ///
    /// A name stands for what was registered under it, else for a dataset of
    /// the catalog. Several configs (`mmlu:*`, `mgsm:en,de`) give several
    /// datasets, each with a tag of its own; one has that of the request, else what
    /// was typed.
    ///
    /// # Errors
    ///
    /// When there is no such dataset, config or file, or it cannot be read.
    pub fn open_dataset(
        &self,
        typed: &str,
        request: &DatasetRequest,
    ) -> Result<Vec<OpenedDataset>, BuildError> {
        let reference = DatasetRef::parse(typed)?;
        let tag = request.tag.as_deref().unwrap_or(typed);
        let named = match reference.target() {
            DatasetTarget::Local(path) => {
                let settings = LocalSettings {
                    skip_bad_lines: request.skip_bad_lines,
                    max_examples: request.max_examples,
                };
                let origin = Origin {
                    source: path.display().to_string(),
                    revision: None,
                };
                let opened = LocalFile::open_shaped(path, settings, request.shape.clone())?;
                let dataset = opened.dataset.with_origin(origin);
                return Ok(vec![OpenedDataset {
                    tag: tag.to_owned(),
                    dataset: dataset.labelled(tag),
                    config: None,
                    settings: LoadSettings::default(),
                    first: Some(opened.first),
                }]);
            }
            DatasetTarget::Named(named) => named,
        };
        if let Ok(factory) = self.datasets.get(&named.name) {
            let request = DatasetRequest {
                config: named.config.clone(),
                split: named.split.clone(),
                path: named.path.clone(),
                ..request.clone()
            };
            return Ok(vec![OpenedDataset {
                tag: tag.to_owned(),
                dataset: factory(&request)?.tagged(tag),
                config: None,
                settings: LoadSettings::default(),
                first: None,
            }]);
        }
        let configs = self.configs(named)?;
        let is_one = configs.len() == 1;
        let mut opened = Vec::with_capacity(configs.len());
        for config in configs {
            let settings = LoadSettings {
                path: named.path.clone(),
                ..request.load_settings()
            };
            let tag = match (is_one, &named.split) {
                (true, _) => tag.to_owned(),
                (false, Some(split)) => format!("{}@{split}", config.full_name()),
                (false, None) => config.full_name(),
            };
            opened.push(OpenedDataset {
                dataset: config.load(&settings)?.tagged(tag.as_str()),
                tag,
                config: Some(config),
                settings,
                first: None,
            });
        }
        Ok(opened)
    }

    /// The configs of the catalog that a reference names.
    ///
    /// # Errors
    ///
    /// When there is no such dataset or config.
    pub fn configs(&self, named: &NamedDataset) -> Result<Vec<Config>, BuildError> {
        let spec = self.catalog.get(&named.name).map_err(|error| match error {
            // Those registered by code are known as well.
            DatasetCatalogError::UnknownDataset { name, known } => {
                let own = self.datasets.list().map(str::to_owned);
                BuildError::from(UnknownName {
                    kind: "dataset",
                    name,
                    known: own.chain(known).collect(),
                })
            }
            error => crate::dataset::DatasetError::from(error).into(),
        })?;
        let selected = spec.select(named.config.as_deref(), named.split.as_deref());
        selected.map_err(|error| crate::dataset::DatasetError::from(error).into())
    }
}

impl DatasetRequest {
    fn load_settings(&self) -> LoadSettings {
        LoadSettings {
            path: self.path.clone(),
            max_examples: self.max_examples,
            skip_bad_lines: self.skip_bad_lines,
            seed: self.seed,
            keep_order: self.keep_order,
            hub: self.hub.clone(),
        }
    }
}
