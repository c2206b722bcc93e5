//! What there is to say about the examples of a run.

use context_bench::EvalResult;
use context_bench::dataset::{RepeatedIds, Skipped};

use crate::failure::Failure;
use crate::output;

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
