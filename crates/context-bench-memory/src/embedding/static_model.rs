//! `StaticEmbeddings`: a matrix with a row per token; a text is the mean of its rows.

use std::path::Path;

use context_bench_scoring::digest;

use super::folder::ModelFolder;
use super::safetensors::{NumberKind, Tensor, tensors};
use super::tokenizer::Tokenizer;
use super::{Embed, EmbeddingError, normalize};

/// A static embedding model in the layout of model2vec, from a local folder.
///
/// The folder has `model.safetensors` (the only matrix, or the one called `embeddings`;
/// `weights` and `mapping` where the model has them) and `tokenizer.json` (WordPiece, or BPE
/// in the way of Llama 2). A text is the mean of the rows of its tokens, unknown ones left
/// out; it is not cut at a number of tokens. Names of special tokens in a text are plain text.
pub struct StaticEmbeddings {
    name: String,
    tokenizer: Tokenizer,
    matrix: Vec<u8>,
    kind: NumberKind,
    rows: usize,
    dimensions: usize,
    /// Per token a factor, where the model has them.
    weights: Option<Vec<f32>>,
    /// Per token its row, where several share one.
    mapping: Option<Vec<usize>>,
}

impl StaticEmbeddings {
    /// Reads a model from its folder.
    ///
    /// # Errors
    ///
    /// When a file is missing or is not what it should be.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, EmbeddingError> {
        let folder = ModelFolder::open(folder.as_ref())?;
        let weights = folder.path("model.safetensors");
        let tokenizer = folder.path("tokenizer.json");
        let weight_bytes = folder.read("model.safetensors")?;
        let tokenizer_bytes = folder.read("tokenizer.json")?;
        let parsed = Tokenizer::parse(&tokenizer, &tokenizer_bytes)?;
        let bad = |problem| EmbeddingError::BadWeights {
            path: weights.clone(),
            problem,
        };
        Self::of(&weight_bytes, &tokenizer_bytes, parsed).map_err(bad)
    }

    fn of(file: &[u8], tokenizer_file: &[u8], tokenizer: Tokenizer) -> Result<Self, String> {
        let tensors = tensors(file)?;
        let named = |wanted: &str| {
            let mut found = tensors.iter().filter(|(name, _)| name == wanted);
            found.next().map(|(_, tensor)| tensor)
        };
        let matrix = named("embeddings").or_else(|| {
            let mut matrices = tensors.iter().filter(|(_, tensor)| tensor.shape.len() == 2);
            matrices
                .next()
                .filter(|_| matrices.next().is_none())
                .map(|(_, tensor)| tensor)
        });
        let matrix = matrix.ok_or("it has no tensor `embeddings`, nor only one matrix")?;
        let &[rows, dimensions] = matrix.shape.as_slice() else {
            return Err("the tensor `embeddings` is not a matrix".into());
        };
        if rows == 0 || dimensions == 0 {
            return Err("the matrix is empty".into());
        }
        let weights = named("weights").map(numbers);
        let mapping = named("mapping").map(numbers).map(|rows| {
            let rows = rows.into_iter();
            rows.map(|row| row as usize).collect::<Vec<usize>>()
        });
        let ids = tokenizer.highest_id() as usize;
        let reached = match &mapping {
            Some(mapping) if ids < mapping.len() => mapping.iter().max().copied().unwrap_or(0),
            Some(_) => return Err("`mapping` lacks tokens of the tokenizer".into()),
            None => ids,
        };
        if reached >= rows {
            return Err(format!(
                "the matrix has {rows} rows, but a token has row {reached}: the tokenizer is of another model"
            ));
        }
        if weights.as_ref().is_some_and(|weights| weights.len() <= ids) {
            return Err("`weights` lacks tokens of the tokenizer".into());
        }
        let content = format!("{}{}", digest::hex(file), digest::hex(tokenizer_file));
        Ok(Self {
            name: format!("static {}", digest::hex(content.as_bytes())),
            kind: matrix.kind,
            matrix: matrix.bytes.to_vec(),
            tokenizer,
            rows,
            dimensions,
            weights: weights.map(|all| all.into_iter().map(|weight| weight as f32).collect()),
            mapping,
        })
    }

    /// How many rows the matrix has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The tokens of a text by their ids, unknown ones left out.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text)
    }
}

fn numbers(tensor: &Tensor<'_>) -> Vec<f64> {
    let mut numbers = Vec::new();
    tensor
        .kind
        .each(tensor.bytes, |number| numbers.push(number));
    numbers
}

impl Embed for StaticEmbeddings {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0_f32; self.dimensions];
        let size = self.kind.size();
        for id in self.tokens(text) {
            let id = id as usize;
            let row = self.mapping.as_ref().map_or(id, |mapping| mapping[id]);
            let weight = self.weights.as_ref().map_or(1.0, |weights| weights[id]);
            let start = row * self.dimensions * size;
            let row = &self.matrix[start..start + self.dimensions * size];
            let mut sums = sum.iter_mut();
            self.kind.each(row, |number| {
                if let Some(sum) = sums.next() {
                    *sum += weight * number as f32;
                }
            });
        }
        // The mean and the sum have the same direction.
        normalize(&mut sum);
        sum
    }
}
