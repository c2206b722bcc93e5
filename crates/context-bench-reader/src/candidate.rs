//! Spans of a passage that could be the answer, by the kind of answer wanted.
//!
//! Extraction is generous; how good a span is, is settled in `rank`. The fit
//! given here says only how well the span looks like the kind, from 0 to 1.

use std::ops::Range;

use super::question::{Kind, Question};
use super::token::Token;
use super::{clause, date, name, phrase, place, quantity};

/// A span of tokens that could be the answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// The tokens that make the answer.
    pub(super) range: Range<usize>,
    /// How well the span looks like the wanted kind, from 0 to 1.
    pub(super) fit: f64,
}

impl Candidate {
    pub(super) fn new(range: Range<usize>, fit: f64) -> Self {
        Self { range, fit }
    }
}

/// The passage as candidates see it: its words, and which of them the question has.
pub(super) struct View<'a> {
    pub(super) tokens: &'a [Token],
    /// For each token the index of the question's term that it matches.
    pub(super) matched: &'a [Option<usize>],
    pub(super) question: &'a Question,
}

impl View<'_> {
    /// The lower-case word at a place, empty outside of the passage.
    pub(super) fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.lower.as_str())
    }

    /// The lower-case word before a place, empty at the start.
    pub(super) fn before(&self, at: usize) -> &str {
        at.checked_sub(1).map_or("", |at| self.word(at))
    }
}

/// All candidates of a passage for the wanted kind.
pub(super) fn candidates(view: &View<'_>) -> Vec<Candidate> {
    match view.question.kind {
        Kind::Person => {
            let mut found = name::people(view);
            found.extend(weaker(phrase::phrases(view), 0.25));
            found
        }
        Kind::Place => place::places(view),
        Kind::Date | Kind::Year | Kind::Time => date::dates(view),
        Kind::Count
        | Kind::Money
        | Kind::Duration
        | Kind::Measure
        | Kind::Percent
        | Kind::Frequency => quantity::quantities(view),
        Kind::Reason => clause::reasons(view),
        Kind::Name => {
            let mut found = name::names(view);
            found.extend(weaker(phrase::phrases(view), 0.4));
            found
        }
        Kind::Sentence => vec![Candidate::new(0..view.tokens.len(), 0.5)],
        Kind::Phrase | Kind::YesNo | Kind::Choice => phrase::phrases(view),
    }
}

fn weaker(candidates: Vec<Candidate>, factor: f64) -> impl Iterator<Item = Candidate> {
    candidates.into_iter().map(move |mut candidate| {
        candidate.fit *= factor;
        candidate
    })
}
