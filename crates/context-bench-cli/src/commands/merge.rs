//! `merge`: joins the segments and stores of shards into one store.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use context_bench::bucket::BucketAddress;
use context_bench::plan::OutputTarget;
use context_bench::registry::Registry;
use context_bench::shard::{self, MergeError, MergeReport, MergeTarget};
use context_bench::store::{MergedPlan, Store};

use super::export;
use crate::args::ExportArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gate_args::GateArgs;
use crate::outputs::Outputs;
use crate::price_args::PriceArgs;
use crate::shard_args::MergeArgs;
use crate::{output, shared_folders};

/// Missing shards that are named.
const NAMED: usize = 20;

pub(crate) fn main(args: &MergeArgs, registry: &Registry, command: &str) -> Result<Exit, Failure> {
    let files = files(&args.to)?;
    // A format that does not exist is told before anything is merged.
    Outputs::new(&files, registry, command)?;
    let Some(first) = args.dirs.first() else {
        return Err(Failure::bad_input("no folder given"));
    };
    let mut folders = Vec::new();
    for dir in &args.dirs {
        let folder = shared_folders::of(dir, None)?;
        if BucketAddress::of_setting(dir)?.is_none() && !dir.is_dir() {
            let what = format!("there is no folder `{}`", dir.display());
            return Err(Failure::bad_input(what).hint("name the `--cache-dir` of the shards"));
        }
        // Before a store is made in it.
        let segments = folder.segments(None).map_err(shared_folders::failure)?;
        if segments.is_empty() && !folder.has_store().map_err(shared_folders::failure)? {
            let folder = folder.address();
            return Err(MergeError::Nothing { folder }.into());
        }
        folders.push(folder);
    }
    let into = shared_folders::of(args.into.as_deref().unwrap_or(first), None)?;
    if args.into.is_some() && into.has_store().map_err(shared_folders::failure)? {
        // Segments beside the target belong to it.
        folders.push(Arc::clone(&into));
    }
    let mut target = MergeTarget::open(into).map_err(shared_folders::failure)?;
    for note in target.notes() {
        output::warning(note);
    }
    let mut told = None;
    loop {
        let report = shard::merge(&mut target, &folders, args.plan.as_deref())
            .map_err(shared_folders::merge_failure)?;
        if let Some(plan) = args.plan.as_deref()
            && report.plans.is_empty()
            && args.watch.is_none()
        {
            let what = format!("there is nothing of a plan `{plan}`");
            let hint = "the folders in `shards` have the names of plans; without `--plan` all are \
                        merged";
            return Err(Failure::bad_input(what).hint(hint));
        }
        let exit = judge(&report);
        if let Some(path) = &args.conflicts {
            write_conflicts(path, target.store())?;
        }
        let text = described(&report);
        if told.as_ref() != Some(&text) {
            tell(&report, &text)?;
            told = Some(text);
        }
        match args.watch {
            Some(seconds) if exit == Exit::RowsFailed && !is_all_there(&report) => {
                std::thread::sleep(Duration::from_secs_f64(seconds));
            }
            _ => {
                write_files(files, &report, target.store(), registry, command)?;
                return Ok(match exit {
                    Exit::RowsFailed if args.allow_partial => Exit::Done,
                    exit => exit,
                });
            }
        }
    }
}

/// What `--to` asks for: formats with their files.
fn files(to: &[String]) -> Result<Vec<OutputTarget>, Failure> {
    let file = |text: &String| match text.split_once(':') {
        Some((format, path)) if !format.is_empty() && !path.is_empty() => Ok(OutputTarget {
            format: Some(format.to_owned()),
            file: Some(path.into()),
        }),
        _ => Err(Failure::bad_input(format!(
            "`{text}` does not say which format goes to which file"
        ))
        .hint("as in `--to parquet:rows.parquet`")),
    };
    to.iter().map(file).collect()
}

/// Writes the merged run as `export` does: row by row.
fn write_files(
    files: Vec<OutputTarget>,
    report: &MergeReport,
    store: &Store,
    registry: &Registry,
    command: &str,
) -> Result<(), Failure> {
    let run = match &report.plans[..] {
        _ if files.is_empty() => return Ok(()),
        [plan] => plan.run.clone(),
        [] => {
            return Err(
                Failure::bad_input("no shard was merged, so there is no run to write")
                    .hint("name the `--cache-dir` of shards"),
            );
        }
        _ => {
            let what = "`--to` writes one run, and shards of several plans are merged here";
            return Err(Failure::bad_input(what).hint("name one with `--plan ID`"));
        }
    };
    for target in files {
        let args = ExportArgs {
            run_id: run.clone(),
            cache_dir: store.path().parent().map(PathBuf::from),
            output: target.format.into_iter().collect(),
            output_file: target.file.into_iter().collect(),
            no_text: false,
            gates: GateArgs::default(),
            prices: PriceArgs::default(),
        };
        // Whether all of it is there is judged by the merge.
        export::main(&args, registry, command)?;
    }
    Ok(())
}

/// Whether every row is there, failed or not.
fn is_all_there(report: &MergeReport) -> bool {
    let plans = &report.plans;
    !plans.is_empty() && plans.iter().all(|plan| plan.origin.is_whole())
}

fn judge(report: &MergeReport) -> Exit {
    let failed = report.plans.iter().any(|plan| plan.origin.failed > 0);
    let partial = report.plans.iter().any(|plan| !plan.origin.is_whole());
    match failed || partial || !report.unread.is_empty() || !report.damaged.is_empty() {
        true => Exit::RowsFailed,
        false => Exit::Done,
    }
}

/// What a merge led to, a line for each plan.
fn described(report: &MergeReport) -> String {
    report.plans.iter().map(|plan| line(plan) + "\n").collect()
}

fn line(plan: &MergedPlan) -> String {
    let origin = &plan.origin;
    let mut text = format!("{}: {}", plan.run, origin.coverage());
    if origin.failed > 0 {
        text += &format!(", {} rows failed", origin.failed);
    }
    if let Some(data) = &origin.data {
        text += &format!(" ({} examples)", data.examples);
    }
    text
}

fn tell(report: &MergeReport, text: &str) -> Result<(), Failure> {
    for (source, problem) in &report.unread {
        output::warning(&format!("`{source}` is left out: {problem}"));
    }
    for (source, n) in &report.damaged {
        output::warning(&format!(
            "{n} entries of `{source}` are damaged and left out"
        ));
    }
    if report.overtaken > 0 {
        output::note("another merge was faster; what it stored is taken over");
    }
    if report.conflicts > 0 {
        output::warning(&format!(
            "{} answers differ although nothing that decides them does; the first one of each counts",
            report.conflicts
        ));
        output::hint(
            "a system that is not deterministic was asked twice, or two attempts ran at once; \
             `--conflicts FILE` lists them",
        );
    }
    output::note(&format!(
        "merged {} sources ({} were in already): {} new answers, {} new rows",
        report.sources, report.known, report.answers, report.rows
    ));
    for plan in &report.plans {
        let missing = &plan.origin.missing;
        if !missing.is_empty() {
            let mut named: Vec<String> = missing
                .iter()
                .take(NAMED)
                .map(|index| format!("{index}/{}", plan.origin.shards))
                .collect();
            if let Some(more) = missing.len().checked_sub(NAMED).filter(|n| *n > 0) {
                named.push(format!("and {more} more"));
            }
            output::warning(&format!(
                "shards that are missing or did not finish: {}",
                named.join(", ")
            ));
        }
    }
    output::data(text)
}

fn write_conflicts(path: &PathBuf, store: &Store) -> Result<(), Failure> {
    let bad = |error: std::io::Error| {
        Failure::bad_input(format!("cannot write `{}`: {error}", path.display()))
            .hint("name a file that can be written")
    };
    let mut lines = Vec::new();
    for conflict in store.conflicts()? {
        // Plain data always has a JSON form.
        serde_json::to_writer(&mut lines, &conflict).map_err(|error| bad(error.into()))?;
        lines.push(b'\n');
    }
    let mut file = std::fs::File::create(path).map_err(bad)?;
    file.write_all(&lines).map_err(bad)
}
