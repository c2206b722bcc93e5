//! Places: names and noun phrases behind a preposition of place.

use super::candidate::{Candidate, View};
use super::lexicon::{
    is_month, is_place_or_body, is_place_preposition, is_season, is_settlement, is_time_unit,
    is_weekday,
};
use super::number::{is_number, is_year};
use super::{name, phrase};

/// Where something may be, go to or come from.
pub(super) fn places(view: &View<'_>) -> Vec<Candidate> {
    let tokens = view.tokens;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if !is_place_preposition(&token.lower) {
            continue;
        }
        let mut start = at + 1;
        while matches!(
            view.word(start),
            "the" | "a" | "an" | "his" | "her" | "its" | "their" | "our"
        ) {
            start += 1;
        }
        let end = phrase::end(tokens, start, true);
        if start >= end || tokens[start].after_break {
            continue;
        }
        let temporal = tokens[start..end].iter().any(|token| {
            is_month(&token.lower)
                || is_season(&token.lower)
                || is_time_unit(&token.lower)
                || is_weekday(&token.lower)
                || is_year(token)
        });
        if temporal || is_number(&tokens[start]) {
            continue;
        }
        let mut fit: f64 = match token.lower.as_str() {
            "in" | "at" | "near" | "inside" | "outside" | "behind" | "beside" | "under" => 0.6,
            "by" | "over" | "through" | "within" | "between" => 0.2,
            _ => 0.5,
        };
        let range = &tokens[start..end];
        if range.iter().any(|token| token.capital) {
            fit += 0.25;
        }
        if range.iter().any(|token| is_place_or_body(&token.lower)) {
            fit += 0.15;
        }
        // "Where was it moved from Mill Square": the other end is wanted.
        let asks = |word: &str| view.question.words.contains(word);
        if token.lower == "to" && asks("from") || token.lower == "from" && asks("to") {
            fit += 0.2;
        }
        // "the harbour town of Porto Calvese" is Porto Calvese.
        let named = (start..end).find(|&at| {
            tokens[at].lower == "of" && at > start && is_settlement(&tokens[at - 1].lower)
        });
        let start = named.map_or(start, |of| of + 1);
        found.push(Candidate::new(start..end, fit.min(1.0)));
    }
    found.extend(name::runs(tokens).into_iter().map(|range| {
        let fit = if range.start == 0 { 0.15 } else { 0.3 };
        Candidate::new(range, fit)
    }));
    found
}
