//! A metric and a comparison of your own.

use context_bench::evaluator::AnswerQuality;
use context_bench::metric::{Comparison, MeanScore, Metric};
use context_bench::{EvalRow, Example, Output, Summary, evaluate, system};
use indexmap::IndexMap;

struct Worst;

impl Metric for Worst {
    fn name(&self) -> &str {
        "worst"
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let scores = rows.iter().filter_map(|row| row.score("f1"));
        Summary::new().with("worst_f1", scores.fold(1.0, f64::min))
    }
}

struct Gap;

impl Comparison for Gap {
    fn name(&self) -> &str {
        "gap"
    }

    fn compare(&self, all: &IndexMap<String, Summary>) -> IndexMap<String, Summary> {
        let quality = |summary: &Summary| summary.value("mean_score").unwrap_or(0.0);
        let best = all.values().map(quality).fold(0.0, f64::max);
        let gap = |summary| Summary::new().with("gap_to_best", best - quality(summary));
        all.iter()
            .map(|(name, summary)| (name.clone(), gap(summary)))
            .collect()
    }
}

#[tokio::main]
async fn main() -> Result<(), context_bench::Error> {
    let result = evaluate()
        .system(system::from_fn("echo", |e| {
            Ok(Output::reply(e, e.context()))
        }))
        .system(system::from_fn("mute", |e| Ok(Output::reply(e, ""))))
        .dataset(vec![
            Example::new()
                .with("context", "Paris")
                .with("answer", "Paris"),
        ])
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f1"))
        .metric(Worst)
        .comparison(Gap)
        .run()
        .await?;
    assert_eq!(result.summary["mute"].value("gap_to_best"), Some(1.0));
    Ok(())
}
