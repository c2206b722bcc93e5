//! Damaged pages: what can be read is saved, and nothing else.

use super::*;

const N: usize = 150;

/// Opens a store of these bytes, as a run does after one that met damage.
fn reopen(dir: &Path, bytes: &[u8]) -> Opened {
    std::fs::create_dir(dir).unwrap();
    std::fs::write(dir.join("store.sqlite"), bytes).unwrap();
    std::fs::write(dir.join("store.sqlite.suspect"), "").unwrap();
    Store::open(dir).unwrap()
}

/// How many cases are not there as they were put.
fn missing(store: &Store) -> usize {
    (0..N).filter(|n| Case::new(*n).check(store) != ALL).count()
}

#[test]
fn a_damaged_page_costs_what_was_on_it() {
    let (made, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = fill(made.path(), N);
    let whole = std::fs::read(made.path().join("store.sqlite")).unwrap();
    let n_pages = whole.len() / 4096;
    let (mut lost, mut torn) = (0, 0);
    for page in 0..n_pages {
        let mut bytes = whole.clone();
        let fill = [0, 0xa5][page % 2];
        bytes[page * 4096..][..4096].fill(fill);
        let dir = broken.path().join(page.to_string());
        let Opened { store, notes } = reopen(&dir, &bytes);
        let note = notes.join("\n");
        assert!(
            note.contains("is damaged (") && note.contains("saved"),
            "{note}"
        );
        let aside = dir.join("store.sqlite.damaged-1");
        assert!(note.contains(&aside.display().to_string()), "{note}");
        assert!(std::fs::read(aside).unwrap() == bytes, "{page}");
        let gone = missing(&store);
        lost += gone;
        // The page with the list of tables costs nothing: all stores have the same.
        assert!(page > 0 || gone == 0, "{gone}: {note}");
        // What is told is what is there.
        let answers = store.n_responses().unwrap();
        assert!(note.contains(&format!("{answers} answers and")), "{note}");
        assert!(
            note.contains(&format!(" {} answers could", N - answers)) || answers == 0,
            "{answers}: {note}"
        );
        for stored in store.runs().unwrap() {
            assert_eq!(stored.run, run);
            let rows: Vec<StoredRow> = store.run_rows(&stored).map(Result::unwrap).collect();
            let is_whole = |row: &StoredRow| match &row.outcome {
                StoredOutcome::Response { scores, .. } => scores.iter().all(Option::is_some),
                _ => false,
            };
            let whole = rows.len() == N && rows.iter().all(is_whole);
            let status = match whole {
                true => RunStatus::Finished,
                false => RunStatus::Interrupted,
            };
            assert_eq!(stored.status, status, "{page}: {} rows", rows.len());
            torn += usize::from(!whole);
            // Rows without their answer or scores are still counted when they are met.
            assert!(!whole || store.damaged() == 0, "{page}");
        }
        // What was lost is put again, and nothing is mixed up.
        let again = store.begin_run(start()).unwrap();
        for position in 0..N {
            let case = Case::new(position);
            case.put(&store);
            store.put_blocking(case.row(&again, position));
        }
        store.finish_run(&again, RunStatus::Finished).unwrap();
        assert_eq!((missing(&store), store.dropped()), (0, 0), "{page}");
    }
    assert!(lost > 0 && torn > 0);
    // A root page costs a table, any other page its own rows.
    assert!(lost < n_pages * N / 5, "{lost} of {n_pages} times {N}");
}

#[test]
fn a_process_that_dies_while_it_saves_loses_nothing() {
    let made = tempfile::tempdir().unwrap();
    fill(made.path(), N);
    let path = made.path().join("store.sqlite");
    // Killed before the damaged file was moved away …
    std::fs::write(made.path().join("store.sqlite.saving"), "half").unwrap();
    assert_eq!(missing(&open(made.path())), 0);
    // … and before the new one took its place.
    std::fs::rename(&path, made.path().join("store.sqlite.saved")).unwrap();
    assert_eq!(missing(&open(made.path())), 0);
    assert!(path.exists() && !made.path().join("store.sqlite.saved").exists());
}
