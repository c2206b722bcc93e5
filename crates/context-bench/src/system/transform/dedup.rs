//! Dropping what the context says a second time, word for word.
//!
//! Repeats are found by their words alone: case, white space and punctuation do
//! not count. Nothing is reworded and the order stays; near repeats stay too.

use std::collections::HashSet;

use serde_json::Value;

use super::Transform;
use crate::model::Identity;
use crate::text::sentence::{paragraphs, sentences};
use crate::text::terms::word_spans;
use crate::text::words::trim;

/// Shorter units say different things in different places ("Yes.", "Total: 5").
const MIN_WORDS: usize = 4;
/// Dropping can bring equal units together, so it is repeated until nothing
/// changes; real text needs two passes, and the bound keeps odd text fast.
const MAX_PASSES: usize = 16;

/// Drops repeated paragraphs and sentences, keeping the first of each.
#[derive(Debug, Clone, Copy, Default)]
pub struct Dedup;

impl Transform for Dedup {
    fn name(&self) -> &str {
        "dedup"
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(self.name(), 1, Value::Null))
    }

    fn transform(&self, context: &str, _question: &str) -> String {
        let mut text = context.to_owned();
        for _ in 0..MAX_PASSES {
            match drop_repeats(&text) {
                Some(shorter) => text = shorter,
                None => break,
            }
        }
        text
    }
}

/// The text without repeats, or `None` when there are none.
fn drop_repeats(text: &str) -> Option<String> {
    let mut seen_paragraphs = HashSet::new();
    let mut seen_sentences = HashSet::new();
    let mut kept = String::with_capacity(text.len());
    let mut dropped = false;
    for paragraph in paragraphs(text) {
        if is_repeat(paragraph, &mut seen_paragraphs) {
            dropped = true;
            continue;
        }
        let start = kept.len();
        let mut lost_end = false;
        for sentence in sentences(paragraph) {
            lost_end = is_repeat(sentence.text, &mut seen_sentences);
            if lost_end {
                dropped = true;
            } else {
                kept.push_str(sentence.text);
            }
        }
        if lost_end && kept.len() > start {
            // The last sentence took the paragraph break with it.
            let body = paragraph.trim_end();
            let end = start + kept[start..].trim_end().len();
            kept.truncate(end);
            kept.push_str(&paragraph[body.len()..]);
        }
    }
    if dropped && kept.ends_with(char::is_whitespace) && !text.ends_with(char::is_whitespace) {
        kept.truncate(kept.trim_end().len());
    }
    dropped.then_some(kept)
}

/// Whether the unit's words were seen before; remembers them otherwise.
fn is_repeat(unit: &str, seen: &mut HashSet<String>) -> bool {
    let unit = trim(unit);
    let mut words = String::with_capacity(unit.len());
    let mut n_words = 0;
    for (start, end) in word_spans(unit) {
        words.extend(unit[start..end].chars().flat_map(char::to_lowercase));
        words.push(' ');
        n_words += 1;
    }
    n_words >= MIN_WORDS && !seen.insert(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_first_of_equal_units_stays() {
        for (text, expected) in [
            ("", ""),
            (
                "The lamp is lit. It rains now here. the LAMP, is lit!",
                "The lamp is lit. It rains now here.",
            ),
            (
                "Notice: do not smoke here. Thanks.\n\nBody.\n\nNotice: do not smoke here. Thanks.",
                "Notice: do not smoke here. Thanks.\n\nBody.",
            ),
            (
                "One two three four.\n\nNew words. One two three four.\n\nEnd.",
                "One two three four.\n\nNew words.\n\nEnd.",
            ),
            ("Yes. No. Yes. No.", "Yes. No. Yes. No."),
            ("a b c d\na b c d\ne f g h\n", "a b c d\ne f g h\n"),
        ] {
            assert_eq!(Dedup.transform(text, ""), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_second_time_changes_nothing(
            text in "((A|b|C d|e f g|The lamp is lit|Dr|J)[.!?]?[ \n]{1,2}|\\PC){0,40}",
        ) {
            let once = Dedup.transform(&text, "");
            prop_assert_eq!(Dedup.transform(&once, ""), once);
        }
    }
}
