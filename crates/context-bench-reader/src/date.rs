//! Dates, years and times of day.

use super::candidate::{Candidate, View};
use super::lexicon::{is_month, is_season, is_weekday};
use super::number::{is_day, is_number, is_year};
use super::question::Kind;
use super::token::Token;

/// Points in time; the more exact, the better the fit.
pub(super) fn dates(view: &View<'_>) -> Vec<Candidate> {
    if view.question.kind == Kind::Time {
        return times(view);
    }
    let tokens = view.tokens;
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((end, fit)) = date_at(tokens, at) else {
            at += 1;
            continue;
        };
        let year = (at..end).rev().find(|&at| is_year(&tokens[at]));
        match (view.question.kind, year) {
            (Kind::Year, Some(year)) => found.push(Candidate::new(year..year + 1, 0.9)),
            (Kind::Year, None) => {}
            _ => found.push(Candidate::new(at..end, fit)),
        }
        at = end;
    }
    found
}

/// Where the date ends that starts at a token, and how exact it is.
fn date_at(tokens: &[Token], at: usize) -> Option<(usize, f64)> {
    let token = tokens.get(at)?;
    let next = |offset: usize| tokens.get(at + offset);
    let month = |token: Option<&Token>| {
        // "may" is a month only with a capital or beside a number.
        token.is_some_and(|token| is_month(&token.lower) && token.capital)
    };
    let year = |token: Option<&Token>| token.is_some_and(is_year);
    let day = |token: Option<&Token>| token.is_some_and(is_day);
    // An ISO date is one token.
    if token.digits && token.lower.len() == 10 && token.lower.matches('-').count() == 2 {
        return Some((at + 1, 0.9));
    }
    if day(Some(token)) {
        let of = usize::from(next(1).is_some_and(|token| token.lower == "of"));
        if month(next(1 + of)) {
            let end = at + 2 + of;
            return Some(if year(tokens.get(end)) {
                (end + 1, 0.9)
            } else {
                (end, 0.75)
            });
        }
    }
    if month(Some(token)) {
        return Some(match (day(next(1)), year(next(2)), year(next(1))) {
            (true, true, _) => (at + 3, 0.9),
            (true, false, _) => (at + 2, 0.75),
            (_, _, true) => (at + 2, 0.8),
            _ if next(1).is_some_and(|token| token.lower == "of") && year(next(2)) => (at + 3, 0.8),
            // A sentence may start with the verb "May" or "March".
            _ if at == 0 => return None,
            _ => (at + 1, 0.5),
        });
    }
    if is_season(&token.lower) {
        let of = usize::from(next(1).is_some_and(|token| token.lower == "of"));
        return Some(if year(next(1 + of)) {
            (at + 2 + of, 0.75)
        } else {
            (at + 1, 0.25)
        });
    }
    if is_year(token) {
        let unit_follows = next(1).is_some_and(|token| !token.after_break && !token.function);
        return (!unit_follows).then_some((at + 1, 0.65));
    }
    is_weekday(&token.lower).then_some((at + 1, 0.35))
}

/// Times of day: `18:30`, "half past three", "nine o'clock", "noon".
fn times(view: &View<'_>) -> Vec<Candidate> {
    let tokens = view.tokens;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let word = token.lower.as_str();
        if token.digits && word.contains(':') {
            let suffix = usize::from(matches!(view.word(at + 1), "am" | "pm" | "a.m" | "p.m"));
            found.push(Candidate::new(at..at + 1 + suffix, 0.9));
        } else if matches!(
            word,
            "noon" | "midnight" | "dawn" | "dusk" | "sunrise" | "sunset"
        ) {
            found.push(Candidate::new(at..at + 1, 0.6));
        } else if word == "past" && at > 0 && tokens.get(at + 1).is_some_and(is_number) {
            found.push(Candidate::new(at - 1..at + 2, 0.9));
        } else if is_number(token)
            && matches!(view.word(at + 1), "o'clock" | "o’clock" | "am" | "pm")
        {
            found.push(Candidate::new(at..at + 2, 0.9));
        } else if is_number(token)
            && matches!(view.before(at), "at" | "from" | "until")
            && view.word(at + 1) == "in"
        {
            found.push(Candidate::new(at..(at + 4).min(tokens.len()), 0.7));
        }
    }
    found
}
