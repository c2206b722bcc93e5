//! A run file with everything in it: a dataset, tasks that generate and that ask for
//! likelihoods, a group, Python functions, a class, and two systems of which one fails once.

use std::process::{Command, Stdio};
use std::time::Duration;

use context_bench_testkit::likelihood::{EchoStyle, TokenScore, likelihood};
use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::{Value, json};

use crate::program::{Done, command, run_with, write_questions};
use crate::task_runs::{Tasks, lines, sums};

/// Where the documents of a task are, in JSON lines.
fn task(name: &str, documents: &str, rest: &str) -> String {
    format!(
        "task: {name}\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {documents}}}}}\n\
         test_split: test\n{rest}"
    )
}

const ASKED: &str = r#"
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
"#;

/// Asked thrice, and the majority counts.
const REPEATED: &str = r#"
repeats: 3
generation_kwargs: {until: ["\n"], do_sample: true, temperature: 0.7}
filter_list:
  - {name: none, filter: [{function: take_first}]}
  - {name: majority, filter: [{function: majority_vote}, {function: take_first}]}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"#;

const CORPUS: &str = r#"
metric_list:
  - {metric: bleu, aggregation: bleu, higher_is_better: true}
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"#;

const TUPLES: &str = r#"
process_results: !function utils.score
metric_list:
  - {metric: close, aggregation: mean, higher_is_better: true}
  - {metric: pair, aggregation: !function utils.spread, higher_is_better: false}
"#;

const UTILS: &str = r#"
def score(doc, results):
    said, expected = float(results[0].split()[0]), float(doc["a"])
    return {"close": float(abs(said - expected) < 2), "pair": (said / 3, expected / 7)}

def spread(pairs):
    assert all(type(pair) is tuple for pair in pairs), pairs
    return sum(abs(one - other) for one, other in pairs) / len(pairs)
"#;

const WORD: &str = r#"
output_type: loglikelihood
doc_to_text: "The {{thing}} is"
doc_to_target: " red"
"#;

const COLOURS: &str = r#"
output_type: multiple_choice
doc_to_text: "The {{thing}} is"
doc_to_choice: [red, dark blue]
doc_to_target: answer
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
"#;

const GROUP: &str = r#"
group: arithmetic
task: [thrice, corpus]
aggregate_metric_list: [{metric: exact_match, weight_by_size: true}]
"#;

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
        return {"acc": float((yes > no) == (doc["a"] == "yes")), "gap": abs(yes - no) / 3}
    def aggregation(self): return {"acc": mean, "gap": mean}
    def higher_is_better(self): return {"acc": True, "gap": True}
"#;

/// What the run file of [`Bench`] measures with.
pub(crate) const BENCHMARKS: [&str; 7] = [
    "questions",
    "thrice",
    "corpus",
    "tuples",
    "last_word",
    "colours",
    "yes_no",
];

/// A folder with a run file, and the endpoints that it names.
pub(crate) struct Bench {
    pub(crate) tasks: Tasks,
    pub(crate) servers: [ChatServer; 2],
}

impl Bench {
    /// Endpoints that take so long for each reply.
    pub(crate) fn new(pause: Duration) -> Self {
        let things = [("rose", 0), ("sky", 1), ("sea", 1), ("blood", 1)];
        let things = things.map(|(thing, answer)| json!({"thing": thing, "answer": answer}));
        let facts = [("Is water wet?", "yes"), ("Is snow black?", "no")];
        let facts = facts.map(|(q, a)| json!({"q": q, "a": a}));
        let asked = |rest: &str| format!("{ASKED}{rest}");
        let tasks = Tasks::new(&[
            (
                "tasks/thrice.yaml",
                &task("thrice", "sums.jsonl", &asked(REPEATED)),
            ),
            (
                "tasks/corpus.yaml",
                &task("corpus", "sums.jsonl", &asked(CORPUS)),
            ),
            (
                "tasks/tuples.yaml",
                &task("tuples", "sums.jsonl", &asked(TUPLES)),
            ),
            ("tasks/word.yaml", &task("last_word", "things.jsonl", WORD)),
            (
                "tasks/colours.yaml",
                &task("colours", "things.jsonl", COLOURS),
            ),
            (
                "tasks/yes_no.yaml",
                &task("yes_no", "facts.jsonl", "class: !function classes.YesNo\n"),
            ),
            ("tasks/group.yaml", GROUP),
            ("tasks/utils.py", UTILS),
            ("tasks/classes.py", CLASS),
            ("tasks/sums.jsonl", &sums()),
            ("tasks/things.jsonl", &lines(&things)),
            ("tasks/facts.jsonl", &lines(&facts)),
        ]);
        write_questions(&tasks.folder.path().join("questions.jsonl"), 6);
        let servers = [false, true].map(|fails| endpoint(pause, fails));
        let [one, two] = &servers;
        let file = format!(
            "version: 1\nsystems:\n  - {{proxy: \"{}\", name: direct}}\n  - {{proxy: \"{}\", name: \
             layered, model: small}}\nbenchmarks:\n  - dataset: questions.jsonl\n  - task: \
             arithmetic,tuples\n  - task: last_word\n  - task: colours,yes_no\ndata: \
             {{include_path: [tasks]}}\nscoring: {{bootstrap_iters: 200}}\nlimits: {{max_workers: \
             4, max_error_rate: 0.5}}\nrequests: {{max_retries: 0, model: large}}\n",
            one.base_url_v1(),
            two.base_url_v1(),
        );
        std::fs::write(tasks.folder.path().join("bench.yaml"), file).unwrap();
        Self { tasks, servers }
    }

    /// The program in this folder.
    pub(crate) fn program(&self) -> Command {
        let mut command = command();
        command.current_dir(self.tasks.folder.path());
        command
    }

    /// The program, about to run the file with a store of this name.
    pub(crate) fn command(&self, cache: &str) -> Command {
        let mut command = self.program();
        command.args(["run", "bench.yaml", "--quiet", "--output", "json"]);
        command.args(["--cache-dir", cache]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, cache: &str, more: &[&str]) -> Done {
        run_with(self.command(cache).args(more))
    }

    /// `export` or `rescore` of the last run, in a process of its own.
    pub(crate) fn reopened(&self, verb: &str, cache: &str, more: &[&str]) -> Done {
        let mut command = self.program();
        command.args([verb, "last", "--output", "json", "--cache-dir", cache]);
        run_with(command.args(more))
    }

    pub(crate) fn requests(&self) -> usize {
        self.servers.iter().map(ChatServer::request_count).sum()
    }
}

/// An endpoint that continues, chats and rates; one of the two refuses a sum.
fn endpoint(pause: Duration, fails: bool) -> ChatServer {
    let answer = move |request: &Request| {
        let prompt = request.last_user_content();
        let Some((sum, _)) = prompt.rsplit_once('?').filter(|_| prompt.contains('+')) else {
            let text = if fails { "Rome, not Paris" } else { "Paris" };
            return Reply::text(text).after(pause);
        };
        let last: usize = sum.rsplit('+').next().unwrap().parse().unwrap();
        if fails && last == 5 {
            return Reply::status(400).message("no fives");
        }
        let wrong = usize::from(last > 6) + usize::from(fails && last == 2);
        Reply::text(format!("{}", 2 * last + wrong)).after(pause)
    };
    let likely = move |before: &str, token: &str| {
        let red = before.contains("rose") || before.contains("blood");
        let logprob = match token {
            " red" if red => -0.7,
            " yes" if before.contains("wet") => -0.3,
            " red" | " yes" => -3.1,
            _ if fails => -1.9,
            _ => -1.3,
        };
        TokenScore {
            logprob,
            best: -1.0,
        }
    };
    let inner = likelihood(EchoStyle::default(), likely, answer);
    ChatServer::builder().latency(pause).start(inner)
}

/// Everything that a run says about its tasks, but for when it was.
pub(crate) fn tasks_of(result: &Value) -> Value {
    let mut tasks = result["tasks"].clone();
    for one in tasks.as_object_mut().unwrap().values_mut() {
        let one = one.as_object_mut().unwrap();
        for key in ["date", "total_evaluation_time_seconds"] {
            one.shift_remove(key);
        }
    }
    tasks
}

/// The rows of a result without how long things took and where they came from.
pub(crate) fn rows_of(result: &Value) -> Vec<Value> {
    let mut rows = result["rows"].as_array().unwrap().clone();
    for row in &mut rows {
        let row = row.as_object_mut().unwrap();
        for key in ["latency", "call", "cached"] {
            row.shift_remove(key);
        }
    }
    rows
}

/// Checks that two values are the same, and says where they are not.
pub(crate) fn same(what: &str, one: &Value, other: &Value) {
    fn differences(path: &str, one: &Value, other: &Value, out: &mut Vec<String>) {
        match (one, other) {
            (Value::Object(a), Value::Object(b)) => {
                for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                    let null = Value::Null;
                    let (a, b) = (a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null));
                    differences(&format!("{path}.{key}"), a, b, out);
                }
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (i, (a, b)) in a.iter().zip(b).enumerate() {
                    differences(&format!("{path}[{i}]"), a, b, out);
                }
            }
            _ if one == other => {}
            _ => out.push(format!("{path}: {one} and {other}")),
        }
    }
    let mut found = Vec::new();
    differences("", one, other, &mut found);
    assert!(found.is_empty(), "{what} differs:\n{}", found.join("\n"));
}
