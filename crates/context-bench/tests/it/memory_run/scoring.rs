//! Scores of memory runs: stored and summed up again, by other evaluators, by judges; and which
//! conversations a seed draws.

use std::collections::HashSet;

use context_bench::plan::SystemSpec;
use context_bench::planner::ReopenedPlan;
use context_bench::{EvalResult, RunSpec, Stop};
use context_bench_testkit::{ChatServer, Reply, Request, handlers};

use super::{Act, Data, Witness, ids, planned, surroundings, timeless};

fn summary(result: &EvalResult) -> String {
    format!("{:#?}", result.summary)
}

#[tokio::test]
async fn a_stored_run_sums_up_as_it_did() {
    let data = Data::named(&["a", "b", "c"], 4);
    let memory = Witness::new().on_query(|question| match question {
        "b1?" => Act::Fail("lost the thread"),
        _ => Act::Nothing,
    });
    let result = data.run_stored(&memory, 8, Stop::new()).await;
    let again = ReopenedPlan::open(&data.store(), "last").unwrap();
    let again = again.result(&surroundings(), true).unwrap();
    let keys = |result: &EvalResult| -> Vec<String> {
        let keys = result.summary["witness"].iter();
        keys.map(|(key, _)| key.to_string()).collect()
    };
    assert_eq!(keys(&again), keys(&result));
    assert_eq!(summary(&again), summary(&result));
    assert_eq!(timeless(&again), timeless(&result));
    assert_eq!(result.summary["witness"].value("f1_even"), Some(1.0));
}

#[tokio::test]
async fn a_rescore_asks_nobody() {
    let data = Data::named(&["a", "b"], 3);
    let memory = Witness::new();
    let result = data.run_stored(&memory, 8, Stop::new()).await;
    let events = memory.diary.events();
    let over = RunSpec {
        scoring: context_bench::plan::ScoringSpec {
            evaluators: Some(vec!["summarization_quality".into()]),
            score_field: Some("rouge_l_f1".into()),
            ..Default::default()
        },
        ..RunSpec::default()
    };
    let stored = ReopenedPlan::open_source(&data.store(), "last").unwrap();
    let rescoring = stored.rescore(&over, &surroundings()).unwrap();
    let rescored = rescoring.evaluate.run().await.unwrap();
    assert_eq!(memory.diary.events(), events);
    assert_eq!(ids(&rescored), ids(&result));
    for (row, old) in rescored.rows.iter().zip(&result.rows) {
        assert_eq!(row.scores.value("f1"), None);
        assert!(row.scores.get("rouge_l_f1").is_some(), "{row:?}");
        assert_eq!(row.metadata()["qa_type"], old.metadata()["qa_type"]);
        assert_eq!(row.input_tokens, old.input_tokens);
    }
    let by_kind = rescored.summary["witness"].value("rouge_l_f1_even");
    assert!(by_kind.is_some(), "{}", summary(&rescored));
}

#[tokio::test]
async fn an_address_of_a_judge_adds_its_verdict_and_none_is_not_wrong() {
    let judge = ChatServer::start(|request: &Request| {
        let asked = String::from_utf8_lossy(&request.body).into_owned();
        if asked.contains("a1?") {
            Reply::text("Hard to say.")
        } else if asked.contains("b0?") {
            Reply::text("NO")
        } else {
            Reply::text("YES")
        }
    });
    let data = Data::named(&["a", "b"], 2);
    let memory = Witness::new();
    let (mut spec, around) = data.given(std::slice::from_ref(&memory), 4);
    spec.scoring.judge_url = Some(judge.url());
    spec.requests.max_retries = Some(0);
    let result = planned(&spec, &around).evaluate().run().await.unwrap();
    let verdicts: Vec<Option<f64>> = result
        .rows
        .iter()
        .map(|row| row.scores.value("memory_judge"))
        .collect();
    assert_eq!(verdicts, [Some(1.0), None, Some(0.0), Some(1.0)]);
    let unscored = result.rows[1].scores.get("memory_judge").unwrap();
    assert!(unscored.is_unscored());
    assert!(result.rows[1].failure.is_none(), "the memory did its part");
    assert_eq!(result.rows[1].scores.value("f1"), Some(1.0));
}

/// The conversations that a run of the built-in memory asks about.
async fn drawn(data: &Data, url: &str, seed: Option<i64>) -> Vec<String> {
    let mut spec = data.spec(2);
    spec.data.limit = Some(3.0);
    spec.relay = Some(url.to_owned());
    spec.memory.as_mut().unwrap().seed = seed;
    spec.systems.push(SystemSpec {
        system: Some("bm25".into()),
        ..SystemSpec::default()
    });
    let result = planned(&spec, &surroundings()).evaluate().run().await;
    ids(&result.unwrap())
}

#[tokio::test]
async fn a_seed_draws_conversations_and_is_sent() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let data = Data::named(&names, 1);
    let server = ChatServer::start(handlers::constant("end"));
    let url = server.url();
    let first = drawn(&data, &url, None).await;
    assert_eq!(
        first,
        ["conversation-a_0", "conversation-b_0", "conversation-c_0"]
    );
    for request in server.requests() {
        assert!(request.body.get("seed").is_none(), "{}", request.body);
    }
    let mut seen = HashSet::new();
    for seed in 1..=6 {
        let before = server.request_count();
        let one = drawn(&data, &url, Some(seed)).await;
        assert_eq!(one.len(), 3);
        let mut in_order = one.clone();
        in_order.sort();
        assert_eq!(one, in_order, "in the order of the data");
        for request in &server.requests()[before..] {
            assert_eq!(request.body["seed"], seed);
        }
        assert_eq!(drawn(&data, &url, Some(seed)).await, one);
        seen.insert(one);
    }
    assert!(seen.len() > 1);
    assert!(seen.iter().any(|one| *one != first));
}
