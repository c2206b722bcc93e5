//! `Suite`: the benchmarks of a run, and the groups that they stand in.

use std::collections::HashMap;
use std::sync::Arc;

use context_bench_tasks::config::Config;
use context_bench_tasks::{Leaf, Node, Results, Tree};
use indexmap::IndexMap;

use super::answer::Answered;
use super::dataset::DatasetBenchmark;
use super::evaluator::SuiteEvaluator;
use super::outcome::SuiteOutcome;
use super::{Benchmark, SCORE, SumUp};
use crate::dataset::Dataset;
use crate::evaluator::Evaluator;
use crate::model::Answer;
use crate::model::EvalRow;

/// The benchmarks of a run. Cheap to clone.
#[derive(Clone, Default)]
pub struct Suite {
    tree: Tree,
    benchmarks: IndexMap<String, Arc<dyn Benchmark>>,
    /// Scores the rows of benchmarks that score themselves.
    evaluator: Option<Arc<dyn Evaluator>>,
}

impl Suite {
    /// Benchmarks with the tree that their keys are from; see [`Tree::keys`].
    pub fn new(tree: Tree, benchmarks: impl IntoIterator<Item = Arc<dyn Benchmark>>) -> Self {
        let benchmarks: IndexMap<String, Arc<dyn Benchmark>> = benchmarks
            .into_iter()
            .map(|benchmark| (benchmark.key().to_owned(), benchmark))
            .collect();
        Self {
            evaluator: SuiteEvaluator::of(benchmarks.values())
                .map(|own| Arc::new(own) as Arc<dyn Evaluator>),
            tree,
            benchmarks,
        }
    }

    /// Takes the rows of benchmarks that score themselves as this one scored them, such
    /// as in a stored run; `None` when none did.
    #[must_use]
    pub(crate) fn scored_by(mut self, evaluator: Option<Arc<dyn Evaluator>>) -> Self {
        self.evaluator = evaluator;
        self
    }

    /// What was selected.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// All benchmarks in order.
    pub fn benchmarks(&self) -> impl Iterator<Item = &Arc<dyn Benchmark>> {
        self.benchmarks.values()
    }

    /// Whether a benchmark scores itself for more than what its figures go by.
    pub(crate) fn scores_tasks(&self) -> bool {
        let mut own = self.benchmarks.values().filter(|one| one.scores_itself());
        own.any(|one| one.makes_prompts())
    }

    /// The first benchmark that asks for likelihoods.
    pub fn first_with_likelihoods(&self) -> Option<&str> {
        let mut benchmarks = self.benchmarks.values();
        let found = benchmarks.find(|benchmark| benchmark.asks_for_likelihoods())?;
        Some(found.key())
    }

    /// The examples of all benchmarks: those of tasks with prompts of their own first,
    /// then those of datasets, under distinct ids and as often as they are to be asked
    /// about. The same examples under two keys are there once.
    pub fn examples(&self) -> Dataset {
        let chained = |makes_prompts: bool| {
            let own = self
                .distinct()
                .filter(|one| one.makes_prompts() == makes_prompts);
            let (as_they_are, own): (Vec<_>, Vec<_>) = own.partition(|one| one.keeps_ids());
            let chained = |own: Vec<&Arc<dyn Benchmark>>| {
                own.into_iter()
                    .map(|one| one.examples())
                    .reduce(Dataset::chain)
            };
            let own = chained(own);
            let own = match makes_prompts {
                true => own,
                false => own.map(Dataset::with_distinct_ids),
            };
            own.into_iter()
                .chain(chained(as_they_are))
                .reduce(Dataset::chain)
        };
        let repeats = self.distinct().map(|benchmark| benchmark.repeats()).max();
        let datasets = chained(false).map(|datasets| match repeats.unwrap_or(1) {
            1 => datasets,
            n => datasets.times(n),
        });
        let all = chained(true).into_iter().chain(datasets);
        all.reduce(Dataset::chain)
            .unwrap_or_else(|| Vec::new().into())
    }

    /// How the examples of each tag are scored: by which evaluators, by which score they
    /// stand for quality, and whether answers are held until the end.
    pub(crate) fn scoring(
        &self,
    ) -> impl Iterator<Item = (&str, Vec<Arc<dyn Evaluator>>, Option<&str>, bool)> {
        self.distinct().map(|benchmark| {
            let mut evaluators = benchmark.evaluators().to_vec();
            if let Some(own) = self
                .evaluator
                .as_ref()
                .filter(|_| benchmark.scores_itself())
            {
                evaluators.push(Arc::clone(own));
            }
            let field = benchmark.score_field();
            (
                benchmark.tag(),
                evaluators,
                field,
                benchmark.needs_answers(),
            )
        })
    }

    /// The first benchmark of each tag.
    fn distinct(&self) -> impl Iterator<Item = &Arc<dyn Benchmark>> {
        let mut seen = std::collections::HashSet::new();
        let benchmarks = self.benchmarks.values();
        benchmarks.filter(move |benchmark| seen.insert(benchmark.tag().to_owned()))
    }

    /// Sums up the rows of one system; `answers` are by place of the row. What cannot be
    /// summed up, such as by a function that fails, costs nothing else its value.
    pub fn sum_up(
        &self,
        rows: &[EvalRow],
        answers: &HashMap<usize, Answer>,
        how: &SumUp,
    ) -> SuiteOutcome {
        let mut by_tag: IndexMap<&str, Vec<Answered<'_>>> = IndexMap::new();
        for (at, row) in rows.iter().enumerate() {
            let answer = answers.get(&at);
            let of_tag = by_tag.entry(&*row.dataset).or_default();
            of_tag.push(Answered { row, answer });
        }
        let mut tasks = Vec::new();
        let mut tree = self.tree.clone();
        let mut outcome = SuiteOutcome {
            results: Results::new(&Tree::default(), &[], how.macro_error),
            counts: IndexMap::new(),
            datasets: IndexMap::new(),
            samples: IndexMap::new(),
            failed: Vec::new(),
            warnings: Vec::new(),
        };
        // Examples may say themselves which dataset they are of.
        let known = |tag: &str| self.benchmarks.values().any(|one| one.tag() == tag);
        let others: Vec<_> = by_tag.iter().filter(|(tag, _)| !known(tag)).collect();
        let n_elsewhere: usize = others.iter().map(|(_, rows)| rows.len()).sum();
        let mut add = |benchmark: &dyn Benchmark, rows: &[Answered<'_>]| {
            let mut found = benchmark.sum_up(rows, how);
            let key = benchmark.key();
            if benchmark.is_open() {
                let elsewhere = n_elsewhere / benchmark.repeats();
                let elsewhere = elsewhere.min(found.counts.not_run);
                found.counts.not_run -= elsewhere;
                found.counts.planned -= elsewhere;
            }
            tasks.push(found.result);
            outcome.counts.insert(key.to_owned(), found.counts);
            outcome.warnings.extend(found.warnings);
            outcome.failed.extend(found.failed);
            if let Some(report) = found.report {
                outcome.datasets.insert(key.to_owned(), report);
            }
            if how.samples {
                outcome.samples.insert(key.to_owned(), found.samples);
            }
        };
        for benchmark in self.benchmarks.values() {
            let rows = by_tag.get(benchmark.tag()).map_or(&[][..], Vec::as_slice);
            if rows.is_empty() && benchmark.is_open() && n_elsewhere > 0 {
                tree.nodes.retain(|node| node.id() != benchmark.key());
            } else {
                add(&**benchmark, rows);
            }
        }
        for (tag, rows) in &others {
            let benchmark = DatasetBenchmark {
                key: (**tag).to_owned(),
                tag: (**tag).to_owned(),
                common_score: Some(SCORE.to_owned()),
                repeats: self.distinct().map(|one| one.repeats()).max().unwrap_or(1),
                ..DatasetBenchmark::default()
            };
            tree.nodes.push(dataset_leaf(tag));
            add(&benchmark, rows);
        }
        outcome.results = Results::new(&tree, &tasks, how.macro_error);
        outcome.warnings.extend(outcome.results.warnings.clone());
        outcome
    }
}

/// A dataset that stands in no group.
pub fn dataset_leaf(key: &str) -> Node {
    Node::Task(Leaf {
        path: key.to_owned(),
        name: key.to_owned(),
        id: key.to_owned(),
        config: Config::new(),
        format: None,
        python: false,
    })
}
