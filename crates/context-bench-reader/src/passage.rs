//! Which passages of a context a question is about.
//!
//! Each passage gets, for every term of the question, the term's weight if it
//! holds the term, and a part of it if the term stands nearby. So a sentence
//! that says "it" still profits from the name in the sentence before, and all
//! sentences of a document from what only that document talks about.

use std::collections::HashMap;

use context_bench_scoring::text::bm25::idf;
use context_bench_scoring::text::sentence::sentences;
use context_bench_scoring::text::terms::for_each_term;
use context_bench_scoring::text::words::{is_space, is_word_char};

/// Longer sentences are cut, so that one line of megabytes is still searched in pieces.
const MAX_BYTES: usize = 900;
/// Share of a term's weight for a neighbour of the passage that holds it …
const NEAR: f64 = 0.5;
/// … and how much of that is left with every further passage.
const DECAY: f64 = 0.88;
/// So many of the best passages are read closely.
const N_BEST: usize = 40;

/// A passage worth reading closely.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage<'a> {
    pub(super) text: &'a str,
    /// Between 0 and 1: the share of the question's weight that it has.
    pub(super) score: f64,
}

/// The best passages, and the weight of each term of the question.
pub(super) struct RankedPassages<'a> {
    /// From best to worst, ties in the order of the text.
    pub(super) passages: Vec<Passage<'a>>,
    /// In the order of the question's terms; they add up to 1 unless no term occurs.
    pub(super) weights: Vec<f64>,
}

/// Finds the passages that a question with these terms is about.
pub(super) fn find<'a>(context: &'a str, terms: &[String]) -> RankedPassages<'a> {
    let passages = passages(context);
    let index: HashMap<&str, usize> = terms
        .iter()
        .enumerate()
        .map(|(at, term)| (term.as_str(), at))
        .collect();
    let mut masks = vec![0_u64; passages.len()];
    let mut n_with = vec![0_usize; terms.len()];
    for (mask, passage) in masks.iter_mut().zip(&passages) {
        for_each_term(passage, |term| {
            if let Some(&at) = index.get(term) {
                *mask |= 1 << at;
            }
        });
        for (at, n) in n_with.iter_mut().enumerate() {
            *n += usize::from(*mask & (1 << at) != 0);
        }
    }
    let mut weights: Vec<f64> = n_with
        .iter()
        .map(|&with| match with {
            // A word that does not occur in the text cannot distinguish passages.
            0 => 0.0,
            with => idf(with, passages.len()).max(0.05),
        })
        .collect();
    let total: f64 = weights.iter().sum();
    if total > 0.0 {
        weights.iter_mut().for_each(|weight| *weight /= total);
    }

    let mut scores = vec![0.0_f64; passages.len()];
    for (at, weight) in weights
        .iter()
        .enumerate()
        .filter(|(_, weight)| **weight > 0.0)
    {
        let shares = nearness(&masks, at);
        for (score, share) in scores.iter_mut().zip(shares) {
            *score += weight * share;
        }
    }
    let mut order: Vec<usize> = (0..passages.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let passages = order
        .into_iter()
        .take(N_BEST)
        .map(|at| Passage {
            text: passages[at],
            score: scores[at],
        })
        .collect();
    RankedPassages { passages, weights }
}

/// For each passage 1 if it holds the term, else a share by the distance to one that does.
fn nearness(masks: &[u64], term: usize) -> Vec<f64> {
    let mut shares = vec![0.0; masks.len()];
    let mut last = 0.0;
    for (share, mask) in shares.iter_mut().zip(masks) {
        last = step(last, mask & (1 << term) != 0);
        *share = last;
    }
    last = 0.0;
    for (share, mask) in shares.iter_mut().zip(masks).rev() {
        last = step(last, mask & (1 << term) != 0);
        // What was said before is what a sentence refers to; what comes later less so.
        *share = f64::max(*share, if last < 1.0 { last * 0.8 } else { last });
    }
    shares
}

fn step(last: f64, holds: bool) -> f64 {
    if holds {
        1.0
    } else if last >= 1.0 {
        NEAR
    } else {
        last * DECAY
    }
}

/// The sentences of a context that have words, long ones cut at spaces.
fn passages<'a>(context: &'a str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut push = |passage: &'a str| {
        if passage.contains(is_word_char) {
            found.push(passage);
        }
    };
    for sentence in sentences(context) {
        let mut rest = sentence.trimmed();
        while rest.len() > MAX_BYTES {
            let mut end = MAX_BYTES;
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let end = rest[..end]
                .rfind(is_space)
                .filter(|&at| at > 0)
                .unwrap_or(end);
            push(&rest[..end]);
            rest = rest[end..].trim_start_matches(is_space);
        }
        push(rest);
    }
    found
}
