//! `keywords:*`: words, phrases and letters that must or must not occur.
//!
//! The official code reads keywords as regular expressions. None of the
//! published ones contains a special character, so we read them as plain text:
//! `C++` is then a keyword instead of an error.

use super::arguments::Bound;
use crate::text::words::is_word_char;

/// A letter as Python's `re.IGNORECASE` compares it.
fn fold(c: char) -> char {
    match c {
        'ı' => 'i',
        'ſ' => 's',
        c if c.is_ascii() => c.to_ascii_lowercase(),
        c => c.to_lowercase().next().unwrap_or(c),
    }
}

fn folded(text: &str) -> String {
    text.chars().map(fold).collect()
}

pub(super) fn all_occur(keywords: &[String], text: &str) -> bool {
    let text = folded(text);
    let mut keywords = keywords.iter();
    keywords.all(|keyword| text.contains(&folded(keyword)))
}

pub(super) fn occurs(keyword: &str, bound: Bound, text: &str) -> bool {
    bound.holds(folded(text).matches(&folded(keyword)).count())
}

/// Whether none of the words stands alone: `he` is not part of `the`.
pub(super) fn none_occurs(words: &[String], text: &str) -> bool {
    let text = folded(text);
    !words.iter().any(|word| stands_alone(&folded(word), &text))
}

/// Whether `word` occurs with a word boundary (`\b`) on both sides.
fn stands_alone(word: &str, text: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(is_word_char);
    let (first, last) = (word.chars().next(), word.chars().next_back());
    let step = first.map_or(1, char::len_utf8);
    let mut from = 0;
    while let Some(found) = text[from..].find(word) {
        let start = from + found;
        let end = start + word.len();
        let before = text[..start].chars().next_back();
        let after = text[end..].chars().next();
        if is_word(before) != is_word(first) && is_word(last) != is_word(after) {
            return true;
        }
        from = start + step;
    }
    false
}

/// Occurrences of a letter (any single character), upper or lower case.
pub(super) fn letter_occurs(letter: &str, bound: Bound, text: &str) -> bool {
    bound.holds(text.to_lowercase().matches(letter).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.into()).collect()
    }

    #[test]
    fn keywords_are_found_inside_words_in_any_case() {
        assert!(all_occur(&texts(&["Cat", "dog"]), "the CATalog and a dog"));
        assert!(!all_occur(&texts(&["cat", "bird"]), "cat"));
        assert!(all_occur(&texts(&["C++", "STRASSE"]), "c++ strasse"));
    }

    #[test]
    fn forbidden_words_stand_alone() {
        assert!(none_occurs(&texts(&["he"]), "the end"));
        assert!(!none_occurs(&texts(&["he"]), "so he, HE!"));
        assert!(none_occurs(&texts(&["he"]), "he_ and 2he"));
        assert!(!none_occurs(&texts(&["aa"]), "aaa aa"));
        // A boundary after `+` needs a word character behind it, as in Python.
        assert!(none_occurs(&texts(&["c++"]), "c++ is"));
    }
}
