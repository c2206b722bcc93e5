//! `export`: writes a stored run in any format, and its answers to SWE-bench as predictions for
//! that benchmark's harness.

use std::path::{Path, PathBuf};

use context_bench::TextsKept;
use context_bench::plan::OutputTarget;
use context_bench::planner::{self, ReopenedPlan};
use context_bench::registry::Registry;
use context_bench::report::{Predictions, swebench_predictions};

use super::finish;
use crate::args::ExportArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::outputs::{self, Outputs};
use crate::{stores, surroundings};

/// From so many rows on, figures are summed up while rows are read.
const LARGE: u64 = 1_000_000;
/// The format where none is named.
const DEFAULT: &str = "json";

/// The format of predictions for SWE-bench's harness. It is not a report: it has one file per
/// system and no numbers.
const SWEBENCH: &str = "swebench";

pub(crate) fn main(args: &ExportArgs, registry: &Registry, command: &str) -> Result<Exit, Failure> {
    if args.output.iter().any(|format| format == SWEBENCH) {
        return predictions(args, registry);
    }
    let mut targets = outputs::targets(&args.output, &args.output_file)?;
    if targets.is_empty() {
        targets.push(OutputTarget {
            format: Some(DEFAULT.to_owned()),
            file: None,
        });
    }
    let outputs = Outputs::new(&targets, registry, command)?;
    let store = stores::open(args.cache_dir.as_deref())?;
    let reopened = ReopenedPlan::open(&store, &args.run_id)?.gated(&args.gates.spec())?;
    let reopened = reopened.priced(&args.prices.prices)?;
    let texts = outputs.texts(!args.no_text);
    let only_rows = outputs.only_rows();
    let stored = &reopened.stored.run;
    let is_large = stored.n_rows > LARGE && !outputs.need_rows() && reopened.can_be_summed_up();
    let outputs = outputs.open()?;
    let around = surroundings::of(registry, true);
    let result = match texts {
        // What is only copied need not be in memory, however many rows there are.
        _ if only_rows && !reopened.has_gates() => reopened.streamed(&around, texts),
        _ if is_large => {
            if stored.systems.len() > 1 {
                output::warning(&format!(
                    "the run has {} rows and is summed up while they are read: its systems are not \
                     compared with each other",
                    stored.n_rows
                ));
                output::hint(
                    "`context-bench compare RUN` compares them; it holds all rows in memory",
                );
            }
            reopened.summed_up(&around, texts)
        }
        // Pages look at the texts of all rows before they write one.
        TextsKept::Contexts => reopened.result(&around, texts),
        _ => reopened.result_to_write(&around, texts),
    };
    let result = match result {
        Ok(result) => result,
        Err(error) => {
            outputs.discard();
            return Err(error.into());
        }
    };
    let found = store.damaged();
    output::notices(planner::unfinished(&result).as_slice());
    output::notices(&planner::without_values(&result));
    let written = outputs.write(&result);
    // Rows that are read again as they are written have the same damage, and that of their texts.
    let damaged = found.max(store.damaged() - found);
    if damaged > 0 {
        output::warning(&format!(
            "{damaged} stored entries are damaged; their contents are missing here"
        ));
    }
    written.map_err(|error| Failure::bad_input(format!("cannot write the report: {error}")))?;
    let gates = finish::failed_gates(&result.gates);
    Ok(match result.part_of() {
        None if damaged == 0 => gates,
        _ => Exit::RowsFailed,
    })
}

/// Writes predictions for the harness of SWE-bench.
fn predictions(args: &ExportArgs, registry: &Registry) -> Result<Exit, Failure> {
    if args.output.len() > 1 || args.output_file.len() > 1 {
        let what = "`swebench` is written by itself";
        let hint = "export other formats with another command";
        return Err(Failure::bad_input(what).hint(hint));
    }
    let output_file = args.output_file.first();
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
    if several && output_file.is_none() {
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        return Err(Failure::bad_input(format!(
            "the run has {} systems ({}), but the harness takes one at a time",
            names.len(),
            names.join(", ")
        ))
        .hint("pass `--output-file FILE.jsonl`: each system gets a file `FILE.SYSTEM.jsonl`"));
    }
    for (system, one) in &found {
        let file = output_file.map(|file| match several {
            true => named(file, system),
            false => file.clone(),
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

#[cfg(test)]
mod tests {
    use std::fs;

    use context_bench::EvalResult;
    use context_bench::plan::{BenchmarkSpec, OutputSpec, RunSpec, SystemSpec};
    use context_bench::report::{MarkdownReport, TableReport};
    use serde_json::Value;

    use super::*;
    use crate::commands::run::{self, Invocation};

    /// A stored run of two systems over two datasets.
    fn stored(folder: &Path, registry: &Registry) {
        let lines: String = (0..30)
            .map(|i| {
                let answer = if i % 4 == 0 { "Rome" } else { "Paris" };
                format!(
                    "{{\"id\": \"q{}\", \"question\": \"What is the capital, asked {i} times?\", \
                     \"context\": \"The capital is Paris. It rains.\", \"answer\": \"{answer}\"}}\n",
                    (i * 7) % 20
                )
            })
            .collect();
        let questions = folder.join("questions.jsonl");
        fs::write(&questions, lines).unwrap();
        let dataset = |name: &str| BenchmarkSpec {
            dataset: Some(name.to_owned()),
            ..BenchmarkSpec::default()
        };
        let system = |typed: &str| SystemSpec {
            system: Some(typed.to_owned()),
            ..SystemSpec::default()
        };
        let mut spec = RunSpec {
            systems: vec![system("passthrough"), system("short=truncate:ratio=0.3")],
            benchmarks: vec![dataset("demo"), dataset(questions.to_str().unwrap())],
            cache_dir: Some(folder.join("cache")),
            output: OutputSpec {
                file: Some(folder.join("table.txt")),
                ..OutputSpec::default()
            },
            ..RunSpec::default()
        };
        spec.data.limit = Some(30.0);
        let invocation = Invocation {
            quiet: true,
            dry_run: false,
            command: "context-bench",
            shard: None,
            engine: None,
            charted: false,
        };
        run::run(&spec, &invocation, registry).unwrap();
    }

    #[test]
    fn a_run_that_is_summed_up_while_it_is_read_has_the_same_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::builtin();
        stored(folder.path(), &registry);
        let store = stores::open(Some(&folder.path().join("cache"))).unwrap();
        let reopened = ReopenedPlan::open(&store, "last").unwrap();
        assert!(reopened.can_be_summed_up());
        let around = surroundings::of(&registry, true);
        let whole = reopened.result(&around, true).unwrap();
        let streamed = reopened.summed_up(&around, true).unwrap();
        assert!(streamed.rows.is_empty() && !whole.rows.is_empty());
        let json = |result: &EvalResult| -> Value { serde_json::to_value(result).unwrap() };
        let (expected, found) = (json(&whole), json(&streamed));
        for part in [
            "rows",
            "counts",
            "datasets",
            "config",
            "timing",
            "provenance",
            "store",
        ] {
            assert_eq!(found[part], expected[part], "{part}");
        }
        for part in ["summary", "statistics"] {
            for (system, numbers) in expected[part].as_object().unwrap() {
                for (name, number) in numbers.as_object().unwrap() {
                    let own = &found[part][system][name];
                    // It must see the rows of both systems at once.
                    let expected = match name.as_str() {
                        "front_probability" => &Value::Null,
                        _ => number,
                    };
                    assert_eq!(own, expected, "{part} {system} {name}");
                }
            }
        }
        let table = TableReport::default().render(&streamed);
        assert!(table.contains("short"), "{table}");
        let markdown = MarkdownReport.render(&streamed);
        let rows = MarkdownReport.render(&whole);
        let counts = |text: &str| text.split("## Rows").nth(1).map(str::to_owned);
        assert!(counts(&rows).is_some());
        assert_eq!(counts(&markdown), counts(&rows));
    }
}
