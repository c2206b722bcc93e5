//! Rows of several systems about the same examples, side by side.

use std::collections::HashMap;

use crate::metric::{Attempt, numbered_attempts};
use crate::model::{EvalRow, ExampleId};
use crate::stats::Resampling;

/// How much work resampling may be: rows times columns times resamples.
const MAX_WORK: usize = 600_000_000;

/// For each attempt at an example of which every system has a row that `fits`: these rows, in the
/// order of systems.
pub(crate) fn rows_of_all<'a>(
    systems: &[&'a [EvalRow]],
    fits: impl Fn(&EvalRow) -> bool,
) -> Vec<Vec<&'a EvalRow>> {
    let Some((first, others)) = systems.split_first() else {
        return Vec::new();
    };
    let fitting = |rows: &'a [EvalRow]| numbered_attempts(rows).filter(|(_, row)| fits(row));
    let others: Vec<HashMap<Attempt<'_>, &EvalRow>> =
        others.iter().map(|rows| fitting(rows).collect()).collect();
    let all = fitting(first).filter_map(|(attempt, row)| {
        let others = others.iter().map(|known| known.get(&attempt).copied());
        std::iter::once(Some(row)).chain(others).collect()
    });
    all.collect()
}

/// What rows belong to: those with equal marks tell less than as many examples on their own.
pub(crate) fn mark(row: &EvalRow) -> (&str, Option<&str>, Option<&ExampleId>) {
    let conversation = row.conversation();
    let own = conversation.is_none().then_some(&row.example_id);
    (&row.dataset, conversation, own)
}

/// The prompt tokens of a completed row, where they are known.
pub(crate) fn prompt_tokens(row: &EvalRow) -> Option<f64> {
    let reply = row.reply.as_deref().filter(|_| row.is_completed())?;
    reply.tokens.prompt.map(|n| n as f64)
}

/// As many resamples as there is patience for, from 100 to 2,000.
pub(crate) fn resampling(rows: usize, columns: usize) -> Resampling {
    let each = rows.saturating_mul(columns).max(1);
    Resampling {
        resamples: (MAX_WORK / each).clamp(100, 2000),
        ..Resampling::default()
    }
}
