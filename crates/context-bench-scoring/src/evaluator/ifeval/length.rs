//! `length_constraints:*`: paragraphs, words and sentences.

use super::arguments::Bound;
use super::punkt;
use crate::text::words::{is_space, is_word_char, split_whitespace, trim};

/// Sentences as NLTK's Punkt model for English splits them.
pub(super) fn sentences(bound: Bound, text: &str) -> bool {
    bound.holds(punkt::sentences(text).len())
}

/// Runs of word characters (`\w+`).
pub(super) fn words(bound: Bound, text: &str) -> bool {
    let runs = text.split(|c| !is_word_char(c));
    bound.holds(runs.filter(|run| !run.is_empty()).count())
}

/// Paragraphs are what stands between the markdown dividers `***`. Blank ones
/// do not count at the ends and fail in between.
pub(super) fn paragraphs(wanted: usize, text: &str) -> bool {
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("***") {
        // The divider takes one white-space character on each side with it.
        pieces.push(before.strip_suffix(is_space).unwrap_or(before));
        rest = after.strip_prefix(is_space).unwrap_or(after);
    }
    pieces.push(rest);
    let is_blank = |piece: &&str| trim(piece).is_empty();
    let inner = pieces.get(1..pieces.len() - 1).unwrap_or_default();
    if inner.iter().any(is_blank) {
        return false;
    }
    pieces.iter().filter(|piece| !is_blank(piece)).count() == wanted
}

/// What `length_constraints:nth_paragraph_first_word` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NthParagraph {
    pub(super) paragraphs: usize,
    /// From 1.
    pub(super) nth: usize,
    /// In lower case.
    pub(super) first_word: String,
}

impl NthParagraph {
    /// Paragraphs are separated by two new lines here.
    pub(super) fn follows(&self, text: &str) -> bool {
        let pieces: Vec<&str> = text.split("\n\n").map(trim).collect();
        let filled = pieces.iter().filter(|piece| !piece.is_empty()).count();
        if self.nth > filled {
            return false;
        }
        // Blank pieces are not counted above but do count as positions, as in
        // the official code.
        let nth = self.nth.checked_sub(1).and_then(|index| pieces.get(index));
        let Some(word) = nth.and_then(|piece| split_whitespace(piece).next()) else {
            return false;
        };
        let word = word.trim_start_matches('\'').trim_start_matches('"');
        let end = word.find(['.', ',', '?', '!', '\'', '"']);
        let word = &word[..end.unwrap_or(word.len())];
        // Letter by letter, so no final sigma.
        let word: String = word.chars().flat_map(char::to_lowercase).collect();
        filled == self.paragraphs && word == self.first_word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_between_dividers() {
        for (text, count) in [
            ("a\n***\nb", 2),
            ("***a***b***", 2),
            ("a *** b ***\n", 2),
            ("", 0),
            ("a\n\nb", 1),
            // Two dividers in a row: the first of them is followed by a star.
            ("a****b", 2),
        ] {
            assert!(paragraphs(count, text), "{text:?}");
        }
        assert!(!paragraphs(2, "a*** ***b"));
    }

    #[test]
    fn first_word_of_a_paragraph() {
        let check = |paragraphs, nth, first_word: &str, text| {
            let first_word = first_word.into();
            let wanted = NthParagraph {
                paragraphs,
                nth,
                first_word,
            };
            wanted.follows(text)
        };
        assert!(check(2, 2, "weekend", "One.\n\n\"Weekend's here"));
        assert!(check(2, 1, "one", "ONE, two\n\n\n\nb"));
        assert!(!check(2, 2, "b", "one\n\n\n\nb"));
        assert!(!check(3, 3, "b", "one\n\nb"));
    }
}
