//! Why an embedding model cannot be used.

use std::io;
use std::path::PathBuf;

use context_bench_error::Hint;

/// Why an embedding model cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddingError {
    /// A file of the model cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
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
        Some(match self {
            Self::Unreadable { .. } => {
                "a static model is a folder with `model.safetensors` and `tokenizer.json`".into()
            }
            Self::BadWeights { .. } => {
                "use a model in the layout of model2vec: one matrix with a row per token".into()
            }
            Self::BadTokenizer { .. } => {
                "use the `tokenizer.json` that came with the weights".into()
            }
            Self::UnsupportedTokenizer { .. } => {
                "use a model with a WordPiece tokenizer, or with BPE in the way of Llama 2".into()
            }
        })
    }
}
