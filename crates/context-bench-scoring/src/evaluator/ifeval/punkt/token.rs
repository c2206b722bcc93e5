//! Tokens of Punkt: words with their periods, and what they decide.

use std::borrow::Cow;

use super::super::format::is_digit;
use super::parameters::Parameters;
use crate::text::words::{is_space, is_word_char, trim};

/// Characters that cannot stand inside a word.
pub(super) fn is_non_word(c: char) -> bool {
    matches!(
        c,
        ')' | '"' | ';' | '}' | ']' | '*' | ':' | '@' | '\'' | '(' | '{' | '[' | '?' | '!'
    )
}

/// Characters that cannot start a word.
fn is_no_start(c: char) -> bool {
    matches!(
        c,
        '(' | '"'
            | '`'
            | '{'
            | '['
            | ':'
            | ';'
            | '&'
            | '#'
            | '*'
            | '@'
            | ')'
            | '}'
            | ']'
            | '-'
            | ','
    )
}

/// One token with what its own spelling says about it.
pub(super) struct Token<'a> {
    text: &'a str,
    /// In lower case; `##number##` for numbers.
    kind: Cow<'static, str>,
    is_break: bool,
    is_abbreviation: bool,
    is_ellipsis: bool,
}

/// Whether a token starts a sentence, by how it is spelled.
#[derive(PartialEq)]
enum Starter {
    Yes,
    No,
    Unknown,
}

impl<'a> Token<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            kind: if is_number(text) {
                Cow::Borrowed("##number##")
            } else {
                Cow::Owned(text.to_lowercase())
            },
            is_break: false,
            is_abbreviation: false,
            is_ellipsis: false,
        }
    }

    /// First pass: what the token alone says.
    pub(super) fn classify(&mut self, parameters: &Parameters) {
        if matches!(self.text, "." | "?" | "!") {
            self.is_break = true;
        } else if self.text.len() > 1 && self.text.bytes().all(|byte| byte == b'.') {
            self.is_ellipsis = true;
        } else if let Some(word) = self.text.strip_suffix('.')
            && !word.ends_with('.')
        {
            let word = word.to_lowercase();
            let last = word.rsplit('-').next().unwrap_or(&word);
            self.is_abbreviation =
                parameters.is_abbreviation(&word) || parameters.is_abbreviation(last);
            self.is_break = !self.is_abbreviation;
        }
    }

    /// Second pass: whether the sentence ends here, given the token that follows.
    pub(super) fn breaks_before(&self, next: &Token<'_>, parameters: &Parameters) -> bool {
        if !self.text.ends_with('.') {
            return self.is_break;
        }
        let kind = without_period(&self.kind);
        let next_kind = next.kind_without_break();
        if parameters.is_collocation(kind, next_kind) {
            return false;
        }
        let is_initial = self.is_initial();
        if (self.is_abbreviation || self.is_ellipsis) && !is_initial {
            let starter = next.starter(parameters) == Starter::Yes;
            if starter || next.first_upper() && parameters.is_starter(next_kind) {
                return true;
            }
        }
        if is_initial || kind == "##number##" {
            let starter = next.starter(parameters);
            let never_lower =
                || is_initial && next.first_upper() && !parameters.context(next_kind).lower();
            if starter == Starter::No || starter == Starter::Unknown && never_lower() {
                return false;
            }
        }
        self.is_break
    }

    /// The orthographic heuristic.
    fn starter(&self, parameters: &Parameters) -> Starter {
        if matches!(self.text, ";" | ":" | "," | "." | "!" | "?") {
            return Starter::No;
        }
        let context = parameters.context(self.kind_without_break());
        let first_lower = self.first(char::is_lowercase);
        if self.first_upper() && context.lower() && !context.upper_inside() {
            Starter::Yes
        } else if first_lower && (context.upper() || !context.lower_at_start()) {
            Starter::No
        } else {
            Starter::Unknown
        }
    }

    fn kind_without_break(&self) -> &str {
        if self.is_break {
            without_period(&self.kind)
        } else {
            &self.kind
        }
    }

    fn first(&self, test: fn(char) -> bool) -> bool {
        self.text.chars().next().is_some_and(test)
    }

    fn first_upper(&self) -> bool {
        self.first(char::is_uppercase)
    }

    /// One letter and a period.
    fn is_initial(&self) -> bool {
        let mut chars = self.text.chars();
        let letter = chars
            .next()
            .is_some_and(|c| is_word_char(c) && !is_digit(c));
        letter && chars.as_str() == "."
    }
}

fn without_period(kind: &str) -> &str {
    match kind.strip_suffix('.') {
        Some(word) if !word.is_empty() => word,
        _ => kind,
    }
}

/// `-?[.,]?\d[\d,.-]*`
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let text = text.strip_prefix(['.', ',']).unwrap_or(text);
    text.starts_with(is_digit)
        && text
            .chars()
            .all(|c| is_digit(c) || matches!(c, ',' | '.' | '-'))
}

/// The tokens of a text, line by line.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for line in text.split('\n').filter(|line| !trim(line).is_empty()) {
        let mut rest = line.trim_start_matches(is_space);
        while let Some(first) = rest.chars().next() {
            let length = multi_char(rest).unwrap_or_else(|| {
                if is_no_start(first) {
                    first.len_utf8()
                } else {
                    word_length(rest, first)
                }
            });
            let (token, tail) = rest.split_at(length);
            found.push(Token::new(token));
            rest = tail.trim_start_matches(is_space);
        }
    }
    found
}

/// Where the word at the start of `text` ends.
fn word_length(text: &str, first: char) -> usize {
    let ends = |rest: &str| {
        rest.chars()
            .next()
            .is_none_or(|c| is_space(c) || is_non_word(c))
            || multi_char(rest).is_some()
    };
    let inner = text
        .char_indices()
        .skip_while(|&(at, _)| at < first.len_utf8());
    for (at, c) in inner {
        let rest = &text[at..];
        if ends(rest) || c == ',' && ends(&rest[1..]) {
            return at;
        }
    }
    text.len()
}

/// Dashes, dots, and dots with white space in between, as one token.
fn multi_char(text: &str) -> Option<usize> {
    let run = |mark: char| text.len() - text.trim_start_matches(mark).len();
    match text.bytes().next()? {
        b'-' => Some(run('-')).filter(|&length| length > 1),
        b'.' => Some(run('.'))
            .filter(|&length| length > 1)
            .or_else(|| spaced_dots(text)),
        _ => None,
    }
}

/// `(?:\.\s){2,}\.`
fn spaced_dots(text: &str) -> Option<usize> {
    let mut rest = text;
    let mut pairs = 0;
    let mut last_dot = 0;
    while let Some(after) = rest.strip_prefix('.') {
        if pairs >= 2 {
            last_dot = text.len() - after.len();
        }
        let Some(tail) = after.strip_prefix(is_space) else {
            break;
        };
        pairs += 1;
        rest = tail;
    }
    (last_dot > 0).then_some(last_dot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_periods() {
        let texts = |text| -> Vec<&str> { tokens(text).iter().map(|token| token.text).collect() };
        assert_eq!(texts("U.S. (a), b"), ["U.S.", "(", "a", ")", ",", "b"]);
        assert_eq!(texts("a--b c... d"), ["a", "--", "b", "c", "...", "d"]);
        assert_eq!(texts(". . . x 1,000, y"), [". . .", "x", "1,000", ",", "y"]);
        assert_eq!(texts("it's é\n\n-ok"), ["it", "'s", "é", "-", "ok"]);
    }

    #[test]
    fn numbers() {
        for text in ["1", "-1.5", ".5", "1,000.", "1-2", "3."] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "-", "a1", "1a", "..5"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
