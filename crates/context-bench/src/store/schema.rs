//! The tables. `docs/reference/store.md` is their documentation for users.
//!
//! Anything that changes here needs a new `VERSION` and a way to read the old one. Views
//! for people alone (`sql.rs`) are not part of the format: they come and go.

use rusqlite::{Connection, OptionalExtension as _};

/// The format number, kept as SQLite's `user_version`.
pub(super) const VERSION: i64 = 2;

/// Marks the file as ours (`ctxb`), kept as SQLite's `application_id`.
pub(super) const APPLICATION: i64 = 0x6374_7862;

/// Name and text of everything that a store consists of, in order of creation.
///
/// Ids that rows of other tables refer to are never used twice
/// (`AUTOINCREMENT`), so a reference to something removed finds nothing instead
/// of something else. Long columns stand last: the others can then be read
/// without them. Tables with short rows have no separate index to keep in step.
const OBJECTS: &[(&str, &str)] = &[
    (
        "examples",
        "CREATE TABLE examples (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key BLOB NOT NULL UNIQUE,
  encoding INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  body NOT NULL
)",
    ),
    (
        "systems",
        "CREATE TABLE systems (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key BLOB NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  settings TEXT NOT NULL
)",
    ),
    (
        "scorers",
        "CREATE TABLE scorers (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  settings TEXT NOT NULL
)",
    ),
    (
        "responses",
        "CREATE TABLE responses (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  example INTEGER NOT NULL REFERENCES examples (id),
  system INTEGER NOT NULL REFERENCES systems (id),
  repeat INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  latency_s REAL NOT NULL,
  attempts INTEGER,
  retry_wait_s REAL,
  first_token_s REAL,
  first_byte_s REAL,
  usage TEXT,
  checksum INTEGER NOT NULL,
  output_checksum INTEGER NOT NULL,
  encoding INTEGER NOT NULL,
  removed TEXT,
  output NOT NULL,
  UNIQUE (example, system, repeat)
)",
    ),
    (
        "scores",
        "CREATE TABLE scores (
  response INTEGER NOT NULL REFERENCES responses (id),
  scorer INTEGER NOT NULL REFERENCES scorers (id),
  checksum INTEGER NOT NULL,
  scores TEXT NOT NULL,
  reasons TEXT,
  PRIMARY KEY (response, scorer)
) WITHOUT ROWID",
    ),
    (
        "runs",
        "CREATE TABLE runs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  status TEXT NOT NULL,
  command TEXT NOT NULL,
  config TEXT NOT NULL,
  checksum INTEGER NOT NULL
)",
    ),
    (
        "run_systems",
        "CREATE TABLE run_systems (
  run INTEGER NOT NULL REFERENCES runs (number),
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  system INTEGER NOT NULL REFERENCES systems (id),
  PRIMARY KEY (run, number)
) WITHOUT ROWID",
    ),
    (
        "run_scorers",
        "CREATE TABLE run_scorers (
  run INTEGER NOT NULL REFERENCES runs (number),
  number INTEGER NOT NULL,
  scorer INTEGER NOT NULL REFERENCES scorers (id),
  PRIMARY KEY (run, number)
) WITHOUT ROWID",
    ),
    (
        "run_rows",
        "CREATE TABLE run_rows (
  run INTEGER NOT NULL REFERENCES runs (number),
  system INTEGER NOT NULL,
  position INTEGER NOT NULL,
  repeat INTEGER NOT NULL,
  example INTEGER NOT NULL REFERENCES examples (id),
  response INTEGER REFERENCES responses (id),
  example_id NOT NULL,
  dataset TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached INTEGER NOT NULL,
  failure_kind TEXT,
  failure_message TEXT,
  latency_s REAL,
  attempts INTEGER,
  retry_wait_s REAL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (run, system, position, repeat)
) WITHOUT ROWID",
    ),
    (
        "run_scores",
        "CREATE VIEW run_scores AS
SELECT
  runs.id AS run,
  run_systems.name AS system,
  run_rows.position AS position,
  run_rows.repeat AS repeat,
  run_rows.example_id AS example_id,
  run_rows.dataset AS dataset,
  scorers.name AS scorer,
  score.key AS score,
  score.value AS value
FROM runs
JOIN run_rows ON run_rows.run = runs.number
JOIN run_systems ON run_systems.run = runs.number AND run_systems.number = run_rows.system
JOIN run_scorers ON run_scorers.run = runs.number
JOIN scorers ON scorers.id = run_scorers.scorer
JOIN scores ON scores.response = run_rows.response AND scores.scorer = run_scorers.scorer
JOIN json_each(scores.scores) AS score",
    ),
    // Since format 2, behind the others: what is known by its place stays where it was.
    (
        "shards",
        "CREATE TABLE shards (
  plan TEXT NOT NULL,
  run TEXT NOT NULL,
  shard INTEGER NOT NULL,
  shards INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  status TEXT NOT NULL,
  command TEXT NOT NULL,
  config TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (plan, run)
) WITHOUT ROWID",
    ),
    (
        "merged",
        "CREATE TABLE merged (
  source TEXT NOT NULL PRIMARY KEY,
  merged_at INTEGER NOT NULL
) WITHOUT ROWID",
    ),
    (
        "conflicts",
        "CREATE TABLE conflicts (
  example BLOB NOT NULL,
  system BLOB NOT NULL,
  repeat INTEGER NOT NULL,
  output_checksum INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (example, system, repeat, output_checksum)
) WITHOUT ROWID",
    ),
    (
        "failures",
        "CREATE TABLE failures (
  run INTEGER NOT NULL REFERENCES runs (number),
  system INTEGER NOT NULL,
  position INTEGER NOT NULL,
  repeat INTEGER NOT NULL,
  attempted_at INTEGER NOT NULL,
  PRIMARY KEY (run, system, position, repeat)
) WITHOUT ROWID",
    ),
];

/// How many of them format 1 had.
const OBJECTS_1: usize = 10;

/// What a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreFormat {
    /// Nothing yet.
    Empty,
    /// A store in our format.
    Ours,
    /// A store in format 1, which is upgraded.
    First,
    /// A store in a later format.
    Newer(i64),
    /// Something else, or a store with damaged tables.
    Foreign,
}

/// Looks at the marks and the tables of an open file.
pub(super) fn inspect(connection: &Connection) -> rusqlite::Result<StoreFormat> {
    let number = |pragma: &str| -> rusqlite::Result<i64> {
        connection.pragma_query_value(None, pragma, |row| row.get(0))
    };
    let (application, version) = (number("application_id")?, number("user_version")?);
    if (application, version) == (0, 0) {
        let any = connection
            .query_row("SELECT 1 FROM sqlite_master", (), |_| Ok(()))
            .optional()?;
        return Ok(any.map_or(StoreFormat::Empty, |()| StoreFormat::Foreign));
    }
    if application != APPLICATION || version < 1 {
        return Ok(StoreFormat::Foreign);
    }
    if version > VERSION {
        return Ok(StoreFormat::Newer(version));
    }
    let mut statement = connection.prepare("SELECT sql FROM sqlite_master WHERE name = ?1")?;
    let there = match version {
        1 => &OBJECTS[..OBJECTS_1],
        _ => OBJECTS,
    };
    for (name, sql) in there {
        let found: Option<Vec<u8>> = statement
            .query_row([name], |row| Ok(row.get_ref(0)?.as_bytes()?.to_vec()))
            .optional()?;
        if found.as_deref() != Some(sql.as_bytes()) {
            return Ok(StoreFormat::Foreign);
        }
    }
    Ok(match version {
        1 => StoreFormat::First,
        _ => StoreFormat::Ours,
    })
}

/// Adds what format 1 did not have. Runs inside the caller's transaction.
pub(super) fn complete(connection: &Connection) -> rusqlite::Result<()> {
    for (_, sql) in &OBJECTS[OBJECTS_1..] {
        connection.execute_batch(sql)?;
    }
    connection.pragma_update(None, "user_version", VERSION)
}

/// Makes all tables. Runs inside the caller's transaction.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    for (_, sql) in OBJECTS {
        connection.execute_batch(sql)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", VERSION)
}
