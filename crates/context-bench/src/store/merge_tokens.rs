//! Token counts of merged rows: those of the answer that stays, whichever attempt a row is from.

use rusqlite::OptionalExtension as _;

use super::columns::RowColumns;
use super::key::Key;
use super::merge::Merge;

impl Merge<'_> {
    /// What the output of a response counts, by the tokenizer of a run.
    pub(super) fn output_tokens(&self, run: i64, response: i64) -> rusqlite::Result<Option<i64>> {
        // The last evaluator of a run stands for the token counts.
        self.tx
            .prepare_cached(
                "SELECT CAST(json_extract(c.scores, '$.output_tokens') AS INTEGER)
                 FROM run_scorers k JOIN scores c ON c.scorer = k.scorer AND c.response = ?2
                 WHERE k.run = ?1
                   AND k.number = (SELECT max(number) FROM run_scorers WHERE run = ?1)",
            )?
            .query_row((run, response), |row| row.get(0))
            .optional()
            .map(Option::flatten)
    }

    /// Rows that were there count the tokens of the answer that stays.
    pub(super) fn follow_answers(&self) -> rusqlite::Result<()> {
        if self.contested.is_empty() {
            return Ok(());
        }
        let contested = serde_json::to_string(&self.contested).unwrap_or_default();
        let mut statement = self.tx.prepare_cached(&format!(
            "SELECT {}, w.run, r.id, e.key FROM run_rows w JOIN runs r ON r.number = w.run
             JOIN examples e ON e.id = w.example
             WHERE w.response IN (SELECT value FROM json_each(?1))",
            RowColumns::LIST
        ))?;
        let mut rows = statement.query([contested])?;
        let mut changed = Vec::new();
        while let Some(row) = rows.next()? {
            let (columns, stored) = RowColumns::read(row)?;
            let run: i64 = row.get(RowColumns::N)?;
            let (id, key): (String, Key) =
                (row.get(RowColumns::N + 1)?, row.get(RowColumns::N + 2)?);
            let Some(response) = columns.response else {
                continue;
            };
            let tokens = self.output_tokens(run, response)?;
            let tokens = tokens.filter(|tokens| *tokens != columns.output_tokens);
            // A damaged row stays one: a fresh checksum would vouch for it.
            if let (Some(tokens), true) = (tokens, columns.checksum(&id, key) == stored) {
                let place = (columns.system, columns.position, columns.repeat);
                let new = RowColumns {
                    output_tokens: tokens,
                    ..columns
                };
                changed.push((run, place, tokens, new.checksum(&id, key)));
            }
        }
        for (run, (system, position, repeat), tokens, checksum) in changed {
            self.tx
                .prepare_cached(
                    "UPDATE run_rows SET output_tokens = ?5, checksum = ?6
                     WHERE run = ?1 AND system = ?2 AND position = ?3 AND repeat = ?4",
                )?
                .execute((run, system, position, repeat, tokens, checksum))?;
        }
        Ok(())
    }
}
