//! Why an embedding model cannot be used.

use std::io;
use std::path::PathBuf;

use context_bench_error::Hint;

/// Why an embedding model cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddingError {
    /// There is no folder at a path.
    #[error("`{}` is not a folder", path.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
    },
    /// A model lacks a file.
    #[error("the embedding model `{}` has no `{file}`", folder.display())]
    MissingFile {
        /// The folder.
        folder: PathBuf,
        /// The file.
        file: String,
        /// A file that it has, with weights in a layout that is not read.
        instead: Option<&'static str>,
    },
    /// A file of the model cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What describes the model is not what it should be.
    #[error("`{}`: {problem}", path.display())]
    BadConfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The model is of a kind that this crate does not compute.
    #[error("`{}`: the {part} `{found}` is not supported", path.display())]
    UnsupportedModel {
        /// The file that says so.
        path: PathBuf,
        /// What about it.
        part: &'static str,
        /// Its name.
        found: String,
    },
    /// The weights are not what they should be.
    #[error("`{}`: {problem}", path.display())]
    BadWeights {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The tokenizer is not what it should be.
    #[error("`{}`: {problem}", path.display())]
    BadTokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The tokenizer has a part that this crate does not know.
    #[error("`{}`: the {part} `{found}` is not supported", path.display())]
    UnsupportedTokenizer {
        /// The file.
        path: PathBuf,
        /// Which part it is.
        part: &'static str,
        /// Its type.
        found: String,
    },
}

impl Hint for EmbeddingError {
    fn hint(&self) -> Option<String> {
        const FOLDER: &str = "an embedding model is a folder with `model.safetensors` and \
            `tokenizer.json`, and with `config.json` where it is a transformer";
        Some(match self {
            Self::NoFolder { .. } | Self::MissingFile { instead: None, .. } => FOLDER.into(),
            Self::MissingFile {
                instead: Some(other),
                ..
            } => format!(
                "its `{other}` is not read: load the model in Python and save it with \
                 `save_pretrained`, in one file"
            ),
            Self::Unreadable { .. } => "see whether you may read the file".into(),
            Self::BadConfig { .. } => "use the files that came with the weights".into(),
            Self::UnsupportedModel { .. } => {
                "use a static model (model2vec, WordLlama) or one of the BERT family, such as \
                 all-MiniLM-L6-v2, bge-small or e5-small"
                    .into()
            }
            Self::BadWeights { .. } => "fetch the model again, with all its files; a static \
                one has a matrix with a row per token, others what `config.json` says"
                .into(),
            Self::BadTokenizer { .. } => {
                "use the `tokenizer.json` that came with the weights".into()
            }
            Self::UnsupportedTokenizer { .. } => {
                "use a model with a WordPiece tokenizer, or with BPE in the way of Llama 2".into()
            }
        })
    }
}
