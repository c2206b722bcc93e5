//! From the benchmarks of a spec to a suite.

use std::sync::Arc;

use context_bench_error::suggest::quoted_list;
use context_bench_tasks::{Host, Options, Tree};

use super::benchmark_collector::BenchmarkCollector;
use super::datasets::RequestedDataset;
use super::known::Known;
use super::labels::labels;
use super::scoring::Scoring;
use super::{Notice, PlanError, Planner, Systems, files};
use crate::benchmark::{SCORE, Suite};
use crate::dataset::Skipped;
use crate::evaluator::Evaluator;
use crate::plan::PlannedBenchmark;

/// The benchmarks of a run.
pub(super) struct PlannedSuite {
    pub(super) suite: Suite,
    pub(super) planned: Vec<PlannedBenchmark>,
    /// All evaluators that were made.
    pub(super) evaluators: Vec<Arc<dyn Evaluator>>,
    /// The bad records of tasks that were left out because the user asked for that.
    pub(super) skipped: Skipped,
    pub(super) score_field: Option<String>,
    pub(super) is_common: bool,
    pub(super) per_dataset: bool,
    pub(super) judge: Option<(String, String)>,
}

impl Planner<'_> {
    pub(super) fn benchmarks(
        &mut self,
        known: &Known,
        systems: &Systems,
        options: &Options,
        host: &Arc<dyn Host>,
        mut scoring: Scoring<'_>,
    ) -> Result<PlannedSuite, PlanError> {
        let spec = self.spec;
        let tasks: Vec<String> = spec
            .benchmarks
            .iter()
            .filter_map(|one| one.task.clone())
            .collect();
        let datasets = spec.benchmarks.iter();
        let datasets: Vec<&str> = datasets.filter_map(|one| one.dataset.as_deref()).collect();
        let mut labels = labels(&datasets).into_iter();
        let mut gathered = BenchmarkCollector::default();
        let mut tasks_done = false;
        for benchmark in &spec.benchmarks {
            if let Some(typed) = &benchmark.dataset {
                let tag = labels.next().unwrap_or_else(|| typed.clone());
                let asked = RequestedDataset {
                    typed,
                    tag,
                    systems,
                };
                self.dataset(asked, known, options, &mut scoring, &mut gathered)?;
            } else if let Some(name) = &benchmark.given {
                let brought = self.around.given.examples.get(name);
                let brought = brought.ok_or_else(|| {
                    PlanError::new(format!("no examples named `{name}` were passed in"))
                        .with_hint("`given` is for programs; name a `dataset` or a `task`")
                })?;
                self.given(name, brought, systems, &mut scoring, &mut gathered)?;
            } else if let Some(task_index) = known.task_index.as_ref().filter(|_| !tasks_done) {
                tasks_done = true;
                self.tasks(
                    &tasks,
                    task_index,
                    options,
                    host,
                    &mut scoring,
                    &mut gathered,
                )?;
            }
        }
        self.warn_of_no_shots(&gathered, options);
        self.notices
            .extend(files::unused_map(&spec.data, gathered.has_files));
        let evaluates = spec.scoring.evaluators.is_some() || spec.scoring.judge_url.is_some();
        if gathered.fields.is_empty() && evaluates {
            self.notices.push(Notice::new(
                "`--evaluator` and `--judge-url` have no effect: tasks have their metrics",
            ));
        }
        let has_tasks = gathered.n_tasks > 0 || !tasks.is_empty();
        let has_score = gathered.planned.iter().any(|one| one.score_field.is_some());
        let field = scoring.score_field(&gathered.fields, has_tasks);
        let judge = scoring.judge();
        let evaluators = scoring.into_evaluators();
        let cautions = evaluators.iter().filter_map(|one| one.caution());
        self.notices.extend(cautions.map(Notice::new));
        Ok(PlannedSuite {
            is_common: field == SCORE && spec.scoring.score_field.is_none() || has_tasks,
            score_field: (has_score || !has_tasks).then_some(field),
            per_dataset: !has_tasks && gathered.fields.len() > 1,
            judge,
            evaluators,
            suite: Suite::new(
                Tree {
                    nodes: gathered.nodes,
                },
                gathered.benchmarks,
            ),
            planned: gathered.planned,
            skipped: gathered.skipped,
        })
    }

    /// Datasets as they are have prompts without examples, whatever the user asks for.
    fn warn_of_no_shots(&mut self, gathered: &BenchmarkCollector, options: &Options) {
        let datasets = gathered.planned.iter();
        let datasets = datasets.filter(|one| one.kind.is_dataset());
        let datasets: Vec<&str> = datasets.map(|one| one.key.as_str()).collect();
        if options.num_fewshot.is_none_or(|n| n == 0) || datasets.is_empty() {
            return;
        }
        let shown = quoted_list(&datasets[..datasets.len().min(5)], "and");
        let more = match datasets.len().saturating_sub(5) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let what = format!(
            "`--num-fewshot` has no effect on {shown}{more}: datasets of the catalog have the \
             worked examples of their own prompts, or none"
        );
        let hint = "a task file with `dataset` and `doc_to_text` can have examples";
        self.notices.push(Notice::new(what).with_hint(hint));
    }
}
