//! OpenAI's byte-pair encodings, through the `tiktoken` crate.

/// Tokens of `text` in the named encoding, special-token spellings as plain text.
pub(super) fn count(encoding: &str, text: &str) -> u64 {
    // Both encodings are compiled in (feature `vocab-openai`), so the look-up
    // cannot fail; words are the honest fallback if a future version drops one.
    match tiktoken::get_encoding(encoding) {
        Some(bpe) => bpe.count(text) as u64,
        None => super::whitespace::count(text),
    }
}
