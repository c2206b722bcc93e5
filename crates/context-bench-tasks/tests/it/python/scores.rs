//! Filters, metrics and aggregations in Python, with values that only Python has.

use context_bench_tasks::outcome::Resampling;
use context_bench_tasks::{Dataset, Options, Response, Task};
use serde_json::{Value, json};

use super::Fixture;

const UTILS: &str = r#"
import os

def shout(responses, docs):
    assert len(responses) == len(docs)
    return tuple(tuple(text.upper() for text in texts) for texts in responses)

def close(references, predictions, **options):
    assert options == {"slack": 1}, options
    with open(os.path.join(os.path.dirname(__file__), "pids"), "a") as out:
        out.write("%d\n" % os.getpid())
    near = abs(len(references[0]) - len(predictions[0])) <= options["slack"]
    return {"close": near, "sizes": (len(references[0]), len(predictions[0]))}

def total(pairs):
    assert all(isinstance(pair, tuple) for pair in pairs), pairs
    return float("nan") if not pairs else sum(a - b for a, b in pairs)
"#;

const TASK: &str = r#"
task: loud
dataset_path: x
test_split: test
doc_to_text: q
doc_to_target: a
filter_list:
  - name: loud
    filter:
      - function: custom
        filter_fn: !function utils.shout
      - function: take_first
metric_list:
  - {metric: !function utils.close, aggregation: mean, higher_is_better: true, slack: 1}
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"#;

fn task(fixture: &Fixture, text: &str) -> Task {
    std::fs::write(fixture.folder.path().join("task.yaml"), text).unwrap();
    let resolver = crate::vectors::resolver(fixture.folder.path());
    let (nodes, _) = resolver.load("loud").unwrap();
    Task::build(nodes[0].leaves()[0]).unwrap()
}

fn dataset(n: usize) -> Dataset {
    let record = |i: usize| {
        let word = ["ONE", "THREE"][i % 2];
        let record = json!({"q": i, "a": word});
        record.as_object().unwrap().clone()
    };
    Dataset::from([("test".to_owned(), (0..n).map(record).collect())])
}

#[test]
fn calls_are_made_together_and_their_values_kept() {
    let fixture = Fixture::new(&[("utils.py", UTILS)]);
    let host = &fixture.pool;
    let task = task(&fixture, TASK);
    assert!(!task.scores_by_document());
    let n = 200;
    let requests = task
        .requests(&dataset(n), &Options::default(), host)
        .unwrap();
    let mut answers = vec![Some(Response::Texts(vec!["one".into()])); n];
    answers[7] = None;
    let scored = task.score(&requests, &answers, host).unwrap();
    let loud = &scored.filters["loud"];
    assert_eq!(loud.len(), n - 1, "what failed is left out");
    assert_eq!(loud[0].filtered, json!("ONE"));
    assert_eq!(loud[0].scores["close"], json!(true));
    assert_eq!(loud[0].scores["exact_match"], json!(1.0));
    assert_eq!(loud[1].scores["close"], json!(false));
    let pids = std::fs::read_to_string(fixture.folder.path().join("pids")).unwrap();
    assert_eq!(pids.lines().count(), n - 1, "one call per document");
    let mut pids: Vec<&str> = pids.lines().collect();
    pids.sort_unstable();
    pids.dedup();
    assert!(pids.len() <= 2, "in portions, not a process per call");
}

#[test]
fn pairs_of_python_reach_its_aggregation_and_ours() {
    let alone = TASK
        .replace("filter_list:", "process_results: !function utils.scores\nfilter_list:")
        .replace(
            "  - {metric: !function utils.close, aggregation: mean, higher_is_better: true, slack: 1}",
            "  - {metric: sizes, aggregation: !function utils.total, higher_is_better: true}\n  - {metric: weighted, aggregation: weighted_perplexity, higher_is_better: false}\n  - {metric: odd, aggregation: nanmean, higher_is_better: true}",
        )
        .replace("      - function: custom\n        filter_fn: !function utils.shout\n", "");
    let utils = format!(
        "{UTILS}\ndef scores(doc, results):\n    return {{\"sizes\": (len(doc[\"a\"]), len(results[0])), \
         \"weighted\": (-1.0, 2), \"odd\": float(\"nan\") if doc[\"q\"] else 4.0}}\n"
    );
    let fixture = Fixture::new(&[("utils.py", &utils)]);
    let host = &fixture.pool;
    let task = task(&fixture, &alone);
    assert!(task.scores_by_document());
    let requests = task
        .requests(&dataset(4), &Options::default(), host)
        .unwrap();
    let answer = Response::Texts(vec!["one".into()]);
    let answers = vec![Some(answer.clone()); 4];
    let scored = task.score(&requests, &answers, host).unwrap();
    let found = task.sum_up(&scored, Resampling::default(), host).scores;
    // ONE and THREE by turns against three letters.
    assert_eq!(found["sizes,loud"], json!(4.0));
    let perplexity = found["weighted,loud"].as_f64().unwrap();
    assert!((perplexity - 0.5_f64.exp()).abs() < 1e-12);
    assert_eq!(
        found["odd,loud"],
        json!(4.0),
        "what is not a number does not count as 0"
    );
    // One document alone scores as among the others.
    let one = task.score_document(2, &requests, &answer, host).unwrap();
    assert_eq!(one["loud"], scored.filters["loud"][2]);
    let missing: Value = json!(null);
    assert_ne!(one["loud"].scores["sizes"], missing);
}
