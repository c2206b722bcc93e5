//! `export`: writes a stored run in any format, and its answers to SWE-bench as predictions for
//! that benchmark's harness.

use std::path::{Path, PathBuf};

use context_bench::planner::{self, ReopenedPlan};
use context_bench::registry::Registry;
use context_bench::report::{Predictions, swebench_predictions};

use super::finish;
use crate::args::ExportArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::{stores, surroundings};

/// The format of predictions for SWE-bench's harness. It is not a report: it has one file per
/// system and no numbers.
const SWEBENCH: &str = "swebench";

pub(crate) fn main(args: &ExportArgs, registry: &Registry) -> Result<Exit, Failure> {
    if args.output == SWEBENCH {
        return predictions(args, registry);
    }
    let reporter = finish::reporter(Some(&args.output), args.output_file.is_some(), registry)?;
    let store = stores::open(args.cache_dir.as_deref())?;
    let reopened = ReopenedPlan::open(&store, &args.run_id)?;
    let keep_text = reporter.writes_rows() && !args.no_text;
    let sink = Sink::open(args.output_file.as_deref())?;
    let result = match reopened.result(&surroundings::of(registry, true), keep_text) {
        Ok(result) => result,
        Err(error) => {
            sink.discard();
            return Err(error.into());
        }
    };
    let damaged = store.damaged();
    if damaged > 0 {
        output::warning(&format!(
            "{damaged} stored entries are damaged; their contents are missing here"
        ));
    }
    output::notices(planner::unfinished(&result).as_slice());
    output::notices(&planner::without_values(&result));
    let written = sink.write(|out| reporter.write(&result, out));
    written.map_err(|error| Failure::bad_input(format!("cannot write the report: {error}")))?;
    Ok(match result.part_of() {
        None if damaged == 0 => Exit::Done,
        _ => Exit::RowsFailed,
    })
}

/// Writes predictions for the harness of SWE-bench.
fn predictions(args: &ExportArgs, registry: &Registry) -> Result<Exit, Failure> {
    let store = stores::open(args.cache_dir.as_deref())?;
    let reopened = ReopenedPlan::open(&store, &args.run_id)?;
    let result = reopened.result(&surroundings::of(registry, true), true)?;
    let found = swebench_predictions(&result);
    if found.is_empty() {
        return Err(
            Failure::bad_input("the run has no answers to SWE-bench").hint(
                "run `swebench`, `swebench-lite` or `swebench-verified` first; `context-bench \
                 runs` lists stored runs",
            ),
        );
    }
    let several = found.len() > 1;
    if several && args.output_file.is_none() {
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        return Err(Failure::bad_input(format!(
            "the run has {} systems ({}), but the harness takes one at a time",
            names.len(),
            names.join(", ")
        ))
        .hint("pass `--output-file FILE.jsonl`: each system gets a file `FILE.SYSTEM.jsonl`"));
    }
    for (system, one) in &found {
        let file = args.output_file.as_deref();
        let file = file.map(|file| match several {
            true => named(file, system),
            false => file.to_owned(),
        });
        let sink = Sink::open(file.as_deref())?;
        let written = sink.write(|out| out.write_all(one.lines.as_bytes()));
        written.map_err(|error| Failure::bad_input(format!("cannot write: {error}")))?;
        output::note(&describe(system, one));
    }
    output::notices(planner::unfinished(&result).as_slice());
    Ok(match result.part_of() {
        None if store.damaged() == 0 => Exit::Done,
        _ => Exit::RowsFailed,
    })
}

/// A path with the name of a system before the extension.
fn named(file: &Path, system: &str) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let system: String = system
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = match file.extension() {
        Some(extension) => format!("{stem}.{system}.{}", extension.to_string_lossy()),
        None => format!("{stem}.{system}"),
    };
    file.with_file_name(name)
}

fn describe(system: &str, one: &Predictions) -> String {
    let parts = [
        (one.empty, "answers without a patch"),
        (one.unanswered, "instances without an answer, left out"),
        (
            one.further,
            "repeated answers to the same instances, left out",
        ),
    ];
    let parts = parts.iter().filter(|(n, _)| *n > 0);
    let parts: String = parts.map(|(n, what)| format!(", {n} {what}")).collect();
    format!("{system}: {} patches{parts}", one.patches)
}
