//! The catalog: datasets known by name, each described by one YAML file.
//!
//! One engine turns the records of any of them into examples. What a dataset
//! is (its source, its fields, how it is scored) is data; only what templates
//! cannot say is a function in `prepare`. A user's own file adds a dataset the
//! same way as ours do.

mod ahead;
mod builtin;
mod engine;
mod error;
mod fields;
mod load;
mod locate;
mod prepare;
mod prompt;
#[cfg(test)]
mod prompt_cases;
mod prompt_texts;
mod raw;
mod read;
mod read_official;
mod reader;
#[cfg_attr(not(feature = "hub"), path = "no_hub.rs")]
mod remote;
#[cfg(feature = "hub")]
mod remote_files;
mod row;
mod rows;
mod rule;
mod scope;
mod shots;
mod shuffled_options;
mod spec;
mod summary;
mod template;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::{Dataset, DatasetError, DatasetRef, DatasetTarget};

#[cfg(feature = "hub")]
pub use context_bench_hub::{Event, Hub, HubError, HubSettings, Progress, RepoKind};
pub use error::DatasetCatalogError;
pub use load::{LoadSettings, OPTION_SEED};
pub(crate) use locate::{is_part, split_files};
pub(crate) use raw::{Files, data_files, read_url};
pub(crate) use raw::{RawRecords, RawTables};
pub use remote::HubAccess;
#[cfg(feature = "hub")]
pub use remote::{CacheState, Fetched};
pub use rule::{AppliedRule, Basis, Deviation, Rule, Standing};
pub use shots::{ConfigPrompt, MissingShots};
pub use spec::{CATEGORIES, Config, Spec};
pub use summary::Figure;

/// Datasets by name. Those that come with the program are read when asked for.
#[derive(Debug, Clone)]
pub struct DatasetCatalog {
    own: IndexMap<String, Arc<Spec>>,
    with_builtin: bool,
}

impl DatasetCatalog {
    /// A catalog without entries.
    pub fn empty() -> Self {
        Self {
            own: IndexMap::new(),
            with_builtin: false,
        }
    }

    /// What comes with the program.
    pub fn builtin() -> Self {
        Self {
            with_builtin: true,
            ..Self::empty()
        }
    }

    /// All names in alphabetical order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.own.keys().map(String::as_str).collect();
        for name in builtin::names().filter(|_| self.with_builtin) {
            names.push(name);
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The dataset of that name.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn get(&self, name: &str) -> Result<Arc<Spec>, DatasetCatalogError> {
        if let Some(spec) = self.own.get(name) {
            return Ok(Arc::clone(spec));
        }
        let known = builtin::spec(name).filter(|_| self.with_builtin);
        known.unwrap_or_else(|| {
            Err(DatasetCatalogError::UnknownDataset {
                name: name.to_owned(),
                known: self.names().into_iter().map(str::to_owned).collect(),
            })
        })
    }

    /// The examples of a dataset, `name[:config][@split]`; several configs one
    /// after the other, each tagged with its name.
    ///
    /// ```
    /// use context_bench::dataset::catalog::{DatasetCatalog, LoadSettings};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let file = folder.path().join("test.jsonl");
    /// std::fs::write(&file, r##"{"question": "2+2?", "answer": "2+2 #### 4"}"##)?;
    /// let mut settings = LoadSettings::default();
    /// settings.path = Some(file);
    /// settings.max_examples = Some(10);
    /// let gsm8k = DatasetCatalog::builtin().load("gsm8k", &settings)?;
    /// let examples = gsm8k.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(examples[0].text("answer"), Some("4"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no such dataset or config, or it cannot be opened.
    pub fn load(&self, typed: &str, settings: &LoadSettings) -> Result<Dataset, DatasetError> {
        let reference = DatasetRef::parse(typed)?;
        let DatasetTarget::Named(named) = reference.target() else {
            return Err(DatasetError::BadReference {
                typed: typed.to_owned(),
            });
        };
        let mut settings = settings.clone();
        if named.path.is_some() {
            settings.path.clone_from(&named.path);
        }
        let spec = self.get(&named.name)?;
        let configs = spec.select(named.config.as_deref(), named.split.as_deref())?;
        let mut all: Option<Dataset> = None;
        for config in configs {
            let dataset = config.load(&settings)?.tagged(config.full_name());
            all = Some(match all {
                None => dataset,
                Some(all) => all.chain(dataset),
            });
        }
        Ok(all.unwrap_or_else(|| Vec::new().into()))
    }

    /// Adds a dataset described by a YAML text, in place of one of the same
    /// name. `file` is its name in messages; files that it names are beside it.
    ///
    /// # Errors
    ///
    /// When the description is not right.
    pub fn add(&mut self, text: &str, file: &Path) -> Result<Arc<Spec>, DatasetCatalogError> {
        let spec = read::shared(text, file, false)?;
        self.own.insert(spec.name().to_owned(), Arc::clone(&spec));
        Ok(spec)
    }

    /// Adds all datasets of a YAML file, or of a folder of them.
    ///
    /// # Errors
    ///
    /// When something cannot be read, or a description is not right.
    pub fn include(&mut self, path: &Path) -> Result<Vec<Arc<Spec>>, DatasetCatalogError> {
        let unreadable = |source| DatasetCatalogError::Unreadable {
            path: path.into(),
            source,
        };
        let mut files: Vec<PathBuf> = Vec::new();
        if path.is_dir() {
            for entry in fs::read_dir(path).map_err(unreadable)? {
                files.push(entry.map_err(unreadable)?.path());
            }
            files.retain(|file| {
                let ending = file.extension().and_then(|ending| ending.to_str());
                matches!(ending, Some("yaml" | "yml"))
            });
            files.sort();
        } else {
            files.push(path.into());
        }
        let mut added = Vec::new();
        for file in files {
            let text =
                fs::read_to_string(&file).map_err(|source| DatasetCatalogError::Unreadable {
                    path: file.clone(),
                    source,
                })?;
            added.push(self.add(&text, &file)?);
        }
        Ok(added)
    }
}
