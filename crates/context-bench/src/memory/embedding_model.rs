//! `EmbeddingModel`: the model of `--embedding-model`, from a folder or from the hub.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_bench_memory::embedding::{self, Embed, EmbeddingError};

use crate::dataset::catalog::HubAccess;
use crate::error::Hint;

/// Whose models have names without an owner.
const USUAL_OWNER: &str = "sentence-transformers";

/// A model that makes vectors of texts for the memories `embedding` and `hybrid`, and where it
/// is from.
#[derive(Clone)]
pub struct EmbeddingModel {
    embedder: Arc<dyn Embed>,
    source: String,
    revision: Option<String>,
}

impl EmbeddingModel {
    /// Reads a model: from a local folder, or else `owner/name` or `owner/name@revision` of the
    /// hub, of which only the files that are needed are fetched, once. It blocks. A name without
    /// an owner is one of `sentence-transformers`, as in that library.
    ///
    /// The hub may be left out where [`is_local`](Self::is_local) says that it is not asked.
    ///
    /// # Errors
    ///
    /// When there is neither such a folder nor such a repo, when it cannot be fetched, and when
    /// it is not a model that can be used.
    pub fn resolve(
        name_or_path: &str,
        hub: Option<&HubAccess>,
    ) -> Result<Self, EmbeddingModelError> {
        if Self::is_local(name_or_path) {
            return Ok(Self {
                embedder: embedding::load(name_or_path)?,
                source: name_or_path.to_owned(),
                revision: None,
            });
        }
        let given = || name_or_path.to_owned();
        let (repo, revision) = match name_or_path.split_once('@') {
            Some((repo, revision)) => (repo, Some(revision)),
            None => (name_or_path, None),
        };
        let parts: Vec<&str> = repo.split('/').collect();
        let is_path = parts.len() > 2 || parts.contains(&"") || repo.starts_with(['.', '~']);
        if is_path || revision == Some("") {
            return Err(EmbeddingModelError::NotFound { given: given() });
        }
        let repo = match parts.len() {
            1 => format!("{USUAL_OWNER}/{repo}"),
            _ => repo.to_owned(),
        };
        let hub = hub.ok_or_else(|| EmbeddingModelError::NoHub { given: given() })?;
        let fetched = fetched(name_or_path, &repo, revision, hub)?;
        Ok(Self {
            embedder: embedding::load(&fetched.folder)?,
            source: format!("hf://{repo}"),
            revision: Some(fetched.commit),
        })
    }

    /// Whether the name is that of something on disk, which is read without the hub.
    pub fn is_local(name_or_path: &str) -> bool {
        Path::new(name_or_path).exists()
    }

    /// Makes the vectors. Its name is a digest of the content: what is stored by it belongs to
    /// this model, wherever it lies.
    pub fn embedder(&self) -> &Arc<dyn Embed> {
        &self.embedder
    }

    /// The folder as it was named, or `hf://owner/name`.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The commit of a model from the hub.
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }
}

impl fmt::Debug for EmbeddingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingModel")
            .field("embedder", &self.embedder.name())
            .field("source", &self.source)
            .field("revision", &self.revision)
            .finish()
    }
}

/// Why there is no embedding model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddingModelError {
    /// What was named is neither a folder nor the name of a repo.
    #[error("there is no embedding model `{given}`: no such folder, and not a name of the hub")]
    NotFound {
        /// The name or path.
        given: String,
    },
    /// The model would have to be fetched, and there is no way to the hub.
    #[error("there is no folder `{given}`, and no embedding model can be fetched here")]
    NoHub {
        /// The name.
        given: String,
    },
    /// The model cannot be fetched.
    #[cfg(feature = "hub")]
    #[error("there is no folder `{given}`, and it cannot be fetched: {source}")]
    Hub {
        /// The name.
        given: String,
        /// What the hub client says.
        source: Box<context_bench_hub::HubError>,
    },
    /// The repo has weights, but in no layout that is read, or none.
    #[error("the model repo `{repo}` has no `model.safetensors`")]
    NoWeights {
        /// The repo.
        repo: String,
        /// A file of it with weights in another layout.
        instead: Option<String>,
    },
    /// The files are not a model that can be used.
    #[error(transparent)]
    Unusable(#[from] EmbeddingError),
}

impl Hint for EmbeddingModelError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { .. } => Some(
                "name a folder, or a repo of the hub as `owner/name`, such as \
                 `sentence-transformers/all-MiniLM-L6-v2`"
                    .into(),
            ),
            Self::NoHub { .. } => Some("name a folder that has the files of the model".into()),
            // `fetch` is for datasets.
            #[cfg(feature = "hub")]
            Self::Hub { source, .. } => match &**source {
                context_bench_hub::HubError::Offline { cached, .. } => {
                    let advice = "run the same command once with a network, unset \
                        `HF_HUB_OFFLINE` and `HF_DATASETS_OFFLINE`, or name a folder that has \
                        the files of the model";
                    Some(match cached.as_str() {
                        "" => advice.into(),
                        cached => format!("{cached}; {advice}"),
                    })
                }
                other => other.hint(),
            },
            Self::NoWeights { instead, .. } => {
                let other = instead
                    .as_ref()
                    .map_or_else(String::new, |file| format!("its `{file}` is not read; "));
                Some(format!(
                    "{other}use a model with weights in safetensors, in one file"
                ))
            }
            Self::Unusable(error) => error.hint(),
        }
    }
}

/// A model in the cache.
struct FetchedModel {
    folder: PathBuf,
    commit: String,
}

#[cfg(not(feature = "hub"))]
fn fetched(
    _: &str,
    _: &str,
    _: Option<&str>,
    hub: &HubAccess,
) -> Result<FetchedModel, EmbeddingModelError> {
    match *hub {}
}

/// Fetches what [`embedding::load`] reads.
#[cfg(feature = "hub")]
fn fetched(
    given: &str,
    repo: &str,
    revision: Option<&str>,
    access: &HubAccess,
) -> Result<FetchedModel, EmbeddingModelError> {
    use context_bench_hub::{HubError, RemoteFile};

    let failed = |source: HubError| EmbeddingModelError::Hub {
        given: given.to_owned(),
        source: source.into(),
    };
    let hub = access.hub();
    let all = hub.model_files(repo, revision).map_err(failed)?;
    let needed: Vec<RemoteFile> = all
        .iter()
        .filter(|file| is_needed(&file.path))
        .cloned()
        .collect();
    let weights = needed.iter().find(|file| file.path.ends_with(WEIGHTS));
    let Some(weights) = weights else {
        // Without its listing, a model that another tool fetched in part looks the same.
        if hub.settings().offline {
            return Err(failed(HubError::Offline {
                what: format!("`{WEIGHTS}` of the model repo `{repo}`"),
                cache: hub.settings().cache.clone(),
                cached: String::new(),
            }));
        }
        let is_other = |path: &str| {
            let ends = [".bin", ".onnx", ".gguf", ".safetensors.index.json"];
            ends.iter().any(|end| path.ends_with(end))
        };
        let other = all.iter().find(|file| is_other(&file.path));
        return Err(EmbeddingModelError::NoWeights {
            repo: repo.to_owned(),
            instead: other.map(|file| file.path.clone()),
        });
    };
    let commit = weights.commit.clone();
    let depth = weights.path.split('/').count();
    let at = needed.iter().position(|file| file.path == weights.path);
    let paths = hub.fetch(&needed, access.progress()).map_err(failed)?;
    let folder = at
        .and_then(|at| paths.get(at)?.ancestors().nth(depth))
        .ok_or_else(|| failed(HubError::Thread))?;
    Ok(FetchedModel {
        folder: folder.to_owned(),
        commit,
    })
}

#[cfg(feature = "hub")]
const WEIGHTS: &str = "model.safetensors";

/// Whether a file of a repo is read: at the top, or in the folder of a module such as
/// `1_Pooling`. The same weights in other layouts, in folders of their own, are not.
#[cfg(feature = "hub")]
fn is_needed(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_module = || {
        let number = folder.split_once('_').map(|(number, _)| number);
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        number.is_some_and(is_number) && !folder.contains('/')
    };
    let names = [
        WEIGHTS,
        "config.json",
        "config_sentence_transformers.json",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ];
    names.contains(&name) && (folder.is_empty() || is_module())
}

#[cfg(all(test, feature = "hub"))]
mod tests {
    use super::is_needed;

    #[test]
    fn only_what_is_read_is_fetched() {
        for (path, expected) in [
            ("config.json", true),
            ("model.safetensors", true),
            ("1_Pooling/config.json", true),
            ("0_StaticEmbedding/model.safetensors", true),
            ("README.md", false),
            ("pytorch_model.bin", false),
            ("onnx/config.json", false),
            ("openvino/1_x/config.json", false),
            ("_x/config.json", false),
        ] {
            assert_eq!(is_needed(path), expected, "{path}");
        }
    }
}
