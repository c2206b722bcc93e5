//! Numbers in words and figures, and how far they reach.

use super::token::Token;

/// Whether the token is a number by itself: figures, or a number word.
pub(super) fn is_number(token: &Token) -> bool {
    token.digits && is_figure(&token.lower) || is_number_word(&token.lower)
}

/// Figures with separators, signs or a percent sign; no letters (`3rd`, `mp3`).
fn is_figure(word: &str) -> bool {
    word.contains(|c: char| c.is_numeric()) && !word.contains(char::is_alphabetic)
}

/// `seven`, `twenty-three`, `hundred`; not `one`-like pronouns, which callers weigh.
pub(super) fn is_number_word(word: &str) -> bool {
    word.split('-')
        .all(|part| is_simple(part) || is_scale(part))
}

fn is_simple(word: &str) -> bool {
    matches!(
        word,
        "zero"
            | "one"
            | "two"
            | "three"
            | "four"
            | "five"
            | "six"
            | "seven"
            | "eight"
            | "nine"
            | "ten"
            | "eleven"
            | "twelve"
            | "thirteen"
            | "fourteen"
            | "fifteen"
            | "sixteen"
            | "seventeen"
            | "eighteen"
            | "nineteen"
            | "twenty"
            | "thirty"
            | "forty"
            | "fifty"
            | "sixty"
            | "seventy"
            | "eighty"
            | "ninety"
    )
}

/// Words that multiply the number before them.
pub(super) fn is_scale(word: &str) -> bool {
    matches!(
        word,
        "hundred"
            | "thousand"
            | "million"
            | "billion"
            | "trillion"
            | "dozen"
            | "hundreds"
            | "thousands"
            | "millions"
            | "dozens"
    )
}

/// Where the number ends that starts at `at` (exclusive), if one does.
pub(super) fn number_end(tokens: &[Token], at: usize) -> Option<usize> {
    is_number(tokens.get(at)?).then_some(())?;
    let mut end = at + 1;
    while let Some(token) = tokens.get(end).filter(|token| !token.after_break) {
        let goes_on = is_scale(&token.lower)
            || is_simple(&token.lower)
                && !tokens[end - 1].digits
                && is_scale(&tokens[end - 1].lower);
        if !goes_on {
            break;
        }
        end += 1;
    }
    Some(end)
}

/// Whether the token reads as a year: four digits from 1000 to 2199.
pub(super) fn is_year(token: &Token) -> bool {
    let digits = token.lower.strip_suffix('s').unwrap_or(&token.lower);
    digits.len() == 4
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits.starts_with('1') || digits.starts_with("20") || digits.starts_with("21"))
}

/// Whether the token reads as a day of a month: 1 to 31, also `3rd`.
pub(super) fn is_day(token: &Token) -> bool {
    let digits = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|end| token.lower.strip_suffix(end))
        .unwrap_or(&token.lower);
    digits.len() <= 2
        && digits
            .parse::<u8>()
            .is_ok_and(|day| (1..=31).contains(&day))
}
