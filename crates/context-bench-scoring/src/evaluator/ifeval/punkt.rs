//! Sentences as NLTK's Punkt model for English splits them.
//!
//! The algorithm is Kiss and Strunk, "Unsupervised Multilingual Sentence
//! Boundary Detection" (2006), with the published English parameters and the
//! details of NLTK 3.8 and 3.9, which the published IFEval scores rest on. The
//! parameters are in `data/ifeval` with their licence.

mod parameters;
mod token;

use parameters::Parameters;
use token::{Token, tokens};

use crate::text::words::is_space;

/// The sentences of a text, in order; blank text has none.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let slices = realigned(text, &slices(text));
    slices
        .into_iter()
        .map(|(start, end)| &text[start..end])
        .collect()
}

/// A stop that may end a sentence.
#[derive(Clone, Copy)]
struct Stop {
    at: usize,
    /// The end of what follows it in its context: one closing character, or
    /// white space and the next token.
    context_end: usize,
    /// Where the next token starts, when white space follows.
    next: Option<usize>,
}

impl Stop {
    /// The byte after the stop; all stops are ASCII.
    fn end(self) -> usize {
        self.at + 1
    }
}

/// All stops that punctuation, or white space and a token, follows.
fn stops(text: &str) -> impl Iterator<Item = Stop> {
    text.match_indices(['.', '?', '!']).filter_map(|(at, _)| {
        let rest = &text[at + 1..];
        let first = rest.chars().next()?;
        if token::is_non_word(first) {
            return Some(Stop {
                at,
                context_end: at + 2,
                next: None,
            });
        }
        let blank = rest.find(|c| !is_space(c)).filter(|&blank| blank > 0)?;
        let next = at + 1 + blank;
        let length = text[next..].find(is_space).unwrap_or(text.len() - next);
        Some(Stop {
            at,
            context_end: next + length,
            next: Some(next),
        })
    })
}

/// The sentences before closing quotes and brackets are moved.
fn slices(text: &str) -> Vec<(usize, usize)> {
    let parameters = Parameters::get();
    let mut found = Vec::new();
    let mut last_break = 0;
    let mut decide = |stop: Stop, word: usize| {
        if contains_break(parameters, &text[word..stop.context_end]) {
            found.push((last_break, stop.end()));
            last_break = stop.next.unwrap_or(stop.end());
        }
    };
    // A run of stops (`acting!!!`) belongs to one word: only its last one is decided.
    let mut pending: Option<(Stop, usize)> = None;
    for stop in stops(text) {
        let (word, from) = pending.map_or((0, 0), |(stop, word)| (word, stop.at));
        // Python's `string.whitespace`; at the very start of the part looked
        // at, white space does not count, as in NLTK.
        let space = text[from..stop.at].rfind([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        let word = match space {
            None | Some(0) => word,
            Some(space) => from + space + 1,
        };
        if let Some((last, last_word)) = pending
            && last.at <= word
        {
            decide(last, last_word);
        }
        pending = Some((stop, word));
    }
    if let Some((last, word)) = pending {
        decide(last, word);
    }
    found.push((last_break, text.trim_end_matches(is_space).len()));
    found
}

/// Moves closing quotes and brackets to the sentence before them.
fn realigned(text: &str, slices: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut sentences = Vec::with_capacity(slices.len());
    let mut shift = 0;
    for (index, &(start, end)) in slices.iter().enumerate() {
        let start = start + shift;
        let next = slices.get(index + 1);
        let closing = next.and_then(|&(next, end)| closing(text.get(next..end)?));
        match (next, closing) {
            (Some(&(next, _)), Some((length, taken))) => {
                sentences.push((start, next + length));
                shift = taken;
            }
            _ => {
                shift = 0;
                if start < end {
                    sentences.push((start, end));
                }
            }
        }
    }
    sentences
}

/// The closing marks at the start of a sentence: how many bytes they take,
/// without and with the white space behind them. They must be followed by white
/// space, two dashes or the end.
fn closing(sentence: &str) -> Option<(usize, usize)> {
    let mut length = 0;
    for c in sentence.chars() {
        if !matches!(c, '"' | '\'' | ')' | ']' | '}') {
            return None;
        }
        length += 1;
        let rest = &sentence[length..];
        let blank = rest.len() - rest.trim_start_matches(is_space).len();
        if blank > 0 || rest.is_empty() || rest.starts_with("--") {
            return Some((length, length + blank));
        }
    }
    None
}

/// Whether one of the tokens ends a sentence that another one follows.
fn contains_break(parameters: &Parameters, context: &str) -> bool {
    let mut tokens: Vec<Token<'_>> = tokens(context);
    for token in &mut tokens {
        token.classify(parameters);
    }
    tokens
        .windows(2)
        .any(|pair| pair[0].breaks_before(&pair[1], parameters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_as_nltk_gives_them() {
        let cases: [(&str, &[&str]); 16] = [
            ("", &[]),
            (" \n ", &[]),
            ("Pi is 3.14", &["Pi is 3.14"]),
            ("Mr. Smith left. He ran.", &["Mr. Smith left.", "He ran."]),
            (
                "Very bad acting!!! I promise.",
                &["Very bad acting!!!", "I promise."],
            ),
            ("(Sent1.) Sent2.", &["(Sent1.)", "Sent2."]),
            (
                "He said \"Go.\" Then left.",
                &["He said \"Go.\"", "Then left."],
            ),
            ("Wait... what?", &["Wait... what?"]),
            ("Wait... The end.", &["Wait...", "The end."]),
            ("1. First\n2. Second", &["1.", "First\n2.", "Second"]),
            (
                "J. S. Bach wrote it. Yes.",
                &["J. S. Bach wrote it.", "Yes."],
            ),
            ("The U.S. Army won.", &["The U.S. Army won."]),
            ("At 5 p.m. He came.", &["At 5 p.m.", "He came."]),
            ("Hi.There. you", &["Hi.There.", "you"]),
            (
                "**Bold.** Next. . . . end",
                &["**Bold.", "** Next.", ".", ".", ".", "end"],
            ),
            ("Привет. Как дела?", &["Привет.", "Как дела?"]),
        ];
        for (text, expected) in cases {
            assert_eq!(sentences(text), expected, "{text:?}");
        }
    }
}
