//! Names: runs of capitalised words.

use std::ops::Range;

use super::candidate::{Candidate, View};
use super::lexicon::{
    is_month, is_person_noun, is_place_or_body, is_place_preposition, is_title, is_weekday,
};
use super::number::is_number_word;
use super::token::Token;

/// Runs of capitalised words, with the particles that names have inside.
pub(super) fn runs(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !starts_name(tokens, at) {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < tokens.len() && goes_on(tokens, at) {
            at += 1;
        }
        // A particle at the end belongs to what follows.
        while at > start + 1 && !tokens[at - 1].capital {
            at -= 1;
        }
        found.push(start..at);
    }
    found
}

fn starts_name(tokens: &[Token], at: usize) -> bool {
    let token = &tokens[at];
    token.capital
        && !token.function
        && !is_month(&token.lower)
        && !is_weekday(&token.lower)
        && (at > 0 || !is_number_word(&token.lower))
}

fn goes_on(tokens: &[Token], at: usize) -> bool {
    let (before, token) = (&tokens[at - 1], &tokens[at]);
    if before.possessive {
        return false;
    }
    // `Dr. Lee`, `J. Smith`: the full stop does not end a sentence.
    let abbreviated = is_title(&before.lower) || before.end - before.start == 1;
    if token.after_break && (token.after_comma || !abbreviated) {
        return false;
    }
    if token.capital {
        return !is_month(&token.lower);
    }
    let particle = matches!(
        token.lower.as_str(),
        "de" | "van"
            | "von"
            | "der"
            | "den"
            | "la"
            | "le"
            | "du"
            | "da"
            | "di"
            | "del"
            | "bin"
            | "of"
    );
    particle
        && tokens
            .get(at + 1)
            .is_some_and(|next| next.capital && !next.after_break)
}

/// Names of any kind.
pub(super) fn names(view: &View<'_>) -> Vec<Candidate> {
    runs(view.tokens)
        .into_iter()
        .map(|range| {
            let fit = match called(view, range.start) {
                // "the wheel called Old Betsy"
                Some(1) => 1.0,
                // "he called the wheel Old Betsy"
                Some(_) => 0.85,
                None if range.start == 0 && range.len() == 1 => 0.2,
                None => 0.6,
            };
            Candidate::new(range, fit)
        })
        .chain(quotations(view.tokens))
        .collect()
}

/// How many words before a place its name is announced, if it is at most six.
fn called(view: &View<'_>, at: usize) -> Option<usize> {
    (1..=6.min(at))
        .take_while(|&offset| !view.tokens[at - offset + 1].after_break)
        .find(|&offset| {
            matches!(
                view.word(at - offset),
                "named" | "called" | "name" | "titled" | "christened" | "entitled"
            )
        })
}

/// What stands behind an opening quotation mark, up to the next punctuation.
pub(super) fn quotations(tokens: &[Token]) -> impl Iterator<Item = Candidate> {
    tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.quoted)
        .map(|(start, _)| {
            let length = tokens[start + 1..]
                .iter()
                .take(7)
                .take_while(|token| !token.after_break)
                .count();
            Candidate::new(start..start + 1 + length, 0.6)
        })
}

/// Names that look like people.
pub(super) fn people(view: &View<'_>) -> Vec<Candidate> {
    let tokens = view.tokens;
    let mut found = Vec::new();
    for run in runs(tokens) {
        let mut range = run.clone();
        let titled = range.len() > 1 && is_title(&tokens[range.start].lower);
        if titled {
            range.start += 1;
        }
        let mut fit: f64 = match range.len() {
            1 => 0.35,
            2 => 0.6,
            3 => 0.55,
            _ => 0.3,
        };
        if run.start == 0 && run.len() == 1 {
            fit -= 0.15;
        }
        if tokens[range.clone()].iter().any(|token| {
            is_place_or_body(&token.lower) || token.lower == "of" || is_number_word(&token.lower)
        }) {
            fit -= 0.35;
        }
        let before = view.before(run.start);
        let comma = tokens[run.start].after_comma;
        if titled || is_person_noun(before) && (comma || !tokens[run.start].after_break) {
            fit += 0.3;
        } else if before == "by" {
            fit += 0.2;
        } else if is_place_preposition(before) && !comma {
            fit -= 0.3;
        } else if matches!(before, "the" | "river") {
            fit -= 0.25;
        }
        let after = view.word(range.end);
        if matches!(after, "who" | "whose" | "whom")
            || matches!(after, "a" | "an") && breaks(tokens, range.end)
        {
            fit += 0.2;
        }
        found.push(Candidate::new(range, fit.clamp(0.0, 1.0)));
    }
    found
}

fn breaks(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| token.after_comma)
}
