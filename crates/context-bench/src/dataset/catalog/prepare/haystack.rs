//! `Haystack`: a book, and the snippets of it in which something is hidden.
//!
//! A snippet has so many tokens, what is hidden on top of them. It is hidden at a line
//! break, so the snippet is moved along the book until that line break lies as deep in
//! it as was asked for.

use std::sync::{Arc, OnceLock};

use crate::tokens::Tokenizer;

/// This many bytes of a book are cut into tokens for each token of a snippet, and so many
/// more for the way to a line break: more than any snippet needs.
const BYTES_PER_TOKEN: usize = 8;
const SPARE_BYTES: usize = 1 << 16;

/// A book.
#[derive(Debug)]
pub(super) struct Haystack {
    text: Arc<str>,
    /// The tokens of a snippet.
    length: usize,
    /// Where the tokens of the book end, as far as snippets need them.
    ends: OnceLock<Vec<usize>>,
}

/// A part of a book with a place for something to hide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Snippet<'b> {
    /// What stands before the place: whole lines.
    pub(super) before: &'b str,
    /// What stands behind it.
    pub(super) after: &'b str,
    /// How many tokens it has: fewer than asked for of a book that is too short.
    pub(super) n_tokens: usize,
}

impl Haystack {
    /// A book of which snippets have so many tokens.
    pub(super) fn new(text: &str, length: usize) -> Self {
        let most = length
            .saturating_mul(BYTES_PER_TOKEN)
            .saturating_add(SPARE_BYTES);
        Self {
            text: text[..floor(text, most)].into(),
            length,
            ends: OnceLock::new(),
        }
    }

    /// The snippet with a place at `nth` of `n_depths` depths, evenly from the beginning
    /// (0) to the end.
    pub(super) fn snippet(&self, nth: usize, n_depths: usize) -> Snippet<'_> {
        let ends = self
            .ends
            .get_or_init(|| Tokenizer::Cl100kBase.ends(&self.text));
        let deep = |length: usize| {
            let last = n_depths.saturating_sub(1).max(1);
            usize::try_from(length as u128 * nth.min(last) as u128 / last as u128).unwrap_or(length)
        };
        let byte = |token: usize| match token.min(ends.len()) {
            0 => 0,
            n => floor(&self.text, ends[n - 1]),
        };
        let place = self.line_after(byte(deep(self.length.saturating_add(1))));
        let at = ends.partition_point(|end| *end <= place);
        let start = at.saturating_sub(deep(self.length));
        let end = start.saturating_add(self.length).min(ends.len());
        // A book that ends too early lends from before.
        let start = end.saturating_sub(self.length).min(start);
        let (from, to) = (byte(start).min(place), byte(end).max(place));
        Snippet {
            before: &self.text[from..place],
            after: &self.text[place..to],
            n_tokens: end - start,
        }
    }

    /// The beginning of the first line at or behind a place; of the last one before it
    /// when there is none.
    fn line_after(&self, place: usize) -> usize {
        let (before, after) = self.text.split_at(place);
        match (after.find('\n'), before.rfind('\n')) {
            (Some(at), _) => place + at + 1,
            (None, Some(at)) => at + 1,
            (None, None) => self.text.len(),
        }
    }
}

/// The last place at or before `at` that is not inside a character.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl Snippet<'_> {
    /// The snippet with lines put into it: the first one at its place, others at the
    /// beginnings of lines that `draw` chooses by number, of so many.
    pub(super) fn hiding(
        &self,
        needle: &str,
        others: &[String],
        mut draw: impl FnMut(usize) -> usize,
    ) -> String {
        let mut lines: Vec<&str> = Vec::new();
        lines.extend(self.before.split_inclusive('\n'));
        let place = lines.len();
        lines.extend(self.after.split_inclusive('\n'));
        let mut places: Vec<(usize, &str)> = vec![(place, needle)];
        for other in others {
            // Not beside the needle, unless there is no other line.
            let drawn = draw(lines.len().max(1));
            places.push((drawn + usize::from(drawn >= place), other));
        }
        let mut text = String::with_capacity(self.before.len() + self.after.len() + needle.len());
        let put = |text: &mut String, line: &str| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        };
        for at in 0..=lines.len() {
            for (_, hidden) in places.iter().filter(|(place, _)| *place == at) {
                put(&mut text, hidden);
                text.push('\n');
            }
            if let Some(line) = lines.get(at) {
                put(&mut text, line);
            }
        }
        for (_, hidden) in places.iter().filter(|(place, _)| *place > lines.len()) {
            put(&mut text, hidden);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line of it has ten tokens: nine words and the line break.
    fn book(n_lines: usize) -> String {
        "one two three four five six seven eight nine\n".repeat(n_lines)
    }

    fn n_tokens(text: &str) -> usize {
        Tokenizer::Cl100kBase.ends(text).len()
    }

    #[test]
    fn the_place_is_as_deep_as_asked_for() {
        assert_eq!(n_tokens(&book(7)), 70);
        let haystack = Haystack::new(&book(1000), 400);
        for (nth, before, after) in [(0, 0, 400), (1, 100, 300), (2, 200, 200), (4, 400, 0)] {
            let snippet = haystack.snippet(nth, 5);
            assert_eq!(snippet.n_tokens, 400);
            let found = (n_tokens(snippet.before), n_tokens(snippet.after));
            assert_eq!(found, (before, after), "{nth}");
        }
        // Depths that are not whole lines: the snippet begins inside a line of the book.
        let haystack = Haystack::new(&book(1000), 404);
        let snippet = haystack.snippet(1, 5);
        assert_eq!(n_tokens(snippet.before), 101);
        assert!(snippet.before.ends_with('\n') && snippet.after.starts_with("one"));
    }

    #[test]
    fn short_books_are_used_whole() {
        for (text, n) in [("", 0), ("one line", 2), (&book(3), 30)] {
            let haystack = Haystack::new(text, 1000);
            for nth in 0..26 {
                let snippet = haystack.snippet(nth, 26);
                assert_eq!(snippet.n_tokens, n, "{text:?} {nth}");
                assert_eq!([snippet.before, snippet.after].concat(), text);
            }
        }
        // Nothing to measure in.
        assert_eq!(Haystack::new("x", 0).snippet(0, 0).n_tokens, 0);
    }

    #[test]
    fn characters_stay_whole() {
        let haystack = Haystack::new(&"ȼɇ…東京\nÿ\n".repeat(300), 97);
        for nth in 0..26 {
            let snippet = haystack.snippet(nth, 26);
            assert!(snippet.n_tokens <= 97);
        }
    }

    #[test]
    fn needles_and_others_are_lines() {
        let snippet = Snippet {
            before: "a\nb\n",
            after: "c\nd",
            n_tokens: 0,
        };
        assert_eq!(snippet.hiding("N", &[], |_| 0), "a\nb\nN\nc\nd");
        let others = ["X".to_owned()];
        for (drawn, expected) in [
            (0, "X\na\nb\nN\nc\nd"),
            (1, "a\nX\nb\nN\nc\nd"),
            (2, "a\nb\nN\nc\nX\nd"),
            (3, "a\nb\nN\nc\nd\nX\n"),
        ] {
            assert_eq!(snippet.hiding("N", &others, |_| drawn), expected);
        }
        let empty = Snippet {
            before: "",
            after: "",
            n_tokens: 0,
        };
        assert_eq!(empty.hiding("N", &others, |_| 0), "N\nX");
        let cut = Snippet {
            before: "half a line",
            after: "",
            n_tokens: 0,
        };
        assert_eq!(cut.hiding("N", &[], |_| 0), "half a line\nN\n");
    }
}
