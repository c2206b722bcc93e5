//! From `--dataset` values to one stream of examples.

use context_bench::Dataset;
use context_bench::dataset::{DatasetRef, DatasetTarget, LocalFile, LocalSettings, Skipped};
use context_bench::registry::{DatasetRequest, Registry};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output;

/// Opens all datasets, tagged as typed, one after the other in flag order.
pub(crate) fn open(args: &RunArgs, registry: &Registry) -> Result<Dataset, Failure> {
    if args.dataset.is_empty() {
        return Err(Failure::bad_input("no dataset given")
            .hint("pass `--dataset NAME_OR_PATH`, or try `context-bench demo`"));
    }
    let mut all: Option<Dataset> = None;
    for typed in &args.dataset {
        let dataset = open_one(typed, args, registry)?;
        all = Some(match all {
            None => dataset,
            Some(all) => all.chain(dataset),
        });
    }
    let all = all.unwrap_or_else(|| Vec::new().into());
    if all.known_len() == Some(0) {
        report_skipped(all.skipped());
        return Err(nothing_loaded());
    }
    Ok(all)
}

/// There is nothing to run.
pub(crate) fn nothing_loaded() -> Failure {
    Failure::bad_input("no examples loaded")
        .hint("check the `--dataset` arguments and `--max-examples`")
}

fn open_one(typed: &str, args: &RunArgs, registry: &Registry) -> Result<Dataset, Failure> {
    let reference = DatasetRef::parse(typed)?;
    let dataset = match reference.target() {
        DatasetTarget::Local(path) => LocalFile::open(
            path,
            LocalSettings {
                skip_bad_lines: args.skip_bad_lines,
                max_examples: args.max_examples,
            },
        )?,
        DatasetTarget::Named { name, config } => {
            let factory = registry.datasets.get(name)?;
            let request = DatasetRequest {
                config: config.clone(),
                max_examples: args.max_examples,
            };
            factory(&request)?
        }
    };
    Ok(dataset.tagged(reference.as_typed()))
}

/// Says how many records were left out, and names the first ones.
pub(crate) fn report_skipped(skipped: &Skipped) {
    let total = skipped.total();
    if total == 0 {
        return;
    }
    let plural = if total == 1 { "" } else { "s" };
    output::warning(&format!("left out {total} bad record{plural}"));
    for record in skipped.first() {
        output::note(&format!("  at {}: {}", record.at, record.problem));
    }
}
