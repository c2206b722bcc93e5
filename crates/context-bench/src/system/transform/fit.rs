//! The longest head or tail of a text that fits a number of tokens.
//!
//! Counting is the expensive part, so the text is counted once in chunks and a
//! binary search runs inside one chunk only. Tokens may span a chunk border, so
//! the result is counted again as a whole and shortened until it really fits.

use crate::text::words::is_space;
use crate::tokens::TokenCounter;

/// Bytes per chunk: large enough that borders hardly matter, small enough to search.
const CHUNK: usize = 16 * 1024;
/// A cut moves back to a word border if that costs at most this many bytes;
/// longer words, and scripts without spaces, are cut between characters.
const MAX_WORD: usize = 48;

/// Which end of the text stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Head,
    Tail,
}

/// The longest `end` of `text`, up to cutting at a word border, with at most `limit` tokens.
pub(crate) fn fit<'a>(text: &'a str, end: End, limit: u64, counter: &dyn TokenCounter) -> &'a str {
    if limit == 0 {
        return "";
    }
    let mut kept = 0;
    let mut used = 0;
    while kept < text.len() {
        let chunk = chunk_after(text, end, kept);
        let tokens = counter.count(chunk);
        if used + tokens > limit {
            kept += search(chunk, end, limit - used, counter);
            break;
        }
        used += tokens;
        kept += chunk.len();
    }
    let mut piece = word_end(text, end, kept);
    // Each round drops at least one character, so this ends at the empty text.
    while !piece.is_empty() {
        let tokens = counter.count(piece);
        if tokens <= limit {
            break;
        }
        // Tokens hold four bytes on average; at least the surplus has to go.
        let surplus = usize::try_from(tokens - limit).unwrap_or(usize::MAX);
        let shorter = piece.len().saturating_sub(surplus.saturating_mul(2).max(1));
        piece = word_end(piece, end, shorter);
    }
    piece
}

/// A text without its middle, half of the limit at each end, as LongBench and others
/// shorten prompts; `None` when it is short enough.
pub(crate) fn without_middle(text: &str, limit: u64, counter: &dyn TokenCounter) -> Option<String> {
    // No text has more tokens than bytes.
    if text.len() as u64 <= limit || counter.count(text) <= limit {
        return None;
    }
    let head = fit(text, End::Head, limit.div_ceil(2), counter);
    let rest = &text[head.len()..];
    let tail = fit(rest, End::Tail, limit / 2, counter);
    // The space before a word is part of its token in most vocabularies, and without it the
    // words at the seam would be one.
    let mut before = rest[..rest.len() - tail.len()].chars();
    let space = before.next_back().filter(|last| last.is_whitespace());
    let n_space = space.map_or(0, char::len_utf8);
    let tail = &rest[rest.len() - tail.len() - n_space..];
    Some([head, tail].concat())
}

/// The next chunk when `kept` bytes at `end` are kept already.
fn chunk_after(text: &str, end: End, kept: usize) -> &str {
    match end {
        End::Head => {
            let rest = &text[kept..];
            if rest.len() <= CHUNK {
                return rest;
            }
            // A space belongs to the word behind it in most vocabularies, so a
            // border before a space cuts no token.
            let (_, length) = cut(rest, End::Head, CHUNK);
            &rest[..length]
        }
        End::Tail => {
            let rest = &text[..text.len() - kept];
            if rest.len() <= CHUNK {
                return rest;
            }
            let (start, _) = cut(rest, End::Tail, CHUNK);
            &rest[start..]
        }
    }
}

/// How many bytes at `end` of the chunk fit the limit.
fn search(chunk: &str, end: End, limit: u64, counter: &dyn TokenCounter) -> usize {
    let (mut fits, mut too_long) = (0, chunk.len());
    while too_long - fits > 1 {
        let middle = fits + (too_long - fits) / 2;
        let piece = take(chunk, end, middle);
        if counter.count(piece) <= limit {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    take(chunk, end, fits).len()
}

/// At most `length` bytes at `end`, cut between characters.
fn take(text: &str, end: End, length: usize) -> &str {
    match end {
        End::Head => &text[..floor_char(text, length)],
        End::Tail => &text[ceil_char(text, text.len().saturating_sub(length))..],
    }
}

/// At most `length` bytes at `end`, cut at a word border where one is near.
fn word_end(text: &str, end: End, length: usize) -> &str {
    if length >= text.len() {
        return text;
    }
    let (start, stop) = cut(text, end, length);
    match end {
        End::Head => text[start..stop].trim_end_matches(is_space),
        End::Tail => text[start..stop].trim_start_matches(is_space),
    }
}

/// The range of at most `length` bytes at `end`; a head ends before white space
/// and a tail starts with it, if there is any near the cut.
fn cut(text: &str, end: End, length: usize) -> (usize, usize) {
    match end {
        End::Head => {
            let stop = floor_char(text, length);
            if text[stop..].starts_with(is_space) {
                return (0, stop);
            }
            let near = ceil_char(text, stop.saturating_sub(MAX_WORD));
            let border = text[near..stop].rfind(is_space).map(|at| near + at);
            (0, border.filter(|&at| at > 0).unwrap_or(stop))
        }
        End::Tail => {
            let start = ceil_char(text, text.len().saturating_sub(length));
            if text[..start].ends_with(is_space) || text[start..].starts_with(is_space) {
                return (start, text.len());
            }
            let near = floor_char(text, (start + MAX_WORD).min(text.len()));
            let border = text[start..near].find(is_space).map(|at| start + at);
            (border.unwrap_or(start), text.len())
        }
    }
}

/// The last character border at or before `at`.
fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The first character border at or after `at`.
fn ceil_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokenizer;

    #[test]
    fn half_of_the_limit_stays_at_each_end() {
        for (text, limit, expected) in [
            ("one two three four five", 5, None),
            ("one two three four five", 4, Some("one two four five")),
            ("one two three four five", 3, Some("one two five")),
            ("one two\nthree\nfour", 2, Some("one\nfour")),
            ("one two three", 1, Some("one")),
            ("", 1, None),
        ] {
            let counter = Tokenizer::Whitespace.counter();
            let found = without_middle(text, limit, &*counter);
            assert_eq!(found.as_deref(), expected, "{text:?} {limit}");
        }
        let text = "The ferry leaves at nine, or so they say. ".repeat(200);
        let counter = Tokenizer::Cl100kBase.counter();
        let short = without_middle(&text, 50, &*counter).expect("too long");
        assert!(counter.count(&short) <= 51, "{short}");
        assert!(
            short.starts_with("The ferry") && short.ends_with("they say. "),
            "{short}"
        );
    }
}
