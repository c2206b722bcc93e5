//! `export`: a stored run in any format, from the store alone.

use context_bench::registry::Registry;
use context_bench::replay::Replay;
use context_bench::tokens::{TokenCounter as _, Tokenizer};
use context_bench::{Evaluate, evaluate, metric};
use serde_json::Value;

use super::run::{self, Report};
use crate::args::ExportArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Sink};
use crate::{scoring, stores};

pub(crate) fn main(args: &ExportArgs, registry: &Registry) -> Result<Exit, Failure> {
    let reporter = run::reporter(&args.output, args.output_file.is_some(), registry)?;
    let store = stores::open(args.cache_dir.as_deref())?;
    let replay = Replay::open(&store, &stores::run_id(&store, &args.run_id)?)?;
    let sink = Sink::open(args.output_file.as_deref())?;
    let setting = |key: &str| stores::setting(&replay.run, key);
    let field = setting("score_field")
        .and_then(Value::as_str)
        .unwrap_or("f1")
        .to_owned();
    let report = Report {
        score_field: &field,
        threshold: setting("threshold")
            .and_then(Value::as_f64)
            .unwrap_or(metric::DEFAULT_THRESHOLD),
        n_systems: replay.run.systems.len(),
        n_datasets: match scoring::wired(&replay.run).and_then(Value::as_object) {
            Some(wired) => wired.len(),
            None => setting("datasets")
                .and_then(Value::as_array)
                .map_or(1, Vec::len),
        },
        repeats: stores::repeats(&replay.run),
    };
    let wired = scoring::wired(&replay.run);
    let plan = scoring::rewire(evaluate(), replay.evaluators(), wired, &field);
    let result = run::with_metrics(plan, &report).recall(&replay)?;
    let damaged = store.damaged();
    if damaged > 0 {
        output::warning(&format!(
            "{damaged} stored records are damaged; what they held is missing here"
        ));
    }
    let written = sink.write(|out| reporter.write(&result, out));
    written.map_err(|error| Failure::bad_input(format!("cannot write the report: {error}")))?;
    Ok(Exit::Done)
}

/// Counts tokens as the run did, so that the stored counts are found.
pub(super) fn with_tokens(plan: Evaluate, replay: &Replay) -> Evaluate {
    let tokenizer = stores::setting(&replay.run, "tokenizer").and_then(Value::as_str);
    let tokenizer =
        tokenizer.and_then(|name| Tokenizer::ALL.into_iter().find(|t| t.name() == name));
    let plan = plan.token_counter(tokenizer.unwrap_or_default().counter());
    match stores::setting(&replay.run, "text_fields").and_then(Value::as_array) {
        Some(fields) => plan.text_fields(fields.iter().filter_map(Value::as_str)),
        None => plan,
    }
}
