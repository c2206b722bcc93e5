//! The metrics of a run's summary, from its plan and the scores of its evaluators.

use std::collections::BTreeSet;
use std::sync::Arc;

use context_bench_memory::RetrievalQuality;
use context_bench_memory::metric::{MemoryStages, PerQATypeMetric, TokenEfficiencyMetric};
use context_bench_scoring::price::RowPrices;

use crate::evaluate::Evaluate;
use crate::metric::{
    CallTimes, CompressionRatio, CostOfPass, FrontProbability, Latency, MeanScore, Metric,
    ParetoRank, PassAtK, PassRate, PerDatasetBreakdown, RepeatVariance, RowCosts, TOKENS_PER_PASS,
    TokenMeans, TokensPerPass, TokensSaved, WireMetrics, WireUsageSaved,
};
use crate::plan::RunPlan;
use crate::tap::TappedSystem;

/// Adds the metrics that every report has; those of quality only where rows have a
/// score.
pub(super) fn with_metrics(
    run: Evaluate,
    plan: &RunPlan,
    scores: Option<&BTreeSet<String>>,
    n_systems: usize,
    prices: Option<Arc<RowPrices>>,
) -> Evaluate {
    let scoring = &plan.scoring;
    let costs = prices.clone().map(RowCosts::new);
    let saved = match &scoring.baseline {
        Some(baseline) => TokensSaved::against(baseline),
        None => TokensSaved::default(),
    };
    let Some(field) = scoring.score_field.as_deref() else {
        let metrics: [Arc<dyn Metric>; 4] = [
            Arc::new(TokenMeans),
            Arc::new(CompressionRatio),
            Arc::new(Latency),
            Arc::new(CallTimes),
        ];
        let run = with_costs(run.metrics(metrics), costs);
        return with_wire(run.comparison(saved), plan);
    };
    if let Some(memory) = &plan.memory {
        // Evaluators that the user names may measure no recall, or another one.
        let evaluators = plan.benchmarks.iter().flat_map(|one| &one.evaluators);
        let mut retrieval = match evaluators
            .into_iter()
            .any(|name| name == RetrievalQuality::NAME)
        {
            true => retrieval_scores(memory.top_k).to_vec(),
            false => Vec::new(),
        };
        retrieval.retain(|score| scores.is_none_or(|scores| scores.contains(score)));
        let run = with_memory_metrics(run, field, retrieval);
        let run = with_costs(run, costs);
        let run = match n_systems > 1 {
            true => run
                .comparison(ParetoRank::new("mean_score", "context_tokens"))
                .comparison(FrontProbability::of(field).priced_by(prices)),
            false => run,
        };
        return run.comparison(saved);
    }
    let threshold = scoring.threshold;
    let mut metrics: Vec<Arc<dyn Metric>> = vec![
        Arc::new(MeanScore::of(field)),
        Arc::new(PassRate::new(threshold, field)),
        Arc::new(TokenMeans),
        Arc::new(TokensPerPass::new(threshold, field)),
        // As users of the original tool know them: of all texts in our maps.
        Arc::new(CompressionRatio),
        Arc::new(CostOfPass::new(threshold, field)),
        Arc::new(Latency),
        Arc::new(CallTimes),
    ];
    if scoring.repeats > 1 {
        let pass_at_k = PassAtK::of_attempts(scoring.repeats, threshold, field);
        metrics.push(Arc::new(pass_at_k));
        metrics.push(Arc::new(RepeatVariance::of(field)));
    }
    if scoring.per_dataset {
        metrics.push(Arc::new(PerDatasetBreakdown::of(field)));
    }
    let costs = costs.map(|costs| costs.per_pass(threshold, field));
    let run = with_costs(run.metrics(metrics), costs);
    let run = with_wire(run.comparison(saved), plan);
    match n_systems > 1 {
        true => run
            .comparison(ParetoRank::new("mean_score", TOKENS_PER_PASS))
            .comparison(FrontProbability::of(field).priced_by(prices)),
        false => run,
    }
}

/// Adds money, which shows only where a price is known.
fn with_costs(run: Evaluate, costs: Option<RowCosts>) -> Evaluate {
    match costs {
        Some(costs) => run.costs(costs),
        None => run,
    }
}

/// Adds figures of the wire where a tap sees the calls of a system.
fn with_wire(run: Evaluate, plan: &RunPlan) -> Evaluate {
    let mut systems = plan.systems.iter();
    if !systems.any(|one| one.settings["kind"] == TappedSystem::KIND) {
        return run;
    }
    let by_usage = match &plan.scoring.baseline {
        Some(baseline) => WireUsageSaved::against(baseline),
        None => WireUsageSaved::default(),
    };
    run.metric(WireMetrics).comparison(by_usage)
}

/// The metrics of a run of memories: quality and recall by kind of question, and what each
/// stage took. Passing means little where scores are overlaps of short phrases.
fn with_memory_metrics(run: Evaluate, field: &str, retrieval: Vec<String>) -> Evaluate {
    let mut metrics: Vec<Arc<dyn Metric>> = vec![
        Arc::new(MeanScore::of(field)),
        Arc::new(TokenMeans),
        Arc::new(Latency),
        Arc::new(CallTimes),
        Arc::new(PerQATypeMetric::of(field)),
        Arc::new(TokenEfficiencyMetric::of(field)),
        Arc::new(MemoryStages),
    ];
    for score in retrieval {
        metrics.push(Arc::new(PerQATypeMetric::of(score)));
    }
    run.metrics(metrics)
}

/// The scores of what was recalled.
fn retrieval_scores(k: usize) -> [String; 4] {
    [
        format!("recall_at_{k}"),
        "retrieval_recall".to_owned(),
        "mrr".to_owned(),
        format!("ndcg_at_{k}"),
    ]
}
