//! SQL for people: the view `answers`, and queries that also see what is compressed.
//!
//! The file has the view for any SQLite tool, with `NULL` where a text is compressed.
//! Queries through the library have the same view with every text. Nothing here is
//! needed by anything else: a store without the view is a whole one.

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};
use serde_json::Value;

use super::body::Body;
use super::error::{StoreError, describe};

/// The name of the view.
const ANSWERS: &str = "answers";

/// What a query found.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlTable {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows; bytes are written as `X'…'`.
    pub rows: Vec<Vec<Value>>,
}

/// The query behind the view; `text` gives the text of an encoding and a column.
fn answers(text: impl Fn(&str, &str) -> String) -> String {
    let example = text("examples.encoding", "examples.body");
    let output = text("responses.encoding", "responses.output");
    format!(
        "SELECT
  runs.id AS run,
  run_systems.name AS system,
  coalesce(json_extract(systems.settings, '$.settings.model'),
    json_extract(systems.settings, '$.settings.answerer.settings.model')) AS model,
  run_rows.dataset AS dataset,
  run_rows.example_id AS example_id,
  run_rows.position AS position,
  run_rows.repeat AS repeat,
  json_extract({example}, '$.question') AS question,
  CASE WHEN responses.id IS NULL OR {output} IS NOT NULL
    THEN coalesce(json_extract({output}, '$.context'),
      json_extract({example}, '$.context')) END AS context,
  json_extract({example}, '$.answer') AS answer,
  json_extract({output}, '$.response') AS response,
  json_extract({output}, '$.api_reply.finish_reason') AS finish_reason,
  run_rows.failure_kind AS failure_kind,
  run_rows.failure_message AS failure_message,
  coalesce(responses.latency_s, run_rows.latency_s) AS latency_s,
  coalesce(responses.attempts, run_rows.attempts) AS attempts,
  responses.first_token_s AS first_token_s,
  responses.usage AS usage,
  run_rows.cached AS cached,
  {example} AS example,
  {output} AS output
FROM runs
JOIN run_rows ON run_rows.run = runs.number
JOIN run_systems ON run_systems.run = runs.number AND run_systems.number = run_rows.system
JOIN systems ON systems.id = run_systems.system
JOIN examples ON examples.id = run_rows.example
LEFT JOIN responses ON responses.id = run_rows.response"
    )
}

/// Puts the view into the file where it is not there yet, or another version made it.
pub(super) fn put_views(connection: &Connection) -> rusqlite::Result<()> {
    let plain = |encoding: &str, body: &str| format!("iif({encoding} = 0, {body}, NULL)");
    let sql = format!("CREATE VIEW {ANSWERS} AS\n{}", answers(plain));
    let found: Option<(String, Option<String>)> = connection
        .query_row(
            "SELECT type, sql FROM sqlite_master WHERE name = ?1",
            [ANSWERS],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    match found {
        // What somebody else put there is theirs.
        Some((kind, _)) if kind != "view" => return Ok(()),
        Some((_, Some(known))) if known == sql => return Ok(()),
        Some(_) => connection.execute_batch(&format!("DROP VIEW {ANSWERS}"))?,
        None => {}
    }
    connection.execute_batch(&sql)
}

/// Answers a query on a connection that is for reading.
pub(super) fn query(connection: &Connection, sql: &str) -> Result<SqlTable, StoreError> {
    let wrong = |error: rusqlite::Error| StoreError::Sql {
        problem: match &error {
            rusqlite::Error::MultipleStatement => "it is more than one statement".to_owned(),
            other => describe(other),
        },
    };
    prepare(connection).map_err(wrong)?;
    let mut statement = connection.prepare(sql).map_err(wrong)?;
    if !statement.readonly() {
        return Err(StoreError::Sql {
            problem: "it would change the store".into(),
        });
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = Vec::new();
    let mut found = statement.query(()).map_err(wrong)?;
    while let Some(row) = found.next().map_err(wrong)? {
        let cell = |at| Ok(value(row.get_ref(at)?));
        let cells: rusqlite::Result<Vec<Value>> = (0..columns.len()).map(cell).collect();
        rows.push(cells.map_err(wrong)?);
    }
    Ok(SqlTable { columns, rows })
}

/// Adds the function `body_text` and the view with all texts, for this connection alone.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("body_text", 2, flags, |call| {
        let bytes = match call.get_raw(1) {
            ValueRef::Null => return Ok(None),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
            // A number is its own text.
            ValueRef::Integer(n) => return Ok(Some(n.to_string())),
            ValueRef::Real(n) => return Ok(Some(n.to_string())),
        };
        let text = Body::unpack(call.get(0)?, bytes).ok();
        // What is damaged is not there.
        Ok(text.and_then(|text| String::from_utf8(text).ok()))
    })?;
    let whole = |encoding: &str, body: &str| format!("body_text({encoding}, {body})");
    connection.execute_batch(&format!(
        "CREATE TEMP VIEW {ANSWERS} AS\n{};\nPRAGMA query_only = ON;",
        answers(whole)
    ))
}

fn value(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => n.into(),
        ValueRef::Real(n) => n.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("X'{hex}'").into()
        }
    }
}
