//! A store of format 1, which the version before wrote, opened by this one.

use super::*;

/// Four questions, of which one fails with the system `prog`: asked twice by two systems in one
/// run, once by one of them in the next.
const FORMAT_1: &[u8] = include_bytes!("../../../tests/fixtures/store/format-1.sqlite.zst");

pub(super) fn format_1(dir: &Path) {
    let bytes = zstd::stream::decode_all(FORMAT_1).unwrap();
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("store.sqlite"), bytes).unwrap();
}

type Seen = (usize, usize, u32, String, Option<String>);

fn rows(store: &Store, run: &StoredRun) -> Vec<Seen> {
    let row = |row: Result<StoredRow, StoreError>| {
        let row = row.unwrap();
        let example = store.example(&row).unwrap().unwrap();
        let said = match &row.outcome {
            StoredOutcome::Response { response, scores } => {
                assert!(scores.iter().all(Option::is_some), "{row:?}");
                let output = store.output(&response.at, &example).unwrap().unwrap();
                output
                    .get("response")
                    .and_then(Value::as_str)
                    .map(str::to_owned)
            }
            StoredOutcome::Failed { failure, .. } => Some(failure.message.clone()),
            StoredOutcome::Lost => None,
        };
        let number = example.get("repeat").and_then(Value::as_u64).unwrap_or(0);
        assert_eq!(number, u64::from(row.repeat));
        let id = row.example_id.to_string();
        (row.system, row.position, row.repeat, id, said)
    };
    store.run_rows(run).map(row).collect()
}

#[test]
fn a_store_of_format_1_is_upgraded_with_everything_in_it() {
    let dir = tempfile::tempdir().unwrap();
    format_1(dir.path());
    let opened = Store::open(dir.path()).unwrap();
    assert!(opened.notes[0].contains("format 2"), "{:?}", opened.notes);
    let store = opened.store;
    let runs = store.runs().unwrap();
    let found: Vec<_> = runs.iter().map(|run| (run.status, run.n_rows)).collect();
    assert_eq!(found, [(RunStatus::Finished, 16), (RunStatus::Finished, 4)]);
    let first = rows(&store, &runs[0]);
    let of_program: Vec<_> = first.iter().filter(|row| row.0 == 1).collect();
    let expected = [
        (0, 0, "q1", "Paris 0"),
        (1, 1, "q1", "Paris 1"),
        (2, 0, "q2", "the Spree 0"),
        (3, 1, "q2", "the Spree 1"),
        (4, 0, "q3", "no answer to this one"),
        (5, 1, "q3", "no answer to this one"),
        (6, 0, "q4", "Kyoto 0"),
        (7, 1, "q4", "Kyoto 1"),
    ];
    let said: Vec<_> = of_program
        .iter()
        .map(|row| (row.1, row.2, &*row.3, row.4.as_deref().unwrap()))
        .collect();
    assert_eq!(said, expected);
    assert_eq!(rows(&store, &runs[1]).len(), 4);
    assert_eq!(store.damaged(), 0);
    // Repeats are no examples of their own any more, and are found by their number.
    let table = store.sql("SELECT count(*) FROM examples").unwrap();
    assert_eq!(table.rows, [[json!(4)]]);
    let example = Example::new()
        .with("id", "q1")
        .with("context", "Paris is the capital of France.")
        .with("question", "What is the capital of France?")
        .with("answer", "Paris");
    for repeat in [0, 1, 2] {
        let key = Key::example(&example.clone().repeated(repeat));
        let wanted = ResponseQuery {
            response: ResponseKey::new(key, runs[0].systems[1].key(), repeat),
            scorers: &[],
        };
        let there = store.find(&[wanted]).unwrap()[0].is_some();
        assert_eq!(there, repeat < 2, "{repeat}");
    }
    // Once is enough.
    drop(store);
    let opened = Store::open(dir.path()).unwrap();
    assert!(opened.notes.is_empty(), "{:?}", opened.notes);
}

#[test]
fn what_was_damaged_in_format_1_stays_damaged() {
    let dir = tempfile::tempdir().unwrap();
    format_1(dir.path());
    let path = dir.path().join("store.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "UPDATE run_rows SET input_tokens = 12345 WHERE run = 1 AND position = 0;
             UPDATE runs SET command = 'another' WHERE number = 2;",
        )
        .unwrap();
    drop(connection);
    let store = Store::open(dir.path()).unwrap().store;
    let runs = store.runs().unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(store.run_rows(&runs[0]).count(), 14);
    assert!(store.damaged() > 0);
}

#[cfg(unix)]
#[test]
fn a_store_of_format_1_that_cannot_be_written_is_read() {
    let dir = tempfile::tempdir().unwrap();
    format_1(dir.path());
    let path = dir.path().join("store.sqlite");
    let read_only = super::read_only::ReadOnly::open(&path, "for this test".into()).unwrap();
    let (connection, _) = read_only.reader().unwrap();
    let version: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, super::schema::VERSION);
    // The file itself is as it was.
    let bytes = zstd::stream::decode_all(FORMAT_1).unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes);
}
