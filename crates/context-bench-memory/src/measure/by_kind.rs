//! Figures per kind of question, with intervals that rest on conversations.

use std::collections::BTreeMap;

use context_bench_scoring::model::{Interval, Measurement, Unit};
use context_bench_scoring::stats::{clustered_mean, mean_interval};

use super::Retrieval;

/// Values per kind of question. Questions about one conversation resemble each other, so
/// errors and intervals rest on conversations, not on questions.
#[derive(Debug, Clone, Default)]
pub struct ByKind {
    values: BTreeMap<String, Vec<(u32, Retrieval)>>,
    unmarked: BTreeMap<String, usize>,
}

/// The figures of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindFigures {
    /// How many questions were measured.
    pub n: usize,
    /// How many were left out because no evidence is marked.
    pub unmarked: usize,
    /// Mean recall@k.
    pub recall_at_k: Measurement,
    /// Mean recall of everything that was handed over.
    pub recall: Measurement,
    /// Mean reciprocal rank.
    pub mrr: Measurement,
    /// Mean nDCG@k.
    pub ndcg_at_k: Measurement,
    /// Mean tokens that were handed over.
    pub tokens: Measurement,
}

impl ByKind {
    /// Adds a question: its kind, the number of its conversation, and how it was served;
    /// `None` when it has no evidence.
    pub fn add(&mut self, kind: &str, conversation: u32, served: Option<Retrieval>) {
        match served {
            Some(served) => {
                let of_kind = self.values.entry(kind.to_owned()).or_default();
                of_kind.push((conversation, served));
            }
            None => *self.unmarked.entry(kind.to_owned()).or_default() += 1,
        }
    }

    /// The kinds, sorted.
    pub fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = self.values.keys().map(String::as_str).collect();
        kinds.extend(self.unmarked.keys().map(String::as_str));
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// The figures of a kind.
    pub fn of(&self, kind: &str) -> KindFigures {
        let values = self.values.get(kind).map_or(&[][..], Vec::as_slice);
        let unmarked = self.unmarked.get(kind).copied().unwrap_or(0);
        figures(values, unmarked)
    }

    /// The figures of all questions together.
    pub fn all(&self) -> KindFigures {
        let values: Vec<(u32, Retrieval)> = self.values.values().flatten().copied().collect();
        figures(&values, self.unmarked.values().sum())
    }
}

fn figures(values: &[(u32, Retrieval)], unmarked: usize) -> KindFigures {
    let clusters: Vec<u32> = values
        .iter()
        .map(|(conversation, _)| *conversation)
        .collect();
    let measured = |unit: Unit, value: fn(&Retrieval) -> f64| {
        let values: Vec<f64> = values.iter().map(|(_, served)| value(served)).collect();
        let Some(mean) = clustered_mean(&values, &clusters) else {
            return Measurement::missing(unit);
        };
        Measurement {
            value: Some(mean.value),
            unit,
            n: Some(mean.n),
            examples: (mean.clusters < mean.n).then_some(mean.clusters),
            stderr: mean.stderr,
            interval: mean_interval(&mean).map(|interval| match unit {
                Unit::Tokens => interval,
                // All others lie between 0 and 1, whatever a t interval says.
                _ => Interval {
                    low: interval.low.max(0.0),
                    high: interval.high.min(1.0),
                },
            }),
        }
    };
    KindFigures {
        n: values.len(),
        unmarked,
        recall_at_k: measured(Unit::Share, |served| served.recall_at_k),
        recall: measured(Unit::Share, |served| served.recall),
        mrr: measured(Unit::Number, |served| served.reciprocal_rank),
        ndcg_at_k: measured(Unit::Number, |served| served.ndcg_at_k),
        tokens: measured(Unit::Tokens, |served| served.tokens as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(recall: f64) -> Option<Retrieval> {
        Some(Retrieval {
            recall_at_k: recall,
            recall,
            reciprocal_rank: recall,
            ndcg_at_k: recall,
            tokens: 7,
        })
    }

    #[test]
    fn kinds_are_apart_and_intervals_rest_on_conversations() {
        let mut by_kind = ByKind::default();
        for (kind, conversation, recall) in [
            ("b", 0, 1.0),
            ("b", 0, 1.0),
            ("b", 1, 0.0),
            ("b", 1, 0.0),
            ("a", 0, 0.5),
        ] {
            by_kind.add(kind, conversation, served(recall));
        }
        by_kind.add("c", 1, None);
        assert_eq!(by_kind.kinds(), ["a", "b", "c"]);
        let b = by_kind.of("b");
        assert_eq!((b.n, b.recall_at_k.value), (4, Some(0.5)));
        assert_eq!(b.recall_at_k.examples, Some(2));
        // Two conversations: an error as of two values, not of four.
        assert!((b.recall_at_k.stderr.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(by_kind.of("a").recall_at_k.interval, None);
        let c = by_kind.of("c");
        assert_eq!((c.n, c.unmarked, c.mrr.value), (0, 1, None));
        let all = by_kind.all();
        assert_eq!((all.n, all.unmarked, all.recall.value), (5, 1, Some(0.5)));
    }
}
