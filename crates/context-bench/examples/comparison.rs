//! A custom comparison: how far each system is behind the best one.
use context_bench::evaluator::AnswerQuality;
use context_bench::metric::{ComparedSystem, Comparison, MeanScore};
use context_bench::{Example, Output, Summary, evaluate, system};
use indexmap::IndexMap;

struct Gap;

impl Comparison for Gap {
    fn name(&self) -> &str {
        "gap"
    }
    fn compare(&self, systems: &[ComparedSystem<'_>]) -> IndexMap<String, Summary> {
        let quality = |one: &ComparedSystem<'_>| one.summary.value("mean_score").unwrap_or(0.0);
        let best = systems.iter().map(quality).fold(0.0, f64::max);
        let gap = |one| Summary::new().with("gap_to_best", best - quality(one));
        let gaps = systems.iter().map(|one| (one.name.to_owned(), gap(one)));
        gaps.collect()
    }
}

#[tokio::main]
async fn main() -> Result<(), context_bench::Error> {
    let echo = system::from_fn("echo", |e| Ok(Output::reply(e, e.context())));
    let example = Example::new().with("context", "Paris");
    let result = evaluate()
        .system(echo)
        .system(system::from_fn("mute", |e| Ok(Output::reply(e, ""))))
        .dataset(vec![example.with("answer", "Paris")])
        .evaluator(AnswerQuality)
        .metric(MeanScore::of("f1"))
        .comparison(Gap)
        .run()
        .await?;
    assert_eq!(result.summary["mute"].value("gap_to_best"), Some(1.0));
    Ok(())
}
