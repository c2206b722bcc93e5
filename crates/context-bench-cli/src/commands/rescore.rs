//! `rescore`: scores the stored answers of a run again, without calling a system.

use std::time::SystemTime;

use context_bench::Stop;
use context_bench::planner::{self, ReopenedPlan};
use context_bench::registry::Registry;

use super::{finish, run};
use crate::args::{RescoreArgs, RunArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::outputs::{self, Outputs};
use crate::{output, progress, signals, spec_args, stores, surroundings, task_files, tasks};

pub(crate) fn main(
    args: &RescoreArgs,
    registry: &Registry,
    command: &str,
) -> Result<Exit, Failure> {
    let flags = &args.run;
    check(flags)?;
    let started = SystemTime::now();
    let over = spec_args::flags(flags)?;
    let out = &over.output;
    let outputs = Outputs::new(&outputs::of_spec(out), registry, command)?;
    let folder = stores::folder(flags.cache_dir.as_deref());
    let store = stores::open(folder.as_deref())?;
    let reopened = ReopenedPlan::open_source(&store, &args.run_id)?;
    let rescoring = reopened.rescore(&over, &surroundings::of(registry, flags.quiet))?;
    tasks::notice(&rescoring.notices);
    output::notices(planner::nothing_kept(&store).as_slice());
    let files = task_files::open(out)?;
    let texts = outputs.texts(!flags.no_text);
    let outputs = outputs.open()?;
    let stop = Stop::new();
    let rescored = rescoring
        .evaluate
        .progress(progress::display(flags.quiet))
        .stop(stop.clone())
        .keep_text(texts)
        .command(command);
    let runtime = run::runtime()?;
    let result = runtime.block_on(async {
        let signals = signals::stop_on_interrupt(stop.clone(), signals::FINISHING);
        let result = rescored.run().await;
        signals.abort();
        result
    });
    let (result, broken) = match finish::found(result) {
        Ok(found) => found,
        Err(failure) => {
            outputs.discard();
            return Err(failure);
        }
    };
    let plan = &rescoring.manifest.plan;
    let exit = finish::finish(plan, outputs, &result, broken, stop.is_stopped())?;
    files.write(started, &result.tasks)?;
    // Rescoring an incomplete run gives an incomplete result, even if every row was scored.
    let lacking = result.part_of().is_some()
        || !planner::without_values(&result).is_empty()
        || finish::lacks_documents(plan, &result);
    Ok(match exit {
        Exit::Done if lacking => Exit::RowsFailed,
        exit => exit,
    })
}

/// Rejects flags whose values come from the stored run.
fn check(flags: &RunArgs) -> Result<(), Failure> {
    if !(flags.proxy.is_empty() && flags.system.is_empty() && flags.command.is_empty()) {
        return Err(
            Failure::bad_input("`rescore` takes its systems from the stored run")
                .hint("leave out `--proxy`, `--system` and `--command`"),
        );
    }
    if !(flags.dataset.is_empty() && flags.task.select.tasks.is_empty()) {
        return Err(
            Failure::bad_input("`rescore` takes its examples from the stored run")
                .hint("leave out `--dataset` and `--tasks`"),
        );
    }
    for (given, name) in [
        (flags.dry_run, "--dry-run"),
        (flags.print_config, "--print-config"),
    ] {
        if given {
            return Err(
                Failure::bad_input(format!("`rescore` does not take `{name}`"))
                    .hint("it calls no system, so there is nothing to try out"),
            );
        }
    }
    Ok(())
}
