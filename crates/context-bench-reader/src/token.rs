//! Words of a passage with what the reader needs to know about each.
//!
//! Unlike the terms of `text::terms`, these keep numbers (`2.74`, `412,000`),
//! hyphenated words and currency signs in one piece, because answers are cut
//! out of the passage at their borders.

use context_bench_scoring::text::stem::is_stop_word;
use context_bench_scoring::text::terms::{word_spans, write_term};

/// One word of a passage.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// Byte range in the passage.
    pub(super) start: usize,
    pub(super) end: usize,
    /// In lower case, without a possessive `'s`.
    pub(super) lower: String,
    /// Stemmed, for comparing with the question.
    pub(super) term: String,
    /// Starts with a capital letter.
    pub(super) capital: bool,
    /// Starts with a digit or a currency sign.
    pub(super) digits: bool,
    /// Punctuation stands between the word before and this one.
    pub(super) after_break: bool,
    /// That punctuation is (or has) a comma and nothing stronger.
    pub(super) after_comma: bool,
    /// A quotation mark opens before this word.
    pub(super) quoted: bool,
    /// Says how things relate, not what they are.
    pub(super) function: bool,
    /// Ended with `'s`, so that a name ends here.
    pub(super) possessive: bool,
}

/// The words of a passage, in order.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (start, end) in word_spans(text) {
        match spans.last_mut() {
            Some(last) if joins(text, *last, start, end) => last.1 = end,
            _ => spans.push((start, end)),
        }
    }
    let mut found: Vec<Token> = Vec::with_capacity(spans.len());
    let mut end_before = 0;
    for (mut start, mut end) in spans {
        let gap = &text[end_before..start];
        if let Some(sign) = gap.chars().next_back().filter(|c| is_currency_sign(*c)) {
            start -= sign.len_utf8();
        }
        if text[end..].starts_with('%') {
            end += 1;
        }
        let first = found.is_empty();
        found.push(token(text, (start, end), &text[end_before..start], first));
        end_before = end;
    }
    found
}

fn token(text: &str, (start, end): (usize, usize), gap: &str, first: bool) -> Token {
    let word = &text[start..end];
    let mut lower = word.to_lowercase();
    let stripped = ["'s", "’s"].iter().find_map(|end| lower.strip_suffix(end));
    let possessive = stripped.is_some();
    if let Some(stripped) = stripped {
        lower = stripped.to_owned();
    }
    let mut term = String::new();
    write_term(&lower, &mut term);
    let initial = word.chars().next().unwrap_or(' ');
    let strong = |c: char| matches!(c, '.' | ';' | ':' | '!' | '?' | '(' | ')' | '—' | '–');
    let quoted = gap.ends_with(['"', '“', '«', '‘']);
    Token {
        start,
        end,
        function: is_stop_word(&lower) || super::lexicon::is_function_word(&lower),
        capital: initial.is_uppercase(),
        digits: initial.is_numeric() || is_currency_sign(initial),
        after_break: !first && gap.contains(|c: char| c == ',' || strong(c)),
        after_comma: !first && gap.contains(',') && !gap.contains(strong),
        quoted,
        lower,
        term,
        possessive,
    }
}

/// Whether a word goes on with the next run of word characters.
fn joins(text: &str, last: (usize, usize), start: usize, end: usize) -> bool {
    let between = &text[last.1..start];
    let digit_before = text[..last.1].ends_with(|c: char| c.is_ascii_digit());
    let digit_after = text[start..].starts_with(|c: char| c.is_ascii_digit());
    match between {
        "." | "," | ":" => digit_before && digit_after,
        "-" | "‑" => true,
        "'" | "’" => {
            matches!(
                &text[start..end],
                "s" | "t" | "re" | "ve" | "ll" | "d" | "m"
            ) || end - start > 2
        }
        _ => false,
    }
}

pub(super) fn is_currency_sign(c: char) -> bool {
    matches!(
        c,
        '$' | '€' | '£' | '¥' | '₹' | '₽' | '₩' | '¢' | '₺' | '₪' | '฿'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_compounds_stay_whole() {
        let text = "It cost $2.74 million, or 412,000 in all; 58% of Ann's fifty-three (at 18:30).";
        let words: Vec<&str> = tokens(text)
            .iter()
            .map(|token| &text[token.start..token.end])
            .collect();
        assert_eq!(
            words,
            [
                "It",
                "cost",
                "$2.74",
                "million",
                "or",
                "412,000",
                "in",
                "all",
                "58%",
                "of",
                "Ann's",
                "fifty-three",
                "at",
                "18:30"
            ]
        );
    }
}
