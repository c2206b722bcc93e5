//! SQuAD answer normalisation, in two orders.
//!
//! The official one deletes punctuation first: `U.S.A.` is `usa`. The original tool
//! removes articles while punctuation is still there, so `U.S.A.` loses its last letter
//! and `state-of-the-art` becomes `stateof art`; cases of it pin that.

use super::words::{is_word_char, split_whitespace};

const ARTICLES: [&str; 3] = ["a", "an", "the"];

/// As the original tool does it: lower case, then without the words `a`, `an`, `the`, then
/// without ASCII punctuation, joined by single spaces.
pub fn normalize_answer(text: &str) -> String {
    let mut kept = without_articles(&text.to_lowercase());
    kept.retain(|c| !c.is_ascii_punctuation());
    joined(&kept)
}

/// As every official script does it: lower case, then without ASCII punctuation, then
/// without the words `a`, `an`, `the`, joined by single spaces.
pub fn official_answer(text: &str) -> String {
    let mut kept = text.to_lowercase();
    kept.retain(|c| !c.is_ascii_punctuation());
    joined(&without_articles(&kept))
}

/// A text with a space in place of each article.
pub fn without_articles(text: &str) -> String {
    without_words(text, &ARTICLES)
}

/// A text with a space in place of each of some words.
pub fn without_words(text: &str, words: &[&str]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_word = is_word_char(c);
        let end = rest
            .find(|c| is_word_char(c) != is_word)
            .unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        rest = tail;
        match is_word && words.contains(&run) {
            true => kept.push(' '),
            false => kept.push_str(run),
        }
    }
    kept
}

/// The words of a text with single spaces between.
fn joined(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    for word in split_whitespace(text) {
        if !normal.is_empty() {
            normal.push(' ');
        }
        normal.push_str(word);
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_of_the_reference() {
        for (text, expected) in [
            ("The  quick, brown fox!", "quick brown fox"),
            ("U.S.A.", "us"),
            ("state-of-the-art", "stateof art"),
            ("the_a", "thea"),
            ("theatre and anthem", "theatre and anthem"),
            ("ΣΑΣ", "σας"),
            // The accent is not a word character, so the base letter stands alone.
            ("a\u{301}", "\u{301}"),
            ("", ""),
        ] {
            assert_eq!(normalize_answer(text), expected, "{text:?}");
        }
    }

    #[test]
    fn official_scripts_delete_punctuation_first() {
        for (text, expected) in [
            ("The  quick, brown fox!", "quick brown fox"),
            ("U.S.A.", "usa"),
            ("A-ha", "aha"),
            ("state-of-the-art", "stateoftheart"),
            ("the", ""),
        ] {
            assert_eq!(official_answer(text), expected, "{text:?}");
        }
    }
}
