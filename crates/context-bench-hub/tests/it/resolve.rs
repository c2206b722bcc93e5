//! From config and split to files, as the hub publishes them.

use context_bench_error::Hint as _;
use context_bench_hub::{HubError, Source};
use context_bench_testkit::hub::{FakeHub, FakeRepo};

use crate::common::{hub, offline};

const CARD: &[u8] = b"---
license: mit
dataset_info:
- config_name: main
  features:
  - name: question
    dtype: string
configs:
- config_name: main
  default: true
  data_files:
  - split: train
    path: main/train-*
  - split: test
    path: [main/test-*]
- config_name: socratic
  data_files: {train: socratic/train-*, test: socratic/test-*}
- config_name: 2024
  data_dir: extra
- config_name: broken
  data_files: nowhere/*.csv
---
# GSM8K
";

fn declared() -> FakeRepo {
    let mut repo = FakeRepo::new("openai/gsm8k").file("README.md", CARD);
    for config in ["main", "socratic"] {
        for split in ["train", "test"] {
            repo = repo.large(&format!("{config}/{split}-00000-of-00001.parquet"), b"PAR1");
        }
    }
    repo.file("extra/dev.jsonl", b"{}\n")
        .file("main/notes.txt", b"x")
}

fn paths(split: &context_bench_hub::ResolvedSplit) -> Vec<&str> {
    split.files.iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn the_readme_declares_configs_and_splits() {
    let fake = FakeHub::start([declared()]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    for (config, split, expected) in [
        (
            None,
            "test",
            ("main", "test", "main/test-00000-of-00001.parquet"),
        ),
        (
            Some("socratic"),
            "train",
            ("socratic", "train", "socratic/train-00000-of-00001.parquet"),
        ),
        (
            Some("2024"),
            "validation",
            ("2024", "validation", "extra/dev.jsonl"),
        ),
    ] {
        let found = client
            .resolve("openai/gsm8k", None, config, split)
            .expect("declared");
        assert_eq!(found.source, Source::Card);
        assert_eq!(
            (found.config.as_str(), found.split.as_str(), paths(&found)),
            (expected.0, expected.1, vec![expected.2])
        );
    }
    let configs = client.configs("openai/gsm8k", None).expect("declared");
    let names: Vec<(&str, bool)> = configs
        .iter()
        .map(|c| (c.name.as_str(), c.is_default))
        .collect();
    assert_eq!(
        names,
        [
            ("main", true),
            ("socratic", false),
            ("2024", false),
            ("broken", false)
        ]
    );
    assert_eq!(configs[1].splits, ["train", "test"]);
}

#[test]
fn wrong_names_are_answered_with_the_right_ones() {
    let fake = FakeHub::start([declared()]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let error = client
        .resolve("openai/gsm8k", None, Some("mian"), "test")
        .expect_err("no such config");
    assert_eq!(
        error.to_string(),
        "the dataset repo `openai/gsm8k` has no config `mian`"
    );
    assert_eq!(
        error.hint().expect("advice"),
        "did you mean `main`? there are `main`, `socratic`, `2024`, `broken`"
    );
    let error = client
        .resolve("openai/gsm8k", None, None, "tests")
        .expect_err("no such split");
    assert_eq!(
        error.to_string(),
        "config `main` of the dataset repo `openai/gsm8k` has no split `tests`"
    );
    assert_eq!(
        error.hint().expect("advice"),
        "did you mean `test`? there are `train`, `test`"
    );
    let error = client
        .resolve("openai/gsm8k", Some("v9"), None, "test")
        .expect_err("no such revision");
    assert_eq!(
        error.to_string(),
        "the dataset repo `openai/gsm8k` has no revision `v9`"
    );
    let error = client
        .files("openai/gsm8k", None, &["extra/dev.json"])
        .expect_err("no such file");
    assert_eq!(
        error.to_string(),
        "no file of the dataset repo `openai/gsm8k` matches `extra/dev.json` at revision `main`"
    );
    assert!(
        error
            .hint()
            .expect("advice")
            .starts_with("did you mean `extra/dev.jsonl`")
    );
    let error = client
        .resolve("openai/gsm8k", None, Some("broken"), "train")
        .expect_err("no files");
    assert!(matches!(error, HubError::NoData { .. }), "{error}");
    for repo in ["../x", "a/b/c", ""] {
        let error = client
            .resolve(repo, None, None, "test")
            .expect_err("no repo");
        assert!(matches!(error, HubError::BadRepo { .. }), "{error}");
    }
    let error = client
        .resolve("openai/gsm8k", Some("../../main"), None, "test")
        .expect_err("no such revision");
    assert!(
        matches!(error, HubError::RevisionNotFound { .. }),
        "{error}"
    );
}

#[test]
fn several_configs_without_a_default_must_be_named() {
    let card = b"---\nconfigs:\n- config_name: a\n  data_files: a.csv\n- config_name: b\n  data_files: b.csv\n---\n";
    let repo = FakeRepo::new("org/set")
        .file("README.md", card)
        .file("a.csv", b"x\n")
        .file("b.csv", b"x\n");
    let fake = FakeHub::start([repo]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let error = client
        .resolve("org/set", None, None, "train")
        .expect_err("which?");
    assert_eq!(
        error.to_string(),
        "the dataset repo `org/set` has 2 configs and no default"
    );
    assert_eq!(error.hint().expect("advice"), "name one of `a`, `b`");
}

#[test]
fn without_a_declaration_the_layout_tells() {
    let repo = FakeRepo::new("org/set")
        .file("README.md", b"# Just text\n")
        .file("en/train.jsonl", b"{}\n")
        .file("en/test.jsonl", b"{}\n")
        .file("de/test.jsonl", b"{}\n");
    let fake = FakeHub::start([repo]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let all = client
        .resolve("org/set", None, None, "test")
        .expect("by name");
    assert_eq!(
        (all.source, all.config.as_str()),
        (Source::Layout, "default")
    );
    assert_eq!(paths(&all), ["de/test.jsonl", "en/test.jsonl"]);
    let one = client
        .resolve("org/set", None, Some("de"), "test")
        .expect("a folder");
    assert_eq!(paths(&one), ["de/test.jsonl"]);
    let error = client
        .resolve("org/set", None, Some("fr"), "test")
        .expect_err("no folder");
    assert!(error.hint().expect("advice").contains("`de`, `en`"));
}

#[test]
fn a_repo_with_only_a_script_is_read_from_the_converted_branch() {
    let script = FakeRepo::new("org/scripted")
        .file("README.md", b"---\nlicense: mit\n---\n")
        .file("scripted.py", b"print('never run')\n")
        .file("data.zip", b"PK")
        .branch("refs/convert/parquet")
        .large("distractor/train/0000.parquet", b"PAR1a")
        .large("distractor/train/0001.parquet", b"PAR1b")
        .large("distractor/validation/0000.parquet", b"PAR1c")
        .large("fullwiki/partial-test/0000.parquet", b"PAR1d");
    let fake = FakeHub::start([
        script,
        FakeRepo::new("org/bare")
            .file("bare.py", b"")
            .file("README.md", b""),
    ]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let found = client
        .resolve("org/scripted", None, Some("distractor"), "train")
        .expect("converted");
    assert_eq!(found.source, Source::Converted);
    assert_eq!(found.revision, "refs/convert/parquet");
    assert_eq!(
        found.commit,
        fake.commit("org/scripted", "refs/convert/parquet")
    );
    assert_eq!(
        paths(&found),
        [
            "distractor/train/0000.parquet",
            "distractor/train/0001.parquet"
        ]
    );
    client.fetch(&found.files, &()).expect("fetched");
    let part = client
        .resolve("org/scripted", None, Some("fullwiki"), "test")
        .expect("converted");
    assert!(part.is_partial && !found.is_partial);
    // What was fetched can be found without a network.
    let alone = offline(&fake, cache.path());
    let again = alone
        .resolve("org/scripted", None, Some("distractor"), "train")
        .expect("in the cache");
    assert_eq!(again, found);
    assert!(alone.fetch(&again.files, &()).is_ok());
    // The commit that is recorded leads to the same files again.
    let pinned = client
        .resolve(
            "org/scripted",
            Some(&found.commit),
            Some("distractor"),
            "train",
        )
        .expect("the same");
    assert_eq!(paths(&pinned), paths(&found));
    let error = client
        .resolve("org/scripted", None, Some("distracter"), "train")
        .expect_err("no such config");
    assert!(
        error
            .hint()
            .expect("advice")
            .starts_with("did you mean `distractor`?")
    );
    let error = client
        .resolve("org/bare", None, None, "train")
        .expect_err("nothing");
    assert_eq!(
        error.to_string(),
        "the dataset repo `org/bare` has no data files at revision `main`: only a loading script, which is not run"
    );
}

#[test]
fn a_readme_that_makes_no_sense_is_an_error() {
    let card = b"---\nconfigs:\n- data_files: x.csv\n---\n";
    let fake = FakeHub::start([
        FakeRepo::new("org/set")
            .file("README.md", card)
            .file("x.csv", b"a\n"),
        FakeRepo::new("org/bad")
            .file("README.md", b"---\na: [\n---\n")
            .file("x.csv", b"a\n"),
    ]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let error = client
        .resolve("org/set", None, None, "train")
        .expect_err("no name");
    assert_eq!(
        error.to_string(),
        "cannot read the metadata of the dataset repo `org/set`: an entry of `configs` has no `config_name`"
    );
    let error = client
        .resolve("org/bad", None, None, "train")
        .expect_err("no YAML");
    assert!(matches!(error, HubError::Card { .. }), "{error}");
    // Files can still be named.
    assert_eq!(
        client
            .files("org/bad", None, &["x.csv"])
            .expect("there")
            .len(),
        1
    );
}

#[test]
fn a_declaration_counts_more_than_a_layout() {
    let card = b"---\nconfigs:\n- config_name: one\n  data_files: {dev: a/train/*}\n---\n";
    let repo = FakeRepo::new("org/set")
        .file("README.md", card)
        .large("a/train/0000.parquet", b"PAR1");
    let fake = FakeHub::start([repo]);
    let cache = tempfile::tempdir().expect("a folder");
    let client = hub(&fake, cache.path());
    let found = client
        .resolve("org/set", None, None, "validation")
        .expect("declared");
    assert_eq!(
        (found.config.as_str(), found.split.as_str(), found.source),
        ("one", "dev", Source::Card)
    );
}
