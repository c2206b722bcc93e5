//! The texts of rows as they lie in the store, one after another: for a search, which looks at a
//! million of them and keeps none.

use std::borrow::Cow;
use std::ops::ControlFlow;

use rusqlite::OptionalExtension as _;

use super::Store;
use super::body::Body;
use super::delta::OutputDelta;
use super::error::StoreError;
use super::run::Run;
use crate::model::{Example, ExampleId, Output};

/// Bytes of one text that are looked at without being taken apart; JSON.
pub(crate) struct RawTexts<'a> {
    pub(crate) example_id: ExampleId,
    pub(crate) failure_message: Option<&'a str>,
    /// The example, if it is there.
    pub(crate) example: Cow<'a, [u8]>,
    /// What the answer set beside the example, if there is one.
    pub(crate) output: Cow<'a, [u8]>,
    removed: Option<&'a str>,
}

impl RawTexts<'_> {
    /// Example and answer, taken apart. Checksums are those of who shows the row.
    pub(crate) fn parsed(&self) -> Option<(Example, Option<Output>)> {
        let example: Example = serde_json::from_slice(&self.example).ok()?;
        let removed = self.removed.map(serde_json::from_str);
        let output = match &*self.output {
            [] => None,
            bytes => serde_json::from_slice(bytes).ok().map(|set| {
                let removed = removed.and_then(Result::ok).unwrap_or_default();
                OutputDelta { set, removed }.apply(&example)
            }),
        };
        Some((example, output))
    }
}

impl Store {
    /// Shows the texts of rows (system, position, repeat) in the order of `places`, until `visit`
    /// says that it is enough; `None` for a row that is not there or cannot be unpacked.
    pub(crate) fn visit_texts(
        &self,
        run: &Run,
        places: impl Iterator<Item = (i64, i64, i64)>,
        mut visit: impl FnMut(Option<RawTexts<'_>>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.read(|reader, damage| {
            // One transaction and one statement for all of them: a row costs three steps down a tree.
            let tx = reader.connection.unchecked_transaction()?;
            let mut statement = tx.prepare_cached(
                "SELECT w.example_id, w.failure_message, e.encoding, e.body, r.encoding, r.output,
                   r.removed
                 FROM run_rows w
                 LEFT JOIN examples e ON e.id = w.example
                 LEFT JOIN responses r ON r.id = w.response
                 WHERE w.run = ?1 AND w.system = ?2 AND w.position = ?3 AND w.repeat = ?4",
            )?;
            for (system, position, repeat) in places {
                let visited = statement.query_row((run.number, system, position, repeat), |row| {
                    let id = match row.get_ref(0)? {
                        rusqlite::types::ValueRef::Integer(number) => ExampleId::Int(number),
                        other => ExampleId::Text(other.as_str()?.into()),
                    };
                    let unpacked = |encoding: usize| -> rusqlite::Result<Option<Cow<'_, [u8]>>> {
                        let Some(how) = row.get::<_, Option<i64>>(encoding)? else {
                            return Ok(Some(Cow::Borrowed(&[])));
                        };
                        let bytes = row.get_ref(encoding + 1)?.as_bytes()?;
                        Ok(Body::unpacked(how, bytes).ok())
                    };
                    let (Some(example), Some(output)) = (unpacked(2)?, unpacked(4)?) else {
                        return Ok(visit(None));
                    };
                    Ok(visit(Some(RawTexts {
                        example_id: id,
                        failure_message: row.get_ref(1)?.as_str_or_null()?,
                        example,
                        output,
                        removed: row.get_ref(6)?.as_str_or_null()?,
                    })))
                });
                let goes_on = match visited.optional() {
                    Ok(Some(goes_on)) => goes_on,
                    Ok(None) => visit(None),
                    Err(error) => {
                        damage.absorb(error)?;
                        visit(None)
                    }
                };
                if goes_on.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }
}
