//! Reasons: what follows "because" and similar words.

use super::candidate::{Candidate, View};
use super::lexicon::is_month;
use super::number::is_number;

/// Clauses that give a reason, and weaker guesses where no cue stands.
pub(super) fn reasons(view: &View<'_>) -> Vec<Candidate> {
    let tokens = view.tokens;
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let Some((start, fit)) = cue(view, at) else {
            continue;
        };
        let end = clause_end(view, start);
        if start < end {
            found.push(Candidate::new(start..end, fit));
        }
    }
    if found.is_empty() && !tokens.is_empty() {
        found.push(Candidate::new(0..clause_end(view, 0), 0.05));
    }
    found
}

/// Where the reason starts whose cue stands at a token, and how sure the cue is.
fn cue(view: &View<'_>, at: usize) -> Option<(usize, f64)> {
    let token = &view.tokens[at];
    let next = view.word(at + 1);
    Some(match token.lower.as_str() {
        "because" if next == "of" => (at + 2, 0.9),
        "because" => (at + 1, 1.0),
        "due" | "owing" | "thanks" if next == "to" => (at + 2, 0.85),
        "caused" | "delayed" | "prevented" | "explained" if next == "by" => (at + 2, 0.8),
        "reason" | "reasons" | "cause" => {
            let copula = (at + 1..view.tokens.len())
                .find(|&at| matches!(view.word(at), "is" | "was" | "were" | "are"))?;
            let that = usize::from(view.word(copula + 1) == "that");
            (copula + 1 + that, 0.85)
        }
        "since" => {
            let temporal = view.tokens.get(at + 1).is_some_and(|token| {
                is_number(token) || is_month(&token.lower) || token.lower == "then"
            });
            if temporal || !(token.after_comma || at == 0) {
                return None;
            }
            (at + 1, 0.85)
        }
        "as" if token.after_comma
            && !matches!(next, "if" | "well" | "a" | "an" | "soon" | "in") =>
        {
            (at + 1, 0.7)
        }
        "so" if next == "that" => (at + 2, 0.6),
        "order" if next == "to" => (at + 2, 0.7),
        "for" if matches!(next, "fear" | "lack" | "want") => (at + 1, 0.7),
        "after" | "when" | "by" => (at + 1, 0.25),
        "to" if view
            .tokens
            .get(at + 1)
            .is_some_and(|token| !token.function && !token.capital) =>
        {
            (at, 0.3)
        }
        _ => return None,
    })
}

/// A clause ends at the sentence's end, at strong punctuation, or where a comma
/// starts a new one.
fn clause_end(view: &View<'_>, start: usize) -> usize {
    let length = view
        .tokens
        .iter()
        .enumerate()
        .skip(start + 1)
        .take_while(|(at, token)| {
            let joins_clause = matches!(
                token.lower.as_str(),
                "and" | "but" | "which" | "who" | "so" | "while" | "although" | "where" | "because"
            );
            !(token.after_comma && joins_clause
                || token.after_break && !token.after_comma && *at > start)
        })
        .count();
    (start + 1 + length).min(view.tokens.len())
}
