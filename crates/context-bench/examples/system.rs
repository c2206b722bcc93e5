//! A custom system: a compressor that keeps every other word.

use async_trait::async_trait;
use context_bench::system::SystemError;
use context_bench::{Example, Output, System, evaluate, evaluator, metric::MeanScore};

struct EveryOtherWord;

#[async_trait]
impl System for EveryOtherWord {
    fn name(&self) -> &str {
        "every other word"
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        if example.context().is_empty() {
            return Err("nothing to compress".into()); // becomes a failed row
        }
        let words: Vec<&str> = example.context().split(' ').step_by(2).collect();
        Ok(Output::reply(example, words.join(" ")))
    }
}

#[tokio::main]
async fn main() -> Result<(), context_bench::Error> {
    let kept = evaluator::from_fn("length", ["kept"], |example, output| {
        let kept = output.response().len() as f64 / example.context().len() as f64;
        Ok([("kept", kept)].into_iter().collect())
    });
    let result = evaluate()
        .system(EveryOtherWord)
        .dataset(vec![Example::new().with("context", "one two three four")])
        .evaluator(kept)
        .metric(MeanScore::of("kept"))
        .run()
        .await?;
    assert_eq!(result.counts["every other word"].scored, 1);
    Ok(())
}
