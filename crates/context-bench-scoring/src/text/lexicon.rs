//! Lists of words as data: written as one text, looked up as a set.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A set of lower-case words, built on first use.
pub(crate) type Lexicon = LazyLock<HashSet<&'static str>>;

/// The words of a text between white space.
pub(crate) fn words(text: &'static str) -> HashSet<&'static str> {
    text.split_whitespace().collect()
}
