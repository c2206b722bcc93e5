//! Words between white space.

use crate::text::words::split_whitespace;

pub(super) fn count(text: &str) -> u64 {
    split_whitespace(text).count() as u64
}

/// Where the words of `text` end, in bytes.
pub(super) fn ends(text: &str) -> Vec<usize> {
    let start = text.as_ptr() as usize;
    let words = split_whitespace(text).map(|word| word.as_ptr() as usize - start + word.len());
    words.collect()
}
