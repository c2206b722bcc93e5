//! What a tap says of proxies that do what real ones do.

use context_bench::ArmVerdict;
use context_bench::report::{PageReport, TableReport};
use context_bench::tap::ArmRole;
use context_bench_testkit::proxy::TestProxy;

use super::{TestRun, arm, assert_counts, direct, provider};

#[test]
fn three_arms_are_told_apart_to_the_byte() {
    let server = provider();
    let (plain, compressor) = (TestProxy::pass_through(), TestProxy::compressor());
    let arms = vec![
        direct(),
        arm("pass", ArmRole::PassThrough, &plain),
        arm("compress", ArmRole::Transform, &compressor),
    ];
    let result = TestRun::new(&server, arms).run();
    assert_counts(&result, &server);
    // The provider got the real key and nobody else's.
    for request in server.requests() {
        let key = request.headers.get("authorization");
        assert_eq!(key, Some("Bearer sk-real-key-of-the-provider"));
        assert_eq!(request.headers.get("x-cb-call"), None);
    }
    let value = |arm: &str, key: &str| result.summary[arm].value(key);
    for (name, engaged) in [("direct", 0.0), ("pass", 0.0), ("compress", 1.0)] {
        assert_eq!(value(name, "engagement"), Some(engaged), "{name}");
        assert_eq!(value(name, "extra_calls"), Some(0.0), "{name}");
        assert_eq!(value(name, "unattributed_calls"), Some(0.0), "{name}");
        assert!(value(name, "added_before_p50").is_some(), "{name}");
        assert!(value(name, "added_after_p50").is_some(), "{name}");
        let most = value(name, "added_p99").expect("known");
        assert!(most >= value(name, "added_p50").expect("known"), "{name}");
        assert_eq!(result.wire[name].client_calls, 12, "{name}");
        assert_eq!(result.wire[name].attributed_by.credential, 12, "{name}");
    }
    for name in ["direct", "pass"] {
        assert_eq!(value(name, "wire_saved"), Some(0.0), "{name}");
        assert_eq!(value(name, "wire_saved_usage"), Some(0.0), "{name}");
        assert_eq!(result.arm_verdict(name), Some(ArmVerdict::Transparent));
    }
    let saved = value("compress", "wire_saved").expect("known");
    assert!((0.3..0.6).contains(&saved), "{saved}");
    assert_eq!(value("compress", "tokens_saved"), Some(saved));
    let by_usage = value("compress", "wire_saved_usage").expect("known");
    assert!((0.3..0.6).contains(&by_usage), "{by_usage}");
    assert!(value("compress", "claimed_saved").expect("said") > 0.0);
    assert_eq!(result.arm_verdict("compress"), Some(ArmVerdict::Engaged));
    // Rows say it one by one, and the first of an arm is apart.
    for name in ["direct", "pass", "compress"] {
        let rows = result.rows_of(name);
        let facts = |row: &context_bench::EvalRow| row.wire.clone().expect("facts");
        assert_eq!(rows.iter().filter(|row| facts(row).cold).count(), 1);
        for row in rows {
            let facts = facts(row);
            assert_eq!(facts.calls.primary, 1);
            let (client, upstream) = facts.tokens().expect("counted");
            assert_eq!(client == upstream, name != "compress");
            assert!(facts.usage_input().is_some_and(|tokens| tokens > 0));
            assert_eq!(facts.defects.is_empty(), name != "compress", "{facts:?}");
        }
    }
    let json: serde_json::Value = serde_json::from_str(&result.to_json()).expect("JSON");
    assert_eq!(json["wire"]["compress"]["verdict"], "engaged");
    assert_eq!(json["rows"][0]["wire"]["calls"]["primary"], 1);
    let table = TableReport { width: 200 }.render(&result);
    for said in ["On the Wire", "engaged", "saved on the wire in"] {
        assert!(table.contains(said), "{said}\n{table}");
    }
    // The first call of an arm is no part of the times.
    let words: Vec<&str> = table.split_whitespace().collect();
    let table = words.join(" ");
    let own = table.split_once("the tap itself adds ").expect("said").1;
    assert!(
        own.contains(" in every arm (by 11 direct calls)"),
        "{table}"
    );
    let page = PageReport::default().data(&result);
    let mut notes = page.notes.iter();
    assert!(notes.any(|note| note.contains("the tap itself adds")));
}

#[test]
fn streams_are_followed_on_both_sides() {
    let server = provider();
    let plain = TestProxy::pass_through();
    let arms = vec![direct(), arm("pass", ArmRole::PassThrough, &plain)];
    let result = TestRun {
        stream: true,
        ..TestRun::new(&server, arms)
    }
    .run();
    assert_counts(&result, &server);
    for row in &result.rows {
        let facts = row.wire.as_deref().expect("facts");
        let stream = facts.stream.expect("a stream");
        assert!(stream.frames > 0 && stream.in_time <= stream.frames);
        assert!(facts.added.is_some_and(|added| added.ttft_relay.is_some()));
        assert!(facts.usage_input().is_some(), "{facts:?}");
    }
    assert!(result.summary["direct"].value("stream_in_time").is_some());
}

#[test]
fn what_does_not_do_its_work_is_called_by_its_name() {
    let server = provider();
    let (idle, rewriting) = (TestProxy::pass_through(), TestProxy::user_only());
    let arms = vec![
        direct(),
        arm("idle", ArmRole::Transform, &idle),
        arm("roles", ArmRole::PassThrough, &rewriting),
    ];
    let result = TestRun::new(&server, arms).run();
    assert_eq!(result.arm_verdict("idle"), Some(ArmVerdict::NotEngaged));
    let roles = result.arm_verdict("roles");
    assert_eq!(roles, Some(ArmVerdict::NotTransparent));
    let facts = result.rows_of("roles")[0].wire.as_deref().expect("facts");
    assert!(facts.defects.has(2), "{facts:?}");
    let table = TableReport::default().render(&result);
    assert!(table.contains("idle: not engaged"), "{table}");
    assert!(table.contains("roles: fails transparency"), "{table}");
}

#[test]
fn helpers_caches_and_retries_show() {
    let server = provider();
    let (helped, caching) = (TestProxy::helped(), TestProxy::caching());
    let arms = vec![
        arm("helped", ArmRole::Transform, &helped),
        arm("caching", ArmRole::Transform, &caching),
    ];
    let mut run = TestRun::new(&server, arms);
    // The second half asks what the first half asked, under other names.
    let again = run.examples.iter().enumerate();
    let again: Vec<_> = again
        .map(|(at, example)| example.clone().with("id", format!("again{at}")))
        .collect();
    run.examples.extend(again);
    run.workers = 1;
    let result = run.run();
    assert_counts(&result, &server);
    assert_eq!(result.summary["helped"].value("extra_calls"), Some(1.0));
    assert_eq!(result.wire["helped"].by_class.aux, 24);
    assert_eq!(result.wire["caching"].local_answers, 12);
    assert_eq!(result.summary["caching"].value("local_answers"), Some(0.5));
    for row in result.rows_of("caching") {
        let facts = row.wire.as_deref().expect("facts");
        assert_eq!(facts.local_answers, 1 - facts.calls.primary);
        assert_eq!(facts.defects.has(13), facts.local_answers == 1);
    }
}
