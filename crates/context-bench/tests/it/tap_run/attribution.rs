//! Whose calls are: with and without what a proxy lets through, many at a time.

use std::collections::HashMap;
use std::time::Duration;

use context_bench::EvalResult;
use context_bench::tap::{ArmRole, CredentialScope};
use context_bench_testkit::ChatServer;
use context_bench_testkit::proxy::TestProxy;

use super::{TestRun, arm, assert_counts, direct, examples, provider};

/// How many bytes went out for each example, as the provider saw it.
fn bytes_by_example(server: &ChatServer) -> HashMap<String, u64> {
    let mut bytes = HashMap::new();
    for request in server.requests() {
        let messages = request.body["messages"].as_array().expect("messages");
        let asked = messages
            .iter()
            .rev()
            .find_map(|one| one["content"].as_str());
        let number = asked.and_then(|text| text.split_whitespace().nth(3));
        let length = request.headers.get("content-length").expect("a length");
        let length: u64 = length.parse().expect("a number");
        *bytes
            .entry(format!("e{}", number.expect("a number")))
            .or_default() += length;
    }
    bytes
}

fn assert_rows(result: &EvalResult, system: &str, server: &ChatServer) {
    let expected = bytes_by_example(server);
    let mut seen = 0;
    for row in result.rows_of(system) {
        let facts = row.wire.as_deref().expect("facts");
        let id = row.example_id.to_string();
        assert_eq!(facts.all_upstream_bytes, expected[&id], "{id}: {facts:?}");
        seen += 1;
    }
    assert_eq!(seen, expected.len());
}

#[test]
fn rows_have_their_own_calls_with_many_at_a_time() {
    for (credential, proxy) in [
        (CredentialScope::Example, TestProxy::pass_through()),
        (CredentialScope::Arm, TestProxy::pass_through()),
        (CredentialScope::Example, TestProxy::bare()),
    ] {
        let server = provider();
        let mut run = TestRun::new(&server, vec![arm("proxy", ArmRole::PassThrough, &proxy)]);
        run.examples = examples(96);
        run.workers = 32;
        run.tap.credential = credential;
        let result = run.run();
        assert_counts(&result, &server);
        let totals = &result.wire["proxy"];
        assert_eq!(totals.unattributed.calls, 0, "{totals:?}");
        assert_rows(&result, "proxy", &server);
    }
}

#[test]
fn work_after_the_answer_is_billed_on_the_arm() {
    let server = provider();
    let proxy = TestProxy::late(Duration::from_millis(30));
    let arms = vec![direct(), arm("late", ArmRole::Transform, &proxy)];
    let mut run = TestRun::new(&server, arms);
    run.workers = 2;
    let result = run.run();
    assert_counts(&result, &server);
    let totals = &result.wire["late"];
    assert_eq!((totals.calls, totals.client_calls), (24, 12));
    assert_eq!(totals.unattributed.calls, 12, "{totals:?}");
    assert_eq!(totals.unattributed.by_reason["late"], 12);
    assert!(totals.unattributed.usage.input() > 0);
    // Half of its calls are nobody's, so rows say nothing about it.
    assert!(totals.withheld);
    assert!(result.rows_of("late").iter().all(|row| row.wire.is_none()));
    assert!(
        result
            .rows_of("direct")
            .iter()
            .all(|row| row.wire.is_some())
    );
    let unattributed = result.summary["late"].value("unattributed_calls");
    assert_eq!(unattributed, Some(12.0));
    assert_eq!(result.summary["late"].value("wire_saved"), None);
}

#[test]
fn one_call_at_a_time_is_known_by_its_time() {
    let server = provider();
    // Nothing is let through, and the texts are not alike either.
    let proxy = TestProxy::start(|request, upstream| {
        let mut body = request.json();
        body["messages"] = serde_json::json!([{"role": "user", "content": "short"}]);
        let request = request.without("authorization").without("x-cb-call");
        let answer = upstream
            .send(&request.with_json(&body))
            .without("x-request-id");
        let mut said = answer.json();
        said["id"] = "own".into();
        said["choices"][0]["message"]["content"] = "other".into();
        answer.with_json(&said)
    });
    for is_exclusive in [false, true] {
        let mut run = TestRun::new(&server, vec![arm("p", ArmRole::Transform, &proxy)]);
        run.examples = examples(4);
        run.tap.is_exclusive = is_exclusive;
        run.tap.unattributed_limit = 1.0;
        let result = run.run();
        let totals = &result.wire["p"];
        let expected = if is_exclusive { 4 } else { 0 };
        assert_eq!(totals.attributed_by.single_flight, expected, "{totals:?}");
        assert_eq!(totals.unattributed.calls, 4 - expected);
    }
}
