//! `UnavailableBenchmark`: stands for one that a stored run had and that cannot be made
//! again here, such as a Python class whose file is gone. It costs no other its results.

use context_bench_tasks::{Error, TaskResult};
use serde_json::Map;

use super::answer::Answered;
use super::outcome::{BenchmarkOutcome, DocumentCounts};
use super::{Benchmark, SumUp};
use crate::dataset::Dataset;

/// A benchmark that cannot be summed up here.
pub struct UnavailableBenchmark {
    /// What results call it.
    pub key: String,
    /// How many documents it had.
    pub documents: Option<usize>,
    /// Why it cannot be made again.
    pub why: Error,
}

impl Benchmark for UnavailableBenchmark {
    fn key(&self) -> &str {
        &self.key
    }

    fn examples(&self) -> Dataset {
        Vec::new().into()
    }

    fn documents(&self) -> Option<usize> {
        self.documents
    }

    fn score_field(&self) -> Option<&str> {
        None
    }

    fn sum_up(&self, rows: &[Answered<'_>], _: &SumUp) -> BenchmarkOutcome {
        let planned = self.documents.unwrap_or(0).max(rows.len());
        let mut counts = DocumentCounts {
            planned,
            unscored: rows.len(),
            not_run: planned - rows.len(),
            ..DocumentCounts::default()
        };
        if let Some(first) = rows.first() {
            counts.lost(&first.row.example_id, &self.why.to_string());
        }
        let what = format!("task `{}` could not be scored", self.key);
        BenchmarkOutcome {
            result: TaskResult {
                key: self.key.clone(),
                alias: self.key.clone(),
                scores: Map::new(),
                sample_len: 0,
                sizes: Default::default(),
                version: None,
                num_fewshot: None,
                higher_is_better: Default::default(),
                headline: None,
                unlisted: Default::default(),
                n_samples: (Some(planned), planned),
                config: Map::new(),
            },
            counts,
            samples: Vec::new(),
            failed: vec![self.why.clone().prefixed(what)],
            warnings: Vec::new(),
            report: None,
        }
    }
}
