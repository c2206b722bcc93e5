//! What comes with the library, by name.

use std::sync::Arc;

use super::{Params, Registry};
use crate::evaluator::AnswerQuality;
use crate::metric::{
    CompressionRatio, CostOfPass, DEFAULT_THRESHOLD, Latency, MeanScore, Metric, PassRate,
    PerDatasetBreakdown,
};
use crate::report::{CsvReport, JsonReport, JsonlReport, MarkdownReport, TableReport};

use super::BuildError;

pub(super) fn registry() -> Registry {
    let mut registry = Registry::empty();
    evaluators(&mut registry);
    metrics(&mut registry);
    reporters(&mut registry);
    registry
}

fn evaluators(registry: &mut Registry) {
    registry.evaluators.register(
        "answer_quality",
        "token overlap with the gold answer: f1, exact_match, recall, contains",
        Arc::new(|params: Params| {
            params.finish()?;
            Ok(Arc::new(AnswerQuality) as _)
        }),
    );
}

fn metrics(registry: &mut Registry) {
    /// Takes the parameters that most metrics share.
    fn field(params: &mut Params, default: &str) -> String {
        params.take("score_field").unwrap_or_else(|| default.into())
    }
    fn threshold(params: &mut Params) -> Result<f64, BuildError> {
        let threshold = params.take_parsed("threshold", "a number")?;
        Ok(threshold.unwrap_or(DEFAULT_THRESHOLD))
    }
    let mut add =
        |name: &str, about: &str, make: fn(&mut Params) -> Result<Arc<dyn Metric>, BuildError>| {
            registry.metrics.register(
                name,
                about,
                Arc::new(move |mut params: Params| {
                    let metric = make(&mut params)?;
                    params.finish()?;
                    Ok(metric)
                }),
            );
        };
    add(
        "mean_score",
        "mean of a score over the scored rows",
        |params| Ok(Arc::new(MeanScore::of(field(params, "score")))),
    );
    add(
        "pass_rate",
        "share of scored rows at or above a threshold",
        |params| {
            Ok(Arc::new(PassRate::new(
                threshold(params)?,
                field(params, "score"),
            )))
        },
    );
    add(
        "compression_ratio",
        "1 - output tokens / input tokens",
        |_| Ok(Arc::new(CompressionRatio)),
    );
    add(
        "cost_of_pass",
        "output tokens spent per passing row",
        |params| {
            Ok(Arc::new(CostOfPass::new(
                threshold(params)?,
                field(params, "score"),
            )))
        },
    );
    add(
        "latency",
        "mean, median, p95 and p99 of the time inside the system",
        |_| Ok(Arc::new(Latency)),
    );
    add("per_dataset", "mean of a score per dataset", |params| {
        Ok(Arc::new(PerDatasetBreakdown::of(field(params, "f1"))))
    });
}

fn reporters(registry: &mut Registry) {
    let reporters = &mut registry.reporters;
    reporters.register(
        "table",
        "a table for terminals",
        Arc::new(TableReport::default()),
    );
    reporters.register("markdown", "a Markdown table", Arc::new(MarkdownReport));
    reporters.register("json", "the whole result as JSON", Arc::new(JsonReport));
    reporters.register("jsonl", "one JSON object per row", Arc::new(JsonlReport));
    reporters.register("csv", "one CSV record per row", Arc::new(CsvReport));
}
