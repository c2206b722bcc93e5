//! Counts, amounts of money, durations, measures and shares.

use super::candidate::{Candidate, View};
use super::lexicon::{is_currency, is_measure_unit, is_month, is_time_unit};
use super::number::{is_day, is_number, is_year, number_end};
use super::question::Kind;
use super::token::{Token, is_currency_sign};

/// Words that may stand between a number and its unit and belong to neither.
const BETWEEN: usize = 3;

/// Numbers with their units, as far as the wanted kind takes them.
pub(super) fn quantities(view: &View<'_>) -> Vec<Candidate> {
    let tokens = view.tokens;
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some(end) = number_end(tokens, at) else {
            if view.question.kind == Kind::Frequency {
                found.extend(frequency(view, at));
            }
            at += 1;
            continue;
        };
        if !is_date_part(tokens, at, end) {
            found.extend(quantity(view, at, end));
        }
        at = end;
    }
    found
}

/// The candidate for a number from `at` to `end`.
fn quantity(view: &View<'_>, at: usize, end: usize) -> Option<Candidate> {
    let tokens = view.tokens;
    let unit = tokens.get(end).filter(|token| !token.after_break);
    let unit_word = unit.map_or("", |token| token.lower.as_str());
    let number = &tokens[at].lower;
    let money = number.starts_with(is_currency_sign) || is_currency(unit_word);
    let percent_end = match unit_word {
        "percent" => Some(end + 1),
        "per" if view.word(end + 1) == "cent" => Some(end + 2),
        _ => number.ends_with('%').then_some(end),
    };
    let percent = percent_end.is_some();
    let time = is_time_unit(unit_word);
    let measure = is_measure_unit(unit_word) && !percent;
    let with_unit = end + usize::from(unit.is_some_and(|token| !token.function));
    match view.question.kind {
        Kind::Money => {
            let signed = number.starts_with(is_currency_sign);
            let fit = match (money, time || percent, with_unit > end) {
                (true, _, _) => 0.9,
                (_, true, _) => 0.1,
                // An unknown currency looks like any other unit.
                (_, _, true) => 0.35,
                _ => 0.25,
            };
            Some(Candidate::new(
                at..if signed { end } else { with_unit },
                fit,
            ))
        }
        Kind::Duration => {
            let old = view.question.words.contains("old") || view.question.words.contains("age");
            if time {
                Some(Candidate::new(at..duration_end(view, end), 0.9))
            } else if old && matches!(view.before(at), "is" | "was" | "aged" | "age" | "of") {
                Some(Candidate::new(at..end, 0.6))
            } else {
                measure.then(|| Candidate::new(at..with_unit, 0.35))
            }
        }
        Kind::Measure => Some(if measure || unit_fits(view, end) > 0.0 {
            Candidate::new(at..with_unit, 0.9)
        } else {
            Candidate::new(at..with_unit, if percent { 0.4 } else { 0.25 })
        }),
        Kind::Percent => Some(match percent_end {
            Some(end) => Candidate::new(at..end, 0.9),
            None => Candidate::new(at..end, 0.2),
        }),
        Kind::Frequency => (unit_word == "times").then(|| Candidate::new(at..end + 1, 0.6)),
        _ => Some(count(view, at, end, money || percent)),
    }
}

/// A number that counts something; the unit is known to who asks and left out.
fn count(view: &View<'_>, at: usize, end: usize, other_kind: bool) -> Candidate {
    let mut fit = 0.35 + 0.6 * unit_fits(view, end);
    // "Nineteen of the twenty-three councillors": the first number is the count.
    if view.word(end) == "of" && matches!(view.word(end + 1), "the" | "them" | "these" | "its") {
        fit = f64::max(fit, 0.9);
    }
    // "212 blocks, of which 58 were cracked": the noun stands before.
    if matches!(view.before(at), "which" | "whom") && at > 1 && view.word(at - 2) == "of" {
        fit = f64::max(fit, 0.85);
    }
    // … and the second one, the number it is taken from, is not.
    if at > 2
        && view.before(at) == "the"
        && view.word(at - 2) == "of"
        && is_number(&view.tokens[at - 3])
    {
        fit -= 0.6;
    }
    let unit = view.tokens.get(end).filter(|token| !token.after_break);
    let names_something_else = unit.is_some_and(|token| !token.function);
    if fit < 0.5 && (other_kind || names_something_else) {
        fit = 0.1;
    }
    // "Week 16", "Line 7": a label, not a count.
    let labels = at > 1 && view.tokens[at - 1].capital && !view.tokens[at].after_break;
    if labels || view.tokens[at].lower == "one" {
        fit *= 0.5;
    }
    Candidate::new(at..end, fit.clamp(0.0, 1.0))
}

/// How well the words behind a number fit the noun that is asked for, from 0 to 1.
fn unit_fits(view: &View<'_>, end: usize) -> f64 {
    for offset in 0..=BETWEEN {
        let Some(token) = view.tokens.get(end + offset) else {
            break;
        };
        if token.after_break || offset > 0 && is_number(token) {
            break;
        }
        if view.question.head.contains(&token.term) {
            return 1.0 - 0.15 * offset as f64;
        }
    }
    0.0
}

/// A duration goes on over "and": "six years and eight months".
fn duration_end(view: &View<'_>, unit: usize) -> usize {
    let and = unit + 1;
    if view.word(and) == "and"
        && let Some(end) = number_end(view.tokens, and + 1)
        && is_time_unit(view.word(end))
    {
        return end + 1;
    }
    unit + 1
}

/// "every forty minutes", "once a year", "twice a day", "daily".
fn frequency(view: &View<'_>, at: usize) -> Option<Candidate> {
    let tokens = view.tokens;
    match view.word(at) {
        "every" => {
            let number = number_end(tokens, at + 1).unwrap_or(at + 1);
            is_time_unit(view.word(number)).then(|| Candidate::new(at..number + 1, 0.9))
        }
        "once" | "twice" => {
            let a = matches!(view.word(at + 1), "a" | "an" | "per" | "every");
            (a && at + 2 < tokens.len()).then(|| Candidate::new(at..at + 3, 0.9))
        }
        "daily" | "weekly" | "monthly" | "yearly" | "annually" => {
            Some(Candidate::new(at..at + 1, 0.8))
        }
        _ => None,
    }
}

/// Whether a number is the day or the year of a date, or a bare year.
fn is_date_part(tokens: &[Token], at: usize, end: usize) -> bool {
    let month = |at: Option<usize>| {
        at.and_then(|at| tokens.get(at))
            .is_some_and(|token| token.capital && is_month(&token.lower))
    };
    if is_day(&tokens[at]) && (month(Some(end)) || month(at.checked_sub(1))) {
        return true;
    }
    let unit_follows = tokens
        .get(end)
        .is_some_and(|token| !token.after_break && !token.function);
    is_year(&tokens[at]) && !unit_follows
}
