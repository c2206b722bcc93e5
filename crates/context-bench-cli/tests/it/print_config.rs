//! `run … --print-config`: the run file of a command line, without its secrets.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::bench::same;
use crate::run_file::{folder, run_in};

/// What `--print-config` writes.
fn printed(folder: &Path, args: &[&str]) -> String {
    let done = run_in(folder, &[&["run"], args, &["--print-config"]].concat());
    assert_eq!(done.code, 0, "{done}");
    done.stdout
}

/// Command lines and what their files must say.
const LINES: &[(&[&str], &[&str])] = &[
    (
        &["--system", "passthrough", "--dataset", "demo"],
        &["system: passthrough"],
    ),
    (
        &[
            "--proxy",
            "http://h:1/v1",
            "--name",
            "a",
            "--proxy",
            "http://i",
            "--dataset",
            "x.jsonl",
        ],
        &["name: a", "proxy: http://i", "dataset: x.jsonl"],
    ),
    (
        &[
            "--command",
            "python3 my.py --fast",
            "--system-version",
            "2",
            "--tasks",
            "a,b",
        ],
        &[
            "command: python3 my.py --fast",
            "version: \"2\"",
            "task: \"a,b\"",
        ],
    ),
    (
        &[
            "--model",
            "local-completions",
            "--model_args",
            "base_url=http://h/v1/completions,model=m,num_concurrent=4,max_length=512",
            "--tasks",
            "t",
            "--batch_size",
            "8",
            "--num_fewshot",
            "3",
            "--seed",
            "7",
        ],
        &[
            "generation: 1234",
            "batch_size: 8",
            "max_length: 512",
            "model: local-completions",
        ],
    ),
    (
        &[
            "--proxy",
            "http://h",
            "--tasks",
            "t",
            "--limit",
            "0.5",
            "--max-workers",
            "auto",
            "--gen_kwargs",
            "temperature=0.5,until=yes",
            "--metadata",
            "{\"a\": [1, null], \"yes\": \"no\", \"at\": \"12:30:00\", \"n\": \"0x1F\"}",
            "--apply_chat_template",
            "--fewshot_as_multiturn",
            "false",
        ],
        &[
            "limit: 0.5",
            "max_workers: auto",
            "apply_chat_template: true",
        ],
    ),
    (
        &[
            "--proxy",
            "http://h",
            "--dataset",
            "demo",
            "--extra-body",
            "{\"temperature\": 1e-05, \"n\": 1e300, \"stop\": [\"\\n\", \": #\"], \"é\": \"\\u2028\"}",
            "--system-prompt=- one: \"two\"\n  three\n",
            "--timeout",
            "2.5",
            "--stream",
        ],
        &["temperature: 1.0e-05", "timeout: 2.5", "stream: true"],
    ),
    (
        &[
            "--system",
            "truncate:ratio=0.5",
            "--relay",
            "http://h",
            "--dataset",
            "demo",
            "--evaluator",
            "f1",
            "--evaluator",
            "contains",
            "--score-field",
            "f1",
            "--threshold",
            "0.25",
            "--text-field",
            "context",
            "--tokenizer",
            "o200k_base",
            "--cache-dir",
            "c",
            "--output",
            "json",
            "--output-path",
            "out",
            "--log-samples",
            "--repeats",
            "3",
            "--skip-bad-lines",
            "--keep-order",
            "--no-python",
            "--include-path",
            "p",
        ],
        &[
            "relay: http://h",
            "- contains",
            "allowed: false",
            "repeats: 3",
            "harness_path: out",
        ],
    ),
];

#[test]
fn a_command_line_is_the_same_as_its_file() {
    let folder = folder("x.jsonl", "");
    for (line, texts) in LINES {
        let text = printed(folder.path(), line);
        for expected in *texts {
            assert!(text.contains(expected), "no `{expected}` in:\n{text}");
        }
        for name in ["line.yaml", "line.json"] {
            let mut written = text.clone();
            if name.ends_with("json") {
                // The same as JSON: what Python makes of the YAML is not what we test.
                let spec = context_bench::plan::RunSpec::parse(text.as_bytes(), "line.yaml");
                written = serde_json::to_string_pretty(&spec.unwrap()).unwrap();
            }
            fs::write(folder.path().join(name), written).unwrap();
            assert_eq!(printed(folder.path(), &[name]), text, "{line:?}");
        }
    }
}

#[test]
fn flags_are_put_on_top_of_a_file() {
    let folder = folder(
        "a.yaml",
        "systems: [{system: passthrough}, {system: \"truncate:ratio=0.5\"}]\nbenchmarks: \
         [{dataset: demo}, {task: t}]\ndata: {limit: 5, files: {test: a.jsonl}}\nscoring: \
         {evaluators: [f1, contains], threshold: 0.5}\nrequests: {model: m, extra_body: {top_p: 1, \
         temperature: 1}}\nlimits: {max_workers: 2}\n",
    );
    let flags = [
        "a.yaml",
        "--system",
        "extractive:ratio=0.3",
        "--dataset",
        "x.jsonl",
        "--limit",
        "2",
        "--evaluator",
        "f1",
        "--extra-body",
        "{\"temperature\": 0}",
        "--max-workers",
        "8",
        "--data",
        "validation=b.jsonl",
    ];
    let text = printed(folder.path(), &flags);
    let spec = context_bench::plan::RunSpec::parse(text.as_bytes(), "printed").unwrap();
    let value = serde_json::to_value(spec).unwrap();
    let expected = json!({
        "version": 1,
        "systems": [{"system": "extractive:ratio=0.3"}],
        "benchmarks": [{"dataset": "x.jsonl"}],
        "data": {"limit": 2, "files": {"test": "a.jsonl", "validation": "b.jsonl"}},
        "scoring": {"evaluators": ["f1"], "threshold": 0.5},
        "requests": {"model": "m", "extra_body": {"top_p": 1, "temperature": 0}},
        "limits": {"max_workers": 8},
    });
    same("the spec", &expected, &value);
}

#[test]
fn secrets_are_not_printed() {
    let folder = folder("x.jsonl", "");
    let lines: &[&[&str]] = &[
        &["--proxy", "http://u:PLANTED@h/v1", "--dataset", "d"],
        &[
            "--proxy",
            "http://h/v1?key=PLANTED",
            "--relay",
            "http://u:PLANTED@h",
            "--dataset",
            "d",
        ],
        &[
            "--proxy",
            "http://h",
            "--extra-body",
            "{\"headers\": {\"Authorization\": \"PLANTED\"}}",
        ],
        &[
            "--proxy",
            "http://h",
            "--extra-body",
            "{\"api_key\": \"PLANTED\"}",
        ],
        &["--command", "prog --api-key PLANTED", "--dataset", "d"],
        &[
            "--command",
            "TOKEN=PLANTED prog -H 'Authorization: PLANTED'",
            "--dataset",
            "d",
        ],
        &[
            "--tasks",
            "t",
            "--model",
            "local-completions",
            "--model-args",
            "base_url=http://u:PLANTED@h/v1/completions?k=PLANTED,model=m,auth_token=PLANTED",
        ],
        &[
            "--proxy",
            "http://h",
            "--judge-url",
            "http://u:PLANTED@h",
            "--dataset",
            "d",
        ],
        &[
            "--proxy",
            "http://h",
            "--dataset",
            "d",
            "--metadata",
            "{\"password\": \"PLANTED\"}",
        ],
    ];
    for line in lines {
        let done = run_in(
            folder.path(),
            &[&["run"], *line, &["--print-config"]].concat(),
        );
        assert_eq!(done.code, 0, "{done}");
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(!said.contains("PLANTED"), "{done}");
        assert!(said.contains("secrets are left out"), "{done}");
    }
    // What only sounds like a secret is kept.
    let prose = "Say token: abc, or key=value.";
    let line = [
        "--proxy",
        "http://h",
        "--dataset",
        "secrets=keys.jsonl",
        "--system-prompt",
        prose,
    ];
    let done = run_in(
        folder.path(),
        &[&["run"], &line[..], &["--print-config"]].concat(),
    );
    assert!(done.stdout.contains("secrets=keys.jsonl"), "{done}");
    assert!(done.stdout.contains(prose), "{done}");
    assert_eq!(done.stderr, "", "{done}");
}
