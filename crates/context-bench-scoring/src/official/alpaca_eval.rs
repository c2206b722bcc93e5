//! AlpacaEval: a judge prefers the answer of a baseline or that of the model.
//!
//! Li et al. (2023), Dubois et al. (2024), the authors' annotator
//! `weighted_alpaca_eval_gpt4_turbo`: the two answers are called `m` and `M` in random
//! order, one token is asked for, and the probabilities of the two names give a preference
//! from 1 (the baseline) to 2 (the model). The prompt is in our own words.

use sha2::{Digest as _, Sha256};

/// The most tokens of a verdict.
pub const VERDICT_TOKENS: u32 = 1;
/// How many of the likeliest tokens are looked at.
pub const TOP_TOKENS: u32 = 5;
/// What a preference is that favours neither.
pub const DRAW: f64 = 1.5;

/// Names of the answers, in the order in which they are shown.
const FIRST: &str = "m";
const SECOND: &str = "M";

/// The system message of the judge.
pub const SYSTEM: &str = "\
You are an efficient assistant that compares language models: you pick the one whose output \
for a given instruction is better. Your choices make up a leaderboard that mirrors which \
model people would prefer.";

/// What the judge is asked about two outputs.
pub fn prompt(instruction: &str, first: &str, second: &str) -> String {
    format!(
        "Make a leaderboard of language models for me. You get the instruction that the models \
         were given and the outputs of two of them, under the names `{FIRST}` and `{SECOND}`.\n\n\
         ## Instruction\n\n{instruction}\n\n\
         ## Output of model `{FIRST}`\n\n{first}\n\n\
         ## Output of model `{SECOND}`\n\n{second}\n\n\
         ## Task\n\n\
         Judge how good the outputs are and name the model with the better one. Reply with \
         nothing but its name, `{FIRST}` or `{SECOND}`: no quotes, no spaces, no lines.\n\n\
         Model with the better output:"
    )
}

/// Whether the model's output is shown first: a coin whose side the texts decide, so that
/// it falls alike in every run.
pub fn is_shown_first(instruction: &str, baseline: &str, output: &str) -> bool {
    let mut hash = Sha256::new();
    for text in [instruction, baseline, output] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().first().is_some_and(|byte| byte & 1 == 1)
}

/// The preference by the likeliest first tokens, from 1 for the answer shown first to 2
/// for the second; `None` when neither name is among them.
pub fn weighted(tokens: &[(String, f64)]) -> Option<f64> {
    let probability = |name: &str| {
        let found = tokens.iter().find(|(token, _)| token == name);
        found.map_or(0.0, |(_, logprob)| logprob.exp())
    };
    let (first, second) = (probability(FIRST), probability(SECOND));
    let share = first / (first + second);
    share.is_finite().then_some(2.0 - share)
}

/// The preference by what the judge wrote, where the endpoint gives no probabilities.
pub fn discrete(reply: &str) -> Option<f64> {
    let is_mark = |c: char| c.is_whitespace() || c.is_ascii_punctuation();
    match reply.trim_matches(is_mark) {
        FIRST => Some(1.0),
        SECOND => Some(2.0),
        _ => None,
    }
}

/// A preference between shown answers as one between baseline and model.
pub fn unshuffled(preference: f64, model_first: bool) -> f64 {
    match model_first {
        true => 3.0 - preference,
        false => preference,
    }
}

/// What a preference counts as when only who wins matters.
pub fn win(preference: f64) -> f64 {
    match preference.partial_cmp(&DRAW) {
        Some(std::cmp::Ordering::Greater) => 1.0,
        Some(std::cmp::Ordering::Less) => 0.0,
        _ => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(given: &[(&str, f64)]) -> Vec<(String, f64)> {
        let given = given.iter();
        given
            .map(|(token, probability)| ((*token).to_owned(), probability.ln()))
            .collect()
    }

    #[test]
    fn worked_cases() {
        for (given, model_first, expected) in [
            // The model is `M`.
            (&[("M", 0.8), ("m", 0.2)][..], false, Some(0.8)),
            (&[("M", 0.8), ("m", 0.2)], true, Some(0.2)),
            (&[("m", 0.5), ("The", 0.3)], true, Some(1.0)),
            (&[("m", 0.4), ("M", 0.4)], true, Some(0.5)),
            (&[("The", 0.9)], false, None),
            (&[], false, None),
        ] {
            let found = weighted(&tokens(given)).map(|shown| unshuffled(shown, model_first) - 1.0);
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    assert!((found - expected).abs() < 1e-12, "{given:?} {found}");
                }
                (found, expected) => assert_eq!(found, expected, "{given:?}"),
            }
        }
    }

    #[test]
    fn names_without_probabilities() {
        for (reply, expected) in [
            ("m", Some(1.0)),
            (" `M`.", Some(2.0)),
            ("Model M", None),
            ("mM", None),
            ("", None),
        ] {
            assert_eq!(discrete(reply), expected, "{reply}");
        }
        assert_eq!([1.2, 1.5, 1.6].map(win), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn the_order_is_chance_and_always_the_same() {
        let firsts = (0..200).filter(|n| is_shown_first(&n.to_string(), "a", "b"));
        let firsts = firsts.count();
        assert!((60..140).contains(&firsts), "{firsts}");
        assert_eq!(is_shown_first("i", "a", "b"), is_shown_first("i", "a", "b"));
    }
}
