//! `FramedTokenizer`: tokens as a transformer reads them, between its special tokens.

use std::path::Path;

use serde_json::Value;

use super::{EmbeddingError, Model, Problem, Tokenizer, json};

/// Cuts texts into WordPiece tokens, one for each unknown word too, between special tokens
/// such as `[CLS]` and `[SEP]`.
///
/// Names of special tokens in a text are plain text: what people write must not end it.
pub(in super::super) struct FramedTokenizer {
    tokenizer: Tokenizer,
    before: Vec<u32>,
    after: Vec<u32>,
    unknown: u32,
}

impl FramedTokenizer {
    /// Reads the bytes of a file.
    pub(in super::super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, EmbeddingError> {
        let read = json(bytes).and_then(|file| Self::of(&file));
        read.map_err(|problem| problem.in_file(path))
    }

    fn of(file: &Value) -> Result<Self, Problem> {
        let tokenizer = Tokenizer::of(file)?;
        let Model::WordPiece(model) = &tokenizer.model else {
            return Err(Problem::unsupported("model", &file["model"]));
        };
        let unknown = model.unknown();
        let unknown = unknown
            .ok_or_else(|| Problem::Bad("`model.unk_token` is not in the vocabulary".into()))?;
        let (before, after) = frame(&file["post_processor"])?;
        Ok(Self {
            tokenizer,
            before,
            after,
            unknown,
        })
    }

    /// How many special tokens each text gets.
    pub(in super::super) fn n_special(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// The largest id that [`encode`](Self::encode) can give.
    pub(in super::super) fn highest_id(&self) -> u32 {
        let special = self.before.iter().chain(&self.after).max();
        self.tokenizer
            .highest_id()
            .max(special.copied().unwrap_or(0))
    }

    /// The ids of the tokens of a text, at most `most` of them with the special ones; what is
    /// left out is the end of the text.
    pub(in super::super) fn encode(&self, text: &str, most: usize) -> Vec<u32> {
        let mut within = self.tokenizer.encode_marking(text, Some(self.unknown));
        within.truncate(most.saturating_sub(self.n_special()));
        [&self.before[..], &within, &self.after].concat()
    }
}

/// The special tokens before and after a text.
fn frame(value: &Value) -> Result<(Vec<u32>, Vec<u32>), Problem> {
    let bad = |what: &str| Problem::Bad(format!("`post_processor`: {what}"));
    let id = |value: &Value| {
        let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| bad("the id of a special token is not a number"))
    };
    match value["type"].as_str() {
        Some("BertProcessing") => Ok((vec![id(&value["cls"][1])?], vec![id(&value["sep"][1])?])),
        Some("TemplateProcessing") => {
            let (mut before, mut after, mut passed) = (Vec::new(), Vec::new(), false);
            let pieces = value["single"].as_array();
            for piece in pieces.ok_or_else(|| bad("`single` is not a list"))? {
                if piece["Sequence"].is_object() {
                    passed = true;
                    continue;
                }
                let name = piece["SpecialToken"]["id"].as_str();
                let name = name.ok_or_else(|| bad("a piece is neither a token nor the text"))?;
                let ids = value["special_tokens"][name]["ids"].as_array();
                let ids = ids.ok_or_else(|| bad(&format!("`{name}` has no ids")))?;
                let ids: Result<Vec<u32>, Problem> = ids.iter().map(id).collect();
                if passed { &mut after } else { &mut before }.extend(ids?);
            }
            match passed {
                true => Ok((before, after)),
                false => Err(bad("`single` has no place for the text")),
            }
        }
        _ => Err(Problem::unsupported("post-processor", value)),
    }
}
