//! SQuAD answer normalisation, in the order of the reference.
//!
//! Articles are removed while punctuation is still there, so `U.S.A.` loses its
//! last letter and `state-of-the-art` becomes `stateof art`. That is how the
//! published scores were made, so we keep it.

use super::words::{is_word_char, split_whitespace};

/// Lower-cases, drops the words `a`, `an`, `the`, deletes ASCII punctuation and
/// joins what is left with single spaces.
pub fn normalize_answer(text: &str) -> String {
    let lower = text.to_lowercase();
    let mut kept = String::with_capacity(lower.len());
    let mut rest = lower.as_str();
    while let Some(c) = rest.chars().next() {
        let is_word = is_word_char(c);
        let end = rest
            .find(|c| is_word_char(c) != is_word)
            .unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        rest = tail;
        if is_word && matches!(run, "a" | "an" | "the") {
            kept.push(' ');
        } else {
            kept.extend(run.chars().filter(|c| !c.is_ascii_punctuation()));
        }
    }
    let mut normal = String::with_capacity(kept.len());
    for word in split_whitespace(&kept) {
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
}
