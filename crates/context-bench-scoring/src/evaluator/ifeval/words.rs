//! Words as NLTK's `word_tokenize` splits them, for counting words in capitals.
//!
//! A chain of substitutions from the Penn Treebank tokenizer, in the order and
//! with the patterns of NLTK 3.8 and 3.9: each puts spaces around what it
//! finds, and the words are what stands between spaces in the end.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::punkt;
use super::shape::is_upper;
use crate::text::words::{is_word_char, split_whitespace};

/// Patterns and what replaces them.
type Rule = (&'static str, &'static str);

const STARTING_QUOTES: &[Rule] = &[
    ("([«“‘„]|[`]+)", " ${1} "),
    ("^\"", "``"),
    ("(``)", " ${1} "),
    (r#"([ (\[{<])("|'{2})"#, "${1} `` "),
];

const PUNCTUATION: &[Rule] = &[
    (r#"([^.])(\.)([\])}>"'»”’ ]*)\s*$"#, "${1} ${2} ${3} "),
    (r"([:,])([^\d])", " ${1} ${2}"),
    ("([:,])$", " ${1} "),
    (r"\.{2,}", " ${0} "),
    ("[;@#$%&]", " ${0} "),
    (r#"([^.])(\.)([\])}>"']*)\s*$"#, "${1} ${2}${3} "),
    ("[?!]", " ${0} "),
    ("([^'])' ", "${1} ' "),
    ("[*]", " ${0} "),
    (r"[\]\[(){}<>]", " ${0} "),
    ("--", " -- "),
];

const ENDING_QUOTES: &[Rule] = &[
    ("([»”’])", " ${1} "),
    ("''", " '' "),
    ("\"", " '' "),
    (r"\s+", " "),
    ("([^' ])('[sS]|'[mM]|'[dD]|') ", "${1} ${2} "),
    ("([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", "${1} ${2} "),
    (r"(?i)\b(can)(not)\b", " ${1} ${2} "),
    (r"(?i)\b(d)('ye)\b", " ${1} ${2} "),
    (r"(?i)\b(gim)(me)\b", " ${1} ${2} "),
    (r"(?i)\b(gon)(na)\b", " ${1} ${2} "),
    (r"(?i)\b(got)(ta)\b", " ${1} ${2} "),
    (r"(?i)\b(lem)(me)\b", " ${1} ${2} "),
    (r"(?i)\b(more)('n)\b", " ${1} ${2} "),
    (r"(?i)\b(wan)(na)(\s)", " ${1} ${2} ${3}"),
    (r"(?i) ('t)(is)\b", " ${1} ${2} "),
    (r"(?i) ('t)(was)\b", " ${1} ${2} "),
];

struct Tokenizer {
    starting_quotes: Vec<(Regex, &'static str)>,
    punctuation: Vec<(Regex, &'static str)>,
    ending_quotes: Vec<(Regex, &'static str)>,
}

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
    // All patterns are constants; a test shows that each of them compiles.
    let compile = |rules: &[Rule]| {
        let compiled = |&(pattern, by)| Some((Regex::new(pattern).ok()?, by));
        rules.iter().filter_map(compiled).collect()
    };
    Tokenizer {
        starting_quotes: compile(STARTING_QUOTES),
        punctuation: compile(PUNCTUATION),
        ending_quotes: compile(ENDING_QUOTES),
    }
});

fn apply(text: &mut String, rules: &[(Regex, &'static str)]) {
    for (pattern, by) in rules {
        if let Cow::Owned(changed) = pattern.replace_all(text, *by) {
            *text = changed;
        }
    }
}

/// Puts a space behind an opening quote before a single letter: `'a` but not `'s`.
fn split_opening_quotes(text: &str) -> String {
    let mut split = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        split.push(c);
        if c != '\'' {
            continue;
        }
        let mut ahead = chars.clone();
        let Some(letter) = ahead.next() else {
            continue;
        };
        let alone = !ahead.next().is_some_and(is_word_char);
        let clitic = matches!(letter.to_ascii_lowercase(), 'm' | 't' | 's' | 'd' | 'n');
        if is_word_char(letter) && alone && !clitic {
            split.push(' ');
        }
    }
    split
}

/// Calls `visit` with each word of a text.
fn for_each_word(text: &str, mut visit: impl FnMut(&str)) {
    for sentence in punkt::sentences(text) {
        let mut text = sentence.to_owned();
        apply(&mut text, &TOKENIZER.starting_quotes);
        text = split_opening_quotes(&text);
        apply(&mut text, &TOKENIZER.punctuation);
        text = format!(" {text} ");
        apply(&mut text, &TOKENIZER.ending_quotes);
        split_whitespace(&text).for_each(&mut visit);
    }
}

/// How many words are in capitals only.
pub(super) fn capital_words(text: &str) -> usize {
    let mut count = 0;
    for_each_word(text, |word| count += usize::from(is_upper(word)));
    count
}

/// How many words are in capitals only, and how many there are.
#[cfg(test)]
pub(super) fn count(text: &str) -> (usize, usize) {
    let mut all = 0;
    for_each_word(text, |_| all += 1);
    (capital_words(text), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for (pattern, _) in [STARTING_QUOTES, PUNCTUATION, ENDING_QUOTES].concat() {
            assert!(Regex::new(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn words_as_nltk_gives_them() {
        for (text, expected) in [
            (
                "Good muffins cost $3.88 (roughly 3,36 euros)\nin New York.",
                "Good|muffins|cost|$|3.88|(|roughly|3,36|euros|)|in|New|York|.",
            ),
            ("She said \"CAN'T\".", "She|said|``|CA|N'T|''|."),
            ("I cannot, 'tis A.I. B--C", "I|can|not|,|'t|is|A.I|.|B|--|C"),
            ("\"It's 5:30\"", "``|It|'s|5:30|''"),
            ("'a WELL-KNOWN **TIP**!", "'|a|WELL-KNOWN|*|*|TIP|*|*|!"),
        ] {
            let mut words = Vec::new();
            for_each_word(text, |word| words.push(word.to_owned()));
            assert_eq!(words.join("|"), expected, "{text}");
        }
    }
}
