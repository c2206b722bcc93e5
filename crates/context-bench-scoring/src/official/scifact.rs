//! SciFact: which abstracts decide a claim, how, and by which sentences.
//!
//! Wadden et al. (2020), the authors' evaluation. All figures are micro F1 over the corpus,
//! so what one claim gives are counts. An abstract is right when its label is; *with
//! rationale* only when one gold set of sentences lies whole among the first three that
//! were named. A sentence is right when the gold set that it is of was named whole, and the
//! label is right.

use serde_json::Value;

use crate::text::stringify::python_str;

/// How many sentences of an abstract may stand for its rationale.
const MOST_SENTENCES: usize = 3;

/// What an abstract says about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// It supports the claim.
    Support,
    /// It contradicts the claim.
    Contradict,
}

impl Label {
    /// `SUPPORT`, `CONTRADICT` and how else data sets spell them; nothing for others, as
    /// an abstract that decides nothing is not among the evidence.
    pub fn named(text: &str) -> Option<Self> {
        match text.trim().to_ascii_uppercase().as_str() {
            "SUPPORT" | "SUPPORTS" | "SUPPORTED" => Some(Self::Support),
            "CONTRADICT" | "CONTRADICTS" | "CONTRADICTED" | "REFUTE" | "REFUTES" | "REFUTED" => {
                Some(Self::Contradict)
            }
            _ => None,
        }
    }
}

/// The evidence of one abstract: what is right, or what was predicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The id of the abstract.
    pub abstract_id: String,
    /// What it says about the claim.
    pub label: Label,
    /// Sets of sentences, each of which is enough; of a prediction the only one.
    pub rationales: Vec<Vec<i64>>,
}

impl Evidence {
    /// What is right: a list of `{doc, label, sentences: [[0, 2], [5]]}`.
    pub fn gold(value: &Value) -> Vec<Self> {
        let entries = value.as_array().into_iter().flatten();
        let read = |entry: &Value| {
            let sets = entry["sentences"].as_array().into_iter().flatten();
            Some(Self {
                abstract_id: python_str(entry.get("doc")?).into_owned(),
                label: Label::named(entry["label"].as_str()?)?,
                rationales: sets.map(numbers).collect(),
            })
        };
        entries.filter_map(read).collect()
    }

    /// What a response predicts: the first map in it that reads as the authors' format,
    /// `{"ID": {"label": "SUPPORT", "sentences": [0, 2]}}`, bare or under `evidence`. A
    /// response without one predicts nothing.
    pub fn predicted(response: &str) -> Vec<Self> {
        let mut at = 0;
        for _ in 0..MOST_ATTEMPTS {
            let Some(start) = response[at..].find('{').map(|found| at + found) else {
                break;
            };
            let mut values =
                serde_json::Deserializer::from_str(&response[start..]).into_iter::<Value>();
            if let Some(Ok(value)) = values.next()
                && let Some(found) = Self::of_map(&value)
            {
                return found;
            }
            at = start + 1;
        }
        Vec::new()
    }

    fn of_map(value: &Value) -> Option<Vec<Self>> {
        let map = match value.get("evidence") {
            Some(inner) => inner.as_object()?,
            None => value.as_object()?,
        };
        let read = |(id, entry): (&String, &Value)| {
            let label = entry.get("label")?.as_str()?;
            Some(Label::named(label).map(|label| Self {
                abstract_id: id.trim().to_owned(),
                label,
                rationales: vec![numbers(&entry["sentences"])],
            }))
        };
        let all: Option<Vec<Option<Self>>> = map.iter().map(read).collect();
        Some(all?.into_iter().flatten().collect())
    }

    fn sentences(&self) -> &[i64] {
        self.rationales.first().map_or(&[], Vec::as_slice)
    }
}

/// Each `{` of a response may be where the prediction begins; a text that is nothing but
/// braces is not searched for ever.
const MOST_ATTEMPTS: usize = 200;

fn numbers(value: &Value) -> Vec<i64> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_i64).collect()
}

/// How many were right, predicted and expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Of those that were predicted, how many are right.
    pub correct: usize,
    /// How many were predicted.
    pub predicted: usize,
    /// How many there are.
    pub expected: usize,
}

impl Counts {
    /// F1; 1 where nothing was to be found and nothing was.
    pub fn f1(self) -> f64 {
        match self.predicted + self.expected {
            0 => 1.0,
            both => 2.0 * self.correct as f64 / both as f64,
        }
    }
}

/// What one claim contributes to the figures over the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClaimCounts {
    /// Abstracts with the right label.
    pub abstracts: Counts,
    /// Abstracts with the right label and a whole rationale.
    pub rationales: Counts,
    /// Sentences of whole rationales, under the right label.
    pub sentences: Counts,
}

impl ClaimCounts {
    /// Of a prediction for one claim.
    pub fn of(predicted: &[Evidence], gold: &[Evidence]) -> Self {
        let mut counts = Self::default();
        for right in gold {
            counts.abstracts.expected += 1;
            counts.sentences.expected += right.rationales.iter().map(Vec::len).sum::<usize>();
        }
        for said in predicted {
            counts.abstracts.predicted += 1;
            counts.sentences.predicted += said.sentences().len();
            let right = gold
                .iter()
                .find(|gold| gold.abstract_id == said.abstract_id);
            let Some(right) = right.filter(|right| right.label == said.label) else {
                continue;
            };
            counts.abstracts.correct += 1;
            let first = &said.sentences()[..said.sentences().len().min(MOST_SENTENCES)];
            let is_whole = |set: &Vec<i64>, within: &[i64]| {
                set.iter().all(|sentence| within.contains(sentence))
            };
            let sets = || right.rationales.iter();
            counts.rationales.correct += usize::from(sets().any(|set| is_whole(set, first)));
            let counted = said.sentences().iter().filter(|sentence| {
                sets().any(|set| set.contains(sentence) && is_whole(set, said.sentences()))
            });
            counts.sentences.correct += counted.count();
        }
        counts.rationales.predicted = counts.abstracts.predicted;
        counts.rationales.expected = counts.abstracts.expected;
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn counts(response: &str) -> [[usize; 3]; 3] {
        let gold = json!([
            {"doc": 11, "label": "SUPPORT", "sentences": [[0, 2], [5]]},
            {"doc": 12, "label": "SUPPORT", "sentences": [[1]]},
        ]);
        let found = ClaimCounts::of(&Evidence::predicted(response), &Evidence::gold(&gold));
        [found.abstracts, found.rationales, found.sentences]
            .map(|one| [one.correct, one.predicted, one.expected])
    }

    #[test]
    fn a_rationale_must_be_whole_and_among_the_first_three() {
        for (response, expected) in [
            // Everything, in the authors' format.
            (
                r#"{"11": {"label": "SUPPORT", "sentences": [0, 2]}, "12": {"label": "SUPPORT", "sentences": [1]}}"#,
                [[2, 2, 2], [2, 2, 2], [3, 3, 4]],
            ),
            // Half a set does not count; the label counts all the same.
            (
                r#"Here: {"evidence": {"11": {"label": "supports", "sentences": [0]}}}"#,
                [[1, 1, 2], [0, 1, 2], [0, 1, 4]],
            ),
            // The set is whole, but not among the first three sentences.
            (
                r#"{"11": {"label": "SUPPORT", "sentences": [7, 8, 9, 5]}}"#,
                [[1, 1, 2], [0, 1, 2], [1, 4, 4]],
            ),
            (
                r#"{"11": {"label": "REFUTES", "sentences": [5]}, "99": {"label": "SUPPORT", "sentences": [1]}}"#,
                [[0, 2, 2], [0, 2, 2], [0, 2, 4]],
            ),
            // An abstract that decides nothing is not evidence.
            (
                r#"{"11": {"label": "NOT_ENOUGH_INFO", "sentences": []}}"#,
                [[0, 0, 2], [0, 0, 2], [0, 0, 4]],
            ),
            ("{}", [[0, 0, 2], [0, 0, 2], [0, 0, 4]]),
            ("It is supported {", [[0, 0, 2], [0, 0, 2], [0, 0, 4]]),
        ] {
            assert_eq!(counts(response), expected, "{response}");
        }
    }

    #[test]
    fn nothing_to_find_and_nothing_found_is_right() {
        let found = ClaimCounts::of(&[], &[]);
        assert_eq!(found.abstracts.f1(), 1.0);
        let said = Evidence::predicted(r#"{"11": {"label": "SUPPORT", "sentences": [0]}}"#);
        assert_eq!(ClaimCounts::of(&said, &[]).sentences.f1(), 0.0);
    }
}
