//! Noun phrases, roughly: runs of content words.
//!
//! There is no part-of-speech tagger here. Function words and punctuation end a
//! run, words of the question are cut out of it, and a word behind an auxiliary
//! counts as a verb.

use std::collections::BTreeSet;

use super::candidate::{Candidate, View};
use super::lexicon::is_auxiliary;
use super::name;
use super::token::Token;

/// Longer runs are not noun phrases.
const MAX_WORDS: usize = 8;

/// Phrases that are not words of the question.
pub(super) fn phrases(view: &View<'_>) -> Vec<Candidate> {
    let tokens = view.tokens;
    let mut ranges: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].function || view.matched[at].is_some() {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < tokens.len()
            && at - start < MAX_WORDS
            && !tokens[at].function
            && !tokens[at].after_break
            && view.matched[at].is_none()
        {
            at += 1;
        }
        let verb_first = start > 0 && is_auxiliary(&tokens[start - 1].lower);
        let adverb = |at: usize| tokens[at].lower.ends_with("ly");
        let mut first = start;
        while first < at && adverb(first) {
            first += 1;
        }
        if verb_first && looks_like_verb(&tokens[first.min(at - 1)]) {
            first += 1;
        }
        if first < at {
            ranges.insert((first, at));
            let end = end(tokens, first, true);
            if end > at && end - first <= MAX_WORDS {
                ranges.insert((first, end));
            }
        }
    }
    let mut found: Vec<Candidate> = ranges
        .into_iter()
        .map(|(start, end)| Candidate::new(start..end, fit(view, start, end)))
        .collect();
    found.extend(name::names(view));
    found
}

fn looks_like_verb(token: &Token) -> bool {
    token.lower.ends_with("ed") || token.lower.ends_with("en") || token.lower.ends_with("ing")
}

fn fit(view: &View<'_>, start: usize, end: usize) -> f64 {
    let tokens = &view.tokens[start..end];
    let mut fit: f64 = 0.4;
    if tokens.iter().any(|token| token.capital) && start > 0 {
        fit += 0.1;
    }
    if matches!(view.before(start), "called" | "named") {
        fit += 0.3;
    }
    if matches!(view.before(start), "a" | "an" | "the" | "of" | "by") {
        fit += 0.1;
    }
    // "jar of jam" says more than "jar".
    if tokens.iter().any(|token| token.lower == "of") {
        fit += 0.1;
    }
    // In front of a word of the question it only describes that word.
    let describes =
        view.tokens.get(end).is_some_and(|next| {
            !next.after_break && view.question.verb.as_ref() != Some(&next.term)
        }) && view.matched.get(end).is_some_and(Option::is_some);
    if describes {
        fit -= 0.2;
    }
    if tokens.len() == 1 && looks_like_verb(&tokens[0]) {
        fit -= 0.25;
    }
    fit
}

/// Where the noun phrase ends that starts at a word; "of" may carry it on.
pub(super) fn end(tokens: &[Token], start: usize, over_of: bool) -> usize {
    let run = |from: usize| {
        let mut at = from;
        while at < tokens.len()
            && at - from < MAX_WORDS
            && !tokens[at].function
            && !(at > from && tokens[at].after_break)
        {
            at += 1;
        }
        at
    };
    let first = run(start);
    if over_of && first > start && tokens.get(first).is_some_and(|token| token.lower == "of") {
        let mut next = first + 1;
        while tokens
            .get(next)
            .is_some_and(|token| matches!(token.lower.as_str(), "the" | "a" | "an" | "his" | "her"))
        {
            next += 1;
        }
        let second = run(next);
        if second > next {
            return second;
        }
    }
    first
}
