//! A custom evaluator: does the response name its source?

use async_trait::async_trait;
use context_bench::evaluator::{Evaluator, EvaluatorError};
use context_bench::{Example, Output, Score, ScoreName, Scores, evaluate, system};

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
        Ok([(self.0[0].clone(), score)].into_iter().collect())
    }
}

#[tokio::main]
async fn main() -> Result<(), context_bench::Error> {
    let examples = [("as BIPM says", "BIPM"), ("hearsay", "Nature")]
        .map(|(text, source)| Example::new().with("context", text).with("source", source));
    let echo = system::from_fn("echo", |e| Ok(Output::reply(e, e.context())));
    let cites = CitesSource(vec!["cites".into()]);
    let run = evaluate().system(echo).dataset(examples.to_vec());
    let result = run.evaluator(cites).run().await?;
    assert_eq!(result.rows[0].score("cites"), Some(1.0));
    assert_eq!(result.rows[1].score("cites"), Some(0.0));
    Ok(())
}
