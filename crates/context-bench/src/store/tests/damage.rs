//! Damaged files: opening never fails for it, and nothing wrong is ever served.

use super::*;

const N: usize = 120;

/// Copies a closed or open store without its shared memory.
fn copy(from: &Path, to: &Path) {
    for name in ["store.sqlite", "store.sqlite-wal"] {
        let _ = std::fs::remove_file(to.join(name));
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// Opens a damaged store, reads and writes it, and checks all that it says.
/// Returns how much was missing and whether anything was reported.
fn survive(dir: &Path, run: &Run) -> (usize, bool) {
    let opened = match Store::open(dir) {
        Ok(opened) => opened,
        // A flipped bit in the header can look like a later format, or like a file
        // that only later versions of SQLite may write. The run goes on without.
        Err(StoreError::Newer { .. } | StoreError::Unusable { .. }) => return (N, true),
        Err(error) => panic!("{error}"),
    };
    let store = opened.store;
    let mut missing = 0;
    for n in 0..N {
        missing += usize::from(Case::new(n).check(&store) != ALL);
    }
    // A run that cannot be read in full is not listed at all.
    for stored in store.runs().unwrap() {
        assert_eq!(stored.run, *run);
        assert_eq!(
            (&stored.systems, &stored.scorers),
            (&start().systems, &start().scorers)
        );
        for row in store.run_rows(&stored) {
            let row = row.unwrap();
            let case = Case::new(row.position);
            assert_eq!((row.system, row.repeat, &*row.dataset), (0, 0, "set"));
            assert_eq!(row.example_id, case.example.id(0).unwrap());
            assert_eq!(row.input_tokens, row.position as u64);
            match &row.outcome {
                StoredOutcome::Response { response, scores } => {
                    case.check_response(&store, response);
                    case.check_scores(scores);
                }
                StoredOutcome::Lost => {}
                StoredOutcome::Failed { .. } => panic!("{row:?}"),
            }
            if let Some(example) = store.example(&row).unwrap() {
                assert_eq!(example, (*case.example).clone().labelled("set"));
            }
        }
    }
    let reported = store.damaged() > 0 || !opened.notes.is_empty();
    // Writing goes on, or stops in order; either way nothing wrong comes of it.
    if let Ok(run) = store.begin_run(start()) {
        for position in 0..N + 20 {
            let case = Case::new(position);
            case.put(&store);
            store.put_blocking(case.row(&run, position));
        }
    }
    let flushed = store.flush_blocking();
    assert_eq!(flushed.is_err(), store.failure().is_some());
    let mut absent = 0;
    for n in 0..N + 20 {
        absent += usize::from(Case::new(n).check(&store) != ALL);
    }
    let reported = reported || store.failure().is_some();
    drop(store);
    // Damage that stopped the writer is noticed when the store is next opened.
    let opened = Store::open(dir).unwrap();
    for n in 0..N {
        Case::new(n).check(&opened.store);
    }
    drop(opened);
    assert!(missing > 0 || absent == 0 || reported);
    (missing, reported)
}

#[test]
fn flipped_bits_are_never_served() {
    let (made, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = fill(made.path(), N);
    let bytes = std::fs::read(made.path().join("store.sqlite")).unwrap();
    let (mut lost, mut silent) = (0, 0);
    for seed in 0..60 {
        let mut dice = dice(seed);
        let mut bytes = bytes.clone();
        let flips = [1, 8, 64][dice.below(3)];
        // Half of the time all in one page, otherwise all over the file.
        let page = dice.below(bytes.len() / 4096) * 4096;
        for _ in 0..flips {
            let at = match seed % 2 {
                0 => page + dice.below(4096),
                _ => dice.below(bytes.len()),
            };
            bytes[at] ^= 1 << dice.below(8);
        }
        let dir = broken.path().join(seed.to_string());
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("store.sqlite"), bytes).unwrap();
        let (missing, reported) = survive(&dir, &run);
        lost += usize::from(missing > 0);
        silent += usize::from(missing > 0 && !reported);
    }
    // The test must have done damage, and damage must show. An index entry that
    // no longer leads anywhere is the one thing that looks like absence.
    assert!(lost > 20, "{lost}");
    assert!(silent * 5 <= lost, "{silent} of {lost}");
}

#[test]
fn a_truncated_file_is_replaced_by_what_is_left_of_it() {
    let (made, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = fill(made.path(), N);
    let bytes = std::fs::read(made.path().join("store.sqlite")).unwrap();
    let mut dice = dice(7);
    for seed in 0..15 {
        let keep = 1 + dice.below(bytes.len() - 1);
        let dir = broken.path().join(seed.to_string());
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("store.sqlite"), &bytes[..keep]).unwrap();
        let (missing, reported) = survive(&dir, &run);
        assert!(missing > 0 && reported, "{keep} bytes");
        // A file that ends within its last page opens; the rest must not.
        if keep <= bytes.len() - 4096 {
            let aside = std::fs::read(dir.join("store.sqlite.damaged-1")).unwrap();
            assert!(aside == bytes[..keep]);
        }
    }
}

#[test]
fn a_damaged_log_loses_its_tail_only() {
    let (made, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(made.path());
    let run = store.begin_run(start()).unwrap();
    for position in 0..N {
        let case = Case::new(position);
        case.put(&store);
        store.put_blocking(case.row(&run, position));
        if position % 10 == 0 {
            store.flush_blocking().unwrap();
        }
    }
    store.flush_blocking().unwrap();
    // Copied while open: everything is in the log.
    copy(made.path(), broken.path());
    let log = std::fs::read(broken.path().join("store.sqlite-wal")).unwrap();
    let base = std::fs::read(broken.path().join("store.sqlite")).unwrap();
    for seed in 0..30 {
        let mut dice = dice(seed);
        let mut log = log.clone();
        let flipped = seed % 2 == 1;
        if flipped {
            // All but the salt of its last frame, which then looks like an older log.
            let at = dice.below(log.len() - 4096 - 24);
            log[at] ^= 1 << dice.below(8);
        } else {
            log.truncate(dice.below(log.len()));
        }
        let dir = broken.path().join(seed.to_string());
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("store.sqlite"), &base).unwrap();
        std::fs::write(dir.join("store.sqlite-wal"), log).unwrap();
        let (missing, reported) = survive(&dir, &run);
        assert!(reported || missing == 0 || !flipped, "seed {seed}");
        // Said once: what is left is whole.
        assert_eq!(Store::open(&dir).unwrap().notes, Vec::<String>::new());
    }
}

#[test]
fn the_file_alone_is_the_store_after_a_run() {
    let (made, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = fill(made.path(), N);
    let log = made.path().join("store.sqlite-wal");
    assert!(!log.exists(), "closed");
    // Also while it is still open, and was read.
    let store = open(made.path());
    assert_eq!(store.run_rows(&store.runs().unwrap()[0]).count(), N);
    let again = store.begin_run(start()).unwrap();
    store.finish_run(&again, RunStatus::Finished).unwrap();
    assert_eq!(std::fs::metadata(&log).unwrap().len(), 0);
    store.remove_run(&again).unwrap();
    std::fs::copy(
        made.path().join("store.sqlite"),
        copied.path().join("store.sqlite"),
    )
    .unwrap();
    let store = open(copied.path());
    assert_eq!(store.run(run.id().as_str()).unwrap().n_rows, N as u64);
}

#[test]
fn a_damaged_record_is_absent_and_can_be_stored_again() {
    for (table, column) in [
        ("responses", "latency_s = latency_s + 1"),
        ("responses", "usage = '{}'"),
        ("responses", "repeat = repeat"),
        (
            "responses",
            "output = '{\"response\":\"wrong\"}', encoding = 0",
        ),
        ("scores", "scores = '{\"f1\":1.0,\"exact\":1.0}'"),
        ("scores", "reasons = '{\"f1\":\"no\"}'"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path(), 3);
        let raw = Connection::open(dir.path().join("store.sqlite")).unwrap();
        raw.execute(&format!("UPDATE {table} SET {column}"), ())
            .unwrap();
        drop(raw);
        let store = open(dir.path());
        let case = Case::new(2);
        if column == "repeat = repeat" {
            assert_eq!(case.check(&store), ALL);
            continue;
        }
        assert_ne!(case.check(&store), ALL, "{column}");
        assert!(store.damaged() > 0, "{column}");
        case.put(&store);
        store.flush_blocking().unwrap();
        assert_eq!(case.check(&store), ALL, "{column}");
    }
}

#[test]
fn rows_under_the_wrong_key_are_not_served() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 4);
    let raw = Connection::open(dir.path().join("store.sqlite")).unwrap();
    raw.execute_batch(
        "PRAGMA foreign_keys = OFF;
         UPDATE responses SET example = 100 WHERE id = 1;
         UPDATE responses SET example = 1 WHERE id = 2;
         UPDATE scores SET response = 100 WHERE response = 3;
         UPDATE scores SET response = 3 WHERE response = 4;",
    )
    .unwrap();
    drop(raw);
    let store = open(dir.path());
    assert_eq!(Case::new(0).check(&store), NOTHING);
    assert_eq!(Case::new(2).check(&store).scores, 0);
    assert!(store.damaged() >= 3);
}
