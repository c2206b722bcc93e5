//! Finds material that is shared between checkouts but never part of the repo.
//!
//! Tests that need it skip with a message when it is absent.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A path inside the shared folder, or `None` (with a message) when it is absent.
///
/// The folder is `../shared` seen from the root of the repo, or what
/// `CONTEXT_BENCH_SHARED` names.
pub fn path(relative: &str) -> Option<PathBuf> {
    let path = root().join(relative);
    if !path.exists() {
        eprintln!("skipped: shared file `{relative}` is not present");
        return None;
    }
    Some(path)
}

/// Whether a path is there, without a message.
pub fn has(relative: &str) -> bool {
    root().join(relative).exists()
}

fn root() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    std::env::var_os("CONTEXT_BENCH_SHARED").map_or(beside, PathBuf::from)
}

/// The worked cases of a component, or none (with a message) when the file is absent.
pub fn vectors(file: &str) -> Vec<Value> {
    let Some(path) = path(&format!("spec/vectors/{file}")) else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(path).expect("the worked cases can be read");
    match serde_json::from_str(&text).expect("the worked cases are JSON") {
        Value::Array(cases) => cases,
        other => panic!("the worked cases are a list, found {other}"),
    }
}
