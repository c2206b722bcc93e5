//! [`Measures`]: how a result was measured, so that a part of its rows can be measured the same
//! way. Holds no rows.

use std::fmt;
use std::sync::Arc;

use context_bench_scoring::price::RowPrices;
use indexmap::IndexMap;

use crate::evaluator::JudgeRule;
use crate::metric::{AttemptSum, ComparedSystem, Comparison, Metric, RowSum};
use crate::model::{Counts, EvalRow, Interval, Summary};
use crate::result::EvalResult;

/// What a result was measured by.
#[derive(Clone, Default)]
pub(crate) struct Measures {
    pub(crate) metrics: Vec<Arc<dyn Metric>>,
    pub(crate) comparisons: Vec<Arc<dyn Comparison>>,
    /// Scores that rows may have, as far as evaluators say.
    pub(crate) scores: Vec<String>,
    /// Datasets, tasks and groups, each with the tags of its rows.
    pub(crate) benchmarks: IndexMap<String, Vec<String>>,
    /// The score that stands for quality, and from where on a row passes.
    pub(crate) score_field: Option<String>,
    pub(crate) threshold: f64,
    /// The system that others are compared with, when one was named.
    pub(crate) baseline: Option<String>,
    /// Arms that are another system again; rules are not about them unless they are named.
    pub(crate) controls: Vec<String>,
    /// What rows cost.
    pub(crate) prices: Option<Arc<RowPrices>>,
}

/// Sums of the rows of one system.
pub(crate) struct SystemSum<'a> {
    metrics: Vec<Box<dyn RowSum + 'a>>,
    /// What comparisons say of the system alone.
    comparisons: Vec<Option<Box<dyn RowSum + 'a>>>,
    attempts: AttemptSum,
}

/// What the sums of a system come to.
#[derive(Default)]
pub(crate) struct SystemSummary {
    summary: Summary,
    comparisons: Vec<Option<Summary>>,
}

impl SystemSum<'_> {
    pub(crate) fn add(&mut self, row: &EvalRow) {
        self.attempts.add(row);
        let comparisons = self.comparisons.iter_mut().flatten();
        for sum in self.metrics.iter_mut().chain(comparisons) {
            sum.add(row);
        }
    }

    pub(crate) fn finish(self) -> SystemSummary {
        let attempts = self.attempts.finish();
        let attempts = attempts.as_deref();
        let mut summary = Summary::new();
        for sum in self.metrics {
            summary.merge(sum.finish(attempts));
        }
        let comparisons = self.comparisons.into_iter();
        SystemSummary {
            summary,
            comparisons: comparisons
                .map(|sum| sum.map(|sum| sum.finish(attempts)))
                .collect(),
        }
    }
}

impl fmt::Debug for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metrics: Vec<&str> = self.metrics.iter().map(|one| one.name()).collect();
        f.debug_struct("Measures")
            .field("metrics", &metrics)
            .field("benchmarks", &self.benchmarks)
            .finish_non_exhaustive()
    }
}

impl Measures {
    /// The summary of each system.
    pub(crate) fn summaries(
        &self,
        systems: &IndexMap<String, &[EvalRow]>,
        is_missing: impl Fn(&str) -> bool,
    ) -> IndexMap<String, Summary> {
        let mut summaries = IndexMap::new();
        for (name, rows) in systems {
            let mut summary = Summary::new();
            for metric in &self.metrics {
                summary.merge(metric.compute(rows));
            }
            if rows.is_empty() && is_missing(name) {
                summary = summary.without_values();
            }
            summaries.insert(name.clone(), summary);
        }
        for comparison in &self.comparisons {
            let compared: Vec<ComparedSystem<'_>> = summaries
                .iter()
                .map(|(name, summary)| ComparedSystem {
                    name,
                    rows: systems[name],
                    summary,
                })
                .collect();
            for (name, added) in comparison.compare(&compared) {
                if let Some(summary) = summaries.get_mut(&name) {
                    summary.merge(added);
                }
            }
        }
        summaries
    }

    /// Sums of the rows of a system, for rows that come one at a time; `None` when a metric must see
    /// all of them.
    pub(crate) fn system_sum(&self) -> Option<SystemSum<'_>> {
        let metrics = self.metrics.iter().map(|metric| metric.row_sum());
        let comparisons = self.comparisons.iter();
        Some(SystemSum {
            metrics: metrics.collect::<Option<_>>()?,
            comparisons: comparisons.map(|one| one.row_sum()).collect(),
            attempts: AttemptSum::default(),
        })
    }

    /// The summary of each system from its sums. Comparisons that must see the rows of several
    /// systems are left out.
    pub(crate) fn summed(
        &self,
        sums: IndexMap<String, SystemSummary>,
        is_missing: impl Fn(&str) -> bool,
    ) -> IndexMap<String, Summary> {
        let mut summaries = IndexMap::new();
        let mut alone = IndexMap::new();
        for (name, sum) in sums {
            let summary = match is_missing(&name) {
                true => sum.summary.without_values(),
                false => sum.summary,
            };
            summaries.insert(name.clone(), summary);
            alone.insert(name, sum.comparisons);
        }
        for (at, comparison) in self.comparisons.iter().enumerate() {
            let found: IndexMap<String, Summary> = if comparison.needs_rows() {
                let own = alone.iter();
                own.filter_map(|(name, own)| Some((name.clone(), own.get(at)?.clone()?)))
                    .collect()
            } else {
                let compared: Vec<ComparedSystem<'_>> = summaries
                    .iter()
                    .map(|(name, summary)| ComparedSystem {
                        name,
                        rows: &[],
                        summary,
                    })
                    .collect();
                comparison.compare(&compared)
            };
            for (name, added) in found {
                if let Some(summary) = summaries.get_mut(&name) {
                    summary.merge(added);
                }
            }
        }
        summaries
    }

    /// The lowest and the highest value of the score that stands for quality.
    pub(crate) fn scores_within(&self) -> Option<Interval> {
        let field = self.score_field.as_deref()?;
        Some(Interval {
            low: 0.0,
            high: JudgeRule::highest(Some(field)),
        })
    }

    /// The names of all metrics that a run of these systems will have.
    pub(crate) fn metric_names(&self, systems: &[String]) -> Vec<String> {
        let none = systems.iter().map(|name| (name.clone(), &[][..])).collect();
        let summaries = self.summaries(&none, |_| true);
        let mut names: Vec<String> = Vec::new();
        let known = summaries.values().flat_map(|summary| summary.iter());
        let known = known.map(|(name, _)| name.to_owned());
        for name in known.chain(self.scores.iter().cloned()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

impl EvalResult {
    /// The part of a result that is about a dataset, task or group, measured by itself.
    pub(crate) fn part(&self, benchmark: &str) -> Self {
        let own = [benchmark.to_owned()];
        let tags = self.measures.benchmarks.get(benchmark);
        let tags = tags.map_or(&own[..], Vec::as_slice);
        let systems = self.summary.keys().map(|system| {
            let rows = self.rows_of(system).iter();
            let rows = rows.filter(|row| tags.iter().any(|tag| **tag == *row.dataset));
            (system.clone(), rows.cloned().collect())
        });
        let mut part = self.with_rows(systems.collect());
        part.tasks.clone_from(&self.tasks);
        part
    }

    /// Some rows of each system, measured as the whole was. What tasks report by themselves is not
    /// there.
    pub(crate) fn with_rows(&self, systems: Vec<(String, Vec<EvalRow>)>) -> Self {
        let mut part = Self {
            measures: Arc::clone(&self.measures),
            ..Self::default()
        };
        let mut ranges: Vec<(String, usize)> = Vec::new();
        for (system, rows) in systems {
            let mut counts = Counts::default();
            rows.iter().for_each(|row| counts.add(row));
            counts.planned = rows.len();
            part.rows.extend(rows);
            part.counts.insert(system.clone(), counts);
            ranges.push((system, part.rows.len()));
        }
        let mut start = 0;
        let mut systems: IndexMap<String, &[EvalRow]> = IndexMap::new();
        for (system, end) in ranges {
            systems.insert(system, &part.rows[start..end]);
            start = end;
        }
        part.summary = self.measures.summaries(&systems, |_| true);
        part
    }

    /// The system that others are compared with: the one that was named, else the first.
    pub(crate) fn baseline(&self) -> Option<&str> {
        let named = self.measures.baseline.as_deref();
        let named = named.filter(|name| self.summary.contains_key(*name));
        named.or_else(|| self.summary.keys().next().map(String::as_str))
    }

    /// Makes another system the one that others are compared with.
    pub(crate) fn compare_with(&mut self, baseline: &str) {
        let measures = Arc::make_mut(&mut self.measures);
        measures.baseline = Some(baseline.to_owned());
        self.comparison = None;
    }

    /// All datasets, tasks and groups that rows are about.
    pub(crate) fn benchmark_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.measures.benchmarks.keys().cloned().collect();
        let known: std::collections::HashSet<&str> = self
            .measures
            .benchmarks
            .values()
            .flatten()
            .map(String::as_str)
            .collect();
        let mut last = "";
        for row in self.rows.iter().filter(|row| !row.dataset.is_empty()) {
            // Neighbours nearly always share their tag.
            if &*row.dataset != last && !known.contains(&*row.dataset) {
                let tag = row.dataset.to_string();
                if !names.contains(&tag) {
                    names.push(tag);
                }
            }
            last = &row.dataset;
        }
        names
    }
}
