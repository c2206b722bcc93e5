//! TriviaQA: overlap after its own normalisation, in which punctuation separates words.
//!
//! Joshi et al. (2017), the authors' evaluation script. Right answers are the normalised
//! aliases; the best one counts.

use crate::text::normalize::without_articles;
use crate::text::overlap::Overlap;
use crate::text::words::split_whitespace;

/// A text as answers are compared: punctuation is a space, not nothing.
pub fn normal(text: &str) -> String {
    let separated: String = text
        .chars()
        .map(|c| match c {
            '‘' | '’' | '´' | '`' => ' ',
            c if c.is_ascii_punctuation() => ' ',
            c => c,
        })
        .collect();
    let kept = without_articles(&separated.to_lowercase());
    split_whitespace(&kept).collect::<Vec<_>>().join(" ")
}

/// Exact match and F1 of an output against one right answer.
pub fn score(output: &str, gold: &str) -> (f64, f64) {
    let (output, gold) = (normal(output), normal(gold));
    let f1 = Overlap::of_normal(&output, &gold).f1;
    (super::one(output == gold), f1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_cases() {
        for (output, gold, exact) in [
            ("Spider-Man", "spider man", 1.0),
            ("U.S.A.", "USA", 0.0),
            ("the O’Neill", "o neill", 1.0),
            ("Mount_Everest", "mount everest", 1.0),
        ] {
            assert_eq!(score(output, gold).0, exact, "{output}");
        }
        assert_eq!(normal("U.S.A."), "u s");
    }
}
