//! A short stand-in for a text, where a map of many needs none of the texts themselves.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

/// The hash of a text, the same all through a process.
pub(crate) fn text_hash(text: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(text)
}
