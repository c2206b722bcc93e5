//! Real records of public benchmarks, which are not part of the repo: how many
//! examples they make, and field names, lengths and digests of the first and
//! the last. `CONTEXT_BENCH_UPDATE=1` writes them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use context_bench::Example;
use context_bench::dataset::catalog::DatasetCatalog;
use context_bench_testkit::{needs_shared, shared};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{fixture, is_update, load, untagged};

/// Datasets of which no real records could be had.
const WITHOUT: [&str; 4] = ["gpqa", "infinitebench", "meetingbank", "nolima"];

/// Files beside `name[.config].jsonl` that hold other tables or layouts.
fn is_table(file: &str) -> bool {
    file.starts_with("bfcl.possible_answer.") || file == "scifact.corpus.jsonl"
}

/// How a file is typed: `name:config` of `name.config.jsonl`.
fn reference(file: &str, known: &BTreeSet<&str>) -> String {
    let stem = file.strip_suffix(".jsonl").expect("JSON lines");
    let (name, config) = stem.split_once('.').unwrap_or((stem, ""));
    let has_config = DatasetCatalog::builtin()
        .get(name)
        .is_ok_and(|spec| spec.config_names().any(|known| known == config));
    assert!(known.contains(name), "{file} is of no dataset");
    match has_config {
        true => format!("{name}:{config}"),
        false => name.to_owned(),
    }
}

fn described(example: &Value) -> Value {
    let fields = example.as_object().expect("a map");
    let mut lengths = Map::new();
    for (name, value) in fields {
        let length = match value {
            Value::String(text) => json!(text.chars().count()),
            Value::Array(list) => json!({"items": list.len()}),
            Value::Null => json!("null"),
            _ => json!("value"),
        };
        lengths.insert(name.clone(), length);
    }
    let digest = Sha256::digest(example.to_string().as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"fields": lengths, "sha256": digest})
}

#[needs_shared("data/raw")]
#[test]
fn real_samples_make_the_examples_that_are_committed() {
    let folder = shared::path("data/raw");
    let catalog = DatasetCatalog::builtin();
    let known: BTreeSet<&str> = catalog.names().into_iter().collect();
    let mut files: Vec<String> = fs::read_dir(&folder)
        .expect("readable")
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|file| !is_table(file))
        .collect();
    files.sort();
    let mut seen: BTreeSet<String> = WITHOUT.iter().map(|name| (*name).to_owned()).collect();
    let mut made = Map::new();
    for file in &files {
        let typed = reference(file, &known);
        seen.insert(typed.split(':').next().unwrap_or_default().to_owned());
        let path = folder.join(file);
        let examples = load(&format!("{typed}={}", path.display()));
        let examples = examples.unwrap_or_else(|error| panic!("{typed}: {error}"));
        let examples = untagged(examples);
        let (Some(first), Some(last)) = (examples.first(), examples.last()) else {
            panic!("{typed} makes no examples");
        };
        let described = json!({
            "examples": examples.len(),
            "first": described(first),
            "last": described(last),
        });
        made.insert(file.clone(), described);
    }
    let all: BTreeSet<String> = known.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(
        seen, all,
        "every dataset has a real sample, or is listed as without"
    );
    let file = fixture("real-samples.json");
    let made = Value::Object(made);
    if is_update() {
        fs::write(&file, format!("{made:#}\n")).expect("written");
    }
    let text = fs::read_to_string(&file).expect("committed");
    let expected: BTreeMap<String, Value> = serde_json::from_str(&text).expect("JSON");
    for (file, expected) in expected {
        assert_eq!(made[&file], expected, "{file}");
    }
}

#[needs_shared("data/parquet", "data/raw")]
#[test]
fn parquet_and_json_lines_make_the_same_examples() {
    let (parquet, raw) = (shared::path("data/parquet"), shared::path("data/raw"));
    let catalog = DatasetCatalog::builtin();
    let known: BTreeSet<&str> = catalog.names().into_iter().collect();
    let mut compared = 0;
    for entry in fs::read_dir(parquet).expect("readable") {
        let path = entry.expect("readable").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let lines = raw.join(format!("{name}.jsonl"));
        if is_table(&format!("{name}.jsonl")) || !lines.exists() {
            continue;
        }
        let typed = reference(&format!("{name}.jsonl"), &known);
        // The claims are joined with the corpus beside them, of the same format.
        let from = |path: &Path| load(&format!("{typed}={}", path.display()));
        let (a, b) = (from(&path).expect(&name), from(&lines).expect(&name));
        assert!(!a.is_empty(), "{name}");
        assert_eq!(differing(a, b), None, "{name}");
        compared += 1;
    }
    assert!(compared >= 20, "only {compared} files were compared");
}

/// The first pair of examples that differ.
fn differing(a: Vec<Example>, b: Vec<Example>) -> Option<(Value, Value)> {
    assert_eq!(a.len(), b.len());
    let pairs = untagged(a).into_iter().zip(untagged(b));
    pairs.into_iter().find(|(a, b)| a != b)
}

#[needs_shared("data/full")]
#[test]
fn complete_files_load() {
    for (typed, file, n) in [
        ("gsm8k", "full/gsm8k.main.test.jsonl", 1319),
        ("humaneval", "full/humaneval.jsonl", 164),
        ("ifeval", "full/ifeval.jsonl", 541),
        ("mt-bench", "full/mt-bench.fastchat.jsonl", 80),
        ("locomo", "full/locomo10.json", 10),
        ("locomo:qa", "full/locomo10.json", 1986),
        (
            "longmemeval:oracle",
            "full/longmemeval.oracle_evidence_turns.json",
            420,
        ),
        ("mmlu", "full/mmlu.all.test.jsonl.gz", 14042),
        ("mmlu:anatomy", "full/mmlu.all.test.jsonl.gz", 135),
        ("truthfulqa", "full/truthfulqa.generation.jsonl", 817),
        ("bbh:*", "full/bbh", 6511),
    ] {
        let path = shared::path(&format!("data/{file}"));
        let examples = load(&format!("{typed}={}", path.display()));
        let examples = examples.unwrap_or_else(|error| panic!("{typed}: {error}"));
        assert_eq!(examples.len(), n, "{typed}");
    }
}
