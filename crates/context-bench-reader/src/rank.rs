//! Choosing the answer among the candidates of the best passages.

use super::candidate::{Candidate, View, candidates};
use super::passage::RankedPassages;
use super::question::{Kind, Question, Role};
use super::token::{Token, tokens};

/// How much each sign counts. Set by hand on one half of the demo documents.
const PASSAGE: f64 = 1.0;
const FIT: f64 = 0.5;
const NEARNESS: f64 = 0.5;
const ROLE: f64 = 0.2;
const REPEAT: f64 = 0.6;
/// Words over which nearness falls to about a third.
const REACH: f64 = 7.0;
/// Punctuation between two words counts as so many words more.
const BREAK: f64 = 2.0;

/// The best answer of all passages; empty when there is no candidate.
pub(super) fn best_answer(question: &Question, found: &RankedPassages<'_>) -> String {
    let mut best: Option<(f64, String)> = None;
    for passage in &found.passages {
        let words = tokens(passage.text);
        let matched = matches(question, &words);
        let view = View {
            tokens: &words,
            matched: &matched,
            question,
        };
        let places = places(&words);
        for candidate in candidates(&view) {
            let Some((first, last)) = ends(&words, &candidate) else {
                continue;
            };
            let score = PASSAGE * passage.score
                + FIT * candidate.fit
                + NEARNESS * nearness(&view, &places, &candidate, &found.weights)
                + ROLE * role(&view, &candidate)
                - REPEAT * repeated(&view, &candidate);
            if best.as_ref().is_none_or(|(known, _)| score > *known) {
                best = Some((score, passage.text[first.start..last.end].to_owned()));
            }
        }
    }
    best.map_or_else(String::new, |(_, answer)| answer)
}

fn ends<'a>(words: &'a [Token], candidate: &Candidate) -> Option<(&'a Token, &'a Token)> {
    let range = words.get(candidate.range.clone())?;
    Some((range.first()?, range.last()?))
}

/// For each word the question's term that it matches, whole or by a part.
pub(super) fn matches(question: &Question, words: &[Token]) -> Vec<Option<usize>> {
    words
        .iter()
        .map(|word| {
            if word.function {
                return None;
            }
            question
                .terms
                .iter()
                .position(|term| word.term.split('-').any(|part| part == term))
        })
        .collect()
}

/// Where each word stands, punctuation counted in.
fn places(words: &[Token]) -> Vec<f64> {
    let mut place = 0.0;
    words
        .iter()
        .map(|word| {
            place += if word.after_break { 1.0 + BREAK } else { 1.0 };
            place
        })
        .collect()
}

/// The weight of the question's terms around a candidate, less with distance.
fn nearness(view: &View<'_>, places: &[f64], candidate: &Candidate, weights: &[f64]) -> f64 {
    let (first, last) = (candidate.range.start, candidate.range.end - 1);
    let mut nearest = vec![f64::INFINITY; weights.len()];
    for (at, term) in view.matched.iter().enumerate() {
        let Some(term) = *term else { continue };
        let distance = if at < first {
            places[first] - places[at]
        } else if at > last {
            places[at] - places[last]
        } else {
            continue;
        };
        nearest[term] = nearest[term].min(distance);
    }
    std::iter::zip(&nearest, weights)
        .map(|(distance, weight)| weight * (-(distance - 1.0) / REACH).exp())
        .sum()
}

/// Whether the candidate stands on the side of the verb that the question asks about.
fn role(view: &View<'_>, candidate: &Candidate) -> f64 {
    let Some(verb) = &view.question.verb else {
        return 0.0;
    };
    if !matches!(view.question.kind, Kind::Person | Kind::Phrase | Kind::Name) {
        return 0.0;
    }
    let (start, end) = (candidate.range.start, candidate.range.end);
    let Some(at) = view.tokens.iter().position(|token| token.term == *verb) else {
        return 0.0;
    };
    let by = view.tokens[at..]
        .iter()
        .take(6)
        .position(|token| token.lower == "by")
        .map(|offset| at + offset);
    match (view.question.role, by) {
        (Role::Subject, Some(by)) => f64::from(u8::from(start > by && start - by <= 4)),
        (Role::Subject, None) => f64::from(u8::from(end <= at && at - end <= 3)) * 0.8,
        (Role::Object, _) => f64::from(u8::from(start > at && start - at <= 3)),
        (Role::Unknown, _) => 0.0,
    }
}

/// The share of the candidate's words that the question has already.
fn repeated(view: &View<'_>, candidate: &Candidate) -> f64 {
    // A reason or an explanation may well repeat what it explains.
    if matches!(view.question.kind, Kind::Reason | Kind::Sentence) {
        return 0.0;
    }
    let range = candidate.range.clone();
    let n_content = view.tokens[range.clone()]
        .iter()
        .filter(|token| !token.function)
        .count();
    let n_matched = view.matched[range].iter().flatten().count();
    if n_content == 0 {
        return 1.0;
    }
    n_matched as f64 / n_content as f64
}
