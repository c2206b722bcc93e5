//! What became of a run, counted and nothing more: for lists of many runs.

use std::collections::HashMap;

use indexmap::IndexSet;
use rusqlite::Connection;
use serde_json::Value;

use super::run::Run;

/// What became of the rows of one system of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// Rows that are there.
    pub rows: usize,
    /// Rows that failed.
    pub failed: usize,
    /// Rows that have the score.
    pub scored: usize,
    /// The sum of these scores.
    pub sum: f64,
    /// The tags of the rows, in their order.
    pub datasets: IndexSet<String>,
}

/// Counts the rows of each system; `field` names the score of a dataset.
pub(super) fn tally(
    connection: &Connection,
    run: &Run,
    n_systems: usize,
    field: &dyn Fn(&str) -> Option<String>,
) -> rusqlite::Result<Vec<Tally>> {
    let mut tallies = vec![Tally::default(); n_systems];
    let mut fields: HashMap<String, Option<String>> = HashMap::new();
    // One row per evaluator; rows of one answer follow each other.
    let mut statement = connection.prepare_cached(
        "SELECT w.system, w.position, w.repeat, w.dataset, w.failure_kind IS NOT NULL, s.scores
         FROM run_rows w
         LEFT JOIN scores s ON s.response = w.response AND s.scorer IN (
           SELECT m.scorer FROM run_scorers m JOIN scorers c ON c.id = m.scorer
           WHERE m.run = ?1 AND c.name <> 'tokens')
         WHERE w.run = ?1 ORDER BY w.system, w.position, w.repeat",
    )?;
    let mut rows = statement.query([run.number])?;
    let mut last: Option<(usize, i64, i64)> = None;
    let mut is_scored = false;
    while let Some(row) = rows.next()? {
        let system = usize::try_from(row.get::<_, i64>(0)?).unwrap_or(usize::MAX);
        let Some(tally) = tallies.get_mut(system) else {
            continue;
        };
        let place = (system, row.get(1)?, row.get(2)?);
        let dataset = row.get_ref(3)?.as_str()?;
        if last != Some(place) {
            last = Some(place);
            is_scored = false;
            tally.rows += 1;
            tally.failed += usize::from(row.get::<_, bool>(4)?);
            if !tally.datasets.contains(dataset) {
                tally.datasets.insert(dataset.to_owned());
            }
        }
        if is_scored {
            continue;
        }
        if !fields.contains_key(dataset) {
            fields.insert(dataset.to_owned(), field(dataset));
        }
        let Some(Some(field)) = fields.get(dataset) else {
            continue;
        };
        let Some(scores) = row.get_ref(5)?.as_str_or_null()? else {
            continue;
        };
        let scores: Value = serde_json::from_str(scores).unwrap_or_default();
        if let Some(value) = scores.get(field).and_then(Value::as_f64) {
            is_scored = true;
            tally.scored += 1;
            tally.sum += value;
        }
    }
    Ok(tallies)
}
