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

/// Where the tokens of `text` end, in bytes.
pub(super) fn ends(encoding: &str, text: &str) -> Vec<usize> {
    let Some(bpe) = tiktoken::get_encoding(encoding) else {
        return super::whitespace::ends(text);
    };
    let mut end = 0;
    let tokens = bpe.encode(text).into_iter().map(|token| {
        end += bpe.decode(&[token]).len();
        end
    });
    tokens.collect()
}
