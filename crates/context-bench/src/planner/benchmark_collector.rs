//! `BenchmarkCollector`: the benchmarks of a run while they are put together, and the plan of each.

use std::collections::HashSet;
use std::sync::Arc;

use context_bench_tasks::{Host, Node, Task};

use crate::benchmark::{
    Benchmark, ClassBenchmark, ClassTask, DatasetBenchmark, TaskBenchmark, TaskDocuments,
};
use crate::dataset::Skipped;
use crate::evaluator::Evaluator;
use crate::plan::{BenchmarkKind, PlannedBenchmark};
use crate::store::EvaluatorEntry;

/// Collects the benchmarks of a run.
#[derive(Default)]
pub(super) struct BenchmarkCollector {
    pub(super) nodes: Vec<Node>,
    pub(super) benchmarks: Vec<Arc<dyn Benchmark>>,
    pub(super) planned: Vec<PlannedBenchmark>,
    pub(super) keys: HashSet<String>,
    /// The score that stands for each dataset.
    pub(super) fields: Vec<String>,
    pub(super) n_tasks: usize,
    pub(super) skipped: Skipped,
    /// Whether there is a plain file of examples.
    pub(super) has_files: bool,
}

impl BenchmarkCollector {
    pub(super) fn add_dataset(&mut self, benchmark: DatasetBenchmark) {
        self.fields.extend(benchmark.score_field.clone());
        let evaluators = benchmark.evaluators.iter();
        self.planned.push(PlannedBenchmark {
            key: benchmark.key.clone(),
            tag: benchmark.tag.clone(),
            kind: match benchmark.is_memory {
                true => BenchmarkKind::Memory,
                false => BenchmarkKind::Dataset,
            },
            alias: benchmark.alias.clone(),
            evaluators: evaluators.map(|one| one.name().to_owned()).collect(),
            scorers: scorers(&benchmark.evaluators),
            score_field: benchmark.score_field.clone(),
            documents: benchmark.documents,
            original: None,
            is_open: benchmark.is_open,
            keeps_ids: benchmark.keeps_ids,
            reporting: benchmark.reporting.clone(),
            repeats: benchmark.repeats,
            num_fewshot: benchmark.num_fewshot(),
            prompt: benchmark.prompt.as_ref().map(|one| one.parts().clone()),
            ..PlannedBenchmark::default()
        });
        self.benchmarks.push(Arc::new(benchmark));
    }

    pub(super) fn add_task(
        &mut self,
        key: &str,
        task: Arc<Task>,
        host: Arc<dyn Host>,
        documents: TaskDocuments,
        samples: bool,
    ) {
        let planned = PlannedBenchmark {
            key: key.to_owned(),
            tag: key.to_owned(),
            kind: BenchmarkKind::Task,
            alias: task.alias.clone(),
            documents: Some(documents.planned),
            original: documents.original,
            repeats: task.repeats.max(1),
            num_fewshot: Some(documents.num_fewshot),
            ..PlannedBenchmark::default()
        };
        let benchmark = TaskBenchmark::new(key, task, host, documents, samples);
        self.planned.push(PlannedBenchmark {
            score_field: benchmark.score_field().map(str::to_owned),
            ..planned
        });
        self.benchmarks.push(Arc::new(benchmark));
    }

    pub(super) fn add_class(&mut self, key: &str, class: ClassTask, samples: bool) {
        let benchmark = ClassBenchmark::new(key, class, samples);
        self.planned.push(PlannedBenchmark {
            key: key.to_owned(),
            tag: key.to_owned(),
            kind: BenchmarkKind::Class,
            documents: benchmark.documents(),
            repeats: 1,
            num_fewshot: Some(benchmark.num_fewshot()),
            ..PlannedBenchmark::default()
        });
        self.benchmarks.push(Arc::new(benchmark));
    }
}

/// The keys of evaluators in the store.
pub(super) fn scorers(evaluators: &[Arc<dyn Evaluator>]) -> Vec<String> {
    evaluators.iter().map(|one| scorer(&**one)).collect()
}

/// The key of an evaluator in the store; empty when its scores cannot be reused.
pub(super) fn scorer(evaluator: &dyn Evaluator) -> String {
    let entry = evaluator
        .identity()
        .map(|identity| EvaluatorEntry::new(evaluator.name(), identity));
    entry.map_or_else(String::new, |entry| entry.key().to_string())
}
