//! Words of a text as terms for matching: lower case, stemmed.
//!
//! A word is a run of word characters. Scripts without spaces would make a whole
//! clause one word, so each Han or Kana character is a word of its own.
//! Terms are for comparing only and are never shown.

use super::stem::{is_stop_word, stem};
use super::words::is_word_char;

/// The byte ranges of the words of a text, in order.
pub fn word_spans(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(is_word_char)?;
        let rest = &text[start..];
        let first = rest.chars().next()?;
        let length = if is_ideograph(first) {
            first.len_utf8()
        } else {
            rest.find(|c| !is_word_char(c) || is_ideograph(c))
                .unwrap_or(rest.len())
        };
        at = start + length;
        Some((start, at))
    })
}

/// Writes the term of a word into `term`, reusing its memory.
pub fn write_term(word: &str, term: &mut String) {
    term.clear();
    if word.is_ascii() {
        term.push_str(word);
        term.make_ascii_lowercase();
    } else {
        term.extend(word.chars().flat_map(char::to_lowercase));
    }
    stem(term);
}

/// Calls `visit` with each term of a text, stop words left out.
pub fn for_each_term(text: &str, mut visit: impl FnMut(&str)) {
    let mut term = String::new();
    for (start, end) in word_spans(text) {
        let word = &text[start..end];
        // All stop words are short ASCII, so most words skip the look-up.
        let stop = word.len() <= 7 && {
            term.clear();
            term.push_str(word);
            term.make_ascii_lowercase();
            is_stop_word(&term)
        };
        if !stop {
            write_term(word, &mut term);
            visit(&term);
        }
    }
}

/// Han, Kana and Bopomofo: scripts whose characters are words or parts of words without spaces.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{312f}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each_term(text, |term| found.push(term.to_owned()));
        found
    }

    #[test]
    fn terms_are_stemmed_words_without_stop_words() {
        assert_eq!(terms("The bridges were opened."), ["bridg", "open"]);
        assert_eq!(terms("北京 is big"), ["北", "京", "big"]);
        assert_eq!(terms("ÉTÉ x²"), ["été", "x²"]);
        assert!(terms("").is_empty());
    }
}
