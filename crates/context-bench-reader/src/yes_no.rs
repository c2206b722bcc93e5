//! Questions whose answer is yes or no, and choices between two options.

use super::lexicon::is_negation;
use super::number::is_number;
use super::passage::RankedPassages;
use super::question::Question;
use super::rank::matches;
use super::token::tokens;

/// "yes" unless the best passage denies it, gives another number, or is about something else.
pub(super) fn yes_or_no(question: &Question, found: &RankedPassages<'_>) -> String {
    let Some(best) = found.passages.first() else {
        return String::new();
    };
    let words = tokens(best.text);
    let matched = matches(question, &words);
    let negated_question = question.words.iter().any(|word| is_negation(word));
    let denied = words
        .iter()
        .enumerate()
        .filter(|(_, word)| is_negation(&word.lower))
        .any(|(at, _)| {
            let near = at.saturating_sub(6)..(at + 7).min(words.len());
            matched[near].iter().any(Option::is_some)
        });
    let other_number = question.terms.iter().enumerate().any(|(index, term)| {
        let is_numeric = term.starts_with(|c: char| c.is_ascii_digit());
        is_numeric && !matched.contains(&Some(index)) && words.iter().any(is_number)
    });
    let yes = (denied == negated_question) && !other_number;
    if yes { "yes" } else { "no" }.to_owned()
}

/// The option that stands with more of the question in one passage; the first on a tie.
pub(super) fn choice(question: &Question, found: &RankedPassages<'_>) -> Option<String> {
    let mut best: Option<(f64, &String)> = None;
    for option in &question.options {
        let terms: Vec<String> = tokens(option).into_iter().map(|token| token.term).collect();
        let score = found
            .passages
            .iter()
            .filter(|passage| {
                let words = tokens(passage.text);
                terms
                    .iter()
                    .all(|term| words.iter().any(|word| word.term == *term))
            })
            .map(|passage| passage.score)
            .fold(0.0, f64::max);
        if best.is_none_or(|(known, _)| score > known) {
            best = Some((score, option));
        }
    }
    best.map(|(_, option)| option.clone())
}
