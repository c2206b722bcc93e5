//! `TransformerEmbeddings`: a BERT that reads a whole text and makes one vector of it.

mod config;
mod encoder;
mod matrix;
mod weights;
mod workers;

use std::path::Path;

use context_bench_scoring::digest;

use self::config::{BertConfig, Pooling, SentenceConfig};
pub(super) use self::config::{inside, module_kind};
use self::encoder::Encoder;
use self::weights::Weights;
use self::workers::in_groups;
use super::folder::ModelFolder;
use super::tokenizer::FramedTokenizer;
use super::{Embed, EmbeddingError, normalize};

/// The tokens that go through the layers at once: enough for products of matrices to be fast,
/// and few enough for what lies between them to stay in a processor's cache.
const GROUP_TOKENS: usize = 512;

/// An embedding model of the BERT family in the layout of sentence-transformers, from a local
/// folder: all-MiniLM-L6-v2, bge-small, e5-small and the like.
///
/// The folder has `config.json`, `model.safetensors` (32 or 16 bits a number) and
/// `tokenizer.json` (WordPiece). `modules.json` says how tokens are pooled, mean or `[CLS]`;
/// without it their mean is taken. `sentence_bert_config.json` or `tokenizer_config.json` say
/// after how many tokens a text is cut, `config_sentence_transformers.json` what is put before
/// questions and other texts.
///
/// It computes with 32 bits. Processors differ in the last of them, so vectors of two machines
/// may differ by about a millionth; on one machine they are always the same.
pub struct TransformerEmbeddings {
    name: String,
    tokenizer: FramedTokenizer,
    encoder: Encoder,
    dimensions: usize,
    sentence: SentenceConfig,
}

impl TransformerEmbeddings {
    /// Reads a model from its folder.
    ///
    /// # Errors
    ///
    /// When a file is missing or is not what it should be, or when the model is not a BERT.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, EmbeddingError> {
        let folder = ModelFolder::open(folder.as_ref())?;
        let config_file = folder.json("config.json")?;
        let config = BertConfig::of(&folder.path("config.json"), &config_file)?;
        let sentence = SentenceConfig::of(&folder, config.max_position_embeddings)?;
        let tokenizer_file = folder.read("tokenizer.json")?;
        let tokenizer = FramedTokenizer::parse(&folder.path("tokenizer.json"), &tokenizer_file)?;
        let weights_file = folder.read("model.safetensors")?;
        let bad = |problem| EmbeddingError::BadWeights {
            path: folder.path("model.safetensors"),
            problem,
        };
        let weights = Weights::of(&weights_file).map_err(bad)?;
        let encoder = Encoder::of(&weights, &config).map_err(bad)?;
        if tokenizer.highest_id() as usize >= config.vocab_size {
            return Err(EmbeddingError::BadTokenizer {
                path: folder.path("tokenizer.json"),
                problem: format!(
                    "it has a token {}, but the model has {} tokens",
                    tokenizer.highest_id(),
                    config.vocab_size
                ),
            });
        }
        if sentence.longest <= tokenizer.n_special() {
            return Err(EmbeddingError::BadConfig {
                path: folder.path("config.json"),
                problem: format!(
                    "texts of {} tokens have no room for words",
                    sentence.longest
                ),
            });
        }
        // Everything that a vector depends on, and not where it lies.
        let content = format!(
            "{} {} {config_file} {sentence:?}",
            digest::hex(&weights_file),
            digest::hex(&tokenizer_file),
        );
        Ok(Self {
            name: format!("transformer {}", digest::hex(content.as_bytes())),
            tokenizer,
            encoder,
            dimensions: config.hidden_size,
            sentence,
        })
    }

    /// The most tokens of a text that are read, special ones included.
    pub fn longest(&self) -> usize {
        self.sentence.longest
    }

    fn tokens(&self, prompt: &str, text: &str) -> Vec<u32> {
        let mut text = format!("{prompt}{text}");
        if self.sentence.lower_case {
            text = text.to_lowercase();
        }
        self.tokenizer.encode(&text, self.sentence.longest)
    }

    /// The vectors of texts that go through the layers together.
    fn vectors(&self, texts: &[&[u32]]) -> Vec<Vec<f32>> {
        let states = self.encoder.forward(texts);
        let mut rest = &states[..];
        let pooled = texts.iter().map(|tokens| {
            let (rows, after) = rest.split_at(tokens.len() * self.dimensions);
            rest = after;
            let mut vector = vec![0.0; self.dimensions];
            let pooled = match self.sentence.pooling {
                Pooling::Mean => rows,
                Pooling::First => rows.get(..self.dimensions).unwrap_or_default(),
            };
            for row in pooled.chunks_exact(self.dimensions) {
                for (sum, number) in vector.iter_mut().zip(row) {
                    *sum += number;
                }
            }
            // The mean and the sum have the same direction.
            normalize(&mut vector);
            vector
        });
        pooled.collect()
    }
}

impl Embed for TransformerEmbeddings {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        let tokens = self.tokens(&self.sentence.text_prompt, text);
        self.vectors(&[&tokens]).swap_remove(0)
    }

    fn embed_query(&self, question: &str) -> Vec<f32> {
        let tokens = self.tokens(&self.sentence.query_prompt, question);
        self.vectors(&[&tokens]).swap_remove(0)
    }

    fn embed_all(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let tokens = texts
            .iter()
            .map(|text| self.tokens(&self.sentence.text_prompt, text));
        let tokens: Vec<Vec<u32>> = tokens.collect();
        in_groups(&tokens, GROUP_TOKENS, |group| self.vectors(group))
    }
}
