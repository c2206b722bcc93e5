//! What the files beside the weights say: sizes, pooling, prompts, the longest text.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::super::EmbeddingError;
use super::super::folder::ModelFolder;

/// The sizes of a BERT, from `config.json`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct BertConfig {
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) intermediate_size: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) vocab_size: usize,
    #[serde(default = "two")]
    pub(super) type_vocab_size: usize,
    #[serde(default = "tiny")]
    pub(super) layer_norm_eps: f32,
    #[serde(default)]
    hidden_act: Option<String>,
    #[serde(default)]
    position_embedding_type: Option<String>,
    #[serde(default)]
    is_decoder: bool,
}

fn two() -> usize {
    2
}

fn tiny() -> f32 {
    1e-12
}

impl BertConfig {
    /// Reads the file, and checks that this is an encoder that we compute as its authors do.
    pub(super) fn of(path: &Path, value: &Value) -> Result<Self, EmbeddingError> {
        let bad = |problem: String| EmbeddingError::BadConfig {
            path: path.to_owned(),
            problem,
        };
        let config = Self::deserialize(value).map_err(|error| bad(error.to_string()))?;
        let unsupported = |part, found: &str| EmbeddingError::UnsupportedModel {
            path: path.to_owned(),
            part,
            found: found.to_owned(),
        };
        match config.hidden_act.as_deref() {
            None | Some("gelu") => {}
            Some(other) => return Err(unsupported("activation", other)),
        }
        match config.position_embedding_type.as_deref() {
            None | Some("absolute") => {}
            Some(other) => return Err(unsupported("kind of positions", other)),
        }
        if config.is_decoder {
            return Err(unsupported("role", "decoder"));
        }
        for (name, number) in [
            ("hidden_size", config.hidden_size),
            ("num_attention_heads", config.num_attention_heads),
            ("intermediate_size", config.intermediate_size),
            ("max_position_embeddings", config.max_position_embeddings),
            ("vocab_size", config.vocab_size),
            ("type_vocab_size", config.type_vocab_size),
        ] {
            if number == 0 {
                return Err(bad(format!("`{name}` is 0")));
            }
        }
        if !config
            .hidden_size
            .is_multiple_of(config.num_attention_heads)
        {
            return Err(bad(format!(
                "`hidden_size` {} is not a multiple of `num_attention_heads` {}",
                config.hidden_size, config.num_attention_heads
            )));
        }
        Ok(config)
    }
}

/// How the vectors of tokens become that of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// Their mean.
    Mean,
    /// The first one, `[CLS]`.
    First,
}

/// What sentence-transformers keeps beside a transformer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentenceConfig {
    pub(super) pooling: Pooling,
    /// The most tokens of a text, special ones included.
    pub(super) longest: usize,
    /// What is put before a question.
    pub(super) query_prompt: String,
    /// What is put before any other text.
    pub(super) text_prompt: String,
    /// Whether texts become lower case before they are cut.
    pub(super) lower_case: bool,
}

impl SentenceConfig {
    /// Reads the files as far as they are there.
    pub(super) fn of(folder: &ModelFolder, positions: usize) -> Result<Self, EmbeddingError> {
        let sentence = folder.json_if_there("sentence_bert_config.json")?;
        let tokenizer = folder.json_if_there("tokenizer_config.json")?;
        let prompts = folder.json_if_there("config_sentence_transformers.json")?;
        let limits = [&sentence["max_seq_length"], &tokenizer["model_max_length"]];
        // The tokenizer says a number with thirty digits when it means none.
        let limit = limits.into_iter().find(|value| value.is_number());
        let limit = limit.and_then(Value::as_u64).unwrap_or(u64::MAX);
        let prompt = |names: &[&str]| {
            let found = names
                .iter()
                .find_map(|name| prompts["prompts"][name].as_str());
            found.unwrap_or_default().to_owned()
        };
        Ok(Self {
            pooling: pooling(folder)?,
            longest: usize::try_from(limit).unwrap_or(usize::MAX).min(positions),
            query_prompt: prompt(&["query"]),
            text_prompt: prompt(&["document", "passage", "corpus"]),
            lower_case: sentence["do_lower_case"] == true,
        })
    }
}

/// How `modules.json` and what it names say that a text is pooled; the mean without them, as
/// sentence-transformers does.
fn pooling(folder: &ModelFolder) -> Result<Pooling, EmbeddingError> {
    let path = folder.path("modules.json");
    let unsupported = |part, found: String| EmbeddingError::UnsupportedModel {
        path: path.clone(),
        part,
        found,
    };
    let mut pooling = Pooling::Mean;
    let modules = folder.json_if_there("modules.json")?;
    for module in modules.as_array().into_iter().flatten() {
        match module_kind(module) {
            // Vectors are of length 1 in any case.
            "Transformer" | "Normalize" => {}
            "Pooling" => {
                let place = module["path"].as_str().unwrap_or_default();
                let place = inside(place)
                    .ok_or_else(|| unsupported("place of a module", place.to_owned()))?;
                let file = place.join("config.json");
                let value = folder.json(&file.to_string_lossy())?;
                pooling = pooling_of(&folder.path(file), &value)?;
            }
            other => return Err(unsupported("module", other.to_owned())),
        }
    }
    Ok(pooling)
}

/// The type of a module without the package that it is from.
pub(in super::super) fn module_kind(module: &Value) -> &str {
    let kind = module["type"].as_str().unwrap_or("without a type");
    kind.rsplit('.').next().unwrap_or(kind)
}

/// A path that does not lead out of its folder.
pub(in super::super) fn inside(path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    path.components().all(stays).then(|| path.to_owned())
}

fn pooling_of(path: &Path, value: &Value) -> Result<Pooling, EmbeddingError> {
    let unsupported = |part, found: String| EmbeddingError::UnsupportedModel {
        path: path.to_owned(),
        part,
        found,
    };
    if value["include_prompt"] == false {
        return Err(unsupported("pooling", "without the prompt".into()));
    }
    // One name or several in newer files, a switch for each in older ones.
    let modes: Vec<String> = match &value["pooling_mode"] {
        Value::String(mode) => vec![mode.clone()],
        Value::Array(modes) => {
            let modes = modes.iter().filter_map(Value::as_str);
            modes.map(str::to_owned).collect()
        }
        _ => {
            let members = value.as_object().into_iter().flatten();
            let on = members.filter(|(_, value)| **value == true);
            on.filter_map(|(name, _)| name.strip_prefix("pooling_mode_"))
                .map(|name| {
                    name.trim_end_matches("_token")
                        .trim_end_matches("_tokens")
                        .to_owned()
                })
                .collect()
        }
    };
    match modes.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // Divided by another number it has the same direction.
        ["mean" | "mean_sqrt_len" | "mean_sqrt_len_tokens"] => Ok(Pooling::Mean),
        ["cls"] => Ok(Pooling::First),
        [] => Err(EmbeddingError::BadConfig {
            path: path.to_owned(),
            problem: "it names no pooling".into(),
        }),
        _ => Err(unsupported("pooling", modes.join(" and "))),
    }
}
