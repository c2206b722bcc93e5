//! Runs that go on, and what others may do to them meanwhile.

use super::*;
use crate::error::Hint as _;

#[test]
fn a_run_that_goes_on_cannot_be_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (store, other) = (open(dir.path()), open(dir.path()));
    let run = store.begin_run(start()).unwrap();
    let next = store.begin_run(start()).unwrap();
    for store in [&store, &other] {
        assert!(store.is_live(&run) && store.is_live(&next));
        let error = store.remove_run(&run).unwrap_err();
        assert!(matches!(error, StoreError::Live { .. }), "{error}");
        assert!(error.hint().unwrap().contains("wait for its end"));
    }
    store.finish_run(&run, RunStatus::Finished).unwrap();
    assert!(!other.is_live(&run) && other.is_live(&next));
    other.remove_run(&run).unwrap();
    // A process that ends without a word lets go of its runs.
    drop(store);
    assert!(!other.is_live(&next));
    assert_eq!(other.runs().unwrap()[0].status, RunStatus::Killed);
    other.remove_run(&next).unwrap();
    let left = std::fs::read_dir(dir.path()).unwrap();
    let left: Vec<String> = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!left.iter().any(|name| name.contains("live")), "{left:?}");
}

#[test]
fn what_somebody_else_removed_is_not_said_to_be_kept() {
    let dir = tempfile::tempdir().unwrap();
    let first = fill(dir.path(), 3);
    let (store, other) = (open(dir.path()), open(dir.path()));
    let run = store.begin_run(start()).unwrap();
    let rows: Vec<RunRow> = (0..3)
        .map(|position| {
            let case = Case::new(position);
            let wanted = ResponseQuery {
                response: case.key,
                scorers: &[],
            };
            let found = store.find(&[wanted]).unwrap().pop().unwrap().unwrap();
            RunRow {
                outcome: NewOutcome::Response(found.response.at.into()),
                cached: true,
                ..case.row(&run, position)
            }
        })
        .collect();
    store.put_blocking(rows[0].clone());
    store.flush_blocking().unwrap();
    // One answer is needed by the run that goes on; the other two go.
    assert_eq!(other.remove_run(&first).unwrap().responses, 2);
    store.put_blocking(rows[1].clone());
    store.put_blocking(rows[2].clone());
    store.flush_blocking().unwrap();
    assert_eq!(store.dropped(), 2);
    store.finish_run(&run, RunStatus::Finished).unwrap();
    let stored = store.run(run.id().as_str()).unwrap();
    assert_eq!(store.run_rows(&stored).count(), 1);

    // A run that is gone itself was not kept either.
    let run = store.begin_run(start()).unwrap();
    let raw = Connection::open(store.path()).unwrap();
    raw.pragma_update(None, "foreign_keys", false).unwrap();
    raw.execute("DELETE FROM runs WHERE number = ?1", [run.number])
        .unwrap();
    let error = store.finish_run(&run, RunStatus::Finished).unwrap_err();
    assert!(matches!(error, StoreError::Gone { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_run_in_a_file_that_was_moved_away_is_not_said_to_be_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = store.begin_run(start()).unwrap();
    // As a process does that finds the file damaged.
    for part in ["", "-wal", "-shm"] {
        let names = [
            format!("store.sqlite{part}"),
            format!("store.damaged{part}"),
        ];
        let [from, to] = names.map(|name| dir.path().join(name));
        std::fs::rename(from, to).unwrap();
    }
    drop(open(dir.path()));
    let error = store.finish_run(&run, RunStatus::Finished).unwrap_err();
    assert!(error.to_string().contains("took its place"), "{error}");
}
