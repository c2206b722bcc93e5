//! What can be wrong with the catalog: files of the user, names, missing data.

use std::path::PathBuf;

#[cfg(feature = "hub")]
use context_bench_hub::HubError;

use super::spec::config_hint;
use crate::dataset::DatasetError;
use crate::error::{Hint, Place};
use crate::model::PromptError;
use context_bench_error::suggest;

/// Why a dataset of the catalog cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetCatalogError {
    /// A file that describes a dataset is not right.
    #[error("{problem}\n  at {at}")]
    BadSpec {
        /// What is wrong.
        problem: String,
        /// Where.
        at: Place,
        /// What to do about it.
        hint: Option<String>,
    },
    /// A file or folder of descriptions cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// What was to be read.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// No dataset has that name.
    #[error("unknown dataset `{name}`")]
    UnknownDataset {
        /// The name as typed.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The dataset has no such config.
    #[error("dataset `{dataset}` has no config `{config}`")]
    UnknownConfig {
        /// The dataset.
        dataset: String,
        /// The config as typed.
        config: String,
        /// The configs that exist.
        known: Vec<String>,
    },
    /// A folder does not hold the file that a dataset needs.
    #[error("`{}` holds no file for {wanted} of `{dataset}`", path.display())]
    NoFile {
        /// The dataset as the user named it.
        dataset: String,
        /// Which part of it: a config, a split, a table.
        wanted: String,
        /// Where it was looked for.
        path: PathBuf,
        /// Some of what is there.
        found: Vec<String>,
    },
    /// The hub, or the way to it.
    #[cfg(feature = "hub")]
    #[error(transparent)]
    Hub(#[from] HubError),
    /// Data must come from the hub, and no access to it was given.
    #[error("dataset `{dataset}` must come from the hub, which is not set up")]
    NoHub {
        /// The dataset.
        dataset: String,
    },
    /// A dataset is made in the length asked for, and what was asked is not a length.
    #[error("`{typed}` is not a length of `{dataset}`")]
    BadLength {
        /// The dataset.
        dataset: String,
        /// The length as typed.
        typed: String,
    },
    /// A dataset does not say where its records are.
    #[error("dataset `{dataset}` has no source of its own")]
    NoSource {
        /// The dataset.
        dataset: String,
    },
    /// The worked examples of a prompt cannot be had.
    #[error("the worked examples of `{dataset}`, split `{split}`, cannot be read: {source}")]
    NoShots {
        /// The dataset.
        dataset: String,
        /// The split that they are in.
        split: String,
        /// What went wrong.
        source: Box<DatasetError>,
    },
    /// A prompt cannot be made.
    #[error("dataset `{dataset}`: {source}")]
    BadPrompt {
        /// The dataset.
        dataset: String,
        /// What is wrong with it.
        source: PromptError,
    },
}

/// What to do about a prompt that cannot be had.
const PLAIN: &str = "`--prompt plain` asks without it";

impl Hint for DatasetCatalogError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::BadSpec { hint, .. } => hint.clone(),
            Self::Unreadable { .. } => Some(
                "check the path; `--include-path` names a YAML file or a folder of them".into(),
            ),
            Self::UnknownDataset { name, known } => {
                let near = suggest::did_you_mean(name, known.iter().map(String::as_str));
                let list = "`context-bench ls datasets` lists all of them";
                Some(match near {
                    Some(near) => format!("{near} {list}"),
                    None => list.into(),
                })
            }
            Self::UnknownConfig {
                dataset,
                config,
                known,
            } => Some(config_hint(dataset, config, known)),
            Self::NoFile { found, .. } if found.is_empty() => {
                Some("name the file itself, or the folder that holds it".into())
            }
            Self::NoFile { found, .. } => Some(format!(
                "found {}; name the file itself if it is one of them",
                suggest::quoted_list(found, "and")
            )),
            Self::BadLength { dataset, .. } => Some(format!(
                "write a number of tokens: `{dataset}@250`, `{dataset}@1k`, `{dataset}@32k`"
            )),
            #[cfg(feature = "hub")]
            Self::Hub(error) => error.hint(),
            Self::NoShots { source, .. } => Some(match source.hint() {
                Some(hint) => format!("{hint}; {PLAIN}"),
                None => PLAIN.to_owned(),
            }),
            Self::BadPrompt { .. } => Some(PLAIN.to_owned()),
            Self::NoHub { dataset } | Self::NoSource { dataset } => {
                Some(format!("write `{dataset}=PATH`"))
            }
        }
    }
}
