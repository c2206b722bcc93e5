//! From `--dataset` values to one stream of examples.

use std::path::PathBuf;

use context_bench::dataset::catalogue::Config;
use context_bench::dataset::{DatasetRef, DatasetTarget, RepeatedIds, Skipped};
use context_bench::registry::{DatasetRequest, Registry};
use context_bench::{Dataset, EvalResult};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::scoring::Scoring;
use crate::{hub, output, tasks};

/// The registry with the datasets that the user's own files describe.
pub(crate) fn included(registry: &Registry, paths: &[PathBuf]) -> Result<Registry, Failure> {
    let mut registry = registry.clone();
    if !paths.is_empty() {
        registry.catalogue = tasks::catalog(&registry, paths)?.datasets;
    }
    Ok(registry)
}

/// The datasets of a run, opened.
pub(crate) struct Datasets {
    /// All examples, tagged, one dataset after the other in flag order.
    pub(crate) dataset: Dataset,
    /// How they are scored.
    pub(crate) scoring: Scoring,
}

/// What decides the order of options when `--seed` does not.
pub(crate) const SEED: u64 = 42;

/// What decides the order of options.
pub(crate) fn seed(typed: Option<i64>) -> u64 {
    typed.map_or(SEED, i64::cast_unsigned)
}

/// Opens all datasets.
pub(crate) fn open(args: &RunArgs, registry: &Registry) -> Result<Datasets, Failure> {
    if args.dataset.is_empty() {
        return Err(Failure::bad_input("no dataset given").hint(
            "pass `--dataset NAME_OR_PATH` or `--tasks NAMES`, or try `context-bench demo`",
        ));
    }
    let request = DatasetRequest {
        max_examples: args.max_examples,
        skip_bad_lines: args.skip_bad_lines,
        seed: seed(args.seed),
        keep_order: args.keep_order,
        hub: match args.dataset.iter().any(|typed| needs_hub(typed)) {
            true => Some(hub::access(args.quiet)?),
            false => None,
        },
        ..DatasetRequest::default()
    };
    let mut all: Option<Dataset> = None;
    let mut scoring = Scoring::default();
    for typed in &args.dataset {
        refuse_memory(typed, registry)?;
        for opened in registry.open_dataset(typed, &request)? {
            all = Some(match all {
                None => opened.dataset,
                Some(all) => all.chain(opened.dataset),
            });
            scoring.add(opened.tag, opened.config);
        }
    }
    let dataset = all.unwrap_or_else(|| Vec::new().into());
    if dataset.known_len() == Some(0) {
        report_skipped(dataset.skipped());
        return Err(nothing_loaded());
    }
    Ok(Datasets {
        dataset: repeated(dataset, args),
        scoring,
    })
}

/// The examples under ids of their own, each as often as it is to be asked about.
pub(crate) fn repeated(dataset: Dataset, args: &RunArgs) -> Dataset {
    let dataset = dataset.with_distinct_ids();
    match args.n_repeats() {
        1 => dataset,
        n => dataset.times(n),
    }
}

/// Whether data may have to come from elsewhere; files of the user need no hub.
fn needs_hub(typed: &str) -> bool {
    match DatasetRef::parse(typed).as_ref().map(DatasetRef::target) {
        Ok(DatasetTarget::Named(named)) => match &named.path {
            Some(path) => path.starts_with("https:") || path.starts_with("http:"),
            None => true,
        },
        _ => false,
    }
}

/// A conversation with many questions is no example that a system can answer.
fn refuse_memory(typed: &str, registry: &Registry) -> Result<(), Failure> {
    let configs = match DatasetRef::parse(typed)?.target() {
        DatasetTarget::Named(named) => registry.configs(named).unwrap_or_default(),
        DatasetTarget::Local(_) => Vec::new(),
    };
    let is_memory = |config: &&Config| config.fields().iter().any(|field| field == "qa_pairs");
    let Some(config) = configs.iter().find(is_memory) else {
        return Ok(());
    };
    let name = config.spec().name();
    let failure = Failure::bad_input(format!(
        "`{}` is for memory systems: one example is a conversation with its questions",
        config.full_name()
    ));
    Err(
        match config.spec().config_names().any(|name| name == "qa") {
            true => failure.hint(format!(
                "`{name}:qa` has one example per question, for all systems"
            )),
            false => failure.hint("systems with a memory are not part of `run`"),
        },
    )
}

/// There is nothing to run.
pub(crate) fn nothing_loaded() -> Failure {
    Failure::bad_input("no examples loaded")
        .hint("check the `--dataset` arguments and `--max-examples`")
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

/// Writes down how many records were left out, where there are any.
pub(crate) fn note_skipped(result: &mut EvalResult, skipped: &Skipped) {
    if skipped.total() > 0 {
        let total = skipped.total().into();
        result.config.insert("skipped_records".into(), total);
    }
}

/// Says which ids were there more than once.
pub(crate) fn report_repeated(repeated: &RepeatedIds) {
    if let Some(first) = repeated.first() {
        let total = repeated.total();
        let (plural, have) = if total == 1 {
            ("", "has")
        } else {
            ("s", "have")
        };
        output::warning(&format!(
            "{total} example{plural} {have} an id that another one has; \
             the second `{first}` is called `{first}#2`"
        ));
    }
}
