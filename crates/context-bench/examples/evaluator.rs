//! An evaluator of your own: does the response name its source?

use async_trait::async_trait;
use context_bench::evaluator::{Evaluator, EvaluatorError};
use context_bench::{
    Example, Output, Score, ScoreName, Scores, evaluate, metric::MeanScore, system,
};

struct CitesSource(Vec<ScoreName>);

#[async_trait]
impl Evaluator for CitesSource {
    fn name(&self) -> &str {
        "cites_source"
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.0
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let score = match example.text("source") {
            Some(source) => Score::from(output.response().contains(source)),
            None => Score::unscored("the example names no source"), // counted, never 0
        };
        Ok([("cites", score)].into_iter().collect())
    }
}

#[tokio::main]
async fn main() -> Result<(), context_bench::Error> {
    let sourced = Example::new()
        .with("context", "as BIPM says")
        .with("source", "BIPM");
    let result = evaluate()
        .system(system::from_fn("echo", |e| {
            Ok(Output::reply(e, e.context()))
        }))
        .dataset(vec![sourced, Example::new().with("context", "hearsay")])
        .evaluator(CitesSource(vec!["cites".into()]))
        .metric(MeanScore::of("cites"))
        .run()
        .await?;
    let mean = result.summary["echo"]
        .get("mean_score")
        .copied()
        .unwrap_or_default();
    assert_eq!((mean.value, mean.n), (Some(1.0), Some(1)));
    Ok(())
}
