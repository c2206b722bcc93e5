//! `Encoder`: the forward pass of BERT.
//!
//! Texts lie one behind the other without padding: everything but attention looks at one
//! token at a time, and attention is computed text by text. So there is nothing to mask, and
//! a text has the same vector in any company.

use super::config::BertConfig;
use super::matrix::{Matrix, gelu, multiply, softmax};
use super::weights::Weights;

/// The layers of a transformer.
pub(super) struct Encoder {
    size: usize,
    heads: usize,
    /// A row per token of the vocabulary.
    words: Vec<f32>,
    /// A row per position, with what the first kind of segment adds.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    /// Queries, keys and values at once.
    attention: Linear,
    attention_output: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

impl Encoder {
    /// Takes the weights out of a file, or says what is wrong with them.
    pub(super) fn of(weights: &Weights<'_>, config: &BertConfig) -> Result<Self, String> {
        let size = config.hidden_size;
        let words = weights.numbers(
            "embeddings.word_embeddings.weight",
            &[config.vocab_size, size],
        )?;
        let mut positions = weights.numbers(
            "embeddings.position_embeddings.weight",
            &[config.max_position_embeddings, size],
        )?;
        let segments = weights.numbers(
            "embeddings.token_type_embeddings.weight",
            &[config.type_vocab_size, size],
        )?;
        for row in positions.chunks_exact_mut(size) {
            add(row, &segments[..size]);
        }
        let layers = (0..config.num_hidden_layers).map(|at| Layer::of(weights, config, at));
        Ok(Self {
            size,
            heads: config.num_attention_heads,
            words,
            positions,
            norm: Norm::of(weights, config, "embeddings.LayerNorm")?,
            layers: layers.collect::<Result<_, String>>()?,
        })
    }

    /// What comes out for each token of each text, one behind the other. Every text has fewer
    /// tokens than there are positions, and every token is in the vocabulary.
    pub(super) fn forward(&self, texts: &[&[u32]]) -> Vec<f32> {
        let size = self.size;
        let n: usize = texts.iter().map(|tokens| tokens.len()).sum();
        let mut states = Vec::with_capacity(n * size);
        for tokens in texts {
            for (token, position) in tokens.iter().zip(self.positions.chunks_exact(size)) {
                let start = *token as usize * size;
                let word = &self.words[start..start + size];
                states.extend(word.iter().zip(position).map(|(word, place)| word + place));
            }
        }
        self.norm.apply(&mut states);
        let mut attended = vec![0.0; n * size];
        let (mut mixed, mut scores) = (Vec::new(), Vec::new());
        let (mut inner, mut output) = (Vec::new(), Vec::new());
        for layer in &self.layers {
            layer.attention.apply(&states, &mut mixed);
            let mut start = 0;
            for tokens in texts {
                let rows = start..start + tokens.len();
                self.attend(
                    &mixed[rows.start * 3 * size..rows.end * 3 * size],
                    &mut scores,
                    &mut attended[rows.start * size..rows.end * size],
                );
                start = rows.end;
            }
            layer.attention_output.apply(&attended, &mut output);
            add(&mut states, &output);
            layer.attention_norm.apply(&mut states);

            layer.up.apply(&states, &mut inner);
            gelu(&mut inner);
            layer.down.apply(&inner, &mut output);
            add(&mut states, &output);
            layer.norm.apply(&mut states);
        }
        states
    }

    /// The attention of one text to itself: `mixed` has a query, a key and a value per token.
    fn attend(&self, mixed: &[f32], scores: &mut Vec<f32>, attended: &mut [f32]) {
        let (size, width) = (self.size, self.size / self.heads);
        let n = attended.len() / size;
        scores.clear();
        scores.resize(n * n, 0.0);
        for head in 0..self.heads {
            let part = |which: usize| {
                let from = &mixed[which * size + head * width..];
                Matrix::of(from, n, width, 3 * size)
            };
            let (queries, keys, values) = (part(0), part(1), part(2));
            let scale = 1.0 / (width as f32).sqrt();
            multiply(scale, queries, keys.transposed(), 0.0, scores, n);
            scores.chunks_exact_mut(n).for_each(softmax);
            let scores = Matrix::of(scores, n, n, n);
            multiply(
                1.0,
                scores,
                values,
                0.0,
                &mut attended[head * width..],
                size,
            );
        }
    }
}

impl Layer {
    fn of(weights: &Weights<'_>, config: &BertConfig, at: usize) -> Result<Self, String> {
        let (size, inner) = (config.hidden_size, config.intermediate_size);
        let linear = |names: &[&str], inputs, outputs| {
            let names: Vec<String> = names
                .iter()
                .map(|name| format!("encoder.layer.{at}.{name}"))
                .collect();
            Linear::of(weights, &names, inputs, outputs)
        };
        let norm = |name: &str| {
            Norm::of(
                weights,
                config,
                &format!("encoder.layer.{at}.{name}.LayerNorm"),
            )
        };
        let mixed = [
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
        ];
        Ok(Self {
            attention: linear(&mixed, size, size)?,
            attention_output: linear(&["attention.output.dense"], size, size)?,
            attention_norm: norm("attention.output")?,
            up: linear(&["intermediate.dense"], size, inner)?,
            down: linear(&["output.dense"], inner, size)?,
            norm: norm("output")?,
        })
    }
}

/// A matrix and what is added to its products.
struct Linear {
    inputs: usize,
    /// A row per input, unlike in the file: products with few rows are three times as fast so.
    matrix: Vec<f32>,
    bias: Vec<f32>,
}

impl Linear {
    /// Several of the same shape side by side.
    fn of(
        weights: &Weights<'_>,
        names: &[String],
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, String> {
        let all = names.len() * outputs;
        let (mut matrix, mut bias) = (vec![0.0; inputs * all], Vec::with_capacity(all));
        for (at, name) in names.iter().enumerate() {
            let rows = weights.numbers(&format!("{name}.weight"), &[outputs, inputs])?;
            for (output, row) in rows.chunks_exact(inputs).enumerate() {
                for (input, number) in row.iter().enumerate() {
                    matrix[input * all + at * outputs + output] = *number;
                }
            }
            bias.extend(weights.numbers(&format!("{name}.bias"), &[outputs])?);
        }
        Ok(Self {
            inputs,
            matrix,
            bias,
        })
    }

    fn apply(&self, from: &[f32], to: &mut Vec<f32>) {
        let (rows, outputs) = (from.len() / self.inputs, self.bias.len());
        to.clear();
        for _ in 0..rows {
            to.extend_from_slice(&self.bias);
        }
        let from = Matrix::of(from, rows, self.inputs, self.inputs);
        let matrix = Matrix::of(&self.matrix, self.inputs, outputs, outputs);
        multiply(1.0, from, matrix, 1.0, to, outputs);
    }
}

/// Brings each row to mean 0 and variance 1, then scales and shifts its numbers.
struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

impl Norm {
    fn of(weights: &Weights<'_>, config: &BertConfig, name: &str) -> Result<Self, String> {
        let numbers =
            |part: &str| weights.numbers(&format!("{name}.{part}"), &[config.hidden_size]);
        Ok(Self {
            scale: numbers("weight")?,
            shift: numbers("bias")?,
            epsilon: config.layer_norm_eps,
        })
    }

    fn apply(&self, rows: &mut [f32]) {
        for row in rows.chunks_exact_mut(self.scale.len()) {
            let n = row.len() as f32;
            let mean = row.iter().sum::<f32>() / n;
            let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / n;
            let factor = 1.0 / (variance + self.epsilon).sqrt();
            for ((x, scale), shift) in row.iter_mut().zip(&self.scale).zip(&self.shift) {
                *x = (*x - mean) * factor * scale + shift;
            }
        }
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}
