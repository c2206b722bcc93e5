//! Facts are kept with answers: a run that finds everything in the store starts nothing and says
//! the same.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_bench::evaluator::{Evaluator, EvaluatorError};
use context_bench::reopened_run::ReopenedRun;
use context_bench::report::TableReport;
use context_bench::store::Store;
use context_bench::tap::ArmRole;
use context_bench::tokens::Tokenizer;
use context_bench::{
    EvalResult, Example, Identity, Output, ScoreName, Scores, WireFacts, evaluate,
};
use context_bench_testkit::proxy::TestProxy;

use context_bench_testkit::{ChatServer, Reply};
use serde_json::json;

use super::{TestRun, answer, arm, assert_counts, direct, provider};

#[test]
fn facts_come_back_from_the_store_and_nothing_is_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs of a test.db");
    let server = provider();
    let proxy = TestProxy::compressor();
    let run = |store: Store| {
        let arms = vec![direct(), arm("compress", ArmRole::Transform, &proxy)];
        TestRun {
            store: Some(store),
            ..TestRun::new(&server, arms)
        }
        .run()
    };
    let first = run(Store::open(&path).expect("a store").store);
    let (asked, sent) = (server.request_count(), proxy.request_count());
    assert_eq!((asked, sent), (24, 12));
    let again = run(Store::open(&path).expect("a store").store);
    assert_eq!(
        (server.request_count(), proxy.request_count()),
        (asked, sent)
    );
    assert!(again.rows.iter().all(|row| row.cached));
    for (one, two) in first.rows.iter().zip(&again.rows) {
        assert!(one.wire.is_some());
        assert_eq!(one.wire, two.wire, "{}", one.example_id);
    }
    for key in [
        "wire_saved",
        "wire_saved_usage",
        "engagement",
        "claimed_saved",
    ] {
        let value = |result: &EvalResult| result.summary["compress"].value(key);
        assert_eq!(value(&first), value(&again), "{key}");
    }
    // Nothing was called in this run; what its rows cost is counted apart, and in all.
    assert_eq!(
        (again.wire["compress"].calls, first.wire["compress"].calls),
        (0, 12)
    );
    assert_eq!(first.wire["compress"].earlier, None);
    let earlier = again.wire["compress"]
        .earlier
        .as_ref()
        .expect("rows of before");
    assert_eq!((earlier.rows, earlier.calls), (12, 12));
    assert_eq!(earlier.bytes, first.wire["compress"].bytes);
    let billed = |result: &EvalResult| result.summary["compress"].value("billed_tokens");
    assert_eq!(billed(&again), billed(&first));
    assert!(billed(&first).is_some_and(|tokens| tokens > 0.0));
    assert_eq!(first.arm_verdict("compress"), again.arm_verdict("compress"));
}

#[test]
fn tokens_that_another_tokenizer_counted_are_not_taken_for_ones_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = provider();
    let proxy = TestProxy::compressor();
    let run = |tokenizer: Tokenizer| {
        let store = Store::open(folder.path()).expect("a store").store;
        let arms = vec![direct(), arm("compress", ArmRole::Transform, &proxy)];
        TestRun {
            store: Some(store),
            tokenizer,
            ..TestRun::new(&server, arms)
        }
        .run()
    };
    let first = run(Tokenizer::Cl100kBase);
    let asked = server.request_count();
    let other = run(Tokenizer::Whitespace);
    let again = run(Tokenizer::Cl100kBase);
    assert_eq!(server.request_count(), asked);
    let facts = |result: &EvalResult| -> Vec<WireFacts> {
        let facts = result.rows.iter().map(|row| row.wire.as_deref().cloned());
        facts.map(|facts| facts.expect("facts")).collect()
    };
    let counted = facts(&first);
    assert!(counted.iter().all(|one| one.tokens().is_some()));
    assert_eq!(facts(&again), counted);
    for (one, two) in counted.into_iter().zip(facts(&other)) {
        assert_eq!(two.tokens(), None);
        // All else was seen by the tap, whoever counts tokens.
        assert_eq!(two, one.counted_by("whitespace"));
        assert!(two.upstream_bytes > 0 && two.usage_input().is_some());
    }
    let saved = |result: &EvalResult| result.summary["compress"].value("wire_saved");
    assert!(saved(&first).is_some_and(|saved| saved > 0.0));
    assert_eq!(saved(&other), None);
}

/// Tells which members an output has.
struct Members {
    version: u32,
    seen: Arc<Mutex<BTreeSet<String>>>,
}

#[async_trait]
impl Evaluator for Members {
    fn name(&self) -> &str {
        "members"
    }

    fn score_names(&self) -> &[ScoreName] {
        &[]
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new("members", self.version, json!({})))
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let names: BTreeSet<&String> = output.fields().keys().collect();
        let own = output.get("wire") == example.get("wire");
        let seen = format!("{names:?} {own}");
        self.seen.lock().expect("no panic").insert(seen);
        Ok([("f1", 1.0)].into_iter().collect())
    }
}

#[test]
fn whoever_scores_an_answer_later_sees_what_was_seen_at_once() {
    let server = provider();
    let proxy = TestProxy::compressor();
    for has_own in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let seen = Arc::new(Mutex::default());
        let run = |version: u32, tokenizer: Tokenizer| {
            let store = Store::open(folder.path()).expect("a store").store;
            let arms = vec![direct(), arm("compress", ArmRole::Transform, &proxy)];
            let mut run = TestRun {
                store: Some(store),
                tokenizer,
                evaluator: Arc::new(Members {
                    version,
                    seen: Arc::clone(&seen),
                }),
                ..TestRun::new(&server, arms)
            };
            if has_own {
                // A column of the name under which facts are stored.
                let with = |example: Example| example.with("wire", json!({"gauge": 3}));
                run.examples = run.examples.into_iter().map(with).collect();
            }
            run.run()
        };
        let first = run(1, Tokenizer::Cl100kBase);
        let asked = server.request_count();
        let again = run(2, Tokenizer::Whitespace);
        assert_eq!(server.request_count(), asked);
        let seen: &Mutex<BTreeSet<String>> = &seen;
        let seen = seen.lock().expect("no panic");
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert!(seen.iter().all(|one| one.ends_with("true")), "{seen:?}");
        for (one, two) in first.rows.iter().zip(&again.rows) {
            let facts = one.wire.as_deref().cloned().expect("facts");
            let facts = facts.counted_by("whitespace");
            assert_eq!(two.wire.as_deref(), Some(&facts), "{}", one.example_id);
        }
    }
}

/// The last run of a store, as it was.
fn reopened(store: &Store) -> EvalResult {
    let runs = store.runs().expect("runs");
    let id = runs.last().expect("a run").run.id().to_string();
    let run = ReopenedRun::open(store, &id).expect("found");
    let evaluate = evaluate().evaluators(run.evaluators());
    evaluate.reopen(&run).expect("a result")
}

#[test]
fn what_rows_cost_that_failed_is_stored_with_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store").store;
    let server = ChatServer::start(|request| match request.index % 3 {
        0 => Reply::status(500),
        _ => answer(request),
    });
    let proxy = TestProxy::retrying();
    let run = TestRun {
        store: Some(store.clone()),
        ..TestRun::new(
            &server,
            vec![direct(), arm("p", ArmRole::PassThrough, &proxy)],
        )
    };
    let result = run.run();
    assert_counts(&result, &server);
    let failed = |result: &EvalResult| {
        let rows = result.rows.iter().filter(|row| row.failure.is_some());
        let facts = rows.map(|row| row.wire.as_deref().cloned().expect("facts"));
        facts.collect::<Vec<_>>()
    };
    let before = failed(&result);
    assert!(!before.is_empty(), "every third answer is an error");
    assert!(before.iter().all(|facts| facts.all_upstream_bytes > 0));
    let again = reopened(&store);
    assert_eq!(failed(&again), before);
    assert_eq!(again.wire, result.wire);
    // With them rows add up to the arm, and to what the provider saw.
    for (name, arm) in &again.wire {
        let rows = again.rows_of(name).iter();
        let facts: Vec<_> = rows.filter_map(|row| row.wire.as_deref()).collect();
        let calls: u64 = facts.iter().map(|facts| facts.calls.total()).sum();
        let bytes: u64 = facts.iter().map(|facts| facts.all_upstream_bytes).sum();
        let client: u64 = facts.iter().map(|facts| facts.all_client_bytes).sum();
        assert_eq!(
            (calls, bytes, client),
            (arm.calls, arm.bytes, arm.client_bytes)
        );
    }
    // A removed run leaves nothing of it.
    let run = store.runs().expect("runs").remove(0).run;
    store.remove_run(&run).expect("removed");
    let left = store
        .sql("SELECT count(*) FROM failed_wire")
        .expect("a count");
    assert_eq!(left.rows, [[serde_json::json!(0)]]);
}

#[test]
fn rows_that_were_withheld_stay_withheld_when_they_are_reused() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = provider();
    let proxy = TestProxy::late(std::time::Duration::from_millis(30));
    let run = || {
        let arms = vec![direct(), arm("late", ArmRole::Transform, &proxy)];
        let mut run = TestRun::new(&server, arms);
        run.store = Some(Store::open(folder.path()).expect("a store").store);
        run.workers = 2;
        run.run()
    };
    let first = run();
    assert!(first.wire["late"].withheld, "{:?}", first.wire["late"]);
    let table = TableReport { width: 300 }.render(&first);
    assert!(table.contains("nobody's tokens"), "{table}");
    let again = run();
    assert!(again.rows.iter().all(|row| row.cached));
    assert!(again.wire["late"].withheld);
    assert!(again.rows_of("late").iter().all(|row| row.wire.is_none()));
    assert!(again.rows_of("direct").iter().all(|row| row.wire.is_some()));
    assert_eq!(again.summary["late"].value("wire_saved"), None);
}
