//! How datasets are asked: officially or plainly, as rendered, sent, stored and reported.

use std::fs;
use std::path::{Path, PathBuf};

use context_bench_testkit::{ChatServer, handlers};
use serde_json::{Value, json};

use crate::program::{Done, arg, run};

const MILLS: &str = "\
name: mills
about: Questions about mills
category: qa
source: {files: mills.jsonl}
fields: {id: index, context: text, question: ask, answer: gold}
prompt:
  system: Be brief.
  user: \"Read this: {{ context }}\\nQ: {{ question }}\\nA:\"
  max_tokens: 8
  stop: [\"\\n\"]
  temperature: 0.5 if question == 'Who?' else 0
evaluators: [answer_quality]
score_field: f1
";

/// A folder with a dataset of one's own, and a server that answers.
struct Bench {
    folder: tempfile::TempDir,
    server: ChatServer,
    url: String,
}

impl Bench {
    fn new(spec: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let record = |ask: &str| json!({"text": "One two three four.", "ask": ask, "gold": "one"});
        let records = format!("{}\n{}\n", record("Who?"), record("When?"));
        fs::write(folder.path().join("mills.jsonl"), records).unwrap();
        fs::write(folder.path().join("mills.yaml"), spec).unwrap();
        let server = ChatServer::start(handlers::constant("one\nQ: more"));
        let url = server.base_url_v1();
        Self {
            folder,
            server,
            url,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let own = [
            "--dataset",
            "mills",
            "--include-path",
            arg(self.folder.path()),
        ];
        let proxy = ["--proxy", self.url.as_str(), "--name", "p"];
        [&own, &proxy, more].concat()
    }

    fn run(&self, more: &[&str]) -> Done {
        let done = run(&self.args(more));
        assert_eq!(done.code, 0, "{done}");
        done
    }

    /// The bodies that are sent now, without the model.
    fn bodies(&self, more: &[&str]) -> Vec<Value> {
        let before = self.server.requests().len();
        self.run(more);
        let sent = self.server.requests();
        let bodies = sent[before..].iter().map(|request| {
            let mut body = request.body.clone();
            body.as_object_mut().unwrap().remove("model");
            body
        });
        bodies.collect()
    }
}

fn official(context: &str, question: &str) -> Value {
    json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": format!("Read this: {context}\nQ: {question}\nA:")},
    ])
}

#[test]
fn the_official_prompt_is_sent_as_rendered_and_answers_end_at_its_stops() {
    let bench = Bench::new(MILLS);
    let bodies = bench.bodies(&[]);
    let expected = |question: &str, heat: f64| {
        json!({"messages": official("One two three four.", question), "max_tokens": 8,
               "temperature": heat, "stop": ["\n"]})
    };
    assert_eq!(bodies, [expected("Who?", 0.5), expected("When?", 0.0)]);
    let rendered = run(&[&["render", "--output", "jsonl"][..], &bench.args(&[])].concat());
    let rendered: Vec<Value> = rendered
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].clone())
        .collect();
    let sent: Vec<Value> = bench
        .server
        .requests()
        .into_iter()
        .map(|r| r.body)
        .collect();
    assert_eq!(rendered, sent);
    let result = bench.run(&["--output", "json"]).json();
    assert_eq!(result["rows"][0]["response"], "one");
    assert_eq!(result["rows"][0]["scores"]["f1"], 1.0);
    // Fields are what they are, however they are asked.
    assert_eq!(result["rows"][0]["question"], "Who?");
    let how = &result["provenance"]["prompts"]["mills"];
    assert_eq!(how["prompt"], "official");
    assert_eq!(
        (&how["max_tokens"], &how["stop"]),
        (&json!(8), &json!(["\n"]))
    );
    assert!(bench.run(&[]).stdout.contains("official prompt"));
    // What the user says wins.
    let bodies = bench.bodies(&["--max-tokens", "3", "--temperature", "1", "-n", "1"]);
    assert_eq!(
        (
            &bodies[0]["max_tokens"],
            &bodies[0]["temperature"],
            &bodies[0]["stop"]
        ),
        (&json!(3), &json!(1.0), &json!(["\n"]))
    );
    let bodies = bench.bodies(&["--gen-kwargs", "max_gen_toks=4,until=x", "-n", "1"]);
    assert_eq!(
        (&bodies[0]["max_tokens"], &bodies[0]["stop"]),
        (&json!(4), &json!(["x"]))
    );
}

#[test]
fn plain_is_the_layout_of_before_and_a_layout_means_plain() {
    let bench = Bench::new(MILLS);
    let plain = |question: &str| {
        json!({"messages": [{"role": "system", "content": "One two three four."},
                            {"role": "user", "content": question}], "temperature": 0.0})
    };
    let bodies = bench.bodies(&["--prompt", "plain"]);
    assert_eq!(bodies, [plain("Who?"), plain("When?")]);
    let result = bench.run(&["--prompt", "plain", "--output", "json"]).json();
    assert_eq!(
        result["provenance"]["prompts"]["mills"],
        json!({"prompt": "plain"})
    );
    assert_eq!(result["rows"][0]["response"], "one\nQ: more");
    let done = bench.run(&["--layout", "user", "-n", "1"]);
    assert!(done.stderr.contains("datasets are asked plainly"), "{done}");
    let sent = bench.server.requests().pop().unwrap();
    assert_eq!(
        sent.body["messages"],
        json!([{"role": "user", "content": "One two three four.\n\nWho?"}])
    );
    let done = bench.run(&["--layout", "user", "--prompt", "official", "-n", "1"]);
    assert!(done.stderr.contains("`--layout` has no effect"), "{done}");
    let sent = bench.server.requests().pop().unwrap();
    assert_eq!(
        sent.body["messages"],
        official("One two three four.", "Who?")
    );
    run(&bench.args(&["--prompt", "offical"])).is_error_of("official or plain");
}

impl Done {
    fn is_error_of(&self, text: &str) {
        assert_eq!(self.code, 2, "{self}");
        assert!(self.stderr.contains(text), "{self}");
    }
}

#[test]
fn a_layer_changes_the_context_inside_the_official_prompt() {
    let bench = Bench::new(MILLS);
    let layer = ["--system", "head=truncate:tokens=2", "--relay", &bench.url];
    let bodies = bench.bodies(&[&layer[..], &["-n", "1", "--tokenizer", "whitespace"]].concat());
    assert_eq!(bodies.len(), 2);
    let messages: Vec<&Value> = bodies.iter().map(|body| &body["messages"]).collect();
    assert_eq!(
        messages,
        [
            &official("One two three four.", "Who?"),
            &official("One two", "Who?")
        ]
    );
    for body in &bodies {
        assert_eq!(
            (&body["max_tokens"], &body["stop"]),
            (&json!(8), &json!(["\n"]))
        );
    }
    // A prompt that does not show the context cannot be changed by a layer.
    let bench = Bench::new(&MILLS.replace("Read this: {{ context }}\\n", ""));
    let layer = ["--system", "head=truncate:tokens=2", "--relay", &bench.url];
    run(&bench.args(&layer)).is_error(&[
        "`head` changes the context, and the official prompt of dataset `mills` does not show it",
        "--prompt plain",
    ]);
    assert_eq!(bench.server.request_count(), 0);
    bench.run(&[&layer[..], &["--prompt", "plain"]].concat());
}

#[test]
fn answers_to_another_prompt_are_not_reused() {
    let bench = Bench::new(MILLS);
    let cache = bench.path("cache");
    let asked = |more: &[&str]| {
        bench
            .bodies(&[&["--cache-dir", arg(&cache)], more].concat())
            .len()
    };
    assert_eq!(asked(&[]), 2);
    assert_eq!((asked(&[]), asked(&["--prompt", "official"])), (0, 0));
    assert_eq!(
        (asked(&["--prompt", "plain"]), asked(&["--prompt", "plain"])),
        (2, 0)
    );
    fs::write(
        bench.path("mills.yaml"),
        MILLS.replace("Read this", "Read that"),
    )
    .unwrap();
    assert_eq!((asked(&[]), asked(&[])), (2, 0));
    fs::write(
        bench.path("mills.yaml"),
        MILLS.replace("max_tokens: 8", "max_tokens: 9"),
    )
    .unwrap();
    assert_eq!((asked(&[]), asked(&[])), (2, 0));
    // A stored run shows what it sent, whatever became of the file.
    fs::write(
        bench.path("mills.yaml"),
        MILLS.replace("Read this", "Skip this"),
    )
    .unwrap();
    let shown = run(&["show", "last", "0", "--full", "--cache-dir", arg(&cache)]);
    assert_eq!(shown.code, 0, "{shown}");
    assert!(shown.stdout.contains("Read this: One two"), "{shown}");
    assert!(shown.stdout.contains("\"max_tokens\": 9"), "{shown}");
}

#[test]
fn samples_have_what_was_asked() {
    let bench = Bench::new(MILLS);
    let (cache, out) = (bench.path("cache"), bench.path("out"));
    let logged = [
        "--log-samples",
        "--output-path",
        arg(&out),
        "--cache-dir",
        arg(&cache),
    ];
    bench.run(&logged);
    let arguments = |folder: &Path| {
        let files = walk(folder);
        let file = files
            .iter()
            .find(|file| arg(file).contains("samples_"))
            .unwrap();
        let text = fs::read_to_string(file).unwrap();
        let sample: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        sample["arguments"][0].clone()
    };
    let expected = json!([
        official("One two three four.", "Who?"),
        {"max_gen_toks": 8, "until": ["\n"], "temperature": 0.5},
    ]);
    assert_eq!(arguments(&out), expected);
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let inside = |path: PathBuf| match path.is_dir() {
        true => walk(&path),
        false => vec![path],
    };
    entries.flat_map(inside).collect()
}

#[test]
fn text_endpoints_get_the_prompt_as_one_text() {
    let bench = Bench::new(MILLS);
    let url = format!("{}/completions", bench.url);
    let done = run(&[
        "render",
        "--output",
        "jsonl",
        "--proxy",
        &url,
        "--dataset",
        "mills",
        "--include-path",
        arg(bench.folder.path()),
        "-n",
        "1",
    ]);
    let line: Value = serde_json::from_str(done.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(
        line["body"]["prompt"],
        "Be brief.\n\nRead this: One two three four.\nQ: Who?\nA:"
    );
}

#[test]
fn what_is_too_long_is_cut_in_the_middle_and_counted() {
    let bench = Bench::new(MILLS);
    let cut = [
        "--max-prompt-tokens",
        "4",
        "--tokenizer",
        "whitespace",
        "--output",
        "json",
    ];
    let result = bench.run(&cut).json();
    let sent = bench.server.requests();
    assert_eq!(
        sent[0].body["messages"][1]["content"],
        "Read this: Who?\nA:"
    );
    assert_eq!(result["counts"]["p"]["prompts_cut"], 2);
    let how = &result["provenance"]["prompts"]["mills"];
    assert_eq!(
        (&how["max_prompt_tokens"], &how["tokenizer"]),
        (&json!(4), &json!("whitespace"))
    );
    let shown = bench.run(&["--max-prompt-tokens", "4", "--tokenizer", "whitespace"]);
    assert!(
        shown.stderr.contains("their middle was left out")
            || shown.stdout.contains("their middle was left out"),
        "{shown}"
    );
    let whole = bench
        .run(&["--max-prompt-tokens", "400", "--output", "json"])
        .json();
    assert_eq!(whole["counts"]["p"].get("prompts_cut"), None);
    let unused = bench.run(&["--max-prompt-tokens", "4", "--prompt", "plain"]);
    assert!(
        unused
            .stderr
            .contains("`--max-prompt-tokens` has no effect"),
        "{unused}"
    );
}

#[test]
fn what_does_not_fit_is_told_before_anything_is_sent() {
    for (from, to, expected) in [
        (
            "{{ context }}",
            "{{ contxt }}",
            "the `user` of the prompt cannot be made",
        ),
        ("{{ context }}", "{{ context", "user"),
        ("max_tokens: 8", "max_token: 8", "max_token"),
        (
            "0.5 if question == 'Who?' else 0",
            "question",
            "must be a number",
        ),
    ] {
        let bench = Bench::new(&MILLS.replace(from, to));
        run(&bench.args(&[])).is_error(&[expected]);
        assert_eq!(bench.server.request_count(), 0);
    }
    // What fits the first example and no other fails a row, and costs no other.
    let bench = Bench::new(&MILLS.replace(
        "{{ question }}",
        "{{ question if index0 is defined or question == 'Who?' else nothing }}",
    ));
    let done = run(&bench.args(&["--output", "json"]));
    assert_eq!(done.code, 3, "{done}");
    let rows = &done.json()["rows"];
    assert_eq!(rows[0]["response"], "one");
    let failure = rows[1]["error"].to_string();
    assert!(failure.contains("of the prompt cannot be made"), "{rows}");
    assert_eq!(bench.server.request_count(), 1);
}

#[test]
fn worked_examples_that_a_copy_does_not_have_are_told() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../context-bench/tests/fixtures");
    let whole = fixtures.join("datasets/mmlu-pro");
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("mine.jsonl");
    fs::copy(whole.join("data/test.jsonl"), &alone).unwrap();
    let server = ChatServer::start(handlers::constant("The answer is (F)."));
    let url = server.base_url_v1();
    let asked = |copy: &Path| {
        let dataset = format!("mmlu-pro={}", copy.display());
        let done = run(&["--proxy", &url, "--dataset", &dataset]);
        assert_eq!(done.code, 0, "{done}");
        let sent = server.requests().pop().unwrap().body;
        assert_eq!(
            (&sent["max_tokens"], &sent["stop"]),
            (&json!(2048), &json!(["Question:"]))
        );
        let text = sent["messages"][0]["content"].as_str().unwrap().to_owned();
        (done, text.matches("Question:").count())
    };
    let (done, n) = asked(&whole);
    assert_eq!(
        (n, done.stderr.contains("worked examples")),
        (3, false),
        "{done}"
    );
    assert!(done.stdout.contains("official prompt"), "{done}");
    let (done, n) = asked(&alone);
    assert_eq!(n, 1);
    assert!(
        done.stderr.contains("asked without the 5 worked examples"),
        "{done}"
    );
    assert!(
        done.stdout.contains("with 0 of 5 worked examples"),
        "{done}"
    );
}
