//! Tasks with Python: functions that score, and classes.

use context_bench_testkit::likelihood::{EchoStyle, TokenScore, likelihood};
use context_bench_testkit::{ChatServer, Reply};
use serde_json::json;

use super::{Tasks, lines, sum_in, sums};

const SCORED: &str = r#"
task: scored
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: a
process_results: !function utils.score
metric_list:
  - {metric: close, aggregation: mean, higher_is_better: true}
  - {metric: pair, aggregation: !function utils.last, higher_is_better: true}
"#;

const UTILS: &str = r#"
def score(doc, results):
    if doc["a"] == "6":
        raise ValueError("no sixes")
    return {"close": float(abs(int(results[0]) - int(doc["a"])) < 2), "pair": (doc["q"], 3)}

def last(pairs):
    assert all(type(pair) is tuple for pair in pairs), pairs
    return sum(three for _, three in pairs)
"#;

#[test]
fn functions_score_and_one_that_fails_costs_one_document() {
    let tasks = Tasks::new(&[
        ("t.yaml", SCORED),
        ("utils.py", UTILS),
        ("docs.jsonl", &sums()),
    ]);
    let server = ChatServer::start(|request| {
        let sum = sum_in(request.last_user_content());
        Reply::text((sum + usize::from(sum > 10) * 5).to_string())
    });
    let proxy = server.url();
    let args = ["--proxy", &proxy, "--output", "json"];
    let done = tasks.run("scored", &args);
    assert_eq!(done.code, 3, "{done}");
    assert!(done.stderr.contains("1 could not be scored"), "{done}");
    assert!(done.stderr.contains("ValueError: no sixes"), "{done}");
    let found = super::only(&done);
    // 0 2 4 8 10 are close, 12 14 16 18 are not, 6 is left out.
    let close = found["results"]["scored"]["close,none"].as_f64().unwrap();
    assert!((close - 5.0 / 9.0).abs() < 1e-12, "{found}");
    assert_eq!(found["results"]["scored"]["pair,none"], json!(27.0));
    assert_eq!(found["counts"]["scored"]["unscored"], json!(1));
    tasks
        .run("scored", &[&args[..], &["--no-python"]].concat())
        .is_error(&["`--no-python` forbids"]);
}

const CLASS: &str = r#"
from lm_eval.api.task import Task
from lm_eval.api.instance import Instance
from lm_eval.api.metrics import mean

class YesNo(Task):
    VERSION = 4
    def __init__(self, config=None):
        super().__init__(config=config or {})
    def has_training_docs(self): return False
    def has_validation_docs(self): return False
    def has_test_docs(self): return True
    def test_docs(self): return self.dataset["test"]
    def doc_to_text(self, doc): return doc["q"]
    def doc_to_target(self, doc): return " " + doc["a"]
    def construct_requests(self, doc, ctx, **kwargs):
        return [
            Instance(request_type="loglikelihood", doc=doc, arguments=(ctx, word), idx=i, **kwargs)
            for i, word in enumerate((" yes", " no"))
        ]
    def process_results(self, doc, results):
        (yes, _), (no, _) = results
        return {"acc": float((yes > no) == (doc["a"] == "yes"))}
    def aggregation(self): return {"acc": mean}
    def higher_is_better(self): return {"acc": True}
"#;

#[test]
fn a_class_builds_its_requests_and_scores_them() {
    let docs = lines(&[
        json!({"q": "Is water wet?", "a": "yes"}),
        json!({"q": "Is fire cold?", "a": "no"}),
        json!({"q": "Is snow black?", "a": "no"}),
    ]);
    let task = "task: yes_no\nclass: !function task.YesNo\ndataset_path: json\ndataset_kwargs: {data_files: {test: docs.jsonl}}\ntest_split: test\n";
    let tasks = Tasks::new(&[("t.yaml", task), ("task.py", CLASS), ("docs.jsonl", &docs)]);
    let score = |before: &str, token: &str| {
        let yes = before.contains("wet") || before.contains("snow");
        let logprob = if (token == " yes") == yes { -1.0 } else { -2.0 };
        TokenScore { logprob, best: 0.0 }
    };
    let script = likelihood(EchoStyle::default(), score, |_| Reply::text("no"));
    let server = ChatServer::start(script);
    let proxy = server.base_url_v1();
    let found = tasks.results("yes_no", &["--proxy", &proxy]);
    let acc = &found["results"]["yes_no"];
    assert!(
        (acc["acc,none"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12,
        "{acc}"
    );
    assert!(
        (acc["acc_stderr,none"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-12,
        "{acc}"
    );
    assert_eq!(acc["sample_len"], json!(3));
    assert_eq!(found["versions"]["yes_no"], json!(4));
    assert_eq!(server.request_count(), 6);
    let out = tasks.path("out");
    let logged = ["--proxy", &proxy, "--output-path", &out, "--log-samples"];
    tasks.results("yes_no", &logged);
    let files = super::files(&tasks.folder.path().join("out"));
    let samples = std::fs::read_to_string(&files[1]).unwrap();
    let sample: serde_json::Value = serde_json::from_str(samples.lines().nth(2).unwrap()).unwrap();
    assert_eq!(sample["doc_id"], json!(2));
    assert_eq!(sample["doc"]["q"], json!("Is snow black?"));
    assert_eq!(sample["target"], json!(" no"));
    assert_eq!(sample["metrics"], json!(["acc"]));
    assert_eq!(sample["acc"], json!(0.0));
    assert_eq!(
        sample["arguments"]["gen_args_1"],
        json!({"arg_0": "Is snow black?", "arg_1": " no"})
    );
    assert_eq!(sample["resps"].as_array().unwrap().len(), 2);
    assert_eq!(sample["prompt_hash"].as_str().unwrap().len(), 64);
    let limited = tasks.results("yes_no", &["--proxy", &proxy, "--limit", "1"]);
    assert_eq!(limited["results"]["yes_no"]["acc,none"], json!(1.0));
}

#[test]
fn a_package_that_is_missing_shows_before_anything_is_asked() {
    let tasks = Tasks::new(&[
        ("t.yaml", SCORED),
        ("utils.py", &format!("import no_such_package\n{UTILS}")),
        ("docs.jsonl", &sums()),
    ]);
    let server = ChatServer::start(|_| Reply::text("1"));
    let done = tasks.run("scored", &["--proxy", &server.url()]);
    assert_eq!(server.request_count(), 0, "{done}");
    done.is_error(&[
        "no_such_package",
        "task `scored`: `process_results`",
        "utils.py",
    ]);
}
