//! Datasets that a user describes: they work as ours do, and what is wrong in
//! a file is told with its place.

use std::fs;
use std::path::Path;

use context_bench::dataset::catalog::DatasetCatalog;
use context_bench::error::Hint as _;
use context_bench::registry::{DatasetRequest, Registry};

const OWN: &str = "\
name: ferry
about: Questions about ferries
category: qa
source:
  files: ferry.jsonl
fields:
  id: key
  context: text
  question: \"Q: {{ ask }}\"
  answers: golds
evaluators: [answer_quality]
score_field: exact_match
";

#[test]
fn a_file_of_ones_own_adds_a_dataset_with_its_records_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("ferry.yaml"), OWN).expect("written");
    let record =
        "{\"key\": 7, \"text\": \"T\", \"ask\": \"when?\", \"golds\": [\"now\", \"today\"]}\n";
    fs::write(folder.path().join("ferry.jsonl"), record).expect("written");
    let mut registry = Registry::builtin();
    registry.catalog.include(folder.path()).expect("valid");
    assert!(registry.catalog.names().contains(&"ferry"));
    let opened = registry
        .open_dataset("ferry", &DatasetRequest::default())
        .expect("opens");
    let config = opened[0].config.clone().expect("of the catalog");
    assert_eq!(
        (config.evaluators(), config.score_field()),
        (&["answer_quality".to_owned()][..], Some("exact_match"))
    );
    let examples: Vec<_> = opened
        .into_iter()
        .next()
        .expect("one")
        .dataset
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("valid");
    assert_eq!(examples.len(), 1);
    let text = serde_json::to_string(&examples[0]).expect("JSON");
    assert_eq!(
        text,
        r#"{"id":7,"context":"T","question":"Q: when?","answer":"now","answers":["now","today"],"dataset":"ferry"}"#
    );
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_line_column_and_hint() {
    let fields = "fields:\n  id: a\n";
    for (text, problem, place, hint) in [
        (
            "name: x\ncategory: qa\nfeilds:\n  id: a\n".to_owned(),
            "a dataset has no key `feilds`",
            "3:1",
            "did you mean `fields`?",
        ),
        (
            format!("name: x\ncategory: qaa\n{fields}"),
            "unknown category `qaa`",
            "2:11",
            "did you mean `qa`?",
        ),
        (
            format!("name: x\ncategory: qa\nprepare: bfc\n{fields}"),
            "no function `bfc` for `prepare`",
            "3:10",
            "`bfcl`",
        ),
        (
            format!("name: x\ncategory: qa\nfor: everything\n{fields}"),
            "`for` cannot be `everything`",
            "3:6",
            "write `for: item in EXPRESSION`",
        ),
        (
            "name: x\ncategory: qa\nfields:\n  id: [a]\n".to_owned(),
            "`id` must be a template, found a list",
            "4:7",
            "in quotes",
        ),
        (
            "name: x\ncategory: qa\nfields:\n  id: a +\n".to_owned(),
            "syntax error",
            "4:7",
            "",
        ),
        (
            format!("name: x\nname: y\ncategory: qa\n{fields}"),
            "is given twice",
            "2:1",
            "line 1",
        ),
        (
            format!("category: qa\n{fields}"),
            "a dataset needs `name`",
            "1:1",
            "",
        ),
        (
            "name: x\ncategory: qa\n".to_owned(),
            "a dataset needs `fields`",
            "1:1",
            "`fields:`",
        ),
        (
            format!("name: x\ncategory: qa\nsource:\n  hbu: a/b\n{fields}"),
            "a source has no key `hbu`",
            "4:3",
            "did you mean `hub`?",
        ),
        (
            format!("name: x\ncategory: qa\nexamples: many\n{fields}"),
            "`examples` must be a whole number",
            "3:11",
            "",
        ),
        (
            format!("name: x\ncategory: qa\ndefault_config: zzz\nconfigs:\n  main: {{}}\n{fields}"),
            "no config `zzz`",
            "3:17",
            "name one of",
        ),
    ] {
        let error = DatasetCatalog::builtin()
            .add(&text, Path::new("own.yaml"))
            .expect_err(&text);
        let told = error.to_string();
        assert!(told.contains(problem), "{told}\n{text}");
        assert!(
            told.ends_with(&format!("at own.yaml:{place}")),
            "{told}\n{text}"
        );
        let advice = error.hint().unwrap_or_default();
        assert!(advice.contains(hint), "{advice}\n{text}");
    }
}

#[test]
fn a_missing_file_is_told() {
    let error = DatasetCatalog::builtin()
        .include(Path::new("no/such.yaml"))
        .expect_err("missing");
    assert!(
        error.to_string().starts_with("cannot read `no/such.yaml`"),
        "{error}"
    );
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("--include-path"))
    );
}
