//! `load`: the embedding model in a folder, of whichever kind it is.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::folder::ModelFolder;
use super::transformer::{inside, module_kind};
use super::{Embed, EmbeddingError, StaticEmbeddings, TransformerEmbeddings};

/// Reads the model in a folder: [`TransformerEmbeddings`] where `config.json` describes a
/// BERT, else [`StaticEmbeddings`].
///
/// # Errors
///
/// When the folder or a file is missing, the model is of another kind, or a file is not what
/// it should be.
pub fn load(folder: impl AsRef<Path>) -> Result<Arc<dyn Embed>, EmbeddingError> {
    let path = folder.as_ref();
    let folder = ModelFolder::open(path)?;
    // sentence-transformers keeps static models in folders of their own.
    let modules = folder.json_if_there("modules.json")?;
    if module_kind(&modules[0]) == "StaticEmbedding" {
        let place = modules[0]["path"].as_str().unwrap_or_default();
        let place = inside(place).ok_or_else(|| EmbeddingError::UnsupportedModel {
            path: folder.path("modules.json"),
            part: "place of a module",
            found: place.to_owned(),
        })?;
        return Ok(Arc::new(StaticEmbeddings::open(path.join(place))?));
    }
    let config = folder.json_if_there("config.json")?;
    match config["model_type"].as_str() {
        Some("bert") => Ok(Arc::new(TransformerEmbeddings::open(path)?)),
        // WordLlama names none, or there is no such file.
        Some("model2vec") | None => Ok(Arc::new(StaticEmbeddings::open(path)?)),
        Some(other) => Err(EmbeddingError::UnsupportedModel {
            path: folder.path("config.json"),
            part: "architecture",
            found: described(&config, other),
        }),
    }
}

/// The type of a model, with the class that its authors gave it.
fn described(config: &Value, kind: &str) -> String {
    match config["architectures"][0].as_str() {
        Some(class) => format!("{kind} ({class})"),
        None => kind.to_owned(),
    }
}
