//! Metrics that the reference takes from another library, document by document.

use context_bench_template::python;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// A metric of a generated answer that is not part of the harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum External {
    /// 1 for the right label.
    Accuracy,
    /// F1 of the one document. Averaged over classes it is the accuracy; without
    /// `average` only class 1 counts.
    F1 {
        /// Whether only class 1 counts.
        binary: bool,
    },
    /// Word error rate: edits of words by words of the reference.
    WordErrors,
}

impl External {
    /// Whether a metric is known by its name alone.
    pub fn is_named(name: &str) -> bool {
        matches!(name, "accuracy" | "wer")
    }

    /// The metric of a name, with its arguments.
    pub fn named(name: &str, arguments: &Map<String, Value>) -> Option<Self> {
        match name {
            "accuracy" | "acc" => Some(Self::Accuracy),
            "f1" => Some(Self::F1 {
                binary: !matches!(
                    arguments.get("average").and_then(Value::as_str),
                    Some("micro" | "macro" | "weighted")
                ),
            }),
            "wer" => Some(Self::WordErrors),
            _ => None,
        }
    }

    /// Whether more is better.
    pub fn higher_is_better(self) -> bool {
        self != Self::WordErrors
    }

    /// The value of an answer; of several right ones the one it is nearest to counts.
    pub fn score(self, references: &[String], prediction: &Value) -> Result<f64> {
        let text = match prediction {
            Value::Array(items) => python::str(items.first().unwrap_or(&Value::Null)),
            one => python::str(one),
        };
        let same = references.contains(&text);
        Ok(match self {
            Self::Accuracy => f64::from(u8::from(same)),
            Self::F1 { binary } => f64::from(u8::from(same && (!binary || text == "1"))),
            Self::WordErrors => {
                let mut least = f64::INFINITY;
                for reference in references {
                    least = least.min(word_errors(reference, &text)?);
                }
                least
            }
        })
    }
}

/// Edits of words that make one text of the other, by words of the reference.
fn word_errors(reference: &str, text: &str) -> Result<f64> {
    let reference: Vec<&str> = reference.split_whitespace().collect();
    if reference.is_empty() {
        return Err(Error::new(
            "`wer` needs words, and the right answer has none",
        ));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut row: Vec<usize> = (0..=words.len()).collect();
    for (i, right) in reference.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, word) in words.iter().enumerate() {
            let change = before + usize::from(right != word);
            before = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(before + 1);
        }
    }
    Ok(row[words.len()] as f64 / reference.len() as f64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn word_errors_count_edits_by_words_of_the_reference() {
        for (reference, text, expected) in [
            ("the cat sat", "the cat sat", 0.0),
            ("the cat sat", "the  cat\tsat ", 0.0),
            ("the cat sat", "a cat sat down", 2.0 / 3.0),
            ("the cat sat", "", 1.0),
            ("one", "one two three", 2.0),
        ] {
            assert_eq!(word_errors(reference, text).unwrap(), expected, "{text}");
        }
        assert!(word_errors(" ", "x").is_err());
    }

    #[test]
    fn labels_are_compared_as_text() {
        let f1 =
            |average: &str| External::named("f1", json!({"average": average}).as_object().unwrap());
        let references = ["2".to_owned()];
        let micro = f1("micro").unwrap();
        assert_eq!(micro.score(&references, &json!(2)).unwrap(), 1.0);
        assert_eq!(micro.score(&references, &json!("1")).unwrap(), 0.0);
        // Class 2 is not the class that a binary F1 is about.
        let binary = f1("binary").unwrap();
        assert_eq!(binary.score(&references, &json!(2)).unwrap(), 0.0);
        let accuracy = External::named("accuracy", &Map::new()).unwrap();
        assert_eq!(
            accuracy.score(&references, &json!(["2", "3"])).unwrap(),
            1.0
        );
    }
}
