//! Runs: begun, listed, read again, removed.

use super::*;
use crate::error::Hint as _;
use crate::model::{ExampleId, Failure, FailureKind, WireFacts};

#[test]
fn a_run_can_be_read_again_with_everything() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let systems = vec![
        system(),
        SystemEntry {
            name: "other".into(),
            settings: json!({"b": 1, "a": 2}),
            ..system()
        },
    ];
    let mut begin = start();
    begin.config.insert("max_workers".into(), json!(4));
    begin.systems = systems.clone();
    let run = store.begin_run(begin.clone()).unwrap();
    assert_eq!(run.id().as_str().len(), "20261115-204012-3f9a".len());
    // Rows come in any order; 700 of them need more than one page.
    for position in (0..700).rev() {
        let case = Case::new(position);
        case.put(&store);
        store.put_blocking(case.row(&run, position));
    }
    let call = CallStats {
        attempts: 3,
        retry_wait: Duration::from_millis(1500),
        first_token: None,
        ..CallStats::default()
    };
    let failed = Case::new(9999);
    let wire = WireFacts {
        client_calls: 3,
        ..WireFacts::default()
    };
    store.put_blocking(RunRow {
        system: 1,
        repeat: 2,
        example_id: ExampleId::from("9999"),
        outcome: NewOutcome::Failed {
            example: Arc::clone(&failed.example),
            key: failed.key.example,
            failure: Failure::new(FailureKind::RateLimited, "HTTP 429"),
            latency: 2.5,
            call: Some(call),
            wire: Some(wire.to_json().to_string()),
        },
        ..failed.row(&run, 5)
    });
    store.finish_run(&run, RunStatus::Interrupted).unwrap();

    let stored = store.run(run.id().as_str()).unwrap();
    assert_eq!(
        (stored.status, stored.n_rows),
        (RunStatus::Interrupted, 701)
    );
    assert_eq!(
        (&stored.systems, &stored.scorers, &stored.config),
        (&systems, &begin.scorers, &begin.config)
    );
    assert!(stored.finished_at.unwrap() >= stored.created_at);

    let rows: Vec<_> = store.run_rows(&stored).map(Result::unwrap).collect();
    assert_eq!(rows.len(), 701);
    for (position, row) in rows[..700].iter().enumerate() {
        let case = Case::new(position);
        assert_eq!((row.system, row.position, row.repeat), (0, position, 0));
        assert_eq!(row.example_id, ExampleId::from(position));
        assert_eq!((&*row.dataset, row.cached), ("set", false));
        assert_eq!((row.input_tokens, row.output_tokens), (position as u64, 7));
        let StoredOutcome::Response { response, scores } = &row.outcome else {
            panic!("{row:?}");
        };
        let mut present = case.check_response(&store, response);
        present.scores = case.check_scores(scores);
        assert_eq!(present, ALL);
        // What the run calls its dataset is kept with the row alone.
        let example = (*case.example).clone().labelled("set");
        assert_eq!(store.example(row).unwrap(), Some(example));
    }
    let last = &rows[700];
    assert_eq!((last.system, last.position, last.repeat), (1, 5, 2));
    assert_eq!(last.example_id, ExampleId::from("9999"));
    let expected = StoredOutcome::Failed {
        failure: Failure::new(FailureKind::RateLimited, "HTTP 429"),
        latency: 2.5,
        call: Some(call),
        wire: Some(Box::new(wire)),
    };
    assert_eq!(last.outcome, expected);
    let example = (*failed.example).clone().labelled("set").repeated(2);
    assert_eq!(store.example(last).unwrap(), Some(example));
    assert_eq!((store.damaged(), store.dropped()), (0, 0));
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let error = store.run("2").unwrap_err();
    assert_eq!(error.to_string(), "no run `2` in the store");
    let one = store.begin_run(start()).unwrap();
    assert_eq!(store.run("2").unwrap().run, one);
    let two = store.begin_run(start()).unwrap();
    let error = store.run("2").unwrap_err();
    assert_eq!(error.to_string(), "`2` matches 2 runs");
    let hint = error.hint().unwrap();
    assert_eq!(hint, format!("one of: {}, {}", one.id(), two.id()));
    assert_eq!(store.run(two.id().as_str()).unwrap().run, two);
    let listed: Vec<_> = store
        .runs()
        .unwrap()
        .into_iter()
        .map(|run| run.run)
        .collect();
    assert_eq!(listed, [one, two]);
    assert_eq!(store.runs().unwrap()[0].status, RunStatus::Running);
}

#[test]
fn removing_a_run_keeps_what_others_need_and_frees_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let first = fill(dir.path(), 400);
    let store = open(dir.path());
    let second = store.begin_run(start()).unwrap();
    for position in 300..500 {
        let case = Case::new(position);
        case.put(&store);
        store.put_blocking(case.row(&second, position));
    }
    // A response outside any run keeps its example.
    let mut outside = Case::new(0);
    outside.key.repeat = 9;
    outside.put(&store);
    store.flush_blocking().unwrap();

    let removed = store.remove_run(&first).unwrap();
    assert_eq!(
        (removed.rows, removed.responses, removed.examples),
        (400, 300, 299)
    );
    assert!(removed.bytes > 100_000, "{removed:?}");
    for n in 0..500 {
        let expected = if n < 300 { NOTHING } else { ALL };
        assert_eq!(Case::new(n).check(&store), expected, "{n}");
    }
    assert_eq!(outside.check(&store), ALL);
    assert!(store.run(first.id().as_str()).is_err());
    let stored = store.run(second.id().as_str()).unwrap();
    assert_eq!(store.run_rows(&stored).count(), 200);
    let bytes = store.compact().unwrap();
    assert!(bytes >= removed.bytes, "{bytes} of {removed:?}");
    let raw = Connection::open(store.path()).unwrap();
    let free: i64 = raw
        .pragma_query_value(None, "freelist_count", |row| row.get(0))
        .unwrap();
    assert_eq!(free, 0);
    assert_eq!(Case::new(450).check(&store), ALL);
    // What was removed can be stored again, and nothing is mixed up.
    fill_again(&store, &second);
    assert_eq!(store.damaged(), 0);
}

fn fill_again(store: &Store, run: &Run) {
    for position in 0..10 {
        let case = Case::new(position);
        case.put(store);
        store.put_blocking(case.row(run, position));
    }
    store.flush_blocking().unwrap();
    for n in 0..10 {
        assert_eq!(Case::new(n).check(store), ALL);
    }
    assert_eq!(store.dropped(), 0);
}
