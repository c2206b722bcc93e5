//! [`KnownPart`]: counts texts that hold a text whose tokens are known. A request holds the context
//! of its example, and each arm of a run sends it: most of it was counted before.

use std::ops::Range;

use super::TokenCounter;

/// Of a shorter part it saves less than it takes to look for it.
const SHORTEST: usize = 512;
/// A text is looked for by so many of its first bytes: to prepare a search for all of them would
/// take as long as counting them.
const LOOKED_FOR: usize = 32;
/// A text of the same line again and again begins at each of them; it is not compared at all.
const MOST_PLACES: usize = 8;

/// A counter that knows the tokens of one text.
pub(crate) struct KnownPart<'a> {
    counter: &'a dyn TokenCounter,
    /// What is known: the text, its tokens, and the piece of it that has the same tokens
    /// wherever the text stands.
    known: Option<(&'a str, u64, Range<usize>)>,
}

impl<'a> KnownPart<'a> {
    /// A counter that knows how many tokens this text has by the same counter.
    pub(crate) fn new(counter: &'a dyn TokenCounter, known: Option<(&'a str, u64)>) -> Self {
        let known = known.filter(|(text, _)| text.len() >= SHORTEST && counter.parts_at_words());
        let known = known.and_then(|(text, tokens)| Some((text, tokens, between_words(text)?)));
        Self { counter, known }
    }

    /// The tokens of a text in which the known one stands.
    fn count_around(&self, text: &str) -> Option<u64> {
        let (known, tokens, piece) = self.known.as_ref()?;
        let at = place(text, known)?;
        let count = |text: &str| self.counter.try_count(text).ok();
        let ends = count(&known[..piece.start])? + count(&known[piece.end..])?;
        let piece_tokens = tokens.checked_sub(ends)?;
        let around = [&text[..at + piece.start], &text[at + piece.end..]];
        Some(piece_tokens + count(around[0])? + count(around[1])?)
    }
}

impl TokenCounter for KnownPart<'_> {
    fn name(&self) -> &str {
        self.counter.name()
    }

    fn count(&self, text: &str) -> u64 {
        self.count_around(text)
            .unwrap_or_else(|| self.counter.count(text))
    }

    fn try_count(&self, text: &str) -> Result<u64, String> {
        match self.count_around(text) {
            Some(tokens) => Ok(tokens),
            None => self.counter.try_count(text),
        }
    }

    fn parts_at_words(&self) -> bool {
        self.counter.parts_at_words()
    }
}

/// From the end of the first word to the end of the last one: no token reaches across either.
fn between_words(text: &str) -> Option<Range<usize>> {
    let is_end = |pair: &[u8]| pair[0].is_ascii_alphabetic() && pair[1] == b' ';
    let mut pairs = text.as_bytes().windows(2);
    let first = pairs.position(is_end)? + 1;
    let last = text.len() - 1 - text.as_bytes().windows(2).rev().position(is_end)?;
    (first < last).then_some(first..last)
}

/// Where one text stands in another.
fn place(text: &str, part: &str) -> Option<usize> {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let places = memchr::memmem::find_iter(text, &part[..LOOKED_FOR.min(part.len())]);
    let mut places = places.take(MOST_PLACES);
    places.find(|at| text[*at..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use proptest::prelude::*;

    use super::*;
    use crate::tokens::Tokenizer;

    /// Notes how many bytes were counted.
    #[derive(Default)]
    struct Noting(AtomicUsize);

    impl TokenCounter for Noting {
        fn name(&self) -> &str {
            "noting"
        }

        fn count(&self, text: &str) -> u64 {
            self.0.fetch_add(text.len(), Relaxed);
            Tokenizer::default().count(text)
        }

        fn parts_at_words(&self) -> bool {
            true
        }
    }

    #[test]
    fn what_is_known_is_not_counted_again() {
        let context = "Rivers and roads, 1984; it's what Zoë's élan (naïve) said…\n\n ".repeat(60);
        let tokens = Tokenizer::default().count(&context);
        let noting = Noting::default();
        let counter = KnownPart::new(&noting, Some((&context, tokens)));
        for text in [
            format!("user\nContext: {context}\n\nQuestion: which?\n"),
            format!("x{context}x"),
            context.clone(),
            format!("{context}{context}"),
        ] {
            let before = noting.0.swap(0, Relaxed);
            assert!(before < 4096, "{before} bytes were counted");
            assert_eq!(
                counter.try_count(&text),
                Ok(Tokenizer::default().count(&text))
            );
        }
        noting.0.store(0, Relaxed);
        counter.count(&format!("{context}, and a question"));
        assert!(noting.0.load(Relaxed) < 200);
        // One that begins alike in many places and never goes on alike.
        let lines = "the same line again and again, to the end\n".repeat(5000);
        let counter = KnownPart::new(&noting, Some((&lines, 1_000_000)));
        let cut = &lines[..lines.len() - 9];
        assert_eq!(place(cut, &lines), None);
        assert_eq!(counter.count(cut), Tokenizer::default().count(cut));
        let counter = KnownPart::new(&noting, Some((&context, tokens)));
        let other = format!("{}!", &context[..context.len() / 2]);
        assert_eq!(counter.count(&other), Tokenizer::default().count(&other));
    }

    #[test]
    fn texts_without_words_and_other_counters_are_counted_as_a_whole() {
        /// Counts bytes, and nothing is known of how.
        struct Bytes;

        impl TokenCounter for Bytes {
            fn name(&self) -> &str {
                "bytes"
            }

            fn count(&self, text: &str) -> u64 {
                text.len() as u64 / 2
            }
        }

        let words = "many words ".repeat(100);
        // A wrong number would show.
        let counter = KnownPart::new(&Bytes, Some((&words, 1_000_000)));
        assert_eq!(counter.count(&words), 550);
        let digits = "1234567890 ".repeat(100);
        for text in [&*digits, "short text", ""] {
            let counter = KnownPart::new(&Tokenizer::Cl100kBase, Some((text, 1_000_000)));
            let expected = Tokenizer::Cl100kBase.count(text);
            assert_eq!(counter.count(text), expected, "{text}");
        }
    }

    /// Pieces that tokens like to reach across.
    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            " ",
            "  ",
            "\n",
            "\r\n",
            "\n\n ",
            "\t",
            "\u{a0}",
            "\u{3000}",
            "'s",
            "'LL",
            "’s",
            "it's",
            "a",
            "Ab",
            "ABc",
            "é",
            "e\u{301}",
            "ß",
            "日本語",
            "🦀",
            "1",
            "1234",
            ".",
            "...",
            "//",
            "/\n",
            "(",
            " (",
            "-----",
            "word",
            " word",
            "<|endoftext|>",
            "\0",
        ])
    }

    fn text(most: usize) -> impl Strategy<Value = String> {
        prop::collection::vec(piece(), 0..most).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn whatever_stands_around_the_count_is_the_same(
            before in text(12),
            known in prop::collection::vec(piece(), 400..700),
            after in text(12),
        ) {
            let known = known.concat();
            let text = [before, known.clone(), after].concat();
            for tokenizer in Tokenizer::ALL {
                let counter = KnownPart::new(&tokenizer, Some((&known, tokenizer.count(&known))));
                prop_assert!(counter.known.is_none() || counter.count_around(&text).is_some());
                prop_assert_eq!(counter.count(&text), tokenizer.count(&text), "{}", tokenizer.name());
            }
        }
    }
}
