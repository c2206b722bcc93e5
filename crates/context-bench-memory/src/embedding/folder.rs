//! `ModelFolder`: reads the files of an embedding model, and says which is missing.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::EmbeddingError;

/// A folder with the files of a model.
pub(super) struct ModelFolder {
    path: PathBuf,
}

impl ModelFolder {
    /// A folder, which must be there.
    pub(super) fn open(path: &Path) -> Result<Self, EmbeddingError> {
        match path.is_dir() {
            true => Ok(Self {
                path: path.to_owned(),
            }),
            false => Err(EmbeddingError::NoFolder {
                path: path.to_owned(),
            }),
        }
    }

    /// Where a file is.
    pub(super) fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.path.join(file)
    }

    /// The bytes of a file.
    pub(super) fn read(&self, file: &str) -> Result<Vec<u8>, EmbeddingError> {
        let path = self.path(file);
        std::fs::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => EmbeddingError::MissingFile {
                instead: self.instead_of(file),
                folder: self.path.clone(),
                file: file.to_owned(),
            },
            _ => EmbeddingError::Unreadable { path, source },
        })
    }

    /// A file of JSON.
    pub(super) fn json(&self, file: &str) -> Result<Value, EmbeddingError> {
        let bytes = self.read(file)?;
        serde_json::from_slice(&bytes).map_err(|error| EmbeddingError::BadConfig {
            path: self.path(file),
            problem: format!("not JSON: {error}"),
        })
    }

    /// A file of JSON; `null` when it is not there.
    pub(super) fn json_if_there(&self, file: &str) -> Result<Value, EmbeddingError> {
        match self.json(file) {
            Err(EmbeddingError::MissingFile { .. }) => Ok(Value::Null),
            other => other,
        }
    }

    /// A file with the weights in a layout that is not read.
    fn instead_of(&self, file: &str) -> Option<&'static str> {
        let others = [
            "model.safetensors.index.json",
            "pytorch_model.bin",
            "onnx/model.onnx",
            "model.onnx",
        ];
        let mut others = others.into_iter().filter(|_| file == "model.safetensors");
        others.find(|other| self.path(other).is_file())
    }
}
