//! `RetrievalQuality`: what a system recalled against the evidence that the data marks.

use async_trait::async_trait;
use context_bench_scoring::evaluator::{Evaluator, EvaluatorError};
use context_bench_scoring::model::{Example, Identity, Output, ScoreName, Scores};
use serde_json::{Value, json};

use crate::TurnId;
use crate::measure::{ndcg_at, recall_at, reciprocal_rank};

/// `recall_at_<k>` and `ndcg_at_<k>` of the turns that a system recalled first,
/// `retrieval_recall` of all that it recalled, and `mrr`, one over the rank of the first
/// evidence.
///
/// Reads `evidence` of the example and `recalled` of the output, both lists of ids of turns,
/// `recalled` with the best first. Does not apply where nothing is marked, nor to a system
/// that does not tell what it recalled; one that recalled nothing has 0.
#[derive(Debug, Clone)]
pub struct RetrievalQuality {
    k: usize,
    names: [ScoreName; 4],
}

impl RetrievalQuality {
    /// The name by which runs know it.
    pub const NAME: &str = "retrieval";

    /// The field of an output with what was recalled.
    pub const RECALLED: &str = "recalled";

    /// The field of an example with what had to be.
    pub const EVIDENCE: &str = "evidence";

    /// Over the first `k` that were recalled, and at least one.
    pub fn at(k: usize) -> Self {
        let k = k.max(1);
        let names = [
            format!("recall_at_{k}"),
            "retrieval_recall".to_owned(),
            "mrr".to_owned(),
            format!("ndcg_at_{k}"),
        ];
        Self {
            k,
            names: names.map(ScoreName::from),
        }
    }
}

impl Default for RetrievalQuality {
    fn default() -> Self {
        Self::at(10)
    }
}

#[async_trait]
impl Evaluator for RetrievalQuality {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.names
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(self.name(), 1, json!({"k": self.k})))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&[Self::EVIDENCE]]
    }

    fn applies_to(&self, example: &Example) -> bool {
        // Other benchmarks call something else their evidence.
        ids(example.get(Self::EVIDENCE)).is_some_and(|ids| !ids.is_empty())
    }

    fn applies_to_output(&self, output: &Output) -> bool {
        output
            .get(Self::RECALLED)
            .is_some_and(|told| !told.is_null())
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let evidence = ids(example.get(Self::EVIDENCE)).unwrap_or_default();
        let recalled = match output.get(Self::RECALLED) {
            None | Some(Value::Null) => {
                return Err("the system does not tell what it recalled".into());
            }
            told => ids(told).ok_or("`recalled` is not a list of ids of turns")?,
        };
        let ranked: Vec<&TurnId> = recalled.iter().collect();
        let values = [
            recall_at(&ranked, &evidence, self.k),
            recall_at(&ranked, &evidence, usize::MAX),
            reciprocal_rank(&ranked, &evidence),
            ndcg_at(&ranked, &evidence, self.k),
        ];
        let scores = self.names.iter().cloned().zip(values);
        let scores = scores.map(|(name, value)| Some((name, value?)));
        let scores: Option<Scores> = scores
            .collect::<Option<Vec<_>>>()
            .map(|scores| scores.into_iter().collect());
        scores.ok_or_else(|| "no turn is marked as evidence".into())
    }
}

/// A list of texts as ids of turns.
fn ids(value: Option<&Value>) -> Option<Vec<TurnId>> {
    let list = value?.as_array()?.iter();
    list.map(|id| id.as_str().map(TurnId::from)).collect()
}

#[cfg(test)]
mod tests {
    use context_bench_scoring::evaluator::score_now;

    use super::*;

    fn scored(evidence: Value, recalled: Value) -> Result<Vec<(String, f64)>, String> {
        let example = Example::new().with("evidence", evidence);
        let output = Output::reply(&example, "").with("recalled", recalled);
        let scores = score_now(&RetrievalQuality::at(2), &example, &output).unwrap();
        let scores = scores.map_err(|error| error.0)?;
        let values = scores
            .iter()
            .filter_map(|(name, score)| Some((name.to_string(), score.get()?)));
        Ok(values.collect())
    }

    #[test]
    fn worked_by_hand() {
        let found = scored(json!(["b", "c"]), json!(["a", "b", "x", "c"])).unwrap();
        let ndcg = (1.0 / 3_f64.log2()) / (1.0 + 1.0 / 3_f64.log2());
        for ((name, value), (expected_name, expected)) in found.iter().zip([
            ("recall_at_2", 0.5),
            ("retrieval_recall", 1.0),
            ("mrr", 0.5),
            ("ndcg_at_2", ndcg),
        ]) {
            assert_eq!(name, expected_name);
            assert!((value - expected).abs() < 1e-12, "{name}: {value}");
        }
        // A system that recalled nothing found nothing.
        let nothing = scored(json!(["b"]), json!([])).unwrap();
        assert!(nothing.len() == 4 && nothing.iter().all(|(_, value)| *value == 0.0));
        let all = scored(json!(["b"]), json!(["b"])).unwrap();
        assert!(all.iter().all(|(_, value)| *value == 1.0), "{all:?}");
    }

    #[test]
    fn applies_where_there_is_something_to_compare() {
        let evaluator = RetrievalQuality::default();
        let names: Vec<&str> = evaluator
            .score_names()
            .iter()
            .map(ScoreName::as_str)
            .collect();
        assert_eq!(
            names,
            ["recall_at_10", "retrieval_recall", "mrr", "ndcg_at_10"]
        );
        for (evidence, applies) in [
            (json!(["D1:3"]), true),
            (json!([]), false),
            (json!(null), false),
            (json!("D1:3"), false),
            // SciFact's evidence is something else.
            (json!([{"doc": 1}]), false),
        ] {
            let example = Example::new().with("evidence", evidence);
            assert_eq!(evaluator.applies_to(&example), applies, "{example:?}");
        }
        assert!(!evaluator.applies_to(&Example::new()));
        let output = Output::reply(&Example::new(), "May");
        assert!(!evaluator.applies_to_output(&output));
        assert!(!evaluator.applies_to_output(&output.clone().with("recalled", Value::Null)));
        assert!(evaluator.applies_to_output(&output.with("recalled", json!([]))));
        for (evidence, recalled, reason) in [
            (json!([]), json!(["a"]), "no turn is marked"),
            (json!(["a"]), json!(null), "does not tell"),
            (json!(["a"]), json!([1]), "not a list of ids"),
            (json!(["a"]), json!("a"), "not a list of ids"),
        ] {
            assert!(
                scored(evidence, recalled).unwrap_err().contains(reason),
                "{reason}"
            );
        }
    }
}
