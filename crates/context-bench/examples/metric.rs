//! A custom metric: the worst score of a system.

use context_bench::evaluator::AnswerQuality;
use context_bench::metric::Metric;
use context_bench::{EvalRow, Example, Output, Summary, evaluate, system};

struct Worst;

impl Metric for Worst {
    fn name(&self) -> &str {
        "worst"
    }
    fn score_field(&self) -> Option<&str> {
        Some("f1") // a run without that score is rejected
    }
    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let scores = rows.iter().filter_map(|row| row.score("f1"));
        Summary::new().with("worst_f1", scores.fold(1.0, f64::min))
    }
}

#[tokio::main]
async fn main() -> Result<(), context_bench::Error> {
    let echo = system::from_fn("echo", |e| Ok(Output::reply(e, e.context())));
    let examples = ["Paris", "Rome"].map(|answer| {
        Example::new()
            .with("context", "Paris")
            .with("answer", answer)
    });
    let result = evaluate()
        .system(echo)
        .dataset(examples.to_vec())
        .evaluator(AnswerQuality)
        .metric(Worst)
        .run()
        .await?;
    assert_eq!(result.summary["echo"].value("worst_f1"), Some(0.0));
    Ok(())
}
