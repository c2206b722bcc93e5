//! `change_case:*`, `startend:*`, `combination:*` and `punctuation:*`.

use crate::text::words::trim;

/// Python's `str.isupper()`: a cased letter, and none that is not upper case.
pub(super) fn is_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase) && !text.chars().any(|c| c.is_lowercase() || is_title(c))
}

/// Python's `str.islower()`.
pub(super) fn is_lower(text: &str) -> bool {
    text.chars().any(char::is_lowercase) && !text.chars().any(|c| c.is_uppercase() || is_title(c))
}

/// Title-case letters such as `ǅ`, which are neither.
fn is_title(c: char) -> bool {
    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
    !c.is_ascii() && c.general_category() == GeneralCategory::TitlecaseLetter
}

/// Whether the whole response stands in double quotation marks.
pub(super) fn is_quoted(text: &str) -> bool {
    let text = trim(text);
    text.len() > 1 && text.starts_with('"') && text.ends_with('"')
}

/// Whether the response ends with the phrase, in any case and perhaps quoted.
pub(super) fn ends_with(phrase: &str, text: &str) -> bool {
    let text = trim(text).trim_matches('"').to_lowercase();
    text.ends_with(&trim(phrase).to_lowercase())
}

/// Whether the response begins by repeating the prompt.
pub(super) fn repeats(prompt: &str, text: &str) -> bool {
    let text = trim(text).to_lowercase();
    text.starts_with(&trim(prompt).to_lowercase())
}

/// Two different responses with six asterisks between them.
pub(super) fn has_two_responses(text: &str) -> bool {
    let pieces: Vec<&str> = text.split("******").map(trim).collect();
    let inner = pieces.get(1..pieces.len() - 1).unwrap_or_default();
    if inner.iter().any(|piece| piece.is_empty()) {
        return false;
    }
    let filled: Vec<&&str> = pieces.iter().filter(|piece| !piece.is_empty()).collect();
    matches!(filled[..], [first, second] if first != second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_pythons() {
        assert!(is_upper("ABC 1!") && is_upper("Ⅷ") && is_upper("ÀÉ"));
        assert!(!is_upper("123") && !is_upper("ǅ") && !is_upper("Aß") && !is_upper(""));
        assert!(is_lower("a 1") && !is_lower("1") && !is_lower("aB"));
    }

    #[test]
    fn ends_and_beginnings() {
        assert!(is_quoted(" \"a\"\n") && !is_quoted("\"") && !is_quoted("\"a"));
        assert!(ends_with("Any More?", "yes. \"any more?\" "));
        assert!(repeats("Do it", " DO IT now") && !repeats("Do it", "First: Do it"));
    }

    #[test]
    fn two_responses_differ() {
        assert!(has_two_responses("one\n******\ntwo"));
        assert!(has_two_responses("******one******two******"));
        for text in ["a******a", "a", "a******b******c", "a************b", ""] {
            assert!(!has_two_responses(text), "{text:?}");
        }
    }
}
