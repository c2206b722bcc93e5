//! `Embed`: texts as vectors that lie near each other when the texts are alike.
//!
//! [`StaticEmbeddings`] are real ones from a local folder; no weights come with the crate.
//! [`HashedNgrams`] need no weights and know no meanings: they find words that are spelled alike.

mod error;
mod hashed;
mod safetensors;
mod static_model;
mod tokenizer;

pub use self::error::EmbeddingError;
pub use self::hashed::HashedNgrams;
pub use self::static_model::StaticEmbeddings;

/// Makes vectors of texts.
pub trait Embed: Send + Sync {
    /// What tells these vectors from those of another model; saved states belong to one.
    fn name(&self) -> &str;

    /// How many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// The vector of a text: of length 1, or all zeros when nothing in the text is known. It has
    /// [`dimensions`](Self::dimensions) numbers.
    fn embed(&self, text: &str) -> Vec<f32>;
}

/// The cosine of the angle between two vectors that are of length 1 or 0.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
    products.sum()
}

/// Brings a vector to length 1; zeros stay.
fn normalize(vector: &mut [f32]) {
    let length = cosine(vector, vector).sqrt();
    if length > 1e-10 {
        for number in vector {
            *number = (f64::from(*number) / length) as f32;
        }
    }
}
