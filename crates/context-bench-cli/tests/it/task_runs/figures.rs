//! Headlines that are no mean over rows, and the rules that reports name.

use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::{Value, json};

use super::{Tasks, lines, only};
use crate::program::{Done, arg, run};

/// Summaries with the figures of SCROLLS, and the kinds of questions.
const SUMMARIES: &str = r#"
name: NAME
about: Short summaries
category: summarization
licence: CC-BY-4.0
source: {files: NAME.jsonl}
fields: {id: key, question: ask, answers: golds, answer: golds[0], kind: kind, hard: hard}
evaluators: [summarization_quality, answer_quality]
score_field: rouge_l_f1
summary:
  rouge_geo: {geometric_mean: [rouge_1_f1, rouge_2_f1, rouge_l_f1]}
  hard: {mean: rouge_1_f1, only: {hard: 1}}
  by_kind: {mean: rouge_1_f1, by: kind}
  macro: {mean_of_means: rouge_1_f1, by: kind}
headline: rouge_geo
prompt: {user: "Sum up: {{ question }}"}
rule:
  name: geometric mean of ROUGE
  source: a paper of ours
  basis: paper
  ours: same
"#;
const GROUP: &str = "group: both\ntask: [one, two]\naggregate_metric_list: [{metric: rouge_geo, weight_by_size: false}]\n";

/// The example of the metrics of SCROLLS: what is asked, said and right.
fn records() -> String {
    lines(&[
        json!({"key": "a", "ask": "first", "golds": ["exact match example"], "kind": "x", "hard": 0}),
        json!({"key": "b", "ask": "second", "golds": ["hello", "hi there"], "kind": "y", "hard": 1}),
        json!({"key": "c", "ask": "third", "golds": ["commander kenobi"], "kind": "y", "hard": 1}),
    ])
}

fn said(request: &Request) -> Reply {
    let asked = request.last_user_content();
    let answers = [
        ("first", "exact match example"),
        ("second", "hello there"),
        ("third", "general kenobi"),
    ];
    let answer = answers.iter().find(|(ask, _)| asked.contains(ask));
    Reply::text(answer.map_or("", |(_, answer)| *answer))
}

fn tasks() -> Tasks {
    let file = |name: &str| SUMMARIES.replace("NAME", name);
    Tasks::new(&[
        ("one.yaml", &file("one")),
        ("two.yaml", &file("two")),
        ("both.yaml", GROUP),
        ("one.jsonl", &records()),
        ("two.jsonl", &records()),
    ])
}

fn near(found: &Value, expected: f64) -> bool {
    found
        .as_f64()
        .is_some_and(|found| (found - expected).abs() < 5e-7)
}

/// What every way to these results must find.
fn check(results: &Value) {
    let one = &results["results"]["one"];
    for (figure, expected) in [
        ("rouge_1_f1", 0.722_222),
        ("rouge_2_f1", 0.333_333),
        ("rouge_l_f1", 0.722_222),
        ("rouge_geo", 0.558_136),
        ("hard", 0.583_333),
        ("by_kind/x", 1.0),
        ("by_kind/y", 0.583_333),
        ("macro", 0.791_667),
    ] {
        let found = &one[&format!("{figure},none")];
        assert!(near(found, expected), "{figure}: {one:#}");
    }
    assert_eq!(one["sample_count"]["hard,none"], 2, "{one:#}");
    let headline = &results["headlines"]["one"];
    assert_eq!(headline["name"], "rouge_geo");
    assert!(near(&headline["value"], 0.558_136), "{headline}");
    assert_eq!(headline["is_row_mean"], false);
    assert_eq!(results["rules"]["one"]["name"], "geometric mean of ROUGE");
}

#[test]
fn figures_are_the_same_from_a_run_and_from_its_store() {
    let tasks = tasks();
    let server = ChatServer::start(said);
    let cache = tasks.path("cache");
    let url = server.url();
    let args = ["--proxy", &url, "--cache-dir", &cache, "--name", "p"];
    let results = tasks.results("both", &args);
    check(&results);
    let group = &results["results"]["both"]["rouge_geo,none"];
    assert!(near(group, 0.558_136), "{group}");
    let n_requests = server.requests().len();
    for command in ["export", "rescore"] {
        let line = [command, "last", "--cache-dir", &cache, "--output", "json"];
        let done = run(&line);
        assert_eq!(done.code, 0, "{done}");
        check(&only(&done));
    }
    // A second answer to each example is no second example.
    let twice = tasks.results("both", &[&args[..], &["--repeats", "2"]].concat());
    check(&twice);
    let error = |results: &Value| results["results"]["one"]["rouge_geo_stderr,none"].clone();
    assert_eq!(error(&twice), error(&results));
    assert!(server.requests().len() > n_requests);
}

#[test]
fn reports_show_the_headline_and_name_the_rule() {
    let tasks = tasks();
    let server = ChatServer::start(said);
    let url = server.url();
    let (include, file) = (tasks.path(""), tasks.path("one.jsonl"));
    let dataset = format!("one={file}");
    let line = [
        "run",
        "--dataset",
        &dataset,
        "--include-path",
        &include,
        "--proxy",
        &url,
        "--quiet",
    ];
    let report = |more: &[&str]| -> Done {
        let done = run(&[&line[..], more].concat());
        assert_eq!(done.code, 0, "{done}");
        done
    };
    let table = report(&[]);
    for part in [
        "rouge_geo (headline)",
        "0.558",
        "quote `rouge_geo` for one",
        "one by_kind: x 1.000, y 0.583",
        "geometric mean of ROUGE (a paper of ours)",
    ] {
        assert!(table.stdout.contains(part), "{part}: {table}");
    }
    // What a table would be flooded by stands in Markdown.
    assert!(!table.stdout.contains("by_kind/x"), "{table}");
    let markdown = report(&["--output", "markdown"]);
    for part in ["## Figures", "### one: by_kind", "| x | 1.000", "## Rules"] {
        assert!(markdown.stdout.contains(part), "{part}: {markdown}");
    }
    let json = report(&["--output", "json"]).json();
    assert_eq!(json["rules"]["one"]["ours"], "same");
    // What figures go by is no score, and keeping it no evaluator.
    assert_eq!(
        json["config"]["evaluators"],
        json!(["summarization_quality", "answer_quality"])
    );
    assert!(
        json["rows"][0]["scores"].get("fields").is_none(),
        "{json:#}"
    );
    // Scores that the user chooses are not the rule's.
    let own = report(&["--evaluator", "answer_quality", "--output", "json"]).json();
    assert_eq!(own["rules"]["one"]["deviation"], "evaluators");
    assert!(own["tasks"].to_string().contains("your choice"), "{own:#}");
    let own = report(&["--evaluator", "answer_quality"]);
    assert!(!own.stdout.contains("official rule"), "{own}");
    let own = report(&["--score-field", "rouge_1_f1", "--output", "json"]).json();
    assert_eq!(own["rules"]["one"]["deviation"], "score");
}

#[test]
fn instructions_count_the_same_whatever_prompt_they_stand_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ifeval.jsonl");
    let records = [
        json!({"prompt": "one", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}),
        json!({
            "prompt": "three",
            "instruction_id_list":
                ["detectable_format:title", "startend:quotation", "detectable_format:json_format"],
            "kwargs": [{}, {}, {}],
        }),
    ];
    std::fs::write(&file, lines(&records)).unwrap();
    let server = ChatServer::start(|_| Reply::text("a plain answer"));
    let url = server.url();
    let dataset = format!("ifeval={}", arg(&file));
    let args = ["run", "--dataset", &dataset, "--proxy", &url, "-q"];
    let done = run(&[&args[..], &["--output", "json"]].concat());
    assert_eq!(done.code, 0, "{done}");
    let results = &only(&done)["results"]["ifeval"];
    // The mean of the shares within prompts would be a half.
    for score in ["ifeval_inst_strict,none", "ifeval_inst_loose,none"] {
        assert_eq!(results[score], 0.25, "{results:#}");
    }
    assert_eq!(results["ifeval_strict,none"], 0.5);
}

#[test]
fn figures_must_go_by_what_examples_have() {
    let wrong = |from: &str, to: &str| {
        let file = SUMMARIES.replace("NAME", "one").replace(from, to);
        let tasks = Tasks::new(&[("one.yaml", &file), ("one.jsonl", &records())]);
        run(&["show", "one", "--include-path", &tasks.path("")])
    };
    let done = wrong("by: kind}\nheadline", "by: kin}\nheadline");
    assert_eq!(done.code, 2, "{done}");
    assert!(
        done.stderr.contains("figure `macro` goes by `kin`") && done.stderr.contains("`kind`"),
        "{done}"
    );
    let done = wrong("headline: rouge_geo", "headline: by_kind");
    assert!(done.stderr.contains("headline `by_kind`"), "{done}");
}
