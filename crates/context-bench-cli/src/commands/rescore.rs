//! `rescore`: the stored answers of a run, scored anew. No system is called.

use context_bench::registry::Registry;
use context_bench::replay::Replay;
use context_bench::{Stop, evaluate};

use super::export::with_tokens;
use super::run::{self, Report};
use crate::args::RescoreArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Sink;
use crate::scoring::Scoring;
use crate::{datasets, progress, signals, stores, systems};

pub(crate) fn main(
    args: &RescoreArgs,
    registry: &Registry,
    command: &str,
) -> Result<Exit, Failure> {
    let flags = &args.run;
    if !(flags.proxy.is_empty() && flags.system.is_empty() && flags.command.is_empty()) {
        return Err(
            Failure::bad_input("`rescore` takes its systems from the stored run")
                .hint("leave out `--proxy`, `--system` and `--command`"),
        );
    }
    let reporter = run::reporter(&flags.output, flags.output_file.is_some(), registry)?;
    let registry = &datasets::included(registry, &flags.include_path)?;
    let registry = &run::with_settings(flags, registry, &systems::pace(flags))?;
    let store = stores::open(flags.cache_dir.as_deref())?;
    let replay = Replay::open(&store, &stores::run_id(&store, &args.run_id)?)?;
    if stores::setting(&replay.run, "tasks").is_some() && flags.evaluator.is_empty() {
        return Err(
            Failure::bad_input("the run is one of tasks, which score in their own way").hint(
                "`run --tasks` with the same `--cache-dir` scores stored answers anew and sends \
                 nothing; or name an `--evaluator`",
            ),
        );
    }
    let sink = Sink::open(flags.output_file.as_deref())?;
    let datasets = stores::setting(&replay.run, "datasets")
        .and_then(|d| d.as_array())
        .cloned();
    let datasets = datasets.unwrap_or_default();
    let typed = datasets.iter().filter_map(|d| d.as_str());
    let typed: Vec<String> = typed.map(str::to_owned).collect();
    let scoring = Scoring::of(&typed, registry);
    let score_field = scoring.score_field(flags)?;
    let plan = with_tokens(evaluate(), &replay);
    let (plan, _) = scoring.wire(plan, flags, registry)?;
    let report = Report {
        score_field: &score_field,
        threshold: flags.threshold,
        n_systems: replay.run.systems.len(),
        n_datasets: scoring.len(),
        repeats: stores::repeats(&replay.run),
    };
    let stop = Stop::new();
    let plan = run::with_metrics(plan, &report)
        .replay(&replay)?
        .max_workers(flags.max_workers)
        .progress(progress::display(flags.quiet))
        .stop(stop.clone())
        .command(command)
        .note("datasets", datasets)
        .note("repeats", report.repeats);
    let runtime = run::runtime()?;
    let result = runtime.block_on(async {
        let signals = signals::stop_on_interrupt(stop.clone());
        let result = plan.run().await;
        signals.abort();
        result
    });
    let (result, broken) = match run::found(result) {
        Ok(found) => found,
        Err(failure) => {
            sink.discard();
            return Err(failure);
        }
    };
    run::finish(flags, &*reporter, sink, &result, broken, stop.is_stopped())
}
