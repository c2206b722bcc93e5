//! The figures of a result that gates name: all metrics of its summary, the mean of every score,
//! what tasks report, and the share of rows that failed.

use std::collections::HashMap;

use context_bench_scoring::gate::{FigureOf, GateFigure, GateFigures};

use super::pairs::PairedRows;
use crate::comparison::SystemComparison;
use crate::metric::{MeanScore, Metric as _, RowCosts};
use crate::model::{EvalRow, Interval, TokenUse};
use crate::result::EvalResult;

/// The share of planned rows without a complete score.
pub(crate) const ERROR_RATE: &str = "error_rate";

/// The quantile of a 95 % interval of something that has only a standard error.
const Z: f64 = 1.959_963_984_540_054;

/// A result with the parts of it that rules name.
pub(super) struct Parts<'a> {
    whole: &'a EvalResult,
    by_benchmark: HashMap<String, EvalResult>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(whole: &'a EvalResult, benchmarks: &[String]) -> Self {
        let parts = benchmarks
            .iter()
            .map(|name| (name.clone(), whole.part(name)));
        Self {
            by_benchmark: parts.collect(),
            whole,
        }
    }

    pub(super) fn get(&self, benchmark: Option<&str>) -> &EvalResult {
        let part = benchmark.and_then(|name| self.by_benchmark.get(name));
        part.unwrap_or(self.whole)
    }
}

/// The figures of one system.
pub(super) struct SystemFigures<'a> {
    pub(super) result: &'a Parts<'a>,
    pub(super) system: &'a str,
    pub(super) baseline: Option<(&'a Parts<'a>, &'a str)>,
    /// What the run says about the two, if both are systems of it.
    pub(super) comparison: Option<&'a SystemComparison>,
    /// Names are checked before; whatever a rule names may turn out not to be measured.
    pub(super) metrics: Vec<String>,
    pub(super) benchmarks: Vec<String>,
}

impl GateFigures for SystemFigures<'_> {
    fn figure(&self, metric: &str, of: FigureOf, benchmark: Option<&str>) -> GateFigure {
        let own = self.result.get(benchmark);
        if of == FigureOf::System {
            return measured(own, self.system, metric, benchmark);
        }
        let Some((parts, baseline)) = self.baseline else {
            return GateFigure::default();
        };
        let other = parts.get(benchmark);
        let old = measured(other, baseline, metric, benchmark);
        if of == FigureOf::Baseline {
            return old;
        }
        // The same number as in the report.
        let found = self.comparison.and_then(|comparison| {
            let measure = measure(own, metric)?;
            let mut differences = comparison.differences.iter();
            differences
                .find(|one| one.measure == measure && one.name == benchmark.unwrap_or_default())
        });
        if let Some(found) = found {
            return GateFigure {
                value: Some(found.difference),
                interval: found.interval,
            };
        }
        let pairs = PairedRows::of(other.rows_of(baseline), own.rows_of(self.system));
        let (value, range) = per_row(own, metric);
        if let Some((mean, interval)) = pairs.difference(value, range) {
            return GateFigure {
                value: Some(mean),
                interval,
            };
        }
        let new = measured(own, self.system, metric, benchmark);
        GateFigure {
            value: new.value.zip(old.value).map(|(new, old)| new - old),
            interval: None,
        }
    }

    fn metrics(&self) -> Vec<String> {
        self.metrics.clone()
    }

    fn benchmarks(&self) -> Vec<String> {
        self.benchmarks.clone()
    }
}

/// What comparisons call a metric that is a mean over rows.
fn measure<'a>(result: &'a EvalResult, metric: &'a str) -> Option<&'a str> {
    Some(match metric {
        "mean_score" => result.measures.score_field.as_deref()?,
        "latency_mean" => "latency",
        "mean_prompt_tokens" => "prompt_tokens",
        "mean_completion_tokens" => "completion_tokens",
        "mean_cost" => "cost",
        // The total, which comparisons do not have.
        "cost" => return None,
        score => score,
    })
}

/// What the rows of a system say about a metric that is a mean over rows, and the range that
/// differences of it lie in.
fn per_row<'a>(
    result: &'a EvalResult,
    metric: &'a str,
) -> (impl Fn(&EvalRow) -> Option<f64> + 'a, Option<(f64, f64)>) {
    let measures = &result.measures;
    let field = measures.score_field.as_deref();
    let tokens = |row: &EvalRow, pick: fn(&TokenUse) -> Option<u64>| {
        let reply = row.reply.as_deref().filter(|_| row.is_completed())?;
        pick(&reply.tokens).map(|n| n as f64)
    };
    let value = move |row: &EvalRow| match metric {
        "mean_score" => row.score(field?),
        "pass_rate" => {
            let score = row.score(field?)?;
            Some(f64::from(u8::from(score >= measures.threshold)))
        }
        ERROR_RATE => Some(f64::from(u8::from(row.has_error()))),
        "latency_mean" => (row.is_completed() && !row.cached).then_some(row.latency),
        "mean_prompt_tokens" => tokens(row, |tokens| tokens.prompt),
        "mean_completion_tokens" => tokens(row, |tokens| tokens.completion),
        "mean_cost" => Some(measures.prices.as_ref()?.cost(row).exact()?.to_f64()),
        "cost" => None,
        score => row.score(score),
    };
    let is_share = ![
        "latency_mean",
        "mean_prompt_tokens",
        "mean_completion_tokens",
        "mean_cost",
    ]
    .contains(&metric);
    (value, is_share.then_some((-1.0, 1.0)))
}

fn measured(
    result: &EvalResult,
    system: &str,
    metric: &str,
    benchmark: Option<&str>,
) -> GateFigure {
    let rows = result.rows_of(system);
    if let Some(found) = benchmark.and_then(|name| of_task(result, system, metric, name)) {
        return found;
    }
    if metric == ERROR_RATE {
        let counts = result.counts.get(system).copied().unwrap_or_default();
        let errors = counts.errors() + counts.not_run();
        let value = (counts.planned > 0).then(|| errors as f64 / counts.planned as f64);
        return GateFigure {
            value,
            interval: crate::stats::wilson_interval(errors, counts.planned),
        };
    }
    // Without any rows metrics say 0, as users know it; nothing was measured.
    if rows.is_empty() {
        return GateFigure::default();
    }
    let summary = result.summary.get(system);
    if let Some(measurement) = summary.and_then(|summary| summary.get(metric)) {
        return GateFigure {
            value: measurement.value,
            interval: measurement.interval,
        };
    }
    let mean = MeanScore::of(metric).compute(rows);
    let mean = mean.get("mean_score").copied().unwrap_or_default();
    GateFigure {
        value: mean.value,
        interval: mean.interval,
    }
}

/// What a task or group reports by itself, in the schema of lm-evaluation-harness.
fn of_task(result: &EvalResult, system: &str, metric: &str, benchmark: &str) -> Option<GateFigure> {
    let results = &result.tasks.get(system)?.results;
    let own = ["results", "groups"]
        .iter()
        .find_map(|section| results.get(*section)?.get(benchmark)?.as_object())?;
    let is_named = |key: &&String| {
        **key == *metric || key.split_once(',').is_some_and(|(name, _)| name == metric)
    };
    let key = own.keys().find(is_named)?;
    let value = own.get(key)?.as_f64()?;
    let (name, filter) = key.split_once(',').unwrap_or((key, ""));
    let stderr = own.get(&format!("{name}_stderr,{filter}"));
    let stderr = stderr.and_then(serde_json::Value::as_f64);
    Some(GateFigure {
        value: Some(value),
        interval: stderr.map(|stderr| Interval {
            low: value - Z * stderr,
            high: value + Z * stderr,
        }),
    })
}

/// The metrics that a result has.
pub(super) fn known_metrics(result: &EvalResult) -> Vec<String> {
    let summaries = result.summary.values().flat_map(|summary| summary.iter());
    let mut names: Vec<String> = Vec::new();
    let of_tasks = result.tasks.values().flat_map(|report| {
        let sections = ["results", "groups"].map(|section| report.results.get(section));
        let sections = sections.into_iter().flatten();
        let entries = sections.filter_map(|section| section.as_object());
        let entries = entries.flat_map(|entries| entries.values());
        let entries = entries.filter_map(|entry| entry.as_object());
        entries.flat_map(|entry| {
            let numbers = entry.iter().filter(|(_, value)| value.is_number());
            let names = numbers.map(|(key, _)| key.clone());
            names.flat_map(|key| {
                let short = key.split_once(',').map(|(name, _)| name.to_owned());
                [Some(key), short].into_iter().flatten()
            })
        })
    });
    let all = summaries
        .map(|(name, _)| name.to_owned())
        .chain(
            result
                .score_names()
                .into_iter()
                .map(|name| name.to_string()),
        )
        .chain(result.measures.scores.iter().cloned())
        .chain([ERROR_RATE.to_owned()])
        // Whether there is a price shows only with the answers.
        .chain(
            result
                .measures
                .prices
                .iter()
                .flat_map(|_| RowCosts::NAMES.map(str::to_owned)),
        )
        .chain(of_tasks);
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
