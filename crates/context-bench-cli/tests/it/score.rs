//! `score`: one document, by a task's own rule.

use std::path::Path;

use serde_json::json;

use crate::program::run;

const TASK: &str = "task: sums\ndataset_path: none\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\nrepeats: 2\nfilter_list:\n  - name: number\n    filter:\n      - {function: regex, regex_pattern: \"(\\\\d+)\"}\n      - function: take_first\n";

fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_task_and_a_dataset_score_one_document() {
    let folder = tempfile::tempdir().unwrap();
    let task = folder.path().join("sums.yaml");
    std::fs::write(&task, TASK).unwrap();
    let doc = folder.path().join("doc.json");
    std::fs::write(&doc, r#"{"q": "1+1?", "a": "2"}"#).unwrap();
    let done = run(&[
        "score",
        "--task",
        "sums",
        "--include-path",
        arg(&task),
        "--doc",
        arg(&doc),
        "--response",
        "it is 2",
    ]);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(
        done.json(),
        json!({
            "task": "sums", "target": "2",
            "filters": {"number": {"filtered": "2", "scores": {"exact_match": 1.0}}},
        })
    );
    let record = folder.path().join("records.jsonl");
    std::fs::write(
        &record,
        r##"{"question": "1+1?", "answer": "One and one.\n#### 2"}"##,
    )
    .unwrap();
    let done = run(&[
        "score",
        "--task",
        "gsm8k:main",
        "--doc",
        arg(&record),
        "--response",
        "#### 2",
    ]);
    assert_eq!(done.code, 0, "{done}");
    let scored = done.json();
    assert_eq!(scored["target"], "2", "{scored}");
    assert_eq!(scored["scores"]["math_equiv"], 1.0, "{scored}");
}

#[test]
fn what_cannot_be_scored_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let doc = folder.path().join("doc.json");
    std::fs::write(&doc, "[1]").unwrap();
    let task = folder.path().join("sums.yaml");
    std::fs::write(&task, TASK).unwrap();
    let score = |task_: &str, doc: &Path| {
        run(&[
            "score",
            "--include-path",
            arg(&task),
            "--task",
            task_,
            "--doc",
            arg(doc),
            "--response",
            "2",
        ])
    };
    score("sums", &doc).is_error(&["does not contain a JSON object"]);
    score("sums", &folder.path().join("none.json")).is_error(&["cannot read"]);
    score("mgsm", &doc).is_error(&["`mgsm` means 11 tasks"]);
    score("smus", &doc).is_error(&["unknown task, group or tag `smus`"]);
}
