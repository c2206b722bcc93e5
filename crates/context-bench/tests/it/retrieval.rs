//! What a system recalled against marked evidence, in a run: systems that do not tell are not
//! measured, and a run that is repeated from the store says the same.

use context_bench::evaluator::RetrievalQuality;
use context_bench::metric::MeanScore;
use context_bench::store::Store;
use context_bench::{EvalResult, Example, Output, evaluate, system};
use serde_json::json;

fn examples() -> Vec<Example> {
    let question = |id: &str| {
        Example::new()
            .with("id", id)
            .with("question", "When?")
            .with("answer", "in May")
    };
    vec![
        question("found").with("evidence", json!(["D1:1"])),
        question("missed").with("evidence", json!(["D9:9"])),
        question("unmarked").with("evidence", json!([])),
        question("without"),
    ]
}

async fn run(store: &Store) -> EvalResult {
    let tells = system::from_fn("tells", |example: &Example| {
        let output = Output::reply(example, "in May");
        Ok(output.with("recalled", json!(["D1:1", "D1:2"])))
    });
    let silent = system::from_fn("silent", |example: &Example| {
        Ok(Output::reply(example, "in May"))
    });
    evaluate()
        .system(tells.with_version("1"))
        .system(silent.with_version("1"))
        .dataset(examples())
        .evaluator(RetrievalQuality::at(1))
        .metric(MeanScore::of("recall_at_1"))
        .store(store.clone())
        .run()
        .await
        .unwrap()
}

#[tokio::test]
async fn only_what_is_told_and_marked_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    for round in ["fresh", "stored"] {
        let result = run(&store).await;
        let counts = |system: &str| {
            let counts = &result.counts[system];
            (
                counts.scored,
                counts.unscored,
                counts.not_applicable,
                counts.cached,
            )
        };
        let cached = if round == "stored" { 4 } else { 0 };
        assert_eq!(counts("tells"), (2, 0, 2, cached), "{round}");
        assert_eq!(counts("silent"), (0, 0, 4, cached), "{round}");
        assert_eq!(result.summary["tells"].value("mean_score"), Some(0.5));
        assert_eq!(result.summary["silent"].value("mean_score"), None);
        let rows = result.rows.iter().filter(|row| &*row.system == "silent");
        for row in rows {
            assert!(
                row.scores.is_empty() && !row.has_error(),
                "{round}: {row:?}"
            );
        }
    }
}
