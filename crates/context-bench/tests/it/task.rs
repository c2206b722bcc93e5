//! Tasks through the library: a plan, a run, results.

use std::path::Path;
use std::sync::Arc;

use context_bench::benchmark::{Benchmark, Suite, SumUp, TaskBenchmark, TaskDocuments};
use context_bench::system::OpenAiProxySettings;
use context_bench::task::tasks::{Host, NoHost, Options, Task};
use context_bench::task::{
    DataSettings, LikelihoodSettings, TaskData, TaskIndex, TaskIndexSettings, TaskModel,
};
use context_bench::{EvalResult, Stop, evaluate, system};
use context_bench_testkit::likelihood::{EchoStyle, TokenScore, likelihood};
use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::{Value, json};

const TRANSLATE: &str = "
task: translate
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl}}
test_split: test
doc_to_text: \"{{de}} =\"
doc_to_target: en
metric_list:
  - {metric: bleu, aggregation: bleu, higher_is_better: true}
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
metadata: {version: 1}
";

const CHOOSE: &str = "
task: choose
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: \"{{de}} =\"
doc_to_choice: [\"the house is red\", \"no\"]
doc_to_target: 0
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: f1, aggregation: f1, higher_is_better: true}
";

const GROUP: &str = "
group: both
task: [translate, choose]
aggregate_metric_list: [{metric: acc}]
";

fn documents() -> String {
    let pairs = [
        ("das Haus ist rot", "the house is red"),
        ("der Hund schläft im Garten", "the dog sleeps in the garden"),
        ("wir gehen nach Hause", "we are going home"),
    ];
    let line = |(de, en): (&str, &str)| format!("{}\n", json!({"de": de, "en": en}));
    pairs.map(line).concat()
}

/// The benchmarks of the group, its files in a folder.
fn suite(folder: &Path) -> Suite {
    for (name, text) in [
        ("translate.yaml", TRANSLATE),
        ("choose.yaml", CHOOSE),
        ("both.yaml", GROUP),
        ("docs.jsonl", &documents()),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let settings = TaskIndexSettings {
        include: vec![folder.to_owned()],
        ..TaskIndexSettings::default()
    };
    let datasets = context_bench::dataset::catalog::DatasetCatalog::builtin();
    let task_index = TaskIndex::build(&datasets, &settings).unwrap();
    let data = TaskData::new(task_index.datasets.clone(), DataSettings::default());
    let (tree, _) = task_index.select(&["both"]).unwrap();
    let mut benchmarks: Vec<Arc<dyn Benchmark>> = Vec::new();
    let options = Options::default();
    for (leaf, key) in tree.leaves().into_iter().zip(tree.keys()) {
        let task = Arc::new(Task::build(leaf).unwrap());
        let host: Arc<dyn Host> = Arc::new(NoHost);
        let records = data.load(&task, &options, &NoHost).unwrap();
        let (documents, _) = TaskDocuments::plan(&task, records, &options, &host).unwrap();
        let benchmark = TaskBenchmark::new(key, task, host, documents, false);
        benchmarks.push(Arc::new(benchmark));
    }
    Suite::new(tree, benchmarks)
}

async fn run(suite: &Suite, url: &str, stop: Stop) -> EvalResult {
    let mut proxy = OpenAiProxySettings::new(url);
    proxy.name = Some("model".into());
    let model = TaskModel::new(proxy, Some(LikelihoodSettings::default())).unwrap();
    // A system that only answers takes part where answers are asked for.
    let parrot = system::from_fn("parrot", |example| {
        Ok(context_bench::Output::reply(example, "the house is red"))
    });
    evaluate()
        .system(model)
        .system(parrot)
        .suite(suite.clone(), SumUp::default())
        .dataset(suite.examples())
        .stop(stop)
        .run()
        .await
        .unwrap()
}

fn server() -> ChatServer {
    let score = |_: &str, token: &str| TokenScore {
        logprob: if token == " no" { -9.0 } else { -1.0 },
        best: 0.0,
    };
    let answers = |request: &Request| match request.last_user_content() {
        "das Haus ist rot =" => Reply::text("the house is red\n\nand more"),
        "wir gehen nach Hause =" => Reply::text("we are going home"),
        _ => Reply::text("the dog is asleep in the garden"),
    };
    ChatServer::start(likelihood(EchoStyle::default(), score, answers))
}

#[tokio::test]
async fn a_group_of_answers_and_likelihoods() {
    let folder = tempfile::tempdir().unwrap();
    let server = server();
    let result = run(&suite(folder.path()), &server.url(), Stop::new()).await;
    assert_eq!(result.rows.len(), 12);
    let model = &result.tasks["model"].results;
    let found = |task: &str, key: &str| model["results"][task][key].clone();
    assert_eq!(found("translate", "exact_match,none"), json!(2.0 / 3.0));
    let bleu = found("translate", "bleu,none").as_f64().unwrap();
    assert!((40.0..95.0).contains(&bleu), "{bleu}");
    assert!(found("translate", "bleu_stderr,none").is_number());
    assert_eq!(found("choose", "acc,none"), json!(1.0));
    assert_eq!(found("both", "acc,none"), json!(1.0));
    assert_eq!(found("both", "sample_len"), json!(6));
    // Scores over a corpus are in no row; those of documents are.
    let row = result.rows_of("model")[0].to_json();
    assert_eq!(row["scores"], json!({"exact_match": 1.0}));

    let parrot = &result.tasks["parrot"];
    assert_eq!(parrot.counts["translate"].scored, 3);
    let counts = &parrot.counts["choose"];
    assert_eq!((counts.scored, counts.unscored), (0, 3));
    let (document, why) = counts.first.as_ref().unwrap();
    assert_eq!(document, "0");
    assert!(why.contains("how likely given answers are"), "{why}");
    let scores = &parrot.results["results"]["choose"];
    assert_eq!(scores.get("acc,none"), None::<&Value>);
}

#[tokio::test]
async fn what_was_not_asked_is_no_failure_and_no_zero() {
    let folder = tempfile::tempdir().unwrap();
    let server = server();
    let stop = Stop::new();
    stop.drain();
    let result = run(&suite(folder.path()), &server.url(), stop).await;
    assert!(result.rows.is_empty() && result.interrupted);
    for report in result.tasks.values() {
        for counts in report.counts.values() {
            assert_eq!((counts.planned, counts.not_run, counts.failed), (3, 3, 0));
        }
        assert_eq!(report.results["results"]["choose"]["sample_len"], json!(0));
    }
    assert_eq!(server.request_count(), 0);
}
