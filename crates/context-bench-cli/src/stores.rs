//! Opening the run store, and naming runs in it.

use std::path::Path;

use context_bench::store::{Store, StoredRun};

use crate::failure::Failure;
use crate::output;

/// Opens the store that a command is about.
pub(crate) fn open(cache_dir: Option<&Path>) -> Result<Store, Failure> {
    let Some(dir) = cache_dir else {
        return Err(Failure::bad_input("no store given")
            .hint("pass `--cache-dir DIR`, or set `CONTEXT_BENCH_CACHE_DIR`"));
    };
    if !dir.exists() {
        return Err(
            Failure::bad_input(format!("there is no store at `{}`", dir.display()))
                .hint("check `--cache-dir`; a run with it makes the store"),
        );
    }
    let opened = Store::open(dir)?;
    for note in &opened.notes {
        output::warning(note);
    }
    Ok(opened.store)
}

/// The id of a run: as typed, or that of the newest one for `last`.
pub(crate) fn run_id(store: &Store, typed: &str) -> Result<String, Failure> {
    if typed != "last" {
        return Ok(typed.to_owned());
    }
    match store.runs()?.last() {
        Some(run) => Ok(run.run.id().to_string()),
        None => Err(Failure::bad_input("the store has no runs")
            .hint("a run with `--cache-dir` puts itself into the store")),
    }
}

/// How often the systems of a stored run were asked about each example.
pub(crate) fn repeats(run: &StoredRun) -> u64 {
    setting(run, "repeats")
        .and_then(serde_json::Value::as_u64)
        .unwrap_or(1)
}

/// A setting that a stored run was made with.
pub(crate) fn setting<'a>(run: &'a StoredRun, key: &str) -> Option<&'a serde_json::Value> {
    run.config.get("provenance")?.get(key)
}
