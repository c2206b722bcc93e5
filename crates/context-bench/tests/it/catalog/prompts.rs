//! How datasets are asked: prompts with worked examples from where the records are.

use std::fs;
use std::path::Path;

use context_bench::dataset::catalog::{ConfigPrompt, DatasetCatalog, LoadSettings};
use context_bench::error::Hint as _;
use context_bench_testkit::hub::{FakeHub, FakeRepo};
use serde_json::{Value, json};

use super::fixture;

const MILLS: &str = "\
name: mills
about: Questions about mills
category: qa
source:
  files: '{split}.jsonl'
  split: test
default_config: short
configs:
  short: {}
  long:
    prompt: {max_tokens: 64, with: {ask: 'Say much:'}}
fields:
  context: text
  question: ask
  answer: gold
prompt:
  system: '{{ config }}'
  user: \"{% for shot in shots %}{{ shot.question }} {{ shot.why }}\\n{% endfor %}{{ context }}\\n{{ ask }} {{ question }}\"
  with: {ask: 'Say:'}
  max_tokens: 8
  stop: [\"\\n\"]
  temperature: 0.5
shots: {split: train, count: 2, fields: {why: reason | upper}}
evaluators: [answer_quality]
score_field: f1
";

fn line(n: usize) -> String {
    let record = json!({"text": format!("T{n}"), "ask": format!("A{n}?"), "gold": "g",
                        "reason": format!("because {n}")});
    format!("{record}\n")
}

fn mills(folder: &Path) -> DatasetCatalog {
    fs::write(folder.join("mills.yaml"), MILLS).expect("written");
    fs::write(folder.join("test.jsonl"), line(0)).expect("written");
    let mut catalog = DatasetCatalog::builtin();
    catalog.include(folder).expect("valid");
    catalog
}

/// The prompt of a config, and what it makes of the first example.
fn prompted(
    catalog: &DatasetCatalog,
    name: &str,
    config: Option<&str>,
    settings: &LoadSettings,
) -> Result<(ConfigPrompt, Value), String> {
    let spec = catalog.get(name).map_err(|error| error.to_string())?;
    let config = spec.select(config, None).expect("a config").remove(0);
    let told = |error: context_bench::dataset::DatasetError| {
        format!("{error}\nhint: {}", error.hint().unwrap_or_default())
    };
    let prompt = config.prompt(settings).map_err(told)?.expect("a prompt");
    let mut examples = config.load(settings).map_err(told)?.into_iter();
    let example = examples.next().expect("one").map_err(told)?;
    let rendered = prompt.prompt.render(&example).expect("rendered");
    let shown = json!({"system": rendered.system, "user": rendered.user,
                       "generation": rendered.generation});
    Ok((prompt, shown))
}

#[test]
fn a_file_says_how_to_ask_and_configs_say_it_differently() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalog = mills(folder.path());
    fs::write(
        folder.path().join("train.jsonl"),
        line(1) + &line(2) + &line(3),
    )
    .expect("written");
    let settings = LoadSettings::default();
    let (short, shown) = prompted(&catalog, "mills", None, &settings).expect("a prompt");
    let generation = json!({"max_gen_toks": 8, "until": ["\n"], "temperature": 0.5});
    assert_eq!(
        shown,
        json!({"system": "short", "generation": generation,
               "user": "A1? BECAUSE 1\nA2? BECAUSE 2\nT0\nSay: A0?"})
    );
    // No more is read than is shown.
    assert_eq!(
        (short.prompt.parts().shots.len(), &short.missing),
        (2, &None)
    );
    let (long, shown) = prompted(&catalog, "mills", Some("long"), &settings).expect("a prompt");
    assert_eq!(shown["generation"]["max_gen_toks"], 64);
    assert_eq!(shown["generation"]["until"], json!(["\n"]));
    let user = shown["user"].as_str().expect("text");
    assert!(user.ends_with("T0\nSay much: A0?"), "{user}");
    assert_ne!(short.prompt.digest(), long.prompt.digest());
    // Other worked examples make another prompt.
    fs::write(folder.path().join("train.jsonl"), line(4) + &line(5)).expect("written");
    let (other, _) = prompted(&catalog, "mills", None, &settings).expect("a prompt");
    assert_ne!(short.prompt.digest(), other.prompt.digest());
}

#[test]
fn a_split_that_is_not_there_is_told_and_the_records_are_never_taken_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalog = mills(folder.path());
    // The file of the dataset says where the split is.
    let error = prompted(&catalog, "mills", None, &LoadSettings::default());
    let error = error.expect_err("no file");
    assert!(
        error.contains("the worked examples of `mills:short`, split `train`, cannot be read"),
        "{error}"
    );
    assert!(
        error.contains("`--prompt plain` asks without it"),
        "{error}"
    );
    // A copy may have one split only.
    for copy in ["mine.jsonl", "alone/mine.jsonl"] {
        let copy = folder.path().join(copy);
        fs::create_dir_all(copy.parent().expect("a folder")).expect("made");
        fs::write(&copy, line(7)).expect("written");
        let mut settings = LoadSettings::default();
        settings.path = Some(copy);
        let (prompt, shown) = prompted(&catalog, "mills", None, &settings).expect("a prompt");
        let missing = prompt.missing.expect("told");
        assert_eq!((missing.count, missing.split.as_str()), (2, "train"));
        assert_eq!(shown["user"], "T7\nSay: A7?");
    }
}

#[test]
fn worked_examples_are_those_of_the_category_from_beside_the_copy_and_from_the_hub() {
    let copy = fixture("datasets/mmlu-pro");
    let expected = "Question:\nPick the first.\nOptions:\nA. p\nB. q\nAnswer: Let's think step by \
                    step. The first of them is p. The answer is (A).\n\nQuestion:\nPick the second.";
    let mut paths = vec![Some(copy.clone()), Some(copy.join("data/test.jsonl"))];
    let read = |name: &str| fs::read(copy.join(name)).expect(name);
    let hub = FakeHub::start(vec![
        FakeRepo::new("TIGER-Lab/MMLU-Pro")
            .file("data/test.jsonl", &read("data/test.jsonl"))
            .file("data/validation.jsonl", &read("data/validation.jsonl")),
    ]);
    let cache = tempfile::tempdir().expect("a folder");
    let access = super::remote::access(&hub, &cache);
    paths.push(None);
    let mut digests = Vec::new();
    for path in paths {
        let mut settings = LoadSettings::default();
        settings.path = path;
        settings.hub = Some(access.clone());
        let found = prompted(&DatasetCatalog::builtin(), "mmlu-pro", None, &settings);
        let (prompt, shown) = found.expect("a prompt");
        let user = shown["user"].as_str().expect("text");
        assert!(user.contains(expected) && !user.contains("oak"), "{user}");
        assert!(
            user.ends_with("F. f\nAnswer: Let's think step by step."),
            "{user}"
        );
        assert_eq!(prompt.missing, None);
        digests.push(prompt.prompt.digest().to_owned());
    }
    digests.dedup();
    assert_eq!(digests.len(), 1, "it does not matter where they are from");
}
