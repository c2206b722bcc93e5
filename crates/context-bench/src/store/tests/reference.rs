//! The page for users must say what is so: its queries run, its columns exist.

use super::*;

const PAGE: &str = include_str!("../../../../../docs/reference/store.md");

#[test]
fn every_query_of_the_page_works() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 10);
    let raw = Connection::open(dir.path().join("store.sqlite")).unwrap();
    let mut n_queries = 0;
    for block in PAGE.split("```sql\n").skip(1) {
        let query = block.split("```").next().unwrap();
        let mut statement = raw.prepare(query).unwrap();
        let n_rows = statement.query_map((), |_| Ok(())).unwrap().count();
        assert!(n_rows > 0, "no rows: {query}");
        n_queries += 1;
    }
    assert!(n_queries >= 4);
    let mean: f64 = raw
        .query_row(
            "SELECT avg(value) FROM run_scores WHERE score = 'f1'",
            (),
            |row| row.get(0),
        )
        .unwrap();
    assert!((mean - 4.5 / 11.0).abs() < 1e-12);
}

#[test]
fn every_column_is_on_the_page() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 1);
    let raw = Connection::open(dir.path().join("store.sqlite")).unwrap();
    let mut statement = raw
        .prepare(
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
             WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let columns: Vec<(String, String)> = statement
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(columns.len() > 50);
    for (table, column) in columns {
        let section = PAGE
            .split("\n### `")
            .find(|part| part.starts_with(&format!("{table}`")));
        let section = section.unwrap_or_else(|| panic!("no section for {table}"));
        assert!(section.contains(&format!("`{column}`")), "{table}.{column}");
    }
}

#[test]
fn the_file_has_its_marks() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 1);
    let raw = Connection::open(dir.path().join("store.sqlite")).unwrap();
    let pragma = |name: &str| -> String {
        raw.query_row(
            &format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}"),
            (),
            |row| row.get(0),
        )
        .unwrap()
    };
    assert_eq!(pragma("user_version"), "2");
    assert_eq!(pragma("application_id"), "1668577378");
    assert_eq!(pragma("journal_mode"), "wal");
}
