//! What cannot be scored or summed up costs nothing else its value.

use context_bench_testkit::likelihood::{EchoStyle, TokenScore, likelihood};
use context_bench_testkit::{ChatServer, Reply};
use serde_json::json;

use super::{Tasks, lines, sum_in, sums};

const HEAD: &str = "dataset_path: json\ndataset_kwargs: {data_files: {test: docs.jsonl}}\ntest_split: test\ndoc_to_text: \"{{q}}\"\n";

fn with(name: &str, rest: &str) -> String {
    format!("task: {name}\n{HEAD}{rest}")
}

#[test]
fn a_metric_without_a_value_costs_no_other_its_own() {
    let docs = lines(&[
        json!({"q": "a?", "c": ["x", "y", "z"], "refs": ["one", "two"], "gold": 2}),
        json!({"q": "b?", "c": ["x", "y", "z"], "refs": ["one"], "gold": 7}),
    ]);
    let choices = "output_type: multiple_choice\ndoc_to_choice: c\ndoc_to_target: gold\n";
    let tasks = Tasks::new(&[
        ("docs.jsonl", &docs),
        (
            "bleu.yaml",
            &with(
                "corpus",
                "doc_to_target: refs\nmetric_list: [{metric: bleu}, {metric: exact_match}]\n",
            ),
        ),
        (
            "mc.yaml",
            &with(
                "mc",
                &format!(
                    "{choices}metric_list: [{{metric: f1}}, {{metric: acc}}, {{metric: brier_score}}]\n"
                ),
            ),
        ),
    ]);
    let score = |_: &str, token: &str| TokenScore {
        logprob: if token == " z" { -0.1 } else { -3.0 },
        best: -0.1,
    };
    let server = ChatServer::start(likelihood(EchoStyle::default(), score, |_| {
        Reply::text("one")
    }));
    let out = tasks.path("out");
    let args = [
        "--proxy",
        &server.base_url_v1(),
        "--output",
        "json",
        "--output-path",
        &out,
    ];
    let done = tasks.run("corpus,mc", &args);
    assert_eq!(done.code, 3, "{done}");
    for part in [
        "task `corpus`: no value for `bleu,none`: documents have different numbers of references",
        "take one of them in `doc_to_target`",
        "task `mc`: no value for `f1,none`: `f1` is for two classes",
        "the answer of 1 of 2 documents is not among the choices",
    ] {
        assert!(done.stderr.contains(part), "no `{part}` in {done}");
    }
    let results = &super::only(&done)["results"];
    assert_eq!(results["corpus"]["bleu,none"], json!(null));
    assert_eq!(results["corpus"]["exact_match,none"], json!(1.0));
    assert_eq!(results["mc"]["acc,none"], json!(0.5));
    assert!(results["mc"]["brier_score,none"].as_f64().unwrap() > 0.5);
    assert_eq!(super::files(std::path::Path::new(&out)).len(), 1);
    let shown = tasks.run("corpus", &args[..2]);
    assert!(shown.stdout.contains("N/A"), "{shown}");
}

const UTILS: &str = r#"
def score(doc, results):
    if doc["a"] == "6":
        raise ValueError("no sixes")
    return {"close": 1.0, "extra": 2.0}

def sizes(references, predictions, **kwargs):
    return {"low": len(predictions[0]), "high": 10 * len(predictions[0])}
"#;

#[test]
fn a_document_that_fails_with_several_answers_costs_one_document() {
    let tasks = Tasks::new(&[
        ("docs.jsonl", &sums()),
        ("utils.py", UTILS),
        (
            "a.yaml",
            &with(
                "alone",
                "doc_to_target: a\nrepeats: 2\nprocess_results: !function utils.score\nmetric_list: [{metric: close, aggregation: mean, higher_is_better: true}]\n",
            ),
        ),
        ("b.yaml", &with("beside", "doc_to_target: a\n")),
    ]);
    let server =
        ChatServer::start(|request| Reply::text(sum_in(request.last_user_content()).to_string()));
    let done = tasks.run(
        "alone,beside",
        &["--proxy", &server.url(), "--output", "json"],
    );
    assert_eq!(done.code, 3, "{done}");
    assert!(done.stderr.contains("ValueError: no sixes"), "{done}");
    assert!(
        done.stderr.contains("`extra` is not in `metric_list`"),
        "{done}"
    );
    let found = super::only(&done);
    assert_eq!(found["counts"]["alone"]["unscored"], json!(1));
    assert_eq!(found["counts"]["alone"]["scored"], json!(9));
    assert_eq!(found["results"]["alone"]["close,none"], json!(1.0));
    assert_eq!(found["results"]["beside"]["exact_match,none"], json!(1.0));
}

#[test]
fn keys_of_a_mapping_take_after_their_own_metric() {
    let tasks = Tasks::new(&[
        ("docs.jsonl", &sums()),
        ("utils.py", UTILS),
        (
            "a.yaml",
            &with(
                "sized",
                "doc_to_target: a\nmetric_list:\n  - {metric: exact_match, aggregation: mean, higher_is_better: true}\n  - {metric: !function utils.sizes, aggregation: median, higher_is_better: false}\n",
            ),
        ),
    ]);
    // 0 2 4 6 8 10 12 14 16 18: half of them have two digits, so the median is 2.
    let server =
        ChatServer::start(|request| Reply::text(sum_in(request.last_user_content()).to_string()));
    let found = tasks.results("sized", &["--proxy", &server.url()]);
    assert_eq!(found["results"]["sized"]["low,none"], json!(2.0));
    assert_eq!(found["results"]["sized"]["high,none"], json!(20.0));
    assert_eq!(found["higher_is_better"]["sized"]["low"], json!(false));
    assert_eq!(
        found["higher_is_better"]["sized"]["exact_match"],
        json!(true)
    );
}

#[test]
fn filters_that_want_all_answers_get_them() {
    let tasks = Tasks::new(&[
        ("docs.jsonl", &sums()),
        (
            "a.yaml",
            &with(
                "rep",
                "doc_to_target: a\nrepeats: 5\nfilter_list:\n  - {name: first, filter: [{function: take_first}]}\n  - {name: all, filter: [{function: take_first_k, k: 5}]}\n",
            ),
        ),
        ("b.yaml", &with("one", "doc_to_target: a\n")),
    ]);
    let server =
        ChatServer::start(|request| Reply::text(sum_in(request.last_user_content()).to_string()));
    let proxy = server.url();
    let found = tasks.results("rep", &["--proxy", &proxy]);
    assert_eq!(found["counts"]["rep"]["scored"], json!(10));
    assert_eq!(
        found["results"]["rep"]["pass@5(exact_match),all"],
        json!(1.0)
    );
    assert_eq!(found["results"]["rep"]["exact_match,first"], json!(1.0));
    // The command line says the same as the file, also less.
    let asked = server.request_count();
    let found = tasks.results("one", &["--proxy", &proxy, "--repeats", "3"]);
    assert_eq!(
        found["results"]["one"]["pass@3(exact_match),none"],
        json!(1.0)
    );
    assert_eq!(server.request_count() - asked, 30);
    let plain = with("rep", "doc_to_target: a\nrepeats: 5\n");
    std::fs::write(tasks.path("a.yaml"), plain).unwrap();
    let found = tasks.results("rep", &["--proxy", &proxy, "--repeats", "1"]);
    assert_eq!(found["results"]["rep"]["exact_match,none"], json!(1.0));
    assert_eq!(server.request_count() - asked, 40);
}

#[test]
fn what_an_endpoint_cannot_do_costs_only_what_needs_it() {
    let tasks = Tasks::new(&[
        ("docs.jsonl", &sums()),
        ("a.yaml", &with("gen", "doc_to_target: a\n")),
        (
            "b.yaml",
            &with(
                "mc",
                "output_type: multiple_choice\ndoc_to_choice: [\"0\", \"2\"]\ndoc_to_target: a\n",
            ),
        ),
        (
            "c.yaml",
            &with(
                "roll",
                "output_type: loglikelihood_rolling\ndoc_to_target: q\n",
            ),
        ),
    ]);
    let chat = ChatServer::start(
        |request| match request.path.ends_with("/chat/completions") {
            true => Reply::text(sum_in(request.last_user_content()).to_string()),
            false => Reply::status(404),
        },
    );
    for order in ["gen,mc", "mc,gen"] {
        let done = tasks.run(order, &["--proxy", &chat.base_url_v1(), "--output", "json"]);
        assert_eq!(done.code, 3, "{done}");
        let found = super::only(&done);
        assert_eq!(found["results"]["gen"]["exact_match,none"], json!(1.0));
        assert_eq!(found["counts"]["mc"]["failed"], json!(10), "{done}");
    }
    let no_first = EchoStyle {
        mark: None,
        ..EchoStyle::default()
    };
    let even = |_: &str, _: &str| TokenScore {
        logprob: -1.0,
        best: -1.0,
    };
    let server = ChatServer::start(likelihood(no_first, even, |_| Reply::text("no")));
    let done = tasks.run(
        "roll,mc",
        &["--proxy", &server.base_url_v1(), "--output", "json"],
    );
    assert_eq!(done.code, 3, "{done}");
    let found = super::only(&done);
    assert_eq!(found["counts"]["roll"]["failed"], json!(10), "{done}");
    assert_eq!(found["counts"]["mc"]["scored"], json!(10), "{done}");
}

#[test]
fn bad_records_are_left_out_and_counted_when_asked() {
    let broken = format!("{}{{\"q\": \n{{\"q\": \"1+1?\", \"a\": \"2\"}}\n", sums());
    let tasks = Tasks::new(&[
        ("docs.jsonl", &broken),
        ("a.yaml", &with("gen", "doc_to_target: a\n")),
    ]);
    let server =
        ChatServer::start(|request| Reply::text(sum_in(request.last_user_content()).to_string()));
    let args = ["--proxy", &server.url(), "--output", "json"];
    tasks
        .run("gen", &args)
        .is_error(&["docs.jsonl:11", "--skip-bad-lines"]);
    assert_eq!(server.request_count(), 0);
    let done = tasks.run("gen", &[&args[..], &["--skip-bad-lines"]].concat());
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stderr.contains("left out 1 bad record"), "{done}");
    assert_eq!(done.json()["config"]["skipped_records"], json!(1));
    assert_eq!(super::only(&done)["counts"]["gen"]["scored"], json!(11));
}
