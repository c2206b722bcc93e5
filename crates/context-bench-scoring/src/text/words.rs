//! Characters and words as Python sees them.
//!
//! Python's `\w` knows letters, numbers and the underscore but no combining
//! marks; its white space includes U+001C to U+001F. Rust's own notions differ
//! on both points, and scores would differ with them.

pub use context_bench_template::python::{is_space, split_whitespace, strip as trim};

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Whether Python's `\w` matches the character.
pub fn is_word_char(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_characters_are_pythons() {
        for c in ['a', 'Z', '0', '_', 'é', '日', '²', '½', 'ß', 'Ⅷ'] {
            assert!(is_word_char(c), "{c:?}");
        }
        // A combining acute accent, a Devanagari vowel sign, punctuation.
        for c in ['\u{301}', '\u{93f}', '-', '—', ' ', '\u{200b}'] {
            assert!(!is_word_char(c), "{c:?}");
        }
    }

    #[test]
    fn white_space_is_pythons() {
        let text = "a\u{1c}b\u{a0}c\u{200b}d\u{feff}\u{85}e";
        let words: Vec<_> = split_whitespace(text).collect();
        assert_eq!(words, ["a", "b", "c\u{200b}d\u{feff}", "e"]);
        assert_eq!(trim("\u{1f} x \n"), "x");
    }
}
