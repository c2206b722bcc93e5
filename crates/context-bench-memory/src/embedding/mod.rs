//! `Embed`: texts as vectors that lie near each other when the texts are alike.
//!
//! [`load`] reads a model from a local folder: [`StaticEmbeddings`], a row of numbers per token,
//! or [`TransformerEmbeddings`], which read whole texts. No weights come with the crate.
//! [`HashedNgrams`] stand in for a model: they need no weights and know no meanings, and find
//! words that are spelled alike.

mod error;
mod folder;
mod hashed;
mod load;
mod safetensors;
mod static_model;
mod tokenizer;
mod transformer;

pub use self::error::EmbeddingError;
pub use self::hashed::HashedNgrams;
pub use self::load::load;
pub use self::static_model::StaticEmbeddings;
pub use self::transformer::TransformerEmbeddings;

/// Makes vectors of texts.
pub trait Embed: Send + Sync {
    /// What tells these vectors from those of another model; saved states belong to one. Of a
    /// model from files it is their content, not where they are.
    fn name(&self) -> &str;

    /// How many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// The vector of a text: of length 1, or all zeros when nothing in the text is known. It has
    /// [`dimensions`](Self::dimensions) numbers.
    fn embed(&self, text: &str) -> Vec<f32>;

    /// The vector of a question, to be compared with those of texts. Some models are told which
    /// of the two they read.
    fn embed_query(&self, question: &str) -> Vec<f32> {
        self.embed(question)
    }

    /// The vectors of texts, each what [`embed`](Self::embed) gives, in their order. Models that
    /// are faster with many texts at once compute them so.
    fn embed_all(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        texts.iter().map(|text| self.embed(text)).collect()
    }
}

/// The cosine of the angle between two vectors that are of length 1 or 0.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
    products.sum()
}

/// Brings a vector to length 1; zeros stay, and one that has no length becomes zeros.
fn normalize(vector: &mut [f32]) {
    let length = cosine(vector, vector).sqrt();
    if !length.is_finite() {
        vector.fill(0.0);
    } else if length > 1e-10 {
        for number in vector {
            *number = (f64::from(*number) / length) as f32;
        }
    }
}
