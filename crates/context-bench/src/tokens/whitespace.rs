//! Words between white space.

use crate::text::words::split_whitespace;

pub(super) fn count(text: &str) -> u64 {
    split_whitespace(text).count() as u64
}
