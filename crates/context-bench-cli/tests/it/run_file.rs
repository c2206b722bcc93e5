//! `run bench.yaml`: files that are run, and files that are wrong.

use std::fs;
use std::path::Path;
use std::time::Duration;

use context_bench_testkit::{ChatServer, handlers};
use serde_json::{Value, json};

use crate::bench::{Bench, same, tasks_of};
use crate::program::{Done, arg, command, run, run_with, write_questions};

/// A folder with a file of this text and a dataset of two examples.
pub(crate) fn folder(name: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), text).unwrap();
    write_questions(&folder.path().join("questions.jsonl"), 2);
    folder
}

/// Runs the program in a folder.
pub(crate) fn run_in(folder: &Path, args: &[&str]) -> Done {
    run_with(command().current_dir(folder).args(args))
}

#[test]
fn files_that_are_wrong_are_told_where() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let url = server.url();
    let systems = format!("systems: [{{proxy: \"{url}\"}}]\n");
    let rest = "benchmarks: [{dataset: questions.jsonl}]\n";
    let good = format!("{systems}{rest}");
    let cases: &[(&str, String, &[&str])] = &[
        (
            "a.yaml",
            format!("systems:\n  - proxi: {url}\n{rest}"),
            &[
                "unknown key `proxi` in `systems[0]`",
                "a.yaml:2:5",
                "did you mean `proxy`?",
            ],
        ),
        (
            "a.yaml",
            format!("{systems}benchmark: []\n"),
            &[
                "unknown key `benchmark` in the run file",
                "a.yaml:2:1",
                "`benchmarks`?",
            ],
        ),
        (
            "a.yaml",
            format!("{good}limits: {{zzz: 1}}\n"),
            &[
                "unknown key `zzz` in `limits`",
                "a.yaml:3:10",
                "the keys are `max_workers`",
            ],
        ),
        (
            "a.yaml",
            format!("{good}limits:\n  rps: fast\n"),
            &[
                "`limits.rps`: expected a number, found the text `fast`",
                "a.yaml:4:8",
            ],
        ),
        (
            "a.yaml",
            format!("{good}limits: {{max_workers: -3}}\n"),
            &["`limits.max_workers`", "`-3`", "a.yaml:3:23"],
        ),
        (
            "a.yaml",
            format!("{good}limits: [4]\n"),
            &["`limits`: expected a mapping, found a list", "a.yaml:3:9"],
        ),
        (
            "a.yaml",
            format!("systems: {url}\n{rest}"),
            &["`systems`: expected a list, found one value", "a.yaml:1:10"],
        ),
        (
            "a.yaml",
            format!("systems:\n  - proxy: {url}\n    system: passthrough\n{rest}"),
            &["`systems[0]` has both `proxy` and `system`", "a.yaml:3:5"],
        ),
        (
            "a.yaml",
            format!("systems:\n  - name: x\n{rest}"),
            &[
                "`systems[0]`: there is no `proxy`, `system` or `command`",
                "a.yaml:2:5",
            ],
        ),
        (
            "a.yaml",
            format!("{systems}benchmarks: [{{dataset: questions.jsonl, task: x}}]\n"),
            &[
                "`benchmarks[0]` has both `dataset` and `task`",
                "a.yaml:2:41",
            ],
        ),
        (
            "a.yaml",
            rest.into(),
            &["no system given", "`systems` in the run file"],
        ),
        (
            "a.yaml",
            systems,
            &["no dataset given", "`benchmarks` in the run file"],
        ),
        (
            "a.yaml",
            String::new(),
            &["no dataset given", "`benchmarks` in the run file"],
        ),
        ("a.yaml", "# nothing\n".into(), &["no dataset given"]),
        (
            "a.yaml",
            format!("version: 2\n{good}"),
            &["format 2 cannot be read", "a.yaml:1:10", "reads format 1"],
        ),
        (
            "a.yaml",
            format!("{good}limits: {{rps: 1}}\nlimits: {{rps: 2}}\n"),
            &["the key `limits` is there twice", "a.yaml:4:1"],
        ),
        (
            "a.yaml",
            "- a\n- b\n".into(),
            &[
                "a run file is a mapping of keys",
                "found a list",
                "a.yaml:1:1",
            ],
        ),
        (
            "a.yaml",
            "hello\n".into(),
            &["a run file is a mapping of keys", "a.yaml:1:1"],
        ),
        ("a.yaml", "systems: [\n".into(), &["a.yaml:2:1"]),
        (
            "a.yaml",
            format!("{good}data: {{repeats: 0}}\n"),
            &["`data.repeats`"],
        ),
        (
            "a.yaml",
            format!("{good}requests: {{timeout: -1}}\n"),
            &["`requests.timeout`"],
        ),
        (
            "a.yaml",
            format!("systems: [{{proxy: \"{url}\", timeout: -1}}]\n{rest}"),
            &["`systems[0].timeout` must be a number of seconds above 0"],
        ),
        (
            "a.yaml",
            format!("{good}limits: {{max_time: 1.0e+300}}\n"),
            &["`limits.max_time`"],
        ),
        (
            "a.yaml",
            format!("{good}limits: {{rps: 0}}\n"),
            &["`limits.rps`"],
        ),
        (
            "a.yaml",
            format!("{good}output: {{format: jsn}}\n"),
            &["`jsn`", "`json`"],
        ),
        (
            "a.yaml",
            format!("systems: [{{given: x}}]\n{rest}"),
            &["no system named `x`"],
        ),
        (
            "a.json",
            "{\"systems\": [],}".into(),
            &["the run file is not JSON: trailing comma", "a.json:1:16"],
        ),
        (
            "a.json",
            "{\n\t\"system\": []\n}".into(),
            &[
                "unknown key `system` in the run file",
                "a.json",
                "did you mean `systems`?",
            ],
        ),
    ];
    for (name, text, texts) in cases {
        let folder = folder(name, text);
        run_in(folder.path(), &["run", name]).is_error(texts);
    }
    let folder = folder("a.yaml", &good);
    let missing = run_in(folder.path(), &["run", "b.yaml"]);
    missing.is_error(&["cannot read the run file", "at b.yaml"]);
    assert_eq!(server.request_count(), 0);
    let done = run_in(folder.path(), &["run", "a.yaml", "-q"]);
    assert_eq!((done.code, server.request_count()), (0, 2), "{done}");
}

#[test]
fn sections_without_entries_say_nothing() {
    let folder = folder(
        "a.yaml",
        "systems: [{system: passthrough}]\nbenchmarks: [{dataset: questions.jsonl}]\nlimits:\n  # \
         rps: 3\ndata:\n  include_path:\nscoring: {evaluators: }\n",
    );
    let done = run_in(folder.path(), &["run", "a.yaml", "-q"]);
    assert_eq!(done.code, 0, "{done}");
}

#[test]
fn paths_start_beside_the_file_and_it_may_be_json() {
    let bench = Bench::new(Duration::ZERO);
    let here = tempfile::tempdir().unwrap();
    let home = bench.tasks.folder.path();
    let file = home.join("bench.yaml");
    let beside = run_in(here.path(), &["run", arg(&file), "-q", "--output", "json"]);
    assert_eq!(beside.code, 0, "{beside}");
    // Tabs, escapes in pairs and exponents are JSON, and no YAML.
    let text = bench
        .program()
        .args(["run", "bench.yaml", "--print-config"])
        .output();
    let text = String::from_utf8(text.unwrap().stdout).unwrap();
    assert!(text.contains("bootstrap_iters: 200"), "{text}");
    let spec = format!(
        "{{\n\t\"systems\": [{{\"proxy\": \"{}\", \"name\": \"direct\", \"system_prompt\": \"\\ud83d\\ude00\"}}],\n\
         \t\"benchmarks\": [{{\"dataset\": \"questions.jsonl\"}}, {{\"task\": \"tasks/corpus.yaml,tasks/word.yaml\"}}],\n\
         \t\"requests\": {{\"extra_body\": {{\"temperature\": 1e-05}}, \"timeout\": 1e2}}\n}}",
        bench.servers[0].base_url_v1()
    );
    fs::write(home.join("bench.json"), spec).unwrap();
    let before = bench.servers[0].request_count();
    let file = home.join("bench.json");
    let done = run_in(here.path(), &["run", arg(&file), "-q", "--output", "json"]);
    assert_eq!(done.code, 0, "{done}");
    let names = done.json()["tasks"]["direct"]["results"].clone();
    let names: Vec<&String> = names.as_object().unwrap().keys().collect();
    assert_eq!(names[1..], ["corpus", "last_word"], "{names:?}");
    let request = &bench.servers[0].requests()[before];
    assert_eq!(request.body["temperature"], json!(1e-5));
    assert_eq!(request.body["messages"][0]["content"], json!("😀"));
}

#[test]
fn flags_without_effect_say_so() {
    let folder = folder("x.jsonl", "");
    let flags = [
        "--device",
        "cuda:0",
        "--trust_remote_code",
        "--verbosity",
        "DEBUG",
    ];
    let line = [
        "run",
        "--system",
        "passthrough",
        "--dataset",
        "questions.jsonl",
        "-q",
    ];
    let done = run_in(folder.path(), &[&line[..], &flags].concat());
    assert_eq!(done.code, 0, "{done}");
    for flag in ["--device", "--trust_remote_code", "--verbosity"] {
        let said = format!("warning: `{flag}` has no effect");
        assert!(done.stderr.contains(&said), "{done}");
    }
    let done = run_in(folder.path(), &line);
    assert!(!done.stderr.contains("no effect"), "{done}");
}

#[test]
fn datasets_and_tasks_are_one_run() {
    let bench = Bench::new(Duration::ZERO);
    let url = bench.servers[0].base_url_v1();
    let line = [
        "run",
        "--proxy",
        &url,
        "--name",
        "direct",
        "--dataset",
        "questions.jsonl",
        "--tasks",
        "tasks/corpus.yaml",
        "--output",
        "json",
        "-q",
    ];
    let done = run_with(bench.program().args(line));
    assert_eq!(done.code, 0, "{done}");
    let both = done.json();
    let results = both["tasks"]["direct"]["results"].as_object().unwrap();
    assert_eq!(results.keys().collect::<Vec<_>>(), ["questions", "corpus"]);
    assert_eq!(both["rows"].as_array().unwrap().len(), 16);
    assert_eq!(bench.servers[0].request_count(), 16);
    // Each has the numbers that it has alone.
    let alone: Vec<&str> = line
        .iter()
        .copied()
        .filter(|w| !w.contains("questions"))
        .collect();
    let alone: Vec<&str> = alone
        .into_iter()
        .filter(|word| *word != "--dataset")
        .collect();
    let alone = run_with(bench.program().args(alone)).json();
    let of = |result: &Value| tasks_of(result)["direct"]["results"]["corpus"].clone();
    same("the task", &of(&alone), &of(&both));
}

#[test]
fn the_schema_takes_what_the_page_shows() {
    let done = run(&["schema"]);
    assert_eq!(done.code, 0, "{done}");
    let schema = done.json();
    assert_eq!(schema["additionalProperties"], json!(false));
    let page = context_bench::plan::reference();
    let example = page
        .split("```yaml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let spec = context_bench::plan::RunSpec::parse(example.as_bytes(), "page").unwrap();
    let good = serde_json::to_value(spec).unwrap();
    let mut bad = vec![
        json!([]),
        json!({"sistems": []}),
        json!({"limits": {"rps": "fast"}}),
    ];
    bad.push(json!({"systems": [{"proxi": "http://h"}]}));
    let folder = folder("schema.json", &done.stdout);
    let cases = json!({"good": [good, {}, {"limits": {"max_workers": "auto"}}], "bad": bad});
    fs::write(folder.path().join("cases.json"), cases.to_string()).unwrap();
    let program = "import json, sys\ntry:\n    import jsonschema\nexcept ImportError:\n    \
                   sys.exit(77)\nschema = json.load(open('schema.json'))\ncases = \
                   json.load(open('cases.json'))\n\
                   validator = jsonschema.Draft202012Validator(schema)\n\
                   validator.check_schema(schema)\nassert all(validator.is_valid(one) for one in \
                   cases['good'])\nassert not any(validator.is_valid(one) for one in cases['bad'])\n";
    let mut python = std::process::Command::new("python3");
    let done = run_with(python.current_dir(folder.path()).args(["-c", program]));
    match done.code {
        77 => eprintln!("skipped: Python has no `jsonschema`"),
        code => assert_eq!(code, 0, "{done}"),
    }
}
