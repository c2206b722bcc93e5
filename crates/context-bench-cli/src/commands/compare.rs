//! `compare`: the systems of stored runs beside those of the first, matched by the content of
//! examples. Nobody is asked.

use std::path::{Path, PathBuf};

use context_bench::planner::{self, ComparedRuns, ReopenedPlan, RunsToCompare};
use context_bench::registry::Registry;
use context_bench::report::ComparisonReport;
use context_bench::store::Store;
use serde_json::Value;

use super::finish::failed_gates;
use crate::compare_args::{CompareArgs, CompareFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::{stores, surroundings};

pub(crate) fn main(args: &CompareArgs, registry: &Registry) -> Result<Exit, Failure> {
    let mut opened = OpenedStores::default();
    let mut runs = Vec::new();
    for typed in std::iter::once(&args.base).chain(&args.new) {
        let run = opened.run(typed, args.cache_dir.as_deref())?;
        runs.push(run.priced(&args.prices.prices)?);
    }
    let how = RunsToCompare {
        baseline: args.baseline.clone(),
        systems: args.system.clone(),
        margin: args.margin,
        score: args.score_field.clone(),
        resamples: Some(args.resamples),
        flips: args.flips,
        gates: args.rules.spec(),
    };
    let sink = Sink::open(args.output_file.as_deref())?;
    let found = match planner::compare_runs(&runs, &how, &surroundings::of(registry, true)) {
        Ok(found) => found,
        Err(error) => {
            sink.discard();
            return Err(error.into());
        }
    };
    let width = match args.output_file {
        Some(_) => 100,
        None => output::width(),
    };
    let report = ComparisonReport {
        width,
        flips: args.flips,
    };
    let ComparedRuns {
        comparison, gates, ..
    } = &found;
    let text = match args.output {
        CompareFormat::Table => report.table(comparison, gates),
        CompareFormat::Markdown => report.markdown(comparison, gates),
        CompareFormat::Json => {
            let mut value = serde_json::to_value(comparison).unwrap_or(Value::Null);
            if let Some(members) = value.as_object_mut().filter(|_| !gates.is_empty()) {
                let gates = serde_json::to_value(gates).unwrap_or(Value::Null);
                members.insert("gates".to_owned(), gates);
            }
            let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
            text.push('\n');
            text
        }
    };
    let written = sink.write(|out| out.write_all(text.as_bytes()));
    written.map_err(|error| Failure::bad_input(format!("cannot write the report: {error}")))?;
    let damaged = opened.damaged();
    if damaged > 0 {
        output::warning(&format!(
            "{damaged} stored entries are damaged; their contents are missing here"
        ));
    }
    let gates = failed_gates(gates);
    Ok(match damaged {
        0 => gates,
        _ => Exit::RowsFailed,
    })
}

/// Stores that runs were found in, each opened once.
#[derive(Default)]
pub(super) struct OpenedStores(Vec<(PathBuf, Store)>);

impl OpenedStores {
    /// A run by what is typed: `RUN` of the store of the command, `DIR/RUN` of another one, or
    /// `DIR` for the last run there.
    pub(super) fn run(
        &mut self,
        typed: &str,
        cache_dir: Option<&Path>,
    ) -> Result<ReopenedPlan, Failure> {
        let path = Path::new(typed);
        if typed.contains(std::path::MAIN_SEPARATOR) {
            if path.is_dir() {
                return self.of(path, "last");
            }
            let run = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            if let (Some(folder), Some(run)) = (path.parent().filter(|dir| dir.is_dir()), run) {
                return self.of(folder, &run);
            }
        }
        match cache_dir {
            Some(folder) => self.of(folder, typed),
            None => Err(
                Failure::bad_input(format!("run `{typed}`: no run store given")).hint(
                    "pass `--cache-dir DIR`, set `CONTEXT_BENCH_CACHE_DIR`, or write `DIR/RUN`",
                ),
            ),
        }
    }

    fn of(&mut self, folder: &Path, run: &str) -> Result<ReopenedPlan, Failure> {
        if !self.0.iter().any(|(known, _)| known == folder) {
            let store = stores::open(Some(folder))?;
            self.0.push((folder.to_owned(), store));
        }
        let found = self.0.iter().find(|(known, _)| known == folder);
        let (_, store) = found.ok_or_else(|| Failure::bad_input("no run store given"))?;
        Ok(ReopenedPlan::open(store, run)?)
    }

    pub(super) fn damaged(&self) -> u64 {
        self.0.iter().map(|(_, store)| store.damaged()).sum()
    }
}
