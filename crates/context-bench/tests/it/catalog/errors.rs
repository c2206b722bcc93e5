//! What a new user may do wrong, and what is said then.

use std::fs;
use std::path::PathBuf;

use context_bench::registry::{DatasetRequest, Registry};

use super::{fixture, load, load_with};

fn written(text: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("copy.jsonl");
    fs::write(&file, text).expect("written");
    (folder, file)
}

fn failure(typed: &str) -> String {
    load(typed).expect_err(typed)
}

#[test]
fn names_and_configs_are_suggested() {
    let error = failure("hotpotqaa");
    assert!(error.starts_with("unknown dataset `hotpotqaa`"), "{error}");
    assert!(error.contains("did you mean `hotpotqa`?"), "{error}");

    let error = failure("mmlu:anatomi");
    assert!(
        error.starts_with("dataset `mmlu` has no config `anatomi`"),
        "{error}"
    );
    assert!(error.contains("did you mean `anatomy`?"), "{error}");
    assert!(error.contains("virology"), "{error}");

    let error = failure("drop:x");
    assert!(
        error.contains("`drop` has no configs; write `drop`"),
        "{error}"
    );
    assert!(failure("mgsm:en,xx").contains("no config `xx`"));
}

#[test]
fn a_dataset_without_access_to_the_hub_says_how_to_go_on() {
    let error = failure("gsm8k");
    assert!(error.contains("must come from the hub"), "{error}");
    assert!(error.contains("gsm8k:main=PATH"), "{error}");
}

#[test]
fn a_record_that_does_not_fit_names_dataset_field_and_place() {
    let (_folder, file) = written("{\"question\": \"q\", \"answer\": \"#### 1\"}\n{\"text\": 1}\n");
    let error = failure(&format!("gsm8k={}", file.display()));
    let place = format!("{}:2", file.display());
    let told = "field `context` of dataset `gsm8k:main`, record 2: `question` is undefined; \
                the record has `text`";
    assert!(error.starts_with(told), "{error}");
    assert!(error.contains(&place), "{error}");
    assert!(error.contains("context-bench show gsm8k"), "{error}");

    let request = DatasetRequest {
        skip_bad_lines: true,
        ..DatasetRequest::default()
    };
    let typed = format!("gsm8k={}", file.display());
    let opened = Registry::builtin()
        .open_dataset(&typed, &request)
        .expect("opens");
    let skipped = opened[0].dataset.skipped().clone();
    assert_eq!(skipped.total(), 1);
    assert_eq!(load_with(&typed, &request).expect("loads").len(), 1);
}

#[test]
fn odd_but_valid_files_are_read() {
    let long = "x".repeat(10 << 20);
    let text = format!(
        "\u{feff}{{\"input\": \"a\", \"target\": \"1\"}}\r\n\r\n\n{{\"input\": \"{long}\", \"target\": \"2\"}}\r\n"
    );
    let (_folder, file) = written(text);
    let examples = load(&format!("bbh={}", file.display())).expect("loads");
    let ids: Vec<Option<i64>> = examples
        .iter()
        .map(|e| e.get("id").and_then(|v| v.as_i64()))
        .collect();
    assert_eq!(ids, [Some(0), Some(1)]);
    assert_eq!(examples[1].context().len(), 10 << 20);
}

#[test]
fn text_that_is_not_utf8_is_told_with_its_line() {
    let (_folder, file) = written(
        b"{\"input\": \"a\", \"target\": \"1\"}\n{\"input\": \"\xff\", \"target\": \"1\"}\n",
    );
    let error = failure(&format!("bbh={}", file.display()));
    assert!(error.to_lowercase().contains("utf-8"), "{error}");
    assert!(error.contains(&format!("{}:2", file.display())), "{error}");
}

#[test]
fn a_folder_without_the_config_lists_what_is_there() {
    let folder = fixture("datasets/mgsm");
    let error = failure(&format!("mgsm:fr={}", folder.display()));
    assert!(
        error.contains("config `fr`, split `test` of `mgsm:fr`"),
        "{error}"
    );
    assert!(error.contains("`de/test.jsonl`"), "{error}");
    let error = failure(&format!("mgsm:de@train={}", folder.display()));
    assert!(error.contains("split `train`"), "{error}");
    let error = failure("bbh=no/such/file.jsonl");
    assert!(
        error.contains("no dataset file `no/such/file.jsonl`"),
        "{error}"
    );
}

#[test]
fn n_counts_records_and_of_expanded_ones_examples() {
    let n = |typed: &str, folder: &str, n: usize| {
        let request = DatasetRequest {
            max_examples: Some(n),
            ..DatasetRequest::default()
        };
        let typed = format!("{typed}={}", fixture(folder).display());
        load_with(&typed, &request).expect("loads").len()
    };
    assert_eq!(n("arc-challenge", "datasets/arc-challenge", 2), 1);
    assert_eq!(n("arc-challenge", "datasets/arc-challenge", 3), 2);
    // Records of other subjects do not count.
    assert_eq!(
        n("mmlu:abstract_algebra", "datasets/mmlu/all/test.jsonl", 1),
        1
    );
    assert_eq!(n("qasper", "datasets/qasper", 2), 2);
    assert_eq!(n("qasper", "datasets/qasper", 0), 0);
}

#[test]
fn several_configs_have_tags_of_their_own() {
    let folder = fixture("datasets/mgsm");
    let typed = format!("mgsm:de,en={}", folder.display());
    let tags: Vec<String> = load(&typed)
        .expect("loads")
        .iter()
        .map(|e| e.dataset().to_owned())
        .collect();
    assert_eq!(tags, ["mgsm:de", "mgsm:en"]);
    let typed = format!("mgsm:de={}", folder.display());
    assert_eq!(load(&typed).expect("loads")[0].dataset(), typed);
}
