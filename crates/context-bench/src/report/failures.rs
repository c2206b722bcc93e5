//! What went wrong, summed up: one line per system, kind and message.

use super::cell;
use crate::model::{Counts, ExampleId};
use crate::result::EvalResult;

/// How many different problems are listed per system.
const MAX_LINES: usize = 4;
/// How much of an id is shown.
const MAX_ID: usize = 60;
/// How much of a message is shown; rows hold the whole.
const MAX_MESSAGE: usize = 240;

/// Lines such as `proxy: 3 of 200 failed (rate_limited): … [q1, q7, q9]`.
pub(super) fn lines(result: &EvalResult) -> Vec<String> {
    let mut lines = Vec::new();
    let problems = result.problems();
    for (name, counts) in &result.counts {
        let system = cell::plain(name);
        let groups = problems.of(name);
        let n_groups = groups.len();
        for ((what, message), problem) in groups.into_iter().take(MAX_LINES) {
            let shown = |id: &ExampleId| cell::shorten(&id.to_string(), MAX_ID);
            let mut named: Vec<String> = problem.named.iter().map(shown).collect();
            if problem.rows > named.len() {
                named.push("…".into());
            }
            let message = cell::shorten(message, MAX_MESSAGE);
            let (n, planned) = (problem.rows, counts.planned);
            lines.push(format!(
                "{system}: {n} of {planned} {what}: {message} [{}]",
                named.join(", ")
            ));
        }
        if n_groups > MAX_LINES {
            let more = n_groups - MAX_LINES;
            lines.push(format!(
                "{system}: and {more} other problems; the rows name them all"
            ));
        }
        for (n, what) in odd_answers(counts) {
            let all = counts.planned;
            lines.push(format!("{system}: {n} of {all} answers {what}"));
        }
        if counts.not_applicable > 0 {
            lines.push(format!(
                "{system}: {} of {} not applicable: the examples do not have what the evaluators compare \
                 with (such as `answer`)",
                counts.not_applicable, counts.planned
            ));
        }
        let mean = result.summary.get(name).and_then(|s| s.get("mean_score"));
        if let Some(n) = mean.and_then(|mean| mean.n).filter(|n| *n < counts.scored) {
            lines.push(format!(
                "{system}: the mean rests on {n} of {} scored rows; its evaluator does not apply to the others",
                counts.scored
            ));
        }
        if result.gave_up.contains_key(name) {
            let not_run = counts.not_run();
            lines.push(format!(
                "{system}: gave up, as call after call failed alike; {not_run} not tried"
            ));
        } else if counts.not_run() > 0 {
            lines.push(format!(
                "{system}: {} of {} not begun",
                counts.not_run(),
                counts.planned
            ));
        }
    }
    lines
}

/// Notices about answers that were scored, with how many there are.
pub(crate) fn odd_answers(counts: &Counts) -> Vec<(usize, &'static str)> {
    let odd = [
        (counts.empty, "are empty"),
        (counts.cut, "were cut at the most tokens allowed"),
        (counts.filtered, "were ended by a filter"),
        (counts.tool_calls, "are calls of tools without text"),
        (
            counts.reasoned,
            "came with reasoning, which is kept and not scored",
        ),
        (
            counts.without_temperature,
            "were asked for without a temperature, which the endpoint refuses; they may vary",
        ),
        (
            counts.prompts_cut,
            "are to prompts that were too long; their middle was left out",
        ),
        (
            counts.from_cache,
            "came from a cache in between; their latency is that of the cache",
        ),
    ];
    odd.into_iter().filter(|(n, _)| *n > 0).collect()
}
