//! Places where a store cannot be, and disks that are full.

use std::sync::mpsc;

use super::*;
use crate::error::Hint as _;

#[test]
fn an_unwritable_place_is_an_error_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    std::fs::create_dir_all(dir.path().join("taken/store.sqlite")).unwrap();
    for place in [file.clone(), file.join("below"), dir.path().join("taken")] {
        assert!(!Store::exists(&place));
        let error = Store::open(&place).err().unwrap();
        assert!(matches!(error, StoreError::Unusable { .. }), "{error}");
        assert!(error.hint().unwrap().contains("--cache-dir"));
    }
}

#[test]
fn a_later_format_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 1);
    let path = dir.path().join("store.sqlite");
    let raw = Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 3).unwrap();
    drop(raw);
    let before = std::fs::read(&path).unwrap();
    let error = Store::open(dir.path()).err().unwrap();
    assert!(
        error
            .to_string()
            .contains("has format 3, this version knows up to 2")
    );
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn what_is_no_store_is_moved_aside_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.sqlite");
    for n in 1..=2 {
        std::fs::write(
            &path,
            format!("my notes {n}, longer than a header ").repeat(200),
        )
        .unwrap();
        let opened = Store::open(dir.path()).unwrap();
        assert_eq!(opened.notes.len(), 1, "{:?}", opened.notes);
        assert!(opened.notes[0].contains(&format!("damaged-{n}")));
        drop(opened);
        let aside = dir.path().join(format!("store.sqlite.damaged-{n}"));
        assert!(
            std::fs::read_to_string(aside)
                .unwrap()
                .starts_with("my notes")
        );
        std::fs::remove_file(&path).unwrap();
    }
    // A database of something else.
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("CREATE TABLE other (x)").unwrap();
    drop(raw);
    let opened = Store::open(dir.path()).unwrap();
    assert!(opened.notes[0].contains("damaged-3"), "{:?}", opened.notes);
    // An empty file is a store that was never begun.
    drop(opened);
    std::fs::write(&path, "").unwrap();
    assert_eq!(Store::open(dir.path()).unwrap().notes, Vec::<String>::new());
}

#[test]
fn a_full_disk_ends_storing_but_not_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let opened = Store::open_with(dir.path(), |connection| {
        connection.pragma_update_and_check(None, "max_page_count", 200, |_| Ok(()))
    });
    let store = opened.unwrap().store;
    store.register(&[system()], &scorers()).unwrap();
    Case::new(0).put(&store);
    store.flush_blocking().unwrap();
    for n in 1..20_000 {
        store.put_blocking(Case::new(n % 2000).response());
    }
    let error = store.flush_blocking().unwrap_err();
    let text = "the store can no longer be written to: the disk is full";
    assert_eq!(error.to_string(), text);
    assert_eq!(store.failure().as_deref(), Some("the disk is full"));
    assert!(store.dropped() > 10_000, "{}", store.dropped());
    // Nothing waits for a writer that does not write: that would be for ever.
    let (done, is_done) = mpsc::channel();
    let full = store.clone();
    std::thread::spawn(move || {
        for n in 0..20_000 {
            full.put_blocking(Case::new(n % 10).response());
        }
        let refused = full.begin_run(start()).is_err() && full.flush_blocking().is_err();
        drop(full);
        let _ = done.send(refused);
    });
    assert_eq!(is_done.recv_timeout(Duration::from_secs(300)), Ok(true));
    // What was committed is still there, also after reopening with room.
    assert_eq!(Case::new(0).check(&store), ALL);
    drop(store);
    let store = open(dir.path());
    assert_eq!(Case::new(0).check(&store), ALL);
    Case::new(5000).put(&store);
    store.flush_blocking().unwrap();
    assert_eq!(Case::new(5000).check(&store), ALL);
}

#[test]
fn a_lock_held_by_another_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), 1);
    let store = open(dir.path());
    let raw = Connection::open(store.path()).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    Case::new(1).put(&store);
    // Reading does not wait.
    assert_eq!(Case::new(0).check(&store), ALL);
    let holder = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        raw.execute_batch("COMMIT").unwrap();
    });
    store.flush_blocking().unwrap();
    holder.join().unwrap();
    assert_eq!(Case::new(1).check(&store), ALL);
}
