//! Words of a response, and what stands between them.

use crate::text::words::{is_space, is_word_char};

/// A word and what stands between it and its neighbours.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) lower: String,
    /// A sentence ended before it.
    pub(super) stop_before: bool,
    pub(super) comma_before: bool,
    /// Markup or a dash stands before it: `**Neutral** The text …`.
    pub(super) mark_before: bool,
    /// A question ended before it.
    pub(super) asked_before: bool,
    pub(super) colon_after: bool,
}

/// What stands before a word.
#[derive(Debug, Default, Clone, Copy)]
struct Signs {
    stop: bool,
    asked: bool,
    comma: bool,
    mark: bool,
    slash: bool,
}

impl Word {
    fn new(lower: String, signs: Signs) -> Self {
        Self {
            lower,
            stop_before: signs.stop,
            comma_before: signs.comma,
            mark_before: signs.mark,
            asked_before: signs.asked,
            colon_after: false,
        }
    }
}

/// The words of a text; a slash between two is an `or`.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut signs = Signs::default();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if !is_word_char(c) || c == '_' {
            match c {
                '?' | '？' => (signs.stop, signs.asked) = (true, true),
                '.' | '!' | ';' | '\n' | '\r' | '。' => signs.stop = true,
                ',' | '(' | ')' | '—' | '–' => signs.comma = true,
                // Emphasis that ends before a word, and a dash between words.
                '*' | '-' => signs.mark |= rest[1..].starts_with(' '),
                '/' => signs.slash = true,
                ':' | '：' => {
                    if let Some(last) = words.last_mut() {
                        last.colon_after = true;
                    }
                    signs.comma = true;
                }
                _ => {}
            }
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let end = word_end(rest);
        let (word, tail) = rest.split_at(end);
        rest = tail;
        let lower = word.to_lowercase().replace('’', "'");
        let between = signs.slash && !signs.stop && !signs.comma;
        if between && !words.is_empty() {
            words.push(Word::new("or".into(), std::mem::take(&mut signs)));
        }
        words.push(Word::new(lower, std::mem::take(&mut signs)));
    }
    words
}

/// Where a word ends; apostrophes inside belong to it, underscores separate.
fn word_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let inner = matches!(c, '\'' | '’')
            && chars
                .peek()
                .is_some_and(|(_, next)| is_word_char(*next) && !is_space(*next));
        if !(is_word_char(c) && c != '_' || inner) {
            return at;
        }
    }
    text.len()
}

/// Word numbers by sentence.
pub(super) fn sentences(words: &[Word]) -> Vec<Vec<usize>> {
    let mut sentences: Vec<Vec<usize>> = Vec::new();
    for (i, word) in words.iter().enumerate() {
        match sentences.last_mut() {
            Some(last) if !word.stop_before => last.push(i),
            _ => sentences.push(vec![i]),
        }
    }
    sentences
}
