//! Stored outputs of models, and the quarter of them that is held out.
//!
//! A record is held out by a hash of its line, so the split depends on nothing but the
//! content. Rules are written and mended by what is seen; of what is held out no
//! disagreement is ever shown, only how many there are.

use context_bench_testkit::shared;
use serde_json::Value;

/// A record of a shared file.
pub(crate) struct Record {
    pub(crate) value: Value,
    pub(crate) held_out: bool,
}

impl Record {
    pub(crate) fn text(&self, field: &str) -> &str {
        let value = &self.value[field];
        value
            .as_str()
            .unwrap_or_else(|| panic!("`{field}` is {value}"))
    }
}

/// The records of a file below `data` of the shared folder.
pub(crate) fn records(file: &str) -> Vec<Record> {
    let path = shared::path(&format!("data/{file}"));
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| Record {
            value: serde_json::from_str(line).unwrap(),
            held_out: is_held_out(line),
        })
        .collect()
}

/// A quarter of all lines: FNV-1a with 64 bits (Fowler, Noll and Vo), its bits mixed once more
/// as neighbours differ in few characters.
fn is_held_out(line: &str) -> bool {
    let hash = line
        .trim()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0
}

/// Scores of the benchmark's own script for each record of a file, by `tests/oracle/official.py`
/// of the library.
pub(crate) fn official_scores(file: &str) -> Vec<Option<f64>> {
    const SCORES: &str = include_str!("../../../context-bench/tests/golden/official_scores.jsonl");
    let lines = SCORES
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut found = lines.filter(|line| line["file"] == file);
    let line = found
        .next()
        .unwrap_or_else(|| panic!("no scores for `{file}`"));
    let scores = line["scores"].as_array().unwrap();
    scores.iter().map(Value::as_f64).collect()
}
