//! `Tokenizer`: a `tokenizer.json`, as much of the format as embedding models use.
//!
//! The `tokenizers` crate reads all of it and takes longer to build than everything else
//! here together. Parts that are not known are errors, never silently passed over.

mod bpe;
mod framed;
mod normalizer;
mod pre_tokenizer;
mod word_piece;

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use self::bpe::Bpe;
pub(super) use self::framed::FramedTokenizer;
use self::normalizer::Normalizer;
use self::pre_tokenizer::PreTokenizer;
use self::word_piece::WordPiece;
use super::EmbeddingError;

/// Cuts texts into tokens.
pub(super) struct Tokenizer {
    normalizers: Vec<Normalizer>,
    pre_tokenizer: PreTokenizer,
    model: Model,
    highest_id: u32,
}

enum Model {
    WordPiece(WordPiece),
    Bpe(Bpe),
}

/// Tokens and their ids.
type Vocabulary = HashMap<String, u32>;

/// What is wrong with a part.
enum Problem {
    Bad(String),
    Unsupported { part: &'static str, found: String },
}

impl Problem {
    /// A part of a type that is not known.
    fn unsupported(part: &'static str, value: &Value) -> Self {
        let found = value["type"].as_str().unwrap_or("without a type");
        Self::Unsupported {
            part,
            found: found.to_owned(),
        }
    }

    fn in_file(self, path: &Path) -> EmbeddingError {
        match self {
            Self::Bad(problem) => EmbeddingError::BadTokenizer {
                path: path.to_owned(),
                problem,
            },
            Self::Unsupported { part, found } => EmbeddingError::UnsupportedTokenizer {
                path: path.to_owned(),
                part,
                found,
            },
        }
    }
}

fn json(bytes: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(bytes).map_err(|error| Problem::Bad(format!("not JSON: {error}")))
}

impl Tokenizer {
    /// Reads the bytes of a file.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, EmbeddingError> {
        let read = json(bytes).and_then(|file| Self::of(&file));
        read.map_err(|problem| problem.in_file(path))
    }

    fn of(file: &Value) -> Result<Self, Problem> {
        let model = &file["model"];
        let vocabulary = vocabulary(model)?;
        let highest_id = vocabulary.values().max().copied().unwrap_or(0);
        let read = match model["type"].as_str() {
            Some("WordPiece") => Model::WordPiece(WordPiece::of(model, vocabulary)?),
            Some("BPE") => Model::Bpe(Bpe::of(model, vocabulary)?),
            _ => return Err(Problem::unsupported("model", model)),
        };
        Ok(Self {
            normalizers: Normalizer::all_of(&file["normalizer"])?,
            pre_tokenizer: PreTokenizer::of(&file["pre_tokenizer"])?,
            model: read,
            highest_id,
        })
    }

    /// The largest id that [`encode`](Self::encode) can give.
    pub(super) fn highest_id(&self) -> u32 {
        self.highest_id
    }

    /// The ids of the tokens of a text, without special ones; unknown ones are left out.
    pub(super) fn encode(&self, text: &str) -> Vec<u32> {
        self.encode_marking(text, None)
    }

    /// The same with `unknown` in place of each word that is not known.
    fn encode_marking(&self, text: &str, unknown: Option<u32>) -> Vec<u32> {
        let mut text = text.to_owned();
        for normalizer in &self.normalizers {
            text = normalizer.apply(&text);
        }
        let mut ids = Vec::new();
        for word in self.pre_tokenizer.split(&text) {
            match &self.model {
                Model::WordPiece(model) => {
                    if !model.encode(&word, &mut ids) {
                        ids.extend(unknown);
                    }
                }
                Model::Bpe(model) => model.encode(&word, &mut ids),
            }
        }
        ids
    }
}

fn vocabulary(model: &Value) -> Result<Vocabulary, Problem> {
    let Some(tokens) = model["vocab"].as_object() else {
        // A list of tokens with likelihoods is that of Unigram.
        return Err(match model["type"].as_str() {
            Some("WordPiece" | "BPE") => Problem::Bad("`model.vocab` is not a map".into()),
            _ => Problem::unsupported("model", model),
        });
    };
    let each = tokens.iter().map(|(token, id)| {
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| Problem::Bad(format!("the id of `{token}` is not a number")))?;
        Ok((token.clone(), id))
    });
    each.collect()
}
