//! `CountTokens`: how much a memory may hand over is counted in tokens, by whoever runs it.

/// Counts the tokens of a text. Passed in, because vocabularies are large and this crate has none.
pub trait CountTokens: Send + Sync {
    /// The name that reports show; saved states belong to one counter.
    fn name(&self) -> &str;

    /// How many tokens the text has.
    fn count(&self, text: &str) -> u64;
}

/// Counts words between white space: no vocabulary, for tests and quick looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountWords;

impl CountTokens for CountWords {
    fn name(&self) -> &str {
        "whitespace"
    }

    fn count(&self, text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }
}
