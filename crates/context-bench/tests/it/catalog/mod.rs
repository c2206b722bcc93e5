//! The dataset catalog: fixtures of our own, real samples, worked cases, errors.

mod bbh_prompts;
mod errors;
mod fixtures;
mod official_cases;
mod official_rules;
mod own_files;
mod prompts;
mod real_samples;
mod reference;
mod remote;
mod worked_cases;

use std::path::{Path, PathBuf};

use context_bench::Example;
use context_bench::error::Hint as _;
use context_bench::registry::{BuildError, DatasetRequest, Registry};
use serde_json::Value;

/// The examples of what `typed` names, one dataset after the other.
fn load(typed: &str) -> Result<Vec<Example>, String> {
    load_with(typed, &DatasetRequest::default())
}

fn load_with(typed: &str, request: &DatasetRequest) -> Result<Vec<Example>, String> {
    let told = |error: &BuildError| match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    };
    let opened = Registry::builtin().open_dataset(typed, request);
    let mut examples = Vec::new();
    for part in opened.map_err(|error| told(&error))? {
        for example in part.dataset {
            examples.push(example.map_err(|error| told(&error.into()))?);
        }
    }
    Ok(examples)
}

/// The examples without their tag, as JSON.
fn untagged(examples: Vec<Example>) -> Vec<Value> {
    let fields = examples.into_iter().map(|example| {
        let mut fields = example.into_fields();
        fields.shift_remove("dataset");
        Value::Object(fields)
    });
    fields.collect()
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(path)
}

/// Whether committed expectations are to be written anew.
fn is_update() -> bool {
    std::env::var_os("CONTEXT_BENCH_UPDATE").is_some()
}
