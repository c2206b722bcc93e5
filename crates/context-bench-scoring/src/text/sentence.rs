//! Paragraphs and sentences as slices of the text they come from.
//!
//! Slices keep their trailing white space, so that joining all of them gives the
//! text back byte for byte. The rules are for English prose with some care for
//! other scripts; a run without any stop stays one sentence, however long.
//! Nothing here judges content: ranking and dropping is the caller's business.

use super::words::{is_space, is_word_char};

/// A sentence, list item, heading or line, with its trailing white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sentence<'a> {
    /// The slice of the text.
    pub text: &'a str,
    /// Where the slice starts in the text, in bytes.
    pub start: usize,
    /// Which paragraph it belongs to, from 0.
    pub paragraph: usize,
}

impl<'a> Sentence<'a> {
    /// The sentence without white space at both ends; empty for blank text.
    pub fn trimmed(&self) -> &'a str {
        super::words::trim(self.text)
    }
}

/// The sentences of a text, in order. Joined, they give the text back.
pub fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut found = Vec::new();
    let mut offset = 0;
    for (index, paragraph) in paragraphs(text).enumerate() {
        let mut start = 0;
        for end in boundaries(paragraph) {
            found.push(Sentence {
                text: &paragraph[start..end],
                start: offset + start,
                paragraph: index,
            });
            start = end;
        }
        offset += paragraph.len();
    }
    found
}

/// The paragraphs of a text, each with the blank lines that follow it. Joined,
/// they give the text back.
pub fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (paragraph, tail) = rest.split_at(paragraph_end(rest));
        rest = tail;
        Some(paragraph)
    })
}

/// Where the first paragraph ends: after the white space that holds its second line break.
fn paragraph_end(text: &str) -> usize {
    let mut seen_word = false;
    let mut line_breaks = 0;
    for (at, c) in text.char_indices() {
        if !is_space(c) {
            if seen_word && line_breaks > 1 {
                return at;
            }
            seen_word = true;
            line_breaks = 0;
        } else if c == '\n' || c == '\u{2029}' {
            line_breaks += if c == '\n' { 1 } else { 2 };
        }
    }
    text.len()
}

/// Lines that were broken only to keep them short have at least so many bytes.
const FULL_LINE: usize = 40;

/// The ends of all sentences of one paragraph; the last one is its length.
fn boundaries(paragraph: &str) -> Vec<usize> {
    let wrapped = is_wrapped(paragraph);
    let mut ends = Vec::new();
    let mut seen_word = false;
    let mut at = 0;
    while let Some(c) = paragraph[at..].chars().next() {
        let next = at + c.len_utf8();
        let end = match c {
            '\n' if seen_word => line_end(paragraph, next, wrapped),
            _ if is_cjk_stop(c) => Some(skip(paragraph, next, |c| {
                is_cjk_stop(c) || is_closer(c) || is_space(c)
            })),
            _ if is_stop(c) => stop_end(paragraph, at),
            _ => None,
        };
        seen_word |= !is_space(c);
        match end {
            Some(end) if end > at => {
                ends.push(end);
                seen_word = false;
                at = end;
            }
            // Past the whole run, so that a row of dots is looked at once.
            _ if is_stop(c) => at = skip(paragraph, next, is_stop),
            _ => at = next,
        }
    }
    if ends.last() != Some(&paragraph.len()) {
        ends.push(paragraph.len());
    }
    ends
}

/// Whether line breaks inside the paragraph are only there to keep lines short,
/// which shows in most lines starting with a small letter after a fairly full one.
fn is_wrapped(paragraph: &str) -> bool {
    let (mut going_on, mut others) = (0_usize, 0_usize);
    let mut lines = paragraph.trim_end().lines();
    let mut before = lines.next().unwrap_or_default();
    for line in lines {
        let small = line.trim_start().starts_with(char::is_lowercase);
        if small && before.len() >= FULL_LINE {
            going_on += 1;
        } else {
            others += 1;
        }
        before = line;
    }
    going_on > others
}

/// Where a sentence ends that reaches a line break, if it ends there at all.
fn line_end(paragraph: &str, after_break: usize, wrapped: bool) -> Option<usize> {
    let next = skip(paragraph, after_break, is_space);
    let line = &paragraph[next..];
    (!wrapped || line.is_empty() || starts_item(line)).then_some(next)
}

/// Whether a line starts with a list mark: a bullet, or a number with a stop or bracket.
fn starts_item(line: &str) -> bool {
    if line.starts_with(['•', '‣', '◦', '▪', '#', '|', '>']) {
        return true;
    }
    if let Some(rest) = line.strip_prefix(['-', '*', '+', '–', '—']) {
        return rest.starts_with(is_space);
    }
    let digits = line.bytes().take(4).take_while(u8::is_ascii_digit).count();
    let mut rest = line[digits..].chars();
    (1..=3).contains(&digits)
        && matches!(rest.next(), Some('.' | ')'))
        && rest.next().is_some_and(is_space)
}

/// Where the sentence ends whose full stop, mark or ellipsis starts at `at`, if it ends there.
fn stop_end(paragraph: &str, at: usize) -> Option<usize> {
    let after_stops = skip(paragraph, at, is_stop);
    let after_closers = skip(paragraph, after_stops, is_closer);
    let end = skip(paragraph, after_closers, is_space);
    if end == after_closers && end < paragraph.len() {
        // `3.5`, `example.com`, `e.g.` seen from its first stop.
        return None;
    }
    let next = &paragraph[end..];
    let opened = next.trim_start_matches(is_opener);
    let goes_on_small = opened.chars().next().is_some_and(char::is_lowercase);
    let plain_stop = after_closers - at == 1 && paragraph[at..].starts_with('.');
    if !plain_stop {
        // `"Stop!" he said`, `well... maybe`
        return (!goes_on_small).then_some(end);
    }
    let before = last_word(&paragraph[..at]);
    let goes_on = if goes_on_small {
        may_be_shortened(before)
    } else {
        !opened.is_empty() && is_abbreviation(before, opened)
    };
    (!goes_on).then_some(end)
}

/// The characters before a stop back to white space or an opening bracket.
fn last_word(text: &str) -> &str {
    // No abbreviation is longer, and a bound keeps the scan linear on text
    // without white space.
    let start = text
        .char_indices()
        .rev()
        .take(16)
        .take_while(|&(_, c)| !is_space(c) && !is_opener(c))
        .last()
        .map_or(text.len(), |(at, _)| at);
    &text[start..]
}

/// Titles and the like, after which a sentence goes on even with a capital.
const BEFORE_NAMES: [&str; 36] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "rev", "fr", "sr", "jr", "gen", "col", "maj", "capt",
    "cpt", "lt", "sgt", "cmdr", "adm", "gov", "sen", "rep", "pres", "hon", "messrs", "mme", "mlle",
    "mt", "ft", "vs", "v", "cf", "e.g", "i.e", "viz", "approx",
];

/// Abbreviations only in front of a number: `No. 5`, `p. 12`, `Fig. 3`.
const BEFORE_NUMBERS: [&str; 19] = [
    "no", "nos", "nr", "p", "pp", "fig", "figs", "vol", "ch", "sec", "art", "eq", "ca", "c", "op",
    "ed", "ref", "tab", "cap",
];

/// Words that begin sentences far more often than they follow an abbreviation.
const STARTERS: [&str; 40] = [
    "the", "a", "an", "it", "he", "she", "they", "we", "i", "you", "this", "that", "these",
    "those", "in", "on", "at", "by", "for", "from", "to", "as", "after", "before", "when", "while",
    "if", "but", "and", "however", "his", "her", "its", "their", "our", "my", "there", "what",
    "who", "why",
];

/// Shortened words of three letters and more that small letters follow.
const BEFORE_SMALL: [&str; 24] = [
    "etc", "inc", "ltd", "corp", "dept", "est", "max", "min", "avg", "misc", "incl", "excl", "esp",
    "ext", "jan", "feb", "apr", "aug", "sept", "oct", "nov", "dec", "abbr", "resp",
];

/// Whether a word with a stop can stand in front of a small letter inside a
/// sentence. Casual writers start sentences small, so plain words end them.
fn may_be_shortened(before: &str) -> bool {
    let lower = before.to_lowercase();
    let lower = lower.as_str();
    before.chars().count() < 3
        || !before.chars().all(char::is_alphabetic)
        || [&BEFORE_NAMES[..], &BEFORE_NUMBERS, &BEFORE_SMALL]
            .iter()
            .any(|list| list.contains(&lower))
}

fn is_abbreviation(before: &str, next: &str) -> bool {
    let lower = before.to_lowercase();
    let lower = lower.as_str();
    if BEFORE_NAMES.contains(&lower) {
        return true;
    }
    if next.starts_with(|c: char| c.is_ascii_digit()) && BEFORE_NUMBERS.contains(&lower) {
        return true;
    }
    // Initials (`J. Smith`) and acronyms (`the U.S. Army`) look alike: single
    // capitals, each with a stop. Only a word that begins sentences ends them.
    let initials = before
        .split('.')
        .all(|part| part.chars().count() == 1 && part.chars().all(char::is_uppercase));
    if !initials || before == "I" {
        return false;
    }
    let word_end = next.find(|c| !is_word_char(c)).unwrap_or(next.len());
    // A capital is at most three bytes longer in lower case; long words are not starters.
    let word = &next[..word_end];
    !(word.len() < 16 && STARTERS.contains(&word.to_lowercase().as_str()))
}

fn skip(text: &str, from: usize, mut matches: impl FnMut(char) -> bool) -> usize {
    text[from..]
        .find(|c| !matches(c))
        .map_or(text.len(), |length| from + length)
}

fn is_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '‽' | '؟' | '۔' | '।' | '॥')
}

/// Stops of Chinese and Japanese, which no space follows.
fn is_cjk_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡')
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '}' | '」' | '』' | '）' | '】' | '》'
    )
}

fn is_opener(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '“' | '‘' | '«' | '(' | '[' | '{' | '「' | '『' | '（' | '【' | '《'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).iter().map(Sentence::trimmed).collect()
    }

    #[test]
    fn sentences_end_where_a_reader_would_end_them() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("no stop at all", &["no stop at all"]),
            ("One. Two! Three?", &["One.", "Two!", "Three?"]),
            ("Mr. Ames met Dr. Lee.", &["Mr. Ames met Dr. Lee."]),
            ("It is 3.5 km. Go.", &["It is 3.5 km.", "Go."]),
            (
                "J. R. Smith won. He left.",
                &["J. R. Smith won.", "He left."],
            ),
            ("In the U.S. Army. Yes.", &["In the U.S. Army.", "Yes."]),
            (
                "He left the U.S. The war began.",
                &["He left the U.S.", "The war began."],
            ),
            (
                "See No. 5 there. No. Never.",
                &["See No. 5 there.", "No.", "Never."],
            ),
            (
                "Fruit, e.g. Apples, etc. are good.",
                &["Fruit, e.g. Apples, etc. are good."],
            ),
            (
                "\"Stop!\" he said. (Really.) So",
                &["\"Stop!\" he said.", "(Really.)", "So"],
            ),
            ("He said “no.” Then left.", &["He said “no.”", "Then left."]),
            (
                "Well... maybe. Well... Maybe",
                &["Well... maybe.", "Well...", "Maybe"],
            ),
            (
                "你好。再见！「走。」好",
                &["你好。", "再见！", "「走。」", "好"],
            ),
            ("Title\n\nBody goes on.", &["Title", "Body goes on."]),
            ("- one\n- two\n3. three", &["- one", "- two", "3. three"]),
            (
                "a line that was broken only to keep it short\nby someone and that goes on once again here\nuntil here. End.",
                &[
                    "a line that was broken only to keep it short\nby someone and that goes on once again here\nuntil here.",
                    "End.",
                ],
            ),
            ("Ann: hi\nBob: hello", &["Ann: hi", "Bob: hello"]),
            (
                "all is small. and goes on, etc. and so on",
                &["all is small.", "and goes on, etc. and so on"],
            ),
            ("see example.com. Now", &["see example.com.", "Now"]),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn paragraphs_are_counted() {
        let found = sentences("A title\n\n  \nOne. Two.\n\nThree.");
        let numbers: Vec<usize> = found.iter().map(|sentence| sentence.paragraph).collect();
        assert_eq!(numbers, [0, 1, 1, 2]);
    }

    #[test]
    fn a_long_line_without_stops_is_one_sentence() {
        let text = "word ".repeat(200_000);
        assert_eq!(sentences(&text).len(), 1);
        // Rows that would show a scan that starts over at every character.
        for odd in [".a", ".", "\n", "a\nb\n\n", "(", ".)", ". (", "a.\""] {
            sentences(&odd.repeat(200_000));
        }
        sentences(&format!("a\nb\nc{}", "\n".repeat(500_000)));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "(\\PC|[ .!?\n\"A-Ca-c1\u{3002}\u{300d}\u{1f}]){0,200}") {
            let found = sentences(&text);
            let joined: String = found.iter().map(|sentence| sentence.text).collect();
            prop_assert_eq!(&joined, &text);
            for sentence in found {
                prop_assert!(text[sentence.start..].starts_with(sentence.text));
                prop_assert!(!sentence.text.is_empty());
            }
            prop_assert_eq!(paragraphs(&text).collect::<String>(), text);
        }
    }
}
