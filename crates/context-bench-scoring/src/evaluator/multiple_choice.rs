//! MultipleChoiceAccuracy: whether the response chooses the gold option.

use std::borrow::Cow;
use std::collections::BTreeSet;

use async_trait::async_trait;
use serde_json::Value;

use super::{Evaluator, EvaluatorError};
use crate::model::{Example, Identity, Output, Score, ScoreName, Scores};
use crate::text::choice::{self, Choice, ChoiceOptions, NoChoice};
use crate::text::stringify::python_str;

/// The score, unless it is given another name.
const NAME: &str = "mc_accuracy";

/// How the chosen letter is read from a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChoiceExtraction {
    /// The last decisive statement; a refusal or a tie is not a choice.
    #[default]
    Decisive,
    /// The rule published with MMLU-Pro, for figures comparable with its leaderboard.
    MmluPro,
}

/// `mc_accuracy`: 1 when the response chooses `correct_letter`, else 0 with the
/// reason. Several gold letters (a list, `A, C` or `AC`) must all be chosen and
/// no other. `choices`, when there, bounds the letters and lets the text of an
/// option count as its letter; without it the letters are A to J.
///
/// An empty gold and an empty response score 0. In a run, examples without
/// `correct_letter` are not applicable.
#[derive(Debug, Clone)]
pub struct MultipleChoiceAccuracy {
    /// How the letter is read.
    pub extraction: ChoiceExtraction,
    names: [ScoreName; 1],
}

impl Default for MultipleChoiceAccuracy {
    fn default() -> Self {
        Self::new(ChoiceExtraction::default())
    }
}

impl MultipleChoiceAccuracy {
    /// With the given way to read the letter.
    pub fn new(extraction: ChoiceExtraction) -> Self {
        let names = [NAME.into()];
        Self { extraction, names }
    }

    /// Under another name, so that a run can have several readings.
    #[must_use]
    pub fn named(mut self, score: impl Into<ScoreName>) -> Self {
        self.names = [score.into()];
        self
    }

    /// The letters that a response chooses for an example.
    ///
    /// # Errors
    ///
    /// When it chooses nothing, with the reason.
    pub fn extract(&self, example: &Example, response: &str) -> Result<Choice, NoChoice> {
        match self.extraction {
            ChoiceExtraction::MmluPro => choice::extract_mmlu_pro(response, choices(example).len()),
            ChoiceExtraction::Decisive => {
                let gold = gold(example).unwrap_or_default();
                let mut options = ChoiceOptions::with_texts(&choices(example));
                if let Some(last) = gold.last() {
                    options = options.up_to(*last).several(gold.len() > 1);
                }
                choice::extract(response, &options)
            }
        }
    }
}

/// The texts of the options: a list, or the `text` of a map as ARC writes it.
fn choices(example: &Example) -> Vec<Cow<'_, str>> {
    let list = match example.get("choices") {
        Some(Value::Array(list)) => Some(list),
        Some(Value::Object(map)) => map.get("text").and_then(Value::as_array),
        _ => None,
    };
    list.into_iter().flatten().map(python_str).collect()
}

/// The gold letters; `None` when the field holds something else.
fn gold(example: &Example) -> Option<BTreeSet<char>> {
    let text = match example.get("correct_letter") {
        Some(Value::Array(list)) => {
            let texts: Vec<_> = list.iter().map(python_str).collect();
            texts.join(",")
        }
        _ => example.stringified("correct_letter").into_owned(),
    };
    let mut letters = BTreeSet::new();
    for c in text.chars() {
        match c.to_ascii_uppercase() {
            letter @ 'A'..='Z' => {
                letters.insert(letter);
            }
            c if c.is_whitespace() || ",;/&+()".contains(c) => {}
            _ => return None,
        }
    }
    // A word is not a list of letters.
    let distinct = text.chars().filter(char::is_ascii_alphabetic).count() == letters.len();
    distinct.then_some(letters)
}

#[async_trait]
impl Evaluator for MultipleChoiceAccuracy {
    fn name(&self) -> &str {
        "multiple_choice"
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.names
    }

    fn identity(&self) -> Option<Identity> {
        let mut settings = format!("{:?}", self.extraction);
        if self.names[0].as_str() != NAME {
            settings.push_str(&format!(" as {}", self.names[0]));
        }
        // 2: letters in single quotes, and options that are rejected in words.
        Some(Identity::new(self.name(), 2, settings))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["correct_letter"]]
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let Some(gold) = gold(example) else {
            let found = example.stringified("correct_letter");
            return Err(format!("`correct_letter` must be option letters, found `{found}`").into());
        };
        let score = if gold.is_empty() {
            Score::value(0.0).because("the example has no gold letter")
        } else {
            match self.extract(example, &output.response()) {
                Err(reason) => Score::value(0.0).because(reason.to_string()),
                Ok(choice) => {
                    let letters: String = choice.letters.iter().collect();
                    let right = gold.iter().eq(choice.letters.iter());
                    Score::from(right).because(format!("chose {letters} ({})", choice.rule))
                }
            }
        };
        Ok([(self.names[0].clone(), score)].into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::score_now;
    use serde_json::json;

    #[test]
    fn gold_letters_in_every_spelling() {
        for (value, expected) in [
            (json!("b"), Some("B")),
            (json!(" E "), Some("E")),
            (json!("A, C"), Some("AC")),
            (json!("CA"), Some("AC")),
            (json!(["D", "B"]), Some("BD")),
            (json!(""), Some("")),
            (json!("Anna"), None),
            (json!("3"), None),
        ] {
            let example = Example::new().with("correct_letter", value.clone());
            let letters = gold(&example).map(|letters| letters.into_iter().collect::<String>());
            assert_eq!(letters.as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn several_answers_must_match_as_a_set() {
        let example = Example::new()
            .with("correct_letter", "A, C")
            .with("choices", json!(["w", "x", "y", "z"]));
        for (response, expected) in [
            ("The answers are C and A.", 1.0),
            ("AC", 1.0),
            ("A", 0.0),
            ("A, B, C", 0.0),
            ("A or C", 0.0),
        ] {
            let output = Output::reply(&example, response);
            let evaluator = MultipleChoiceAccuracy::default();
            let scores = score_now(&evaluator, &example, &output)
                .expect("never waits")
                .expect("scores");
            assert_eq!(scores.value("mc_accuracy"), Some(expected), "{response}");
            assert!(
                scores
                    .get("mc_accuracy")
                    .expect("scored")
                    .reason()
                    .is_some()
            );
        }
    }
}
